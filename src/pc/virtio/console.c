/* console.c: see console.h. Queue 0 is for what the guest receives, 1 for what it sends (5.3.2). */
#include "console.h"

#include <string.h>

enum { RECEIVE, TRANSMIT };
enum { COLUMNS = 0, ROWS = 2, CONFIG_BYTES = 4 };

#define FEATURE_SIZE UINT64_C(1)
#define ANSWER_NS    5000u
#define CHAIN_MOST   4096u /* bytes of one buffer that go at a time */

/* Arms the next delivery while there is something to deliver and a buffer for it. */
static void expect(struct console *console)
{
    if (console->wire_count && virtio_waits(&console->virtio, RECEIVE) && !console->receive.armed)
        clock_at(console->clock, &console->receive, clock_now(console->clock) + ANSWER_NS);
}

static void rung(struct virtio *virtio, unsigned queue)
{
    struct console *console = (struct console *)virtio;

    if (queue == RECEIVE)
        expect(console);
    else if (!console->transmit.armed)
        clock_at(console->clock, &console->transmit, clock_now(console->clock) + ANSWER_NS);
}

static void receive_due(void *device)
{
    struct console *console = device;
    struct virtq_chain chain;
    uint32_t done = 0;

    if (!console->wire_count || !virtio_take(&console->virtio, RECEIVE, &chain))
        return;
    while (console->wire_count && done < virtq_writable_bytes(&chain)) {
        virtq_write(&chain, &console->virtio.dma, done++, &console->wire[console->wire_first], 1);
        console->wire_first = (console->wire_first + 1) % CONSOLE_WIRE;
        console->wire_count--;
    }
    virtio_give(&console->virtio, RECEIVE, chain.head, done);
    expect(console);
}

static void send_chain(struct console *console, const struct virtq_chain *chain)
{
    uint8_t bytes[CHAIN_MOST];
    uint32_t count = virtq_read(chain, &console->virtio.dma, 0, bytes, CHAIN_MOST);

    for (uint32_t i = 0; i < count && console->send; i++)
        console->send(console->opaque, console->number, bytes[i]);
}

/* A buffer a time; one larger than a driver's page is a driver's fault. */
static void transmit_due(void *device)
{
    struct console *console = device;
    struct virtq_chain chain;

    if (!virtio_take(&console->virtio, TRANSMIT, &chain))
        return;
    if (virtq_readable_bytes(&chain) > CHAIN_MOST) {
        virtio_break(&console->virtio, "a buffer of more than 4096 bytes to send");
        return;
    }
    send_chain(console, &chain);
    virtio_give(&console->virtio, TRANSMIT, chain.head, 0);
    if (virtio_waits(&console->virtio, TRANSMIT))
        rung(&console->virtio, TRANSMIT);
}

size_t console_receive(struct console *console, const uint8_t *bytes, size_t count)
{
    size_t taken = 0;

    for (; taken < count && console->wire_count < CONSOLE_WIRE; taken++)
        console->wire[(console->wire_first + console->wire_count++) % CONSOLE_WIRE] = bytes[taken];
    expect(console);
    return taken;
}

void console_resize(struct console *console, uint16_t columns, uint16_t rows)
{
    uint8_t *config = console->virtio.config;

    if (pci_get(config + COLUMNS, 2) == columns && pci_get(config + ROWS, 2) == rows)
        return;
    pci_put(config + COLUMNS, 2, columns);
    pci_put(config + ROWS, 2, rows);
    virtio_config_changed(&console->virtio);
}

static void device_reset(struct virtio *virtio)
{
    struct console *console = (struct console *)virtio;

    clock_cancel(console->clock, &console->receive);
    clock_cancel(console->clock, &console->transmit);
}

static const struct virtio_kind kind = {
    .type = VIRTIO_CONSOLE,
    .class_code = 0x078000,
    .queues = 2,
    .config_bytes = CONFIG_BYTES,
    .rung = rung,
    .reset = device_reset,
};

/* What is on the wire belongs to the other end, and so does the window. */
static void reset(void *device)
{
    virtio_bus_reset(device);
}

static bool loaded(void *device)
{
    struct console *console = device;

    return virtio_loaded(&console->virtio) && console->wire_first < CONSOLE_WIRE &&
           console->wire_count <= CONSOLE_WIRE;
}

static const struct pc_field fields[] = {
    FIELD_STRUCT_OF(struct console, virtio, virtio_fields),
    FIELD_ARRAY(struct console, wire),
    FIELD(struct console, wire_first),
    FIELD(struct console, wire_count),
    FIELD_END,
};

const struct chip console_chip = {
    .name = "console", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void console_init(struct console *console, unsigned number, struct clock *clock,
                  const struct dma *dma,
                  void (*send)(void *opaque, unsigned number, uint8_t byte), void *opaque)
{
    memset(console, 0, sizeof *console);
    virtio_init(&console->virtio, &kind, FEATURE_SIZE, dma);
    console->number = number;
    console->clock = clock;
    console->send = send;
    console->opaque = opaque;
    clock_add(clock, &console->receive, "console receive", receive_due, console);
    clock_add(clock, &console->transmit, "console transmit", transmit_due, console);
}
