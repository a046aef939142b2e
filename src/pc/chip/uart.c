/* uart.c: see uart.h. Register and bit names are the datasheet's. */
#include "uart.h"

#include <string.h>

enum { RBR_THR, IER, IIR_FCR, LCR, MCR, LSR, MSR, SCR };

#define IER_RDA   0x01
#define IER_THRE  0x02
#define IER_LINE  0x04
#define IER_MODEM 0x08

#define IIR_NONE    0x01
#define IIR_MODEM   0x00
#define IIR_THRE    0x02
#define IIR_RDA     0x04
#define IIR_LINE    0x06
#define IIR_TIMEOUT 0x0c
#define IIR_FIFOS   0xc0

#define FCR_ENABLE   0x01
#define FCR_CLEAR_RX 0x02
#define FCR_CLEAR_TX 0x04

#define LCR_BREAK 0x40
#define LCR_DLAB  0x80

#define MCR_DTR  0x01
#define MCR_RTS  0x02
#define MCR_OUT1 0x04
#define MCR_OUT2 0x08
#define MCR_LOOP 0x10

#define LSR_DR         0x01
#define LSR_OE         0x02
#define LSR_BI         0x10
#define LSR_ERRORS     0x1e
#define LSR_THRE       0x20
#define LSR_TEMT       0x40
#define LSR_FIFO_ERROR 0x80

#define MSR_TERI   0x04 /* the trailing edge of RI: set only when it falls */
#define MSR_DELTAS 0x0f
#define MSR_CTS    0x10
#define MSR_DSR    0x20
#define MSR_RI     0x40
#define MSR_DCD    0x80

#define TIMEOUT_NS (4 * UART_CHARACTER_NS)

/* ---- FIFOs -------------------------------------------------------------------------------- */

static unsigned fifo_size(const struct uart *uart)
{
    return uart->fcr & FCR_ENABLE ? UART_FIFO : 1;
}

static void fifo_put(struct uart_fifo *fifo, uint8_t byte, uint8_t status)
{
    unsigned at = (fifo->first + fifo->count) % UART_FIFO;

    fifo->byte[at] = byte;
    fifo->status[at] = status;
    fifo->count++;
}

static uint8_t fifo_take(struct uart_fifo *fifo)
{
    uint8_t byte = fifo->byte[fifo->first];

    fifo->first = (fifo->first + 1) % UART_FIFO;
    fifo->count--;
    return byte;
}

static void fifo_clear(struct uart_fifo *fifo)
{
    fifo->first = fifo->count = 0;
}

/* ---- Interrupts --------------------------------------------------------------------------- */

static unsigned trigger(const struct uart *uart)
{
    static const uint8_t level[4] = {1, 4, 8, 14};

    return uart->fcr & FCR_ENABLE ? level[uart->fcr >> 6] : 1;
}

static uint8_t line_status(const struct uart *uart)
{
    uint8_t lsr = uart->lsr_errors;

    if (uart->rx.count)
        lsr |= LSR_DR | uart->rx.status[uart->rx.first];
    if (!uart->tx.count)
        lsr |= LSR_THRE | (uart->shifting ? 0 : LSR_TEMT);
    if (uart->fcr & FCR_ENABLE)
        for (unsigned i = 0; i < uart->rx.count; i++)
            if (uart->rx.status[(uart->rx.first + i) % UART_FIFO])
                lsr |= LSR_FIFO_ERROR;
    return lsr;
}

/* The interrupt with the highest priority, as IIR names it (datasheet, table V). */
static uint8_t identify(const struct uart *uart)
{
    if (uart->ier & IER_LINE && line_status(uart) & LSR_ERRORS)
        return IIR_LINE;
    if (uart->ier & IER_RDA && uart->rx.count >= trigger(uart))
        return IIR_RDA;
    if (uart->ier & IER_RDA && uart->timeout)
        return IIR_TIMEOUT;
    if (uart->ier & IER_THRE && uart->thre_pending)
        return IIR_THRE;
    if (uart->ier & IER_MODEM && uart->msr & MSR_DELTAS)
        return IIR_MODEM;
    return IIR_NONE;
}

static void update(struct uart *uart)
{
    bool enabled = uart->mcr & MCR_OUT2 && !(uart->mcr & MCR_LOOP);

    line_set(&uart->irq, enabled && identify(uart) != IIR_NONE);
}

/* ---- Modem lines -------------------------------------------------------------------------- */

/* The other end is always there; in loopback the four outputs come back as inputs. */
static uint8_t modem_inputs(const struct uart *uart)
{
    uint8_t mcr = uart->mcr;

    if (!(mcr & MCR_LOOP))
        return MSR_CTS | MSR_DSR | MSR_DCD;
    return (mcr & MCR_RTS ? MSR_CTS : 0) | (mcr & MCR_DTR ? MSR_DSR : 0) |
           (mcr & MCR_OUT1 ? MSR_RI : 0) | (mcr & MCR_OUT2 ? MSR_DCD : 0);
}

static void sample_modem(struct uart *uart)
{
    uint8_t before = uart->msr & ~MSR_DELTAS, after = modem_inputs(uart);
    uint8_t deltas = (before ^ after) >> 4;

    if (after & MSR_RI)
        deltas &= ~MSR_TERI;
    uart->msr = (uart->msr & MSR_DELTAS) | deltas | after;
}

/* ---- Receiving ---------------------------------------------------------------------------- */

/* Arms the next arrival while something is on the wire and there is room for it. */
static void expect(struct uart *uart)
{
    bool open = uart->wire_count && uart->rx.count < fifo_size(uart) && !(uart->mcr & MCR_LOOP);

    if (!open)
        clock_cancel(uart->clock, &uart->received);
    else if (!uart->received.armed)
        clock_at(uart->clock, &uart->received, clock_now(uart->clock) + UART_CHARACTER_NS);
}

/* The timeout runs anew with each character that comes or goes. */
static void restart_timeout(struct uart *uart)
{
    uart->timeout = false;
    if (uart->rx.count && uart->fcr & FCR_ENABLE)
        clock_at(uart->clock, &uart->timed_out, clock_now(uart->clock) + TIMEOUT_NS);
    else
        clock_cancel(uart->clock, &uart->timed_out);
}

static void timeout_due(void *device)
{
    struct uart *uart = device;

    uart->timeout = true;
    update(uart);
}

/* A character off the wire, or from our own transmitter in loopback. */
static void take_character(struct uart *uart, uint8_t byte, uint8_t status)
{
    if (uart->rx.count >= fifo_size(uart)) {
        uart->lsr_errors |= LSR_OE;
        if (!(uart->fcr & FCR_ENABLE)) /* without FIFOs the new character replaces the old */
            uart->rx.byte[uart->rx.first] = byte;
    } else {
        fifo_put(&uart->rx, byte, status);
    }
    restart_timeout(uart);
}

static void receive_due(void *device)
{
    struct uart *uart = device;

    take_character(uart, uart->wire[uart->wire_first], 0);
    uart->wire_first = (uart->wire_first + 1) % UART_WIRE;
    uart->wire_count--;
    expect(uart);
    update(uart);
}

size_t uart_receive(struct uart *uart, const uint8_t *bytes, size_t count)
{
    size_t taken = 0;

    for (; taken < count && uart->wire_count < UART_WIRE; taken++)
        uart->wire[(uart->wire_first + uart->wire_count++) % UART_WIRE] = bytes[taken];
    expect(uart);
    return taken;
}

static uint8_t read_received(struct uart *uart)
{
    if (!uart->rx.count)
        return uart->last_read;
    uart->last_read = fifo_take(&uart->rx);
    restart_timeout(uart);
    expect(uart);
    return uart->last_read;
}

/* ---- Transmitting ------------------------------------------------------------------------- */

static void begin_shift(struct uart *uart)
{
    if (uart->shifting || !uart->tx.count)
        return;
    uart->shift = fifo_take(&uart->tx);
    uart->shifting = true;
    if (!uart->tx.count)
        uart->thre_pending = true;
    clock_at(uart->clock, &uart->transmitted, clock_now(uart->clock) + UART_CHARACTER_NS);
}

static void transmit_due(void *device)
{
    struct uart *uart = device;

    uart->shifting = false;
    if (uart->mcr & MCR_LOOP)
        take_character(uart, uart->shift, 0);
    else if (uart->send)
        uart->send(uart->opaque, uart->number, uart->shift);
    begin_shift(uart);
    update(uart);
}

/* A character written into a full FIFO takes the place of the last one. */
static void write_transmit(struct uart *uart, uint8_t byte)
{
    uart->thre_pending = false;
    if (uart->tx.count >= fifo_size(uart))
        uart->tx.count--;
    fifo_put(&uart->tx, byte, 0);
    begin_shift(uart);
}

/* ---- Registers ---------------------------------------------------------------------------- */

static void write_ier(struct uart *uart, uint8_t value)
{
    bool rises = value & IER_THRE && !(uart->ier & IER_THRE);

    uart->ier = value & 0x0f;
    if (rises && !uart->tx.count) /* enabling it while the holding register is empty asks at once */
        uart->thre_pending = true;
}

static void write_fcr(struct uart *uart, uint8_t value)
{
    bool changes = (value ^ uart->fcr) & FCR_ENABLE;

    /* The other bits are only written while the enable bit is. */
    uart->fcr = value & FCR_ENABLE ? value & (FCR_ENABLE | 0xc0) : 0;
    if (changes || value & FCR_CLEAR_RX) {
        fifo_clear(&uart->rx);
        restart_timeout(uart);
        expect(uart);
    }
    if (changes || value & FCR_CLEAR_TX) {
        if (uart->tx.count)
            uart->thre_pending = true;
        fifo_clear(&uart->tx);
    }
}

/* In loopback a break comes back as a character of zeros. */
static void write_lcr(struct uart *uart, uint8_t value)
{
    bool begins = value & LCR_BREAK && !(uart->lcr & LCR_BREAK);

    uart->lcr = value;
    if (begins && uart->mcr & MCR_LOOP)
        take_character(uart, 0, LSR_BI);
}

static uint8_t read_iir(struct uart *uart)
{
    uint8_t iir = identify(uart);

    if (iir == IIR_THRE)
        uart->thre_pending = false;
    return iir | (uart->fcr & FCR_ENABLE ? IIR_FIFOS : 0);
}

static uint8_t read_lsr(struct uart *uart)
{
    uint8_t lsr = line_status(uart);

    uart->lsr_errors = 0;
    if (uart->rx.count)
        uart->rx.status[uart->rx.first] = 0;
    return lsr;
}

static uint8_t read_msr(struct uart *uart)
{
    uint8_t msr = uart->msr;

    uart->msr &= ~MSR_DELTAS;
    return msr;
}

static uint8_t read_register(struct uart *uart, uint32_t offset)
{
    bool dlab = uart->lcr & LCR_DLAB;

    switch (offset) {
    case RBR_THR:
        return dlab ? (uint8_t)uart->divisor : read_received(uart);
    case IER:
        return dlab ? (uint8_t)(uart->divisor >> 8) : uart->ier;
    case IIR_FCR:
        return read_iir(uart);
    case LCR:
        return uart->lcr;
    case MCR:
        return uart->mcr;
    case LSR:
        return read_lsr(uart);
    case MSR:
        return read_msr(uart);
    default:
        return uart->scratch;
    }
}

static void write_register(struct uart *uart, uint32_t offset, uint8_t value)
{
    bool dlab = uart->lcr & LCR_DLAB;

    switch (offset) {
    case RBR_THR:
        if (dlab)
            uart->divisor = (uart->divisor & 0xff00) | value;
        else
            write_transmit(uart, value);
        break;
    case IER:
        if (dlab)
            uart->divisor = (uint16_t)((uart->divisor & 0x00ff) | value << 8);
        else
            write_ier(uart, value);
        break;
    case IIR_FCR:
        write_fcr(uart, value);
        break;
    case LCR:
        write_lcr(uart, value);
        break;
    case MCR:
        uart->mcr = value & 0x1f;
        sample_modem(uart);
        expect(uart);
        break;
    case SCR:
        uart->scratch = value;
        break;
    default: /* LSR and MSR are written in factory tests only */
        break;
    }
}

static uint32_t read_port(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    struct uart *uart = device;
    uint8_t value = read_register(uart, offset);

    update(uart);
    return value;
}

static void write_port(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    struct uart *uart = device;

    write_register(uart, offset, (uint8_t)value);
    update(uart);
}

static const struct bus_ops ops = {1, read_port, write_port};

/* ---- The chip ----------------------------------------------------------------------------- */

/* Reset leaves what is on the wire: it belongs to the other end. */
static void reset(void *device)
{
    struct uart *uart = device;

    uart->ier = uart->lcr = uart->mcr = uart->fcr = uart->lsr_errors = 0;
    uart->divisor = 12; /* 9600 baud, as a BIOS leaves it */
    uart->thre_pending = uart->timeout = uart->shifting = false;
    uart->msr = modem_inputs(uart);
    fifo_clear(&uart->rx);
    fifo_clear(&uart->tx);
    clock_cancel(uart->clock, &uart->transmitted);
    clock_cancel(uart->clock, &uart->timed_out);
    expect(uart);
    update(uart);
}

static bool fifo_holds(const struct uart_fifo *fifo)
{
    return fifo->first < UART_FIFO && fifo->count <= UART_FIFO;
}

static bool loaded(void *device)
{
    struct uart *uart = device;

    return fifo_holds(&uart->rx) && fifo_holds(&uart->tx) && uart->wire_first < UART_WIRE &&
           uart->wire_count <= UART_WIRE && (uart->wire_count || !uart->received.armed);
}

static const struct pc_field fifo_fields[] = {
    FIELD_ARRAY(struct uart_fifo, byte),
    FIELD_ARRAY(struct uart_fifo, status),
    FIELD(struct uart_fifo, first),
    FIELD(struct uart_fifo, count),
    FIELD_END,
};

static const struct pc_field fields[] = {
    FIELD(struct uart, ier),
    FIELD(struct uart, lcr),
    FIELD(struct uart, mcr),
    FIELD(struct uart, scratch),
    FIELD(struct uart, fcr),
    FIELD(struct uart, msr),
    FIELD(struct uart, lsr_errors),
    FIELD(struct uart, divisor),
    FIELD(struct uart, thre_pending),
    FIELD(struct uart, timeout),
    FIELD(struct uart, shifting),
    FIELD(struct uart, shift),
    FIELD(struct uart, last_read),
    FIELD_STRUCT_OF(struct uart, rx, fifo_fields),
    FIELD_STRUCT_OF(struct uart, tx, fifo_fields),
    FIELD_ARRAY(struct uart, wire),
    FIELD(struct uart, wire_first),
    FIELD(struct uart, wire_count),
    FIELD_END,
};

const struct chip uart_chip[2] = {
    {.name = "com1", .version = 1, .fields = fields, .reset = reset, .loaded = loaded},
    {.name = "com2", .version = 1, .fields = fields, .reset = reset, .loaded = loaded},
};

void uart_init(struct uart *uart, unsigned number, struct bus *bus, struct clock *clock,
               struct line irq, void (*send)(void *opaque, unsigned number, uint8_t byte),
               void *opaque)
{
    static const uint16_t base[2] = {0x3f8, 0x2f8};
    static const char *const event[2][3] = {
        {"com1 transmitted", "com1 received", "com1 timeout"},
        {"com2 transmitted", "com2 received", "com2 timeout"},
    };

    memset(uart, 0, sizeof *uart);
    uart->number = number;
    uart->clock = clock;
    uart->irq = irq;
    uart->send = send;
    uart->opaque = opaque;
    clock_add(clock, &uart->transmitted, event[number][0], transmit_due, uart);
    clock_add(clock, &uart->received, event[number][1], receive_due, uart);
    clock_add(clock, &uart->timed_out, event[number][2], timeout_due, uart);
    bus_claim_ports(bus, base[number], 8, uart_chip[number].name, &ops, uart);
    reset(uart);
}
