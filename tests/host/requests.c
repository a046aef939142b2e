/* Reverse calls: granted, not granted, answered now, later and never; and what the clock counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static struct fixture f;
static struct halter_request *kept;
static char seen[256];

static void answer_now(struct halter_guest *guest, struct halter_request *request, const char *args,
                       size_t args_bytes, void *data)
{
    (void)guest;
    (void)data;
    assert_int_equal(strlen(args), args_bytes);
    snprintf(seen, sizeof(seen), "%s", args);
    assert_int_equal(halter_answer(request, "{not json", 0), HALTER_EJSON);
    assert_int_equal(halter_answer(request, "{\"n\":42}", 0), HALTER_OK);
}

static void keep_it(struct halter_guest *guest, struct halter_request *request, const char *args,
                    size_t args_bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    (void)data;
    kept = request;
}

static void refuse_it(struct halter_guest *guest, struct halter_request *request, const char *args,
                      size_t args_bytes, void *denied)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    assert_int_equal(halter_refuse(request, denied != NULL, "not today"), HALTER_OK);
}

static int open_real(void **state)
{
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    kept = NULL;
    assert_int_equal(halter_provide(f.host, "ai.respond", answer_now, NULL), HALTER_OK);
    assert_int_equal(halter_provide(f.host, "slow", keep_it, NULL), HALTER_OK);
    assert_int_equal(halter_provide(f.host, "deny", refuse_it, &f), HALTER_OK);
    assert_int_equal(halter_provide(f.host, "fail", refuse_it, NULL), HALTER_OK);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    return 0;
}

static struct halter_guest *with_grants(const char *source, const char *const *grants,
                                        uint32_t deadline_ms, uint32_t wall_cap_ms)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    o.grants = grants;
    o.deadline_ms = deadline_ms;
    o.wall_cap_ms = wall_cap_ms;
    return guest_of(&f, "p", source, &o);
}

static void answered_at_once(void **state)
{
    static const char *const grants[] = {"ai.respond", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants(
        "transform = async (raw) => [host.ai.respond.sync('a', 1), await host.ai.respond(raw)]",
        grants, 0, 0);
    ask(&f, guest, "{\"x\":2}", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_string_equal(outcome.json, "[{\"n\":42},{\"n\":42}]");
    assert_string_equal(seen, "[{\"x\":2}]");
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_int_equal(stats.requests, 2);
    assert_int_equal(stats.denials, 0);
}

static void what_is_not_granted_does_not_exist(void **state)
{
    static const char *const grants[] = {"fail", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants(
        "transform = () => [typeof host.ai, typeof host.slow, typeof host.fail, typeof fetch,"
        " typeof require, typeof process, Object.keys(host).includes('ai')]",
        grants, 0, 0);
    ask(&f, guest, "0", &outcome);
    assert_string_equal(outcome.json,
                        "[\"undefined\",\"undefined\",\"function\",\"undefined\",\"undefined\","
                        "\"undefined\",false]");
}

static void denied_and_failed_are_errors_of_their_own(void **state)
{
    static const char *const grants[] = {"deny", "fail", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants(
        "const t = async (f) => { try { await f(); return 'none' } catch (e) {"
        " return e.name + ': ' + e.message } };"
        "transform = async () => [await t(() => host.deny()), await t(() => host.fail()),"
        " await t(async () => host.deny.sync())]",
        grants, 0, 0);
    ask(&f, guest, "0", &outcome);
    assert_string_equal(outcome.json, "[\"DeniedError: not today\",\"HostError: not today\","
                                      "\"DeniedError: not today\"]");
    run_for(&f, 20);
    assert_int_equal(f.events.count[HALTER_EVENT_DENIED], 2);
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_int_equal(stats.denials, 2);
}

/* The host may take three times the deadline: its work is not the plugin's. */
static void the_clock_stands_still_while_the_host_works(const char *source)
{
    static const char *const grants[] = {"slow", NULL};
    struct outcome outcome;
    struct halter_guest *guest = with_grants(source, grants, 150, 5000);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "0", &outcome);
    while (!kept)
        dispatch(&f, 100);
    run_for(&f, 450);
    assert_int_equal(outcome.callbacks, 0);
    assert_int_equal(halter_answer(kept, "\"late\"", 0), HALTER_OK);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_string_equal(outcome.json, "\"late\"");
    assert_true(outcome.host_ns >= 400000000ull);
    assert_true(outcome.ran_ns >= outcome.host_ns);
}

static void for_a_script_that_blocks(void **state)
{
    (void)state;
    the_clock_stands_still_while_the_host_works("transform = () => host.slow.sync()");
}

static void for_a_script_that_awaits(void **state)
{
    (void)state;
    the_clock_stands_still_while_the_host_works("transform = () => host.slow()");
}

static void it_runs_on_after_the_answer(void **state)
{
    static const char *const grants[] = {"slow", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        with_grants("transform = () => { host.slow.sync(); for(;;); }", grants, 100, 60000);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "0", &outcome);
    while (!kept)
        dispatch(&f, 100);
    run_for(&f, 200);
    assert_int_equal(halter_answer(kept, "1", 0), HALTER_OK);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EDEADLINE);
}

/* A plugin that asks, does not wait, and loops: the clock stands still, the wall cap does not. */
static void the_wall_cap_covers_the_host_too(void **state)
{
    static const char *const grants[] = {"slow", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        with_grants("transform = () => { host.slow(); for(;;); }", grants, 100, 400);
    settle_state(&f, guest, HALTER_GUEST_READY);
    uint64_t start = now_ns();
    call(guest, "0", &outcome);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EWALLCAP);
    assert_true(outcome.finished_ns - start >= 400000000ull);
    /* The request has outlived its process: it answers nothing, and is given back. */
    assert_non_null(kept);
    assert_int_equal(halter_answer(kept, "1", 0), HALTER_OK);
}

static void a_request_outlives_its_guest(void **state)
{
    static const char *const grants[] = {"slow", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants("transform = () => host.slow()", grants, 0, 0);
    call(guest, "0", &outcome);
    while (!kept)
        dispatch(&f, 100);
    halter_guest_destroy(guest);
    assert_int_equal(outcome.status, HALTER_ECLOSED);
    assert_null(halter_request_guest(kept));
    assert_int_equal(halter_refuse(kept, true, "too late"), HALTER_OK);
}

/* While a plugin waits in a host call the host may not call it: a second call queues. */
static void a_call_during_a_request_queues(void **state)
{
    static const char *const grants[] = {"slow", NULL};
    struct outcome first, second;
    (void)state;
    struct halter_guest *guest =
        with_grants("transform = (raw) => raw ? host.slow.sync() : raw", grants, 0, 0);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "1", &first);
    while (!kept)
        dispatch(&f, 100);
    call(guest, "0", &second);
    run_for(&f, 50);
    assert_int_equal(second.callbacks, 0);
    halter_answer(kept, "\"a\"", 0);
    settle(&f, &second);
    assert_int_equal(first.callbacks, 1);
    assert_string_equal(first.json, "\"a\"");
    assert_string_equal(second.json, "0");
}

static void names(void **state)
{
    (void)state;
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b", "1a", "a b", "a\nb", "a-b"};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(halter_provide(f.host, bad[i], answer_now, NULL), HALTER_EINVAL);
    assert_int_equal(halter_provide(f.host, "slow", answer_now, NULL), HALTER_EINVAL); /* taken */
    assert_int_equal(halter_provide(f.host, "a.b_1.$c", answer_now, NULL), HALTER_OK);
}

/* More at one time than the host takes is an error in the script, and no reason to kill it. */
static void many_at_one_time(void **state)
{
    static const char *const grants[] = {"ai.respond", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants(
        "transform = async (n) => { const all = []; for (let i = 0; i < n; i++) all.push("
        "host.ai.respond(i).then(() => 'answered', (e) => e.name)); let was = {};"
        "for (const r of await Promise.all(all)) was[r] = (was[r] ?? 0) + 1;"
        "return [was, host.ai.respond.sync()] }",
        grants, 0, 0);
    for (int i = 0; i < 3; i++) { /* nothing is left of it */
        ask(&f, guest, "1000", &outcome);
        assert_int_equal(outcome.status, HALTER_OK);
        assert_string_equal(outcome.json, "[{\"answered\":255,\"QuotaError\":745},{\"n\":42}]");
    }
    ask(&f, guest, "255", &outcome);
    assert_string_equal(outcome.json, "[{\"answered\":255},{\"n\":42}]");
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

static void asked_for_ever(void **state)
{
    static const char *const grants[] = {"ai.respond", NULL};
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = with_grants(
        "transform = () => { for (;;) host.ai.respond().catch(() => 0) }", grants, 300, 0);
    ask(&f, guest, "0", &outcome);
    assert_int_equal(outcome.status, HALTER_EDEADLINE);
}

/* One dispatch answers some of them and comes back: the others wait their turn, in order. */
static unsigned in_this_dispatch, most_in_one;

static void count_it(struct halter_guest *guest, struct halter_request *request, const char *args,
                     size_t args_bytes, void *data)
{
    (void)guest;
    (void)args_bytes;
    (void)data;
    in_this_dispatch++;
    assert_int_equal(halter_answer(request, args, 0), HALTER_OK);
}

static void a_dispatch_answers_some_and_comes_back(void **state)
{
    static const char *const grants[] = {"count", NULL};
    struct outcome outcome;
    (void)state;
    assert_int_equal(halter_provide(f.host, "count", count_it, NULL), HALTER_OK);
    struct halter_guest *guest =
        with_grants("transform = async (n) => { const all = []; for (let i = 0; i < n; i++)"
                    " all.push(host.count(i)); return (await Promise.all(all)).every((x, i) =>"
                    " x[0] === i) }",
                    grants, 20000, 0);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "250", &outcome);
    unsigned dispatches = 0, all = 0;
    for (; !outcome.callbacks; dispatches++) {
        in_this_dispatch = 0;
        dispatch(&f, 100);
        all += in_this_dispatch;
        most_in_one = in_this_dispatch > most_in_one ? in_this_dispatch : most_in_one;
        assert_true(dispatches < 100000);
    }
    assert_string_equal(outcome.json, "true");
    assert_int_equal(all, 250);
    assert_in_range(most_in_one, 1, 64); /* what was left over, and one more look */
}

/* ---- helpers that are nobody's: what they do not read must not fill the host's memory ------------ */

static int open_fake(void **state)
{
    (void)state;
    fixture_open(&f, FAKE_LAUNCHER, NULL);
    return 0;
}

static char large[1 << 20]; /* JSON text of about a MiB */

static void answer_at_length(struct halter_guest *guest, struct halter_request *request,
                             const char *args, size_t args_bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    (void)data;
    assert_int_equal(halter_answer(request, large, 0), HALTER_OK);
}

static size_t resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void flooded(const char *script, size_t most)
{
    static const char *const grants[] = {"large", NULL};
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome, other;
    memset(large, 'x', sizeof(large) - 1);
    large[0] = large[sizeof(large) - 2] = '"';
    assert_int_equal(halter_provide(f.host, "large", answer_at_length, NULL), HALTER_OK);
    o.grants = grants;
    o.deadline_ms = 60000;
    o.wall_cap_ms = 120000;
    struct halter_guest *guest = guest_of(&f, "p", script, &o);
    struct halter_guest *bystander = guest_of(&f, "q", "call echo\n", NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    size_t before = resident_bytes(), peak = 0;
    call(guest, "1", &outcome);
    while (!outcome.callbacks) {
        assert_true(halter_dispatch(f.host, 100) >= 0); /* the application's answers take their time */
        size_t now = resident_bytes();
        peak = now > peak ? now : peak;
    }
    ask(&f, bystander, "2", &other);
    assert_int_equal(other.status, HALTER_OK);
    if (outcome.status != HALTER_EPROTOCOL)
        fail_msg("%s", halter_status_name(outcome.status));
    assert_string_equal(outcome.detail, "it asks on and on and reads no answer");
    if (!slowed_down() && peak > before)
        assert_in_range(peak - before, 0, most);
}

static void a_helper_that_reads_no_refusal(void **state)
{
    (void)state;
    flooded("tick 1 request-flood 5000000 nothing []\ncall echo\n", 8 << 20);
}

/* As much as the largest frame may wait (64 MiB; a buffer grows by doubling), and no more. */
static void a_helper_that_reads_no_answer(void **state)
{
    (void)state;
    flooded("tick 1 request-flood 5000000 large []\ncall echo\n", 200 << 20);
}

#define WITH_FAKE(test) cmocka_unit_test_setup_teardown(test, open_fake, close_all)
#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOST(answered_at_once),
        WITH_HOST(what_is_not_granted_does_not_exist),
        WITH_HOST(denied_and_failed_are_errors_of_their_own),
        WITH_HOST(for_a_script_that_blocks),
        WITH_HOST(for_a_script_that_awaits),
        WITH_HOST(it_runs_on_after_the_answer),
        WITH_HOST(the_wall_cap_covers_the_host_too),
        WITH_HOST(a_request_outlives_its_guest),
        WITH_HOST(a_call_during_a_request_queues),
        WITH_HOST(names),
        WITH_HOST(many_at_one_time),
        WITH_HOST(asked_for_ever),
        WITH_HOST(a_dispatch_answers_some_and_comes_back),
        WITH_FAKE(a_helper_that_reads_no_refusal),
        WITH_FAKE(a_helper_that_reads_no_answer),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reverse calls", tests, NULL, NULL);
}
