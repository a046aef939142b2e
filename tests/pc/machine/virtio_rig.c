/* virtio_rig.c: see virtio_rig.h. */
#include "virtio_rig.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_SIZE 16u
#define TABLE(q)   (0x10000u + (q)*0x4000u)
#define DRIVER(q)  (TABLE(q) + 0x1000u)
#define DEVICE(q)  (TABLE(q) + 0x2000u)

static void move_data(struct virtio_rig *rig)
{
    uint64_t done = 0;
    uint32_t part;
    uint8_t *bytes;

    while ((bytes = pc_block_data(rig->pc, 0, done, &part))) {
        uint8_t *at = rig->disk + rig->last.offset + done;

        assert_true(rig->last.offset + done + part <= VR_DISK);
        if (rig->last.op == PC_BLOCK_READ)
            memcpy(bytes, at, part);
        else
            memcpy(at, bytes, part);
        done += part;
    }
    assert_int_equal(done, rig->last.op <= PC_BLOCK_WRITE ? rig->last.bytes : 0);
}

void vr_answer(struct virtio_rig *rig)
{
    if (!rig->fails) {
        move_data(rig);
        if (rig->last.op == PC_BLOCK_ZERO)
            memset(rig->disk + rig->last.offset, 0, rig->last.bytes);
    }
    pc_block_done(rig->pc, 0, rig->fails ? PC_BLOCK_ERROR : PC_BLOCK_GOOD);
}

static void block(void *opaque, unsigned disk, const struct pc_block_request *request)
{
    struct virtio_rig *rig = opaque;

    assert_int_equal(disk, 0);
    assert_true(request->offset <= VR_DISK && request->bytes <= VR_DISK - request->offset);
    rig->last = *request;
    rig->requests++;
    if (!rig->holds)
        vr_answer(rig);
}

static void console_out(void *opaque, unsigned uart, uint8_t byte)
{
    struct virtio_rig *rig = opaque;
    size_t length = strlen(rig->console);

    if (uart == PC_CONSOLE_VIRTIO && length + 1 < sizeof rig->console)
        rig->console[length] = (char)byte;
}

static void log_line(void *opaque, enum pc_log level, const char *text)
{
    struct virtio_rig *rig = opaque;

    (void)level;
    strncat(rig->log, text, sizeof rig->log - strlen(rig->log) - 1);
}

void vr_init(struct virtio_rig *rig, struct vr_options options)
{
    struct pc_config config = {.model = PC_MODEL_PENTIUM_M,
                               .exact = options.exact,
                               .disk = {{.bytes = VR_DISK,
                                         .read_only = options.read_only,
                                         .name = "the name",
                                         .identity = 42}}};
    struct pc_ports ports = {.opaque = rig,
                             .ram_bytes = VR_RAM,
                             .console_out = console_out,
                             .block = block,
                             .log = log_line};

    memset(rig, 0, sizeof *rig);
    rig->holds = options.holds;
    rig->memory = aligned_alloc(64, (pc_bytes(VR_RAM) + 63) & ~(size_t)63);
    rig->ram = calloc(1, VR_RAM);
    assert_non_null(rig->memory);
    assert_non_null(rig->ram);
    ports.ram = rig->ram;
    for (unsigned i = 0; i < VR_DISK; i++)
        rig->disk[i] = (uint8_t)(i / 512 + i % 7);
    rig->pc = pc_init(rig->memory, &config, &ports);
    assert_non_null(rig->pc);
    pci_assign(&rig->pc->pci);
}

void vr_finish(struct virtio_rig *rig)
{
    free(rig->memory);
    free(rig->ram);
}

/* ---- Registers ---------------------------------------------------------------------------- */

static void address(struct virtio_rig *rig, unsigned slot, unsigned offset)
{
    bus_out(&rig->pc->bus, 0xcf8, 4, 0x80000000u | slot << 11 | (offset & ~3u));
}

uint32_t vr_config(struct virtio_rig *rig, unsigned slot, unsigned offset, unsigned size)
{
    address(rig, slot, offset);
    return bus_in(&rig->pc->bus, (uint16_t)(0xcfc + offset % 4), size);
}

void vr_set_config(struct virtio_rig *rig, unsigned slot, unsigned offset, unsigned size,
                   uint32_t value)
{
    address(rig, slot, offset);
    bus_out(&rig->pc->bus, (uint16_t)(0xcfc + offset % 4), size, value);
}

uint32_t vr_read(struct virtio_rig *rig, unsigned slot, uint32_t offset, unsigned size)
{
    return bus_read(&rig->pc->bus, (vr_config(rig, slot, 0x10, 4) & ~15u) + offset, size);
}

void vr_write(struct virtio_rig *rig, unsigned slot, uint32_t offset, unsigned size, uint32_t value)
{
    bus_write(&rig->pc->bus, (vr_config(rig, slot, 0x10, 4) & ~15u) + offset, size, value);
}

uint8_t vr_status(struct virtio_rig *rig, unsigned slot)
{
    return (uint8_t)vr_read(rig, slot, 0x14, 1);
}

void vr_start(struct virtio_rig *rig, unsigned slot)
{
    vr_set_config(rig, slot, 4, 2, 6); /* memory, bus master */
    vr_write(rig, slot, 0x14, 1, 0);
    vr_write(rig, slot, 0x14, 1, 3);
    for (unsigned half = 0; half < 2; half++) {
        vr_write(rig, slot, 0x00, 4, half);
        vr_write(rig, slot, 0x08, 4, half);
        vr_write(rig, slot, 0x0c, 4, vr_read(rig, slot, 0x04, 4));
    }
    vr_write(rig, slot, 0x14, 1, 0x0b);
    assert_int_equal(vr_status(rig, slot), 0x0b);
    for (unsigned queue = 0; queue < vr_read(rig, slot, 0x12, 2); queue++) {
        memset(rig->ram + TABLE(queue), 0, 0x3000);
        vr_write(rig, slot, 0x16, 2, queue);
        vr_write(rig, slot, 0x18, 2, QUEUE_SIZE);
        vr_write(rig, slot, 0x20, 4, TABLE(queue));
        vr_write(rig, slot, 0x28, 4, DRIVER(queue));
        vr_write(rig, slot, 0x30, 4, DEVICE(queue));
        vr_write(rig, slot, 0x1c, 2, 1);
    }
    vr_write(rig, slot, 0x14, 1, 0x0f);
}

/* ---- Rings -------------------------------------------------------------------------------- */

void vr_put_descriptor(struct virtio_rig *rig, uint32_t at, uint64_t address_, uint32_t bytes,
                       unsigned flags, unsigned next)
{
    pci_put(rig->ram + at, 8, address_);
    pci_put(rig->ram + at + 8, 4, bytes);
    pci_put(rig->ram + at + 12, 2, flags);
    pci_put(rig->ram + at + 14, 2, next);
}

void vr_descriptor(struct virtio_rig *rig, unsigned queue, unsigned index, uint64_t address_,
                   uint32_t bytes, unsigned flags, unsigned next)
{
    vr_put_descriptor(rig, TABLE(queue) + 16 * index, address_, bytes, flags, next);
}

void vr_set_available(struct virtio_rig *rig, unsigned queue, uint16_t index)
{
    pci_put(rig->ram + DRIVER(queue) + 2, 2, index);
}

void vr_offer(struct virtio_rig *rig, unsigned queue, unsigned head)
{
    uint16_t index = (uint16_t)pci_get(rig->ram + DRIVER(queue) + 2, 2);

    pci_put(rig->ram + DRIVER(queue) + 4 + 2 * (index % QUEUE_SIZE), 2, head);
    vr_set_available(rig, queue, (uint16_t)(index + 1));
}

void vr_ring(struct virtio_rig *rig, unsigned slot, unsigned queue)
{
    vr_write(rig, slot, 0x3000 + 4 * queue, 2, queue);
}

void vr_pass(struct virtio_rig *rig, uint64_t ns)
{
    struct pc_budget budget = {UINT64_MAX, pc_now_ns(rig->pc) + ns, 1 << 16};

    pc_run(rig->pc, budget);
}

uint16_t vr_used(struct virtio_rig *rig, unsigned queue)
{
    return (uint16_t)pci_get(rig->ram + DEVICE(queue) + 2, 2);
}

uint32_t vr_used_id(struct virtio_rig *rig, unsigned queue, unsigned entry)
{
    return pci_get(rig->ram + DEVICE(queue) + 4 + 8 * (entry % QUEUE_SIZE), 4);
}

uint32_t vr_used_bytes(struct virtio_rig *rig, unsigned queue, unsigned entry)
{
    return pci_get(rig->ram + DEVICE(queue) + 8 + 8 * (entry % QUEUE_SIZE), 4);
}

void vr_request(struct virtio_rig *rig, unsigned type, uint64_t sector, uint32_t bytes,
                bool to_guest)
{
    pci_put(rig->ram + VR_DATA, 4, type);
    pci_put(rig->ram + VR_DATA + 4, 4, 0);
    pci_put(rig->ram + VR_DATA + 8, 8, sector);
    rig->ram[VR_DATA + 16] = 0xff;
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_NEXT, bytes ? 1 : 2);
    vr_descriptor(rig, 0, 1, VR_DATA + 4096, bytes, VR_NEXT | (to_guest ? VR_WRITE : 0), 2);
    vr_descriptor(rig, 0, 2, VR_DATA + 16, 1, VR_WRITE, 0);
    vr_offer(rig, 0, 0);
    vr_ring(rig, VR_DISK_SLOT, 0);
}

uint8_t vr_result(struct virtio_rig *rig)
{
    return rig->ram[VR_DATA + 16];
}
