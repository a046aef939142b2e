/* Calls: order, bound, cancel, size, waiting, closing; and that each ends in exactly one callback. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

#define ECHO     "transform = (raw) => raw"
#define HANG_ON_GO "transform = (raw) => { if (raw === 'go') for(;;); return raw }"

static struct fixture f;

static int open_real(void **state)
{
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    return 0;
}

static unsigned order_next;
static void in_order(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    (void)guest;
    (void)data;
    assert_int_equal(result->status, HALTER_OK);
    assert_int_equal(strtoul(result->json, NULL, 10), order_next);
    order_next++;
}

static void queued_calls_keep_their_order(void **state)
{
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    order_next = 0;
    for (unsigned i = 0; i < 64; i++) {
        char json[16];
        snprintf(json, sizeof(json), "%u", i);
        assert_int_equal(halter_call(guest, json, 0, NULL, in_order, NULL, NULL), HALTER_OK);
    }
    while (order_next < 64)
        dispatch(&f, 100);
}

static void a_full_queue_refuses(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcomes[3];
    (void)state;
    o.queue_max = 2;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, &o);
    call(guest, "1", &outcomes[0]);
    call(guest, "2", &outcomes[1]);
    assert_int_equal(halter_call(guest, "3", 0, NULL, record, &outcomes[2], NULL), HALTER_EQUEUE);
    settle(&f, &outcomes[1]);
    ask(&f, guest, "3", &outcomes[2]);
    assert_string_equal(outcomes[2].json, "3");
}

static void only_the_call_in_flight_fails(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome bad, good[4];
    (void)state;
    o.deadline_ms = 100;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, &o);
    call(guest, "\"go\"", &bad);
    for (int i = 0; i < 4; i++)
        call(guest, "5", &good[i]);
    settle(&f, &bad);
    assert_int_equal(bad.status, HALTER_EDEADLINE);
    for (int i = 0; i < 4; i++) {
        settle(&f, &good[i]);
        assert_int_equal(good[i].status, HALTER_OK);
    }
}

static void cancel_in_the_queue_and_in_flight(void **state)
{
    struct outcome flying, queued, after;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    uint64_t first = call(guest, "\"go\"", &flying);
    uint64_t second = call(guest, "2", &queued);
    call(guest, "3", &after);
    run_for(&f, 30);
    assert_int_equal(halter_cancel(guest, second), HALTER_OK);
    assert_int_equal(halter_cancel(guest, second), HALTER_EINVAL);
    assert_int_equal(queued.callbacks, 0); /* never from inside the function */
    settle(&f, &queued);
    assert_int_equal(queued.status, HALTER_ECANCELED);
    assert_int_equal(halter_cancel(guest, first), HALTER_OK);
    assert_int_equal(halter_cancel(guest, first), HALTER_EINVAL);
    assert_int_equal(flying.callbacks, 0);
    settle(&f, &flying);
    assert_int_equal(flying.status, HALTER_ECANCELED);
    assert_int_equal(flying.death.reason, HALTER_DEATH_CANCELED);
    settle(&f, &after);
    assert_string_equal(after.json, "3");
    assert_int_equal(halter_cancel(guest, 12345), HALTER_EINVAL);
}

/* A reply races a cancel: whichever wins, there is one callback with one of the two outcomes. */
static void a_reply_that_races_a_cancel(void **state)
{
    unsigned canceled = 0;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    for (int i = 0; i < 60; i++) {
        struct outcome outcome;
        settle_state(&f, guest, HALTER_GUEST_READY);
        uint64_t number = call(guest, "1", &outcome);
        for (volatile int spin = 0; spin < i * 3000; spin++)
            ;
        assert_int_equal(halter_cancel(guest, number), HALTER_OK);
        settle(&f, &outcome);
        assert_int_equal(outcome.status, HALTER_ECANCELED);
        canceled++;
        assert_int_equal(outcome.callbacks, 1);
    }
    assert_int_equal(canceled, 60);
}

static void large_and_too_large(void **state)
{
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", "transform = (raw) => raw.length", NULL);
    size_t bytes = 8u << 20;
    char *json = malloc(bytes + 1);
    struct outcome outcome;
    memset(json, 'x', bytes);
    json[0] = json[bytes - 1] = '"';
    json[bytes] = '\0';
    ask(&f, guest, json, &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(strtoul(outcome.json, NULL, 10), bytes - 2);
    free(json);
    assert_int_equal(halter_call(guest, "1", 65u << 20, NULL, record, &outcome, NULL),
                     HALTER_ETOOBIG);
}

static void a_result_above_the_cap(void **state)
{
    struct outcome outcome;
    struct fixture small;
    struct halter_options o = HALTER_OPTIONS_INIT;
    (void)state;
    o.frame_cap_bytes = 1u << 20;
    fixture_open(&small, REAL_LAUNCHER, &o);
    struct halter_guest *guest =
        guest_of(&small, "big", "transform = (n) => 'x'.repeat(n)", NULL);
    ask(&small, guest, "2000000", &outcome);
    assert_int_equal(outcome.status, HALTER_ETOOBIG);
    ask(&small, guest, "1000000", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(outcome.json_bytes, 1000002);
    fixture_close(&small);
}

static void input_that_is_not_json(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    ask(&f, guest, "{\"a\": }", &outcome);
    assert_int_equal(outcome.status, HALTER_EJSON);
    ask(&f, guest, "7", &outcome);
    assert_string_equal(outcome.json, "7");
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

static void the_synchronous_form(void **state)
{
    struct halter_result result;
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    (void)state;
    o.deadline_ms = 100;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, &o);
    assert_int_equal(halter_call_wait(guest, "[1,2]", 0, NULL, &result), HALTER_OK);
    assert_string_equal(result.json, "[1,2]");
    assert_int_equal(halter_call_wait(guest, "\"go\"", 0, NULL, &result), HALTER_EDEADLINE);
    assert_int_equal(result.death->reason, HALTER_DEATH_DEADLINE);
    assert_int_equal(halter_call_wait(guest, "nonsense", 0, NULL, &result), HALTER_EJSON);
    assert_non_null(result.error);
    assert_true(strlen(result.error->message) > 0);
}

static void not_from_a_callback(struct halter_guest *guest, const struct halter_result *result,
                                void *data)
{
    struct halter_result inner;
    (void)result;
    assert_int_equal(halter_call_wait(guest, "1", 0, NULL, &inner), HALTER_EBUSY);
    assert_int_equal(halter_dispatch(halter_guest_host(guest), 0), HALTER_EBUSY);
    *(bool *)data = true;
}

static void what_a_callback_may_not(void **state)
{
    bool done = false;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    assert_int_equal(halter_call(guest, "1", 0, NULL, not_from_a_callback, &done, NULL),
                     HALTER_OK);
    while (!done)
        dispatch(&f, 100);
}

static void destroy_self(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    (void)result;
    ++*(unsigned *)data;
    halter_guest_destroy(guest);
}

static void a_guest_destroyed_by_its_own_callback(void **state)
{
    unsigned callbacks = 0;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    for (int i = 0; i < 10; i++)
        assert_int_equal(halter_call(guest, "1", 0, NULL, destroy_self, &callbacks, NULL),
                         HALTER_OK);
    while (callbacks < 10)
        dispatch(&f, 100);
    run_for(&f, 30);
    assert_int_equal(callbacks, 10);
}

static void destroying_ends_each_call_once(void **state)
{
    struct outcome outcomes[5];
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    for (int i = 0; i < 5; i++)
        call(guest, "\"go\"", &outcomes[i]);
    run_for(&f, 20);
    halter_guest_destroy(guest);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(outcomes[i].callbacks, 1);
        assert_int_equal(outcomes[i].status, HALTER_ECLOSED);
    }
    halter_guest_destroy(NULL);
}

static void kill_by_hand(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "\"go\"", &outcome);
    run_for(&f, 20);
    assert_int_equal(halter_guest_kill(guest), HALTER_OK);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EKILLED);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
}

static void bad_arguments(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct halter_guest *guest = NULL;
    struct halter_host *host = NULL;
    (void)state;
    assert_int_equal(halter_plugin_create(f.host, &o, &guest), HALTER_EINVAL); /* no source */
    o.source = ECHO;
    o.size = sizeof(o) + 8;
    assert_int_equal(halter_plugin_create(f.host, &o, &guest), HALTER_EINVAL);
    assert_null(guest);
    struct halter_options wrong = HALTER_OPTIONS_INIT;
    wrong.launcher_path = "/nonexistent";
    assert_int_equal(halter_create(&wrong, &host), HALTER_ESYSTEM);
    assert_null(host);
    assert_int_equal(halter_call(NULL, "1", 0, NULL, record, NULL, NULL), HALTER_EINVAL);
    assert_int_equal(halter_dispatch(NULL, 0), HALTER_EINVAL);
    halter_destroy(NULL);
    halter_wakeup(NULL);
}

/* What the clock does not count: an application that looks late. */
static void a_late_look_loses_no_answer(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.deadline_ms = 100;
    o.wall_cap_ms = 200;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, &o);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "\"in time\"", &outcome);
    struct timespec half = {0, 500000000};
    nanosleep(&half, NULL); /* past the deadline and the wall cap, without a dispatch */
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

static void accounts(void **state)
{
    struct halter_stats stats = HALTER_STATS_INIT;
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "echo", ECHO, NULL);
    for (int i = 0; i < 10; i++)
        ask(&f, guest, "[1]", &outcome);
    ask(&f, guest, "{", &outcome);
    assert_int_equal(halter_guest_stats(guest, &stats), HALTER_OK);
    assert_int_equal(stats.calls, 11);
    assert_int_equal(stats.succeeded, 10);
    assert_int_equal(stats.failed, 1);
    assert_int_equal(stats.bytes_in, 31);
    assert_int_equal(stats.bytes_out, 30);
    assert_true(stats.resident_bytes > 1u << 20);
    assert_true(stats.cpu_ns > 0);
    uint64_t total = 0;
    for (int i = 0; i < HALTER_HISTOGRAM_BUCKETS; i++)
        total += stats.latency[i];
    assert_int_equal(total, 10);
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOST(queued_calls_keep_their_order),
        WITH_HOST(a_full_queue_refuses),
        WITH_HOST(only_the_call_in_flight_fails),
        WITH_HOST(cancel_in_the_queue_and_in_flight),
        WITH_HOST(a_reply_that_races_a_cancel),
        WITH_HOST(large_and_too_large),
        cmocka_unit_test(a_result_above_the_cap),
        WITH_HOST(input_that_is_not_json),
        WITH_HOST(the_synchronous_form),
        WITH_HOST(what_a_callback_may_not),
        WITH_HOST(a_guest_destroyed_by_its_own_callback),
        WITH_HOST(destroying_ends_each_call_once),
        WITH_HOST(kill_by_hand),
        WITH_HOST(bad_arguments),
        WITH_HOST(a_late_look_loses_no_answer),
        WITH_HOST(accounts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
