/* pit.c: see pit.h. "CE" is the datasheet's counting element, "CR" its count register. */
#include "pit.h"

#include <string.h>

/* The input clock is 14.31818 MHz / 12 = 105/88 MHz: 88000 ns are 105 ticks. Power-on is tick
 * 65536, so that the start of a period always has a number. */
#define FIRST_TICK 0x10000

static uint64_t now_tick(const struct pit *pit)
{
    uint64_t ns = clock_now(pit->clock);

    return FIRST_TICK + ns / 88000 * 105 + ns % 88000 * 105 / 88000;
}

/* The first moment that belongs to a tick. */
static uint64_t ns_of(uint64_t tick)
{
    tick -= FIRST_TICK;
    return tick / 105 * 88000 + (tick % 105 * 88000 + 104) / 105;
}

static uint32_t modulus(const struct pit_channel *ch)
{
    return ch->bcd ? 10000 : 0x10000;
}

/* Ticks since the CE was loaded; a load one tick ahead counts as none. */
static uint64_t elapsed(const struct pit_channel *ch, uint64_t now)
{
    if (ch->stopped)
        return ch->elapsed;
    return now > ch->start ? now - ch->start : 0;
}

/* In mode 3 the output is high for the longer half of an odd count. */
static uint32_t high_ticks(const struct pit_channel *ch)
{
    return (ch->count + 1) / 2;
}

static bool output(const struct pit_channel *ch, uint64_t now)
{
    uint64_t gone = elapsed(ch, now);

    if (!ch->loaded)
        return ch->mode != 0;
    switch (ch->mode) {
    case 0:
    case 1:
        return gone >= ch->count;
    case 2:
        return ch->stopped || gone % ch->count != ch->count - 1;
    case 3:
        return ch->stopped || gone % ch->count < high_ticks(ch);
    default: /* a strobe of one tick, then a count that runs on around without another */
        return gone != ch->count;
    }
}

/* The tick of the next change of the output after `now`; 0 when there is none to come. */
static uint64_t next_change(const struct pit_channel *ch, uint64_t now)
{
    uint64_t gone = elapsed(ch, now), phase = gone % ch->count, start = ch->start;

    if (!ch->loaded || ch->stopped)
        return 0;
    switch (ch->mode) {
    case 0:
    case 1:
        return gone < ch->count ? start + ch->count : 0;
    case 2:
        if (ch->count == 1)
            return 0;
        return start + gone - phase + (phase < ch->count - 1 ? ch->count - 1 : ch->count);
    case 3:
        if (ch->count == 1)
            return 0;
        return start + gone - phase + (phase < high_ticks(ch) ? high_ticks(ch) : ch->count);
    default:
        if (gone > ch->count)
            return 0;
        return start + ch->count + (gone == ch->count);
    }
}

/* What the CE holds, 0 to 65535. */
static uint32_t counting_element(const struct pit_channel *ch, uint64_t now)
{
    uint64_t gone = elapsed(ch, now);
    uint32_t phase, even;

    if (!ch->loaded)
        return ch->count % modulus(ch);
    switch (ch->mode) {
    case 2:
        return ch->count - (uint32_t)(gone % ch->count);
    case 3: /* by two; an odd count is loaded less one, twice a period */
        phase = (uint32_t)(gone % ch->count);
        even = ch->count & ~1u;
        return even - 2 * (phase < high_ticks(ch) ? phase : phase - high_ticks(ch));
    default:
        return (ch->count + modulus(ch) - (uint32_t)(gone % modulus(ch))) % modulus(ch);
    }
}

static uint16_t to_bcd(uint32_t n)
{
    return (uint16_t)(n % 10 | n / 10 % 10 << 4 | n / 100 % 10 << 8 | n / 1000 % 10 << 12);
}

static uint32_t from_bcd(uint16_t n)
{
    return (n & 15u) + (n >> 4 & 15u) * 10 + (n >> 8 & 15u) * 100 + (n >> 12 & 15u) * 1000;
}

static uint16_t readable(const struct pit_channel *ch, uint32_t value)
{
    value %= modulus(ch);
    return ch->bcd ? to_bcd(value) : (uint16_t)value;
}

/* ---- Loading ------------------------------------------------------------------------------ */

static void load(struct pit_channel *ch, uint64_t start)
{
    ch->count = ch->next;
    ch->start = start;
    ch->null_count = false;
    ch->loaded = true;
    ch->elapsed = 0;
}

/* In the periodic modes a count written meanwhile takes over at the end of the period (mode 2) or
 * of the half period (mode 3); `elapsed` holds how far the period was at the write. Called before
 * anything looks at a channel. */
static void settle(struct pit_channel *ch, uint64_t now)
{
    uint64_t phase = ch->elapsed % ch->count, boundary = ch->elapsed - phase + ch->count;
    bool half = ch->mode == 3 && phase < high_ticks(ch);

    if (!ch->null_count || !ch->loaded || ch->stopped || (ch->mode != 2 && ch->mode != 3))
        return;
    if (half)
        boundary -= ch->count - high_ticks(ch);
    if (elapsed(ch, now) < boundary)
        return;
    load(ch, ch->start + boundary);
    if (half) /* the low half comes next */
        ch->start -= high_ticks(ch);
}

static void schedule(struct pit *pit)
{
    struct pit_channel *ch = &pit->channel[0];
    uint64_t now = now_tick(pit), next;

    settle(ch, now);
    line_set(&pit->irq, output(ch, now));
    next = next_change(ch, now);
    if (next)
        clock_at(pit->clock, &pit->edge, ns_of(next));
    else
        clock_cancel(pit->clock, &pit->edge);
}

static void edge_due(void *device)
{
    schedule(device);
}

/* A whole count has arrived in the CR. */
static void count_written(struct pit *pit, struct pit_channel *ch, uint16_t written)
{
    uint64_t now = now_tick(pit);
    uint32_t value = (ch->bcd ? from_bcd(written) : written) % modulus(ch);

    settle(ch, now);
    ch->next = value ? value : modulus(ch);
    ch->null_count = true;
    switch (ch->mode) {
    case 1:
    case 5: /* the gate's rise loads it */
        break;
    case 2:
    case 3:
        if (ch->loaded) {
            if (!ch->stopped)
                ch->elapsed = elapsed(ch, now);
            break;
        }
        if (ch->gate)
            load(ch, now + 1);
        break;
    default:
        load(ch, now + 1);
        ch->stopped = !ch->gate;
        break;
    }
}

static void control_written(struct pit_channel *ch, uint8_t value)
{
    static const uint8_t mode_of[8] = {0, 1, 2, 3, 4, 5, 2, 3};

    ch->access = value >> 4 & 3;
    ch->mode = mode_of[value >> 1 & 7];
    ch->bcd = value & 1;
    ch->write_high = ch->read_high = false;
    ch->latched = 0;
    ch->status_latched = false;
    ch->null_count = true;
    ch->loaded = ch->stopped = false;
}

static void set_gate(struct pit *pit, struct pit_channel *ch, bool gate)
{
    uint64_t now = now_tick(pit);
    bool rises = gate && !ch->gate;

    if (gate == ch->gate)
        return;
    settle(ch, now);
    ch->gate = gate;
    switch (ch->mode) {
    case 1:
    case 5:
        if (rises && ch->next)
            load(ch, now + 1);
        break;
    case 2:
    case 3: /* low: the output goes high at once; high: a new period */
        if (rises && ch->next) {
            ch->stopped = false;
            load(ch, now + 1);
        } else if (ch->loaded) {
            ch->elapsed = elapsed(ch, now);
            ch->stopped = true;
        }
        break;
    default: /* the count stands still */
        if (!ch->loaded)
            break;
        if (rises) {
            ch->start = now - ch->elapsed;
            ch->stopped = false;
        } else {
            ch->elapsed = elapsed(ch, now);
            ch->stopped = true;
        }
        break;
    }
}

/* ---- Ports 40h–43h ------------------------------------------------------------------------ */

static void latch_count(struct pit *pit, struct pit_channel *ch)
{
    if (ch->latched)
        return;
    ch->latch = readable(ch, counting_element(ch, now_tick(pit)));
    ch->latched = ch->access == 3 ? 2 : 1;
}

static void latch_status(struct pit *pit, struct pit_channel *ch)
{
    if (ch->status_latched)
        return;
    ch->status = (uint8_t)(output(ch, now_tick(pit)) << 7 | ch->null_count << 6 | ch->access << 4 |
                           ch->mode << 1 | ch->bcd);
    /* The load of a count just written is a tick away; the flag tells. */
    if (ch->loaded && ch->start > now_tick(pit))
        ch->status |= 0x40;
    ch->status_latched = true;
}

static void write_control(struct pit *pit, uint8_t value)
{
    unsigned select = value >> 6;

    if (select == 3) { /* read-back: 1 1 /COUNT /STATUS CNT2 CNT1 CNT0 0 */
        for (unsigned i = 0; i < 3; i++) {
            struct pit_channel *ch = &pit->channel[i];

            if (!(value & 2u << i))
                continue;
            settle(ch, now_tick(pit));
            if (!(value & 0x20))
                latch_count(pit, ch);
            if (!(value & 0x10))
                latch_status(pit, ch);
        }
        return;
    }
    struct pit_channel *ch = &pit->channel[select];
    settle(ch, now_tick(pit));
    if ((value & 0x30) == 0) {
        latch_count(pit, ch);
        return;
    }
    control_written(ch, value);
    if (select == 0)
        schedule(pit);
}

static void write_count(struct pit *pit, struct pit_channel *ch, uint8_t value)
{
    switch (ch->access) {
    case 1:
        count_written(pit, ch, value);
        break;
    case 2:
        count_written(pit, ch, (uint16_t)(value << 8));
        break;
    case 3:
        ch->write_high = !ch->write_high;
        if (ch->write_high) {
            ch->low_written = value;
            if (ch->mode == 0) { /* the first of two bytes stops the count and the output falls */
                ch->loaded = false;
                ch->null_count = true;
            }
        } else {
            count_written(pit, ch, (uint16_t)(value << 8 | ch->low_written));
        }
        break;
    default: /* no control word yet */
        break;
    }
    if (ch == &pit->channel[0])
        schedule(pit);
}

static uint8_t read_count(struct pit *pit, struct pit_channel *ch)
{
    uint16_t value;
    bool high = ch->access == 2;

    if (ch->status_latched) {
        ch->status_latched = false;
        return ch->status;
    }
    settle(ch, now_tick(pit));
    value = ch->latched ? ch->latch : readable(ch, counting_element(ch, now_tick(pit)));
    if (ch->latched)
        ch->latched--;
    if (ch->access == 3) {
        high = ch->read_high;
        ch->read_high = !ch->read_high;
    }
    return (uint8_t)(high ? value >> 8 : value);
}

static uint32_t read_timer(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct pit *pit = device;
    return offset == 3 ? 0xff : read_count(pit, &pit->channel[offset]);
}

static void write_timer(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct pit *pit = device;

    if (offset == 3)
        write_control(pit, (uint8_t)value);
    else
        write_count(pit, &pit->channel[offset], (uint8_t)value);
}

/* ---- Port 61h ----------------------------------------------------------------------------- */

/*    7      6      5      4        3..2      1        0
 *  SERR   IOCHK  OUT 2  refresh  masks   speaker  gate 2
 * The refresh bit flips with every refresh cycle, 15 us. */
static uint32_t read_61(void *device, uint32_t offset, unsigned size)
{
    (void)offset, (void)size;
    struct pit *pit = device;
    uint64_t now = now_tick(pit);

    settle(&pit->channel[2], now);
    return (uint32_t)(pit->port_61 | (now / 18 & 1) << 4 | output(&pit->channel[2], now) << 5);
}

static void write_61(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)offset, (void)size;
    struct pit *pit = device;

    pit->port_61 = value & 0x0f;
    set_gate(pit, &pit->channel[2], value & 1);
}

/* ---- The chip ----------------------------------------------------------------------------- */

static const struct bus_ops timer_ops = {1, read_timer, write_timer};
static const struct bus_ops port_61_ops = {1, read_61, write_61};

static void reset(void *device)
{
    struct pit *pit = device;

    for (unsigned i = 0; i < 3; i++) {
        memset(&pit->channel[i], 0, sizeof pit->channel[i]);
        pit->channel[i].gate = i != 2;
        pit->channel[i].count = 0x10000;
    }
    pit->port_61 = 0;
    schedule(pit);
}

/* A count of 0 would divide by zero, and a load that lies ahead would keep the event in the past.
 */
static bool loaded(void *device)
{
    struct pit *pit = device;

    for (unsigned i = 0; i < 3; i++) {
        const struct pit_channel *ch = &pit->channel[i];

        if (ch->mode > 5 || ch->access > 3 || ch->latched > 2 || ch->next > modulus(ch) ||
            ch->count == 0 || ch->count > 0x10000 || (ch->null_count && ch->loaded && !ch->next) ||
            ch->start > now_tick(pit) + 1 || ch->elapsed > now_tick(pit))
            return false;
    }
    return true;
}

static const struct pc_field channel_fields[] = {
    FIELD(struct pit_channel, mode),
    FIELD(struct pit_channel, access),
    FIELD(struct pit_channel, bcd),
    FIELD(struct pit_channel, gate),
    FIELD(struct pit_channel, write_high),
    FIELD(struct pit_channel, read_high),
    FIELD(struct pit_channel, low_written),
    FIELD(struct pit_channel, latched),
    FIELD(struct pit_channel, latch),
    FIELD(struct pit_channel, status_latched),
    FIELD(struct pit_channel, status),
    FIELD(struct pit_channel, null_count),
    FIELD(struct pit_channel, loaded),
    FIELD(struct pit_channel, stopped),
    FIELD(struct pit_channel, next),
    FIELD(struct pit_channel, count),
    FIELD(struct pit_channel, start),
    FIELD(struct pit_channel, elapsed),
    FIELD_END,
};

static const struct pc_field fields[] = {
    FIELD_STRUCTS_OF(struct pit, channel, channel_fields),
    FIELD(struct pit, port_61),
    FIELD_END,
};

const struct chip pit_chip = {
    .name = "pit", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void pit_init(struct pit *pit, struct bus *bus, struct clock *clock, struct line irq)
{
    memset(pit, 0, sizeof *pit);
    pit->clock = clock;
    pit->irq = irq;
    clock_add(clock, &pit->edge, "pit", edge_due, pit);
    bus_claim_ports(bus, 0x40, 4, "pit", &timer_ops, pit);
    bus_claim_ports(bus, 0x61, 1, "port 61h", &port_61_ops, pit);
    reset(pit);
}
