/*
 * Samples, their quantiles, and verdicts on them.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

struct series *bench_series(struct bench *bench, const char *unit, const char *format, ...)
{
    struct experiment *experiment = bench->current;
    char name[sizeof experiment->series->name];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    for (unsigned i = 0; i < experiment->nseries; i++)
        if (strcmp(experiment->series[i].name, name) == 0)
            return &experiment->series[i];
    if (experiment->nseries == BENCH_SERIES)
        return &experiment->series[BENCH_SERIES - 1];
    struct series *series = &experiment->series[experiment->nseries++];
    *series = (struct series){.unit = unit};
    strcpy(series->name, name);
    return series;
}

void series_add(struct series *series, double value)
{
    if (series->count == series->capacity) {
        unsigned capacity = series->capacity ? series->capacity * 2 : 64;
        double *grown = realloc(series->values, capacity * sizeof *grown);
        if (!grown)
            die_without_memory();
        series->values = grown;
        series->capacity = capacity;
    }
    series->values[series->count++] = value;
    series->sorted = false;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sample at this fraction of a sorted list: the nearest rank. */
static double ranked(const double *values, unsigned count, double fraction)
{
    if (count == 0)
        return 0.0;
    double rank = ceil(fraction * count);
    unsigned index = rank < 1.0 ? 0 : (unsigned)rank - 1;
    return values[index < count ? index : count - 1];
}

static void sort(struct series *series)
{
    if (!series->sorted && series->count)
        qsort(series->values, series->count, sizeof *series->values, compare);
    series->sorted = true;
}

double series_at(struct series *series, double fraction)
{
    sort(series);
    return ranked(series->values, series->count, fraction);
}

double series_median_since(const struct series *series, unsigned first)
{
    unsigned count = series->count - first;
    double *copy = malloc((count ? count : 1) * sizeof *copy);
    if (!copy)
        die_without_memory();
    if (count)
        memcpy(copy, series->values + first, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, compare);
    double median = ranked(copy, count, 0.5);
    free(copy);
    return median;
}

void series_confidence(struct series *series, double *low, double *high)
{
    double half = 0.98 * sqrt((double)series->count); /* 1.96 times half a standard deviation */
    double middle = series->count / 2.0;
    sort(series);
    *low = ranked(series->values, series->count, (middle - half) / series->count);
    *high = ranked(series->values, series->count, (middle + half + 1.0) / series->count);
}

void series_finish(struct series *series)
{
    free(series->values);
    *series = (struct series){0};
}

static void add_verdict(struct bench *bench, enum verdict_kind kind, bool holds, const char *text)
{
    struct experiment *experiment = bench->current;
    if (experiment->nverdicts == BENCH_VERDICTS)
        return;
    struct verdict *verdict = &experiment->verdicts[experiment->nverdicts++];
    verdict->kind = kind;
    verdict->holds = holds;
    snprintf(verdict->text, sizeof verdict->text, "%s", text);
}

void bench_verdict(struct bench *bench, enum verdict_kind kind, bool holds, const char *format, ...)
{
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_verdict(bench, kind, holds, text);
}

void bench_at_most(struct bench *bench, enum verdict_kind kind, const char *what, double value,
                   double bound, const char *unit)
{
    bench_verdict(bench, kind, value <= bound, "%s: %.4g %s, wanted ≤ %.4g %s", what, value, unit,
                  bound, unit);
}

void bench_at_least(struct bench *bench, enum verdict_kind kind, const char *what, double value,
                    double bound, const char *unit)
{
    bench_verdict(bench, kind, value >= bound, "%s: %.4g %s, wanted ≥ %.4g %s", what, value, unit,
                  bound, unit);
}
