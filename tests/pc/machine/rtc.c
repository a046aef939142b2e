/* rtc.c: the date in all its notations, the three interrupts, and what stops them. */
#include "rig.h"

#include "pc/chip/calendar.h"
#include "pc/chip/rtc.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)

enum { IRQ8 = 8, A = 10, B, C, D };

struct clockwork {
    struct rig rig;
    struct rtc rtc;
};

/* 2001-09-09 01:46:40, a Sunday. */
static void setup(struct clockwork *c)
{
    rig_init(&c->rig);
    rtc_init(&c->rtc, &c->rig.bus, &c->rig.clock, rig_line(&c->rig, IRQ8), 1000000000, 64 << 20);
}

static uint8_t get(struct clockwork *c, uint8_t index)
{
    rig_out(&c->rig, 0x70, index);
    return rig_in(&c->rig, 0x71);
}

static void set(struct clockwork *c, uint8_t index, uint8_t value)
{
    rig_out(&c->rig, 0x70, index);
    rig_out(&c->rig, 0x71, value);
}

/* century year month day weekday hour minute second */
static void expect_date(struct clockwork *c, uint64_t date, uint8_t weekday)
{
    static const uint8_t index[] = {0x32, 9, 8, 7, 4, 2, 0};

    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(get(c, index[i]), date >> (6 - i) * 8 & 0xff);
    assert_int_equal(get(c, 6), weekday);
}

static void the_date_goes_on(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    expect_date(&c, 0x20010909014640, 1);
    rig_pass(&c.rig, 20 * SECOND);
    expect_date(&c, 0x20010909014700, 1);
    rig_pass(&c.rig, 86400 * SECOND);
    expect_date(&c, 0x20010910014700, 2);
    assert_int_equal(get(&c, D), 0x80);
}

static void the_date_can_be_binary_and_have_twelve_hours(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, B, 0x06);
    assert_int_equal(get(&c, 0), 40);
    assert_int_equal(get(&c, 2), 46);
    assert_int_equal(get(&c, 9), 1);
    set(&c, B, 0x00);
    assert_int_equal(get(&c, 4), 0x01);
    rig_pass(&c.rig, 11 * 3600 * SECOND);
    assert_int_equal(get(&c, 4), 0x92); /* 12 in the afternoon */
    rig_pass(&c.rig, 12 * 3600 * SECOND);
    assert_int_equal(get(&c, 4), 0x12); /* midnight */
    set(&c, B, 0x04);
    rig_pass(&c.rig, 23 * 3600 * SECOND);
    assert_int_equal(get(&c, 4), 0x80 | 11);
}

static void a_date_is_set_while_updates_stand_still(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    rig_pass(&c.rig, SECOND / 4);
    set(&c, B, 0x82);
    rig_pass(&c.rig, 100 * SECOND);
    assert_int_equal(get(&c, 0), 0x40); /* still */
    set(&c, 0, 0x58);
    set(&c, 2, 0x59);
    set(&c, 4, 0x23);
    set(&c, 7, 0x28);
    set(&c, 8, 0x02);
    set(&c, 9, 0x24);
    set(&c, B, 0x02);
    expect_date(&c, 0x20240228235958, 4); /* a Wednesday, in a leap year */
    rig_pass(&c.rig, SECOND * 3 / 4);     /* the second's phase has gone on */
    expect_date(&c, 0x20240228235959, 4);
    rig_pass(&c.rig, SECOND);
    expect_date(&c, 0x20240229000000, 5);
}

static void a_divider_reset_begins_half_a_second_before_the_next(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, A, 0x76);
    rig_pass(&c.rig, 10 * SECOND);
    assert_int_equal(get(&c, 0), 0x40);
    set(&c, A, 0x26);
    rig_pass(&c.rig, SECOND / 2 - 1000);
    assert_int_equal(get(&c, 0), 0x40);
    rig_pass(&c.rig, 2000);
    assert_int_equal(get(&c, 0), 0x41);
}

static void an_update_is_announced(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    assert_int_equal(get(&c, A), 0x26);
    rig_pass(&c.rig, SECOND - 245000);
    assert_int_equal(get(&c, A), 0x26);
    rig_pass(&c.rig, 2000);
    assert_int_equal(get(&c, A), 0xa6);
    rig_pass(&c.rig, 243000);
    assert_int_equal(get(&c, A), 0x26);
}

static void the_periodic_interrupt_has_its_rate(void **state)
{
    (void)state;
    static const unsigned hertz[16] = {0,   256, 128, 8192, 4096, 2048, 1024, 512,
                                       256, 128, 64,  32,   16,   8,    4,    2};

    for (unsigned rate = 0; rate < 16; rate++) {
        struct clockwork c;
        unsigned count = 0;

        setup(&c);
        set(&c, A, (uint8_t)(0x20 | rate));
        set(&c, B, 0x42);
        get(&c, C);
        for (unsigned i = 0; i < 20000; i++) { /* a second in steps of 50 us */
            rig_pass(&c.rig, SECOND / 20000);
            if (c.rig.level[IRQ8]) {
                assert_int_equal(get(&c, C) & 0xc0, 0xc0);
                count++;
            }
        }
        assert_int_equal(count, hertz[rate]);
    }
}

static void the_line_stays_up_until_c_is_read(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, B, 0x42);
    rig_pass(&c.rig, SECOND / 2);
    assert_true(c.rig.level[IRQ8]);
    assert_int_equal(c.rig.rises[IRQ8], 1);
    assert_int_equal(get(&c, C), 0xc0);
    assert_false(c.rig.level[IRQ8]);
    assert_int_equal(get(&c, C), 0x00);
}

static void the_update_interrupt_comes_every_second(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, A, 0x20);
    set(&c, B, 0x12);
    for (unsigned i = 1; i <= 5; i++) {
        rig_pass(&c.rig, SECOND);
        assert_int_equal(c.rig.rises[IRQ8], i);
        assert_int_equal(get(&c, C), 0x90);
    }
    set(&c, B, 0x92); /* SET takes it back */
    assert_int_equal(get(&c, B), 0x82);
    rig_pass(&c.rig, 5 * SECOND);
    assert_int_equal(c.rig.rises[IRQ8], 5);
}

static void the_alarm_comes_at_its_time(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, A, 0x20);
    set(&c, 1, 0x10);
    set(&c, 3, 0x47);
    set(&c, 5, 0x01);
    set(&c, B, 0x22);
    rig_pass(&c.rig, 29 * SECOND);
    assert_false(c.rig.level[IRQ8]);
    rig_pass(&c.rig, 1 * SECOND);
    assert_true(c.rig.level[IRQ8]);
    assert_int_equal(get(&c, C), 0xb0); /* the update's flag too, without its enable */
    set(&c, 3, 0xc0);
    set(&c, 5, 0xff); /* every minute */
    c.rig.rises[IRQ8] = 0;
    for (int i = 0; i < 180; i++) {
        rig_pass(&c.rig, SECOND);
        get(&c, C);
    }
    assert_int_equal(c.rig.rises[IRQ8], 3);
}

/* Flags rise whether or not an interrupt is enabled, also an alarm days ago. */
static void flags_can_be_polled(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, 1, 0x00);
    set(&c, 3, 0x00);
    set(&c, 5, 0x00);
    get(&c, C);
    rig_pass(&c.rig, 3600 * SECOND);
    assert_int_equal(get(&c, C), 0x50);
    rig_pass(&c.rig, 86400 * 3 * SECOND);
    assert_int_equal(get(&c, C), 0x70);
    assert_int_equal(get(&c, C), 0x00);
    assert_true(clock_next(&c.rig.clock) == CLOCK_NEVER); /* nobody is woken for them */
    rig_pass(&c.rig, SECOND);
    set(&c, A, 0x70); /* stopping the divider does not take back what has been */
    assert_int_equal(get(&c, C), 0x50);
}

static void memory_keeps_what_is_written(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, 0x40, 0x5a);
    set(&c, 0x7f, 0xa5);
    assert_int_equal(get(&c, 0xc0), 0x5a); /* bit 7 masks the NMI */
    assert_int_equal(get(&c, 0x7f), 0xa5);
    set(&c, D, 0x00);
    assert_int_equal(get(&c, D), 0x80);
    /* 64 MB: 63 MB above the first in KB, 48 MB above 16 in 64 KB. */
    assert_int_equal(get(&c, 0x30) | get(&c, 0x31) << 8, 63 * 1024);
    assert_int_equal(get(&c, 0x34) | get(&c, 0x35) << 8, 48 * 16);
    rtc_chip.reset(&c.rtc); /* it has a battery */
    assert_int_equal(get(&c, 0x40), 0x5a);
}

static void the_calendar_agrees_with_itself(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        unsigned year, month, day, weekday;
    } known[] = {
        {0, 1970, 1, 1, 4},
        {951782400, 2000, 2, 29, 2},
        {951868800, 2000, 3, 1, 3},
        {4107542400, 2100, 3, 1, 1},
        {4107456000, 2100, 2, 28, 0},
        {-1, 1969, 12, 31, 3},
        {253402300799, 9999, 12, 31, 5},
    };

    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct calendar date = calendar_of(known[i].seconds);

        assert_int_equal(date.year, known[i].year);
        assert_int_equal(date.month, known[i].month);
        assert_int_equal(date.day, known[i].day);
        assert_int_equal(date.weekday, known[i].weekday);
    }
    for (int64_t s = -5000000000; s < 20000000000; s += 76543211) {
        struct calendar date = calendar_of(s);

        assert_true(calendar_seconds(&date) == s);
    }
}

static void a_snapshot_keeps_the_date_and_the_phase(void **state)
{
    (void)state;
    struct clockwork c;

    setup(&c);
    set(&c, B, 0x12);
    rig_pass(&c.rig, SECOND / 3);
    set(&c, 0x50, 7);
    rig_save_and_load(&c.rig, &rtc_chip, &c.rtc);
    rig_pass(&c.rig, SECOND * 2 / 3 + 10);
    assert_true(c.rig.level[IRQ8]);
    expect_date(&c, 0x20010909014641, 1);
    assert_int_equal(get(&c, 0x50), 7);
    c.rtc.index = 200;
    assert_false(rtc_chip.loaded(&c.rtc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_date_goes_on),
        cmocka_unit_test(the_date_can_be_binary_and_have_twelve_hours),
        cmocka_unit_test(a_date_is_set_while_updates_stand_still),
        cmocka_unit_test(a_divider_reset_begins_half_a_second_before_the_next),
        cmocka_unit_test(an_update_is_announced),
        cmocka_unit_test(the_periodic_interrupt_has_its_rate),
        cmocka_unit_test(the_line_stays_up_until_c_is_read),
        cmocka_unit_test(the_update_interrupt_comes_every_second),
        cmocka_unit_test(the_alarm_comes_at_its_time),
        cmocka_unit_test(flags_can_be_polled),
        cmocka_unit_test(memory_keeps_what_is_written),
        cmocka_unit_test(the_calendar_agrees_with_itself),
        cmocka_unit_test(a_snapshot_keeps_the_date_and_the_phase),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("rtc", tests, NULL, NULL);
}
