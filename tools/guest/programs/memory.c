/* memory.c: bytes and words in bulk, and a sort that calls back. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* Byte stores with ever wider strides over a megabyte. */
NOINLINE uint32_t bench_sieve(void)
{
    enum { N = 1 << 20 };
    static uint8_t candidate[N];
    uint32_t count = 0;

    for (int round = 0; round < 25; round++) {
        memset(candidate, 1, N);
        count = 0;
        for (uint32_t i = 2; i < N; i++) {
            if (!candidate[i])
                continue;
            count++;
            for (uint32_t j = i + i; j < N; j += i)
                candidate[j] = 0;
        }
    }
    return count;
}

NOINLINE uint32_t bench_memcpy(void)
{
    size_t n = 1 << 20;
    uint8_t *a = malloc(n), *b = malloc(n);
    uint32_t sum = 0;

    for (size_t i = 0; i < n; i++)
        a[i] = (uint8_t)(i * 7 + (i >> 8));
    for (int round = 0; round < 2000; round++) {
        memcpy(b, a, n);
        a[round] = (uint8_t)(b[n - 1 - (size_t)round] + 1);
    }
    for (size_t i = 0; i < n; i += 64)
        sum = sum * 31 + b[i];
    free(a);
    free(b);
    return sum;
}

/* A loop of the compiler's own: a load, an addition and a store a word. */
NOINLINE uint32_t bench_dwcopy(void)
{
    size_t n = 1 << 18;
    uint32_t *a = malloc(n * 4), *b = malloc(n * 4), sum = 0;

    for (size_t i = 0; i < n; i++)
        a[i] = (uint32_t)i * 2654435761u;
    for (uint32_t round = 0; round < 300; round++) {
        volatile uint32_t hidden = round;
        uint32_t add = hidden, *swap = a;

        for (size_t i = 0; i < n; i++)
            b[i] = a[i] + add;
        sum += b[round * 977 & (n - 1)];
        a = b;
        b = swap;
    }
    free(a);
    free(b);
    return sum;
}

NOINLINE uint32_t bench_repmovs(void)
{
    size_t n = 1 << 20;
    uint8_t *a = malloc(n), *b = malloc(n);
    uint32_t sum = 0;

    memset(a, 0x5a, n);
    for (int round = 0; round < 2000; round++) {
        void *to = b;
        const void *from = a;
        size_t count = n / 4;

        __asm__ volatile("cld; rep movsl" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
        a[round] = (uint8_t)round;
    }
    for (size_t i = 0; i < 4096; i++)
        sum = sum * 31 + b[i];
    free(a);
    free(b);
    return sum;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

NOINLINE uint32_t bench_qsort(void)
{
    enum { N = 400000 };
    uint32_t *a = malloc(N * 4), x = 1, sum = 0;

    for (int i = 0; i < N; i++) {
        x = x * 1664525 + 1013904223;
        a[i] = x;
    }
    qsort(a, N, 4, compare);
    for (int i = 0; i < N; i += 1000)
        sum = sum * 31 + a[i];
    free(a);
    return sum;
}
