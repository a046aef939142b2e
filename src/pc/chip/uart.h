/* uart.h: a 16550A serial port (National PC16550D datasheet), wired as in a PC: its interrupt
 * leaves the card only while OUT2 is set.
 *
 * The wire is quick: a character takes UART_CHARACTER_NS whatever the divisor says, so that a
 * console does not cost a guest 87 us a letter. All else, FIFOs, triggers and timeouts, follows the
 * datasheet in that time. What the host sends waits on the wire until there is room. */
#ifndef PC_CHIP_UART_H
#define PC_CHIP_UART_H

#include "../bus.h"
#include "../clock.h"
#include "chip.h"

#include <stddef.h>

#define UART_CHARACTER_NS 1000
#define UART_FIFO         16
#define UART_WIRE         4096

struct uart_fifo {
    uint8_t byte[UART_FIFO], status[UART_FIFO]; /* status: the LSR error bits of the byte */
    uint8_t first, count;
};

struct uart {
    uint8_t ier, lcr, mcr, scratch, fcr;
    uint8_t msr;        /* delta bits, and the levels as they were last seen */
    uint8_t lsr_errors; /* overrun */
    uint16_t divisor;
    bool thre_pending; /* the transmitter-empty interrupt, until IIR is read */
    bool timeout;      /* characters have been waiting for four character times */
    bool shifting;     /* the transmitter's shift register holds `shift` */
    uint8_t shift, last_read;
    struct uart_fifo rx, tx;
    uint8_t wire[UART_WIRE]; /* from the host, a ring */
    uint32_t wire_first, wire_count;

    unsigned number;
    struct clock *clock;
    struct clock_event transmitted, received, timed_out;
    struct line irq;
    void (*send)(void *opaque, unsigned number, uint8_t byte); /* to the host */
    void *opaque;
};

extern const struct chip uart_chip[2];

/* COM1 (number 0, 3F8h) or COM2 (1, 2F8h). */
void uart_init(struct uart *uart, unsigned number, struct bus *bus, struct clock *clock,
               struct line irq, void (*send)(void *opaque, unsigned number, uint8_t byte),
               void *opaque);

/* Puts bytes on the wire; returns how many found room. */
size_t uart_receive(struct uart *uart, const uint8_t *bytes, size_t count);

#endif
