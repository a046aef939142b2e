/* field.h: what a part of the machine remembers, as a table.
 *
 * Each chip (and the processor) describes its state once, as a `const struct pc_field[]`. Saving,
 * loading, hashing and printing are written once, here, and work from that table: a member that
 * is not in it does not survive a snapshot, and the round-trip test says so. Pointers, wiring and
 * whatever can be derived from the rest are never fields. */
#ifndef PC_FIELD_H
#define PC_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_kind {
    FIELD_UINT = 1, /* an integer or enum of 1, 2, 4 or 8 bytes */
    FIELD_BOOL,     /* loaded only as 0 or 1 */
    FIELD_STRUCT,   /* described by a table of its own */
};

struct pc_field {
    const char *name; /* NULL ends a table */
    uint32_t offset;  /* of the first element in the object */
    uint32_t bytes;   /* one element, in memory */
    uint32_t count;   /* elements */
    enum field_kind kind;
    const struct pc_field *inner; /* FIELD_STRUCT: the members */
};

#define FIELD_OF(type, member) (((type *)0)->member)

/* The formatter would take `#member` for a directive. */
/* clang-format off */
#define FIELD_KIND(value) _Generic((value), bool: FIELD_BOOL, default: FIELD_UINT)

/* One integer, enum or bool. */
#define FIELD(type, member)                                                                        \
    { #member, offsetof(type, member), sizeof FIELD_OF(type, member), 1,                           \
      FIELD_KIND(FIELD_OF(type, member)), NULL }

/* An array of them. */
#define FIELD_ARRAY(type, member)                                                                  \
    { #member, offsetof(type, member), sizeof FIELD_OF(type, member)[0],                           \
      sizeof FIELD_OF(type, member) / sizeof FIELD_OF(type, member)[0],                            \
      FIELD_KIND(FIELD_OF(type, member)[0]), NULL }

/* A struct, or an array of structs, whose members are in `table`. */
#define FIELD_STRUCT_OF(type, member, table)                                                       \
    { #member, offsetof(type, member), sizeof FIELD_OF(type, member), 1, FIELD_STRUCT, table }
#define FIELD_STRUCTS_OF(type, member, table)                                                      \
    { #member, offsetof(type, member), sizeof FIELD_OF(type, member)[0],                           \
      sizeof FIELD_OF(type, member) / sizeof FIELD_OF(type, member)[0], FIELD_STRUCT, table }

#define FIELD_END { NULL, 0, 0, 0, 0, NULL }
/* clang-format on */

/* Where a snapshot goes to and comes from. Each returns false when it cannot, and what called it
 * then gives up. */
struct pc_writer {
    bool (*write)(void *opaque, const void *bytes, size_t count);
    void *opaque;
};
struct pc_reader {
    bool (*read)(void *opaque, void *bytes, size_t count);
    void *opaque;
};

/* The bytes that fields_save writes: every integer in its own size, little-endian, no padding. */
uint64_t fields_bytes(const struct pc_field *fields);

/* A number that changes whenever a name, a size, a count or the order does: two builds whose
 * shapes agree can read each other's sections. */
uint64_t fields_shape(const struct pc_field *fields);

bool fields_save(const struct pc_field *fields, const void *object, struct pc_writer out);

/* Reads what fields_save wrote. False when the reader ends early or a bool is neither 0 nor 1;
 * the object is then half-loaded and must not run. Values are otherwise taken as they come: the
 * owner checks the indices among them. */
bool fields_load(const struct pc_field *fields, void *object, struct pc_reader in);

/* Folds the fields into a hash; the same on every host. */
uint64_t fields_hash(const struct pc_field *fields, const void *object, uint64_t hash);

/* Calls `line` with "name value" for each field that is not all zero; arrays print in hex. */
void fields_print(const struct pc_field *fields, const void *object,
                  void (*line)(void *opaque, const char *text), void *opaque);

/* The hash that all of the machine uses: fast over long memory, and the same on every host. */
uint64_t hash_u64(uint64_t hash, uint64_t value);
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count);

#endif
