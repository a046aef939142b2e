/* i8042.c: the keyboard controller, the keyboard and the mouse behind it. */
#include "rig.h"

#include "pc/chip/ps2.h"

#include <stdio.h>
#include <string.h>

enum { IRQ1 = 1, IRQ12 = 12, A20 = 14, RESET = 15 };

struct desk {
    struct rig rig;
    struct i8042 kbc;
};

static void setup(struct desk *d)
{
    rig_init(&d->rig);
    i8042_init(&d->kbc, &d->rig.bus, &d->rig.clock, rig_line(&d->rig, IRQ1),
               rig_line(&d->rig, IRQ12), rig_line(&d->rig, A20), rig_line(&d->rig, RESET));
}

static void command(struct desk *d, uint8_t value)
{
    rig_out(&d->rig, 0x64, value);
}

static void data(struct desk *d, uint8_t value)
{
    rig_out(&d->rig, 0x60, value);
}

/* The bytes that come, as hex; the mouse's in brackets. */
static void expect(struct desk *d, const char *wanted)
{
    char got[200] = "";

    for (;;) {
        rig_pass(&d->rig, 2 * PS2_BYTE_NS);
        uint8_t status = rig_in(&d->rig, 0x64), byte;
        if (!(status & 0x01))
            break;
        byte = rig_in(&d->rig, 0x60);
        assert_true(strlen(got) + 6 < sizeof got);
        snprintf(got + strlen(got), 8, status & 0x20 ? "[%02x]" : "%02x", byte);
    }
    assert_string_equal(got, wanted);
}

static void keys(struct desk *d, const char *codes)
{
    assert_true(i8042_key(&d->kbc, (const uint8_t *)codes, strlen(codes)));
}

static void the_controller_tests_and_remembers(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    command(&d, 0xaa);
    expect(&d, "55");
    command(&d, 0xab);
    expect(&d, "00");
    command(&d, 0xa9);
    expect(&d, "00");
    command(&d, 0x60);
    data(&d, 0x47);
    command(&d, 0x20);
    expect(&d, "47");
    command(&d, 0x65);
    data(&d, 0x99);
    command(&d, 0x25);
    expect(&d, "99");
    assert_int_equal(rig_in(&d.rig, 0x64), 0x1c); /* unlocked, command last, system */
}

static void a_key_interrupts_and_is_translated(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    keys(&d, "\x1c\xf0\x1c");         /* A, pressed and released */
    keys(&d, "\xe0\x75\xe0\xf0\x75"); /* cursor up */
    assert_false(d.rig.level[IRQ1]);
    rig_pass(&d.rig, PS2_BYTE_NS);
    assert_true(d.rig.level[IRQ1]);
    assert_int_equal(rig_in(&d.rig, 0x60), 0x1e);
    assert_false(d.rig.level[IRQ1]);
    expect(&d, "9ee048e0c8");
    command(&d, 0x60);
    data(&d, 0x05); /* no translation */
    keys(&d, "\x1c\xf0\x1c");
    expect(&d, "1cf01c");
    data(&d, 0xf0); /* the keyboard's own set 1 */
    expect(&d, "fa");
    data(&d, 0x01);
    expect(&d, "fa");
    keys(&d, "\x1c\xf0\x1c\xe0\xf0\x75");
    expect(&d, "1e9ee0c8");
    data(&d, 0xf0);
    expect(&d, "fa");
    data(&d, 0x00);
    expect(&d, "fa01"); /* and says so */
}

static void the_keyboard_answers_its_commands(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    command(&d, 0x60);
    data(&d, 0x05);
    data(&d, 0xff);
    expect(&d, "faaa");
    data(&d, 0xf2);
    expect(&d, "faab83");
    data(&d, 0xee);
    expect(&d, "ee");
    data(&d, 0xed);
    expect(&d, "fa");
    data(&d, 0x07);
    expect(&d, "fa");
    assert_int_equal(d.kbc.keyboard.leds, 7);
    data(&d, 0xf5);
    expect(&d, "fa");
    keys(&d, "\x1c");
    expect(&d, ""); /* it does not scan */
    data(&d, 0xf4);
    expect(&d, "fa");
    keys(&d, "\x1c");
    expect(&d, "1c");
    data(&d, 0xfe);
    expect(&d, "1c"); /* again */
    data(&d, 0x01);
    expect(&d, "fe");
}

static void a_held_keyboard_waits(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    command(&d, 0xad);
    keys(&d, "\x1c");
    expect(&d, "");
    command(&d, 0xae);
    expect(&d, "1e");
    for (unsigned i = 0; i < PS2_QUEUE; i++)
        keys(&d, "\x1c");
    assert_false(i8042_key(&d.kbc, (const uint8_t *)"\x1c", 1));
}

static void the_mouse_answers_and_reports(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    command(&d, 0xa8);
    command(&d, 0x60);
    data(&d, 0x47);
    command(&d, 0xd4);
    data(&d, 0xff);
    rig_pass(&d.rig, PS2_BYTE_NS);
    assert_true(d.rig.level[IRQ12]);
    assert_false(d.rig.level[IRQ1]);
    expect(&d, "[fa][aa][00]");
    command(&d, 0xd4);
    data(&d, 0xf2);
    expect(&d, "[fa][00]");
    i8042_mouse(&d.kbc, 5, -3, 1);
    expect(&d, ""); /* not asked to report */
    command(&d, 0xd4);
    data(&d, 0xf4);
    expect(&d, "[fa]");
    i8042_mouse(&d.kbc, 0, 0, 0);
    expect(&d, "[28][05][fd]");
    i8042_mouse(&d.kbc, -300, 0, 6); /* more than nine bits: two reports */
    expect(&d, "[1e][00][00][1e][d4][00]");
    command(&d, 0xd4);
    data(&d, 0xe8);
    expect(&d, "[fa]");
    command(&d, 0xd4);
    data(&d, 0x03);
    expect(&d, "[fa]");
    command(&d, 0xd4);
    data(&d, 0xe9);
    expect(&d, "[fa][23][03][64]");
    command(&d, 0xa7);
    i8042_mouse(&d.kbc, 1, 1, 0);
    expect(&d, "");
    command(&d, 0xd3); /* as if the mouse had sent it */
    data(&d, 0x42);
    expect(&d, "[42]");
    command(&d, 0xd2);
    data(&d, 0x43);
    expect(&d, "43");
}

static void a20_and_reset_are_its_outputs(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    command(&d, 0xd0);
    expect(&d, "cf");
    command(&d, 0xd1);
    data(&d, 0xdd);
    assert_false(d.rig.level[A20]);
    command(&d, 0xd1);
    data(&d, 0xdf);
    assert_true(d.rig.level[A20]);
    assert_int_equal(d.rig.rises[RESET], 0);
    command(&d, 0xff); /* a pulse of nothing */
    assert_int_equal(d.rig.rises[RESET], 0);
    command(&d, 0xfe);
    assert_int_equal(d.rig.rises[RESET], 1);
}

static void a_snapshot_keeps_keys_on_their_way(void **state)
{
    (void)state;
    struct desk d;

    setup(&d);
    keys(&d, "\x1c\xf0\x1c");
    i8042_mouse(&d.kbc, 7, 7, 0);
    rig_pass(&d.rig, PS2_BYTE_NS / 2);
    rig_save_and_load(&d.rig, &i8042_chip, &d.kbc);
    expect(&d, "1e9e");
    assert_int_equal(d.kbc.mouse.dx, 7);
    d.kbc.keyboard.out.count = PS2_QUEUE + 1;
    assert_false(i8042_chip.loaded(&d.kbc));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_controller_tests_and_remembers),
        cmocka_unit_test(a_key_interrupts_and_is_translated),
        cmocka_unit_test(the_keyboard_answers_its_commands),
        cmocka_unit_test(a_held_keyboard_waits),
        cmocka_unit_test(the_mouse_answers_and_reports),
        cmocka_unit_test(a20_and_reset_are_its_outputs),
        cmocka_unit_test(a_snapshot_keeps_keys_on_their_way),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("i8042", tests, NULL, NULL);
}
