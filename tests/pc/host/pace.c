/* pace.c: guest time follows a clock that we turn by hand and never passes it; what it cannot
 * catch up with is given up; the deterministic pace is a constant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those four before it */

#include "pc/pace.h"

#define MS UINT64_C(1000000)

/* A machine of `speed` instructions a millisecond that is always busy. */
struct sim {
    struct pace pace;
    uint64_t now, guest, speed, slices, longest, shortest;
};

static void start(struct sim *s, uint64_t speed)
{
    *s = (struct sim){.now = 12345678901, .speed = speed, .shortest = UINT64_MAX};
    pace_init(&s->pace, 0, s->now, 0);
}

static void step(struct sim *s)
{
    struct pc_budget budget = pace_slice(&s->pace, s->now, s->guest);
    uint64_t insns = budget.max_insns, rate = budget.ns_per_insn_q16, took;

    if (!insns) {
        uint64_t nap = pace_nap_ns(&s->pace, s->now, s->guest);
        assert_in_range(nap, 1, MS);
        s->now += nap;
        return;
    }
    assert_true(budget.until_ns > s->guest);
    if (s->guest + (insns * rate >> 16) > budget.until_ns)
        insns = ((budget.until_ns - s->guest) << 16) / rate + 1;
    s->guest += insns * rate >> 16;
    if (s->guest > budget.until_ns)
        s->guest = budget.until_ns;
    assert_true(s->guest <= s->now - s->pace.origin_ns);
    took = insns * MS / s->speed;
    s->now += took;
    s->longest = took > s->longest ? took : s->longest;
    s->slices++;
    pace_measure(&s->pace, insns, took);
}

static void a_busy_guest_keeps_up_with_the_clock(void **state)
{
    (void)state;
    static const uint64_t speeds[] = {2000, 50000, 200000, 1000000};

    for (unsigned i = 0; i < 4; i++) {
        struct sim s;

        start(&s, speeds[i]);
        for (unsigned n = 0; n < 1000; n++)
            step(&s);
        /* A slice behind, at most two; nothing lost but what the first guess may cost. */
        assert_in_range(s.now - s.pace.origin_ns - s.guest, 0, 25 * MS);
        s.longest = 0;
        uint64_t began = s.now, guest = s.guest, slices = s.slices;
        while (s.now < began + 2000 * MS)
            step(&s);
        assert_in_range((s.guest - guest) * 1000 / (s.now - began), 980, 1020);
        assert_in_range(s.longest, 6 * MS, 10 * MS);
        assert_in_range(s.slices - slices, 200, 340);
    }
}

static void a_host_that_was_away_does_not_make_the_guest_race(void **state)
{
    (void)state;
    struct sim s;
    uint64_t began, guest;

    start(&s, 100000);
    for (unsigned n = 0; n < 500; n++)
        step(&s);
    s.now += 10000 * MS;
    began = s.now;
    guest = s.guest;
    while (s.now < began + 100 * MS)
        step(&s);
    assert_in_range(s.pace.lost_ns, 9800 * MS, 10000 * MS);
    assert_in_range(s.guest - guest, 100 * MS, 410 * MS); /* four times as fast at most */
    while (s.now < began + 1000 * MS)
        step(&s);
    assert_in_range(s.now - s.pace.origin_ns - s.guest, 0, 20 * MS); /* and caught up again */
}

/* A host that hardly runs it gives the guest less time, not a processor so slow that a kernel
 * spends all of it in its ticks: at 900 ns an instruction Debian's stops for good. */
static void a_starved_guest_loses_time_and_not_its_speed(void **state)
{
    (void)state;
    struct sim s;

    start(&s, 1000);
    for (unsigned i = 0; i < 100; i++) {
        struct pc_budget budget = pace_slice(&s.pace, s.now, s.guest);

        assert_in_range(budget.ns_per_insn_q16, 1, 600 << 16);
        step(&s);
        s.now += 200 * MS;
    }
    assert_true(s.pace.lost_ns > 100 * 50 * MS);
}

static void a_halted_guest_sleeps_until_its_event(void **state)
{
    (void)state;
    struct pace pace;
    uint64_t nap;

    pace_init(&pace, 0, 1000 * MS, 0);
    nap = pace_nap_ns(&pace, 1010 * MS, 50 * MS); /* the event is 40 ms ahead */
    assert_in_range(nap, 40 * MS, 41 * MS);
    assert_true(pace_nap_ns(&pace, 1010 * MS, UINT64_MAX) == UINT64_MAX);
    assert_int_equal(pace_nap_ns(&pace, 1010 * MS, 5 * MS), 0);
    /* When the nap is over there is a slice to run, and it reaches the event. */
    assert_true(pace_slice(&pace, 1010 * MS + nap, 10 * MS).until_ns >= 50 * MS);
}

static void a_resumed_guest_goes_on_from_its_time(void **state)
{
    (void)state;
    struct pace pace;
    struct pc_budget budget;

    pace_init(&pace, 0, 5 * MS, 1000000 * MS); /* a long life before; a young host */
    assert_int_equal(pace_slice(&pace, 5 * MS, 1000000 * MS).max_insns, 0);
    budget = pace_slice(&pace, 9 * MS, 1000000 * MS);
    assert_true(budget.until_ns == 1000004 * MS);
}

static void deterministic_time_is_a_constant(void **state)
{
    (void)state;
    struct pace pace;

    pace_init(&pace, 5 << 16, 1000, 0);
    for (unsigned i = 0; i < 10; i++) {
        struct pc_budget budget = pace_slice(&pace, 1000 + i * 77777, i);

        assert_int_equal(budget.ns_per_insn_q16, 5 << 16);
        assert_true(budget.until_ns == UINT64_MAX);
        pace_measure(&pace, 100, 1000000 * i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_busy_guest_keeps_up_with_the_clock),
        cmocka_unit_test(a_host_that_was_away_does_not_make_the_guest_race),
        cmocka_unit_test(a_starved_guest_loses_time_and_not_its_speed),
        cmocka_unit_test(a_halted_guest_sleeps_until_its_event),
        cmocka_unit_test(a_resumed_guest_goes_on_from_its_time),
        cmocka_unit_test(deterministic_time_is_a_constant),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
