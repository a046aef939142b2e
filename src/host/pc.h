/*
 * One PC, for the files that serve it: pc.c is its life, pc_config.c what its helper is told,
 * pc_line.c its serial ports as streams, pc_order.c what is asked of it while it runs, pc_again.c how it
 * goes on when its helper has died.
 */
#ifndef HALTER_HOST_PC_H
#define HALTER_HOST_PC_H

#include "host/internal.h"
#include "wire/json_write.h"
#include "wire/stream.h"

#define PC_PORTS 2 /* port n is stream n + 1 */
#define PC_FILES 8 /* that come with its LOAD */

struct pc_port {
    halter_pc_console_fn fn; /* NULL: nobody listens */
    bool held;
    struct wire_stream_out in; /* towards the guest */
    struct wire_stream_in out; /* from it */
};

/* What was asked of it and is not answered yet. */
struct pc_order {
    uint64_t id; /* of its CALL; 0: there is none */
    halter_pc_answer_fn fn;
    void *data;
};

struct halter_pc {
    struct list link; /* in host->pcs */
    struct halter_host *host;
    struct process *process; /* NULL once it is gone */
    char *name;
    struct json_writer config;
    int fds[PC_FILES];
    unsigned nfds;
    uint64_t files_bytes; /* that its helper may map */
    struct control_profile profile;
    uint64_t load_id;
    bool loaded, ended, closing;
    struct pc_port port[PC_PORTS];
    struct pc_order order;
    struct timer beat;
    uint32_t heartbeat_ms;
    uint64_t beat_id; /* that is to be echoed, or 0 */
    uint64_t created_ns;
    uint32_t timeout_ms;
    unsigned generations; /* helpers it has had */
    int snapshot, draft;  /* to go on from, being written; -1: none */
    uint64_t snapshot_ns;
    uint32_t snapshot_step, snapshot_sent; /* where its script was */
    uint32_t snapshot_every_ms, restarts, restarts_left;
    struct timer snapshot_timer;
    halter_pc_restart_fn on_restart;
    halter_pc_log_fn on_log;
    halter_pc_end_fn on_end;
    void *data;
};

/* pc.c: a frame to its helper. 0 or a negative status. */
int pc_send(struct halter_pc *pc, uint8_t type, uint16_t stream, uint64_t id, const void *body,
            size_t length);
uint64_t pc_next_id(struct halter_pc *pc);

/* pc_config.c: writes pc->config and takes duplicates of the files into pc->fds. A status. */
int pc_configure(struct halter_pc *pc, const struct halter_pc_options *options);

/* pc_line.c */
void pc_lines_init(struct halter_pc *pc);
void pc_lines_grant(struct halter_pc *pc);
void pc_line_data(struct halter_pc *pc, const struct wire_frame *frame);
void pc_line_credited(struct halter_pc *pc, const struct wire_frame *frame);

/* pc_order.c: the answer has come; it will not come, because of `wrong`. */
void pc_order_answered(struct halter_pc *pc, const struct wire_frame *frame);
void pc_order_fail(struct halter_pc *pc, const char *wrong);

/* pc_again.c: snapshots as it runs, and another helper that goes on from the last one. */
void pc_again_init(struct halter_pc *pc, const struct halter_pc_options *options);
void pc_again_started(struct halter_pc *pc);
void pc_again_finish(struct halter_pc *pc);
/* Whether there is to be another helper; tells the application, which may destroy the PC. */
bool pc_again_may(const struct halter_pc *pc, const struct halter_death *death);
void pc_again_tell(struct halter_pc *pc, const struct halter_death *death);
/* What is to be told to a helper beside pc->config: members, each with a comma before it. */
void pc_again_config(const struct halter_pc *pc, char *text, size_t capacity);

#endif
