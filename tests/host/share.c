/*
 * The share of a processor: what it is counted over, that it is counted for whatever the guest does
 * with it, and that a guest in debt does not come back at once.
 */
#include <string.h>

#include "support.h"

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

/* 3 % over ten seconds: 300 ms may be used in one go. */
#define BURST_NS 300000000ull

static struct halter_guest *guest_with(uint32_t percent, const char *manifest, const char *source)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    o.cpu_percent = percent;
    o.manifest = manifest;
    o.deadline_ms = o.load_deadline_ms = 60000;
    o.wall_cap_ms = 120000;
    return guest_of(&f, "p", source, &o);
}

static void wait_for_death(void)
{
    uint64_t until = now_ns() + 60000000000ull;
    while (!f.events.count[HALTER_EVENT_DEATH] && now_ns() < until)
        dispatch(&f, 100);
    assert_int_equal(f.events.deaths[HALTER_DEATH_CPU], 1);
}

static void killed_by(struct halter_guest *guest, struct outcome *outcome)
{
    assert_int_equal(outcome->status, HALTER_ECPU);
    wait_for_death();
    assert_non_null(strstr(f.events.last_detail, "more than 3 % of a processor"));
    /* Never before it has had what it may have. */
    assert_true(f.events.last_death.cpu_ns >= BURST_NS);
    assert_int_equal(f.events.count[HALTER_EVENT_RESTARTING], 1);
    assert_int_equal(halter_guest_state(guest), HALTER_GUEST_BACKOFF);
    /* Half of ten seconds, and what was used beyond the credit. */
    assert_true(f.events.last_delay_ms >= 5000);
    /* By hand it starts at once, and with nothing on its account. */
    assert_int_equal(halter_guest_reset(guest), HALTER_OK);
    ask(&f, guest, "0", outcome);
    assert_int_equal(outcome->status, HALTER_OK);
}

static void a_loop_uses_it_up(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_with(3, NULL, "transform = (raw) => { while (raw); return 1 }");
    ask(&f, guest, "1", &outcome);
    killed_by(guest, &outcome);
}

static void many_small_calls_use_it_up(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_with(
        3, NULL,
        "transform = (n) => { let s = 0; for (let i = 0; i < n; i++) s = s * 3 + i | 0; return s }");
    int calls = 0;
    do
        ask(&f, guest, "5000000", &outcome);
    while (outcome.status == HALTER_OK && ++calls < 20000);
    assert_true(calls > 0);
    killed_by(guest, &outcome);
}

static void a_manifest_sets_one(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_with(50,
                   "{\"name\":\"p\",\"version\":\"1\",\"entry\":\"p.js\","
                   "\"limits\":{\"cpu_percent\":3}}",
                   "transform = (raw) => { while (raw); return 1 }");
    ask(&f, guest, "1", &outcome);
    killed_by(guest, &outcome);
}

/* Loading costs too. */
static void a_loop_at_top_level_uses_it_up(void **state)
{
    (void)state;
    struct halter_guest *guest = guest_with(3, NULL, "for (;;);");
    wait_for_death();
    assert_true(f.events.last_death.loading);
    assert_int_equal(halter_guest_state(guest), HALTER_GUEST_BACKOFF);
}

static void who_keeps_to_it_is_left_alone(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_with(100, NULL, "transform = (raw) => raw");
    for (int i = 0; i < 300; i++) {
        ask(&f, guest, "1", &outcome);
        assert_int_equal(outcome.status, HALTER_OK);
    }
    run_for(&f, 200);
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

/* It is not the clock that is counted: a guest that waits uses nothing. */
static void waiting_is_free(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_with(
        5, NULL, "transform = async () => { await new Promise((r) => setTimeout(r, 1500)); return 1 }");
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_loop_uses_it_up),
        TEST(many_small_calls_use_it_up),
        TEST(a_manifest_sets_one),
        TEST(a_loop_at_top_level_uses_it_up),
        TEST(who_keeps_to_it_is_left_alone),
        TEST(waiting_is_free),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("a share of a processor", tests, NULL, NULL);
}
