/*
 * A fuzz target: a driver of the virtio devices that does anything. Input: steps of 8 bytes that
 * write registers, put bytes into RAM near the rings, ring, answer for the host and let time pass.
 * RAM is a block of its own and the disk a function that refuses what lies outside it: whatever the
 * driver does, the devices touch nothing else, and the machine goes on.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pc/machine.h"

#define RAM        (2u << 20)
#define DISK_BYTES (64u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static uint8_t disk[DISK_BYTES];
static struct pc *pc;
static bool holds, with_host;
static struct pc_block_request request;

static void require(bool holds_true)
{
    if (!holds_true)
        abort();
}

static void answer(void)
{
    uint64_t done = 0;
    uint32_t part;
    uint8_t *data;

    if (!with_host)
        return;
    with_host = false;
    while ((data = pc_block_data(pc, 0, done, &part))) {
        require(part && done + part <= request.bytes);
        if (request.op == PC_BLOCK_READ)
            memcpy(data, disk + request.offset + done, part);
        else
            memcpy(disk + request.offset + done, data, part);
        done += part;
    }
    pc_block_done(pc, 0, PC_BLOCK_GOOD);
}

static void block(void *opaque, unsigned number, const struct pc_block_request *asked)
{
    (void)opaque;
    require(number == 0 && asked->offset <= DISK_BYTES &&
            asked->bytes <= DISK_BYTES - asked->offset);
    request = *asked;
    with_host = true;
    if (!holds)
        answer();
}

/* As a driver does it, so that the input need not: queues of 16 at 10000h and 20000h. */
static void start(uint32_t bar)
{
    struct bus *bus = &pc->bus;

    bus_write(bus, bar + 0x14, 1, 0);
    bus_write(bus, bar + 0x08, 4, 1);
    bus_write(bus, bar + 0x0c, 4, 1);
    bus_write(bus, bar + 0x14, 1, 0x0b);
    for (unsigned queue = 0; queue < 2; queue++) {
        uint32_t at = 0x10000 + queue * 0x10000;

        bus_write(bus, bar + 0x16, 2, queue);
        bus_write(bus, bar + 0x18, 2, 16);
        bus_write(bus, bar + 0x20, 4, at);
        bus_write(bus, bar + 0x28, 4, at + 0x100);
        bus_write(bus, bar + 0x30, 4, at + 0x200);
        bus_write(bus, bar + 0x1c, 2, 1);
    }
    bus_write(bus, bar + 0x14, 1, 0x0f);
}

static void step(const uint8_t s[8])
{
    unsigned slot = 2 + s[1] % 3;
    uint32_t bar = pci_get(pc->pci.function[slot]->config + 0x10, 4) & ~15u;
    uint32_t value = pci_get(s + 4, 4), at = pci_get(s + 2, 2);
    unsigned size = 1u << s[1] / 3 % 3;
    struct pc_budget budget = {1000, UINT64_MAX, 1 << 16};

    switch (s[0] % 10) {
    case 0:
        bus_write(&pc->bus, bar + at % 0x4000, size, value);
        break;
    case 1:
        (void)bus_read(&pc->bus, bar + at % 0x4000, size);
        break;
    case 2:
        bus_out(&pc->bus, 0xcf8, 4, 0x80000000 | slot << 11 | (at & 0xfc));
        bus_out(&pc->bus, (uint16_t)(0xcfc + (at & 3 & ~(size - 1))), size, value);
        break;
    case 3:
        (void)bus_in(&pc->bus, 0xcfc, 4);
        break;
    case 4:
        start(bar);
        break;
    case 5: /* the table, the driver's and the device's area of either queue */
        pci_put(pc->ports.ram + 0x10000 + (at & 0x1) * 0x10000 + (at >> 1 & 0x3fc), 4, value);
        break;
    case 6:
        pci_put(pc->ports.ram + 0x30000 + (at & 0xfffc), 4, value);
        break;
    case 7:
        bus_write(&pc->bus, bar + 0x3000 + 4 * (at & 1), 2, 0);
        budget.max_insns = 1 + value % 4000000;
        pc_run(pc, budget);
        break;
    case 8:
        answer();
        break;
    default:
        pc_console_in(pc, PC_CONSOLE_VIRTIO, s, 8);
        pc_resize_in(pc, s[2], s[3]);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct pc_config config = {.model = PC_MODEL_PENTIUM_M, .disk = {{.bytes = DISK_BYTES}}};
    struct pc_ports ports = {.ram_bytes = RAM, .block = block};
    static void *memory;

    if (!length)
        return 0;
    if (!memory)
        memory = aligned_alloc(64, (pc_bytes(RAM) + 63) & ~(size_t)63);
    ports.ram = calloc(1, RAM);
    require(memory && ports.ram);
    holds = bytes[0] & 1;
    with_host = false;
    pc = pc_init(memory, &config, &ports);
    require(pc != NULL);
    pci_assign(&pc->pci);
    for (unsigned slot = 2; slot < 5; slot++)
        pc->pci.function[slot]->config[4] = 6;
    for (size_t at = 1; at + 8 <= length; at += 8)
        step(bytes + at);
    free(ports.ram);
    return 0;
}
