/* queue.c: see queue.h. */
#include "queue.h"

#include <string.h>

#define DESCRIPTOR_BYTES 16u
#define FLAG_NEXT        1u
#define FLAG_WRITE       2u
#define FLAG_INDIRECT    4u
#define NO_INTERRUPT     1u /* in the available ring's flags */

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags, next;
};

bool dma_holds(const struct dma *dma, uint64_t address, uint64_t bytes)
{
    return address <= dma->ram_bytes && bytes <= dma->ram_bytes - address;
}

static uint64_t get(const struct dma *dma, uint64_t address, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)dma->ram[address + i] << 8 * i;
    return value;
}

static void put(const struct dma *dma, uint64_t address, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        dma->ram[address + i] = (uint8_t)(value >> 8 * i);
    dma->written(dma->opaque, (uint32_t)address, bytes);
}

const struct pc_field virtq_fields[] = {
    FIELD(struct virtq, table), FIELD(struct virtq, driver), FIELD(struct virtq, device),
    FIELD(struct virtq, size),  FIELD(struct virtq, taken),  FIELD(struct virtq, given),
    FIELD(struct virtq, enabled), FIELD_END,
};

void virtq_reset(struct virtq *queue)
{
    *queue = (struct virtq){.size = VIRTQ_SIZE};
}

/* Sizes and alignments: virtio 1.2, 2.7. */
bool virtq_fits(const struct virtq *queue, const struct dma *dma)
{
    uint32_t size = queue->size;

    if (!size || size > VIRTQ_SIZE || size & (size - 1))
        return false;
    if (queue->table & 15 || queue->driver & 1 || queue->device & 3)
        return false;
    return dma_holds(dma, queue->table, DESCRIPTOR_BYTES * size) &&
           dma_holds(dma, queue->driver, 4 + 2 * size) &&
           dma_holds(dma, queue->device, 4 + 8 * size);
}

static struct descriptor read_descriptor(const struct dma *dma, uint64_t at)
{
    return (struct descriptor){
        .address = get(dma, at, 8),
        .bytes = (uint32_t)get(dma, at + 8, 4),
        .flags = (uint16_t)get(dma, at + 12, 2),
        .next = (uint16_t)get(dma, at + 14, 2),
    };
}

/* Adds a segment; false when it is not RAM, when there are too many, or when one to be read comes
 * after one to be written (2.7.4.2). */
static bool add_segment(struct virtq_chain *chain, const struct dma *dma,
                        const struct descriptor *d)
{
    bool writes = d->flags & FLAG_WRITE;

    if (chain->count == VIRTQ_SIZE || !dma_holds(dma, d->address, d->bytes))
        return false;
    if (!writes && chain->readable != chain->count)
        return false;
    chain->segment[chain->count++] =
        (struct virtq_segment){(uint32_t)d->address, d->bytes};
    if (!writes)
        chain->readable = chain->count;
    return true;
}

/* Follows a table of `entries` from `at`. No chain is longer than its table, or than a queue may
 * be: what goes on loops. */
static bool follow(struct virtq_chain *chain, const struct dma *dma, uint64_t table,
                   uint32_t entries, uint16_t at, bool indirect)
{
    for (uint32_t steps = 0; steps < entries && steps < VIRTQ_SIZE; steps++) {
        if (at >= entries)
            return false;
        struct descriptor d = read_descriptor(dma, table + (uint64_t)at * DESCRIPTOR_BYTES);

        if (d.flags & FLAG_INDIRECT) {
            /* Only in the ring's own table, and as the end of a chain (2.7.5.3.1). */
            uint32_t inner = d.bytes / DESCRIPTOR_BYTES;

            if (indirect || d.flags & FLAG_NEXT || !inner || d.bytes % DESCRIPTOR_BYTES ||
                !dma_holds(dma, d.address, d.bytes))
                return false;
            return follow(chain, dma, d.address, inner, 0, true);
        }
        if (!add_segment(chain, dma, &d))
            return false;
        if (!(d.flags & FLAG_NEXT))
            return true;
        at = d.next;
    }
    return false;
}

enum virtq_got virtq_peek(const struct virtq *queue, const struct dma *dma)
{
    uint16_t waiting;

    if (!queue->enabled)
        return VIRTQ_EMPTY;
    waiting = (uint16_t)(get(dma, queue->driver + 2, 2) - queue->taken);
    return waiting > queue->size ? VIRTQ_BROKEN : waiting ? VIRTQ_CHAIN : VIRTQ_EMPTY;
}

enum virtq_got virtq_take(struct virtq *queue, const struct dma *dma, struct virtq_chain *chain)
{
    enum virtq_got got = virtq_peek(queue, dma);
    uint32_t slot = queue->taken & (queue->size - 1u);

    if (got != VIRTQ_CHAIN)
        return got;
    chain->head = (uint16_t)get(dma, queue->driver + 4 + 2 * slot, 2);
    chain->count = chain->readable = 0;
    if (!follow(chain, dma, queue->table, queue->size, chain->head, false))
        return VIRTQ_BROKEN;
    queue->taken++;
    return VIRTQ_CHAIN;
}

bool virtq_give(struct virtq *queue, const struct dma *dma, uint16_t head, uint32_t bytes)
{
    uint64_t entry = queue->device + 4 + 8 * (queue->given & (queue->size - 1u));

    put(dma, entry, 4, head);
    put(dma, entry + 4, 4, bytes);
    put(dma, queue->device + 2, 2, ++queue->given);
    return !(get(dma, queue->driver, 2) & NO_INTERRUPT);
}

/* ---- The bytes of a chain ----------------------------------------------------------------- */

static uint64_t sum(const struct virtq_chain *chain, unsigned first, unsigned end)
{
    uint64_t bytes = 0;

    for (unsigned i = first; i < end; i++)
        bytes += chain->segment[i].bytes;
    return bytes;
}

uint64_t virtq_readable_bytes(const struct virtq_chain *chain)
{
    return sum(chain, 0, chain->readable);
}

uint64_t virtq_writable_bytes(const struct virtq_chain *chain)
{
    return sum(chain, chain->readable, chain->count);
}

/* Walks `count` bytes from `offset` in segments [first, end). One of `to` and `from` is NULL. */
static uint32_t copy(const struct virtq_chain *chain, const struct dma *dma, unsigned first,
                     unsigned end, uint64_t offset, uint8_t *to, const uint8_t *from,
                     uint32_t count)
{
    uint32_t done = 0;

    for (unsigned i = first; i < end && done < count; i++) {
        const struct virtq_segment *segment = &chain->segment[i];

        if (offset >= segment->bytes) {
            offset -= segment->bytes;
            continue;
        }
        uint32_t at = segment->address + (uint32_t)offset, part = segment->bytes - (uint32_t)offset;

        part = part < count - done ? part : count - done;
        if (to) {
            memcpy(to + done, dma->ram + at, part);
        } else {
            memcpy(dma->ram + at, from + done, part);
            dma->written(dma->opaque, at, part);
        }
        done += part;
        offset = 0;
    }
    return done;
}

uint32_t virtq_read(const struct virtq_chain *chain, const struct dma *dma, uint64_t offset,
                    void *bytes, uint32_t count)
{
    return copy(chain, dma, 0, chain->readable, offset, bytes, NULL, count);
}

uint32_t virtq_write(const struct virtq_chain *chain, const struct dma *dma, uint64_t offset,
                     const void *bytes, uint32_t count)
{
    return copy(chain, dma, chain->readable, chain->count, offset, NULL, bytes, count);
}
