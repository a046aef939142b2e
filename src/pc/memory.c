/* memory.c: see memory.h. */
#include "memory.h"

#include "lz.h"

#include <string.h>

#define PAGE  MEMORY_PAGE
#define LANES 4 /* of the hash of a page: products that do not wait for each other */

_Static_assert(MEMORY_CHUNK *PAGE <= LZ_MOST, "a chunk is packed at once");

const struct pc_field memory_chunk_fields[] = {
    FIELD(struct memory_chunk, first),
    FIELD(struct memory_chunk, count),
    FIELD_END,
};

static bool page_is_zero(const uint8_t *page)
{
    for (unsigned i = 0; i < PAGE; i += 64) {
        uint64_t word[8];

        memcpy(word, page + i, sizeof word);
        if (word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7])
            return false;
    }
    return true;
}

struct memory_chunk memory_next(const uint8_t *ram, uint32_t ram_bytes, uint32_t first)
{
    uint32_t pages = ram_bytes / PAGE, count = 0;

    while (first < pages && page_is_zero(ram + (size_t)first * PAGE))
        first++;
    while (count < MEMORY_CHUNK && first + count < pages &&
           !page_is_zero(ram + (size_t)(first + count) * PAGE))
        count++;
    return (struct memory_chunk){first, count};
}

const uint8_t *memory_pack(const uint8_t *ram, struct memory_chunk chunk,
                           uint8_t packed[MEMORY_CHUNK * MEMORY_PAGE], uint64_t *bytes)
{
    const uint8_t *from = ram + (size_t)chunk.first * PAGE;
    size_t count = (size_t)chunk.count * PAGE, made = lz_pack(from, count, packed, count - 1);

    *bytes = made ? made : count;
    return made ? packed : from;
}

static uint64_t load_8(const uint8_t *bytes)
{
    uint64_t value = 0;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&value, bytes, sizeof value);
#else
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
#endif
    return value;
}

static uint64_t hash_page(uint64_t hash, const uint8_t *page)
{
    uint64_t lane[LANES] = {1, 2, 3, 4};

    for (unsigned i = 0; i < PAGE; i += 8 * LANES)
        for (unsigned j = 0; j < LANES; j++) {
            uint64_t mixed = (lane[j] ^ load_8(page + i + 8 * j)) * UINT64_C(0x9e3779b97f4a7c15);
            lane[j] = mixed << 31 | mixed >> 33;
        }
    for (unsigned j = 0; j < LANES; j++)
        hash = hash_u64(hash, lane[j]);
    return hash;
}

/* Pages `first` to before `end`. */
static uint64_t hash_pages(const uint8_t *ram, uint32_t first, uint32_t end, uint64_t hash)
{
    for (uint32_t page = first; page < end; page++) {
        const uint8_t *at = ram + (size_t)page * PAGE;

        if (!page_is_zero(at))
            hash = hash_page(hash_u64(hash, page), at);
    }
    return hash;
}

uint64_t memory_hash(const uint8_t *ram, uint32_t ram_bytes, uint64_t hash)
{
    return hash_pages(ram, 0, ram_bytes / PAGE, hash);
}

/* ---- loading ------------------------------------------------------------------------------ */

/* Zero up to `end`; what is already is only read. */
static void clear(struct memory_load *load, uint32_t end)
{
    for (; !load->fresh && load->done < end; load->done++)
        if (!page_is_zero(load->ram + (size_t)load->done * PAGE))
            memset(load->ram + (size_t)load->done * PAGE, 0, PAGE);
    load->done = end;
}

static bool read_pages(uint8_t *to, size_t count, size_t bytes, struct pc_reader in)
{
    uint8_t packed[MEMORY_CHUNK * PAGE];

    if (bytes == count)
        return in.read(in.opaque, to, count);
    return in.read(in.opaque, packed, bytes) && lz_unpack(packed, bytes, to, count);
}

bool memory_load(struct memory_load *load, uint64_t bytes, struct pc_reader in)
{
    struct memory_chunk chunk;

    if (!fields_load(memory_chunk_fields, &chunk, in) || chunk.first < load->done ||
        chunk.first >= load->pages || chunk.count == 0 || chunk.count > MEMORY_CHUNK ||
        chunk.count > load->pages - chunk.first || bytes > (uint64_t)chunk.count * PAGE)
        return false;
    clear(load, chunk.first);
    if (!read_pages(load->ram + (size_t)chunk.first * PAGE, (size_t)chunk.count * PAGE,
                    (size_t)bytes, in))
        return false;
    load->done = chunk.first + chunk.count;
    load->hash = hash_pages(load->ram, chunk.first, load->done, load->hash);
    return true;
}

void memory_loaded(struct memory_load *load)
{
    clear(load, load->pages);
}
