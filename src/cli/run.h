/*
 * The inside of `halter run`, shared by its files: run.c reads the options and sets up, run_loop.c
 * waits, run_files.c opens what is written, run_stream.c moves records through the window, run_guests.c follows the guests' fortunes,
 * run_report.c accounts for it all.
 *
 *   input ──► window (a ring of records in input order) ──► output
 *                 │  ▲
 *        halter_call  on_result      a record is sent to whichever guest has least to do, and its
 *                 ▼  │               result leaves when every record before it has left
 *               guests (--jobs)
 */
#ifndef HALTER_CLI_RUN_H
#define HALTER_CLI_RUN_H

#include <stdio.h>

#include "cli/input.h"
#include "cli/output.h"
#include "cli/plugin.h"
#include "cli/watch.h"
#include "halter/halter.h"

#define WINDOW_RECORDS 1024        /* held at one time, at most */
#define WINDOW_BYTES   (16u << 20) /* sent or waiting to leave; one record may be above it */
#define GUEST_DEPTH    128         /* calls queued to one guest, so that it never waits for us */
#define OUTPUT_HIGH    (1u << 20)  /* waiting for the reader: then results stay in the window */
#define MAX_JOBS       64
#define POOL_BUFFERS   64

enum on_error { ON_ERROR_STOP, ON_ERROR_SKIP, ON_ERROR_NULL };

struct run_config {
    const char *plugin; /* as named; its script once it was found */
    struct grant_options grants;
    const char *state_path, *ca_file;
    const char *const *inputs;
    unsigned ninputs;
    bool document, text, watch, quiet, no_jit, summary, audit;
    int on_error; /* enum on_error */
    int live;     /* 0 never, 1 where standard error is a terminal, 2 always (one line a second) */
    unsigned jobs;
    uint32_t deadline_ms, load_deadline_ms, wall_cap_ms; /* 0: the library's default */
    uint64_t memory_bytes, cap_bytes, quarantine_after;
    const char *output_path, *dead_letter_path;
    bool stats;
    const char *status_path; /* of the status socket; NULL: none */
    const char *stats_path;  /* NULL: standard error */
};

enum slot_state {
    SLOT_WAITING, /* not sent, or handed back by a guest that is gone */
    SLOT_SENT,
    SLOT_VALUE,   /* `result` holds what is to be written */
    SLOT_DROPPED, /* transform returned undefined */
    SLOT_FAILED,  /* `result` holds its dead letter, `message` what people are told */
};

/* One record on its way. */
struct slot {
    struct run *run;
    struct record record;
    enum slot_state state;
    int status;
    size_t charged; /* of the window's bytes */
    struct buffer result;
    char *message;
};

/* One guest. */
struct job {
    struct run *run;
    struct halter_guest *guest;
    unsigned sent;    /* records with it */
    bool usable;      /* false: quarantined, or its plugin did not load */
    bool quarantined; /* then why */
    bool reload_due;  /* the plugin changed while a reload was under way */
};

enum ending {
    ENDING_NONE,
    ENDING_STOP,   /* --on-error stop */
    ENDING_PLUGIN, /* no guest is usable */
    ENDING_SIGNAL,
    ENDING_BROKEN, /* the reader of the output is gone */
    ENDING_IO,
    ENDING_HALTER,
};

struct tally {
    uint64_t read, written, dropped, failed, nulls; /* records */
    uint64_t bytes_in, bytes_out;
    uint64_t by_status[64]; /* failures, by -status */
    uint64_t messages_withheld;
};

struct run {
    struct run_config config;
    struct plugin plugin;
    struct halter_host *host;
    struct job jobs[MAX_JOBS];
    struct input input;
    struct output output;
    struct watch watch;
    FILE *dead_letter, *stats; /* NULL: none, or it could not be written */

    struct slot *slots;               /* WINDOW_RECORDS of them */
    uint64_t head, next;              /* [head, next) are in the window */
    uint64_t unsent;                  /* no record before it waits to be sent */
    size_t window_bytes;              /* charged for records sent, held by results that wait */
    size_t result_estimate;           /* a running mean, bytes */
    struct buffer pool[POOL_BUFFERS]; /* empty result buffers, to use again */
    unsigned pooled;
    struct buffer scratch; /* a line of text on its way in or out */

    bool want_input; /* nothing to send until the input is readable */
    bool input_ended;
    enum ending ending;
    int signal; /* that ends the run */
    int signals_fd;
    uint64_t give_up_ns;     /* when what is in flight is dropped */
    bool load_failed;        /* a guest said so: exit status 3 rather than 5 */
    unsigned launchers_lost; /* since the last record was done */
    uint64_t done_at_loss;   /* `head` at the last loss */

    struct tally tally;
    uint64_t now; /* when the loop last looked: good enough for whatever is not measured */
    uint64_t started_ns, live_due_ns, message_second;
    unsigned messages_this_second;
};

static inline struct slot *run_slot(struct run *run, uint64_t number)
{
    return &run->slots[number % WINDOW_RECORDS];
}
uint64_t now_ns(void);

/* run_files.c */
/* False when a file would be read and written, or written twice (said). Opens nothing. */
bool run_files_differ(const struct run_config *config);
/* Opens whatever is written; false when one cannot be (said). */
bool run_open_files(struct run *run);
/* Writes at once. False when it cannot (said): then the file is closed and NULL. */
bool run_write_file(FILE **file, const char *path, const struct buffer *text);
/* False when what was written may be lost (said). NULL is fine. */
bool run_close_file(FILE **file, const char *path);

/* run_loop.c: until the run has ended. */
void run_loop(struct run *run);

/* run_stream.c */
/* Sends records until the guests, the window or the input have no more. */
void run_submit(struct run *run);
/* Moves finished records from the head of the window to the output. */
void run_emit(struct run *run);
/* Ends the run for this reason, unless it is ending already. */
void run_end(struct run *run, enum ending ending);
/* Frees what the window still holds. */
void run_drop_window(struct run *run);

/* run_guests.c */
/* False when a guest cannot be made (said). */
bool run_make_guests(struct run *run);
void run_on_event(struct halter_host *host, const struct halter_event *event, void *data);
/* The plugin's file changed: every guest loads it anew. */
void run_reload(struct run *run);
/* Ends the run when no guest is left that could go on. */
void run_check_usable(struct run *run);

/* run_report.c */
/* Fills the slot's message and dead letter; `result` is NULL when the record never was a call. */
void report_failure(struct slot *slot, int status, const struct halter_result *result);
/* A message about a record or a guest: at most so many in a second, the rest are counted. */
bool report_may_speak(struct run *run);
void report_live(struct run *run, uint64_t now);
void report_end(struct run *run);
/* "FILE:LINE" of the first record that is not accounted for; "" when all are. */
void report_position(struct run *run, char *out, size_t capacity);

#endif
