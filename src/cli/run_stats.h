/*
 * The figures of a run over all its guests, and the two forms they are given out in: JSON
 * (--stats) and a table for people (--summary).
 */
#ifndef HALTER_CLI_RUN_STATS_H
#define HALTER_CLI_RUN_STATS_H

#include "cli/run.h"

struct run_figures {
    uint64_t latency[HALTER_HISTOGRAM_BUCKETS];
    uint64_t p50_ns, p95_ns, p99_ns, max_ns;
    uint64_t deaths[16], deaths_total; /* by reason; without those at the application's wish */
    uint64_t restarts, cpu_ns, peak_bytes, log_lines, log_dropped, requests, denials;
    uint64_t by_kind[HALTER_REQUEST_KINDS];
};

/* Adds the guests up. */
void run_figures(struct run *run, struct run_figures *figures);
/* False when the file cannot be written (said). */
bool run_write_stats(struct run *run);
void run_say_summary(struct run *run);

#endif
