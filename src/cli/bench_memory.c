/*
 * E6: a hundred mebibytes in a script, as they are seen from outside, and what an idle helper has
 * to itself. E8, only when it is named: a thousand plugins that live at one time.
 */
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

#define MIB   1048576.0
#define IDLE  10
#define MANY  1000

/* Filled, or only asked for: pages that nobody has written to are not resident. */
static const char keeps[] =
    "const kept = [];"
    "globalThis.transform = (raw) => {"
    "  if (raw.mib) { const more = new Uint8Array(raw.mib << 20);"
    "    if (raw.fill) more.fill(1); kept.push(more); }"
    "  return kept.length; };";

static double resident_mib(struct halter_guest *guest)
{
    struct halter_stats stats = HALTER_STATS_INIT;
    return halter_guest_stats(guest, &stats) == HALTER_OK ? (double)stats.resident_bytes / MIB : 0.0;
}

/* How much a guest of its own grows when it runs this call. */
static bool growth(struct halter_host *host, const char *json, struct series *to)
{
    struct halter_guest *guest = bench_guest(host, keeps, 20000, NULL);
    bool done = guest && bench_wait_ready(host, guest);
    for (int i = 0; done && i < 20; i++)
        done = bench_call(host, guest, "{}", 2, NULL) == HALTER_OK;
    double before = done ? resident_mib(guest) : 0.0;
    done = done && bench_call(host, guest, json, strlen(json), NULL) == HALTER_OK;
    if (done)
        series_add(to, resident_mib(guest) - before);
    halter_guest_destroy(guest);
    return done;
}

static bool idle_helpers(struct bench *bench, struct halter_host *host)
{
    struct series *private = bench_series(bench, "MiB", "an idle helper's private memory, %d of them",
                                          IDLE);
    struct series *share = bench_series(bench, "MiB", "its proportional share, %d of them", IDLE);
    struct halter_guest *guests[IDLE] = {0};
    bool done = true;
    for (int i = 0; i < IDLE && done; i++) {
        guests[i] = bench_guest(host, keeps, 20000, NULL);
        done = guests[i] && bench_wait_ready(host, guests[i]) &&
               bench_call(host, guests[i], "{}", 2, NULL) == HALTER_OK;
    }
    bench_rest(host, 1500); /* the engine gives back what it needed to start */
    for (int i = 0; i < IDLE && done; i++) {
        uint64_t bytes = bench_private_bytes(halter_guest_pid(guests[i]));
        if (bytes == 0) {
            bench_verdict(bench, VERDICT_CONTROL, false, "smaps_rollup cannot be read");
            break;
        }
        series_add(private, (double)bytes / MIB);
        series_add(share, (double)bench_proportional_bytes(halter_guest_pid(guests[i])) / MIB);
    }
    for (int i = 0; i < IDLE; i++)
        halter_guest_destroy(guests[i]);
    bench_at_most(bench, VERDICT_AT_LEAST, "an idle helper, private, p50", series_at(private, 0.5), 4,
                  "MiB");
    bench_at_most(bench, VERDICT_AIM, "an idle helper, private, p50", series_at(private, 0.5), 1.5,
                  "MiB");
    return done;
}

bool bench_memory(struct bench *bench)
{
    struct series *seen = bench_series(bench, "MiB", "100 MiB written by a script, from outside");
    struct series *unseen = bench_series(bench, "MiB", "100 MiB asked for and not written");
    struct halter_host *host = bench_host(bench, 1, NULL);
    unsigned count = bench_count(bench, 10, 5);
    bool done = host != NULL;
    for (unsigned i = 0; done && i < count; i++) {
        bench_progress(bench, "guest %u of %u", i + 1, count);
        done = growth(host, "{\"mib\":100,\"fill\":true}", seen) &&
               growth(host, "{\"mib\":100}", unseen);
    }
    if (done) {
        double middle = series_at(seen, 0.5);
        bench_verdict(bench, VERDICT_AT_LEAST, middle >= 97.0 && middle <= 103.0,
                      "100 MiB are seen as %.1f MiB, wanted ± 3 %%", middle);
        bench_verdict(bench, VERDICT_CONTROL, series_at(unseen, 0.5) < 50.0,
                      "what is not written is not resident: %.1f MiB", series_at(unseen, 0.5));
        done = idle_helpers(bench, host);
    }
    halter_destroy(host);
    return done;
}

/* ---- E8 -------------------------------------------------------------------------------------- */

static void count_answer(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    unsigned *answers = data;
    (void)guest;
    *answers += result->status == HALTER_OK;
}

/* All of them are called at once: how long until the last has answered. */
static bool call_all(struct halter_host *host, struct halter_guest **guests, struct series *to)
{
    unsigned answers = 0;
    uint64_t start = now_ns(), limit = start + 60000000000ull;
    for (unsigned i = 0; i < MANY; i++)
        if (halter_call(guests[i], "{}", 2, NULL, count_answer, &answers, NULL) != HALTER_OK)
            return false;
    while (answers < MANY && now_ns() < limit)
        halter_dispatch(host, 100);
    series_add(to, (double)(now_ns() - start) / 1000.0);
    return answers == MANY;
}

static bool measure_many(struct bench *bench, struct halter_host *host, struct halter_guest **guests)
{
    struct series *making = bench_series(bench, "µs", "one more plugin, %d in all", MANY);
    struct series *share = bench_series(bench, "MiB", "each one's proportional share");
    struct series *private = bench_series(bench, "MiB", "each one's private memory");
    struct series *all = bench_series(bench, "µs", "all of them called and answered");
    for (unsigned i = 0; i < MANY; i++) {
        if (i % 50 == 0)
            bench_progress(bench, "plugin %u of %d", i, MANY);
        uint64_t start = now_ns();
        guests[i] = bench_guest(host, keeps, 20000, NULL);
        if (!guests[i] || !bench_wait_ready(host, guests[i]))
            return false;
        series_add_ns(making, now_ns() - start);
    }
    for (int i = 0; i < 5; i++)
        if (!call_all(host, guests, all))
            return false;
    bench_progress(bench, "looking at their memory");
    for (unsigned i = 0; i < MANY; i += 10) {
        series_add(share, (double)bench_proportional_bytes(halter_guest_pid(guests[i])) / MIB);
        series_add(private, (double)bench_private_bytes(halter_guest_pid(guests[i])) / MIB);
    }
    struct residue residue;
    bench_residue(&residue);
    bench_verdict(bench, VERDICT_CONTROL, residue.children >= MANY,
                  "there are as many processes: %u", residue.children);
    bench_at_most(bench, VERDICT_AT_LEAST, "private memory each, p50", series_at(private, 0.5), 4,
                  "MiB");
    bench_at_most(bench, VERDICT_AIM, "the last hundred / the first hundred to make",
                  series_median_since(making, MANY - 100) / making->values[50], 1.5, "×");
    return true;
}

bool bench_thousand(struct bench *bench)
{
    static struct halter_guest *guests[MANY];
    struct residue before, after;
    bench_residue(&before);
    struct halter_host *host = bench_host(bench, 1, NULL);
    bool done = host && measure_many(bench, host, guests);
    struct series *ending = bench_series(bench, "µs", "the host's end, all of them with it");
    uint64_t start = now_ns();
    halter_destroy(host);
    series_add_ns(ending, now_ns() - start);
    bench_residue(&after);
    bench_verdict(bench, VERDICT_AT_LEAST,
                  after.children == before.children && after.descriptors == before.descriptors,
                  "left behind: %d processes, %d descriptors", (int)(after.children - before.children),
                  (int)(after.descriptors - before.descriptors));
    return done;
}
