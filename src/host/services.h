/*
 * The link to halter-services: orders in, answers out, each exactly once. The process is started
 * through the launcher when the first order comes, configured with what the policy refuses, and
 * replaced when it dies. Orders that were not sent yet wait for the next one; those that were fail,
 * because nobody knows whether they were carried out.
 */
#ifndef HALTER_HOST_SERVICES_H
#define HALTER_HOST_SERVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/list.h"
#include "host/timers.h"

struct halter_host;
struct process;
struct wire_frame;

/* What an order came to. Borrowed until the callback returns. */
struct services_answer {
    int kind;         /* 0: a value; else enum wire_error_kind */
    const char *text; /* JSON, or a message; not terminated */
    size_t bytes;
};
typedef void (*services_fn)(struct halter_host *host, const struct services_answer *answer,
                            void *data);

struct services {
    struct process *process; /* NULL when there is none */
    bool loaded;
    char *state_path;       /* NULL: there is no state */
    char *ca_file;          /* NULL: the system's authorities */
    char refused[200];      /* why the last one would not start, "" when it did */
    struct list orders;     /* in the order of their ids */
    struct timer deadline;  /* of the order that must be answered first */
    uint64_t not_before_ns; /* after one that did not start */
    unsigned failures;
};

void services_init(struct services *services);
void services_finish(struct halter_host *host);
/*
 * Sends an order, or keeps it until it can be sent; the callback runs later, from a dispatch.
 * `patience_ms`: without an answer by then the process is killed. 0: no memory.
 */
uint64_t services_order(struct halter_host *host, const char *json, size_t bytes,
                        uint32_t patience_ms, services_fn fn, void *data);
/* Its callback runs no more. `tell`: the services are told to give it up. */
void services_cancel(struct halter_host *host, uint64_t id, bool tell);

/* From process.c: its hello, its frames, its end. */
void services_offered(struct process *process);
void services_frame(struct process *process, const struct wire_frame *frame);
void services_bereaved(struct process *process);

#endif
