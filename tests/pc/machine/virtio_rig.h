/* virtio_rig.h: a machine with a disk, and a driver for its virtio devices that a test plays by hand:
 * registers, descriptors and rings, right or wrong. */
#ifndef VIRTIO_RIG_H
#define VIRTIO_RIG_H

#include "rig.h"
#include "script_cpu.h"

#include "pc/machine.h"

#define VR_RAM  (4u << 20)
#define VR_DISK (256u << 10)
#define VR_DATA 0x100000u /* where tests put what descriptors point to */

enum { VR_CONSOLE = 2, VR_RNG = 3, VR_DISK_SLOT = 4 };
enum { VR_NEXT = 1, VR_WRITE = 2, VR_INDIRECT = 4 };
enum { VR_NEEDS_RESET = 0x40 };

struct virtio_rig {
    struct pc *pc;
    uint8_t *ram;
    void *memory;
    uint8_t disk[VR_DISK];
    bool holds, fails; /* the host does not answer yet; answers with an error */
    unsigned requests;
    struct pc_block_request last;
    char console[256], log[2048];
};

struct vr_options {
    bool read_only, exact, holds;
};

void vr_init(struct virtio_rig *rig, struct vr_options options);
void vr_finish(struct virtio_rig *rig);

/* The host does what it was asked for, and says so. */
void vr_answer(struct virtio_rig *rig);

uint32_t vr_config(struct virtio_rig *rig, unsigned slot, unsigned offset, unsigned size);
void vr_set_config(struct virtio_rig *rig, unsigned slot, unsigned offset, unsigned size,
                   uint32_t value);
uint32_t vr_read(struct virtio_rig *rig, unsigned slot, uint32_t offset, unsigned size);
void vr_write(struct virtio_rig *rig, unsigned slot, uint32_t offset, unsigned size, uint32_t value);
uint8_t vr_status(struct virtio_rig *rig, unsigned slot);

/* All that a driver does until DRIVER_OK, with queues of 16 entries. */
void vr_start(struct virtio_rig *rig, unsigned slot);

void vr_descriptor(struct virtio_rig *rig, unsigned queue, unsigned index, uint64_t address,
                   uint32_t bytes, unsigned flags, unsigned next);
void vr_put_descriptor(struct virtio_rig *rig, uint32_t at, uint64_t address, uint32_t bytes,
                       unsigned flags, unsigned next);
void vr_offer(struct virtio_rig *rig, unsigned queue, unsigned head);
void vr_set_available(struct virtio_rig *rig, unsigned queue, uint16_t index);
void vr_ring(struct virtio_rig *rig, unsigned slot, unsigned queue);
void vr_pass(struct virtio_rig *rig, uint64_t ns);
uint16_t vr_used(struct virtio_rig *rig, unsigned queue);
uint32_t vr_used_id(struct virtio_rig *rig, unsigned queue, unsigned entry);
uint32_t vr_used_bytes(struct virtio_rig *rig, unsigned queue, unsigned entry);

/* A request of a disk in descriptors 0 to 2: header, data, status; offered and rung. The status
 * byte is at VR_DATA + 16 and is FFh until it is written; the data are at VR_DATA + 4096. */
void vr_request(struct virtio_rig *rig, unsigned type, uint64_t sector, uint32_t bytes,
                bool to_guest);
uint8_t vr_result(struct virtio_rig *rig);

#endif
