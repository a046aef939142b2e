/* rtc.h: the MC146818 real-time clock with its 128 bytes of CMOS memory (Motorola MC146818
 * datasheet; ports 70h and 71h), on IRQ 8.
 *
 * The date is a number of seconds that moves with guest time; the time registers are worked out
 * when they are read, and flags when register C is. Events exist only for enabled interrupts. */
#ifndef PC_CHIP_RTC_H
#define PC_CHIP_RTC_H

#include "../bus.h"
#include "../clock.h"
#include "chip.h"

struct rtc {
    uint8_t index;       /* the register port 71h reaches */
    uint8_t cmos[128];   /* A, B, alarm and memory; the time registers only while SET holds them */
    uint64_t second_ns;  /* the moment at which second `seconds` began */
    int64_t seconds;     /* since 1970, as a calendar without zone or leap seconds */
    uint64_t divider_ns; /* since when the divider chain runs: phase of the periodic interrupt */
    uint64_t seen_ns;    /* flags are kept_c and what came after this */
    uint8_t kept_c;
    struct clock *clock;
    struct clock_event second, periodic;
    struct line irq;
};

extern const struct chip rtc_chip;

/* `seconds` is the date at power-on; `ram_bytes` is told in the CMOS bytes that BIOSes keep. */
void rtc_init(struct rtc *rtc, struct bus *bus, struct clock *clock, struct line irq,
              int64_t seconds, uint32_t ram_bytes);

#endif
