/* bench.h: the programs that the guest is measured and compared by. Each does a fixed amount of
 * work and returns a checksum, the same on every machine; main.c runs and times them by name. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline))

uint32_t bench_int(void), bench_fib(void), bench_interp(void), bench_div64(void);
uint32_t bench_core(void), bench_sha256(void);
uint32_t bench_sieve(void), bench_memcpy(void), bench_dwcopy(void), bench_repmovs(void);
uint32_t bench_qsort(void);
uint32_t bench_sh(void), bench_gzip(void);
uint32_t bench_syscall(void), bench_fork(void), bench_forkexec(void), bench_fault(void);
uint32_t bench_pipe(void), bench_smc(void);

uint32_t mandel_x87(int size, int iterations), mandel_sse2(int size, int iterations);
uint32_t saxpy(int rounds);

#endif
