/*
 * Credit: neither side ever sends more than it was granted or holds more than its window, and a
 * peer that does is found out. Two ends are played against each other with a lossless wire.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/stream.h"

static void test_nothing_before_the_first_grant(void **state)
{
    (void)state;
    struct wire_stream_out out = {0};
    struct wire_stream_in in;
    wire_stream_in_init(&in, 1000);
    assert_int_equal(wire_stream_may_send(&out, 1), 0);
    assert_false(wire_stream_sent(&out, 1));
    assert_false(wire_stream_arrived(&in, 1));
    assert_int_equal(wire_stream_grant(&in), 1000);
    assert_int_equal(wire_stream_grant(&in), 0);
}

static void test_data_within_its_credit(void **state)
{
    (void)state;
    struct wire_stream_out out = {0};
    assert_true(wire_stream_credited(&out, 100000));
    assert_int_equal(wire_stream_may_send(&out, 10), 10);
    assert_int_equal(wire_stream_may_send(&out, 90000), 65536); /* one frame */
    assert_false(wire_stream_sent(&out, 0));
    assert_false(wire_stream_sent(&out, 65537));
    assert_true(wire_stream_sent(&out, 65536));
    assert_int_equal(wire_stream_may_send(&out, 90000), 34464);
    assert_false(wire_stream_sent(&out, 34465));
    assert_true(wire_stream_sent(&out, 34464));
    assert_int_equal(wire_stream_may_send(&out, 1), 0);
}

static void test_hostile_credit(void **state)
{
    (void)state;
    struct wire_stream_out out = {0};
    assert_false(wire_stream_credited(&out, 0));
    assert_false(wire_stream_credited(&out, UINT32_MAX));
    assert_true(wire_stream_credited(&out, WIRE_STREAM_MAX_WINDOW));
    assert_false(wire_stream_credited(&out, 1));
    assert_int_equal(out.credit, WIRE_STREAM_MAX_WINDOW);
}

static void test_hostile_data(void **state)
{
    (void)state;
    struct wire_stream_in in;
    wire_stream_in_init(&in, 10);
    assert_int_equal(wire_stream_grant(&in), 10);
    assert_false(wire_stream_arrived(&in, 0));
    assert_false(wire_stream_arrived(&in, 11));
    assert_true(wire_stream_arrived(&in, 7));
    assert_false(wire_stream_arrived(&in, 4));
    assert_true(wire_stream_arrived(&in, 3));
    assert_false(wire_stream_arrived(&in, 1));
}

static void test_grants_wait_for_half_a_window(void **state)
{
    (void)state;
    struct wire_stream_in in;
    wire_stream_in_init(&in, 10);
    wire_stream_grant(&in);
    assert_true(wire_stream_arrived(&in, 10));
    wire_stream_consumed(&in, 4);
    assert_int_equal(wire_stream_grant(&in), 0);
    wire_stream_consumed(&in, 1);
    assert_int_equal(wire_stream_grant(&in), 5);
    wire_stream_consumed(&in, 99); /* no more than was held */
    assert_int_equal(in.held, 0);
    assert_int_equal(wire_stream_grant(&in), 5);
}

static void test_end(void **state)
{
    (void)state;
    struct wire_stream_in in;
    struct wire_stream_out out = {.credit = 10, .ended = true};
    wire_stream_in_init(&in, 10);
    wire_stream_grant(&in);
    assert_true(wire_stream_in_end(&in));
    assert_false(wire_stream_in_end(&in));
    assert_false(wire_stream_arrived(&in, 1));
    assert_int_equal(wire_stream_may_send(&out, 1), 0);
    wire_stream_consumed(&in, 10);
    assert_int_equal(wire_stream_grant(&in), 0);
}

/* Any order of sending, consuming and granting: the books agree, and everything gets through. */
static void test_two_ends(void **state)
{
    (void)state;
    srand(1);
    for (uint32_t window = 1; window < 300; window += 7) {
        struct wire_stream_in in;
        struct wire_stream_out out = {0};
        uint32_t left = 20000, arrived = 0;
        wire_stream_in_init(&in, window);
        while (arrived < 20000) {
            uint32_t grant = wire_stream_grant(&in);
            if (grant)
                assert_true(wire_stream_credited(&out, grant));
            uint32_t bytes = wire_stream_may_send(&out, 1 + (uint32_t)rand() % 50);
            bytes = bytes < left ? bytes : left;
            if (bytes) {
                assert_true(wire_stream_sent(&out, bytes));
                assert_true(wire_stream_arrived(&in, bytes));
                left -= bytes;
                arrived += bytes;
            }
            wire_stream_consumed(&in, (uint32_t)rand() % 50);
            assert_int_equal(out.credit, in.granted);
            assert_true(in.granted + in.held <= window);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_before_the_first_grant),
        cmocka_unit_test(test_data_within_its_credit),
        cmocka_unit_test(test_hostile_credit),
        cmocka_unit_test(test_hostile_data),
        cmocka_unit_test(test_grants_wait_for_half_a_window),
        cmocka_unit_test(test_end),
        cmocka_unit_test(test_two_ends),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
