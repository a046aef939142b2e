/*
 * E5: what confinement costs a call, and what the JIT is worth; both at the helper's socket, with
 * fresh processes in each round, since a process may have a lucky layout for life.
 */
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"
#include "wire/control.h"

#define ROUNDS   8
#define WARM_UP  200
#define ALL_LAYERS (HALTER_LAYER_BIT(HALTER_LAYER_COUNT) - 1)

/* A loop of whole numbers, long enough that the call around it does not count. */
static const char loop[] = "globalThis.transform = (n) => {"
                           " let a = 0; for (let i = 0; i < n; i++) a = (a + i * 3 ^ i >>> 2) | 0;"
                           " return a; };";
#define LOOP_COUNT "1000000"

static bool sample_calls(struct bench_helper *helper, const char *json, size_t bytes,
                         unsigned warm_up, unsigned count, struct series *to)
{
    for (unsigned i = 0; i < warm_up + count; i++) {
        uint64_t ns = bench_helper_call(helper, json, bytes);
        if (!ns)
            return false;
        if (i >= warm_up)
            series_add_ns(to, ns);
    }
    return true;
}

/* A pair of new helpers, a quarter of the calls in turn, the order changing from round to round. */
static bool confinement_round(struct bench *bench, unsigned round, unsigned calls)
{
    struct series *series[] = {bench_series(bench, "µs", "snapshot, all layers"),
                               bench_series(bench, "µs", "snapshot, no layer")};
    struct series *ratio = bench_series(bench, "×", "all layers / none, round by round");
    struct bench_helper helpers[2];
    unsigned first[] = {series[0]->count, series[1]->count};
    if (!bench_helper_start(bench, &helpers[0], 0, 0, bench_plugin))
        return false;
    bool done = bench_helper_start(bench, &helpers[1], 0, ALL_LAYERS, bench_plugin);
    if (done && round == 0)
        bench_verdict(bench, VERDICT_CONTROL,
                      (helpers[0].layers & HALTER_LAYER_FLOOR) == HALTER_LAYER_FLOOR &&
                          !(helpers[1].layers & HALTER_LAYER_FLOOR),
                      "one is confined (layers 0x%x), the other is not (0x%x)", helpers[0].layers,
                      helpers[1].layers);
    for (unsigned turn = 0; done && turn < 8; turn++) {
        unsigned who = (turn + round) % 2;
        done = sample_calls(&helpers[who], bench->payload, bench->payload_bytes,
                            turn < 2 ? WARM_UP : 0, calls / 4, series[who]);
    }
    if (done)
        series_add(ratio, series_median_since(series[0], first[0]) /
                              series_median_since(series[1], first[1]));
    bench_helper_end(&helpers[0]);
    if (done || helpers[1].pid)
        bench_helper_end(&helpers[1]);
    return done;
}

static bool jit_round(struct bench *bench, unsigned round)
{
    struct series *fast = bench_series(bench, "µs", "a million iterations, JIT");
    struct series *slow = bench_series(bench, "µs", "a million iterations, jit: off");
    struct series *ratio = bench_series(bench, "×", "jit: off / JIT, round by round");
    struct bench_helper with, without;
    unsigned from_fast = fast->count, from_slow = slow->count;
    uint64_t mapped, none;
    if (!bench_helper_start(bench, &with, 0, 0, loop))
        return false;
    bool done = bench_helper_start(bench, &without, CONTROL_NO_JIT, 0, loop);
    if (done) {
        done = sample_calls(&with, LOOP_COUNT, strlen(LOOP_COUNT), 20, 40, fast) &&
               sample_calls(&without, LOOP_COUNT, strlen(LOOP_COUNT), 2, 8, slow);
        bool has = bench_maps_code(with.pid, &mapped), has_not = !bench_maps_code(without.pid, &none);
        if (round == 0)
            bench_verdict(bench, VERDICT_CONTROL, has && has_not,
                          "from the memory map: %.0f MiB of writable code with the JIT, %.0f without",
                          (double)mapped / 1048576.0, (double)none / 1048576.0);
        bench_helper_end(&without);
    }
    if (done)
        series_add(ratio,
                   series_median_since(slow, from_slow) / series_median_since(fast, from_fast));
    bench_helper_end(&with);
    return done;
}

bool bench_confine(struct bench *bench)
{
    unsigned calls = bench_count(bench, 2400, 1000) / ROUNDS;
    bool done = true;
    for (unsigned i = 0; done && i < ROUNDS; i++) {
        bench_progress(bench, "round %u of %d", i + 1, ROUNDS);
        done = confinement_round(bench, i, calls) && jit_round(bench, i);
    }
    if (!done)
        return false;
    bench_at_most(bench, VERDICT_AT_LEAST, "confinement, median of rounds",
                  series_at(bench_series(bench, "×", "all layers / none, round by round"), 0.5),
                  1.02, "×");
    bench_at_least(bench, VERDICT_AT_LEAST, "the JIT is faster by",
                   series_at(bench_series(bench, "×", "jit: off / JIT, round by round"), 0.5), 15,
                   "×");
    return true;
}
