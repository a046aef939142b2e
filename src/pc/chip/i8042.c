/* i8042.c: the keyboard controller; see ps2.h. It is also where a PC keeps its A20 gate and its
 * reset line. Status register (port 64h):
 *
 *      7       6        5         4        3        2       1      0
 *   parity  timeout  mouse's   unlocked  command  system  input  output
 *                      byte               last            full   full
 */
#include "ps2.h"

#include <string.h>

#define STATUS_OUTPUT  0x01
#define STATUS_SYSTEM  0x04
#define STATUS_COMMAND 0x08
#define STATUS_UNLOCK  0x10
#define STATUS_MOUSE   0x20

#define BYTE_IRQ_KEYBOARD 0x01 /* the command byte */
#define BYTE_IRQ_MOUSE    0x02
#define BYTE_SYSTEM       0x04
#define BYTE_NO_KEYBOARD  0x10
#define BYTE_NO_MOUSE     0x20
#define BYTE_TRANSLATE    0x40

#define PORT_RESET 0x01 /* the output port: low resets the processor */
#define PORT_A20   0x02

static void update_irqs(struct i8042 *kbc)
{
    line_set(&kbc->irq_keyboard, kbc->full && !kbc->from_mouse && kbc->ram[0] & BYTE_IRQ_KEYBOARD);
    line_set(&kbc->irq_mouse, kbc->full && kbc->from_mouse && kbc->ram[0] & BYTE_IRQ_MOUSE);
}

/* Whether a device has a byte that may come: its clock is not held low, the buffer is free. */
static bool keyboard_waits(const struct i8042 *kbc)
{
    return kbc->keyboard.out.count && !(kbc->ram[0] & BYTE_NO_KEYBOARD);
}

static bool mouse_waits(const struct i8042 *kbc)
{
    return kbc->mouse.out.count && !(kbc->ram[0] & BYTE_NO_MOUSE);
}

static void expect(struct i8042 *kbc)
{
    if (kbc->full || !(kbc->answering || keyboard_waits(kbc) || mouse_waits(kbc)))
        clock_cancel(kbc->clock, &kbc->transfer);
    else if (!kbc->transfer.armed)
        clock_at(kbc->clock, &kbc->transfer, clock_now(kbc->clock) + PS2_BYTE_NS);
}

static void fill_buffer(struct i8042 *kbc, uint8_t byte, bool from_mouse)
{
    kbc->data = byte;
    kbc->full = true;
    kbc->from_mouse = from_mouse;
    update_irqs(kbc);
}

/* Set 2 to set 1: the break prefix F0 becomes bit 7 of the code that follows. False when the byte
 * was such a prefix, and nothing is to be seen yet. */
static bool translate(struct i8042 *kbc, uint8_t *byte)
{
    if (!(kbc->ram[0] & BYTE_TRANSLATE))
        return true;
    if (*byte == 0xf0) {
        kbc->prefix_f0 = true;
        return false;
    }
    if (*byte < 0x90)
        *byte = ps2_translate(*byte) | (kbc->prefix_f0 ? 0x80 : 0);
    kbc->prefix_f0 = false;
    return true;
}

static void transfer_due(void *device)
{
    struct i8042 *kbc = device;

    if (kbc->answering) {
        kbc->answering = false;
        fill_buffer(kbc, kbc->answer, kbc->answer_from_mouse);
        return;
    }
    while (keyboard_waits(kbc)) {
        uint8_t byte = ps2_take(&kbc->keyboard.out);

        kbc->keyboard.last_sent = byte;
        if (translate(kbc, &byte)) {
            fill_buffer(kbc, byte, false);
            return;
        }
    }
    if (mouse_waits(kbc)) {
        kbc->mouse.last_sent = ps2_take(&kbc->mouse.out);
        fill_buffer(kbc, kbc->mouse.last_sent, true);
    }
}

/* The controller's own answers are there at once. */
static void answer(struct i8042 *kbc, uint8_t byte, bool as_mouse)
{
    if (kbc->full) {
        kbc->answer = byte;
        kbc->answer_from_mouse = as_mouse;
        kbc->answering = true;
    } else {
        fill_buffer(kbc, byte, as_mouse);
    }
}

static void write_output_port(struct i8042 *kbc, uint8_t value)
{
    kbc->output_port = value;
    line_set(&kbc->a20, value & PORT_A20);
    if (!(value & PORT_RESET))
        line_set(&kbc->reset, true);
}

/* ---- Commands (port 64h) ------------------------------------------------------------------ */

static void set_bits(struct i8042 *kbc, uint8_t clear, uint8_t set)
{
    kbc->ram[0] = (uint8_t)((kbc->ram[0] & ~clear) | set);
}

static void write_command(struct i8042 *kbc, uint8_t value)
{
    kbc->last_was_command = true;
    kbc->command = 0;
    if (value >= 0x20 && value <= 0x3f) {
        answer(kbc, kbc->ram[value & 31], false);
        return;
    }
    if ((value >= 0x60 && value <= 0x7f) || (value >= 0xd1 && value <= 0xd4)) {
        kbc->command = value; /* the byte comes at port 60h */
        return;
    }
    if (value >= 0xf0) { /* pulse the low bits of the output port */
        if (!(value & PORT_RESET))
            line_set(&kbc->reset, true);
        return;
    }
    switch (value) {
    case 0xa7:
        set_bits(kbc, 0, BYTE_NO_MOUSE);
        break;
    case 0xa8:
        set_bits(kbc, BYTE_NO_MOUSE, 0);
        break;
    case 0xa9: /* test the mouse's wires, then the keyboard's: good */
    case 0xab:
        answer(kbc, 0x00, false);
        break;
    case 0xaa: /* self-test */
        kbc->system_flag = true;
        answer(kbc, 0x55, false);
        break;
    case 0xad:
        set_bits(kbc, 0, BYTE_NO_KEYBOARD);
        break;
    case 0xae:
        set_bits(kbc, BYTE_NO_KEYBOARD, 0);
        break;
    case 0xc0: /* the input port: not locked, a colour display */
        answer(kbc, 0xa0, false);
        break;
    case 0xd0:
        answer(kbc,
               (uint8_t)((kbc->output_port & ~0x30) | (kbc->full && !kbc->from_mouse) << 4 |
                         (kbc->full && kbc->from_mouse) << 5),
               false);
        break;
    case 0xe0: /* the wires' levels: both clocks idle */
        answer(kbc, 0x00, false);
        break;
    default:
        break;
    }
}

static void write_data(struct i8042 *kbc, uint8_t value)
{
    uint8_t command = kbc->command;

    kbc->last_was_command = false;
    kbc->command = 0;
    if (command >= 0x60 && command <= 0x7f) {
        kbc->ram[command & 31] = value;
        if (command == 0x60)
            kbc->system_flag = value & BYTE_SYSTEM;
        return;
    }
    switch (command) {
    case 0xd1:
        write_output_port(kbc, value);
        break;
    case 0xd2: /* as if the keyboard had sent it, then as if the mouse had */
    case 0xd3:
        answer(kbc, value, command == 0xd3);
        break;
    case 0xd4:
        set_bits(kbc, BYTE_NO_MOUSE, 0);
        ps2_mouse_write(&kbc->mouse, value);
        break;
    default:
        set_bits(kbc, BYTE_NO_KEYBOARD, 0); /* a command enables the keyboard to answer it */
        ps2_keyboard_write(&kbc->keyboard, value);
        break;
    }
}

/* ---- Ports -------------------------------------------------------------------------------- */

static uint32_t read_data_port(void *device, uint32_t offset, unsigned size)
{
    (void)offset, (void)size;
    struct i8042 *kbc = device;

    kbc->full = false;
    update_irqs(kbc);
    expect(kbc);
    return kbc->data;
}

static void write_data_port(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)offset, (void)size;
    struct i8042 *kbc = device;

    write_data(kbc, (uint8_t)value);
    update_irqs(kbc);
    expect(kbc);
}

static uint32_t read_status_port(void *device, uint32_t offset, unsigned size)
{
    (void)offset, (void)size;
    const struct i8042 *kbc = device;

    return (kbc->full ? STATUS_OUTPUT : 0) | (kbc->system_flag ? STATUS_SYSTEM : 0) |
           (kbc->last_was_command ? STATUS_COMMAND : 0) | STATUS_UNLOCK |
           (kbc->full && kbc->from_mouse ? STATUS_MOUSE : 0);
}

static void write_command_port(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)offset, (void)size;
    struct i8042 *kbc = device;

    write_command(kbc, (uint8_t)value);
    update_irqs(kbc);
    expect(kbc);
}

bool i8042_key(struct i8042 *kbc, const uint8_t *codes, size_t count)
{
    bool taken = ps2_keyboard_codes(&kbc->keyboard, codes, count);

    expect(kbc);
    return taken;
}

void i8042_mouse(struct i8042 *kbc, int dx, int dy, unsigned buttons)
{
    ps2_mouse_move(&kbc->mouse, dx, dy, buttons);
    expect(kbc);
}

static const struct bus_ops data_ops = {1, read_data_port, write_data_port};
static const struct bus_ops command_ops = {1, read_status_port, write_command_port};

/* ---- The chip ----------------------------------------------------------------------------- */

/* As a BIOS leaves it: tested, translating, keyboard interrupt on, mouse held. */
static void reset(void *device)
{
    struct i8042 *kbc = device;

    ps2_keyboard_reset(&kbc->keyboard);
    ps2_mouse_reset(&kbc->mouse);
    memset(kbc->ram, 0, sizeof kbc->ram);
    kbc->ram[0] = BYTE_IRQ_KEYBOARD | BYTE_SYSTEM | BYTE_NO_MOUSE | BYTE_TRANSLATE;
    kbc->system_flag = true;
    kbc->command = kbc->data = kbc->answer = kbc->answer_from_mouse = 0;
    kbc->full = kbc->from_mouse = kbc->last_was_command = kbc->answering = kbc->prefix_f0 = false;
    kbc->output_port = 0xcf; /* A20 on, no reset */
    expect(kbc);
    update_irqs(kbc);
}

static bool loaded(void *device)
{
    struct i8042 *kbc = device;

    return ps2_keyboard_holds(&kbc->keyboard) && ps2_mouse_holds(&kbc->mouse) &&
           kbc->answer_from_mouse <= 1;
}

static const struct pc_field fields[] = {
    FIELD_STRUCT_OF(struct i8042, keyboard, ps2_keyboard_fields),
    FIELD_STRUCT_OF(struct i8042, mouse, ps2_mouse_fields),
    FIELD_ARRAY(struct i8042, ram),
    FIELD(struct i8042, command),
    FIELD(struct i8042, output_port),
    FIELD(struct i8042, data),
    FIELD(struct i8042, full),
    FIELD(struct i8042, from_mouse),
    FIELD(struct i8042, system_flag),
    FIELD(struct i8042, last_was_command),
    FIELD(struct i8042, answer),
    FIELD(struct i8042, answer_from_mouse),
    FIELD(struct i8042, answering),
    FIELD(struct i8042, prefix_f0),
    FIELD_END,
};

const struct chip i8042_chip = {
    .name = "i8042", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void i8042_init(struct i8042 *kbc, struct bus *bus, struct clock *clock, struct line irq_keyboard,
                struct line irq_mouse, struct line a20, struct line reset_line)
{
    memset(kbc, 0, sizeof *kbc);
    kbc->clock = clock;
    kbc->irq_keyboard = irq_keyboard;
    kbc->irq_mouse = irq_mouse;
    kbc->a20 = a20;
    kbc->reset = reset_line;
    clock_add(clock, &kbc->transfer, "i8042", transfer_due, kbc);
    bus_claim_ports(bus, 0x60, 1, "i8042", &data_ops, kbc);
    bus_claim_ports(bus, 0x64, 1, "i8042", &command_ops, kbc);
    reset(kbc);
}
