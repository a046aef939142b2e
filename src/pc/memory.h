/* memory.h: the RAM of a machine in snapshots and hashes: pages that are zero cost nothing, neither
 * room in the file nor memory of the host that was never touched. */
#ifndef PC_MEMORY_H
#define PC_MEMORY_H

#include "field.h"

#define MEMORY_PAGE  4096u
#define MEMORY_CHUNK 16u /* pages that are packed together, at most */

/* A chunk's place, in front of its bytes: as many as its pages have, as they are, or fewer, packed.
 */
struct memory_chunk {
    uint32_t first, count; /* pages */
};
extern const struct pc_field memory_chunk_fields[];

/* The next pages that are not zero, from `first` on; count 0: there are none. */
struct memory_chunk memory_next(const uint8_t *ram, uint32_t ram_bytes, uint32_t first);

/* The chunk's bytes as the file has them, in `packed` or in the RAM itself; how many in *bytes. */
const uint8_t *memory_pack(const uint8_t *ram, struct memory_chunk chunk,
                           uint8_t packed[MEMORY_CHUNK * MEMORY_PAGE], uint64_t *bytes);

/* A RAM that is being loaded, chunk by chunk. */
struct memory_load {
    uint8_t *ram;
    uint32_t pages;
    bool fresh;    /* it is all zero, and most of it has never been touched */
    uint32_t done; /* pages that have been dealt with */
    uint64_t hash; /* of these: in the end what memory_hash would say */
};

/* Reads a chunk of `bytes`. Chunks come in order, and what is between them becomes zero. False when
 * it is not one. */
bool memory_load(struct memory_load *load, uint64_t bytes, struct pc_reader in);
/* No more chunks come. */
void memory_loaded(struct memory_load *load);

/* Folds the RAM into a hash: the pages that are not zero, and where they are. */
uint64_t memory_hash(const uint8_t *ram, uint32_t ram_bytes, uint64_t hash);

#endif
