/*
 * One PC: its helper is had from the launcher, told what to boot, listened to and watched. The
 * console is a stream under credit in both directions; a heartbeat that is asked for between two
 * slices and not answered in time is the end of the helper. A PC is not started again by itself:
 * its disks and its console's reader would not know.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/internal.h"
#include "wire/body.h"
#include "wire/json.h"
#include "wire/json_write.h"
#include "wire/stream.h"

#define CONSOLE       1           /* the stream */
#define WINDOW        (64u << 10) /* of console output: what may be under way */
#define BOOT_MS       30000       /* to load a kernel and its initial RAM disk */
#define PC_TIMERS     1
#define PC_OVERHEAD   (64ull << 20) /* of memory, beside the RAM: the machine and its block cache */
#define MAX_CONFIG    (256u << 10)

struct halter_pc {
    struct list link; /* in host->pcs */
    struct halter_host *host;
    struct process *process; /* NULL once it is gone */
    char *name;
    struct json_writer config;
    int fds[2];
    unsigned nfds;
    uint64_t load_id;
    bool loaded, held, ended, closing;
    struct wire_stream_out in;  /* towards the guest */
    struct wire_stream_in out;  /* from it */
    struct timer beat;
    uint32_t heartbeat_ms;
    uint64_t beat_id; /* that is to be echoed, or 0 */
    halter_pc_console_fn on_console;
    halter_pc_log_fn on_log;
    halter_pc_end_fn on_end;
    void *data;
};

/* ---- ending --------------------------------------------------------------------------------------- */

static void end(struct halter_pc *pc, const struct halter_pc_end *how)
{
    if (pc->ended)
        return;
    pc->ended = true;
    timer_cancel(&pc->host->timers, &pc->beat);
    if (!pc->on_end || pc->closing)
        return;
    host_enter(pc->host);
    pc->on_end(pc, how, pc->data);
    host_leave(pc->host);
}

/* Its process has done what it was for: its end is no event. */
static void dismiss(struct halter_pc *pc)
{
    struct process *process = pc->process;
    pc->process = NULL;
    if (!process)
        return;
    process->pc = NULL;
    process->retired = true;
    process_kill(process, HALTER_DEATH_KILLED, NULL);
}

static void bereaved(struct process *process)
{
    struct halter_pc *pc = process->pc;
    struct halter_death death;

    if (!pc)
        return;
    death_describe(process, &death);
    process->pc = NULL;
    pc->process = NULL;
    struct halter_pc_end how = {.reason = HALTER_PC_DIED, .detail = process->detail,
                                .report_json = "{}", .death = &death};
    end(pc, &how);
}

/* ---- frames ---------------------------------------------------------------------------------------- */

static int send_small(struct halter_pc *pc, uint8_t type, uint16_t stream, uint64_t id,
                      const void *body, size_t length)
{
    struct wire_frame header = {.type = type, .stream = stream, .id = id};
    struct iovec part = {(void *)(uintptr_t)body, length};
    return process_send(pc->process, &header, &part, 1, NULL);
}

static void grant(struct halter_pc *pc)
{
    uint32_t more = pc->held || !pc->process ? 0 : wire_stream_grant(&pc->out);
    uint8_t body[4] = {(uint8_t)more, (uint8_t)(more >> 8), (uint8_t)(more >> 16),
                       (uint8_t)(more >> 24)};
    if (more && send_small(pc, WIRE_CREDIT, CONSOLE, 0, body, sizeof(body)) != 0)
        process_condemn(pc->process, HALTER_DEATH_KILLED, "no memory in the host for its console");
}

static void next_beat(struct halter_pc *pc)
{
    timer_arm(&pc->host->timers, &pc->beat,
              monotonic_ns() + pc->heartbeat_ms * NS_PER_MS / (pc->beat_id ? 1 : 2));
}

static void beat_fired(struct timer *timer, uint64_t now_ns)
{
    struct halter_pc *pc = list_entry(timer, struct halter_pc, beat);

    (void)now_ns;
    if (!pc->process)
        return;
    uint64_t waits_for = pc->beat_id;
    bool loading = !pc->loaded;
    process_readable(pc->process); /* an echo that lies in the socket came in time */
    if (!pc->process || pc->ended || (loading && pc->loaded))
        return;
    if (loading || (waits_for && pc->beat_id == waits_for)) {
        process_kill(pc->process, HALTER_DEATH_DEADLINE,
                     loading ? "while loading the kernel" : "its heartbeat stopped");
        return;
    }
    if (!waits_for) {
        pc->host->last_call_id += 2;
        pc->beat_id = pc->host->last_call_id | 1;
        if (send_small(pc, WIRE_BEAT, 0, pc->beat_id, NULL, 0) != 0)
            pc->beat_id = 0;
    }
    next_beat(pc);
}

static void offered(struct process *process)
{
    struct halter_pc *pc = process->pc;

    process_event(process, PROCESS_EVENT_ADOPT);
    if (!pc)
        return;
    struct wire_load load = {.name = {pc->name, (uint32_t)strlen(pc->name)},
                             .source = {pc->config.text, (uint32_t)pc->config.length}};
    uint8_t fixed[WIRE_LOAD_FIXED];
    wire_load_encode(&load, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {pc->name, load.name.length},
                            {pc->config.text, pc->config.length}};
    pc->host->last_call_id += 2;
    pc->load_id = pc->host->last_call_id | 1;
    struct wire_frame header = {.type = WIRE_LOAD, .id = pc->load_id, .nfds = (uint8_t)pc->nfds};
    if (process_send(process, &header, parts, 3, pc->fds) != 0)
        process_condemn(process, HALTER_DEATH_SPAWN, "no memory in the host to start the PC");
    timer_arm(&pc->host->timers, &pc->beat, monotonic_ns() + BOOT_MS * NS_PER_MS);
}

static void breach(struct process *process, const char *what)
{
    process_kill(process, HALTER_DEATH_PROTOCOL, what);
}

static void console(struct halter_pc *pc, const struct wire_frame *frame)
{
    if (frame->stream != CONSOLE || !wire_stream_arrived(&pc->out, frame->length)) {
        breach(pc->process, "console output beyond its credit");
        return;
    }
    if (pc->on_console) {
        host_enter(pc->host);
        pc->on_console(pc, frame->body, frame->length, pc->data);
        host_leave(pc->host);
    }
    wire_stream_consumed(&pc->out, frame->length);
    if (!pc->closing)
        grant(pc);
}

static void credited(struct halter_pc *pc, const struct wire_frame *frame)
{
    const uint8_t *b = frame->body;
    uint32_t more = frame->length != 4 ? 0
                                       : b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 |
                                             (uint32_t)b[3] << 24;
    if (frame->stream != CONSOLE || !wire_stream_credited(&pc->in, more))
        breach(pc->process, "credit that is none");
    else
        pc->host->progress++; /* who waits for room in the line looks again */
}

static void not_started(struct halter_pc *pc, const struct wire_frame *frame)
{
    struct halter_script_error error;
    char *storage, detail[512];
    int status;

    if (!script_error_read(&error, &status, &storage, frame) || status != HALTER_ELOAD) {
        breach(pc->process, "an ERROR frame that is none");
        return;
    }
    halter_printable(detail, sizeof(detail), error.message, strlen(error.message), false);
    free(storage);
    dismiss(pc);
    struct halter_pc_end how = {
        .reason = HALTER_PC_NOT_STARTED, .detail = detail, .report_json = "{}"};
    end(pc, &how);
}

static void run_ended(struct halter_pc *pc, const struct wire_frame *frame)
{
    static const struct {
        const char *word;
        enum halter_pc_reason reason;
    } reasons[] = {{"off", HALTER_PC_OFF}, {"reset", HALTER_PC_RESET},
                   {"triple fault", HALTER_PC_TRIPLE_FAULT}, {"until", HALTER_PC_UNTIL},
                   {"timeout", HALTER_PC_TIMEOUT}};
    struct json_value root, value;
    char word[32] = "";
    struct halter_pc_end how = {.detail = "", .report_json = (const char *)frame->body};

    if (json_check((const char *)frame->body, frame->length, NULL)) {
        root = json_root((const char *)frame->body, frame->length);
        if (json_member(root, "reason", &value) && value.type == JSON_STRING)
            json_string(value, word, sizeof(word));
    }
    for (unsigned i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
        if (strcmp(word, reasons[i].word) == 0)
            how.reason = reasons[i].reason;
    if (!how.reason) {
        breach(pc->process, "an end that is none");
        return;
    }
    dismiss(pc);
    end(pc, &how);
}

static void log_frame(struct halter_pc *pc, const struct wire_frame *frame)
{
    struct wire_log body;
    char text[1024];

    if (!wire_log_decode(&body, frame->body, frame->length)) {
        breach(pc->process, "a LOG frame that is none");
        return;
    }
    if (!pc->on_log)
        return;
    halter_printable(text, sizeof(text), body.text.bytes, body.text.length, false);
    host_enter(pc->host);
    pc->on_log(pc, (enum halter_level)body.level, text, pc->data);
    host_leave(pc->host);
}

static void frame_arrived(struct process *process, const struct wire_frame *frame)
{
    struct halter_pc *pc = process->pc;

    if (!pc || pc->closing)
        return;
    if (frame->type == WIRE_LOG) {
        log_frame(pc, frame);
    } else if (!pc->loaded) {
        if (frame->type == WIRE_ERROR && frame->id == pc->load_id) {
            not_started(pc, frame);
        } else if (frame->type == WIRE_LOADED && frame->id == pc->load_id) {
            pc->loaded = true;
            grant(pc);
            next_beat(pc);
        } else {
            breach(process, "a frame before the kernel was loaded");
        }
    } else if (frame->type == WIRE_DATA) {
        console(pc, frame);
    } else if (frame->type == WIRE_CREDIT) {
        credited(pc, frame);
    } else if (frame->type == WIRE_BEAT && pc->beat_id && frame->id == pc->beat_id) {
        pc->beat_id = 0;
        next_beat(pc);
    } else if (frame->type == WIRE_VALUE && frame->id == pc->load_id) {
        run_ended(pc, frame);
    } else {
        breach(process, "a frame that a PC's helper does not send");
    }
}

/* ---- making ------------------------------------------------------------------------------------------ */

static void write_number(struct json_writer *out, const char *name, uint64_t value)
{
    json_write(out, ",\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_integer(out, (int64_t)value);
}

static void write_text(struct json_writer *out, const char *name, const char *text)
{
    json_write(out, "\"");
    json_write(out, name);
    json_write(out, "\":");
    json_write_string(out, text, strlen(text));
}

static bool write_config(struct halter_pc *pc, const struct halter_pc_options *o)
{
    struct json_writer *out = &pc->config;
    uint64_t now = (uint64_t)time(NULL);

    json_write(out, "{\"kernel\":0");
    if (o->initrd_fd >= 0)
        write_number(out, "initrd", 1);
    write_number(out, "ramMb", o->ram_mb);
    write_number(out, "model", (uint64_t)o->model);
    write_number(out, "rtc", o->rtc_seconds != UINT64_MAX ? o->rtc_seconds
                                                          : (o->icount_ns_q16 ? 0 : now));
    write_number(out, "icountQ16", o->icount_ns_q16);
    write_number(out, "trace", o->trace);
    write_number(out, "timeoutMs", o->timeout_ms);
    json_write(out, o->no_reboot ? ",\"noReboot\":true" : ",\"noReboot\":false");
    json_write(out, o->verbose ? ",\"verbose\":true" : ",\"verbose\":false");
    json_write(out, o->hash ? ",\"hash\":true," : ",\"hash\":false,");
    write_text(out, "append", o->append ? o->append : "");
    json_write(out, ",\"script\":[");
    for (unsigned i = 0; i < o->nsteps; i++) {
        json_write(out, i ? ",{" : "{");
        if (o->steps[i].until)
            write_text(out, "until", o->steps[i].until);
        if (o->steps[i].until && o->steps[i].send)
            json_write(out, ",");
        if (o->steps[i].send)
            write_text(out, "send", o->steps[i].send);
        json_write(out, "}");
    }
    json_write(out, "]}");
    return json_write_end(out);
}

static void pc_free(struct halter_pc *pc)
{
    list_remove(&pc->link);
    timer_cancel(&pc->host->timers, &pc->beat);
    host_drop_timers(pc->host, PC_TIMERS);
    while (pc->nfds)
        close(pc->fds[--pc->nfds]);
    json_writer_finish(&pc->config);
    free(pc->name);
    free(pc);
}

static bool keep_file(struct halter_pc *pc, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0)
        return false;
    pc->fds[pc->nfds++] = copy;
    return true;
}

int halter_pc_create(struct halter_host *host, const struct halter_pc_options *given,
                     struct halter_pc **out)
{
    static const struct process_use use = {
        .offered = offered, .bereaved = bereaved, .frame = frame_arrived};
    struct halter_pc_options o = {0};

    if (!host || !given || !out || given->size > sizeof(o) || given->size < sizeof(given->size))
        return HALTER_EINVAL;
    memcpy(&o, given, given->size);
    if (!o.ram_mb)
        o.ram_mb = 128;
    if (o.kernel_fd < 0 || o.ram_mb < 2 || o.ram_mb > 3072 || o.model > HALTER_PC_PENTIUM_M)
        return HALTER_EINVAL;
    if (host->closing)
        return HALTER_ECLOSED;
    if (host_need_timers(host, PC_TIMERS) < 0)
        return HALTER_ENOMEM;
    struct halter_pc *pc = calloc(1, sizeof(*pc));
    if (!pc) {
        host_drop_timers(host, PC_TIMERS);
        return HALTER_ENOMEM;
    }
    pc->host = host;
    pc->heartbeat_ms = o.heartbeat_ms ? o.heartbeat_ms : 5000;
    pc->beat.fire = beat_fired;
    pc->on_console = o.on_console;
    pc->on_log = o.on_log;
    pc->on_end = o.on_end;
    pc->data = o.data;
    list_init(&pc->link);
    json_writer_init(&pc->config);
    wire_stream_in_init(&pc->out, WINDOW);
    pc->name = strdup(o.name ? o.name : "pc");
    struct control_profile profile = {
        .kind = WIRE_HELPER_PC,
        .flags = CONTROL_NO_JIT | CONTROL_EXEC,
        .cap = host->cap,
        .memory_bytes = ((uint64_t)o.ram_mb << 20) + PC_OVERHEAD +
                        ((uint64_t)o.ram_mb << 20) / 4, /* the code map, and files mapped in */
        .max_fds = 4,
    };
    int status = HALTER_ENOMEM;
    if (!pc->name || !write_config(pc, &o))
        goto fail;
    status = HALTER_ETOOBIG;
    if (pc->config.length > MAX_CONFIG || pc->config.length > host->cap / 2)
        goto fail;
    status = HALTER_ESYSTEM;
    if (!keep_file(pc, o.kernel_fd) || (o.initrd_fd >= 0 && !keep_file(pc, o.initrd_fd)))
        goto fail;
    pc->process = process_create(host, &profile, &use);
    if (!pc->process)
        goto fail;
    pc->process->pc = pc;
    list_append(&host->pcs, &pc->link);
    *out = pc;
    return HALTER_OK;

fail:;
    int saved = errno;
    pc_free(pc);
    errno = saved;
    return status;
}

/* ---- by hand --------------------------------------------------------------------------------------------- */

long halter_pc_send(struct halter_pc *pc, const void *bytes, size_t count)
{
    if (!pc || (!bytes && count))
        return HALTER_EINVAL;
    if (pc->closing || pc->ended)
        return HALTER_ECLOSED;
    size_t done = 0;
    while (pc->loaded && pc->process && done < count) {
        uint32_t left = count - done < UINT32_MAX ? (uint32_t)(count - done) : UINT32_MAX;
        uint32_t part = wire_stream_may_send(&pc->in, left);
        if (!part || send_small(pc, WIRE_DATA, CONSOLE, 0, (const char *)bytes + done, part) != 0)
            break;
        wire_stream_sent(&pc->in, part);
        done += part;
    }
    return (long)done;
}

size_t halter_pc_room(const struct halter_pc *pc)
{
    return pc && pc->loaded && !pc->ended ? pc->in.credit : 0;
}

void halter_pc_hold(struct halter_pc *pc, bool hold)
{
    if (!pc || pc->ended)
        return;
    pc->held = hold;
    if (!hold && pc->loaded)
        grant(pc);
}

int halter_pc_pid(const struct halter_pc *pc)
{
    return pc && pc->process ? pc->process->pid : 0;
}

void halter_pc_destroy(struct halter_pc *pc)
{
    if (!pc || pc->closing)
        return;
    pc->closing = true;
    dismiss(pc);
    if (pc->host->depth)
        host_defer(pc->host); /* freed by the dispatch that runs this callback */
    else
        pc_free(pc);
}

void pcs_run_deferred(struct halter_host *host)
{
    list_for_each(node, &host->pcs) {
        struct halter_pc *pc = list_entry(node, struct halter_pc, link);
        if (pc->closing)
            pc_free(pc);
    }
}

void pcs_finish(struct halter_host *host)
{
    list_for_each(node, &host->pcs) {
        struct halter_pc *pc = list_entry(node, struct halter_pc, link);
        pc->closing = true;
        dismiss(pc);
        pc_free(pc);
    }
}
