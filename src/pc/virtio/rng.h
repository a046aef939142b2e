/* rng.h: a source of entropy (virtio 1.2, 5.4): the keystream of ChaCha20 (RFC 8439, 2.3), whose key
 * the host gives. The same key gives the same run; a machine that goes on from a snapshot in two
 * places is given a new one in each. */
#ifndef PC_VIRTIO_RNG_H
#define PC_VIRTIO_RNG_H

#include "../clock.h"
#include "device.h"

#define RNG_SEED 32

struct rng {
    struct virtio virtio; /* first */
    uint32_t key[8];
    uint64_t block; /* of the keystream, the next one */

    struct clock *clock;
    struct clock_event due;
};

extern const struct chip rng_chip;

void rng_init(struct rng *rng, struct clock *clock, const struct dma *dma,
              const uint8_t seed[RNG_SEED]);
void rng_seed(struct rng *rng, const uint8_t seed[RNG_SEED]);

/* The 64 bytes of block `counter`, with a nonce of zero. */
void rng_keystream(const uint32_t key[8], uint64_t counter, uint8_t out[64]);

#endif
