/*
 * The inside of `halter bench`, shared by its files. An experiment (bench_*.c, one each) takes
 * samples into named series and passes verdicts on them; bench_report.c prints, bench_write.c
 * writes JSON, bench_html.c draws. Whatever is compared is measured in one run, alternating.
 *
 * Every experiment has a control: a verdict that fails when the trap of that measurement is
 * sprung, so that a figure which means nothing is not printed as if it did.
 */
#ifndef HALTER_CLI_BENCH_H
#define HALTER_CLI_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/buffer.h"
#include "halter/halter.h"

#define BENCH_SERIES   40
#define BENCH_VERDICTS 24
#define BENCH_SIDES    8

/* The samples of one figure, in the order they were taken until somebody asks for a quantile. */
struct series {
    char name[80];
    const char *unit; /* "µs", "MiB", "×": a literal */
    double *values;
    unsigned count, capacity;
    bool sorted;
    bool peer; /* what another program does, not halter */
};

enum verdict_kind {
    VERDICT_CONTROL,  /* the measurement means what it says */
    VERDICT_AT_LEAST, /* what must hold on an idle machine */
    VERDICT_AIM,
};

struct verdict {
    enum verdict_kind kind;
    bool holds;
    char text[240];
};

struct bench;
struct experiment {
    const char *id, *title, *method;
    /* False when it could not be done (said). */
    bool (*run)(struct bench *bench);
    bool by_name; /* only when it is named: it is heavy */
    bool ran, failed;
    struct series series[BENCH_SERIES];
    unsigned nseries;
    struct verdict verdicts[BENCH_VERDICTS];
    unsigned nverdicts;
};

/* A program that does the same work elsewhere: bench_side.c. */
struct side {
    char name[48];
    pid_t pid;
    FILE *to, *from;
};

/* What a peer does with a plugin that means harm: bench_peers.c. */
#define BENCH_HARMS 4
struct survival {
    char name[48];
    char fate[BENCH_HARMS][64];
};

struct bench {
    struct experiment *experiments;
    size_t nexperiments;
    struct experiment *current;
    unsigned scale; /* percent of the usual number of samples */
    char folder[64]; /* for files of this run; removed at its end */
    char launcher[4096], engine[4096];
    char plugin_path[96], payload_path[96];
    char *payload; /* the snapshot, JSON */
    size_t payload_bytes;
    bool want_peers;
    const char *peers_folder;
    struct side sides[BENCH_SIDES];
    unsigned nsides;
    struct survival survivals[BENCH_SIDES];
    unsigned nsurvivals;
    char machine[256], kernel[128], engine_version[64], date[64];
    unsigned processors;
    double load_before, load_after;
};

uint64_t now_ns(void);

/* bench.c */
/* So many samples, scaled as asked for; never below `least`. */
unsigned bench_count(const struct bench *bench, unsigned usual, unsigned least);
void bench_progress(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* bench_series.c */
struct series *bench_series(struct bench *bench, const char *unit, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void series_add(struct series *series, double value);
static inline void series_add_ns(struct series *series, uint64_t ns)
{
    series_add(series, (double)ns / 1000.0); /* series of times are in µs */
}
/* The value below which `fraction` of the samples lie; 0 of none. */
double series_at(struct series *series, double fraction);
/* The median of the samples from `first` on, which are still in the order they were taken. */
double series_median_since(const struct series *series, unsigned first);
/* The interval that holds the true median with 95 % confidence, by order statistics. */
void series_confidence(struct series *series, double *low, double *high);
void series_finish(struct series *series);

/* A verdict in words; the other two compare and say both numbers. */
void bench_verdict(struct bench *bench, enum verdict_kind kind, bool holds, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void bench_at_most(struct bench *bench, enum verdict_kind kind, const char *what, double value,
                   double bound, const char *unit);
void bench_at_least(struct bench *bench, enum verdict_kind kind, const char *what, double value,
                    double bound, const char *unit);

/* bench_host.c: hosts and guests for measuring; false is said. */
struct halter_host *bench_host(const struct bench *bench, unsigned spares, const char *launcher);
struct halter_guest *bench_guest(struct halter_host *host, const char *source, uint32_t deadline_ms,
                                 const char *const *grants);
/* Dispatches for so long, as a program that lives does between calls. */
void bench_rest(struct halter_host *host, unsigned ms);
/* One call, to its end: its status. *result_hash, where not NULL, gets bench_hash() of the JSON. */
int bench_call(struct halter_host *host, struct halter_guest *guest, const char *json, size_t bytes,
               uint64_t *result_hash);
bool bench_wait_ready(struct halter_host *host, struct halter_guest *guest);
uint64_t bench_hash(const char *bytes, size_t count);

/* bench_payload.c */
/* The transform that all sides run, and the snapshot of a workspace of 50 tabs that it is given. */
extern const char bench_plugin[];
void bench_payload(struct buffer *out);

/* bench_side.c */
/* Starts a program that takes a command a line and answers each with a line. NULL-ended argv. */
struct side *bench_side_start(struct bench *bench, const char *name, const char *const *argv);
/* Asks for `count` samples of `what`; adds them, given in ns, to the series. */
bool bench_side_samples(struct side *side, const char *what, unsigned count, struct series *to);
/* One command, one line of answer without its end. */
bool bench_side_ask(struct side *side, const char *command, char *answer, size_t capacity);
void bench_side_end(struct side *side);

/* bench_proc.c: what the kernel says of processes */
struct residue {
    unsigned descriptors, mappings, children, cgroups;
};
void bench_residue(struct residue *residue);
/* Private memory of a process in bytes; 0: it cannot be read. */
uint64_t bench_private_bytes(pid_t pid);
uint64_t bench_proportional_bytes(pid_t pid);
/* Whether the process maps anonymous executable memory that is writable, and how much. */
bool bench_maps_code(pid_t pid, uint64_t *bytes);

/* bench_helper.c: one helper without a host, to choose its layers */
struct bench_helper {
    pid_t pid;
    int socket;
    void *reader; /* struct wire_reader */
    uint32_t layers;
    uint64_t next_id;
};
bool bench_helper_start(const struct bench *bench, struct bench_helper *helper, uint16_t flags,
                        uint32_t skip_layers, const char *source);
/* Sends a call and waits for its answer: how long it took in ns, 0 when it failed. */
uint64_t bench_helper_call(struct bench_helper *helper, const char *json, size_t bytes);
void bench_helper_end(struct bench_helper *helper);

/* bench_peers.c */
bool bench_peers_start(struct bench *bench);
/* Adds what each peer says of `what`, alternating with whoever calls this in turn. */
void bench_peers_sample(struct bench *bench, const char *what, unsigned count,
                        const char *series_name);
void bench_peers_survival(struct bench *bench);
extern const char *const bench_harms[BENCH_HARMS];

/* the experiments */
bool bench_start(struct bench *bench);
bool bench_start_cold(struct bench *bench);
bool bench_trip(struct bench *bench);
bool bench_reverse(struct bench *bench);
bool bench_kill(struct bench *bench);
bool bench_confine(struct bench *bench);
bool bench_memory(struct bench *bench);
bool bench_files(struct bench *bench);
bool bench_thousand(struct bench *bench);

/* what becomes of it */
void bench_print(struct bench *bench, struct experiment *experiment);
void bench_print_survival(const struct bench *bench);
bool bench_write_json(struct bench *bench, const char *path);
bool bench_write_html(struct bench *bench, const char *path);

#endif
