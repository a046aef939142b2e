/* uart.c: the 16550A's registers, FIFOs, interrupts in their order, and loopback. A character
 * takes a microsecond on this wire. */
#include "rig.h"

#include "pc/chip/uart.h"

#include <string.h>

enum { IRQ4 = 4, BASE = 0x3f8, THR = 0, RBR = 0, IER, IIR, FCR = 2, LCR, MCR, LSR, MSR, SCR };

struct port {
    struct rig rig;
    struct uart uart;
    char sent[64];
};

static void send(void *opaque, unsigned number, uint8_t byte)
{
    struct port *p = opaque;
    size_t length = strlen(p->sent);

    assert_int_equal(number, 0);
    assert_true(length + 1 < sizeof p->sent);
    p->sent[length] = (char)byte;
}

static void setup(struct port *p)
{
    memset(p, 0, sizeof *p);
    rig_init(&p->rig);
    uart_init(&p->uart, 0, &p->rig.bus, &p->rig.clock, rig_line(&p->rig, IRQ4), send, p);
}

static uint8_t get(struct port *p, unsigned reg)
{
    return rig_in(&p->rig, (uint16_t)(BASE + reg));
}

static void set(struct port *p, unsigned reg, uint8_t value)
{
    rig_out(&p->rig, (uint16_t)(BASE + reg), value);
}

static void receive(struct port *p, const char *text)
{
    assert_int_equal(uart_receive(&p->uart, (const uint8_t *)text, strlen(text)), strlen(text));
}

static void characters(struct port *p, unsigned count)
{
    rig_pass(&p->rig, (uint64_t)count * UART_CHARACTER_NS);
}

static void characters_are_sent_one_after_the_other(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    assert_int_equal(get(&p, LSR), 0x60);
    set(&p, THR, 'a');
    assert_int_equal(get(&p, LSR), 0x20); /* on the wire already: room for one more */
    set(&p, THR, 'b');
    assert_int_equal(get(&p, LSR), 0x00);
    assert_string_equal(p.sent, "");
    characters(&p, 1);
    assert_string_equal(p.sent, "a");
    assert_int_equal(get(&p, LSR), 0x20);
    characters(&p, 1);
    assert_string_equal(p.sent, "ab");
    assert_int_equal(get(&p, LSR), 0x60);
}

static void the_fifo_takes_sixteen(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, FCR, 0x01);
    assert_int_equal(get(&p, IIR), 0xc1);
    for (unsigned i = 0; i < 17; i++) /* one on the wire and sixteen behind it */
        set(&p, THR, (uint8_t)('a' + i));
    set(&p, THR, '!'); /* in the place of the last */
    characters(&p, 20);
    assert_string_equal(p.sent, "abcdefghijklmnop!");
    set(&p, THR, 'x');
    set(&p, THR, 'y');
    set(&p, FCR, 0x05); /* clears what waits, not what is on the wire */
    characters(&p, 3);
    assert_string_equal(p.sent, "abcdefghijklmnop!x");
}

static void the_transmitter_interrupts_when_empty(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, MCR, 0x08);
    set(&p, FCR, 0x01);
    set(&p, IER, 0x02);
    assert_true(p.rig.level[IRQ4]); /* enabling it while empty asks at once */
    assert_int_equal(get(&p, IIR), 0xc2);
    assert_false(p.rig.level[IRQ4]); /* reading which it was takes it back */
    assert_int_equal(get(&p, IIR), 0xc1);
    set(&p, THR, 'a');
    set(&p, THR, 'b');
    assert_false(p.rig.level[IRQ4]);
    characters(&p, 1);
    assert_true(p.rig.level[IRQ4]);
    set(&p, THR, 'c'); /* writing does too */
    assert_false(p.rig.level[IRQ4]);
    characters(&p, 5);
    assert_true(p.rig.level[IRQ4]);
    set(&p, IER, 0x00);
    assert_false(p.rig.level[IRQ4]);
}

static void received_characters_interrupt(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, MCR, 0x08);
    set(&p, IER, 0x01);
    receive(&p, "hi");
    assert_int_equal(get(&p, LSR), 0x60);
    characters(&p, 1);
    assert_true(p.rig.level[IRQ4]);
    assert_int_equal(get(&p, IIR), 0x04);
    assert_int_equal(get(&p, LSR), 0x61);
    characters(&p, 10); /* without a FIFO the wire waits: nothing is lost */
    assert_int_equal(get(&p, RBR), 'h');
    assert_false(p.rig.level[IRQ4]);
    characters(&p, 1);
    assert_int_equal(get(&p, RBR), 'i');
    assert_int_equal(get(&p, LSR), 0x60);
    assert_int_equal(get(&p, RBR), 'i'); /* what was read last */
}

static void the_trigger_level_and_the_timeout(void **state)
{
    (void)state;
    static const uint8_t levels[4] = {1, 4, 8, 14};

    for (unsigned i = 1; i < 4; i++) {
        struct port p;

        setup(&p);
        set(&p, MCR, 0x08);
        set(&p, FCR, (uint8_t)(0x01 | i << 6));
        set(&p, IER, 0x01);
        receive(&p, "abcdefghijklmnopqrstuvwxyz");
        characters(&p, levels[i] - 1u);
        assert_false(p.rig.level[IRQ4]);
        characters(&p, 1);
        assert_int_equal(get(&p, IIR), 0xc4);
        characters(&p, 100); /* full: the rest waits on the wire */
        for (unsigned n = 0; n < 26; n++) {
            assert_int_equal(get(&p, RBR), 'a' + n);
            characters(&p, 1);
        }
        receive(&p, "z");
        characters(&p, 1);
        assert_false(p.rig.level[IRQ4]);
        characters(&p, 3);
        assert_false(p.rig.level[IRQ4]);
        characters(&p, 1);
        assert_int_equal(get(&p, IIR), 0xcc);
        assert_int_equal(get(&p, RBR), 'z');
        assert_int_equal(get(&p, IIR), 0xc1);
    }
}

static void interrupts_have_an_order(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, IER, 0x0f);
    set(&p, MCR, 0x10); /* loopback: the outputs, all low now, come back as inputs */
    assert_int_equal(get(&p, IIR), 0x02);
    assert_int_equal(get(&p, IIR), 0x00);
    set(&p, THR, 'a');
    characters(&p, 1);
    assert_int_equal(get(&p, IIR), 0x04);
    set(&p, LCR, 0x43);                          /* a break: zeros, with their bit */
    assert_int_equal(get(&p, LSR) & 0x02, 0x02); /* and the overrun of 'a' */
    set(&p, FCR, 0x03);
    set(&p, LCR, 0x03);
    set(&p, LCR, 0x43);
    assert_int_equal(get(&p, IIR), 0xc6);
    assert_int_equal(get(&p, LSR) & 0x9f, 0x91);
    assert_int_equal(get(&p, IIR), 0xc4);
    assert_int_equal(get(&p, RBR), 0);
    assert_int_equal(get(&p, IIR), 0xc2);
    assert_int_equal(get(&p, IIR), 0xc0);
    assert_int_equal(get(&p, MSR), 0x0b);
    assert_int_equal(get(&p, IIR), 0xc1);
}

static void loopback_returns_characters_and_modem_lines(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    assert_int_equal(get(&p, MSR), 0xb0); /* the other end is there */
    receive(&p, "x");
    set(&p, MCR, 0x1f);
    assert_int_equal(get(&p, MSR), 0xf0);
    set(&p, MCR, 0x10);
    assert_int_equal(get(&p, MSR), 0x0f); /* all fell: RI's delta is its fall */
    set(&p, MCR, 0x1a);
    assert_int_equal(get(&p, MSR), 0x99);
    set(&p, MCR, 0x1e);
    assert_int_equal(get(&p, MSR), 0xd0); /* RI rising has none */
    set(&p, THR, 'q');
    characters(&p, 9);
    assert_int_equal(get(&p, RBR), 'q'); /* not the wire's x */
    assert_string_equal(p.sent, "");
    assert_false(p.rig.level[IRQ4]);
    set(&p, MCR, 0x0b);
    characters(&p, 1);
    assert_int_equal(get(&p, RBR), 'x');
}

static void the_interrupt_needs_out2(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, IER, 0x02);
    assert_false(p.rig.level[IRQ4]);
    set(&p, MCR, 0x08);
    assert_true(p.rig.level[IRQ4]);
}

static void the_divisor_hides_behind_dlab(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, SCR, 0x5a);
    assert_int_equal(get(&p, SCR), 0x5a);
    set(&p, IER, 0xff);
    assert_int_equal(get(&p, IER), 0x0f); /* four bits exist: how a driver knows the chip */
    set(&p, LCR, 0x83);
    set(&p, 0, 0x01);
    set(&p, 1, 0x02);
    assert_int_equal(get(&p, 0), 0x01);
    assert_int_equal(get(&p, 1), 0x02);
    set(&p, LCR, 0x03);
    assert_int_equal(get(&p, IER), 0x0f);
    set(&p, MCR, 0xff);
    assert_int_equal(get(&p, MCR), 0x1f);
}

static void the_wire_holds_what_it_says(void **state)
{
    (void)state;
    struct port p;
    static const uint8_t many[UART_WIRE + 100];

    setup(&p);
    assert_int_equal(uart_receive(&p.uart, many, sizeof many), UART_WIRE);
    assert_int_equal(uart_receive(&p.uart, many, 1), 0);
    characters(&p, 1);
    assert_int_equal(uart_receive(&p.uart, many, 5), 1);
}

static void a_snapshot_keeps_characters_on_their_way(void **state)
{
    (void)state;
    struct port p;

    setup(&p);
    set(&p, FCR, 0x81);
    set(&p, THR, 'a');
    set(&p, THR, 'b');
    receive(&p, "xyz");
    rig_pass(&p.rig, UART_CHARACTER_NS * 3 / 2);
    rig_save_and_load(&p.rig, &uart_chip[0], &p.uart);
    characters(&p, 10);
    assert_string_equal(p.sent, "ab");
    assert_int_equal(get(&p, RBR), 'x');
    assert_int_equal(get(&p, RBR), 'y');
    assert_int_equal(get(&p, RBR), 'z');
    p.uart.rx.count = 17;
    assert_false(uart_chip[0].loaded(&p.uart));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_sent_one_after_the_other),
        cmocka_unit_test(the_fifo_takes_sixteen),
        cmocka_unit_test(the_transmitter_interrupts_when_empty),
        cmocka_unit_test(received_characters_interrupt),
        cmocka_unit_test(the_trigger_level_and_the_timeout),
        cmocka_unit_test(interrupts_have_an_order),
        cmocka_unit_test(loopback_returns_characters_and_modem_lines),
        cmocka_unit_test(the_interrupt_needs_out2),
        cmocka_unit_test(the_divisor_hides_behind_dlab),
        cmocka_unit_test(the_wire_holds_what_it_says),
        cmocka_unit_test(a_snapshot_keeps_characters_on_their_way),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("uart", tests, NULL, NULL);
}
