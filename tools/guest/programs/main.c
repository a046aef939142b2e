/* main.c: bench [NAME…|all]: runs programs by name and prints "RESULT name milliseconds checksum".
 * Without a name it lists them. */
#include "bench.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static uint32_t bench_x87mandel(void)
{
    return mandel_x87(200, 600);
}

static uint32_t bench_sse2mandel(void)
{
    return mandel_sse2(200, 600);
}

static uint32_t bench_sse2saxpy(void)
{
    return saxpy(12000);
}

static const struct {
    const char *name;
    uint32_t (*run)(void);
} programs[] = {
    {"int", bench_int},
    {"sieve", bench_sieve},
    {"memcpy", bench_memcpy},
    {"dwcopy", bench_dwcopy},
    {"repmovs", bench_repmovs},
    {"sha256", bench_sha256},
    {"core", bench_core},
    {"fib", bench_fib},
    {"qsort", bench_qsort},
    {"interp", bench_interp},
    {"div64", bench_div64},
    {"x87mandel", bench_x87mandel},
    {"sse2mandel", bench_sse2mandel},
    {"sse2saxpy", bench_sse2saxpy},
    {"syscall", bench_syscall},
    {"fork", bench_fork},
    {"forkexec", bench_forkexec},
    {"fault", bench_fault},
    {"pipe", bench_pipe},
    {"smc", bench_smc},
    {"sh", bench_sh},
    {"gzip", bench_gzip},
};

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        int wanted = argc < 2;

        for (int k = 1; k < argc; k++)
            wanted |= !strcmp(argv[k], "all") || !strcmp(argv[k], programs[i].name);
        if (!wanted)
            continue;
        printf(argc < 2 ? "%s\n" : "START %s\n", programs[i].name);
        if (argc < 2)
            continue;
        double began = now_ms();
        uint32_t sum = programs[i].run();
        printf("RESULT %s %.2f %08x\n", programs[i].name, now_ms() - began, (unsigned)sum);
    }
    if (argc >= 2)
        printf("BENCH-DONE\n");
    return 0;
}
