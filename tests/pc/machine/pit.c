/* pit.c: the 8254's six modes, its ways of reading, and port 61h. Times are in ticks of the timer,
 * 88000/105 ns each. */
#include "rig.h"

#include "pc/chip/pit.h"

#include <string.h>

enum { IRQ0 = 0 };

struct timer {
    struct rig rig;
    struct pit pit;
    uint64_t tick;
};

static void setup(struct timer *t)
{
    rig_init(&t->rig);
    pit_init(&t->pit, &t->rig.bus, &t->rig.clock, rig_line(&t->rig, IRQ0));
    t->tick = 0;
}

/* To the middle of a tick, counted from power-on: no rounding is in the way. */
static void to_tick(struct timer *t, uint64_t tick)
{
    uint64_t ns = (2 * tick + 1) * 88000 / 210;

    rig_pass(&t->rig, ns - clock_now(&t->rig.clock));
    t->tick = tick;
}

static void ticks(struct timer *t, uint64_t count)
{
    to_tick(t, t->tick + count);
}

static void program(struct timer *t, unsigned channel, uint8_t control, uint16_t count)
{
    rig_out(&t->rig, 0x43, (uint8_t)(channel << 6 | control));
    rig_out(&t->rig, (uint16_t)(0x40 + channel), (uint8_t)count);
    rig_out(&t->rig, (uint16_t)(0x40 + channel), (uint8_t)(count >> 8));
}

static unsigned count(struct timer *t, unsigned channel)
{
    unsigned low;

    rig_out(&t->rig, 0x43, (uint8_t)(channel << 6));
    low = rig_in(&t->rig, (uint16_t)(0x40 + channel));
    return low | (unsigned)rig_in(&t->rig, (uint16_t)(0x40 + channel)) << 8;
}

static bool out2(struct timer *t)
{
    return rig_in(&t->rig, 0x61) & 0x20;
}

/* Where a channel's output changes within the next ticks, as a row of levels. */
static void expect_levels(struct timer *t, const char *levels)
{
    for (unsigned i = 0; levels[i]; i++) {
        assert_int_equal(t->rig.level[IRQ0], levels[i] == '1');
        ticks(t, 1);
    }
}

static void mode_0_rises_once_after_the_count(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x30, 3);
    expect_levels(&t, "0000111111"); /* one tick to load, three to count */
    assert_int_equal(count(&t, 0), 0x10000 - 6);
    program(&t, 0, 0x30, 5);
    assert_false(t.rig.level[IRQ0]);
    ticks(&t, 3);
    rig_out(&t.rig, 0x40, 2); /* the first byte stops it */
    ticks(&t, 10);
    assert_false(t.rig.level[IRQ0]);
    rig_out(&t.rig, 0x40, 0);
    expect_levels(&t, "000111");
}

static void mode_2_is_low_for_one_tick_a_period(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x34, 4);
    expect_levels(&t, "1111011101110111");
    program(&t, 0, 0x34, 0); /* 0 is 65536 */
    t.rig.rises[IRQ0] = 0;
    ticks(&t, 65536 * 10 + 10);
    assert_int_equal(t.rig.rises[IRQ0], 10);
}

static void mode_2_takes_a_new_count_at_the_end_of_the_period(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x34, 6);
    ticks(&t, 3);
    rig_out(&t.rig, 0x40, 3);
    rig_out(&t.rig, 0x40, 0);
    assert_int_equal(count(&t, 0), 4);
    expect_levels(&t, "1110110110");
}

static void mode_3_is_a_square_wave(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x36, 6);
    expect_levels(&t, "1111000111000");
    program(&t, 0, 0x36, 5); /* odd: the high half is the longer one */
    expect_levels(&t, "1111001110011100");
}

static void mode_3_counts_by_two_and_changes_at_half_periods(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x36, 10);
    ticks(&t, 1);
    for (unsigned i = 0; i < 10; i++) {
        static const uint8_t values[] = {10, 8, 6, 4, 2};

        assert_int_equal(count(&t, 0), values[i % 5]);
        ticks(&t, 1);
    }
    rig_out(&t.rig, 0x40, 4); /* in the high half: its rest of four, then the new low half of two */
    rig_out(&t.rig, 0x40, 0);
    expect_levels(&t, "111110011001");
}

static void mode_4_strobes_once(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x38, 3);
    expect_levels(&t, "11110111111");
    ticks(&t, 65536 * 2);
    assert_int_equal(t.rig.rises[IRQ0], 2); /* of the mode, and of the strobe */
}

static void modes_1_and_5_wait_for_the_gate(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 2, 0x32, 4);
    ticks(&t, 10);
    assert_true(out2(&t));
    rig_out(&t.rig, 0x61, 1);
    ticks(&t, 1);
    assert_false(out2(&t));
    ticks(&t, 3);
    assert_false(out2(&t));
    rig_out(&t.rig, 0x61, 0);
    rig_out(&t.rig, 0x61, 1); /* again: the count begins anew */
    ticks(&t, 4);
    assert_false(out2(&t));
    ticks(&t, 1);
    assert_true(out2(&t));

    rig_out(&t.rig, 0x61, 0);
    program(&t, 2, 0x3a, 4);
    rig_out(&t.rig, 0x61, 1);
    ticks(&t, 4);
    assert_true(out2(&t));
    ticks(&t, 1);
    assert_false(out2(&t));
    ticks(&t, 1);
    assert_true(out2(&t));
}

static void the_gate_stops_the_count(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    rig_out(&t.rig, 0x61, 1);
    program(&t, 2, 0x30, 100);
    ticks(&t, 11);
    assert_int_equal(count(&t, 2), 90);
    rig_out(&t.rig, 0x61, 0);
    ticks(&t, 500);
    assert_int_equal(count(&t, 2), 90);
    rig_out(&t.rig, 0x61, 1);
    ticks(&t, 40);
    assert_int_equal(count(&t, 2), 50);
    ticks(&t, 50);
    assert_true(out2(&t));

    program(&t, 2, 0x34, 8); /* mode 2: low makes the output high, the rise starts a period */
    ticks(&t, 8);
    assert_false(out2(&t));
    rig_out(&t.rig, 0x61, 0);
    assert_true(out2(&t));
    rig_out(&t.rig, 0x61, 1);
    ticks(&t, 1);
    assert_int_equal(count(&t, 2), 8);
}

static void counts_are_read_in_the_programmed_order(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    rig_out(&t.rig, 0x61, 1);
    program(&t, 2, 0x30, 0x1234);
    ticks(&t, 1);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x34);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x12);
    rig_out(&t.rig, 0x43, 0x80); /* latched: the second latch and the time change nothing */
    ticks(&t, 0x35);
    rig_out(&t.rig, 0x43, 0x80);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x34);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x12);
    assert_int_equal(rig_in(&t.rig, 0x42), 0xff);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x11);
    rig_out(&t.rig, 0x43, 0xa0); /* the high byte only */
    rig_out(&t.rig, 0x42, 0x20);
    ticks(&t, 2);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x1f);
    assert_int_equal(rig_in(&t.rig, 0x42), 0x1f);
}

static void read_back_latches_status_and_count(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    rig_out(&t.rig, 0x61, 1);
    rig_out(&t.rig, 0x43, 0xb6);
    rig_out(&t.rig, 0x43, 0xe8); /* status of channel 2: high, no count yet */
    assert_int_equal(rig_in(&t.rig, 0x42), 0xf6);
    rig_out(&t.rig, 0x42, 100);
    rig_out(&t.rig, 0x42, 0);
    rig_out(&t.rig, 0x43, 0xe8); /* written, to be loaded with the next tick */
    assert_int_equal(rig_in(&t.rig, 0x42), 0xf6);
    ticks(&t, 60);
    rig_out(&t.rig, 0x43, 0xc8); /* both: the status is read first */
    assert_int_equal(rig_in(&t.rig, 0x42), 0x36);
    assert_int_equal(rig_in(&t.rig, 0x42), 100 - 2 * 9);
    assert_int_equal(rig_in(&t.rig, 0x42), 0);
}

static void bcd_counts_in_decades(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    rig_out(&t.rig, 0x61, 1);
    program(&t, 2, 0x31, 0x0100);
    ticks(&t, 2);
    assert_int_equal(count(&t, 2), 0x0099);
    ticks(&t, 100);
    assert_int_equal(count(&t, 2), 0x9999);
    program(&t, 2, 0x35, 0x0000); /* 10000 */
    ticks(&t, 2);
    assert_int_equal(count(&t, 2), 0x9999);
    ticks(&t, 10000);
    assert_int_equal(count(&t, 2), 0x9999);
}

/* The rate is what the datasheets of the board say, over an hour, to the tick. */
static void ticks_do_not_drift(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x34, 11932);
    t.rig.rises[IRQ0] = 0;
    rig_pass(&t.rig, UINT64_C(3600) * 1000000000);
    assert_int_equal(t.rig.rises[IRQ0], UINT64_C(3600) * 1193181818 / 1000 / 11932);
}

static void the_refresh_bit_flips(void **state)
{
    (void)state;
    struct timer t;
    unsigned flips = 0;
    uint8_t before;

    setup(&t);
    before = rig_in(&t.rig, 0x61) & 0x10;
    for (int i = 0; i < 1000; i++) {
        rig_pass(&t.rig, 1000);
        flips += (rig_in(&t.rig, 0x61) & 0x10) != before;
        before = rig_in(&t.rig, 0x61) & 0x10;
    }
    assert_in_range(flips, 60, 70); /* a millisecond of 15 us each */
}

static void a_snapshot_keeps_the_phase(void **state)
{
    (void)state;
    struct timer t;

    setup(&t);
    program(&t, 0, 0x34, 6);
    ticks(&t, 3);
    rig_out(&t.rig, 0x40, 3);
    rig_out(&t.rig, 0x40, 0);
    rig_out(&t.rig, 0x43, 0x00);
    rig_save_and_load(&t.rig, &pit_chip, &t.pit);
    assert_int_equal(rig_in(&t.rig, 0x40), 4);
    expect_levels(&t, "1110110110");
    t.pit.channel[1].count = 0;
    assert_false(pit_chip.loaded(&t.pit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mode_0_rises_once_after_the_count),
        cmocka_unit_test(mode_2_is_low_for_one_tick_a_period),
        cmocka_unit_test(mode_2_takes_a_new_count_at_the_end_of_the_period),
        cmocka_unit_test(mode_3_is_a_square_wave),
        cmocka_unit_test(mode_3_counts_by_two_and_changes_at_half_periods),
        cmocka_unit_test(mode_4_strobes_once),
        cmocka_unit_test(modes_1_and_5_wait_for_the_gate),
        cmocka_unit_test(the_gate_stops_the_count),
        cmocka_unit_test(counts_are_read_in_the_programmed_order),
        cmocka_unit_test(read_back_latches_status_and_count),
        cmocka_unit_test(bcd_counts_in_decades),
        cmocka_unit_test(ticks_do_not_drift),
        cmocka_unit_test(the_refresh_bit_flips),
        cmocka_unit_test(a_snapshot_keeps_the_phase),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pit", tests, NULL, NULL);
}
