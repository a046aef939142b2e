/*
 * A PC as a helper: see serve.h and docs/protocol.md, "A PC's helper".
 *
 * It is confined before it reads anything. One LOAD brings what the machine is made of; from then
 * on its serial ports are streams, a BEAT is echoed between two slices (that is what shows the host
 * that the loop is alive), and a CALL asks for something about the machine. The end of the run is a
 * VALUE with the LOAD's id.
 */
#include "serve.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "helper/confine.h"
#include "helper/helper.h"
#include "server.h"
#include "wire/body.h"

uint64_t server_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

_Noreturn void server_breach(const char *what)
{
    fprintf(stderr, "halter-pc: from the host: %s\n", what);
    exit(HELPER_EXIT_BREACH);
}

/* ---- frames -----------------------------------------------------------------------------------
 */

void server_send(struct server *server, uint8_t type, uint16_t stream, uint64_t id,
                 const void *body, size_t length)
{
    struct wire_frame header = {.type = type, .stream = stream, .id = id};
    struct iovec part = {.iov_base = (void *)(uintptr_t)body, .iov_len = length};

    if (wire_send_wait(server->socket, &header, &part, 1, NULL) < 0)
        exit(HELPER_EXIT_EOF);
}

void server_log(void *opaque, enum pc_log level, const char *text)
{
    static const enum wire_level levels[] = {WIRE_ERR, WIRE_WARN, WIRE_INFO, WIRE_DEBUG};
    struct server *server = opaque;
    struct wire_log log = {.level = (uint8_t)levels[level], .text = {text, (uint32_t)strlen(text)}};
    uint8_t fixed[WIRE_LOG_FIXED];
    struct wire_frame header = {.type = WIRE_LOG};
    struct iovec parts[] = {{fixed, wire_log_encode(&log, fixed)},
                            {(void *)(uintptr_t)text, log.text.length}};

    if (level == PC_LOG_INFO && !server->verbose && !server->config.pc.trace)
        return;
    if (wire_send_wait(server->socket, &header, parts, 2, NULL) < 0)
        exit(HELPER_EXIT_EOF);
}

static void take_frame(struct server *server, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_DATA:
        line_data(server, frame);
        break;
    case WIRE_CREDIT:
        line_credited(server, frame);
        break;
    case WIRE_BEAT:
        server_send(server, WIRE_BEAT, 0, frame->id, NULL, 0);
        break;
    case WIRE_CALL:
        order_arrived(server, frame);
        break;
    case WIRE_END:
        break;
    default:
        server_breach("a frame out of turn");
    }
}

void server_receive(struct server *server, uint64_t ns)
{
    struct pollfd ready[] = {{.fd = server->socket, .events = POLLIN},
                             {.fd = server->disks.event_fd, .events = POLLIN}};
    struct timespec wait = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    struct wire_frame frame;
    int cut = 0;

    if (ppoll(ready, 2, ns == UINT64_MAX ? NULL : &wait, NULL) <= 0 || !ready[0].revents)
        return;
    int got = wire_reader_fill(&server->reader, server->socket);
    if (got == WIRE_EOF || got == WIRE_TRUNCATED)
        exit(HELPER_EXIT_EOF);
    if (got < 0 && got != WIRE_AGAIN)
        server_breach(wire_fault_text(got));
    while ((cut = wire_reader_next(&server->reader, &frame)) == 1)
        take_frame(server, &frame);
    if (cut < 0)
        server_breach(wire_fault_text(cut));
}

/* ---- between two slices ------------------------------------------------------------------------
 */

uint64_t serve_clock(void *opaque)
{
    (void)opaque;
    return server_now_ns();
}

bool serve_attend(void *opaque, struct pc *pc, uint64_t nap_ns)
{
    struct server *server = opaque;
    uint64_t elapsed = server_now_ns() - server->started_ns;
    bool full;

    lines_flush(server);
    if (script_over(&server->script))
        return false;
    server->timed_out = server->timeout_ns && elapsed >= server->timeout_ns;
    if (server->timed_out)
        return false;
    if (server->timeout_ns && nap_ns > server->timeout_ns - elapsed)
        nap_ns = server->timeout_ns - elapsed;
    server_receive(server, nap_ns);
    do { /* a host that has had enough: the guest waits */
        order_do(server);
        full = lines_flush(server);
        if (full)
            server_receive(server, UINT64_MAX);
    } while (full || server->order.id);
    lines_feed(server);
    disks_attend(&server->disks, pc);
    return true;
}

void serve_block(void *opaque, struct pc *pc, unsigned disk,
                 const struct pc_block_request *request)
{
    struct server *server = opaque;

    disks_request(&server->disks, pc, disk, request);
}

static void keep_alive(void *opaque)
{
    server_receive(opaque, 0);
}

/* What the guest printed last goes out as far as the host takes it within the host's own patience.
 */
static void finish(struct server *server, enum pc_stop stop)
{
    const char *wrong = NULL;
    uint64_t bytes;

    lines_flush(server);
    wrong = disks_commit(&server->disks, keep_alive, server);
    if (!wrong && server->save_fd >= 0)
        wrong = save_to(server, server->save_fd, &bytes);
    for (;;) {
        order_do(server);
        lines_flush(server);
        if (lines_empty(server))
            break;
        server_receive(server, UINT64_MAX);
    }
    end_say(server, stop, wrong);
}

static void say_hello(struct server *server, const struct helper_start *start,
                      const struct confinement *confinement)
{
    struct wire_hello hello = {.version = WIRE_VERSION,
                               .kind = WIRE_HELPER_PC,
                               .cap = start->profile.cap,
                               .layers = confinement->layers,
                               .landlock_abi = confinement->landlock_abi,
                               .engine = "halter-pc"};
    uint8_t body[WIRE_HELLO_BYTES];

    wire_hello_encode(&hello, body);
    server_send(server, WIRE_HELLO, 0, 0, body, sizeof(body));
}

int serve(int argc, char **argv)
{
    static struct server server;
    struct helper_start start;
    struct confinement confinement = {0};

    if (!helper_resume(&start, argc, argv)) {
        fputs("halter-pc: it is started by libhalter, not by hand: see halter-boot(1)\n", stderr);
        return HELPER_EXIT_ENGINE;
    }
    server.socket = start.socket;
    wire_reader_init(&server.reader, WIRE_DIR_IN, start.profile.cap, true);
    lines_init(&server);
    if (!confine_before_engine(&confinement, &start) || !disks_prepare(&server.disks) ||
        !confine_after_engine(&confinement, &start))
        return HELPER_EXIT_CONFINE;
    say_hello(&server, &start, &confinement);
    load_wait(&server);
    server_send(&server, WIRE_LOADED, 0, server.load_id, NULL, 0);
    server.started_ns = server_now_ns();
    server.started_insns = pc_insns(server.runner.pc);
    lines_feed(&server);
    if (!server.sending)
        script_type(&server, script_start(&server.script));
    finish(&server, runner_run(&server.runner));
    runner_destroy(&server.runner);
    return HELPER_EXIT_EOF;
}
