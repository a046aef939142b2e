/* system.c: the kernel's side: system calls, processes, page faults, context switches; and code
 * that is written while it runs. */
#define _GNU_SOURCE
#include "bench.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

NOINLINE uint32_t bench_syscall(void)
{
    uint32_t sum = 0;

    for (int i = 0; i < 400000; i++)
        sum += (uint32_t)syscall(SYS_getppid);
    return sum != 0;
}

static uint32_t exit_status(pid_t child)
{
    int status = 0;

    waitpid(child, &status, 0);
    return (uint32_t)WEXITSTATUS(status);
}

NOINLINE uint32_t bench_fork(void)
{
    uint32_t sum = 0;

    for (int i = 0; i < 500; i++) {
        pid_t child = fork();

        if (child == 0)
            _exit(1);
        sum += exit_status(child);
    }
    return sum;
}

/* /bin/nop exits with 3 and does nothing else (nop.S). */
NOINLINE uint32_t bench_forkexec(void)
{
    uint32_t sum = 0;

    for (int i = 0; i < 200; i++) {
        pid_t child = fork();

        if (child == 0) {
            execl("/bin/nop", "nop", (char *)0);
            _exit(9);
        }
        sum += exit_status(child);
    }
    return sum;
}

NOINLINE uint32_t bench_fault(void)
{
    size_t n = 4 << 20;
    uint32_t sum = 0;

    for (int round = 0; round < 60; round++) {
        uint8_t *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
            return UINT32_MAX;
        for (size_t i = 0; i < n; i += 4096) {
            p[i] = (uint8_t)(i >> 12);
            sum += p[i];
        }
        munmap(p, n);
    }
    return sum;
}

/* A byte goes to and fro between two processes, counted up on the other side. */
NOINLINE uint32_t bench_pipe(void)
{
    int there[2], back[2];
    char c = 0;
    pid_t child;

    if (pipe(there) != 0 || pipe(back) != 0)
        return UINT32_MAX;
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 20000 && read(there[0], &c, 1) == 1; i++) {
            c++;
            if (write(back[1], &c, 1) != 1)
                break;
        }
        _exit(0);
    }
    for (int i = 0; i < 20000; i++)
        if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
            break;
    exit_status(child);
    return (uint8_t)c;
}

/* A just-in-time compiler at its smallest: mov eax, i; ret, written and called each time. */
NOINLINE uint32_t bench_smc(void)
{
    uint8_t *p =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t sum = 0;

    if (p == MAP_FAILED)
        return UINT32_MAX;
    for (uint32_t i = 0; i < 100000; i++) {
        p[0] = 0xb8;
        memcpy(p + 1, &i, sizeof i);
        p[5] = 0xc3;
        sum += ((uint32_t(*)(void))(uintptr_t)p)();
    }
    munmap(p, 4096);
    return sum;
}
