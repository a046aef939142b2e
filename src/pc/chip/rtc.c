/* rtc.c: see rtc.h. Register names are the datasheet's: UIP, SET, PIE, AIE, UIE, DM, UF, AF, PF.
 * The interrupt line is up from the first enabled flag until register C is read. */
#include "rtc.h"

#include "calendar.h"

#include <string.h>

enum {
    SECONDS,
    SECONDS_ALARM,
    MINUTES,
    MINUTES_ALARM,
    HOURS,
    HOURS_ALARM,
    DAY_OF_WEEK,
    DAY_OF_MONTH,
    MONTH,
    YEAR,
    A,
    B,
    C,
    D,
    CENTURY = 0x32,
};

#define A_UIP     0x80
#define A_DIVIDER 0x70 /* 010: runs at 32768 Hz; 11x: held in reset */
#define A_RATE    0x0f
#define B_SET     0x80
#define B_PIE     0x40
#define B_AIE     0x20
#define B_UIE     0x10
#define B_BINARY  0x04
#define B_24_HOUR 0x02
#define C_IRQF    0x80
#define C_PF      0x40
#define C_AF      0x20
#define C_UF      0x10
#define D_VALID   0x80

#define SECOND_NS UINT64_C(1000000000)
#define UIP_NS    UINT64_C(244000) /* UIP announces the update by 244 us */
#define DAY       86400

/* Moments here count from a second before power-on, so that the start of the running second and
 * of the divider always have a number. */
static uint64_t rtc_now(const struct rtc *rtc)
{
    return clock_now(rtc->clock) + SECOND_NS;
}

/* ---- The date ----------------------------------------------------------------------------- */

static bool divider_runs(const struct rtc *rtc)
{
    return (rtc->cmos[A] & A_DIVIDER) == 0x20;
}

/* Updates go on unless SET or the divider holds them. */
static bool updating(const struct rtc *rtc)
{
    return divider_runs(rtc) && !(rtc->cmos[B] & B_SET);
}

/* Seconds begun between second_ns and `ns`. */
static uint64_t updates_until(const struct rtc *rtc, uint64_t ns)
{
    return ns > rtc->second_ns ? (ns - rtc->second_ns) / SECOND_NS : 0;
}

static int64_t date_now(const struct rtc *rtc)
{
    if (!updating(rtc))
        return rtc->seconds;
    return rtc->seconds + (int64_t)updates_until(rtc, rtc_now(rtc));
}

static uint8_t encoded(const struct rtc *rtc, unsigned value)
{
    return (uint8_t)(rtc->cmos[B] & B_BINARY ? value : value / 10 << 4 | value % 10);
}

static unsigned decoded(const struct rtc *rtc, uint8_t value)
{
    return rtc->cmos[B] & B_BINARY ? value : (value >> 4) * 10u + (value & 15u);
}

/* Hours of a 12-hour clock run 12, 1, … 11, with bit 7 for the afternoon. */
static uint8_t encoded_hour(const struct rtc *rtc, unsigned hour)
{
    if (rtc->cmos[B] & B_24_HOUR)
        return encoded(rtc, hour);
    return (uint8_t)(encoded(rtc, (hour + 11) % 12 + 1) | (hour >= 12 ? 0x80 : 0));
}

static unsigned decoded_hour(const struct rtc *rtc, uint8_t value)
{
    if (rtc->cmos[B] & B_24_HOUR)
        return decoded(rtc, value);
    return decoded(rtc, value & 0x7f) % 12 + (value & 0x80 ? 12 : 0);
}

static void store_date(struct rtc *rtc, int64_t seconds)
{
    struct calendar date = calendar_of(seconds);

    rtc->cmos[SECONDS] = encoded(rtc, date.second);
    rtc->cmos[MINUTES] = encoded(rtc, date.minute);
    rtc->cmos[HOURS] = encoded_hour(rtc, date.hour);
    rtc->cmos[DAY_OF_WEEK] = encoded(rtc, date.weekday + 1);
    rtc->cmos[DAY_OF_MONTH] = encoded(rtc, date.day);
    rtc->cmos[MONTH] = encoded(rtc, date.month);
    rtc->cmos[YEAR] = encoded(rtc, date.year % 100);
    rtc->cmos[CENTURY] = (uint8_t)(date.year / 1000 << 4 | date.year / 100 % 10);
}

static int64_t read_date(const struct rtc *rtc)
{
    uint8_t century = rtc->cmos[CENTURY];
    struct calendar date = {
        .year = ((century >> 4) * 10u + (century & 15u)) * 100 + decoded(rtc, rtc->cmos[YEAR]),
        .month = decoded(rtc, rtc->cmos[MONTH]),
        .day = decoded(rtc, rtc->cmos[DAY_OF_MONTH]),
        .hour = decoded_hour(rtc, rtc->cmos[HOURS]),
        .minute = decoded(rtc, rtc->cmos[MINUTES]),
        .second = decoded(rtc, rtc->cmos[SECONDS]),
    };

    return calendar_seconds(&date);
}

/* ---- Flags -------------------------------------------------------------------------------- */

/* An alarm byte from C0h up matches everything. */
static bool alarm_matches(const struct rtc *rtc, int64_t second_of_day)
{
    const uint8_t *cmos = rtc->cmos;
    int64_t s = second_of_day;

    return (cmos[SECONDS_ALARM] >= 0xc0 || decoded(rtc, cmos[SECONDS_ALARM]) == s % 60) &&
           (cmos[MINUTES_ALARM] >= 0xc0 || decoded(rtc, cmos[MINUTES_ALARM]) == s / 60 % 60) &&
           (cmos[HOURS_ALARM] >= 0xc0 || decoded_hour(rtc, cmos[HOURS_ALARM]) == s / 3600);
}

/* Whether the alarm's time was among the updates after `from`, up to `to`. */
static bool alarm_between(const struct rtc *rtc, uint64_t from, uint64_t to)
{
    if (to - from >= DAY)
        from = to - DAY;
    for (uint64_t update = from + 1; update <= to; update++) {
        int64_t second_of_day = (rtc->seconds + (int64_t)update) % DAY;

        if (alarm_matches(rtc, second_of_day < 0 ? second_of_day + DAY : second_of_day))
            return true;
    }
    return false;
}

/* A period of the square wave in 1/32768 s; 0: off. Rates 1 and 2 repeat those of 8 and 9. */
static uint64_t period(const struct rtc *rtc)
{
    unsigned rate = rtc->cmos[A] & A_RATE;

    if (!divider_runs(rtc) || rate == 0)
        return 0;
    return UINT64_C(1) << (rate < 3 ? rate + 6 : rate - 1);
}

/* 1/32768 s are 1953125/64 ns. */
static uint64_t periods_until(const struct rtc *rtc, uint64_t ns)
{
    uint64_t since = ns - rtc->divider_ns;
    uint64_t ticks = since / SECOND_NS * 32768 + since % SECOND_NS * 64 / 1953125;

    return ticks / period(rtc);
}

static uint64_t ns_of_period(const struct rtc *rtc, uint64_t number)
{
    uint64_t ticks = number * period(rtc);

    return rtc->divider_ns + ticks / 32768 * SECOND_NS + (ticks % 32768 * 1953125 + 63) / 64;
}

/* Register C: what was kept, and what happened since. */
static uint8_t flags(const struct rtc *rtc)
{
    uint64_t now = rtc_now(rtc);
    uint8_t c = rtc->kept_c;

    if (updating(rtc)) {
        uint64_t from = updates_until(rtc, rtc->seen_ns), to = updates_until(rtc, now);

        if (to > from)
            c |= C_UF;
        if (alarm_between(rtc, from, to))
            c |= C_AF;
    }
    if (period(rtc) && periods_until(rtc, now) > periods_until(rtc, rtc->seen_ns))
        c |= C_PF;
    if (c & rtc->cmos[B])
        c |= C_IRQF;
    return c;
}

/* Keeps what has happened so far: the next look goes no further back than here. Also before a
 * register changes, because flags are worked out from the registers as they are. */
static void keep_flags(struct rtc *rtc)
{
    rtc->kept_c = flags(rtc) & (C_PF | C_AF | C_UF);
    rtc->seen_ns = rtc_now(rtc);
}

/* Sets the line, and the events that can raise it. */
static void schedule(struct rtc *rtc)
{
    uint64_t now = rtc_now(rtc);

    keep_flags(rtc);
    bool pending = rtc->kept_c & rtc->cmos[B];

    line_set(&rtc->irq, pending);
    clock_cancel(rtc->clock, &rtc->second);
    clock_cancel(rtc->clock, &rtc->periodic);
    if (pending) /* nothing can happen before register C is read */
        return;
    if (rtc->cmos[B] & (B_UIE | B_AIE) && updating(rtc))
        clock_at(rtc->clock, &rtc->second, rtc->second_ns + updates_until(rtc, now) * SECOND_NS);
    if (rtc->cmos[B] & B_PIE && period(rtc))
        clock_at(rtc->clock, &rtc->periodic,
                 ns_of_period(rtc, periods_until(rtc, now) + 1) - SECOND_NS);
}

static void event_due(void *device)
{
    schedule(device);
}

/* ---- Registers ---------------------------------------------------------------------------- */

static bool is_time(unsigned index)
{
    return index == SECONDS || index == MINUTES || index == HOURS ||
           (index >= DAY_OF_WEEK && index <= YEAR) || index == CENTURY;
}

/* Lets the date stand still in the registers (running = false), or takes it from them again. The
 * first update after a divider reset comes half a second later. */
static void change_updating(struct rtc *rtc, bool was, int64_t date, uint64_t phase_ns)
{
    uint64_t now = rtc_now(rtc);

    if (was && !updating(rtc)) {
        rtc->seconds = date;
        store_date(rtc, date);
    } else if (!was && updating(rtc)) {
        rtc->seconds = read_date(rtc);
        rtc->second_ns = now - phase_ns;
    }
}

static void write_a(struct rtc *rtc, uint8_t value)
{
    uint64_t now = rtc_now(rtc);
    bool was = updating(rtc), ran = divider_runs(rtc);
    int64_t date = date_now(rtc);

    rtc->cmos[A] = value & ~A_UIP;
    if (!ran && divider_runs(rtc))
        rtc->divider_ns = now;
    change_updating(rtc, was, date, SECOND_NS / 2);
}

/* SET stops the registers, not the divider: the phase of the second goes on. */
static void write_b(struct rtc *rtc, uint8_t value)
{
    uint64_t now = rtc_now(rtc);
    bool was = updating(rtc);
    int64_t date = date_now(rtc);
    uint64_t phase = now > rtc->second_ns ? (now - rtc->second_ns) % SECOND_NS : 0;

    rtc->cmos[B] = value & B_SET ? value & ~B_UIE : value; /* SET clears UIE */
    change_updating(rtc, was, date, phase);
}

static uint8_t read_register(struct rtc *rtc, unsigned index)
{
    uint64_t now = rtc_now(rtc);
    uint8_t value;

    if (is_time(index) && updating(rtc))
        store_date(rtc, date_now(rtc));
    switch (index) {
    case A:
        if (updating(rtc) && now >= rtc->second_ns &&
            (now - rtc->second_ns) % SECOND_NS >= SECOND_NS - UIP_NS)
            return rtc->cmos[A] | A_UIP;
        return rtc->cmos[A];
    case C:
        value = flags(rtc);
        rtc->kept_c = 0;
        rtc->seen_ns = now;
        schedule(rtc);
        return value;
    case D:
        return D_VALID;
    default:
        return rtc->cmos[index];
    }
}

/* A time register written while the clock runs changes the date at once. */
static void write_time(struct rtc *rtc, unsigned index, uint8_t value)
{
    uint64_t now = clock_now(rtc->clock), updates;

    if (!updating(rtc)) {
        rtc->cmos[index] = value;
        return;
    }
    updates = updates_until(rtc, now);
    store_date(rtc, date_now(rtc));
    rtc->cmos[index] = value;
    rtc->seconds = read_date(rtc) - (int64_t)updates;
}

static void write_register(struct rtc *rtc, unsigned index, uint8_t value)
{
    keep_flags(rtc);
    if (is_time(index))
        write_time(rtc, index, value);
    else if (index == A)
        write_a(rtc, value);
    else if (index == B)
        write_b(rtc, value);
    else if (index != C && index != D)
        rtc->cmos[index] = value;
    schedule(rtc);
}

static uint32_t read_port(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct rtc *rtc = device;
    return offset == 0 ? 0xff : read_register(rtc, rtc->index);
}

/* Bit 7 of the index port masks the NMI, which nothing here raises. */
static void write_port(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct rtc *rtc = device;

    if (offset == 0)
        rtc->index = value & 0x7f;
    else
        write_register(rtc, rtc->index, (uint8_t)value);
}

static const struct bus_ops ops = {1, read_port, write_port};

/* ---- The chip ----------------------------------------------------------------------------- */

/* It has a battery: a reset clears only the interrupt enables (datasheet, RESET). */
static void reset(void *device)
{
    struct rtc *rtc = device;

    rtc->cmos[B] &= ~(B_PIE | B_AIE | B_UIE);
    rtc->kept_c = 0;
    rtc->seen_ns = rtc_now(rtc);
    schedule(rtc);
}

static bool loaded(void *device)
{
    struct rtc *rtc = device;
    uint64_t now = rtc_now(rtc);

    return rtc->index < sizeof rtc->cmos && rtc->second_ns <= now && rtc->divider_ns <= now &&
           rtc->seen_ns <= now && rtc->divider_ns <= rtc->seen_ns &&
           rtc->seconds < INT64_C(1) << 48 && rtc->seconds > -(INT64_C(1) << 48);
}

static const struct pc_field fields[] = {
    FIELD(struct rtc, index),      FIELD_ARRAY(struct rtc, cmos),
    FIELD(struct rtc, second_ns),  FIELD(struct rtc, seconds),
    FIELD(struct rtc, divider_ns), FIELD(struct rtc, seen_ns),
    FIELD(struct rtc, kept_c),     FIELD_END,
};

const struct chip rtc_chip = {
    .name = "rtc", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

/* The bytes in which a PC's BIOS keeps what it found (PC/AT technical reference, CMOS). */
static void fill_cmos(struct rtc *rtc, uint32_t ram_bytes)
{
    uint32_t above_1m = (ram_bytes >> 10) - 1024, above_16m = 0;

    if (ram_bytes > 16 << 20)
        above_16m = (ram_bytes - (16 << 20)) >> 16;
    if (above_1m > 0xffff)
        above_1m = 0xffff;
    rtc->cmos[0x14] = 0x06; /* equipment: coprocessor, pointing device, VGA */
    rtc->cmos[0x15] = 640 & 0xff;
    rtc->cmos[0x16] = 640 >> 8;
    rtc->cmos[0x17] = rtc->cmos[0x30] = (uint8_t)above_1m;
    rtc->cmos[0x18] = rtc->cmos[0x31] = (uint8_t)(above_1m >> 8);
    rtc->cmos[0x34] = (uint8_t)above_16m;
    rtc->cmos[0x35] = (uint8_t)(above_16m >> 8);
}

void rtc_init(struct rtc *rtc, struct bus *bus, struct clock *clock, struct line irq,
              int64_t seconds, uint32_t ram_bytes)
{
    memset(rtc, 0, sizeof *rtc);
    rtc->clock = clock;
    rtc->irq = irq;
    rtc->seconds = seconds;
    rtc->second_ns = rtc->divider_ns = rtc_now(rtc);
    rtc->cmos[A] = 0x26; /* 32768 Hz, 1024 periods a second */
    rtc->cmos[B] = B_24_HOUR;
    fill_cmos(rtc, ram_bytes);
    clock_add(clock, &rtc->second, "rtc second", event_due, rtc);
    clock_add(clock, &rtc->periodic, "rtc periodic", event_due, rtc);
    bus_claim_ports(bus, 0x70, 2, "rtc", &ops, rtc);
    reset(rtc);
}
