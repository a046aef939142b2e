/* queue.h: a split virtqueue (virtio 1.2, 2.7), from the device's side.
 *
 *     descriptor table   driver area (available ring)   device area (used ring)
 *     16 bytes × size    u16 flags, idx, ring[size]     u16 flags, idx, {u32 id, len}[size]
 *
 * All three lie in guest RAM and may hold anything, and may change at any time. A chain is checked
 * and copied out whole before anything of it is used: what lies outside RAM, loops, is nested or
 * longer than the queue is reported as broken, and the device asks to be reset. */
#ifndef PC_VIRTIO_QUEUE_H
#define PC_VIRTIO_QUEUE_H

#include "../field.h"

#define VIRTQ_SIZE 64 /* the most entries; also the most segments of a chain */

/* Guest RAM, as devices reach it by themselves. */
struct dma {
    uint8_t *ram;
    uint32_t ram_bytes;
    void (*written)(void *opaque, uint32_t address, uint32_t bytes); /* after a write */
    void *opaque;
};

/* Whether all of it is RAM. */
bool dma_holds(const struct dma *dma, uint64_t address, uint64_t bytes);

struct virtq {
    uint64_t table, driver, device; /* guest addresses */
    uint16_t size;
    uint16_t taken; /* available entries so far, modulo 64 K */
    uint16_t given; /* used entries so far */
    bool enabled;
};

struct virtq_segment {
    uint32_t address, bytes;
};

/* Segments the device reads come first, then those it writes. */
struct virtq_chain {
    uint16_t head;
    uint16_t readable, count; /* segments: [0, readable) and [readable, count) */
    struct virtq_segment segment[VIRTQ_SIZE];
};

extern const struct pc_field virtq_fields[];

void virtq_reset(struct virtq *queue);

/* Whether what the driver has set up can be used: sizes, alignment, all of it in RAM. */
bool virtq_fits(const struct virtq *queue, const struct dma *dma);

enum virtq_got { VIRTQ_EMPTY, VIRTQ_CHAIN, VIRTQ_BROKEN };

/* The next chain that the driver has made available, which is then taken. */
enum virtq_got virtq_take(struct virtq *queue, const struct dma *dma, struct virtq_chain *chain);

/* Whether another one waits; nothing is taken. */
enum virtq_got virtq_peek(const struct virtq *queue, const struct dma *dma);

/* Gives a chain back, `bytes` of which were written. True when the driver wants to be told. */
bool virtq_give(struct virtq *queue, const struct dma *dma, uint16_t head, uint32_t bytes);

/* Copies between the readable or writable bytes of a chain and a buffer; how many were copied. */
uint32_t virtq_read(const struct virtq_chain *chain, const struct dma *dma, uint64_t offset,
                    void *bytes, uint32_t count);
uint32_t virtq_write(const struct virtq_chain *chain, const struct dma *dma, uint64_t offset,
                     const void *bytes, uint32_t count);

uint64_t virtq_readable_bytes(const struct virtq_chain *chain);
uint64_t virtq_writable_bytes(const struct virtq_chain *chain);

#endif
