/* pic.c: the 8259A pair as the datasheet has it: priorities, edges and levels, the ways to end an
 * interrupt, special modes, spurious interrupts, the cascade. */
#include "rig.h"

#include "pc/chip/pic.h"

#include <string.h>

enum { INTR = 0 };

struct pics {
    struct rig rig;
    struct pic pic;
};

/* As a kernel does: vectors 20h and 28h, cascade on 2, 8086 mode, nothing masked. */
static void setup_icw4(struct pics *p, uint8_t icw4)
{
    rig_init(&p->rig);
    pic_init(&p->pic, &p->rig.bus, rig_line(&p->rig, INTR));
    for (unsigned i = 0; i < 2; i++) {
        uint16_t port = i ? 0xa0 : 0x20;

        rig_out(&p->rig, port, 0x11);
        rig_out(&p->rig, port + 1, i ? 0x28 : 0x20);
        rig_out(&p->rig, port + 1, i ? 0x02 : 0x04);
        rig_out(&p->rig, port + 1, icw4);
    }
    assert_int_equal(rig_in(&p->rig, 0x21), 0x00);
}

static void setup(struct pics *p)
{
    setup_icw4(p, 0x01);
}

static void input(struct pics *p, unsigned irq, bool level)
{
    struct line line = pic_input(&p->pic, irq);

    line_set(&line, level);
}

static void pulse(struct pics *p, unsigned irq)
{
    input(p, irq, false);
    input(p, irq, true);
}

static uint8_t read_back(struct pics *p, uint16_t port, uint8_t ocw3)
{
    rig_out(&p->rig, port, ocw3);
    return rig_in(&p->rig, port);
}

#define IRR(p, port) read_back(p, port, 0x0a)
#define ISR(p, port) read_back(p, port, 0x0b)

static void the_highest_input_wins_and_blocks_those_below(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 5);
    pulse(&p, 3);
    assert_true(p.rig.level[INTR]);
    assert_int_equal(IRR(&p, 0x20), 0x28);
    assert_int_equal(pic_acknowledge(&p.pic), 0x23);
    assert_int_equal(ISR(&p, 0x20), 0x08);
    assert_int_equal(IRR(&p, 0x20), 0x20);
    assert_false(p.rig.level[INTR]);
    pulse(&p, 1); /* a higher one interrupts the handler */
    assert_int_equal(pic_acknowledge(&p.pic), 0x21);
    rig_out(&p.rig, 0x20, 0x20); /* ends the highest in service: 1 */
    assert_int_equal(ISR(&p, 0x20), 0x08);
    assert_false(p.rig.level[INTR]);
    rig_out(&p.rig, 0x20, 0x63); /* specific: 3 */
    assert_true(p.rig.level[INTR]);
    assert_int_equal(pic_acknowledge(&p.pic), 0x25);
}

static void masked_inputs_wait(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    rig_out(&p.rig, 0x21, 0x10);
    pulse(&p, 4);
    assert_false(p.rig.level[INTR]);
    assert_int_equal(IRR(&p, 0x20), 0x10);
    rig_out(&p.rig, 0x21, 0x00);
    assert_true(p.rig.level[INTR]);
}

static void an_edge_interrupts_once_and_a_level_until_it_falls(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    rig_out(&p.rig, 0x4d0, 0x20); /* 5 by level */
    assert_int_equal(rig_in(&p.rig, 0x4d0), 0x20);
    input(&p, 4, true);
    assert_int_equal(pic_acknowledge(&p.pic), 0x24);
    rig_out(&p.rig, 0x20, 0x20);
    assert_false(p.rig.level[INTR]); /* still up, but no new edge */
    input(&p, 5, true);
    assert_int_equal(pic_acknowledge(&p.pic), 0x25);
    rig_out(&p.rig, 0x20, 0x20);
    assert_int_equal(pic_acknowledge(&p.pic), 0x25);
    input(&p, 5, false);
    rig_out(&p.rig, 0x20, 0x20);
    assert_false(p.rig.level[INTR]);
}

static void the_wires_of_old_stay_edges(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    rig_out(&p.rig, 0x4d0, 0xff);
    rig_out(&p.rig, 0x4d1, 0xff);
    assert_int_equal(rig_in(&p.rig, 0x4d0), 0xf8);
    assert_int_equal(rig_in(&p.rig, 0x4d1), 0xde);
}

static void a_request_that_has_gone_is_spurious(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 3);
    input(&p, 3, false);
    assert_false(p.rig.level[INTR]);
    assert_int_equal(pic_acknowledge(&p.pic), 0x27);
    assert_int_equal(ISR(&p, 0x20), 0x00);
    pulse(&p, 12);
    input(&p, 12, false);
    /* The slave's request fell too, so that the master answers. */
    assert_int_equal(pic_acknowledge(&p.pic), 0x27);
}

static void the_slave_comes_through_input_2(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 8);
    pulse(&p, 3);
    assert_int_equal(pic_acknowledge(&p.pic), 0x28); /* the slave comes before input 3 */
    assert_int_equal(ISR(&p, 0x20), 0x04);
    assert_int_equal(ISR(&p, 0xa0), 0x01);
    pulse(&p, 9); /* lower than 8: waits */
    assert_false(p.rig.level[INTR]);
    rig_out(&p.rig, 0xa0, 0x20);
    rig_out(&p.rig, 0x20, 0x62);
    assert_int_equal(pic_acknowledge(&p.pic), 0x29);
    rig_out(&p.rig, 0xa0, 0x20);
    rig_out(&p.rig, 0x20, 0x62);
    assert_int_equal(pic_acknowledge(&p.pic), 0x23);
}

static void special_nesting_lets_the_slave_interrupt_itself(void **state)
{
    (void)state;
    struct pics p;

    setup_icw4(&p, 0x11);
    pulse(&p, 12);
    assert_int_equal(pic_acknowledge(&p.pic), 0x2c);
    pulse(&p, 8);
    assert_true(p.rig.level[INTR]);
    assert_int_equal(pic_acknowledge(&p.pic), 0x28);

    setup(&p);
    pulse(&p, 12);
    assert_int_equal(pic_acknowledge(&p.pic), 0x2c);
    pulse(&p, 8);
    assert_false(p.rig.level[INTR]);
}

static void automatic_end_leaves_nothing_in_service(void **state)
{
    (void)state;
    struct pics p;

    setup_icw4(&p, 0x03);
    pulse(&p, 9);
    pulse(&p, 10);
    assert_int_equal(pic_acknowledge(&p.pic), 0x29);
    assert_int_equal(ISR(&p, 0x20), 0x00);
    assert_int_equal(pic_acknowledge(&p.pic), 0x2a); /* the second makes an edge of its own */
    assert_false(p.rig.level[INTR]);
    rig_out(&p.rig, 0x20, 0x80); /* rotate: what was served becomes the lowest */
    pulse(&p, 3);
    assert_int_equal(pic_acknowledge(&p.pic), 0x23);
    pulse(&p, 3);
    pulse(&p, 4);
    assert_int_equal(pic_acknowledge(&p.pic), 0x24);
}

static void priorities_rotate(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    rig_out(&p.rig, 0x20, 0xc4); /* 4 is the lowest: 5 the highest */
    pulse(&p, 0);
    pulse(&p, 5);
    assert_int_equal(pic_acknowledge(&p.pic), 0x25);
    rig_out(&p.rig, 0x20, 0xa0); /* end and rotate: 5 is the lowest now */
    assert_int_equal(pic_acknowledge(&p.pic), 0x20);
    pulse(&p, 5);
    pulse(&p, 6);
    assert_int_equal(pic_acknowledge(&p.pic), 0x26);
    rig_out(&p.rig, 0x20, 0xe6); /* end 6 in particular, which becomes the lowest */
    rig_out(&p.rig, 0x20, 0x60);
    pulse(&p, 6);
    assert_int_equal(pic_acknowledge(&p.pic), 0x25);
}

static void special_masking_serves_lower_inputs_too(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 1);
    assert_int_equal(pic_acknowledge(&p.pic), 0x21);
    pulse(&p, 6);
    assert_false(p.rig.level[INTR]);
    rig_out(&p.rig, 0x21, 0x02);
    rig_out(&p.rig, 0x20, 0x68);
    assert_true(p.rig.level[INTR]);
    assert_int_equal(pic_acknowledge(&p.pic), 0x26);
    rig_out(&p.rig, 0x20, 0x20); /* ends 6: masked 1 is passed over */
    assert_int_equal(ISR(&p, 0x20), 0x02);
    rig_out(&p.rig, 0x20, 0x48);
    rig_out(&p.rig, 0x20, 0x20);
    assert_int_equal(ISR(&p, 0x20), 0x00);
}

static void polling_acknowledges(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    assert_int_equal(read_back(&p, 0x20, 0x0c), 0x00);
    pulse(&p, 6);
    assert_int_equal(read_back(&p, 0x20, 0x0c), 0x86);
    assert_int_equal(ISR(&p, 0x20), 0x40);
    assert_false(p.rig.level[INTR]);
}

static void initialization_forgets_edges(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 3);
    rig_out(&p.rig, 0x21, 0xff);
    rig_out(&p.rig, 0x20, 0x11);
    assert_int_equal(rig_in(&p.rig, 0x20), 0x00); /* and reads IRR again */
    rig_out(&p.rig, 0x21, 0x40);
    rig_out(&p.rig, 0x21, 0x04);
    rig_out(&p.rig, 0x21, 0x01);
    assert_int_equal(rig_in(&p.rig, 0x21), 0x00);
    assert_false(p.rig.level[INTR]);
    pulse(&p, 3);
    assert_int_equal(pic_acknowledge(&p.pic), 0x43);
}

static void a_snapshot_keeps_requests_and_service(void **state)
{
    (void)state;
    struct pics p;

    setup(&p);
    pulse(&p, 4);
    pic_acknowledge(&p.pic);
    pulse(&p, 1);
    p.rig.level[INTR] = false;
    rig_save_and_load(&p.rig, &pic_chip, &p.pic);
    assert_true(p.rig.level[INTR]); /* driven again */
    assert_int_equal(pic_acknowledge(&p.pic), 0x21);
    rig_out(&p.rig, 0x20, 0x20);
    assert_int_equal(ISR(&p, 0x20), 0x10);
    p.pic.half[1].lowest = 8;
    assert_false(pic_chip.loaded(&p.pic));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_input_wins_and_blocks_those_below),
        cmocka_unit_test(masked_inputs_wait),
        cmocka_unit_test(an_edge_interrupts_once_and_a_level_until_it_falls),
        cmocka_unit_test(the_wires_of_old_stay_edges),
        cmocka_unit_test(a_request_that_has_gone_is_spurious),
        cmocka_unit_test(the_slave_comes_through_input_2),
        cmocka_unit_test(special_nesting_lets_the_slave_interrupt_itself),
        cmocka_unit_test(automatic_end_leaves_nothing_in_service),
        cmocka_unit_test(priorities_rotate),
        cmocka_unit_test(special_masking_serves_lower_inputs_too),
        cmocka_unit_test(polling_acknowledges),
        cmocka_unit_test(initialization_forgets_edges),
        cmocka_unit_test(a_snapshot_keeps_requests_and_service),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pic", tests, NULL, NULL);
}
