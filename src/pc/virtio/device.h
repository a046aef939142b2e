/* device.h: what every virtio device has in common: the PCI transport (virtio 1.2, 4.1), features,
 * status and queues. A kind of device embeds a struct virtio first, describes itself with a struct
 * virtio_kind, and is told when the driver has rung.
 *
 * BAR 0:  0000h common configuration   1000h interrupt status   2000h the device's configuration
 *         3000h notification, 4 bytes a queue                   INTA#, no MSI-X
 *
 * Only the modern interface is there. Whatever the driver does wrong, the device stops, sets
 * DEVICE_NEEDS_RESET and says so; it never reads or writes outside RAM. */
#ifndef PC_VIRTIO_DEVICE_H
#define PC_VIRTIO_DEVICE_H

#include "../chip/pci.h"
#include "queue.h"

#define VIRTIO_QUEUES      2
#define VIRTIO_BAR_BYTES   0x4000
#define VIRTIO_CONFIG_MAX  64

enum { VIRTIO_NET = 1, VIRTIO_BLOCK = 2, VIRTIO_CONSOLE = 3, VIRTIO_RNG = 4 };

struct virtio;

struct virtio_kind {
    uint16_t type; /* virtio 1.2, 5 */
    uint32_t class_code;
    unsigned queues;
    unsigned config_bytes;
    void (*rung)(struct virtio *virtio, unsigned queue); /* the driver has made something available */
    void (*reset)(struct virtio *virtio);                /* forget what is under way */
};

struct virtio {
    struct pci_function pci;
    uint64_t driver_features;
    uint32_t device_feature_select, driver_feature_select;
    uint16_t queue_select;
    uint8_t status, interrupt_status, generation;
    struct virtq queue[VIRTIO_QUEUES];
    uint8_t config[VIRTIO_CONFIG_MAX]; /* read-only to the driver */

    uint64_t features; /* offered */
    const struct virtio_kind *kind;
    struct dma dma;
    void (*complain)(void *opaque, const struct virtio *virtio, const char *what);
    void *opaque;
};

#define VIRTIO_VERSION_1 (UINT64_C(1) << 32)

void virtio_init(struct virtio *virtio, const struct virtio_kind *kind, uint64_t features,
                 const struct dma *dma);
void virtio_plug(struct virtio *virtio, struct pci *pci, unsigned slot);

/* For the chip's `reset` (RST#, which the configuration space hears as well) and `loaded`. */
void virtio_bus_reset(struct virtio *virtio);
bool virtio_loaded(struct virtio *virtio);

extern const struct pc_field virtio_fields[];

/* The driver is up and the device may use its queues. */
bool virtio_runs(const struct virtio *virtio);

/* The next chain of a queue. False when there is none, or when what is there is not one: the device
 * is then broken. */
bool virtio_take(struct virtio *virtio, unsigned queue, struct virtq_chain *chain);
bool virtio_waits(struct virtio *virtio, unsigned queue);

/* Gives a chain back and interrupts. */
void virtio_give(struct virtio *virtio, unsigned queue, uint16_t head, uint32_t bytes);

/* The device's configuration has changed: the driver is told. */
void virtio_config_changed(struct virtio *virtio);

/* The driver has broken the rules: DEVICE_NEEDS_RESET, and nothing more until it does. */
void virtio_break(struct virtio *virtio, const char *what);

#endif
