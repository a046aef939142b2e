/* vga.c: text as a kernel writes it, the registers it reads back, and the planar memory modes. */
#include "rig.h"

#include "pc/chip/vga.h"

#include <stdlib.h>
#include <string.h>

struct screen {
    struct rig rig;
    struct vga *vga;
    unsigned changes;
};

static void changed(void *opaque)
{
    ((struct screen *)opaque)->changes++;
}

static void setup(struct screen *s)
{
    memset(s, 0, sizeof *s);
    rig_init(&s->rig);
    s->vga = malloc(sizeof *s->vga);
    assert_non_null(s->vga);
    memset(s->vga, 0, sizeof *s->vga);
    vga_init(s->vga, &s->rig.bus, &s->rig.clock, changed, s);
}

static void indexed(struct screen *s, uint16_t port, uint8_t index, uint8_t value)
{
    bus_out(&s->rig.bus, port, 2, (uint32_t)(index | value << 8));
}

static uint8_t read_indexed(struct screen *s, uint16_t port, uint8_t index)
{
    rig_out(&s->rig, port, index);
    return rig_in(&s->rig, (uint16_t)(port + 1));
}

static void text_is_what_was_written_at_b8000(void **state)
{
    (void)state;
    struct screen s;
    uint16_t cells[VGA_COLUMNS * VGA_ROWS];
    int cursor;

    setup(&s);
    s.changes = 0;
    assert_true(vga_text(s.vga, cells, &cursor));
    assert_int_equal(cells[0], 0x0720);
    bus_write(&s.rig.bus, 0xb8000, 4, 0x1e621e61);
    bus_write(&s.rig.bus, 0xb8000 + 160 * 24 + 158, 2, 0x4f7a);
    assert_int_equal(s.changes, 1); /* once, until someone looks */
    assert_int_equal(bus_read(&s.rig.bus, 0xb8002, 2), 0x1e62);
    indexed(&s, 0x3d4, 0x0e, 0x00);
    indexed(&s, 0x3d4, 0x0f, 81);
    assert_true(vga_text(s.vga, cells, &cursor));
    assert_int_equal(cells[0], 0x1e61);
    assert_int_equal(cells[1], 0x1e62);
    assert_int_equal(cells[1999], 0x4f7a);
    assert_int_equal(cursor, 81);
    indexed(&s, 0x3d4, 0x0a, 0x20);
    vga_text(s.vga, cells, &cursor);
    assert_int_equal(cursor, -1);
    free(s.vga);
}

static void the_screen_scrolls_by_its_start_address(void **state)
{
    (void)state;
    struct screen s;
    uint16_t cells[VGA_COLUMNS * VGA_ROWS];
    int cursor;

    setup(&s);
    bus_write(&s.rig.bus, 0xb8000 + 160, 2, 0x0731);
    indexed(&s, 0x3d4, 0x0d, 80);
    vga_text(s.vga, cells, &cursor);
    assert_int_equal(cells[0], 0x0731);
    rig_in(&s.rig, 0x3da); /* the flip-flop */
    rig_out(&s.rig, 0x3c0, 0x10);
    rig_out(&s.rig, 0x3c0, 0x01); /* graphics */
    rig_out(&s.rig, 0x3c0, 0x20);
    assert_false(vga_text(s.vga, cells, &cursor));
    free(s.vga);
}

static void registers_read_back(void **state)
{
    (void)state;
    struct screen s;

    setup(&s);
    indexed(&s, 0x3d4, 0x0e, 0x12);
    assert_int_equal(read_indexed(&s, 0x3d4, 0x0e), 0x12);
    indexed(&s, 0x3d4, 0x00, 0x77); /* locked by register 11h */
    assert_int_equal(read_indexed(&s, 0x3d4, 0x00), 0x5f);
    indexed(&s, 0x3c4, 0x02, 0x0f);
    assert_int_equal(read_indexed(&s, 0x3c4, 0x02), 0x0f);
    assert_int_equal(rig_in(&s.rig, 0x3cc), 0x67);
    assert_int_equal(rig_in(&s.rig, 0x3b5), 0xff); /* colour: the CRTC is not here */
    rig_out(&s.rig, 0x3c2, 0x66);
    assert_int_equal(read_indexed(&s, 0x3b4, 0x0e), 0x12);
    assert_int_equal(rig_in(&s.rig, 0x3d5), 0xff);
    free(s.vga);
}

static void the_palette_goes_round_in_threes(void **state)
{
    (void)state;
    struct screen s;

    setup(&s);
    rig_out(&s.rig, 0x3c8, 0xff);
    for (uint8_t i = 1; i <= 6; i++)
        rig_out(&s.rig, 0x3c9, (uint8_t)(0xc0 | i)); /* six bits each */
    rig_out(&s.rig, 0x3c7, 0xff);
    assert_int_equal(rig_in(&s.rig, 0x3c7), 3);
    for (uint8_t i = 1; i <= 6; i++)
        assert_int_equal(rig_in(&s.rig, 0x3c9), i);
    rig_out(&s.rig, 0x3c7, 0x14); /* brown, as the EGA had it */
    assert_int_equal(rig_in(&s.rig, 0x3c9), 42);
    assert_int_equal(rig_in(&s.rig, 0x3c9), 21);
    assert_int_equal(rig_in(&s.rig, 0x3c9), 0);
    free(s.vga);
}

static void the_retrace_comes_seventy_times_a_second(void **state)
{
    (void)state;
    struct screen s;
    unsigned rises = 0;
    uint8_t before = 0;

    setup(&s);
    for (unsigned i = 0; i < 50000; i++) {
        uint8_t now;

        rig_pass(&s.rig, 20000);
        now = rig_in(&s.rig, 0x3da) & 0x08;
        rises += now && !before;
        before = now;
    }
    assert_in_range(rises, 69, 71);
    free(s.vga);
}

/* Planar memory, with odd/even off and the window at A0000h. */
static void setup_planar(struct screen *s)
{
    setup(s);
    indexed(s, 0x3c4, 4, 0x06);
    indexed(s, 0x3c4, 2, 0x0f);
    indexed(s, 0x3ce, 5, 0x00);
    indexed(s, 0x3ce, 6, 0x05);
}

static void expect_planes(struct screen *s, uint32_t offset, uint32_t planes)
{
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(s->vga->plane[i][offset], planes >> 8 * (3 - i) & 0xff);
}

static void write_modes_reach_all_planes(void **state)
{
    (void)state;
    struct screen s;

    setup_planar(&s);
    bus_write(&s.rig.bus, 0xa1000, 1, 0x5a);
    expect_planes(&s, 0x1000, 0x5a5a5a5a);
    indexed(&s, 0x3c4, 2, 0x05); /* planes 0 and 2 */
    indexed(&s, 0x3ce, 3, 0x04); /* rotated by four */
    bus_write(&s.rig.bus, 0xa1000, 1, 0x12);
    expect_planes(&s, 0x1000, 0x215a215a);
    indexed(&s, 0x3c4, 2, 0x0f);
    indexed(&s, 0x3ce, 3, 0x18); /* exclusive or with the latches */
    indexed(&s, 0x3ce, 8, 0x0f); /* in the low bits */
    bus_read(&s.rig.bus, 0xa1000, 1);
    bus_write(&s.rig.bus, 0xa1001, 1, 0xff);
    expect_planes(&s, 0x1001, 0x2e552e55);
    indexed(&s, 0x3ce, 3, 0x00);
    indexed(&s, 0x3ce, 8, 0xff);
    indexed(&s, 0x3ce, 0, 0x03); /* set/reset on planes 0 and 1 */
    indexed(&s, 0x3ce, 1, 0x09); /* enabled for 0 and 3 */
    bus_write(&s.rig.bus, 0xa1002, 1, 0x33);
    expect_planes(&s, 0x1002, 0xff333300);
    indexed(&s, 0x3ce, 5, 0x01); /* mode 1: the latches */
    bus_read(&s.rig.bus, 0xa1002, 1);
    bus_write(&s.rig.bus, 0xa1003, 1, 0x00);
    expect_planes(&s, 0x1003, 0xff333300);
    indexed(&s, 0x3ce, 5, 0x02); /* mode 2: a colour */
    bus_write(&s.rig.bus, 0xa1004, 1, 0x06);
    expect_planes(&s, 0x1004, 0x00ffff00);
    indexed(&s, 0x3ce, 5, 0x03); /* mode 3: set/reset through the byte as mask */
    bus_write(&s.rig.bus, 0xa1004, 1, 0xf0);
    expect_planes(&s, 0x1004, 0xfff30300);
    free(s.vga);
}

static void read_modes(void **state)
{
    (void)state;
    struct screen s;

    setup_planar(&s);
    for (unsigned i = 0; i < 4; i++)
        s.vga->plane[i][7] = (uint8_t)(0x11 << i);
    indexed(&s, 0x3ce, 4, 2);
    assert_int_equal(bus_read(&s.rig.bus, 0xa0007, 1), 0x44);
    indexed(&s, 0x3ce, 5, 0x08); /* mode 1: where the colour is 2, plane 3 ignored */
    indexed(&s, 0x3ce, 2, 0x02);
    indexed(&s, 0x3ce, 7, 0x07);
    assert_int_equal(bus_read(&s.rig.bus, 0xa0007, 1), 0x22);
    assert_int_equal(bus_read(&s.rig.bus, 0xb0007, 1), 0xff); /* outside the window */
    indexed(&s, 0x3c4, 4, 0x0e);                              /* chain-4 */
    bus_write(&s.rig.bus, 0xa0100, 4, 0x44332211);
    assert_int_equal(s.vga->plane[2][0x100], 0x33);
    assert_int_equal(bus_read(&s.rig.bus, 0xa0100, 4), 0x44332211);
    free(s.vga);
}

static void a_snapshot_keeps_the_screen(void **state)
{
    (void)state;
    struct screen s;

    setup(&s);
    bus_write(&s.rig.bus, 0xb8000, 2, 0x1e61);
    rig_out(&s.rig, 0x3c0, 0x31); /* half-way through an attribute */
    rig_save_and_load(&s.rig, &vga_chip, s.vga);
    assert_int_equal(bus_read(&s.rig.bus, 0xb8000, 2), 0x1e61);
    rig_out(&s.rig, 0x3c0, 0x2a);
    assert_int_equal(s.vga->attribute[0x11], 0x2a);
    s.vga->dac_component = 3;
    assert_false(vga_chip.loaded(s.vga));
    free(s.vga);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_what_was_written_at_b8000),
        cmocka_unit_test(the_screen_scrolls_by_its_start_address),
        cmocka_unit_test(registers_read_back),
        cmocka_unit_test(the_palette_goes_round_in_threes),
        cmocka_unit_test(the_retrace_comes_seventy_times_a_second),
        cmocka_unit_test(write_modes_reach_all_planes),
        cmocka_unit_test(read_modes),
        cmocka_unit_test(a_snapshot_keeps_the_screen),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vga", tests, NULL, NULL);
}
