/*
 * What comes from one helper process: frames on its socket and lines on its standard error. Every
 * byte is hostile: what does not fit here and now is a breach of the protocol and the end of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/internal.h"
#include "wire/body.h"

/* What one look at a socket may read, so that a talkative helper cannot hold the dispatch. */
#define READS_AT_ONCE 4

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

void process_flush_line(struct process *process)
{
    if (process->line.length)
        event_line(process, HALTER_EVENT_STDERR, HALTER_ERR, process->line.bytes,
                   process->line.length);
    process->line.length = 0;
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
                process_flush_line(process);
            if (chunk[at] != '\n')
                process->line.bytes[process->line.length++] = chunk[at];
        }
    }
}
