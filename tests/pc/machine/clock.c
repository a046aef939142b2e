/* clock.c: guest time is exact to the instruction, however a run is cut into slices; events come
 * in the order of their moments, and of their arming within one moment. */
#include "rig.h"

#include <string.h>

struct probe {
    struct rig *rig;
    struct clock_event event;
    char name;
    char *log;
    uint64_t fired_ns, fired_insns;
    unsigned count;
    uint64_t period;
};

static void fire(void *device)
{
    struct probe *probe = device;

    probe->fired_ns = clock_now(&probe->rig->clock);
    probe->fired_insns = probe->rig->insns;
    probe->count++;
    if (probe->log)
        strncat(probe->log, &probe->name, 1);
    if (probe->period)
        clock_at(&probe->rig->clock, &probe->event, probe->event.when + probe->period);
}

static void add(struct rig *rig, struct probe *probe, char name, char *log)
{
    *probe = (struct probe){.rig = rig, .name = name, .log = log};
    clock_add(&rig->clock, &probe->event, "probe", fire, probe);
}

static void time_is_instructions_times_rate(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    clock_set_rate(&rig.clock, 5 << 16 | 0x8000); /* 5.5 ns */
    rig.insns = 3;
    assert_int_equal(clock_now(&rig.clock), 16);
    clock_set_rate(&rig.clock, 1 << 16); /* keeps the half nanosecond */
    rig.insns = 4;
    assert_int_equal(clock_now(&rig.clock), 17);
    clock_set_rate(&rig.clock, 1 << 15);
    rig.insns = 5;
    assert_int_equal(clock_now(&rig.clock), 18);
}

/* The same 100003 instructions at an odd rate, in one piece and in pieces of every size. */
static void slicing_does_not_change_time(void **state)
{
    (void)state;
    for (unsigned piece = 1; piece < 2000; piece += 37) {
        struct rig rig;

        rig_init(&rig);
        for (uint64_t done = 0; done < 100003;) {
            clock_set_rate(&rig.clock, 0x5a7c3);
            rig.insns += piece < 100003 - done ? piece : 100003 - done;
            done = rig.insns;
            clock_fire_due(&rig.clock);
        }
        assert_int_equal(clock_now(&rig.clock), UINT64_C(100003) * 0x5a7c3 >> 16);
    }
}

static void events_come_in_order_of_moment_then_of_arming(void **state)
{
    (void)state;
    struct rig rig;
    struct probe a, b, c, d;
    char log[16] = "";

    rig_init(&rig);
    add(&rig, &a, 'a', log);
    add(&rig, &b, 'b', log);
    add(&rig, &c, 'c', log);
    add(&rig, &d, 'd', log);
    clock_at(&rig.clock, &d.event, 200);
    clock_at(&rig.clock, &b.event, 100);
    clock_at(&rig.clock, &a.event, 100);
    clock_at(&rig.clock, &c.event, 50);
    clock_at(&rig.clock, &d.event, 100); /* moved: now the last of its moment */
    rig_pass(&rig, 99);
    assert_string_equal(log, "c");
    assert_true(a.event.armed && !c.event.armed);
    rig_pass(&rig, 1);
    assert_string_equal(log, "cbad");
    assert_int_equal(a.fired_ns, 100);
}

static void a_cancelled_event_does_not_come(void **state)
{
    (void)state;
    struct rig rig;
    struct probe a;

    rig_init(&rig);
    add(&rig, &a, 'a', NULL);
    clock_at(&rig.clock, &a.event, 10);
    clock_cancel(&rig.clock, &a.event);
    clock_cancel(&rig.clock, &a.event);
    rig_pass(&rig, 100);
    assert_int_equal(a.count, 0);
    assert_true(clock_next(&rig.clock) == CLOCK_NEVER);
}

/* At 2.75 ns an instruction the event at 1000 ns is due after instruction 364 (1001 ns), not 363
 * (998.25 ns); also when the rate changes on the way. */
static void an_event_comes_after_the_first_instruction_at_its_moment(void **state)
{
    (void)state;
    struct rig rig;
    struct probe a;

    rig_init(&rig);
    add(&rig, &a, 'a', NULL);
    clock_set_rate(&rig.clock, 2 << 16 | 0xc000);
    clock_at(&rig.clock, &a.event, 1000);
    rig_pass(&rig, 5000);
    assert_int_equal(a.fired_insns, 364);
    assert_int_equal(a.fired_ns, 1001);
}

static void a_periodic_event_does_not_drift(void **state)
{
    (void)state;
    struct rig rig;
    struct probe a;

    rig_init(&rig);
    add(&rig, &a, 'a', NULL);
    a.period = 1000;
    clock_set_rate(&rig.clock, 7 << 16 | 1);
    clock_at(&rig.clock, &a.event, 1000);
    rig_pass(&rig, 1000000);
    assert_int_equal(a.count, 1000);
}

static unsigned hurried;

static void count_hurry(void *cpu)
{
    (void)cpu;
    hurried++;
}

static void an_event_armed_inside_the_stretch_hurries(void **state)
{
    (void)state;
    struct rig rig;
    struct probe a;

    rig_init(&rig);
    rig.clock.hurry = count_hurry;
    hurried = 0;
    add(&rig, &a, 'a', NULL);
    clock_at(&rig.clock, &a.event, 500); /* nothing runs yet */
    assert_int_equal(hurried, 0);
    assert_int_equal(clock_stretch(&rig.clock, 10000), 500);
    rig.insns += 100;
    clock_at(&rig.clock, &a.event, 600); /* later than the end of the stretch */
    assert_int_equal(hurried, 0);
    clock_at(&rig.clock, &a.event, 300);
    assert_int_equal(hurried, 1);
    clock_fire_due(&rig.clock);
    assert_int_equal(clock_stretch(&rig.clock, 10000), 200);
}

static void a_stretch_is_bounded_far_from_any_event(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    clock_set_rate(&rig.clock, 1);
    assert_int_equal(clock_stretch(&rig.clock, CLOCK_NEVER), CLOCK_STRETCH);
    clock_set_rate(&rig.clock, UINT32_MAX);
    rig.insns += CLOCK_STRETCH;
    assert_int_equal(clock_now(&rig.clock), (CLOCK_STRETCH * UINT32_MAX) >> 16);
}

static void a_halted_machine_skips_to_a_moment(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    clock_skip_to(&rig.clock, 1000);
    assert_int_equal(clock_now(&rig.clock), 1000);
    clock_skip_to(&rig.clock, 10); /* never back */
    assert_int_equal(clock_now(&rig.clock), 1000);
    rig.insns += 5;
    assert_int_equal(clock_now(&rig.clock), 1005);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_instructions_times_rate),
        cmocka_unit_test(slicing_does_not_change_time),
        cmocka_unit_test(events_come_in_order_of_moment_then_of_arming),
        cmocka_unit_test(a_cancelled_event_does_not_come),
        cmocka_unit_test(an_event_comes_after_the_first_instruction_at_its_moment),
        cmocka_unit_test(a_periodic_event_does_not_drift),
        cmocka_unit_test(an_event_armed_inside_the_stretch_hurries),
        cmocka_unit_test(a_stretch_is_bounded_far_from_any_event),
        cmocka_unit_test(a_halted_machine_skips_to_a_moment),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
