/*
 * What a place that waits learns: it tries at once, gives up by halves when that is in vain, never
 * quite, and comes back when it pays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sched.h>

#include <cmocka.h>

#include "wire/awake.h"

/* How many of so many waits are tried when each try ends like this. */
static unsigned tries(struct wire_awake *awake, unsigned waits, bool paid)
{
    unsigned tried = 0;
    for (unsigned i = 0; i < waits; i++) {
        if (!wire_awake_try(awake))
            continue;
        tried++;
        wire_awake_learn(awake, paid);
    }
    return tried;
}

static void test_always_while_it_pays(void **state)
{
    (void)state;
    struct wire_awake awake = {0};
    assert_int_equal(tries(&awake, 1000, true), 1000);
}

static void test_hardly_ever_when_in_vain(void **state)
{
    (void)state;
    struct wire_awake awake = {0};
    /* After 0, 1, 3, 7, … 255 slept waits: nine tries in the first 511 waits, then one in 256. */
    assert_int_equal(tries(&awake, 511, false), 9);
    assert_int_equal(tries(&awake, 256 * 10, false), 10);
    assert_int_equal(awake.skip, WIRE_AWAKE_MOST);
}

static void test_comes_back(void **state)
{
    (void)state;
    struct wire_awake awake = {0};
    tries(&awake, 10000, false);
    /* 255, 63, 15, 3 and 0 waits are slept between the tries that pay. */
    assert_true(tries(&awake, 1000, true) > 600);
    assert_int_equal(awake.skip, 0);
    assert_int_equal(tries(&awake, 100, true), 100);
}

static void test_one_miss_in_a_burst_costs_one_wait(void **state)
{
    (void)state;
    struct wire_awake awake = {0};
    tries(&awake, 100, true);
    assert_int_equal(tries(&awake, 1, false), 1);
    assert_false(wire_awake_try(&awake));
    assert_true(wire_awake_try(&awake));
}

static void test_never_on_a_single_processor(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(wire_awake_possible(), CPU_COUNT(&all) > 1);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_false(wire_awake_possible());
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_always_while_it_pays),
        cmocka_unit_test(test_hardly_ever_when_in_vain),
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_one_miss_in_a_burst_costs_one_wait),
        cmocka_unit_test(test_never_on_a_single_processor),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("awake", tests, NULL, NULL);
}
