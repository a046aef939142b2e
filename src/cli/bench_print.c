/*
 * The table that people read.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench.h"

/* Columns of text with characters of two bytes: printf pads bytes. */
static void print_padded(const char *text, int width)
{
    int columns = 0;
    for (const char *c = text; *c; c++)
        columns += ((unsigned char)*c & 0xc0) != 0x80;
    printf("%s%*s", text, columns < width ? width - columns : 0, "");
}

static void print_series(struct series *series)
{
    double low, high;
    series_confidence(series, &low, &high);
    printf("  ");
    print_padded(series->name, 54);
    printf("%6u %10.4g %10.4g %10.4g %10.4g  ", series->count, series_at(series, 0.50),
           series_at(series, 0.95), series_at(series, 0.99), series_at(series, 1.0));
    print_padded(series->unit, 4);
    printf(" [%.4g, %.4g]\n", low, high);
}

static void print_verdict(const struct verdict *verdict)
{
    static const char *const kinds[] = {"control", "at least", "aim"};
    bool colour = isatty(STDOUT_FILENO);
    const char *word = verdict->holds ? "holds" : verdict->kind == VERDICT_AIM ? "not yet" : "FAILS";
    const char *paint = verdict->holds ? "\x1b[32m" : verdict->kind == VERDICT_AIM ? "\x1b[33m"
                                                                                   : "\x1b[31m";
    printf("  %s%-8s%s %-9s %s\n", colour ? paint : "", word, colour ? "\x1b[0m" : "",
           kinds[verdict->kind], verdict->text);
}

void bench_print(struct bench *bench, struct experiment *experiment)
{
    (void)bench;
    printf("%s  %s\n    %s\n", experiment->id, experiment->title, experiment->method);
    if (experiment->nseries)
        printf("  %-54s%6s %10s %10s %10s %10s  %-4s %s\n", "", "n", "p50", "p95", "p99", "max",
               "unit", "[95 % interval of p50]");
    for (unsigned i = 0; i < experiment->nseries; i++)
        if (experiment->series[i].count)
            print_series(&experiment->series[i]);
    for (unsigned i = 0; i < experiment->nverdicts; i++)
        print_verdict(&experiment->verdicts[i]);
    if (experiment->failed)
        printf("  FAILS    it could not be measured to its end\n");
    printf("\n");
    fflush(stdout);
}

void bench_print_survival(const struct bench *bench)
{
    if (!bench->nsurvivals)
        return;
    printf("What becomes of the host when its plugin means harm\n  %-28s", "");
    for (int i = 0; i < BENCH_HARMS; i++)
        printf(" %-24s", bench_harms[i]);
    printf("\n");
    for (unsigned i = 0; i < bench->nsurvivals; i++) {
        printf("  %-28s", bench->survivals[i].name);
        for (int h = 0; h < BENCH_HARMS; h++)
            printf(" %-24s", bench->survivals[i].fate[h]);
        printf("\n");
    }
    printf("\n");
}
