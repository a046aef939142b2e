/* rng.c: see rng.h. */
#include "rng.h"

#include <string.h>

#define ANSWER_NS  10000u
#define CHAIN_MOST 4096u /* bytes of one buffer that are filled: the driver takes fewer than it asks */

static uint32_t rotate(uint32_t value, unsigned count)
{
    return value << count | value >> (32 - count);
}

static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b, *d = rotate(*d ^ *a, 16);
    *c += *d, *b = rotate(*b ^ *c, 12);
    *a += *b, *d = rotate(*d ^ *a, 8);
    *c += *d, *b = rotate(*b ^ *c, 7);
}

void rng_keystream(const uint32_t key[8], uint64_t counter, uint8_t out[64])
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];

    memcpy(start + 4, key, 32);
    start[12] = (uint32_t)counter;
    start[13] = (uint32_t)(counter >> 32);
    memcpy(x, start, sizeof x);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 4; i++)
            quarter_round(&x[i], &x[4 + i], &x[8 + i], &x[12 + i]);
        for (unsigned i = 0; i < 4; i++)
            quarter_round(&x[i], &x[4 + (i + 1) % 4], &x[8 + (i + 2) % 4], &x[12 + (i + 3) % 4]);
    }
    for (unsigned i = 0; i < 16; i++)
        pci_put(out + 4 * i, 4, x[i] + start[i]);
}

static void rung(struct virtio *virtio, unsigned queue)
{
    (void)queue;
    struct rng *rng = (struct rng *)virtio;

    if (!rng->due.armed)
        clock_at(rng->clock, &rng->due, clock_now(rng->clock) + ANSWER_NS);
}

static uint32_t fill(struct rng *rng, const struct virtq_chain *chain)
{
    uint64_t room = virtq_writable_bytes(chain);
    uint32_t count = room < CHAIN_MOST ? (uint32_t)room : CHAIN_MOST, done = 0;
    uint8_t bytes[64];

    while (done < count) {
        uint32_t part = count - done < sizeof bytes ? count - done : (uint32_t)sizeof bytes;

        rng_keystream(rng->key, rng->block++, bytes);
        done += virtq_write(chain, &rng->virtio.dma, done, bytes, part);
    }
    return done;
}

/* A buffer at a time: a driver that refills its ring for ever does not stop the clock. */
static void answer_due(void *device)
{
    struct rng *rng = device;
    struct virtq_chain chain;

    if (virtio_take(&rng->virtio, 0, &chain))
        virtio_give(&rng->virtio, 0, chain.head, fill(rng, &chain));
    if (virtio_waits(&rng->virtio, 0))
        rung(&rng->virtio, 0);
}

static void device_reset(struct virtio *virtio)
{
    struct rng *rng = (struct rng *)virtio;

    clock_cancel(rng->clock, &rng->due);
}

static const struct virtio_kind kind = {
    .type = VIRTIO_RNG,
    .class_code = 0x00ff00,
    .queues = 1,
    .rung = rung,
    .reset = device_reset,
};

static void reset(void *device)
{
    virtio_bus_reset(device);
}

static bool loaded(void *device)
{
    return virtio_loaded(device);
}

static const struct pc_field fields[] = {
    FIELD_STRUCT_OF(struct rng, virtio, virtio_fields),
    FIELD_ARRAY(struct rng, key),
    FIELD(struct rng, block),
    FIELD_END,
};

const struct chip rng_chip = {
    .name = "rng", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void rng_seed(struct rng *rng, const uint8_t seed[RNG_SEED])
{
    for (unsigned i = 0; i < 8; i++)
        rng->key[i] = pci_get(seed + 4 * i, 4);
    rng->block = 0;
}

void rng_init(struct rng *rng, struct clock *clock, const struct dma *dma,
              const uint8_t seed[RNG_SEED])
{
    memset(rng, 0, sizeof *rng);
    virtio_init(&rng->virtio, &kind, 0, dma);
    rng->clock = clock;
    clock_add(clock, &rng->due, "rng", answer_due, rng);
    rng_seed(rng, seed);
}
