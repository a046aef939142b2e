/* device.c: see device.h. Registers and bits have the standard's names (virtio 1.2, 4.1.4). */
#include "device.h"

#include <string.h>

#define AT_COMMON 0x0000u
#define AT_ISR    0x1000u
#define AT_DEVICE 0x2000u
#define AT_NOTIFY 0x3000u
#define AREA      0x1000u

#define NOTIFY_MULTIPLIER 4u

#define STATUS_DRIVER_OK   0x04u
#define STATUS_FEATURES_OK 0x08u
#define STATUS_NEEDS_RESET 0x40u

#define ISR_QUEUE  0x01u
#define ISR_CONFIG 0x02u

/* The common configuration, 4.1.4.3. */
enum {
    DEVICE_FEATURE_SELECT = 0x00,
    DEVICE_FEATURE = 0x04,
    DRIVER_FEATURE_SELECT = 0x08,
    DRIVER_FEATURE = 0x0c,
    CONFIG_MSIX = 0x10,
    NUM_QUEUES = 0x12,
    DEVICE_STATUS = 0x14,
    CONFIG_GENERATION = 0x15,
    QUEUE_SELECT = 0x16,
    QUEUE_SIZE = 0x18,
    QUEUE_MSIX = 0x1a,
    QUEUE_ENABLE = 0x1c,
    QUEUE_NOTIFY_OFF = 0x1e,
    QUEUE_DESC = 0x20,
    QUEUE_DRIVER = 0x28,
    QUEUE_DEVICE = 0x30,
    COMMON_BYTES = 0x38,
};

/* ---- Interrupts and errors ---------------------------------------------------------------- */

static void interrupt(struct virtio *virtio, uint8_t why)
{
    virtio->interrupt_status |= why;
    pci_set_interrupt(&virtio->pci, true);
}

void virtio_config_changed(struct virtio *virtio)
{
    virtio->generation++;
    if (virtio->status & STATUS_DRIVER_OK)
        interrupt(virtio, ISR_CONFIG);
}

void virtio_break(struct virtio *virtio, const char *what)
{
    if (virtio->status & STATUS_NEEDS_RESET)
        return;
    virtio->status |= STATUS_NEEDS_RESET;
    if (virtio->status & STATUS_DRIVER_OK)
        interrupt(virtio, ISR_CONFIG);
    if (virtio->complain)
        virtio->complain(virtio->opaque, virtio, what);
}

bool virtio_runs(const struct virtio *virtio)
{
    return virtio->status & STATUS_DRIVER_OK && !(virtio->status & STATUS_NEEDS_RESET) &&
           pci_is_master(&virtio->pci);
}

/* ---- Queues ------------------------------------------------------------------------------- */

bool virtio_take(struct virtio *virtio, unsigned queue, struct virtq_chain *chain)
{
    enum virtq_got got = VIRTQ_EMPTY;

    if (virtio_runs(virtio))
        got = virtq_take(&virtio->queue[queue], &virtio->dma, chain);
    if (got == VIRTQ_BROKEN)
        virtio_break(virtio, "a chain of descriptors that is none");
    return got == VIRTQ_CHAIN;
}

bool virtio_waits(struct virtio *virtio, unsigned queue)
{
    return virtio_runs(virtio) && virtq_peek(&virtio->queue[queue], &virtio->dma) != VIRTQ_EMPTY;
}

void virtio_give(struct virtio *virtio, unsigned queue, uint16_t head, uint32_t bytes)
{
    if (virtq_give(&virtio->queue[queue], &virtio->dma, head, bytes))
        interrupt(virtio, ISR_QUEUE);
}

static void ring(struct virtio *virtio, uint32_t queue)
{
    if (queue < virtio->kind->queues && virtio->queue[queue].enabled && virtio_runs(virtio))
        virtio->kind->rung(virtio, queue);
}

/* ---- The common configuration ------------------------------------------------------------- */

/* A queue that does not exist has size 0 (4.1.4.3.1). */
static struct virtq *selected(struct virtio *virtio)
{
    return virtio->queue_select < virtio->kind->queues ? &virtio->queue[virtio->queue_select]
                                                       : NULL;
}

static uint32_t half(uint64_t value, uint32_t select)
{
    return select == 0 ? (uint32_t)value : select == 1 ? (uint32_t)(value >> 32) : 0;
}

static void lay_out_common(struct virtio *virtio, uint8_t bytes[COMMON_BYTES])
{
    const struct virtq *queue = selected(virtio);

    memset(bytes, 0, COMMON_BYTES);
    pci_put(bytes + DEVICE_FEATURE_SELECT, 4, virtio->device_feature_select);
    pci_put(bytes + DEVICE_FEATURE, 4, half(virtio->features, virtio->device_feature_select));
    pci_put(bytes + DRIVER_FEATURE_SELECT, 4, virtio->driver_feature_select);
    pci_put(bytes + DRIVER_FEATURE, 4,
            half(virtio->driver_features, virtio->driver_feature_select));
    pci_put(bytes + CONFIG_MSIX, 2, 0xffff);
    pci_put(bytes + NUM_QUEUES, 2, virtio->kind->queues);
    bytes[DEVICE_STATUS] = virtio->status;
    bytes[CONFIG_GENERATION] = virtio->generation;
    pci_put(bytes + QUEUE_SELECT, 2, virtio->queue_select);
    pci_put(bytes + QUEUE_MSIX, 2, 0xffff);
    if (!queue)
        return;
    pci_put(bytes + QUEUE_SIZE, 2, queue->size);
    pci_put(bytes + QUEUE_ENABLE, 2, queue->enabled);
    pci_put(bytes + QUEUE_NOTIFY_OFF, 2, virtio->queue_select);
    pci_put(bytes + QUEUE_DESC, 8, queue->table);
    pci_put(bytes + QUEUE_DRIVER, 8, queue->driver);
    pci_put(bytes + QUEUE_DEVICE, 8, queue->device);
}

/* What writing 0 to the status does (2.4). */
static void device_reset(struct virtio *virtio)
{
    virtio->driver_features = 0;
    virtio->device_feature_select = virtio->driver_feature_select = 0;
    virtio->queue_select = 0;
    virtio->status = virtio->interrupt_status = 0;
    for (unsigned i = 0; i < VIRTIO_QUEUES; i++)
        virtq_reset(&virtio->queue[i]);
    pci_set_interrupt(&virtio->pci, false);
    virtio->kind->reset(virtio);
}

static void write_status(struct virtio *virtio, uint8_t value)
{
    if (value == 0) {
        device_reset(virtio);
        return;
    }
    /* What the driver accepts must be on offer, and the modern interface among it (3.1.1, 6.1). */
    if (value & STATUS_FEATURES_OK && !(virtio->status & STATUS_FEATURES_OK) &&
        (virtio->driver_features & ~virtio->features ||
         !(virtio->driver_features & VIRTIO_VERSION_1)))
        value &= (uint8_t)~STATUS_FEATURES_OK;
    /* Bits are only ever set, and the device's own is not the driver's. */
    virtio->status |= value & (uint8_t)~STATUS_NEEDS_RESET;
    if (virtio->status & STATUS_DRIVER_OK && !(virtio->status & STATUS_FEATURES_OK))
        virtio_break(virtio, "it was started before its features were agreed on");
}

static void enable_queue(struct virtio *virtio, struct virtq *queue, uint32_t value)
{
    if (value != 1 || queue->enabled)
        return;
    if (virtq_fits(queue, &virtio->dma))
        queue->enabled = true;
    else
        virtio_break(virtio, "a queue that is not in RAM, or not of a size that is right");
}

/* Half of a 64-bit address. */
static void write_address(uint64_t *address, uint32_t offset, uint32_t value)
{
    unsigned shift = 8 * (offset & 4);

    *address = (*address & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)value << shift;
}

static void write_queue(struct virtio *virtio, uint32_t offset, unsigned size, uint32_t value)
{
    struct virtq *queue = selected(virtio);

    if (!queue)
        return;
    if (offset == QUEUE_ENABLE && size == 2) {
        enable_queue(virtio, queue, value);
    } else if (queue->enabled) {
        return; /* it lies where it lies until a reset */
    } else if (offset == QUEUE_SIZE && size == 2) {
        queue->size = (uint16_t)value;
    } else if (offset >= QUEUE_DESC && size == 4 && offset % 4 == 0) {
        uint64_t *address[] = {&queue->table, &queue->driver, &queue->device};

        write_address(address[(offset - QUEUE_DESC) / 8], offset, value);
    }
}

/* Each field is written whole, 64-bit ones in halves (4.1.3.1); all else is lost. */
static void write_common(struct virtio *virtio, uint32_t offset, unsigned size, uint32_t value)
{
    if (offset == DEVICE_FEATURE_SELECT && size == 4) {
        virtio->device_feature_select = value;
    } else if (offset == DRIVER_FEATURE_SELECT && size == 4) {
        virtio->driver_feature_select = value;
    } else if (offset == DRIVER_FEATURE && size == 4) {
        if (virtio->driver_feature_select < 2 && !(virtio->status & STATUS_FEATURES_OK))
            write_address(&virtio->driver_features, 4 * virtio->driver_feature_select, value);
    } else if (offset == DEVICE_STATUS && size == 1) {
        write_status(virtio, (uint8_t)value);
    } else if (offset == QUEUE_SELECT && size == 2) {
        virtio->queue_select = (uint16_t)value;
    } else if (offset >= QUEUE_SIZE && offset < COMMON_BYTES) {
        write_queue(virtio, offset, size, value);
    }
}

/* ---- The BAR ------------------------------------------------------------------------------ */

/* Reading it is the acknowledge (4.1.4.5). */
static uint32_t read_isr(struct virtio *virtio)
{
    uint8_t value = virtio->interrupt_status;

    virtio->interrupt_status = 0;
    pci_set_interrupt(&virtio->pci, false);
    return value;
}

static uint32_t read_bar(void *device, uint32_t offset, unsigned size)
{
    struct virtio *virtio = device;
    uint32_t at = offset % AREA;
    uint8_t bytes[COMMON_BYTES];

    switch (offset - at) {
    case AT_COMMON:
        if (at + size > COMMON_BYTES)
            return 0;
        lay_out_common(virtio, bytes);
        return pci_get(bytes + at, size);
    case AT_ISR:
        return at == 0 ? read_isr(virtio) : 0;
    case AT_DEVICE:
        return at + size <= virtio->kind->config_bytes ? pci_get(virtio->config + at, size) : 0;
    default:
        return 0;
    }
}

static void write_bar(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    struct virtio *virtio = device;
    uint32_t at = offset % AREA;

    if (offset - at == AT_COMMON)
        write_common(virtio, at, size, value);
    else if (offset - at == AT_NOTIFY && at % NOTIFY_MULTIPLIER == 0)
        ring(virtio, at / NOTIFY_MULTIPLIER);
}

static const struct bus_ops bar_ops = {4, read_bar, write_bar};

/* ---- Configuration space ------------------------------------------------------------------ */

enum { CAP_COMMON = 1, CAP_NOTIFY, CAP_ISR, CAP_DEVICE, CAP_PCI };
enum { FIRST_CAP = 0x40, PCI_CAP_DATA = 16 };

/* struct virtio_pci_cap, 4.1.4: vendor-specific, next, length, type, BAR, offset, bytes. */
static unsigned add_capability(struct virtio *virtio, unsigned at, unsigned type, unsigned length,
                               uint32_t offset, uint32_t bytes)
{
    uint8_t *cap = virtio->pci.config + at;
    unsigned next = at + ((length + 3) & ~3u);

    cap[0] = 0x09;
    cap[1] = type == CAP_PCI ? 0 : (uint8_t)next;
    cap[2] = (uint8_t)length;
    cap[3] = (uint8_t)type;
    pci_put(cap + 8, 4, offset);
    pci_put(cap + 12, 4, bytes);
    return next;
}

static void add_capabilities(struct virtio *virtio)
{
    unsigned at = FIRST_CAP;

    virtio->pci.config[0x06] |= 0x10; /* status: there is a list */
    virtio->pci.config[0x34] = FIRST_CAP;
    at = add_capability(virtio, at, CAP_COMMON, 16, AT_COMMON, COMMON_BYTES);
    at = add_capability(virtio, at, CAP_ISR, 16, AT_ISR, 1);
    if (virtio->kind->config_bytes)
        at = add_capability(virtio, at, CAP_DEVICE, 16, AT_DEVICE, virtio->kind->config_bytes);
    pci_put(virtio->pci.config + at + 16, 4, NOTIFY_MULTIPLIER);
    at = add_capability(virtio, at, CAP_NOTIFY, 20, AT_NOTIFY,
                        NOTIFY_MULTIPLIER * virtio->kind->queues);
    add_capability(virtio, at, CAP_PCI, 20, 0, 0);
    /* BAR, offset, length, data; what pads the BAR's byte is left alone. */
    virtio->pci.writable[at + 4] = 0xff;
    memset(virtio->pci.writable + at + 8, 0xff, 12);
}

/* The last capability is a window for firmware that cannot reach the BAR (4.1.4.9). Where it is:
 * behind those that every device has, and the one that not every device has. */
static unsigned window_at(const struct virtio *virtio)
{
    return FIRST_CAP + 16 * (virtio->kind->config_bytes ? 3 : 2) + 20;
}

static bool window(struct virtio *virtio, unsigned offset, uint32_t *at, unsigned *size)
{
    const uint8_t *cap = virtio->pci.config + window_at(virtio);

    *at = pci_get(cap + 8, 4);
    *size = pci_get(cap + 12, 4);
    return offset == window_at(virtio) + PCI_CAP_DATA && cap[4] == 0 &&
           (*size == 1 || *size == 2 || *size == 4) && *at % *size == 0 &&
           *at < VIRTIO_BAR_BYTES && *size <= VIRTIO_BAR_BYTES - *at;
}

static void config_read(void *device, unsigned offset)
{
    struct virtio *virtio = device;
    uint32_t at;
    unsigned size;

    if (window(virtio, offset, &at, &size))
        pci_put(virtio->pci.config + offset, 4, read_bar(virtio, at, size));
}

static void config_written(void *device, unsigned offset, unsigned written)
{
    (void)written;
    struct virtio *virtio = device;
    uint32_t at;
    unsigned size;

    if (window(virtio, offset, &at, &size))
        write_bar(virtio, at, size, pci_get(virtio->pci.config + offset, size));
}

/* ---- The device --------------------------------------------------------------------------- */

void virtio_init(struct virtio *virtio, const struct virtio_kind *kind, uint64_t features,
                 const struct dma *dma)
{
    struct pci_identity identity = {
        .vendor = 0x1af4,
        .device = (uint16_t)(0x1040 + kind->type),
        .subsystem_vendor = 0x1af4,
        .subsystem = (uint16_t)(0x1040 + kind->type),
        .class_code = kind->class_code,
        .revision = 1,
    };

    memset(virtio, 0, sizeof *virtio);
    virtio->kind = kind;
    virtio->features = features | VIRTIO_VERSION_1 | UINT64_C(1) << 28 /* indirect descriptors */;
    virtio->dma = *dma;
    virtio->pci.bar_bytes = VIRTIO_BAR_BYTES;
    virtio->pci.ops = &bar_ops;
    virtio->pci.config_read = config_read;
    virtio->pci.config_written = config_written;
    virtio->pci.device = virtio;
    pci_identify(&virtio->pci, &identity);
    add_capabilities(virtio);
    for (unsigned i = 0; i < VIRTIO_QUEUES; i++)
        virtq_reset(&virtio->queue[i]);
}

void virtio_plug(struct virtio *virtio, struct pci *pci, unsigned slot)
{
    pci_add(pci, slot, &virtio->pci);
}

void virtio_bus_reset(struct virtio *virtio)
{
    pci_function_reset(&virtio->pci);
    device_reset(virtio);
}

bool virtio_loaded(struct virtio *virtio)
{
    pci_function_loaded(&virtio->pci);
    for (unsigned i = 0; i < VIRTIO_QUEUES; i++)
        if (virtio->queue[i].enabled &&
            (i >= virtio->kind->queues || !virtq_fits(&virtio->queue[i], &virtio->dma)))
            return false;
    return true;
}

const struct pc_field virtio_fields[] = {
    FIELD_STRUCT_OF(struct virtio, pci, pci_function_fields),
    FIELD(struct virtio, driver_features),
    FIELD(struct virtio, device_feature_select),
    FIELD(struct virtio, driver_feature_select),
    FIELD(struct virtio, queue_select),
    FIELD(struct virtio, status),
    FIELD(struct virtio, interrupt_status),
    FIELD(struct virtio, generation),
    FIELD_STRUCTS_OF(struct virtio, queue, virtq_fields),
    FIELD_ARRAY(struct virtio, config),
    FIELD_END,
};
