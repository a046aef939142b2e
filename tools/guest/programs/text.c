/* text.c: what a system does all day: a shell's loop, and gzip over a text. Both are busybox. */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DATA       "/tmp/bench-data"
#define DATA_BYTES (10u << 20)

static uint32_t wait_for(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child)
        return UINT32_MAX;
    return (uint32_t)WEXITSTATUS(status);
}

NOINLINE uint32_t bench_sh(void)
{
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/busybox", "sh", "-c",
              "i=0; s=0; while [ $i -lt 40000 ]; do i=$((i+1)); s=$((s+i*3)); done; [ $s -gt 0 ]",
              (char *)0);
        _exit(9);
    }
    return wait_for(child);
}

/* Ten megabytes of words, the same each time. */
static int write_text(void)
{
    static const char *const words[] = {
        "the ",    "emulator ",  "of ",    "page ",     "table ",  "and ",    "guest ",
        "kernel ", "interrupt ", "cache ", "block ",    "x86 ",    "wasm ",   "code ",
        "runs ",   "fast\n",     "slow ",  "register ", "memory ", "0x%08x ", "in ",
        "a ",      "loop ",      "with ",  "flags ",
    };
    FILE *file = fopen(DATA, "w");
    uint32_t x = 42;

    if (!file)
        return -1;
    for (size_t total = 0; total < DATA_BYTES;) {
        char word[32];

        x = x * 1664525 + 1013904223;
        const char *chosen = words[(x >> 16) % 25];
        if (strchr(chosen, '%')) {
            snprintf(word, sizeof word, "0x%08x ", (unsigned)x);
            chosen = word;
        }
        fputs(chosen, file);
        total += strlen(chosen);
    }
    return fclose(file);
}

NOINLINE uint32_t bench_gzip(void)
{
    pid_t child;

    if (access(DATA, R_OK) != 0 && write_text() != 0)
        return UINT32_MAX;
    child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(null, 1);
        execl("/bin/busybox", "gzip", "-c", DATA, (char *)0);
        _exit(9);
    }
    return wait_for(child);
}
