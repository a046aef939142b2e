/*
 * Reverse calls: a guest asks, the application answers, now or later. While at least one is open the
 * call's deadline stands still; the wall cap does not. A request outlives its process and its guest
 * until the application gives it back.
 */
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"
#include "wire/body.h"
#include "wire/json.h"

#define OPEN_AT_ONCE 256 /* requests of one process: more is a flood */

const char *halter_request_kind_text(enum halter_request_kind kind)
{
    static const char *const words[HALTER_REQUEST_KINDS] = {
#define HALTER_REQUEST_KIND(name, number, word) [HALTER_REQUEST_##name] = word,
#include "halter/requests.def"
#undef HALTER_REQUEST_KIND
    };
    return (unsigned)kind < HALTER_REQUEST_KINDS && words[kind] ? words[kind] : "";
}

/* An application's name is none of the built-in ones: manifest_is_scope() sees to that. */
static enum halter_request_kind kind_of(const char *name)
{
    for (unsigned kind = HALTER_REQUEST_OWN + 1; kind < HALTER_REQUEST_UNGRANTED; kind++)
        if (strcmp(halter_request_kind_text(kind), name) == 0)
            return (enum halter_request_kind)kind;
    return HALTER_REQUEST_OWN;
}

int request_provide(struct halter_host *host, const char *name, halter_provide_fn fn, void *data)
{
    struct provided *grown =
        realloc(host->provided, (host->nprovided + 1) * sizeof(*host->provided));
    if (!grown)
        return HALTER_ENOMEM;
    host->provided = grown;
    char *copy = strdup(name);
    if (!copy)
        return HALTER_ENOMEM;
    host->provided[host->nprovided++] = (struct provided){copy, kind_of(name), fn, data};
    return HALTER_OK;
}

int halter_provide(struct halter_host *host, const char *name, halter_provide_fn fn, void *data)
{
    /* A name that no grant could give is refused, and so are those of the built-in ones. */
    if (!host || !name || !fn || !manifest_is_scope(name, strlen(name)))
        return HALTER_EINVAL;
    for (unsigned i = 0; i < host->nprovided; i++)
        if (strcmp(host->provided[i].name, name) == 0)
            return HALTER_EINVAL;
    return request_provide(host, name, fn, data);
}

static const struct provided *find(const struct halter_host *host, struct wire_text name)
{
    for (unsigned i = 0; i < host->nprovided; i++)
        if (strlen(host->provided[i].name) == name.length &&
            memcmp(host->provided[i].name, name.bytes, name.length) == 0)
            return &host->provided[i];
    return NULL;
}

static bool granted(const struct halter_guest *guest, struct wire_text name)
{
    const char *at = guest->capabilities;
    while (*at) {
        size_t length = strcspn(at, "\n");
        if (length == name.length && memcmp(at, name.bytes, length) == 0)
            return true;
        at += length + (at[length] == '\n');
    }
    return false;
}

static int send_back(struct process *process, uint64_t id, const struct wire_frame *header,
                     const struct iovec *parts, unsigned nparts, const int *fds)
{
    struct wire_frame frame = *header;
    frame.id = id;
    return process_send(process, &frame, parts, nparts, fds);
}

static int send_refusal(struct process *process, uint64_t id, enum wire_error_kind kind,
                        const char *message)
{
    struct wire_error body = {
        .kind = (uint16_t)kind,
        .message = {message, (uint32_t)strlen(message)},
    };
    uint8_t fixed[WIRE_ERROR_FIXED];
    wire_error_encode(&body, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)}, {(void *)(uintptr_t)message, body.message.length}};
    return send_back(process, id, &(struct wire_frame){.type = WIRE_REFUSE}, parts, 2, NULL);
}

static void denied(struct halter_guest *guest, const char *name, const char *message)
{
    struct halter_event event = {
        .type = HALTER_EVENT_DENIED, .guest = guest, .name = name, .text = message};
    guest->stats.denials++;
    event_emit(guest->host, &event);
}

/* Asked for what it was not granted: in an honest helper no script can, the function is not there. */
static void deny_unknown(struct process *process, const struct wire_frame *frame,
                         struct wire_text name)
{
    char text[512];
    halter_printable(text, sizeof(text), name.bytes, name.length, false);
    if (send_refusal(process, frame->id, WIRE_ERROR_DENIED, "not granted") != 0)
        process_condemn(process, HALTER_DEATH_KILLED, "no memory in the host to refuse a request");
    denied(process->guest, text, "not granted");
}

static unsigned open_requests(const struct process *process)
{
    unsigned n = 0;
    for (const struct list *node = process->requests.next; node != &process->requests;
         node = node->next)
        n++;
    return n;
}

void request_arrived(struct process *process, const struct wire_frame *frame)
{
    struct halter_guest *guest = process->guest;
    struct halter_host *host = process->host;
    struct wire_request body;

    if (!wire_request_decode(&body, frame->body, frame->length) || (frame->id & 1) ||
        frame->id <= process->last_request_id || open_requests(process) >= OPEN_AT_ONCE ||
        !json_check(body.json.bytes, body.json.length, NULL)) {
        process_kill(process, HALTER_DEATH_PROTOCOL, "a REQUEST frame that is none, or too many");
        return;
    }
    process->last_request_id = frame->id;
    guest->stats.requests++;
    const struct provided *provided = find(host, body.name);
    if (!provided || !granted(guest, body.name)) {
        guest->stats.requests_by_kind[HALTER_REQUEST_UNGRANTED]++;
        deny_unknown(process, frame, body.name);
        return;
    }
    guest->stats.requests_by_kind[provided->kind]++;
    if (!rate_may_pass(&guest->requests)) {
        if (send_refusal(process, frame->id, WIRE_ERROR_QUOTA, "too many requests a second") != 0)
            process_condemn(process, HALTER_DEATH_KILLED, "no memory in the host to refuse a request");
        return;
    }
    struct halter_request *request = calloc(1, sizeof(*request));
    if (!request) {
        process_kill(process, HALTER_DEATH_KILLED, "no memory in the host for a request");
        return;
    }
    *request = (struct halter_request){
        .host = host, .guest = guest, .process = process, .id = frame->id, .name = provided->name};
    list_append(&process->requests, &request->link);
    list_append(&host->requests, &request->host_link);
    process_pause(process, monotonic_ns());

    host_enter(host);
    provided->fn(guest, request, body.json.bytes, body.json.length, provided->data);
    host_leave(host);
}

static void give_back(struct halter_request *request)
{
    struct process *process = request->process;

    list_remove(&request->link);
    list_remove(&request->host_link);
    free(request);
    if (process && list_empty(&process->requests))
        process_resume(process, monotonic_ns());
}

int halter_answer(struct halter_request *request, const char *json, size_t json_bytes)
{
    return halter_answer_fds(request, json, json_bytes, NULL, 0);
}

int halter_answer_fds(struct halter_request *request, const char *json, size_t json_bytes,
                      const int *fds, unsigned nfds)
{
    if (!request || !json || nfds > HALTER_FDS_MAX || (nfds && !fds))
        return HALTER_EINVAL;
    if (!json_bytes)
        json_bytes = strlen(json);
    if (!json_check(json, json_bytes, NULL))
        return HALTER_EJSON;
    if (request->process) {
        if (json_bytes > request->host->cap)
            return HALTER_ETOOBIG;
        struct iovec part = {(void *)(uintptr_t)json, json_bytes};
        struct wire_frame header = {.type = WIRE_ANSWER, .nfds = (uint8_t)nfds};
        int status = send_back(request->process, request->id, &header, &part, 1, fds);
        if (status)
            return status;
    }
    give_back(request);
    return HALTER_OK;
}

int request_refuse(struct halter_request *request, enum wire_error_kind kind, const char *message)
{
    if (request->process) {
        int status = send_refusal(request->process, request->id, kind, message);
        if (status)
            return status;
    }
    if (kind == WIRE_ERROR_DENIED && request->guest && request->host)
        denied(request->guest, request->name, message);
    give_back(request);
    return HALTER_OK;
}

int halter_refuse(struct halter_request *request, bool is_denial, const char *message)
{
    if (!request || !message || strlen(message) > 32768 || !utf8_check(message, strlen(message)))
        return HALTER_EINVAL;
    return request_refuse(request, is_denial ? WIRE_ERROR_DENIED : WIRE_ERROR_FAILED, message);
}

void request_drop(struct halter_request *request)
{
    give_back(request);
}

struct halter_guest *halter_request_guest(const struct halter_request *request)
{
    return request ? request->guest : NULL;
}

void requests_orphan(struct process *process)
{
    list_for_each(node, &process->requests) {
        struct halter_request *request = list_entry(node, struct halter_request, link);
        request->process = NULL;
        list_remove(&request->link);
        if (request->abandon)
            request->abandon(request);
    }
}

void requests_disown(struct halter_guest *guest)
{
    list_for_each(node, &guest->host->requests) {
        struct halter_request *request = list_entry(node, struct halter_request, host_link);
        if (request->guest == guest)
            request->guest = NULL;
    }
}
