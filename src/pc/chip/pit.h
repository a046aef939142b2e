/* pit.h: the 8254 interval timer, and port 61h, half of whose bits are its third channel's gate
 * and output (Intel 8254 datasheet; 82371AB datasheet 4.1.6 for port 61h).
 *
 * Channel 0 drives IRQ 0. Nothing counts: a channel remembers the tick at which its counting
 * element was loaded, and count and output are functions of the tick now. Only channel 0 has an
 * event, and only while its output will change. */
#ifndef PC_CHIP_PIT_H
#define PC_CHIP_PIT_H

#include "../bus.h"
#include "../clock.h"
#include "chip.h"

struct pit_channel {
    uint8_t mode;   /* 0–5 */
    uint8_t access; /* 1 low byte, 2 high byte, 3 low then high */
    bool bcd;
    bool gate;
    bool write_high; /* access 3: the next write is the high byte */
    bool read_high;
    uint8_t low_written; /* access 3: kept until the high byte comes */
    uint8_t latched;     /* bytes of `latch` still to be read */
    uint16_t latch;
    bool status_latched;
    uint8_t status;

    bool null_count; /* a count was written that the counting element does not have yet */
    bool loaded;     /* it has one: the output moves */
    bool stopped;    /* by the gate, `elapsed` ticks after the load */
    uint32_t next;   /* the count written, 1 to 65536 (10000 in BCD) */
    uint32_t count;  /* the count at work */
    uint64_t start;  /* the tick of its load; may lie one ahead */
    uint64_t elapsed;
};

struct pit {
    struct pit_channel channel[3];
    uint8_t port_61; /* bits 0 to 3, as written */
    struct clock *clock;
    struct clock_event edge; /* channel 0's next change */
    struct line irq;
};

extern const struct chip pit_chip;

void pit_init(struct pit *pit, struct bus *bus, struct clock *clock, struct line irq);

#endif
