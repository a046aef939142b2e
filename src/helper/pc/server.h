/* server.h: one PC as a helper, for the files of this folder that serve it: serve.c is its life and
 * its loop, load.c reads what it is made of, line.c are its serial ports as streams, order.c does
 * what the host asks for meanwhile, end.c says how it went. */
#ifndef HALTER_PC_SERVER_H
#define HALTER_PC_SERVER_H

#include "disks.h"
#include "runner.h"
#include "script.h"
#include "wire/frame.h"
#include "wire/stream.h"

#define LINES     2            /* serial ports; port n is stream n + 1 */
#define OUT_BYTES (256u << 10) /* output that waits for credit */
#define OUT_HIGH  (OUT_BYTES - 8192)
#define IN_BYTES  (64u << 10) /* input that the guest has not taken: the window */

struct line {
    bool connected; /* somebody listens; otherwise what the guest sends is lost, as on a loose plug
                     */
    struct wire_stream_out out;
    struct wire_stream_in in;
    uint8_t output[OUT_BYTES];
    size_t output_count;
    uint8_t input[IN_BYTES];
    size_t input_start, input_count;
};

/* What the host has asked for; done between two slices. */
struct order {
    uint64_t id; /* of its CALL; 0: there is none */
    enum { ORDER_SAVE = 1, ORDER_REPORT } what;
    int fd;
};

struct server {
    int socket;
    struct wire_reader reader;
    uint64_t load_id;
    struct runner runner;
    struct runner_config config;
    struct line line[LINES];
    struct script script;
    const struct script_step *sending; /* a step whose keys are not all on the wire yet */
    size_t sent;
    struct order order;
    struct disks disks;
    char command_line[4096];
    int save_fd; /* where a snapshot goes at the end, or -1 */
    uint64_t timeout_ns, started_ns, started_insns;
    bool timed_out, verbose, hash;
};

uint64_t server_now_ns(void);
/* The host broke the protocol: the end. */
_Noreturn void server_breach(const char *what);
void server_send(struct server *server, uint8_t type, uint16_t stream, uint64_t id,
                 const void *body, size_t length);
/* Waits up to `ns` for a frame, and takes all that are there. */
void server_receive(struct server *server, uint64_t ns);
void server_log(void *opaque, enum pc_log level, const char *text);

/* serve.c, for the runner: see struct runner_host. */
uint64_t serve_clock(void *opaque);
bool serve_attend(void *opaque, struct pc *pc, uint64_t nap_ns);

/* line.c */
void lines_init(struct server *server);
void line_output(void *opaque, unsigned port, uint8_t byte);
void line_data(struct server *server, const struct wire_frame *frame);
void line_credited(struct server *server, const struct wire_frame *frame);
/* Sends what has credit. True while a port has more than it should keep: the guest waits. */
bool lines_flush(struct server *server);
/* True when nothing waits for credit any more. */
bool lines_empty(const struct server *server);
/* Hands the guest what has come for it, and grants the host as much again. */
void lines_feed(struct server *server);
/* Begins to type a step of the script; NULL types nothing. */
void script_type(struct server *server, const struct script_step *step);

/* For the runner: a request of a disk. */
void serve_block(void *opaque, struct pc *pc, unsigned disk,
                 const struct pc_block_request *request);

/* load.c: waits for the LOAD and makes the machine of it; a fault is answered, and ends the helper.
 */
void load_wait(struct server *server);

/* order.c */
void order_arrived(struct server *server, const struct wire_frame *frame);
void order_do(struct server *server);
/* Writes a snapshot to `fd`, answering the host's heartbeat meanwhile. NULL, or what is wrong. */
const char *save_to(struct server *server, int fd, uint64_t *bytes);

/* end.c: the last VALUE; `wrong` is why the snapshot at the end was not written, or NULL. */
void end_say(struct server *server, enum pc_stop stop, const char *wrong);
struct json_writer;
/* The state of the machine for people, as the members of a JSON array. */
void end_report(struct server *server, struct json_writer *out);

#endif
