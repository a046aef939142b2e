/* field.c: saving, loading, hashing and printing from tables of fields; see field.h.
 *
 * Everything walks a table in order. Integers go through their own width in little-endian byte
 * order, so that a snapshot made on one host is read on any other. */
#include "field.h"

#include "text.h"

#include <string.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15u /* 2^64 / golden ratio: odd, with its bits well spread */

uint64_t hash_u64(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * HASH_FACTOR;
    return hash ^ hash >> 29;
}

static uint64_t load_little(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Eight bytes as the little-endian number that they are on every host; whole RAMs go through. */
static uint64_t load_8(const uint8_t *bytes)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t value;

    memcpy(&value, bytes, sizeof value);
    return value;
#else
    return load_little(bytes, 8);
#endif
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    for (; count >= 8; at += 8, count -= 8)
        hash = hash_u64(hash, load_8(at));
    return count ? hash_u64(hash, load_little(at, (unsigned)count)) : hash;
}

/* The number in a member of 1, 2, 4 or 8 bytes, in the host's own byte order. */
static uint64_t get(const void *member, uint32_t bytes)
{
    uint64_t value = 0;

    switch (bytes) {
    case 1:
        return *(const uint8_t *)member;
    case 2:
        return *(const uint16_t *)member;
    case 4: {
        uint32_t narrow;
        memcpy(&narrow, member, sizeof narrow);
        return narrow;
    }
    default:
        memcpy(&value, member, sizeof value);
        return value;
    }
}

static void put(void *member, uint32_t bytes, uint64_t value)
{
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;

    switch (bytes) {
    case 1:
        memcpy(member, &u8, sizeof u8);
        break;
    case 2:
        memcpy(member, &u16, sizeof u16);
        break;
    case 4:
        memcpy(member, &u32, sizeof u32);
        break;
    default:
        memcpy(member, &value, sizeof value);
        break;
    }
}

uint64_t fields_bytes(const struct pc_field *fields)
{
    uint64_t sum = 0;

    for (const struct pc_field *f = fields; f->name; f++)
        sum += f->count * (f->kind == FIELD_STRUCT ? fields_bytes(f->inner) : f->bytes);
    return sum;
}

uint64_t fields_shape(const struct pc_field *fields)
{
    uint64_t hash = 1;

    for (const struct pc_field *f = fields; f->name; f++) {
        hash = hash_bytes(hash, f->name, strlen(f->name));
        hash = hash_u64(hash, f->count);
        hash = hash_u64(hash, f->kind == FIELD_STRUCT ? fields_shape(f->inner) : f->bytes);
    }
    return hash;
}

bool fields_save(const struct pc_field *fields, const void *object, struct pc_writer out)
{
    for (const struct pc_field *f = fields; f->name; f++) {
        const uint8_t *member = (const uint8_t *)object + f->offset;

        if (f->kind != FIELD_STRUCT && f->bytes == 1) {
            if (!out.write(out.opaque, member, f->count))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < f->count; i++, member += f->bytes) {
            uint8_t little[8];

            if (f->kind == FIELD_STRUCT) {
                if (!fields_save(f->inner, member, out))
                    return false;
                continue;
            }
            uint64_t value = get(member, f->bytes);
            for (unsigned byte = 0; byte < 8; byte++)
                little[byte] = (uint8_t)(value >> 8 * byte);
            if (!out.write(out.opaque, little, f->bytes))
                return false;
        }
    }
    return true;
}

/* A bool in memory that is neither 0 nor 1 is undefined behaviour waiting: it is checked as the
 * byte it came as, before anything reads it as a bool. */
static bool load_member(const struct pc_field *f, uint8_t *member, struct pc_reader in)
{
    uint8_t little[8] = {0};

    if (f->kind == FIELD_STRUCT)
        return fields_load(f->inner, member, in);
    if (!in.read(in.opaque, little, f->bytes))
        return false;
    if (f->kind == FIELD_BOOL && little[0] > 1)
        return false;
    put(member, f->bytes, load_little(little, 8));
    return true;
}

bool fields_load(const struct pc_field *fields, void *object, struct pc_reader in)
{
    for (const struct pc_field *f = fields; f->name; f++) {
        uint8_t *member = (uint8_t *)object + f->offset;

        if (f->kind == FIELD_UINT && f->bytes == 1) {
            if (!in.read(in.opaque, member, f->count))
                return false;
            continue;
        }
        for (uint32_t i = 0; i < f->count; i++, member += f->bytes)
            if (!load_member(f, member, in))
                return false;
    }
    return true;
}

uint64_t fields_hash(const struct pc_field *fields, const void *object, uint64_t hash)
{
    for (const struct pc_field *f = fields; f->name; f++) {
        const uint8_t *member = (const uint8_t *)object + f->offset;

        if (f->kind != FIELD_STRUCT && f->bytes == 1) {
            hash = hash_bytes(hash, member, f->count);
            continue;
        }
        for (uint32_t i = 0; i < f->count; i++, member += f->bytes)
            hash = f->kind == FIELD_STRUCT ? fields_hash(f->inner, member, hash)
                                           : hash_u64(hash, get(member, f->bytes));
    }
    return hash;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i])
            return false;
    return true;
}

/* A structure's members are printed under "name." or "name[2].". */
static void print_under(const char *prefix, const struct pc_field *fields, const void *object,
                        void (*line)(void *opaque, const char *text), void *opaque)
{
    for (const struct pc_field *f = fields; f->name; f++) {
        const uint8_t *member = (const uint8_t *)object + f->offset;
        char buffer[160];
        struct text text = TEXT(buffer);

        if (is_zero(member, (size_t)f->bytes * f->count))
            continue;
        text_add(&text, prefix);
        text_add(&text, f->name);
        if (f->kind != FIELD_STRUCT) {
            for (uint32_t i = 0; i < f->count; i++, member += f->bytes) {
                text_add(&text, " ");
                text_add_hex(&text, get(member, f->bytes), 2 * f->bytes);
            }
            line(opaque, buffer);
            continue;
        }
        size_t name_end = text.used;
        for (uint32_t i = 0; i < f->count; i++, member += f->bytes) {
            text.used = name_end;
            if (f->count > 1) {
                text_add(&text, "[");
                text_add_decimal(&text, i);
                text_add(&text, "]");
            }
            text_add(&text, ".");
            print_under(buffer, f->inner, member, line, opaque);
        }
    }
}

void fields_print(const struct pc_field *fields, const void *object,
                  void (*line)(void *opaque, const char *text), void *opaque)
{
    print_under("", fields, object, line, opaque);
}
