/* lz.c: see lz.h. One hash table of four-byte beginnings, no chains: what was seen last is tried.
 */
#include "lz.h"

#include <string.h>

#define MATCH_LEAST 4u
#define TABLE_BITS  12
#define TAIL        12u /* at the end no match is looked for */
#define STEP        16  /* most literals and matches are copied in one or two of these */
#define SKIP_AFTER  6 /* after so many misses, doubled, it looks at every second byte, and so on */

static uint32_t load_4(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t slot_of(uint32_t four)
{
    return four * 2654435761u >> (32 - TABLE_BITS);
}

struct out {
    uint8_t *at, *end;
};

/* What a length needs beside its four bits. */
static size_t length_bytes(size_t length)
{
    return length < 15 ? 0 : (length - 15) / 255 + 1;
}

static void put_length(struct out *out, size_t length)
{
    if (length < 15)
        return;
    for (length -= 15; length >= 255; length -= 255)
        *out->at++ = 255;
    *out->at++ = (uint8_t)length;
}

/* One sequence; a match of 0 bytes is the last. False when there is no room. */
static bool put(struct out *out, const uint8_t *literals, size_t count, size_t back, size_t match)
{
    size_t more = match ? match - MATCH_LEAST : 0;

    if ((size_t)(out->end - out->at) <
        1 + length_bytes(count) + count + (match ? 2 + length_bytes(more) : 0))
        return false;
    *out->at++ = (uint8_t)((count < 15 ? count : 15) << 4 | (more < 15 ? more : 15));
    put_length(out, count);
    memcpy(out->at, literals, count);
    out->at += count;
    if (!match)
        return true;
    *out->at++ = (uint8_t)back;
    *out->at++ = (uint8_t)(back >> 8);
    put_length(out, more);
    return true;
}

static size_t common(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *from = b;

    while (b < end && *a == *b)
        a++, b++;
    return (size_t)(b - from);
}

size_t lz_pack(const uint8_t *from, size_t count, uint8_t *to, size_t room)
{
    uint16_t
        seen[1 << TABLE_BITS]; /* where a beginning was last; 0 may be nothing: it is looked at */
    struct out out = {to, to + room};
    const uint8_t *at = from, *told = from, *end = from + count;

    memset(seen, 0, sizeof seen);
    for (size_t misses = 1u << SKIP_AFTER; count > TAIL && at < end - TAIL;) {
        uint32_t four = load_4(at);
        uint16_t *slot = &seen[slot_of(four)];
        const uint8_t *before = from + *slot;

        *slot = (uint16_t)(at - from);
        if (before >= at || load_4(before) != four) {
            at += misses++ >> SKIP_AFTER;
            continue;
        }
        size_t match = MATCH_LEAST + common(before + MATCH_LEAST, at + MATCH_LEAST, end);
        if (!put(&out, told, (size_t)(at - told), (size_t)(at - before), match))
            return 0;
        at += match;
        told = at;
        misses = 1u << SKIP_AFTER;
    }
    if (!put(&out, told, (size_t)(end - told), 0, 0))
        return 0;
    return (size_t)(out.at - to);
}

/* The rest of a length; false at the end of the input or for one that no block can have. */
static bool get_length(const uint8_t **from, const uint8_t *end, size_t *length)
{
    uint8_t byte;

    if (*length < 15)
        return true;
    do {
        if (*from == end || *length > LZ_MOST)
            return false;
        byte = *(*from)++;
        *length += byte;
    } while (byte == 255);
    return true;
}

/* A match may reach into what it makes: then it repeats. `room` bytes may be written, also behind
 * it. */
static void copy_match(uint8_t *to, size_t back, size_t count, size_t room)
{
    if (back >= STEP && count <= 2 * STEP && room >= 2 * STEP) {
        memcpy(to, to - back, STEP);
        memcpy(to + STEP, to + STEP - back, STEP);
    } else if (back >= count) {
        memcpy(to, to - back, count);
    } else if (back == 1) {
        memset(to, to[-1], count);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = to[(ptrdiff_t)i - (ptrdiff_t)back];
    }
}

bool lz_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t count)
{
    const uint8_t *end = from + bytes;
    uint8_t *at = to, *full = to + count;

    while (from < end) {
        size_t literals = *from >> 4, match = *from & 15;

        from++;
        if (!get_length(&from, end, &literals) || literals > (size_t)(end - from) ||
            literals > (size_t)(full - at))
            return false;
        if (literals <= STEP && end - from >= STEP && full - at >= STEP)
            memcpy(at, from, STEP);
        else
            memcpy(at, from, literals);
        at += literals;
        from += literals;
        if (from == end)
            return at == full && match == 0;
        if (end - from < 2)
            return false;
        size_t back = from[0] | (size_t)from[1] << 8;
        from += 2;
        if (!get_length(&from, end, &match) || back == 0 || back > (size_t)(at - to))
            return false;
        match += MATCH_LEAST;
        if (match > (size_t)(full - at))
            return false;
        copy_match(at, back, match, (size_t)(full - at));
        at += match;
    }
    return false;
}
