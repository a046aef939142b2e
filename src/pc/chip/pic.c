/* pic.c: see pic.h. The datasheet's words: IR inputs, IRR, ISR, IMR; initialization command words
 * (ICW) and operation command words (OCW). The slave's output is the master's input 2. */
#include "pic.h"

#include <string.h>

enum { MASTER, SLAVE, CASCADE_INPUT = 2 };

#define SPURIOUS_INPUT 7

/* 0 is the highest priority. */
static unsigned priority_of(const struct pic_half *half, unsigned input)
{
    return (input - half->lowest - 1) & 7;
}

/* The input with the highest priority among `inputs`, or -1. */
static int highest(const struct pic_half *half, uint8_t inputs)
{
    for (unsigned i = 1; i <= 8; i++) {
        unsigned input = (half->lowest + i) & 7;

        if (inputs & 1u << input)
            return (int)input;
    }
    return -1;
}

/* The input that this half asks its interrupt for, or -1. */
static int requesting(const struct pic_half *half, bool master)
{
    int input = highest(half, half->irr & ~half->imr);
    uint8_t blocking = half->isr;

    if (input < 0)
        return -1;
    if (half->mask_special) /* masked inputs in service do not inhibit: datasheet, special mask */
        blocking &= ~half->imr;
    if (half->nested_special && master) /* the slave may ask again while it is in service */
        blocking &= ~(1u << CASCADE_INPUT);
    int serving = highest(half, blocking);
    if (serving >= 0 && priority_of(half, (unsigned)serving) <= priority_of(half, (unsigned)input))
        return -1;
    return input;
}

/* Lets the level of an input arrive at the request register. In edge mode the request is a latch
 * that a falling line clears, which is why a request can be gone when it is acknowledged. */
static void set_input(struct pic_half *half, unsigned input, bool level)
{
    uint8_t bit = (uint8_t)(1u << input);
    bool was = half->lines & bit;

    half->lines = level ? half->lines | bit : half->lines & ~bit;
    if (!level)
        half->irr &= ~bit;
    else if (half->elcr & bit || !was)
        half->irr |= bit;
}

static void update(struct pic *pic)
{
    set_input(&pic->half[MASTER], CASCADE_INPUT, requesting(&pic->half[SLAVE], false) >= 0);
    line_set(&pic->intr, requesting(&pic->half[MASTER], true) >= 0);
}

static void input_changed(void *opaque, unsigned number, bool level)
{
    struct pic *pic = opaque;
    struct pic_half *half = &pic->half[number >> 3];

    if (level == !!(half->lines & 1u << (number & 7)))
        return;
    if (pic->trace)
        pic->trace(pic->opaque, level ? "irq up" : "irq down", number);
    set_input(half, number & 7, level);
    update(pic);
}

struct line pic_input(struct pic *pic, unsigned irq)
{
    return (struct line){.set = input_changed, .opaque = pic, .number = irq};
}

static void end_of_interrupt(struct pic_half *half, unsigned input, bool rotate)
{
    half->isr &= ~(1u << input);
    if (rotate)
        half->lowest = (uint8_t)input;
}

/* Takes an input into service; a level input keeps asking for as long as its line is up. */
static void take(struct pic_half *half, unsigned input)
{
    uint8_t bit = (uint8_t)(1u << input);

    half->isr |= bit;
    if (!(half->elcr & bit))
        half->irr &= ~bit;
    if (half->auto_eoi)
        end_of_interrupt(half, input, half->rotate_on_auto_eoi);
}

static int acknowledge_half(struct pic_half *half, bool master)
{
    int input = requesting(half, master);

    if (input >= 0)
        take(half, (unsigned)input);
    return input;
}

/* The slave's output falls with the acknowledge, so that what still waits makes a new edge. */
static int acknowledge(struct pic *pic, unsigned which)
{
    int input = acknowledge_half(&pic->half[which], which == MASTER);

    if (which == SLAVE)
        set_input(&pic->half[MASTER], CASCADE_INPUT, false);
    return input;
}

int pic_acknowledge(struct pic *pic)
{
    struct pic_half *half = &pic->half[MASTER];
    int input = acknowledge(pic, MASTER);

    if (input == CASCADE_INPUT) {
        half = &pic->half[SLAVE];
        input = acknowledge(pic, SLAVE);
    }
    update(pic);
    if (input < 0)
        input = SPURIOUS_INPUT;
    if (pic->trace)
        pic->trace(pic->opaque, "interrupt", half->vector + (unsigned)input);
    return half->vector + input;
}

/* ---- Commands ---------------------------------------------------------------------------- */

static void begin_initialization(struct pic_half *half, uint8_t icw1)
{
    half->irr = half->lines & half->elcr; /* edges must come again */
    half->isr = half->imr = 0;
    half->lowest = 7;
    half->mask_special = half->read_isr = half->poll = false;
    half->rotate_on_auto_eoi = half->auto_eoi = half->nested_special = false;
    half->single = icw1 & 0x02;
    half->icw4 = icw1 & 0x01;
    half->expected = 2;
}

static void continue_initialization(struct pic_half *half, uint8_t value)
{
    switch (half->expected) {
    case 2:
        half->vector = value & 0xf8;
        half->expected = !half->single ? 3 : half->icw4 ? 4 : 0;
        break;
    case 3: /* which input the slave hangs on: it is soldered */
        half->expected = half->icw4 ? 4 : 0;
        break;
    default:
        half->auto_eoi = value & 0x02;
        half->nested_special = value & 0x10;
        half->expected = 0;
        break;
    }
}

/* OCW2: R SL EOI 0 0 L2 L1 L0. */
static void operation_2(struct pic_half *half, uint8_t value)
{
    bool rotate = value & 0x80, specific = value & 0x40, eoi = value & 0x20;
    unsigned input = value & 7;

    if (!eoi) {
        if (specific && rotate)
            half->lowest = (uint8_t)input;
        else if (!specific)
            half->rotate_on_auto_eoi = rotate;
        return;
    }
    if (!specific) {
        int serving = highest(half, half->mask_special ? half->isr & ~half->imr : half->isr);

        if (serving < 0)
            return;
        input = (unsigned)serving;
    }
    end_of_interrupt(half, input, rotate);
}

/* OCW3: 0 ESMM SMM 0 1 P RR RIS. */
static void operation_3(struct pic_half *half, uint8_t value)
{
    if (value & 0x40)
        half->mask_special = value & 0x20;
    half->poll = value & 0x04;
    if (!half->poll && value & 0x02)
        half->read_isr = value & 0x01;
}

static void write_port(struct pic *pic, struct pic_half *half, uint32_t offset, uint8_t value)
{
    if (offset == 1) {
        if (half->expected)
            continue_initialization(half, value);
        else
            half->imr = value;
    } else if (value & 0x10) {
        begin_initialization(half, value);
    } else if (value & 0x08) {
        operation_3(half, value);
    } else {
        operation_2(half, value);
    }
    update(pic);
}

static uint8_t read_port(struct pic *pic, struct pic_half *half, uint32_t offset)
{
    if (half->poll) { /* the read is the acknowledge */
        int input = acknowledge(pic, half == &pic->half[MASTER] ? MASTER : SLAVE);

        half->poll = false;
        update(pic);
        return input < 0 ? 0 : (uint8_t)(0x80 | input);
    }
    if (offset == 1)
        return half->imr;
    return half->read_isr ? half->isr : half->irr;
}

static uint32_t read_master(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct pic *pic = device;
    return read_port(pic, &pic->half[MASTER], offset);
}

static void write_master(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct pic *pic = device;
    write_port(pic, &pic->half[MASTER], offset, (uint8_t)value);
}

static uint32_t read_slave(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct pic *pic = device;
    return read_port(pic, &pic->half[SLAVE], offset);
}

static void write_slave(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct pic *pic = device;
    write_port(pic, &pic->half[SLAVE], offset, (uint8_t)value);
}

static uint32_t read_elcr(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct pic *pic = device;
    return pic->half[offset].elcr;
}

/* The timer, the keyboard, the cascade, the clock and the coprocessor are edges for ever. */
static void write_elcr(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct pic *pic = device;
    struct pic_half *half = &pic->half[offset];

    half->elcr = (uint8_t)(value & (offset == MASTER ? 0xf8 : 0xde));
    half->irr |= half->lines & half->elcr;
    update(pic);
}

static const struct bus_ops master_ops = {1, read_master, write_master};
static const struct bus_ops slave_ops = {1, read_slave, write_slave};
static const struct bus_ops elcr_ops = {1, read_elcr, write_elcr};

static void reset(void *device)
{
    struct pic *pic = device;

    for (unsigned i = 0; i < 2; i++) {
        uint8_t lines = pic->half[i].lines; /* the devices drive them, reset or not */

        memset(&pic->half[i], 0, sizeof pic->half[i]);
        pic->half[i].lines = lines;
        pic->half[i].lowest = 7;
        pic->half[i].imr = 0xff;
    }
    update(pic);
}

static bool loaded(void *device)
{
    struct pic *pic = device;

    for (unsigned i = 0; i < 2; i++) {
        struct pic_half *half = &pic->half[i];

        if (half->lowest > 7 || half->vector & 7 || half->expected > 4 || half->expected == 1)
            return false;
    }
    update(pic);
    return true;
}

static const struct pc_field half_fields[] = {
    FIELD(struct pic_half, lines),
    FIELD(struct pic_half, irr),
    FIELD(struct pic_half, isr),
    FIELD(struct pic_half, imr),
    FIELD(struct pic_half, elcr),
    FIELD(struct pic_half, vector),
    FIELD(struct pic_half, lowest),
    FIELD(struct pic_half, expected),
    FIELD(struct pic_half, single),
    FIELD(struct pic_half, icw4),
    FIELD(struct pic_half, auto_eoi),
    FIELD(struct pic_half, rotate_on_auto_eoi),
    FIELD(struct pic_half, nested_special),
    FIELD(struct pic_half, mask_special),
    FIELD(struct pic_half, read_isr),
    FIELD(struct pic_half, poll),
    FIELD_END,
};

static const struct pc_field fields[] = {
    FIELD_STRUCTS_OF(struct pic, half, half_fields),
    FIELD_END,
};

const struct chip pic_chip = {
    .name = "pic", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void pic_init(struct pic *pic, struct bus *bus, struct line intr)
{
    memset(pic, 0, sizeof *pic);
    pic->intr = intr;
    bus_claim_ports(bus, 0x20, 2, "pic", &master_ops, pic);
    bus_claim_ports(bus, 0xa0, 2, "pic", &slave_ops, pic);
    bus_claim_ports(bus, 0x4d0, 2, "elcr", &elcr_ops, pic);
    reset(pic);
}
