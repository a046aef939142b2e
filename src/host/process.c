/*
 * One helper process: made, asked of the launcher, listened to, killed, buried. The states are in
 * process_table.c; what a guest makes of its process is in guest.c and call.c. Every byte from the
 * socket is hostile: what does not fit here and now is a breach of the protocol and the end of it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <fcntl.h>
#include <unistd.h>

#include "host/internal.h"
#include "wire/body.h"

/* From the end of a socket to the report of a death; what lives longer only hung up. */
#define LINGER_MS 250
/* What one look at a socket may read, so that a talkative helper cannot hold the dispatch. */
#define READS_AT_ONCE 4
/* At a deadline: more than a socket's buffer can hold, so that no answer in it is missed. */
#define READS_AT_DEADLINE 64
#define MEMORY_LOOK_MS 20
#define PROCESS_TIMERS 2 /* deadline and memory_look */

static void deadline_fired(struct timer *timer, uint64_t now_ns);
static void memory_fired(struct timer *timer, uint64_t now_ns);

static int make_descriptors(struct process *process)
{
    int pair[2], errors[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    process->socket.fd = pair[0];
    process->launcher_ends[0] = pair[1];
    process->launcher_ends[1] = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
    if (process->launcher_ends[1] < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        return -1;
    /* Not a pipe: its reader may have to wait for a writer that is in the middle of it. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, errors) < 0)
        return -1;
    process->errors.fd = errors[0];
    process->launcher_ends[2] = errors[1];
    return fcntl(errors[0], F_SETFL, O_NONBLOCK) < 0 ? -1 : 0;
}

struct process *process_create(struct halter_host *host, const struct control_profile *profile,
                               const struct process_use *use)
{
    if (host_need_timers(host, PROCESS_TIMERS) < 0)
        return NULL;
    struct process *process = calloc(1, sizeof(*process));
    if (!process) {
        host_drop_timers(host, PROCESS_TIMERS);
        return NULL;
    }
    list_init(&process->link);
    list_init(&process->pool_link);
    list_init(&process->requests);
    list_init(&process->sent);
    list_init(&process->cork_link);
    process->host = host;
    process->use = use;
    process->state = PROCESS_STARTING;
    process->profile = *profile;
    process->generation = ++host->last_generation;
    process->pidfd = -1;
    process->socket = (struct watch){.kind = WATCH_SOCKET, .fd = -1, .owner = process};
    process->errors = (struct watch){.kind = WATCH_STDERR, .fd = -1, .owner = process};
    for (int i = 0; i < 3; i++)
        process->launcher_ends[i] = -1;
    process->slot = UINT32_MAX;
    process->evidence.syscall_number = -1;
    process->evidence.cpu_limit_seconds = profile->cpu_seconds;
    process->deadline.fire = deadline_fired;
    process->memory_look.fire = memory_fired;
    wire_reader_init(&process->reader, WIRE_DIR_OUT, host->cap, false);
    wire_writer_init(&process->writer);
    list_append(&host->processes, &process->link);

    if (make_descriptors(process) < 0 || launcher_take_slot(host, &process->slot) != 0 ||
        host_watch(host, &process->socket, EPOLLIN) < 0 ||
        host_watch(host, &process->errors, EPOLLIN) < 0 || launcher_spawn(host, process) != 0) {
        int saved = errno;
        process_free(process);
        errno = saved;
        return NULL;
    }
    process->born_ns = monotonic_ns();
    timer_arm(&host->timers, &process->deadline,
              process->born_ns + host->spawn_deadline_ms * NS_PER_MS);
    return process;
}

void process_free(struct process *process)
{
    struct halter_host *host = process->host;

    list_remove(&process->link);
    list_remove(&process->pool_link);
    list_remove(&process->cork_link);
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    requests_orphan(process);
    host_unwatch(host, &process->socket);
    host_unwatch(host, &process->errors);
    for (int i = 0; i < 3; i++)
        if (process->launcher_ends[i] >= 0)
            close(process->launcher_ends[i]);
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->slot != UINT32_MAX)
        launcher_give_slot(host, process->slot);
    wire_reader_finish(&process->reader);
    wire_writer_finish(&process->writer);
    host_drop_timers(host, PROCESS_TIMERS);
    free(process);
}

/* ---- its end ---------------------------------------------------------------------------------- */

static void send_sigkill(struct process *process)
{
    /* A pidfd names this process and no other, however long it has been dead. */
    if (process->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
    else if (process->asked)
        launcher_kill(process->host, process);
}

static void flush_line(struct process *process)
{
    if (process->line.length)
        event_line(process, HALTER_EVENT_STDERR, HALTER_ERR, process->line.bytes,
                   process->line.length);
    process->line.length = 0;
}

static void hang_up(struct process *process)
{
    struct halter_host *host = process->host;

    pool_withdraw(process);
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    launcher_disarm(host, process);
    requests_orphan(process);
    list_remove(&process->cork_link);
    host_unwatch(host, &process->socket);
}

void process_event(struct process *process, enum process_event event)
{
    struct halter_host *host = process->host;
    struct process_step step = process_step(process->state, event);
    unsigned actions = step.actions;

    if (actions & PROCESS_WRONG)
        return; /* it cannot come in this state (the table's test says so): it changes nothing */
    if (event == PROCESS_EVENT_LOST)
        process->evidence.launcher_lost = true;
    if (process->state == PROCESS_STARTING && step.next != PROCESS_STARTING && !process->use)
        pool_for(host, &process->profile)->starting--;
    process->state = step.next;

    if (actions & PROCESS_SIGKILL)
        send_sigkill(process);
    if (actions & PROCESS_HANG_UP)
        hang_up(process);
    if (actions & PROCESS_LINGER)
        timer_arm(&host->timers, &process->deadline, monotonic_ns() + LINGER_MS * NS_PER_MS);
    if (actions & PROCESS_FINAL) {
        timer_cancel(&host->timers, &process->deadline);
        process_errors_readable(process); /* its last words */
        flush_line(process);
        host_unwatch(host, &process->errors);
        list_remove(&process->link);
        list_append(&host->buried, &process->link);
    }
    if (actions & PROCESS_OFFER) {
        if (process->use)
            process->use->offered(process);
        else
            pool_offer(process);
    }
    if (actions & PROCESS_DECEASED) {
        if (process->guest)
            guest_bereaved(process->guest, process);
        else if (process->use)
            process->use->bereaved(process);
        else if (!process->mourned)
            pool_bereaved(process);
        process->mourned = true;
    }
    if (actions & PROCESS_FINAL)
        event_death(process);
}

void process_kill(struct process *process, enum halter_death_reason reason, const char *detail)
{
    if (process->evidence.decided == HALTER_DEATH_NONE) {
        process->evidence.decided = reason;
        if (detail)
            snprintf(process->detail, sizeof(process->detail), "%s", detail);
    }
    if (process->state == PROCESS_STARTING && !process->asked) {
        /* The launcher has never heard of it and will not report it. */
        process->evidence.spawn_error = ECANCELED;
        process_event(process, PROCESS_EVENT_LOST);
        return;
    }
    process_event(process, PROCESS_EVENT_KILL);
}

void process_condemn(struct process *process, enum halter_death_reason reason, const char *detail)
{
    if (process->state >= PROCESS_DYING || process->condemned)
        return;
    if (process->evidence.decided == HALTER_DEATH_NONE) {
        process->evidence.decided = reason;
        snprintf(process->detail, sizeof(process->detail), "%s", detail ? detail : "");
    }
    process->condemned = true;
    send_sigkill(process);
    host_defer(process->host);
}

void process_run_condemned(struct process *process)
{
    if (!process->condemned)
        return;
    process->condemned = false;
    process_kill(process, process->evidence.decided, NULL);
}

void process_spawned(struct process *process, int pid, int pidfd, int error)
{
    if (error) {
        if (pidfd >= 0)
            close(pidfd);
        process->evidence.spawn_error = error;
        snprintf(process->detail, sizeof(process->detail), "the launcher could not fork: %s",
                 strerror(error));
        if (process->state != PROCESS_REAPED)
            process_event(process, PROCESS_EVENT_EXITED);
        return;
    }
    process->pid = pid;
    process->pidfd = pidfd;
    if (process->state == PROCESS_DYING && process->evidence.decided != HALTER_DEATH_NONE)
        send_sigkill(process);
}

void process_exited(struct process *process, const struct control_message *message)
{
    struct evidence *e = &process->evidence;

    /* What it said before it died is read first: an answer may be among it. */
    if (process->socket.fd >= 0)
        for (int i = 0; i < READS_AT_DEADLINE && process->socket.fd >= 0; i++)
            process_readable(process);
    if (process->state == PROCESS_REAPED)
        return;
    e->reported = true;
    e->code = message->exited.code;
    e->status = message->exited.status;
    e->cause = (enum control_cause)message->exited.cause;
    e->syscall_number = message->exited.syscall_number;
    e->oom_kills = message->exited.oom_kills;
    e->cpu_ns = message->exited.user_ns + message->exited.system_ns;
    if (message->exited.peak_bytes > e->peak_bytes)
        e->peak_bytes = message->exited.peak_bytes;
    e->lived_ns = message->exited.exited_ns - message->exited.spawned_ns;
    process_event(process, PROCESS_EVENT_EXITED);
}

/* ---- clocks ------------------------------------------------------------------------------------ */

static void hello_late(struct process *process)
{
    process_kill(process, HALTER_DEATH_DEADLINE, "no hello within the spawn deadline");
}

static void deadline_fired(struct timer *timer, uint64_t now_ns)
{
    struct process *process = list_entry(timer, struct process, deadline);

    (void)now_ns;
    if (process->state == PROCESS_DYING) {
        process->evidence.hung_up = true;
        snprintf(process->detail, sizeof(process->detail), "closed its socket and lived on");
        send_sigkill(process);
        return;
    }
    /* An answer that lies in the socket came in time: it is read before anything expires. */
    uint64_t load_id = process->load_id;
    struct call *call = process_call(process);
    enum process_state state = process->state;
    for (int i = 0; i < READS_AT_DEADLINE; i++) {
        size_t before = process->reader.end - process->reader.start;
        process_readable(process);
        if (process->state != state || process->load_id != load_id || process_call(process) != call ||
            process->paused_since_ns)
            return;
        if (process->reader.end - process->reader.start == before)
            break;
    }
    if (state == PROCESS_STARTING)
        hello_late(process);
    else
        process_kill(process, HALTER_DEATH_DEADLINE,
                     load_id ? "while loading" : "in a call");
}

static void memory_fired(struct timer *timer, uint64_t now_ns)
{
    struct process *process = list_entry(timer, struct process, memory_look);
    uint64_t resident = process_resident_bytes(process);

    if (process->guest && resident > process->guest->memory_bytes) {
        if (resident > process->evidence.peak_bytes)
            process->evidence.peak_bytes = resident;
        process_kill(process, HALTER_DEATH_MEMORY, "resident memory above the limit");
        return;
    }
    timer_arm(&process->host->timers, timer, now_ns + MEMORY_LOOK_MS * NS_PER_MS);
}

static void start_clocks(struct process *process, uint64_t now, uint32_t deadline_ms,
                         uint32_t wall_cap_ms, uint64_t id)
{
    struct halter_host *host = process->host;

    process->paused_since_ns = 0;
    timer_arm(&host->timers, &process->deadline, now + deadline_ms * NS_PER_MS);
    launcher_arm(host, process, now + wall_cap_ms * NS_PER_MS, id);
    if (!(host->launcher.features & CONTROL_HAS_CGROUP) &&
        process->guest->memory_bytes != UINT64_MAX)
        timer_arm(&host->timers, &process->memory_look, now + MEMORY_LOOK_MS * NS_PER_MS);
}

void process_pause(struct process *process, uint64_t now_ns)
{
    if (process->paused_since_ns || !process->deadline.index)
        return;
    process->paused_left_ns =
        process->deadline.when_ns > now_ns ? process->deadline.when_ns - now_ns : 1;
    process->paused_since_ns = now_ns;
    timer_cancel(&process->host->timers, &process->deadline);
}

void process_resume(struct process *process, uint64_t now_ns)
{
    if (!process->paused_since_ns)
        return;
    struct call *call = process_call(process);
    if (call)
        call->host_ns += now_ns - process->paused_since_ns;
    process->paused_since_ns = 0;
    timer_arm(&process->host->timers, &process->deadline, now_ns + process->paused_left_ns);
}

uint64_t process_settle(struct process *process, uint64_t now_ns)
{
    struct halter_host *host = process->host;
    struct call *call = process_call(process);
    uint64_t host_ns = call ? call->host_ns : 0;

    if (process->paused_since_ns)
        host_ns += now_ns - process->paused_since_ns;
    process->paused_since_ns = 0;
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    launcher_disarm(host, process);
    return host_ns;
}

/* ---- to it ------------------------------------------------------------------------------------- */

static int status_of(int fault)
{
    if (fault == WIRE_NO_MEMORY)
        return HALTER_ENOMEM;
    if (fault == WIRE_SYSTEM)
        return HALTER_ESYSTEM; /* nothing of it was sent */
    return 0; /* a peer that is gone is noticed by the reader, with whatever it still said */
}

int process_send(struct process *process, const struct wire_frame *header,
                 const struct iovec *parts, unsigned nparts, const int *fds)
{
    int fault = wire_writer_send(&process->writer, process->socket.fd, header, parts, nparts, fds);
    if (wire_writer_pending(&process->writer))
        host_want_write(process->host, &process->socket, true);
    return status_of(fault);
}

/* For a helper that has enough to do: the frame goes with others at the end of the dispatch. */
static int queue_frame(struct process *process, const struct wire_frame *header,
                       const struct iovec *parts, unsigned nparts, const int *fds)
{
    int status = status_of(wire_writer_queue(&process->writer, header, parts, nparts, fds));
    if (!status) {
        list_remove(&process->cork_link);
        list_append(&process->host->corked, &process->cork_link);
        host_defer(process->host);
    }
    return status;
}

int process_load(struct process *process, struct halter_guest *guest, const struct source *source)
{
    struct wire_load load = {
        .name = {guest->name, (uint32_t)strlen(guest->name)},
        .path = {guest->path, (uint32_t)strlen(guest->path)},
        .capabilities = {guest->capabilities, (uint32_t)strlen(guest->capabilities)},
        .source = {source->text, (uint32_t)source->bytes},
    };
    uint8_t fixed[WIRE_LOAD_FIXED];
    wire_load_encode(&load, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {guest->name, load.name.length},
                            {guest->path, load.path.length},
                            {guest->capabilities, load.capabilities.length},
                            {source->text, source->bytes}};
    process->host->last_call_id += 2;
    process->load_id = process->host->last_call_id | 1;
    struct wire_frame header = {.type = WIRE_LOAD, .id = process->load_id};
    int status = process_send(process, &header, parts, 5, NULL);
    if (status)
        return status;
    start_clocks(process, monotonic_ns(), guest->load_deadline_ms,
                 guest->wall_cap_ms > guest->load_deadline_ms ? guest->wall_cap_ms
                                                              : guest->load_deadline_ms * 2,
                 process->load_id);
    return 0;
}

struct call *process_call(const struct process *process)
{
    return process->nsent ? list_entry(process->sent.next, struct call, link) : NULL;
}

static void start_call(struct process *process, struct call *call, uint64_t now_ns)
{
    call->started_ns = now_ns;
    process->last_call = call->id;
    start_clocks(process, now_ns, call->deadline_ms, call->wall_cap_ms, call->id);
}

int process_send_call(struct process *process, struct call *call, const char *json)
{
    struct halter_guest *guest = process->guest;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    size_t locale_bytes = strlen(process->host->locale);
    struct wire_call body = {
        .now_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000,
        .tick = call->tick ? call->tick : guest->ticks + 1,
        .generation = process->generation,
        .deadline_ms = call->deadline_ms,
        .locale = {process->host->locale, (uint32_t)locale_bytes},
    };
    uint8_t fixed[WIRE_CALL_FIXED];
    wire_call_encode(&body, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {process->host->locale, locale_bytes},
                            {(void *)(uintptr_t)json, call->json_bytes}};
    struct wire_frame header = {
        .type = WIRE_CALL, .id = call->id, .nfds = (uint8_t)call->nfds};

    int status = process->nsent ? queue_frame(process, &header, parts, 3, call->fds)
                                : process_send(process, &header, parts, 3, call->fds);
    if (status)
        return status;
    if (!call->tick)
        call->tick = ++guest->ticks;
    list_append(&process->sent, &call->link);
    process->sent_bytes += call->json_bytes;
    if (process->nsent++ == 0) {
        process->host->working++;
        process->host->working_for_ns = guest->middle_ns;
        start_call(process, call, monotonic_ns());
    }
    return 0;
}

struct call *process_take_call(struct process *process, uint64_t now_ns, uint64_t *host_ns)
{
    struct call *call = process_call(process);

    *host_ns = process_settle(process, now_ns);
    list_remove(&call->link);
    process->sent_bytes -= call->json_bytes;
    if (--process->nsent)
        start_call(process, process_call(process), now_ns);
    else
        process->host->working--;
    return call;
}

void process_writable(struct process *process)
{
    int fault = wire_writer_flush(&process->writer, process->socket.fd);
    host_want_write(process->host, &process->socket, fault == WIRE_AGAIN);
}

/* ---- from it ----------------------------------------------------------------------------------- */

static void breach(struct process *process, const char *what)
{
    process_kill(process, HALTER_DEATH_PROTOCOL, what);
}

static const char *const layer_names[HALTER_LAYER_COUNT] = {
    "no_new_privs", "seccomp",          "landlock_fs", "landlock_net", "landlock_scope",
    "mdwe",         "rlimits",          "no_caps",     "unprivileged_uid", "closed_fds",
    "empty_env",    "cgroup_memory",    "namespaces",
};

static void hello(struct process *process, const struct wire_frame *frame)
{
    struct wire_hello body;

    if (!wire_hello_decode(&body, frame->body, frame->length) || body.kind != process->profile.kind) {
        breach(process, "a hello that is none");
        return;
    }
    if (body.version != WIRE_VERSION) {
        breach(process, "another version of the protocol");
        return;
    }
    process->layers = body.layers;
    uint32_t required = process->host->required_layers & ~process->profile.skip_layers;
    if (process->use && process->use->layers)
        required = process->use->layers;
    uint32_t missing = required & ~body.layers;
    if (missing) {
        char detail[sizeof(process->detail)] = "missing:";
        for (int i = 0; i < HALTER_LAYER_COUNT; i++)
            if (missing & HALTER_LAYER_BIT(i)) {
                strncat(detail, " ", sizeof(detail) - strlen(detail) - 1);
                strncat(detail, layer_names[i], sizeof(detail) - strlen(detail) - 1);
            }
        process_kill(process, HALTER_DEATH_CONFINEMENT, detail);
        return;
    }
    timer_cancel(&process->host->timers, &process->deadline);
    process_event(process, PROCESS_EVENT_HELLO);
}

static void log_line(struct process *process, const struct wire_frame *frame)
{
    struct wire_log body;

    if (!wire_log_decode(&body, frame->body, frame->length)) {
        breach(process, "a LOG frame that is none");
        return;
    }
    if (body.dropped)
        event_dropped(process->guest, body.dropped);
    if (body.dropped && !body.text.length)
        return; /* it only says how many */
    event_line(process, HALTER_EVENT_LOG, (enum halter_level)body.level, body.text.bytes,
               body.text.length);
}

static void load_answered(struct process *process, const struct wire_frame *frame)
{
    if (frame->id != process->load_id) {
        breach(process, "an answer to another load");
        return;
    }
    if (frame->type == WIRE_LOADED) {
        process->load_id = 0;
        process_settle(process, monotonic_ns());
        guest_loaded(process->guest, process);
        return;
    }
    struct halter_script_error error;
    int status;
    char *storage;
    if (!script_error_read(&error, &status, &storage, frame) || status != HALTER_ELOAD) {
        breach(process, "an ERROR frame that is none");
        return;
    }
    process->load_id = 0;
    process_settle(process, monotonic_ns());
    guest_load_error(process->guest, process, &error);
    free(storage);
}

static void frame_arrived(struct process *process, const struct wire_frame *frame)
{
    if (process->state == PROCESS_STARTING) {
        if (frame->type == WIRE_HELLO)
            hello(process, frame);
        else
            breach(process, "a frame before the hello");
        return;
    }
    if (process->state != PROCESS_OWNED) {
        breach(process, "a frame out of turn");
        return;
    }
    if (process->use) {
        process->use->frame(process, frame);
        return;
    }
    switch (frame->type) {
    case WIRE_LOG:
        log_line(process, frame);
        return;
    case WIRE_REQUEST:
        if (process->load_id || process->nsent)
            request_arrived(process, frame);
        else
            breach(process, "a reverse call outside a call");
        return;
    case WIRE_LOADED:
    case WIRE_ERROR:
        if (process->load_id) {
            load_answered(process, frame);
            return;
        }
        break;
    case WIRE_VALUE:
    case WIRE_UNDEFINED:
        break;
    default:
        breach(process, "a frame that a plugin's helper does not send");
        return;
    }
    if (frame->type == WIRE_LOADED || !process->nsent || frame->id != process_call(process)->id)
        breach(process, "an answer to no call");
    else
        call_answered(process, frame);
}

/* Cuts what has been read into frames. False when the process is no longer listened to. */
static bool cut_frames(struct process *process)
{
    struct wire_frame frame;

    while (process->socket.fd >= 0 && !process->condemned) {
        int cut = wire_reader_next(&process->reader, &frame);
        if (cut == 0)
            return true;
        if (cut < 0) {
            breach(process, wire_fault_text(cut));
            return false;
        }
        frame_arrived(process, &frame);
    }
    return false;
}

/* Is what has been read and not cut the beginning of the answer to what it works on? */
static bool half_answered(const struct process *process)
{
    size_t held = process->reader.end - process->reader.start;
    struct wire_frame frame;

    if (held == 0 || process->socket.fd < 0)
        return false;
    if (held < WIRE_HEADER_BYTES)
        return true; /* of a header there is no telling */
    wire_header_decode(&frame, process->reader.buffer + process->reader.start);
    if (process->load_id)
        return frame.id == process->load_id;
    return process->nsent && frame.id == process_call(process)->id;
}

static void read_some(struct process *process)
{
    for (int i = 0; i < READS_AT_ONCE && process->socket.fd >= 0 && !process->condemned; i++) {
        int n = wire_reader_fill(&process->reader, process->socket.fd);
        if (n == WIRE_AGAIN)
            return;
        if (n == WIRE_EOF || n == WIRE_TRUNCATED) {
            process_event(process, PROCESS_EVENT_CLOSED);
            return;
        }
        if (n == WIRE_NO_MEMORY) {
            process_kill(process, HALTER_DEATH_KILLED, "no memory in the host for its answer");
            return;
        }
        if (n < 0) {
            process_event(process, PROCESS_EVENT_CLOSED); /* ECONNRESET: it died with bytes unread */
            return;
        }
        if (!cut_frames(process))
            return;
        if ((size_t)n < 4096)
            return; /* it has most likely no more to say: the next look is epoll's */
    }
}

void process_readable(struct process *process)
{
    read_some(process);
    if (process->asked)
        launcher_answering(process->host, process, half_answered(process));
}

void process_errors_readable(struct process *process)
{
    char chunk[16384];

    for (int i = 0; i < READS_AT_ONCE && process->errors.fd >= 0; i++) {
        ssize_t n = read(process->errors.fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            host_unwatch(process->host, &process->errors);
            return;
        }
        for (ssize_t at = 0; at < n; at++) {
            if (chunk[at] == '\n' || process->line.length == sizeof(process->line.bytes))
                flush_line(process);
            if (chunk[at] != '\n')
                process->line.bytes[process->line.length++] = chunk[at];
        }
    }
}
