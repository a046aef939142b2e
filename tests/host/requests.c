/* Reverse calls: granted, not granted, answered now, later and never; and what the clock counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reverse calls", tests, NULL, NULL);
}
