/*
 * How late a kill comes: a plugin that hangs 200 times under a deadline of 20 ms. Printed: from the
 * deadline to the callback that says so, and from there to the answer of the next call, with a spare
 * at hand and without.
 */
#include <halter/halter.h>

#include "samples.h"

#define DEADLINE_MS 20

static struct samples late, again;

static void done(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    (void)guest;
    *(struct halter_result *)data = (struct halter_result){.status = result->status, .call = 1};
}

static int finish(struct halter_host *host, struct halter_guest *guest, const char *json)
{
    struct halter_result result = {0};
    if (halter_call(guest, json, 0, NULL, done, &result, NULL) != HALTER_OK)
        exit(1);
    while (!result.call)
        halter_dispatch(host, -1);
    return result.status;
}

static void measure(unsigned hangs, unsigned spares)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    struct halter_plugin_options plugin = HALTER_PLUGIN_INIT;
    struct halter_host *host;
    struct halter_guest *guest;
    char what[64];

    options.spares = spares;
    plugin.source = "transform = (raw) => { while (raw === 'go'); return raw }";
    plugin.deadline_ms = DEADLINE_MS;
    if (halter_create(&options, &host) || halter_plugin_create(host, &plugin, &guest)) {
        perror("halter");
        exit(1);
    }
    late.n = again.n = 0;
    for (unsigned i = 0; i < hangs; i++) {
        finish(host, guest, "1");
        uint64_t rest = bench_now_ns() + 30000000;
        while (bench_now_ns() < rest) /* the spare is made meanwhile, as in a program that lives */
            halter_dispatch(host, 5);
        uint64_t sent = bench_now_ns();
        if (finish(host, guest, "\"go\"") != HALTER_EDEADLINE)
            exit(1);
        uint64_t told = bench_now_ns();
        sample(&late, told - sent - DEADLINE_MS * 1000000ull);
        finish(host, guest, "2");
        sample(&again, bench_now_ns() - told);
    }
    snprintf(what, sizeof(what), "deadline to its callback, %u spares", spares);
    samples_print(&late, what);
    snprintf(what, sizeof(what), "callback to the next answer, %u spares", spares);
    samples_print(&again, what);
    halter_destroy(host);
}

int main(int argc, char **argv)
{
    unsigned hangs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    measure(hangs, 1);
    measure(hangs, 0);
}
