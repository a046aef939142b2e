/*
 * E2: a round trip with the snapshot of fifty tabs, through libhalter and in one process without a
 * socket (halter-bench-engine: the same engine code). E3: what one reverse call adds, beside two
 * bare hops over a socket.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/say.h"

#define ROUNDS  20
#define WARM_UP 300

static struct side *start_engine(struct bench *bench)
{
    const char *argv[] = {bench->engine, "trip", bench->plugin_path, bench->payload_path, NULL};
    return bench_side_start(bench, "one process", argv);
}

/* One round: so many calls through the host, then as many in one process. */
static bool trip_round(struct bench *bench, struct halter_host *host, struct halter_guest *guest,
                       struct side *engine, unsigned calls)
{
    struct series *through = bench_series(bench, "µs", "through halter");
    struct series *inside = bench_series(bench, "µs", "in one process, no socket");
    struct series *ratio = bench_series(bench, "×", "halter / one process, round by round");
    unsigned first = through->count, first_inside = inside->count;
    for (unsigned i = 0; i < calls; i++) {
        uint64_t start = now_ns();
        if (bench_call(host, guest, bench->payload, bench->payload_bytes, NULL) != HALTER_OK)
            return false;
        series_add_ns(through, now_ns() - start);
    }
    if (!bench_side_samples(engine, "E2", calls, inside))
        return false;
    series_add(ratio, series_median_since(through, first) / series_median_since(inside, first_inside));
    return true;
}

/* Did both compute, and the same? */
static bool same_result(struct bench *bench, struct halter_host *host, struct halter_guest *guest,
                        struct side *engine)
{
    char answer[64];
    uint64_t hash = 0;
    if (bench_call(host, guest, bench->payload, bench->payload_bytes, &hash) != HALTER_OK ||
        !bench_side_ask(engine, "hash", answer, sizeof answer))
        return false;
    bench_verdict(bench, VERDICT_CONTROL, strtoull(answer, NULL, 16) == hash,
                  "both sides give the same bytes");
    return true;
}

static void judge_trip(struct bench *bench)
{
    struct series *through = bench_series(bench, "µs", "through halter");
    struct series *ratio = bench_series(bench, "×", "halter / one process, round by round");
    bench_at_most(bench, VERDICT_AT_LEAST, "halter / one process, median of rounds",
                  series_at(ratio, 0.5), 1.15, "×");
    bench_at_most(bench, VERDICT_AIM, "halter / one process, median of rounds",
                  series_at(ratio, 0.5), 1.08, "×");
    bench_at_most(bench, VERDICT_AT_LEAST, "through halter, p95 (macOS: 270)",
                  series_at(through, 0.95), 270, "µs");
}

bool bench_trip(struct bench *bench)
{
    struct halter_host *host = bench_host(bench, 1, NULL);
    struct halter_guest *guest = host ? bench_guest(host, bench_plugin, 60000, NULL) : NULL;
    struct side *engine = start_engine(bench);
    bool done = guest && engine && bench_wait_ready(host, guest);
    unsigned calls = bench_count(bench, 2000, 1000) / ROUNDS;
    bench_progress(bench, "warming up: %d calls a side", WARM_UP);
    for (int i = 0; done && i < WARM_UP; i++)
        done = bench_call(host, guest, bench->payload, bench->payload_bytes, NULL) == HALTER_OK;
    done = done && same_result(bench, host, guest, engine);
    for (int i = 0; done && i < ROUNDS; i++) {
        bench_progress(bench, "round %d of %d", i + 1, ROUNDS);
        done = trip_round(bench, host, guest, engine, calls);
        bench_peers_sample(bench, "E2", calls, "round trip");
    }
    if (done)
        judge_trip(bench);
    if (engine)
        bench_side_end(engine);
    halter_destroy(host);
    return done;
}

/* ---- E3 -------------------------------------------------------------------------------------- */

static void answer_ping(struct halter_guest *guest, struct halter_request *request,
                        const char *args, size_t args_bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    ++*(unsigned *)data;
    halter_answer(request, "1", 1);
}

/* Sends back what it gets, 64 bytes at a time, until the socket closes. */
static pid_t start_echo(int *to)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        char bytes[64];
        ssize_t n;
        close(pair[0]);
        while ((n = read(pair[1], bytes, sizeof bytes)) > 0)
            if (write(pair[1], bytes, (size_t)n) != n)
                break;
        _exit(0);
    }
    close(pair[1]);
    *to = pair[0];
    return pid;
}

/* There and back once: two hops. */
static bool hop(int socket, struct series *to)
{
    char bytes[64] = "ping";
    uint64_t start = now_ns();
    if (write(socket, bytes, sizeof bytes) != sizeof bytes ||
        recv(socket, bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
        return false;
    series_add_ns(to, now_ns() - start);
    return true;
}

struct reverse {
    struct halter_host *host;
    struct halter_guest *guest;
    int echo;
};

/* Alternates call by call: without a reverse call, with one, bare. */
static bool reverse_round(struct bench *bench, const struct reverse *reverse, unsigned calls)
{
    struct series *bare = bench_series(bench, "µs", "call, minimal payload");
    struct series *with = bench_series(bench, "µs", "the same with a reverse call inside");
    struct series *hops = bench_series(bench, "µs", "two bare socket hops");
    struct series *added = bench_series(bench, "µs", "added by the reverse call, round by round");
    struct series *ratio = bench_series(bench, "×", "added / two bare hops, round by round");
    unsigned from_bare = bare->count, from_with = with->count, from_hops = hops->count;
    for (unsigned i = 0; i < calls; i++) {
        uint64_t start = now_ns();
        if (bench_call(reverse->host, reverse->guest, "0", 1, NULL) != HALTER_OK)
            return false;
        uint64_t middle = now_ns();
        if (bench_call(reverse->host, reverse->guest, "1", 1, NULL) != HALTER_OK)
            return false;
        uint64_t end = now_ns();
        series_add_ns(bare, middle - start);
        series_add_ns(with, end - middle);
        if (!hop(reverse->echo, hops))
            return false;
    }
    double more = series_median_since(with, from_with) - series_median_since(bare, from_bare);
    series_add(added, more);
    series_add(ratio, more / series_median_since(hops, from_hops));
    return true;
}

static void judge_reverse(struct bench *bench, unsigned asked, unsigned wanted)
{
    struct series *added = bench_series(bench, "µs", "added by the reverse call, round by round");
    struct series *ratio = bench_series(bench, "×", "added / two bare hops, round by round");
    bench_verdict(bench, VERDICT_CONTROL, asked == wanted,
                  "the host was asked once a call: %u times in %u calls", asked, wanted);
    bench_at_most(bench, VERDICT_AT_LEAST, "a reverse call adds", series_at(added, 0.5), 15, "µs");
    bench_at_most(bench, VERDICT_AIM, "added / two bare hops", series_at(ratio, 0.5), 1.3, "×");
}

bool bench_reverse(struct bench *bench)
{
    static const char *const grants[] = {"bench.ping", NULL};
    static const char source[] =
        "globalThis.transform = (raw) => raw ? host.bench.ping.sync() : 0;";
    struct reverse reverse = {.host = bench_host(bench, 0, NULL), .echo = -1};
    unsigned asked = 0, calls = bench_count(bench, 2000, 1000) / ROUNDS, wanted = 0;
    pid_t echo = start_echo(&reverse.echo);
    if (reverse.host && halter_provide(reverse.host, "bench.ping", answer_ping, &asked) == HALTER_OK)
        reverse.guest = bench_guest(reverse.host, source, 60000, grants);
    bool done = reverse.guest && echo > 0 && bench_wait_ready(reverse.host, reverse.guest);
    for (int i = 0; done && i < WARM_UP; i++)
        done = bench_call(reverse.host, reverse.guest, i % 2 ? "1" : "0", 1, NULL) == HALTER_OK;
    asked = 0;
    for (int i = 0; done && i < ROUNDS; i++, wanted += calls) {
        bench_progress(bench, "round %d of %d", i + 1, ROUNDS);
        done = reverse_round(bench, &reverse, calls);
    }
    if (done)
        judge_reverse(bench, asked, wanted);
    halter_destroy(reverse.host);
    if (reverse.echo >= 0)
        close(reverse.echo);
    if (echo > 0)
        waitpid(echo, NULL, 0);
    return done;
}
