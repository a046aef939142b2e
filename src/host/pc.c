/*
 * One PC's life: its helper is had from the launcher, told what to boot, listened to and watched. A
 * heartbeat that is asked for between two slices and not answered in time is the end of the helper.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/pc.h"
#include "wire/body.h"
#include "wire/json.h"

#define BOOT_MS     30000         /* to load a kernel and its initial RAM disk, or a snapshot */
#define PC_TIMERS   2
#define PC_OVERHEAD (64ull << 20) /* of memory, beside the RAM: the machine and its block cache */

/* ---- ending --------------------------------------------------------------------------------------- */

static void end(struct halter_pc *pc, const struct halter_pc_end *how)
{
    if (pc->ended)
        return;
    pc->ended = true;
    timer_cancel(&pc->host->timers, &pc->beat);
    timer_cancel(&pc->host->timers, &pc->snapshot_timer);
    pc_order_fail(pc, "the PC ended first");
    if (!pc->on_end || pc->closing)
        return;
    host_enter(pc->host);
    pc->on_end(pc, how, pc->data);
    host_leave(pc->host);
}

static bool start(struct halter_pc *pc);

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
    if (pc_again_may(pc, &death)) {
        timer_cancel(&pc->host->timers, &pc->beat);
        pc_order_fail(pc, "its process died");
        pc_again_tell(pc, &death);
        if (pc->closing || start(pc))
            return;
    }
    struct halter_pc_end how = {.reason = HALTER_PC_DIED, .detail = process->detail,
                                .report_json = "{}", .death = &death};
    end(pc, &how);
}

/* ---- frames ---------------------------------------------------------------------------------------- */

int pc_send(struct halter_pc *pc, uint8_t type, uint16_t stream, uint64_t id, const void *body,
            size_t length)
{
    struct wire_frame header = {.type = type, .stream = stream, .id = id};
    struct iovec part = {(void *)(uintptr_t)body, length};
    return process_send(pc->process, &header, &part, 1, NULL);
}

uint64_t pc_next_id(struct halter_pc *pc)
{
    pc->host->last_call_id += 2;
    return pc->host->last_call_id | 1;
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
        pc->beat_id = pc_next_id(pc);
        if (pc_send(pc, WIRE_BEAT, 0, pc->beat_id, NULL, 0) != 0)
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
    char more[128];
    pc_again_config(pc, more, sizeof(more));
    size_t begun = pc->config.length - 1; /* without its last brace */
    struct wire_load load = {.name = {pc->name, (uint32_t)strlen(pc->name)},
                             .source = {NULL, (uint32_t)(begun + strlen(more) + 1)}};
    uint8_t fixed[WIRE_LOAD_FIXED];
    wire_load_encode(&load, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {pc->name, load.name.length},
                            {pc->config.text, begun},
                            {more, strlen(more)},
                            {(char *)"}", 1}};
    unsigned nfds = pc->nfds;
    if (pc->snapshot >= 0)
        pc->fds[nfds++] = pc->snapshot;
    pc->load_id = pc_next_id(pc);
    struct wire_frame header = {.type = WIRE_LOAD, .id = pc->load_id, .nfds = (uint8_t)nfds};
    if (process_send(process, &header, parts, 5, pc->fds) != 0)
        process_condemn(process, HALTER_DEATH_SPAWN, "no memory in the host to start the PC");
    timer_arm(&pc->host->timers, &pc->beat, monotonic_ns() + BOOT_MS * NS_PER_MS);
}

static void breach(struct process *process, const char *what)
{
    process_kill(process, HALTER_DEATH_PROTOCOL, what);
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
            pc_lines_grant(pc);
            pc_again_started(pc);
            next_beat(pc);
        } else {
            breach(process, "a frame before the kernel was loaded");
        }
    } else if (frame->type == WIRE_DATA) {
        pc_line_data(pc, frame);
    } else if (frame->type == WIRE_CREDIT) {
        pc_line_credited(pc, frame);
    } else if (frame->type == WIRE_BEAT && pc->beat_id && frame->id == pc->beat_id) {
        pc->beat_id = 0;
        next_beat(pc);
    } else if (frame->type == WIRE_VALUE && pc->order.id && frame->id == pc->order.id) {
        pc_order_answered(pc, frame);
    } else if (frame->type == WIRE_VALUE && frame->id == pc->load_id) {
        run_ended(pc, frame);
    } else {
        breach(process, "a frame that a PC's helper does not send");
    }
}

/* ---- making ------------------------------------------------------------------------------------------ */

static void pc_free(struct halter_pc *pc)
{
    list_remove(&pc->link);
    timer_cancel(&pc->host->timers, &pc->beat);
    pc_again_finish(pc);
    host_drop_timers(pc->host, PC_TIMERS);
    while (pc->nfds)
        close(pc->fds[--pc->nfds]);
    json_writer_finish(&pc->config);
    free(pc->name);
    free(pc);
}

/* What was given, over what the initializer says of members that the caller does not know yet. */
static bool read_options(struct halter_pc_options *o, const struct halter_pc_options *given)
{
    *o = (struct halter_pc_options)HALTER_PC_INIT;
    if (given->size > sizeof(*o) || given->size < sizeof(given->size))
        return false;
    memcpy(o, given, given->size);
    if (!o->ram_mb)
        o->ram_mb = 128;
    return (o->kernel_fd >= 0 || o->resume_fd >= 0) && o->ram_mb >= 2 && o->ram_mb <= 3072 &&
           (unsigned)o->model <= HALTER_PC_PENTIUM_M;
}

static void take_options(struct halter_pc *pc, const struct halter_pc_options *o)
{
    pc->heartbeat_ms = o->heartbeat_ms ? o->heartbeat_ms : 5000;
    pc->beat.fire = beat_fired;
    pc->port[HALTER_PC_CONSOLE].fn = o->on_console;
    pc->port[HALTER_PC_CHANNEL].fn = o->on_channel;
    pc->on_log = o->on_log;
    pc->on_end = o->on_end;
    pc->data = o->data;
}

/* Asks for a helper; it is told what to do when it has said hello. */
static bool start(struct halter_pc *pc)
{
    static const struct process_use use = {
        .offered = offered, .bereaved = bereaved, .frame = frame_arrived};

    pc_lines_init(pc);
    pc->loaded = false;
    pc->beat_id = 0;
    pc->generations++;
    pc->process = process_create(pc->host, &pc->profile, &use);
    if (pc->process)
        pc->process->pc = pc;
    return pc->process != NULL;
}

int halter_pc_create(struct halter_host *host, const struct halter_pc_options *given,
                     struct halter_pc **out)
{
    struct halter_pc_options o;

    if (!host || !given || !out || !read_options(&o, given))
        return HALTER_EINVAL;
    if (o.ndisks > HALTER_PC_DISKS || (o.ndisks && !o.disks))
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
    list_init(&pc->link);
    json_writer_init(&pc->config);
    take_options(pc, &o);
    pc_again_init(pc, &o);
    pc->name = strdup(o.name ? o.name : "pc");
    int status = pc->name ? pc_configure(pc, &o) : HALTER_ENOMEM;
    uint64_t ram = (uint64_t)o.ram_mb << 20;
    pc->profile = (struct control_profile){
        .kind = WIRE_HELPER_PC,
        .flags = CONTROL_NO_JIT | CONTROL_EXEC,
        .cap = host->cap,
        .memory_bytes = ram + ram / 4 /* the code map */ + PC_OVERHEAD + pc->files_bytes,
        .max_fds = PC_FILES + 1, /* and one to save to */
    };
    if (o.snapshot_every_ms) /* what it writes is counted as its memory: the last and the next one */
        pc->profile.memory_bytes += 2 * ram;
    if (status == HALTER_OK && !start(pc))
        status = HALTER_ESYSTEM;
    if (status != HALTER_OK) {
        int saved = errno;
        pc_free(pc);
        errno = saved;
        return status;
    }
    list_append(&host->pcs, &pc->link);
    *out = pc;
    return HALTER_OK;
}

/* ---- by hand --------------------------------------------------------------------------------------------- */

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
