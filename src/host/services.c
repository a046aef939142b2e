/* See services.h. The process is one of the host's like any other; only its frames come here. */
#include "host/services.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"
#include "host/policy_address.h"
#include "wire/body.h"
#include "wire/json.h"
#include "wire/json_write.h"

#define START_MS       10000 /* from the hello to being configured */
#define PAUSE_MIN_MS   100   /* after one that did not start, doubling */
#define PAUSE_MAX_MS   10000
#define MAX_ORDERS     4096
#define SERVICES_BYTES (1ull << 30) /* of memory: the largest answers, some at one time */

struct order {
    struct list link;
    uint64_t id;
    char *json; /* until it is sent */
    size_t bytes;
    uint32_t patience_ms;
    uint64_t due_ns; /* 0 until it is sent */
    services_fn fn;  /* NULL: canceled, only its answer is still to come */
    void *data;
};

static void deadline_fired(struct timer *timer, uint64_t now_ns);

void services_init(struct services *services)
{
    list_init(&services->orders);
    services->deadline.fire = deadline_fired;
}

static struct halter_host *host_of(struct timer *timer)
{
    struct services *services = list_entry(timer, struct services, deadline);
    return list_entry(services, struct halter_host, services);
}

static void order_free(struct order *order)
{
    list_remove(&order->link);
    free(order->json);
    free(order);
}

static void set_deadline(struct halter_host *host)
{
    struct services *services = &host->services;
    uint64_t first = 0;
    list_for_each(node, &services->orders)
    {
        const struct order *order = list_entry(node, struct order, link);
        if (order->due_ns && (!first || order->due_ns < first))
            first = order->due_ns;
    }
    if (first)
        timer_arm(&host->timers, &services->deadline, first);
    else
        timer_cancel(&host->timers, &services->deadline);
}

/* It holds to no limit that it was given: it is stuck, or it is no longer ours. */
static void deadline_fired(struct timer *timer, uint64_t now_ns)
{
    struct halter_host *host = host_of(timer);
    struct services *services = &host->services;
    (void)now_ns;
    if (services->process)
        process_condemn(services->process, HALTER_DEATH_DEADLINE, "an order was not answered");
}

static void finish(struct halter_host *host, struct order *order,
                   const struct services_answer *answer)
{
    services_fn fn = order->fn;
    void *data = order->data;
    order_free(order);
    if (!fn)
        return;
    /* Events wait: what a callback of the application does must not take the work from under fn. */
    host->depth++;
    fn(host, answer, data);
    host->depth--;
}

static void fail_sent(struct halter_host *host, bool all, const char *why)
{
    struct services_answer answer = {WIRE_ERROR_FAILED, why, strlen(why)};
    struct list failed;
    list_init(&failed);
    list_for_each(node, &host->services.orders)
    {
        struct order *order = list_entry(node, struct order, link);
        if (!all && order->json)
            continue;
        list_remove(node);
        list_append(&failed, node);
    }
    while (!list_empty(&failed))
        finish(host, list_entry(failed.next, struct order, link), &answer);
}

/* ---- to it ---------------------------------------------------------------------------------- */

static int send(struct process *process, struct wire_frame header, const struct iovec *parts,
                unsigned nparts)
{
    int fault =
        wire_writer_send(&process->writer, process->socket.fd, &header, parts, nparts, NULL);
    if (fault == WIRE_NO_MEMORY)
        return HALTER_ENOMEM;
    if (wire_writer_pending(&process->writer))
        host_want_write(process->host, &process->socket, true);
    return 0;
}

static int send_order(struct process *process, uint64_t id, const char *json, size_t bytes)
{
    struct wire_call body = {.locale = {"en", 2}};
    uint8_t fixed[WIRE_CALL_FIXED];
    wire_call_encode(&body, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {(void *)(uintptr_t)body.locale.bytes, body.locale.length},
                            {(void *)(uintptr_t)json, bytes}};
    return send(process, (struct wire_frame){.type = WIRE_CALL, .id = id}, parts, 3);
}

/* One whose socket has closed is as good as dead: what is not sent waits for the next one. */
static bool is_there(const struct services *services)
{
    return services->loaded && services->process->socket.fd >= 0;
}

static void send_waiting(struct halter_host *host)
{
    struct services *services = &host->services;
    list_for_each(node, &services->orders)
    {
        struct order *order = list_entry(node, struct order, link);
        if (!order->json)
            continue;
        if (send_order(services->process, order->id, order->json, order->bytes) != 0) {
            process_condemn(services->process, HALTER_DEATH_KILLED, "no memory in the host");
            return;
        }
        free(order->json);
        order->json = NULL;
        order->due_ns = monotonic_ns() + order->patience_ms * NS_PER_MS;
    }
    set_deadline(host);
}

static void write_ranges(struct json_writer *out, bool publics)
{
    struct wire_range range;
    char text[WIRE_RANGE_TEXT];
    for (size_t i = 0;
         publics ? policy_address_public(i, &range) : policy_address_refused(i, &range, NULL);
         i++) {
        json_write(out, i ? "," : "");
        json_write_string(out, text, wire_range_print(&range, text));
    }
}

static bool configuration(struct halter_host *host, struct json_writer *out)
{
    const char *path = host->services.state_path ? host->services.state_path : "";
    json_write(out, "{\"cap\":");
    json_write_integer(out, host->cap);
    json_write(out, ",\"public\":[");
    write_ranges(out, true);
    json_write(out, "],\"refuse\":[");
    write_ranges(out, false);
    json_write(out, "],\"state_path\":");
    json_write_string(out, path, strlen(path));
    if (host->services.ca_file) {
        json_write(out, ",\"ca_file\":");
        json_write_string(out, host->services.ca_file, strlen(host->services.ca_file));
    }
    json_write(out, "}");
    return json_write_end(out);
}

void services_offered(struct process *process)
{
    struct halter_host *host = process->host;
    struct json_writer out;
    struct wire_load load = {0};
    uint8_t fixed[WIRE_LOAD_FIXED];
    process_event(process, PROCESS_EVENT_ADOPT);
    json_writer_init(&out);
    bool ok = configuration(host, &out);
    load.source = (struct wire_text){out.text, (uint32_t)out.length};
    wire_load_encode(&load, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)}, {out.text, out.length}};
    host->last_call_id += 2;
    process->load_id = host->last_call_id | 1;
    struct wire_frame header = {.type = WIRE_LOAD, .id = process->load_id};
    if (!ok || send(process, header, parts, 2) != 0)
        process_condemn(process, HALTER_DEATH_KILLED, "no memory in the host");
    json_writer_finish(&out);
    timer_arm(&host->timers, &process->deadline, monotonic_ns() + START_MS * NS_PER_MS);
}

/* ---- from it -------------------------------------------------------------------------------- */

static bool read_answer(const struct wire_frame *frame, struct services_answer *answer)
{
    struct wire_error error;
    *answer = (struct services_answer){0, (const char *)frame->body, frame->length};
    if (frame->type == WIRE_VALUE)
        return json_check(answer->text, answer->bytes, NULL);
    if (frame->type != WIRE_ERROR || !wire_error_decode(&error, frame->body, frame->length))
        return false;
    *answer = (struct services_answer){error.kind ? error.kind : WIRE_ERROR_FAILED,
                                       error.message.bytes, error.message.length};
    return true;
}

static void load_answered(struct process *process, const struct wire_frame *frame)
{
    struct services *services = &process->host->services;
    struct services_answer answer;
    timer_cancel(&process->host->timers, &process->deadline);
    process->load_id = 0;
    if (frame->type == WIRE_LOADED) {
        services->loaded = true;
        services->failures = 0;
        services->refused[0] = '\0';
        send_waiting(process->host);
        return;
    }
    if (!read_answer(frame, &answer))
        answer = (struct services_answer){0, "halter-services broke the protocol", 34};
    halter_printable(services->refused, sizeof(services->refused), answer.text, answer.bytes,
                     false);
    process_kill(process, HALTER_DEATH_KILLED, services->refused);
}

void services_frame(struct process *process, const struct wire_frame *frame)
{
    struct halter_host *host = process->host;
    struct services_answer answer;
    if (process->load_id && frame->id == process->load_id) {
        load_answered(process, frame);
        return;
    }
    list_for_each(node, &host->services.orders)
    {
        struct order *order = list_entry(node, struct order, link);
        if (order->id != frame->id || order->json)
            continue;
        if (!read_answer(frame, &answer))
            break;
        finish(host, order, &answer);
        set_deadline(host);
        return;
    }
    /* A request that was given up may have been answered at that moment. */
    if (!read_answer(frame, &answer))
        process_kill(process, HALTER_DEATH_PROTOCOL, "an answer of halter-services that is none");
}

/* ---- its life ------------------------------------------------------------------------------- */

/* It closes the file system once it knows which state it keeps: before LOADED. */
static const struct process_use services_use = {
    .layers = HALTER_LAYER_BIT(HALTER_LAYER_NO_NEW_PRIVS) | HALTER_LAYER_BIT(HALTER_LAYER_SECCOMP),
    .offered = services_offered,
    .bereaved = services_bereaved,
    .frame = services_frame,
};

/* Starts one if there is none and it is time. False when there is no hope for now. */
static bool start(struct halter_host *host)
{
    struct services *services = &host->services;
    struct control_profile profile = {
        .kind = WIRE_HELPER_SERVICES, .cap = host->cap, .memory_bytes = SERVICES_BYTES};
    if (services->process)
        return true;
    if (host->closing || monotonic_ns() < services->not_before_ns)
        return false;
    services->process = process_create(host, &profile, &services_use);
    services->loaded = false;
    return services->process != NULL;
}

void services_bereaved(struct process *process)
{
    struct halter_host *host = process->host;
    struct services *services = &host->services;
    char why[256];
    if (services->process != process)
        return;
    bool loaded = services->loaded;
    services->process = NULL;
    services->loaded = false;
    timer_cancel(&host->timers, &services->deadline);
    if (loaded) {
        fail_sent(host, false, "halter-services died: whether it was done is not known");
        bool waiting = !list_empty(&services->orders);
        if (!waiting || start(host))
            return;
    }
    uint64_t pause_ms = PAUSE_MIN_MS;
    for (unsigned i = 0; i < services->failures && pause_ms < PAUSE_MAX_MS; i++)
        pause_ms *= 2;
    services->failures++;
    services->not_before_ns = monotonic_ns() + pause_ms * NS_PER_MS;
    snprintf(why, sizeof(why), "halter-services does not start%s%s",
             services->refused[0] ? ": " : "", services->refused);
    fail_sent(host, true, why);
}

uint64_t services_order(struct halter_host *host, const char *json, size_t bytes,
                        uint32_t patience_ms, services_fn fn, void *data)
{
    struct services *services = &host->services;
    unsigned waiting = 0;
    list_for_each(node, &services->orders) waiting++;
    if (waiting >= MAX_ORDERS || !start(host))
        return 0;
    struct order *order = calloc(1, sizeof(*order));
    if (!order || !(order->json = malloc(bytes))) {
        free(order);
        return 0;
    }
    memcpy(order->json, json, bytes);
    order->bytes = bytes;
    order->patience_ms = patience_ms;
    order->fn = fn;
    order->data = data;
    host->last_call_id += 2;
    order->id = host->last_call_id | 1;
    list_append(&services->orders, &order->link);
    if (is_there(services))
        send_waiting(host);
    return order->id;
}

void services_cancel(struct halter_host *host, uint64_t id, bool tell)
{
    struct services *services = &host->services;
    list_for_each(node, &services->orders)
    {
        struct order *order = list_entry(node, struct order, link);
        if (order->id != id)
            continue;
        order->fn = NULL;
        if (!order->json && !tell)
            return; /* its answer will come */
        bool sent = !order->json;
        order_free(order);
        set_deadline(host);
        if (sent && is_there(services)) {
            char json[64];
            int length = snprintf(json, sizeof(json), "{\"op\":\"cancel\",\"id\":%llu}",
                                  (unsigned long long)id);
            host->last_call_id += 2;
            send_order(services->process, host->last_call_id | 1, json, (size_t)length);
        }
        return;
    }
}

void services_finish(struct halter_host *host)
{
    list_for_each(node, &host->services.orders) order_free(list_entry(node, struct order, link));
    timer_cancel(&host->timers, &host->services.deadline);
    free(host->services.state_path);
    free(host->services.ca_file);
    host->services.state_path = host->services.ca_file = NULL;
}
