/*
 * Hosts, guests and calls as a measuring program uses them: one call at a time, to its end.
 */
#include <errno.h>
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    (void)host;
    (void)data;
    if (event->type == HALTER_EVENT_LOAD_FAILED && event->error)
        say("the plugin does not load: %s: %s", event->error->name, event->error->message);
    else if (event->type == HALTER_EVENT_LAUNCHER_LOST)
        say("the launcher died");
    else if (event->type == HALTER_EVENT_STDERR)
        say("helper: %s", event->text);
}

struct halter_host *bench_host(const struct bench *bench, unsigned spares, const char *launcher)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    struct halter_host *host;
    options.spares = spares;
    options.launcher_path = launcher ? launcher : bench->launcher;
    options.on_event = on_event;
    options.locale = "en";
    int status = halter_create(&options, &host);
    if (status == HALTER_OK)
        return host;
    say("no host: %s", status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return NULL;
}

struct halter_guest *bench_guest(struct halter_host *host, const char *source, uint32_t deadline_ms,
                                 const char *const *grants)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    struct halter_guest *guest;
    options.source = source;
    options.path = "bench.js";
    options.deadline_ms = deadline_ms;
    options.load_deadline_ms = 10000;
    options.quarantine_after = UINT32_MAX;
    options.grants = grants;
    options.requests_per_second = 1000000;
    int status = halter_plugin_create(host, &options, &guest);
    if (status == HALTER_OK)
        return guest;
    say("no guest: %s", status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return NULL;
}

void bench_rest(struct halter_host *host, unsigned ms)
{
    uint64_t until = now_ns() + ms * 1000000ull, now;
    while ((now = now_ns()) < until)
        halter_dispatch(host, (int)((until - now) / 1000000) + 1);
}

bool bench_wait_ready(struct halter_host *host, struct halter_guest *guest)
{
    uint64_t until = now_ns() + 20000000000ull;
    while (halter_guest_state(guest) == HALTER_GUEST_LOADING && now_ns() < until)
        halter_dispatch(host, 100);
    if (halter_guest_state(guest) == HALTER_GUEST_READY)
        return true;
    say("the guest is %s", halter_guest_state_text(halter_guest_state(guest)));
    return false;
}

struct answer {
    bool done, hash;
    int status;
    uint64_t value;
};

static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct answer *answer = data;
    (void)guest;
    answer->done = true;
    answer->status = result->status;
    if (answer->hash)
        answer->value = bench_hash(result->json, result->json_bytes);
    if (result->status == HALTER_ESCRIPT && result->error)
        say("the plugin threw: %s: %s", result->error->name, result->error->message);
}

int bench_call(struct halter_host *host, struct halter_guest *guest, const char *json, size_t bytes,
               uint64_t *result_hash)
{
    struct answer answer = {.hash = result_hash != NULL};
    int status = halter_call(guest, json, bytes, NULL, on_result, &answer, NULL);
    if (status != HALTER_OK)
        return status;
    while (!answer.done)
        if (halter_dispatch(host, -1) < 0)
            return HALTER_ESYSTEM;
    if (result_hash)
        *result_hash = answer.value;
    return answer.status;
}

/* FNV-1a, 64 bits: to tell whether two sides computed the same. */
uint64_t bench_hash(const char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 0x100000001b3u;
    return hash;
}
