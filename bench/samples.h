/* Samples of one figure: collected, sorted, printed as p50, p95, p99 and the largest. */
#ifndef HALTER_BENCH_SAMPLES_H
#define HALTER_BENCH_SAMPLES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLES_MAX 100000

struct samples {
    double us[SAMPLES_MAX];
    unsigned n;
};

static inline uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static inline void sample(struct samples *s, uint64_t ns)
{
    if (s->n < SAMPLES_MAX)
        s->us[s->n++] = (double)ns / 1000;
}

static inline int samples_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The quantile of a set that samples_print() or samples_sort() has sorted. */
static inline double samples_at(const struct samples *s, double fraction)
{
    if (!s->n)
        return 0;
    unsigned at = (unsigned)(fraction * s->n);
    return s->us[at < s->n ? at : s->n - 1];
}

static inline void samples_sort(struct samples *s)
{
    qsort(s->us, s->n, sizeof(*s->us), samples_compare);
}

static inline void samples_print(struct samples *s, const char *what)
{
    samples_sort(s);
    printf("%-44s n %6u   p50 %9.1f   p95 %9.1f   p99 %9.1f   max %9.1f µs\n", what, s->n,
           samples_at(s, 0.5), samples_at(s, 0.95), samples_at(s, 0.99), samples_at(s, 1));
}

#endif
