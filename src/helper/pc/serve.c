/*
 * A PC as a helper: see serve.h and docs/protocol.md, "A PC's helper".
 *
 * It is confined before it reads anything. One LOAD brings the configuration as JSON and the kernel
 * and initial RAM disk as descriptors; from then on the console is stream 1 in both directions,
 * under credit, and a BEAT is echoed between two slices: that is what shows the host that the loop
 * is alive. The end of the run is a VALUE with the LOAD's id. A guest that prints more than the host
 * takes waits, as on a serial line.
 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "helper/confine.h"
#include "helper/helper.h"
#include "runner.h"
#include "script.h"
#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/stream.h"

#define CONSOLE      1              /* the stream */
#define OUT_BYTES    (256u << 10)   /* console output that waits for credit */
#define OUT_HIGH     (OUT_BYTES - 8192)
#define IN_BYTES     (64u << 10)    /* console input that the guest has not taken: the window */
#define REPORT_LINES 64

struct server {
    int socket;
    struct wire_reader reader;
    struct wire_stream_out out;
    struct wire_stream_in in;
    uint64_t load_id;
    struct runner runner;
    struct runner_config config;
    struct script script;
    const struct script_step *sending;
    size_t sent;
    char command_line[4096];
    uint64_t timeout_ns, started_ns;
    bool timed_out, verbose, hash;
    uint8_t output[OUT_BYTES];
    size_t output_count;
    uint8_t input[IN_BYTES];
    size_t input_start, input_count;
};

static uint64_t now_ns(void *opaque)
{
    (void)opaque;
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

_Noreturn static void breach(const char *what)
{
    fprintf(stderr, "halter-pc: from the host: %s\n", what);
    exit(HELPER_EXIT_BREACH);
}

static void send_frame(struct server *server, uint8_t type, uint16_t stream, uint64_t id,
                       const void *body, size_t length)
{
    struct wire_frame header = {.type = type, .stream = stream, .id = id};
    struct iovec part = {.iov_base = (void *)(uintptr_t)body, .iov_len = length};
    if (wire_send_wait(server->socket, &header, &part, 1, NULL) < 0)
        exit(HELPER_EXIT_EOF);
}

static void send_credit(struct server *server)
{
    uint32_t grant = wire_stream_grant(&server->in);
    uint8_t body[4] = {(uint8_t)grant, (uint8_t)(grant >> 8), (uint8_t)(grant >> 16),
                       (uint8_t)(grant >> 24)};
    if (grant)
        send_frame(server, WIRE_CREDIT, CONSOLE, 0, body, sizeof(body));
}

static void send_log(struct server *server, enum wire_level level, const char *text)
{
    struct wire_log log = {.level = (uint8_t)level, .text = {text, (uint32_t)strlen(text)}};
    uint8_t fixed[WIRE_LOG_FIXED];
    struct wire_frame header = {.type = WIRE_LOG};
    struct iovec parts[] = {{fixed, wire_log_encode(&log, fixed)},
                            {(void *)(uintptr_t)text, log.text.length}};
    if (wire_send_wait(server->socket, &header, parts, 2, NULL) < 0)
        exit(HELPER_EXIT_EOF);
}

/* ---- the console ------------------------------------------------------------------------------ */

static void flush_output(struct server *server)
{
    size_t done = 0;
    uint32_t bytes;
    while ((bytes = wire_stream_may_send(&server->out, (uint32_t)(server->output_count - done)))) {
        send_frame(server, WIRE_DATA, CONSOLE, 0, server->output + done, bytes);
        wire_stream_sent(&server->out, bytes);
        done += bytes;
    }
    memmove(server->output, server->output + done, server->output_count - done);
    server->output_count -= done;
}

/* The keys of a script go onto the wire at the very instruction that completed the text, so that a
 * scripted run in deterministic time is the same each time. */
static void push_keys(struct server *server)
{
    const struct script_step *step = server->sending;
    if (step) {
        server->sent += pc_console_in(server->runner.pc, 0,
                                      (const uint8_t *)step->send + server->sent,
                                      step->send_length - server->sent);
        if (server->sent == step->send_length)
            server->sending = NULL;
    }
    while (!server->sending && server->input_count) {
        size_t run = IN_BYTES - server->input_start;
        run = run < server->input_count ? run : server->input_count;
        size_t taken =
            pc_console_in(server->runner.pc, 0, server->input + server->input_start, run);
        if (!taken)
            break;
        server->input_start = (server->input_start + taken) % IN_BYTES;
        server->input_count -= taken;
        wire_stream_consumed(&server->in, (uint32_t)taken);
    }
}

static void begin_sending(struct server *server, const struct script_step *step)
{
    if (!step || !step->sends)
        return;
    server->sending = step;
    server->sent = 0;
    push_keys(server);
}

static void console_out(void *opaque, unsigned uart, uint8_t byte)
{
    struct server *server = opaque;
    if (uart != 0)
        return;
    if (server->output_count < OUT_BYTES)
        server->output[server->output_count++] = byte;
    begin_sending(server, script_see(&server->script, byte));
    if (script_over(&server->script) || server->output_count >= OUT_HIGH)
        pc_pause(server->runner.pc);
}

static void log_line(void *opaque, enum pc_log level, const char *text)
{
    static const enum wire_level levels[] = {WIRE_ERR, WIRE_WARN, WIRE_INFO, WIRE_DEBUG};
    struct server *server = opaque;
    if (level != PC_LOG_INFO || server->verbose)
        send_log(server, levels[level], text);
}

/* ---- frames ----------------------------------------------------------------------------------- */

static uint32_t little(const uint8_t *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void take_data(struct server *server, const struct wire_frame *frame)
{
    if (frame->stream != CONSOLE || !wire_stream_arrived(&server->in, frame->length) ||
        frame->length > IN_BYTES - server->input_count)
        breach("console input beyond its credit");
    for (uint32_t i = 0; i < frame->length; i++)
        server->input[(server->input_start + server->input_count++) % IN_BYTES] = frame->body[i];
}

static void take_frame(struct server *server, const struct wire_frame *frame)
{
    switch (frame->type) {
    case WIRE_DATA:
        take_data(server, frame);
        break;
    case WIRE_CREDIT:
        if (frame->stream != CONSOLE || frame->length != 4 ||
            !wire_stream_credited(&server->out, little(frame->body)))
            breach("credit that is none");
        break;
    case WIRE_BEAT:
        send_frame(server, WIRE_BEAT, 0, frame->id, NULL, 0);
        break;
    case WIRE_END:
        break;
    default:
        breach("a frame out of turn");
    }
}

/* Waits up to `ns` for a frame, and takes all that are there. */
static void receive(struct server *server, uint64_t ns)
{
    struct pollfd ready = {.fd = server->socket, .events = POLLIN};
    struct timespec wait = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    if (ppoll(&ready, 1, ns == UINT64_MAX ? NULL : &wait, NULL) <= 0)
        return;
    struct wire_frame frame;
    int got = wire_reader_fill(&server->reader, server->socket), cut = 0;
    if (got == WIRE_EOF || got == WIRE_TRUNCATED)
        exit(HELPER_EXIT_EOF);
    if (got < 0 && got != WIRE_AGAIN)
        breach(wire_fault_text(got));
    while ((cut = wire_reader_next(&server->reader, &frame)) == 1)
        take_frame(server, &frame);
    if (cut < 0)
        breach(wire_fault_text(cut));
}

static bool attend(void *opaque, struct pc *pc, uint64_t nap_ns)
{
    struct server *server = opaque;
    uint64_t elapsed = now_ns(NULL) - server->started_ns;

    (void)pc;
    flush_output(server);
    if (script_over(&server->script))
        return false;
    server->timed_out = server->timeout_ns && elapsed >= server->timeout_ns;
    if (server->timed_out)
        return false;
    if (server->timeout_ns && nap_ns > server->timeout_ns - elapsed)
        nap_ns = server->timeout_ns - elapsed;
    receive(server, nap_ns);
    while (server->output_count >= OUT_HIGH) { /* the host has had enough: the guest waits */
        flush_output(server);
        if (server->output_count >= OUT_HIGH)
            receive(server, UINT64_MAX);
    }
    push_keys(server);
    send_credit(server);
    return true;
}

/* ---- loading ----------------------------------------------------------------------------------- */

_Noreturn static void refuse(struct server *server, const char *message)
{
    struct wire_error error = {.kind = WIRE_ERROR_LOAD,
                               .message = {message, (uint32_t)strlen(message)}};
    uint8_t fixed[WIRE_ERROR_FIXED];
    wire_error_encode(&error, fixed);
    struct wire_frame header = {.type = WIRE_ERROR, .id = server->load_id};
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {(void *)(uintptr_t)message, error.message.length}};
    wire_send_wait(server->socket, &header, parts, 2, NULL);
    exit(HELPER_EXIT_EOF);
}

static int64_t number(struct json_value config, const char *key, int64_t otherwise)
{
    struct json_value value;
    int64_t n;
    if (!json_member(config, key, &value) || !json_integer(value, 0, INT64_MAX, &n))
        return otherwise;
    return n;
}

static bool flag(struct json_value config, const char *key)
{
    struct json_value value;
    return json_member(config, key, &value) && value.type == JSON_TRUE;
}

/* The file that `key` says is the nth descriptor, mapped. False when there is none. */
static bool map_file(struct server *server, struct json_value config, const char *key,
                     const struct wire_frame *frame, const uint8_t **bytes, size_t *count)
{
    int64_t n = number(config, key, -1);
    if (n < 0)
        return false;
    if (n >= frame->nfds)
        breach("a descriptor that did not come");
    /* Not fstat(): the C library makes newfstatat of it, which a confined helper does not have. */
    off_t size = lseek(frame->fds[n], 0, SEEK_END);
    if (size <= 0)
        refuse(server, "a file is empty, or no file");
    void *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, frame->fds[n], 0);
    if (map == MAP_FAILED)
        refuse(server, strerror(errno));
    *bytes = map;
    *count = (size_t)size;
    return true;
}

static void read_script(struct server *server, struct json_value config)
{
    struct json_value steps, step, text;
    char buffer[SCRIPT_TEXT];
    size_t at = 0;
    if (!json_member(config, "script", &steps) || steps.type != JSON_ARRAY)
        return;
    while (json_next(steps, &at, NULL, &step)) {
        if (json_member(step, "until", &text) &&
            (json_string(text, buffer, sizeof(buffer)) < 0 ||
             !script_until(&server->script, buffer)))
            refuse(server, "a text to wait for is not right: too long, or an unknown escape");
        if (json_member(step, "send", &text) &&
            (json_string(text, buffer, sizeof(buffer)) < 0 ||
             !script_send(&server->script, buffer)))
            refuse(server, "a text to send is not right: too long, or an unknown escape");
    }
}

static void read_config(struct server *server, const struct wire_frame *frame)
{
    struct wire_load load;
    struct runner_config *c = &server->config;
    struct json_value text;
    if (!wire_load_decode(&load, frame->body, frame->length) ||
        !json_check(load.source.bytes, load.source.length, NULL))
        breach("a malformed load");
    struct json_value config = json_root(load.source.bytes, load.source.length);
    uint64_t ram = (uint64_t)number(config, "ramMb", 128) << 20;
    c->ram_bytes = ram < (3072ull << 20) ? (uint32_t)ram : 0;
    c->pc.model = (enum pc_model)number(config, "model", PC_MODEL_PENTIUM_M);
    c->pc.rtc_seconds = (uint64_t)number(config, "rtc", 0);
    c->pc.trace = (uint32_t)number(config, "trace", 0);
    c->icount_q16 = (uint32_t)number(config, "icountQ16", 0);
    c->no_reboot = flag(config, "noReboot");
    server->verbose = flag(config, "verbose");
    server->hash = flag(config, "hash");
    server->timeout_ns = (uint64_t)number(config, "timeoutMs", 0) * 1000000u;
    if (json_member(config, "append", &text) &&
        json_string(text, server->command_line, sizeof(server->command_line)) < 0)
        refuse(server, "the kernel's command line is too long");
    c->image.command_line = server->command_line;
    if (!map_file(server, config, "kernel", frame, &c->image.kernel, &c->image.kernel_bytes))
        refuse(server, "no kernel");
    map_file(server, config, "initrd", frame, &c->image.initrd, &c->image.initrd_bytes);
    read_script(server, config);
    void *map = mmap(NULL, c->ram_bytes ? c->ram_bytes : 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        refuse(server, "there is no memory for the RAM");
    c->ram = map;
}

static void wait_for_load(struct server *server)
{
    struct wire_frame frame;
    int got = wire_receive_wait(&server->reader, server->socket, &frame);
    if (got == WIRE_EOF)
        exit(HELPER_EXIT_EOF);
    if (got != 1)
        breach(wire_fault_text(got));
    if (frame.type != WIRE_LOAD)
        breach("a frame before the load");
    server->load_id = frame.id;
    read_config(server, &frame);
    const struct runner_host host = {.opaque = server,
                                     .now_ns = now_ns,
                                     .console_out = console_out,
                                     .log = log_line,
                                     .attend = attend};
    const char *wrong = runner_init(&server->runner, &server->config, &host);
    if (wrong)
        refuse(server, wrong);
    for (unsigned i = 0; i < frame.nfds; i++)
        close(frame.fds[i]);
}

/* ---- the end ------------------------------------------------------------------------------------ */

struct report {
    struct json_writer *out;
    unsigned lines;
};

static void report_line(void *opaque, const char *text)
{
    struct report *report = opaque;
    if (report->lines >= REPORT_LINES)
        return;
    if (report->lines++)
        json_write(report->out, ",");
    json_write_string(report->out, text, strlen(text));
}

static void write_member(struct json_writer *out, const char *name, uint64_t value)
{
    json_write(out, ",\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_integer(out, (int64_t)value);
}

static void say_end(struct server *server, enum pc_stop stop)
{
    const char *reason = stop == PC_OFF        ? "off"
                         : stop == PC_RESET    ? "reset"
                         : stop == PC_SHUTDOWN ? "triple fault"
                         : server->timed_out   ? "timeout"
                                               : "until";
    struct json_writer out;
    json_writer_init(&out);
    json_write(&out, "{\"reason\":\"");
    json_write(&out, reason);
    json_write(&out, "\"");
    write_member(&out, "insns", pc_insns(server->runner.pc));
    write_member(&out, "guestNs", pc_now_ns(server->runner.pc));
    write_member(&out, "wallNs", now_ns(NULL) - server->started_ns);
    write_member(&out, "sleptNs", server->runner.stats.slept_ns);
    write_member(&out, "lostNs", server->runner.stats.lost_ns);
    write_member(&out, "slices", server->runner.stats.slices);
    write_member(&out, "boots", server->runner.stats.boots);
    if (server->hash) {
        char text[40];
        snprintf(text, sizeof(text), ",\"hash\":\"%016llx\"",
                 (unsigned long long)pc_hash(server->runner.pc));
        json_write(&out, text);
    }
    json_write(&out, ",\"report\":[");
    struct report report = {.out = &out};
    if (stop == PC_SHUTDOWN)
        pc_report(server->runner.pc, report_line, &report);
    json_write(&out, "]}");
    if (!json_write_end(&out))
        exit(HELPER_EXIT_ENGINE);
    send_frame(server, WIRE_VALUE, 0, server->load_id, out.text, out.length);
    json_writer_finish(&out);
}

int serve(int argc, char **argv)
{
    static struct server server;
    struct helper_start start;
    struct confinement confinement = {0};

    if (!helper_resume(&start, argc, argv)) {
        fputs("halter-pc: --helper is for libhalter\n", stderr);
        return HELPER_EXIT_ENGINE;
    }
    server.socket = start.socket;
    wire_reader_init(&server.reader, WIRE_DIR_IN, start.profile.cap, true);
    wire_stream_in_init(&server.in, IN_BYTES);
    if (!confine_before_engine(&confinement, &start) || !confine_after_engine(&confinement, &start))
        return HELPER_EXIT_CONFINE;
    struct wire_hello hello = {.version = WIRE_VERSION,
                               .kind = WIRE_HELPER_PC,
                               .cap = start.profile.cap,
                               .layers = confinement.layers,
                               .landlock_abi = confinement.landlock_abi,
                               .engine = "halter-pc"};
    uint8_t body[WIRE_HELLO_BYTES];
    wire_hello_encode(&hello, body);
    send_frame(&server, WIRE_HELLO, 0, 0, body, sizeof(body));
    wait_for_load(&server);
    send_frame(&server, WIRE_LOADED, 0, server.load_id, NULL, 0);
    send_credit(&server);
    server.started_ns = now_ns(NULL);
    begin_sending(&server, script_start(&server.script));
    enum pc_stop stop = runner_run(&server.runner);
    /* What it printed last goes out as far as the host takes it within the host's own patience. */
    while (server.output_count) {
        flush_output(&server);
        if (server.output_count)
            receive(&server, UINT64_MAX);
    }
    say_end(&server, stop);
    runner_destroy(&server.runner);
    return HELPER_EXIT_EOF;
}
