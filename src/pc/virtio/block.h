/* block.h: a disk (virtio 1.2, 5.2): read, write, flush, discard, write zeroes, its name.
 *
 * One request is under way at a time, in the order in which they were made. It goes through two
 * moments of guest time: START_NS after the driver rang it is handed to the host, and when it has
 * taken what such a request takes on a disk of this size and the host has it, it is given back. A
 * host that answers inside the call, or for which the machine waits (pc_config.exact), therefore
 * makes no difference to the guest, whatever its disk is. */
#ifndef PC_VIRTIO_BLOCK_H
#define PC_VIRTIO_BLOCK_H

#include "../clock.h"
#include "../disk.h"
#include "device.h"

#define BLOCK_SECTOR    512u
#define BLOCK_MAX_BYTES (4u << 20) /* of one request */

enum block_stage { BLOCK_IDLE, BLOCK_RUNG, BLOCK_WITH_HOST, BLOCK_ANSWERED };

struct block {
    struct virtio virtio; /* first: the transport hands this pointer around */
    uint8_t stage;        /* enum block_stage */
    bool late;            /* its time has come, and the host does not have it yet */
    uint8_t op, result;
    uint64_t offset, bytes;
    struct virtq_chain chain;

    struct pc_disk disk;
    struct clock *clock;
    struct clock_event start, finish;
    void (*handle)(void *opaque, unsigned number, const struct pc_block_request *request);
    void *opaque;
    unsigned number;
};

extern const struct chip block_chip[PC_DISKS];

/* `handle` is given each request, and block_done() is called in it or later. Without it every
 * request fails. */
void block_init(struct block *block, unsigned number, const struct pc_disk *disk,
                struct clock *clock, const struct dma *dma,
                void (*handle)(void *opaque, unsigned number, const struct pc_block_request *request),
                void *opaque);

/* A piece of the memory that the request under way reads into or writes from: from byte `offset`
 * of its data, `*bytes` long. NULL behind the end. Good until block_done(). */
uint8_t *block_data(struct block *block, uint64_t offset, uint32_t *bytes);

/* The host's answer to the request under way; without one it is nothing. */
void block_done(struct block *block, enum pc_block_result result);

/* After a snapshot was loaded: a request that was with the host when it was saved is with nobody, and
 * is handed out again, which does no harm to any of them. */
void block_loaded(struct block *block);

/* The host has a request and has not answered. */
bool block_is_with_host(const struct block *block);

#endif
