/*
 * E4: from a deadline to the answer of the next call, which a new helper gives; and what is left
 * behind when the host has gone: processes, descriptors, mappings, cgroups.
 */
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

#define DEADLINE_MS 20
#define REST_MS     60

static const char hangs[] =
    "globalThis.transform = (raw) => { while (raw === 'hang'); return raw; };";

struct moment {
    int status;
    uint64_t at_ns;
};

static void note(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct moment *moment = data;
    (void)guest;
    moment->status = result->status;
    moment->at_ns = now_ns();
}

/* A call that hangs and, queued behind it, one that does not. */
static bool hang_once(struct halter_host *host, struct halter_guest *guest, struct moment *killed,
                      struct moment *answered, uint64_t *deadline_ns)
{
    struct halter_call_options patient = HALTER_CALL_INIT;
    patient.deadline_ms = 10000;
    *killed = *answered = (struct moment){0};
    *deadline_ns = now_ns() + DEADLINE_MS * 1000000ull;
    if (halter_call(guest, "\"hang\"", 6, NULL, note, killed, NULL) != HALTER_OK ||
        halter_call(guest, "1", 1, &patient, note, answered, NULL) != HALTER_OK)
        return false;
    uint64_t limit = now_ns() + 20000000000ull;
    while (!answered->at_ns && now_ns() < limit)
        halter_dispatch(host, 100);
    return killed->at_ns && answered->at_ns;
}

static bool hang_often(struct bench *bench, unsigned spares, unsigned *wrong, unsigned *early)
{
    struct series *told = bench_series(bench, "µs", "deadline to its callback, %u spare%s", spares,
                                       spares == 1 ? "" : "s");
    struct series *again = bench_series(bench, "µs", "deadline to a new helper's answer, %u spare%s",
                                        spares, spares == 1 ? "" : "s");
    struct halter_host *host = bench_host(bench, spares, NULL);
    struct halter_guest *guest = host ? bench_guest(host, hangs, DEADLINE_MS, NULL) : NULL;
    unsigned count = bench_count(bench, 50, 30);
    bool done = guest && bench_wait_ready(host, guest);
    for (unsigned i = 0; done && i < count; i++) {
        struct moment killed, answered;
        uint64_t deadline_ns;
        bench_progress(bench, "%u spares: kill %u of %u", spares, i + 1, count);
        bench_rest(host, REST_MS);
        int before = halter_guest_pid(guest);
        done = hang_once(host, guest, &killed, &answered, &deadline_ns);
        *wrong += killed.status != HALTER_EDEADLINE || answered.status != HALTER_OK ||
                  halter_guest_pid(guest) == before;
        *early += killed.at_ns < deadline_ns;
        series_add_ns(told, killed.at_ns - deadline_ns);
        series_add_ns(again, answered.at_ns - deadline_ns);
    }
    halter_destroy(host);
    return done;
}

static void judge_residue(struct bench *bench, const struct residue *before)
{
    struct residue after;
    bench_residue(&after);
    bench_verdict(bench, VERDICT_AT_LEAST,
                  after.descriptors == before->descriptors && after.children == before->children &&
                      after.cgroups <= before->cgroups,
                  "left behind: %d descriptors (sockets are among them), %d processes, %d cgroups",
                  (int)(after.descriptors - before->descriptors),
                  (int)(after.children - before->children),
                  (int)(after.cgroups - before->cgroups));
    bench_verdict(bench, VERDICT_AT_LEAST, after.mappings <= before->mappings,
                  "left behind: %d mappings", (int)(after.mappings - before->mappings));
}

/* What is counted is seen while it is there. */
static bool control_residue(struct bench *bench, const struct residue *before)
{
    struct residue during;
    struct halter_host *host = bench_host(bench, 0, NULL);
    struct halter_guest *guest = host ? bench_guest(host, hangs, 1000, NULL) : NULL;
    bool done = guest && bench_wait_ready(host, guest);
    bench_residue(&during);
    halter_destroy(host);
    bench_verdict(bench, VERDICT_CONTROL,
                  during.descriptors > before->descriptors &&
                      during.children >= before->children + 2 && during.mappings > before->mappings,
                  "the count sees a living host: %d descriptors, %d processes, %d mappings more",
                  (int)(during.descriptors - before->descriptors),
                  (int)(during.children - before->children),
                  (int)(during.mappings - before->mappings));
    return done;
}

bool bench_kill(struct bench *bench)
{
    struct residue before;
    unsigned wrong = 0, early = 0;
    /* Once in advance: what the C library allocates for good is there. */
    struct halter_host *host = bench_host(bench, 1, NULL);
    halter_destroy(host);
    bench_residue(&before);
    bool done = host && hang_often(bench, 1, &wrong, &early) && hang_often(bench, 0, &wrong, &early);
    if (done) {
        struct series *again = bench_series(bench, "µs", "deadline to a new helper's answer, 1 spare");
        judge_residue(bench, &before);
        bench_verdict(bench, VERDICT_CONTROL, wrong == 0 && early == 0,
                      "each was killed of its deadline, none before it, and another process "
                      "answered: %u wrong, %u early",
                      wrong, early);
        bench_at_most(bench, VERDICT_AT_LEAST, "deadline to the next answer, p50",
                      series_at(again, 0.5), 1500, "µs");
        bench_at_most(bench, VERDICT_AIM, "deadline to the next answer, p50", series_at(again, 0.5),
                      800, "µs");
        done = control_residue(bench, &before);
    }
    bench_peers_sample(bench, "E4", bench_count(bench, 30, 20), "deadline to the next answer");
    return done;
}
