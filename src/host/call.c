/*
 * One call: accepted, queued, sent, and finished exactly once. A helper works on one call at a time;
 * while calls are quick a few more lie ready in its socket, so that neither end waits for the other.
 * When a process dies the call it worked on fails, and those behind it are sent to the next process.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/internal.h"
#include "wire/body.h"
#include "wire/json.h"

/* What may lie ahead of a helper: less than a socket holds, and only of calls as quick as these. */
#define AHEAD_CALLS    64
#define AHEAD_BYTES    65536
#define AHEAD_QUICK_NS 1000000ull

static struct call *take(struct halter_host *host)
{
    struct call *call = host->free_calls;
    if (call) {
        host->free_calls = (struct call *)call->link.next;
        *call = (struct call){0};
    } else {
        call = calloc(1, sizeof(*call));
    }
    if (call)
        list_init(&call->link);
    return call;
}

static void give_back(struct halter_host *host, struct call *call)
{
    list_remove(&call->link);
    free(call->json);
    call->json = NULL;
    while (call->nfds)
        close(call->fds[--call->nfds]);
    call->link.next = (struct list *)host->free_calls;
    host->free_calls = call;
}

void calls_finish(struct halter_host *host)
{
    while (host->free_calls) {
        struct call *call = host->free_calls;
        host->free_calls = (struct call *)call->link.next;
        free(call);
    }
}

/* ---- finishing --------------------------------------------------------------------------------- */

static void finish(struct halter_guest *guest, struct call *call, struct halter_result *result)
{
    struct halter_host *host = guest->host;
    halter_result_fn callback = call->callback;
    void *data = call->data;

    if (!callback) { /* canceled while it lay ahead: its callback has run */
        give_back(host, call);
        return;
    }
    result->call = call->id;
    if (!result->json)
        result->json = "";
    if (result->status == HALTER_OK)
        guest->stats.succeeded++;
    else
        guest->stats.failed++;
    guest->pending--;
    give_back(host, call);
    host_enter(host);
    callback(guest, result, data);
    host_leave(host);
}

void call_failed(struct halter_guest *guest, struct call *call, int status,
                 const struct halter_death *death)
{
    uint64_t now = monotonic_ns();
    struct halter_result result = {
        .status = status,
        .death = death,
        .waited_ns = (call->started_ns ? call->started_ns : now) - call->queued_ns,
        .ran_ns = call->started_ns ? now - call->started_ns : 0,
        .host_ns = call->host_ns,
    };
    if (status == HALTER_ELOAD && guest->load_error_storage)
        result.error = &guest->load_error;
    finish(guest, call, &result);
}

void call_finish_later(struct halter_guest *guest, struct call *call, int status)
{
    call->status = status;
    list_remove(&call->link);
    list_append(&guest->finished, &call->link);
    host_defer(guest->host);
}

void call_fail_queue(struct halter_guest *guest, int status)
{
    list_for_each(node, &guest->queue)
        call_finish_later(guest, list_entry(node, struct call, link), status);
}

void calls_run_finished(struct halter_guest *guest)
{
    while (!list_empty(&guest->finished)) {
        struct call *call = list_entry(guest->finished.next, struct call, link);
        list_remove(&call->link);
        call_failed(guest, call, call->status, NULL);
    }
}

/* ---- sending ------------------------------------------------------------------------------------- */

static bool may_send(const struct halter_guest *guest, size_t json_bytes)
{
    const struct process *process = guest->process;

    if (guest->switch_ready || (guest->state != HALTER_GUEST_READY &&
                                guest->state != HALTER_GUEST_BUSY))
        return false;
    if (process->condemned || process->load_id)
        return false;
    return process->nsent == 0 ||
           (process->nsent < AHEAD_CALLS && process->sent_bytes + json_bytes <= AHEAD_BYTES &&
            guest->usual_ns && guest->usual_ns < AHEAD_QUICK_NS);
}

/* To the process; the guest is busy from then on. */
static int send(struct halter_guest *guest, struct call *call, const char *json)
{
    int status = process_send_call(guest->process, call, json);
    if (!status && guest->state == HALTER_GUEST_READY)
        guest_event(guest, GUEST_EVENT_SENT, 0);
    return status;
}

void call_next(struct halter_guest *guest)
{
    if (guest->switch_ready && guest->state == HALTER_GUEST_READY) {
        guest_switch(guest);
        return;
    }
    while (!list_empty(&guest->queue)) {
        struct call *call = list_entry(guest->queue.next, struct call, link);
        if (!may_send(guest, call->json_bytes))
            return;
        list_remove(&call->link);
        int status = send(guest, call, call->json);
        if (status)
            call_finish_later(guest, call, status);
    }
}

void calls_take_back(struct halter_guest *guest, struct process *process)
{
    guest->host->working -= process->nsent > 0;
    while (process->nsent) {
        struct call *call = list_entry(process->sent.previous, struct call, link);
        list_remove(&call->link);
        process->nsent--;
        call->started_ns = 0;
        if (!call->callback)
            give_back(guest->host, call); /* canceled */
        else if (call->json && !guest->closing)
            list_append(guest->queue.next, &call->link); /* before the first */
        else
            call_finish_later(guest, call, HALTER_ECLOSED);
    }
    process->sent_bytes = 0;
}

static int refuse_now(const struct halter_guest *guest)
{
    if (guest->closing || guest->state == HALTER_GUEST_CLOSED)
        return HALTER_ECLOSED;
    if (guest->state == HALTER_GUEST_QUARANTINED || guest->state == HALTER_GUEST_FAILED)
        return guest->reloading ? 0 : guest->last_failure;
    return guest->pending >= guest->queue_max ? HALTER_EQUEUE : 0;
}

static int duplicate(struct call *call, const int *fds, unsigned nfds)
{
    for (; call->nfds < nfds; call->nfds++) {
        int fd = fcntl(fds[call->nfds], F_DUPFD_CLOEXEC, 3);
        if (fd < 0)
            return HALTER_ESYSTEM;
        call->fds[call->nfds] = fd;
    }
    return 0;
}

int halter_call(struct halter_guest *guest, const char *json, size_t json_bytes,
                const struct halter_call_options *given, halter_result_fn callback, void *data,
                uint64_t *number)
{
    struct halter_call_options o = {0};

    if (!guest || !json || !callback ||
        (given && (given->size > sizeof(o) || given->size < sizeof(given->size))))
        return HALTER_EINVAL;
    if (given)
        memcpy(&o, given, given->size);
    if (o.nfds > HALTER_FDS_MAX || (o.nfds && !o.fds))
        return HALTER_EINVAL;
    if (!json_bytes)
        json_bytes = strlen(json);
    if (json_bytes > guest->host->cap - 1024)
        return HALTER_ETOOBIG;
    if (!utf8_check(json, json_bytes)) /* a helper takes it for a breach of the protocol */
        return HALTER_EJSON;
    int status = refuse_now(guest);
    if (status)
        return status;
    struct call *call = take(guest->host);
    if (!call)
        return HALTER_ENOMEM;
    guest->host->last_call_id += 2;
    call->id = guest->host->last_call_id | 1;
    call->json_bytes = json_bytes;
    call->deadline_ms = o.deadline_ms ? o.deadline_ms : guest->deadline_ms;
    call->wall_cap_ms = o.wall_cap_ms ? o.wall_cap_ms : guest->wall_cap_ms;
    if (call->wall_cap_ms < call->deadline_ms)
        call->wall_cap_ms = call->deadline_ms;
    call->callback = callback;
    call->data = data;
    call->queued_ns = monotonic_ns();
    status = duplicate(call, o.fds, o.nfds);
    bool now = !status && list_empty(&guest->queue) && may_send(guest, json_bytes);
    if (!status && (!now || guest->process->nsent)) { /* it may have to be sent again */
        call->json = malloc(json_bytes + 1);
        status = call->json ? 0 : HALTER_ENOMEM;
        if (call->json)
            memcpy(call->json, json, json_bytes);
    }
    if (!status && now)
        status = send(guest, call, json);
    else if (!status)
        list_append(&guest->queue, &call->link);
    if (status) {
        give_back(guest->host, call);
        return status;
    }
    guest->pending++;
    guest->stats.calls++;
    guest->stats.bytes_in += json_bytes;
    if (number)
        *number = call->id;
    return HALTER_OK;
}

/* It lies ahead of a helper that works on another: what comes of it will be dropped. */
static int cancel_ahead(struct halter_guest *guest, struct call *call)
{
    struct call *husk = take(guest->host);

    if (!husk)
        return HALTER_ENOMEM;
    husk->id = call->id;
    husk->deadline_ms = call->deadline_ms;
    husk->wall_cap_ms = call->wall_cap_ms;
    husk->json_bytes = call->json_bytes;
    list_append(&call->link, &husk->link); /* before it, which then leaves */
    call_finish_later(guest, call, HALTER_ECANCELED);
    return HALTER_OK;
}

int halter_cancel(struct halter_guest *guest, uint64_t number)
{
    if (!guest)
        return HALTER_EINVAL;
    struct process *process = guest->process;
    if (process && process->nsent && process_call(process)->id == number) {
        if (process->condemned || !process_call(process)->callback)
            return HALTER_EINVAL;
        process_condemn(process, HALTER_DEATH_CANCELED, "by halter_cancel()");
        return HALTER_OK;
    }
    if (process) {
        list_for_each(node, &process->sent) {
            struct call *call = list_entry(node, struct call, link);
            if (call->id == number && call->callback)
                return cancel_ahead(guest, call);
        }
    }
    list_for_each(node, &guest->queue) {
        struct call *call = list_entry(node, struct call, link);
        if (call->id == number) {
            call_finish_later(guest, call, HALTER_ECANCELED);
            return HALTER_OK;
        }
    }
    return HALTER_EINVAL;
}

/* Follows the median a step at a time: a call that was held up by other work does not move it far. */
static uint64_t middle(uint64_t old, uint64_t ns)
{
    if (!old)
        return ns + 1;
    if (ns < old / 2)
        return old - old / 4;
    return ns < old ? old - old / 32 : old + old / 32 + 1;
}

/* ---- answers -------------------------------------------------------------------------------------- */

void call_answered(struct process *process, const struct wire_frame *frame)
{
    struct halter_guest *guest = process->guest;
    struct halter_script_error error;
    struct halter_result result = {0};
    char *storage = NULL;

    if (frame->type == WIRE_VALUE && !json_check((const char *)frame->body, frame->length, NULL)) {
        process_kill(process, HALTER_DEATH_PROTOCOL, "a result that is not JSON");
        return;
    }
    if (frame->type == WIRE_ERROR &&
        (!script_error_read(&error, &result.status, &storage, frame) ||
         result.status == HALTER_ELOAD)) {
        free(storage);
        process_kill(process, HALTER_DEATH_PROTOCOL, "an ERROR frame that is none");
        return;
    }
    bool too_big = frame->type == WIRE_VALUE && frame->length > guest->output_bytes;
    if (too_big)
        result.status = HALTER_ETOOBIG;
    uint64_t now = monotonic_ns();
    struct call *call = process_take_call(process, now, &result.host_ns);
    result.waited_ns = call->started_ns - call->queued_ns;
    result.ran_ns = now - call->started_ns;
    guest->usual_ns = guest->usual_ns ? (7 * guest->usual_ns + result.ran_ns) / 8 + 1
                                      : result.ran_ns + 1;
    guest->middle_ns = middle(guest->middle_ns, result.ran_ns);
    guest_succeeded(&guest->record);
    if (result.status == HALTER_OK) {
        stats_latency(&guest->stats, result.ran_ns);
        guest->stats.bytes_out += frame->length;
    } else if (!too_big) {
        result.error = &error;
    }
    if (process->nsent == 0)
        guest_event(guest, GUEST_EVENT_ANSWERED, 0);
    else
        call_next(guest); /* more are on their way while the callback runs */
    if (frame->type == WIRE_VALUE && !too_big) {
        result.kind = HALTER_KIND_VALUE;
        result.json = (const char *)frame->body; /* the wire has terminated it */
        result.json_bytes = frame->length;
    } else if (frame->type == WIRE_UNDEFINED) {
        result.kind = HALTER_KIND_UNDEFINED;
    }
    finish(guest, call, &result);
    free(storage);
}

/* ---- script errors ---------------------------------------------------------------------------------- */

static const char *store(char **at, struct wire_text text)
{
    char *start = *at;
    memcpy(start, text.bytes, text.length);
    start[text.length] = '\0';
    *at = start + text.length + 1;
    return start;
}

bool script_error_read(struct halter_script_error *error, int *status, char **storage,
                       const struct wire_frame *frame)
{
    static const int statuses[] = {
        [WIRE_ERROR_LOAD] = HALTER_ELOAD,       [WIRE_ERROR_SCRIPT] = HALTER_ESCRIPT,
        [WIRE_ERROR_RESULT] = HALTER_ERESULT,   [WIRE_ERROR_PENDING] = HALTER_EPENDING,
        [WIRE_ERROR_INPUT] = HALTER_EJSON,      [WIRE_ERROR_TOO_LONG] = HALTER_ETOOBIG,
    };
    struct wire_error body;

    *storage = NULL;
    if (!wire_error_decode(&body, frame->body, frame->length) || body.kind < WIRE_ERROR_LOAD ||
        body.kind > WIRE_ERROR_TOO_LONG)
        return false;
    char *at = malloc((size_t)frame->length + 8);
    if (!at)
        return false;
    *storage = at;
    *status = statuses[body.kind];
    *error = (struct halter_script_error){
        .name = store(&at, body.name),
        .message = store(&at, body.message),
        .stack = store(&at, body.stack),
        .file = store(&at, body.file),
        .path = store(&at, body.path),
        .line = body.line,
        .column = body.column,
    };
    return true;
}

void script_error_copy(struct halter_script_error *to, char **storage,
                       const struct halter_script_error *from)
{
    const char *texts[] = {from->name, from->message, from->stack, from->file, from->path};
    const char *copies[5];
    size_t bytes = 0;

    for (int i = 0; i < 5; i++)
        bytes += strlen(texts[i]) + 1;
    char *at = malloc(bytes);
    free(*storage);
    *storage = at;
    if (!at)
        return;
    for (int i = 0; i < 5; i++) {
        copies[i] = at;
        at = stpcpy(at, texts[i]) + 1;
    }
    *to = (struct halter_script_error){.name = copies[0], .message = copies[1],
                                       .stack = copies[2], .file = copies[3], .path = copies[4],
                                       .line = from->line, .column = from->column};
}

/* ---- the synchronous form ----------------------------------------------------------------------------- */

/* A result with the storage behind it, in one allocation that the guest keeps. */
struct kept {
    struct halter_result result;
    struct halter_script_error error;
    struct halter_death death;
    char *error_storage;
    char detail[192];
};

struct waiter {
    bool done;
    struct kept *kept; /* NULL: no memory for it */
    int status;
};

static void keep(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct waiter *waiter = data;
    struct kept *kept = malloc(sizeof(*kept) + result->json_bytes + 1);

    (void)guest;
    waiter->done = true;
    waiter->status = result->status;
    if (!kept)
        return;
    *kept = (struct kept){.result = *result};
    char *json = (char *)(kept + 1);
    memcpy(json, result->json, result->json_bytes);
    json[result->json_bytes] = '\0';
    kept->result.json = json;
    if (result->error) {
        script_error_copy(&kept->error, &kept->error_storage, result->error);
        kept->result.error = kept->error_storage ? &kept->error : NULL;
    }
    if (result->death) {
        kept->death = *result->death;
        strncpy(kept->detail, result->death->detail, sizeof(kept->detail) - 1);
        kept->death.detail = kept->detail;
        kept->result.death = &kept->death;
    }
    waiter->kept = kept;
}

void call_forget_kept(struct halter_guest *guest)
{
    if (guest->wait_buffer)
        free(((struct kept *)guest->wait_buffer)->error_storage);
    free(guest->wait_buffer);
    guest->wait_buffer = NULL;
}

int halter_call_wait(struct halter_guest *guest, const char *json, size_t json_bytes,
                     const struct halter_call_options *options, struct halter_result *result)
{
    struct waiter waiter = {0};

    if (!guest || !result)
        return HALTER_EINVAL;
    struct halter_host *host = guest->host;
    if (host->depth)
        return HALTER_EBUSY;
    call_forget_kept(guest);
    int status = halter_call(guest, json, json_bytes, options, keep, &waiter, NULL);
    *result = (struct halter_result){.status = status, .json = ""};
    if (status)
        return status;
    while (!waiter.done) {
        int n = halter_dispatch(host, -1);
        if (n < 0)
            return n;
    }
    if (!waiter.kept)
        return result->status = HALTER_ENOMEM;
    guest->wait_buffer = waiter.kept;
    *result = waiter.kept->result;
    return result->status;
}
