/* field.c: what a table of fields saves, loads and hashes is all of them and nothing else, in a
 * form that does not depend on the host. */
#include "rig.h"

#include "pc/field.h"

#include <string.h>

struct inner {
    uint16_t half;
    bool flag;
};

struct outer {
    uint8_t byte;
    int pointerlike; /* not a field */
    uint64_t wide;
    uint32_t row[3];
    int16_t negative;
    bool flags[2];
    struct inner one, many[2];
};

static const struct pc_field inner_fields[] = {
    FIELD(struct inner, half),
    FIELD(struct inner, flag),
    FIELD_END,
};

static const struct pc_field outer_fields[] = {
    FIELD(struct outer, byte),
    FIELD(struct outer, wide),
    FIELD_ARRAY(struct outer, row),
    FIELD(struct outer, negative),
    FIELD_ARRAY(struct outer, flags),
    FIELD_STRUCT_OF(struct outer, one, inner_fields),
    FIELD_STRUCTS_OF(struct outer, many, inner_fields),
    FIELD_END,
};

static const struct outer sample = {
    .byte = 0x12,
    .pointerlike = 99,
    .wide = 0x0123456789abcdef,
    .row = {1, 0x80000002, 3},
    .negative = -2,
    .flags = {true, false},
    .one = {0x3456, true},
    .many = {{7, false}, {8, true}},
};

struct store {
    uint8_t bytes[128];
    size_t used, limit;
};

static bool store_write(void *opaque, const void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > store->limit - store->used)
        return false;
    memcpy(store->bytes + store->used, bytes, count);
    store->used += count;
    return true;
}

static bool store_read(void *opaque, void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > store->limit - store->used)
        return false;
    memcpy(bytes, store->bytes + store->used, count);
    store->used += count;
    return true;
}

#define SAVED 34

static void fields_are_little_endian_and_packed(void **state)
{
    (void)state;
    static const uint8_t wanted[SAVED] = {
        0x12, 0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 1,    0, 0, 0, 2, 0, 0, 0x80,
        3,    0,    0,    0,    0xfe, 0xff, 1,    0,    0x56, 0x34, 1, 7, 0, 0, 8, 0, 1};
    struct store store = {.limit = sizeof store.bytes};

    assert_true(fields_save(outer_fields, &sample, (struct pc_writer){store_write, &store}));
    assert_int_equal(store.used, SAVED);
    assert_int_equal(fields_bytes(outer_fields), SAVED);
    assert_memory_equal(store.bytes, wanted, SAVED);
}

static void what_was_saved_is_loaded_and_the_rest_left_alone(void **state)
{
    (void)state;
    struct store store = {.limit = sizeof store.bytes};
    struct outer loaded;

    memset(&loaded, 0, sizeof loaded);
    loaded.pointerlike = 5;
    fields_save(outer_fields, &sample, (struct pc_writer){store_write, &store});
    store.used = 0;
    assert_true(fields_load(outer_fields, &loaded, (struct pc_reader){store_read, &store}));
    assert_int_equal(loaded.pointerlike, 5);
    assert_true(loaded.wide == sample.wide);
    assert_int_equal(loaded.negative, -2);
    assert_true(loaded.many[1].flag);
    assert_true(fields_hash(outer_fields, &loaded, 1) == fields_hash(outer_fields, &sample, 1));
}

static void every_field_is_in_the_hash(void **state)
{
    (void)state;
    uint64_t hash = fields_hash(outer_fields, &sample, 1);
    struct outer other;

#define DIFFERS(change)                                                                            \
    other = sample;                                                                                \
    change;                                                                                        \
    assert_false(fields_hash(outer_fields, &other, 1) == hash)

    DIFFERS(other.byte ^= 1);
    DIFFERS(other.wide ^= UINT64_C(1) << 63);
    DIFFERS(other.row[2] ^= 1);
    DIFFERS(other.negative = 2);
    DIFFERS(other.flags[1] = true);
    DIFFERS(other.one.half = 1);
    DIFFERS(other.many[1].flag = false);
    other = sample;
    other.pointerlike++;
    assert_true(fields_hash(outer_fields, &other, 1) == hash);
}

static void a_stream_that_ends_or_lies_is_refused(void **state)
{
    (void)state;
    struct store store = {.limit = sizeof store.bytes};
    struct outer loaded = {0};

    fields_save(outer_fields, &sample, (struct pc_writer){store_write, &store});
    for (size_t limit = 0; limit < SAVED; limit++) {
        struct store cut = {.limit = limit};

        assert_false(fields_save(outer_fields, &sample, (struct pc_writer){store_write, &cut}));
        store.used = 0;
        store.limit = limit;
        assert_false(fields_load(outer_fields, &loaded, (struct pc_reader){store_read, &store}));
    }
    store.used = 0;
    store.limit = sizeof store.bytes;
    store.bytes[27] = 2; /* one.flag: neither 0 nor 1 */
    assert_false(fields_load(outer_fields, &loaded, (struct pc_reader){store_read, &store}));
}

static void the_shape_tells_tables_apart(void **state)
{
    (void)state;
    static const struct pc_field renamed[] = {
        {"halve", offsetof(struct inner, half), 2, 1, FIELD_UINT, NULL},
        FIELD(struct inner, flag),
        FIELD_END,
    };
    static const struct pc_field swapped[] = {
        FIELD(struct inner, flag),
        FIELD(struct inner, half),
        FIELD_END,
    };

    assert_false(fields_shape(inner_fields) == fields_shape(renamed));
    assert_false(fields_shape(inner_fields) == fields_shape(swapped));
    assert_false(fields_shape(inner_fields) == fields_shape(outer_fields));
}

static char printed[400];

static void keep_line(void *opaque, const char *text)
{
    (void)opaque;
    strncat(printed, text, sizeof printed - strlen(printed) - 2);
    strcat(printed, "\n");
}

static void fields_print_for_people(void **state)
{
    (void)state;
    struct outer some = {.byte = 1, .row = {0, 5, 0}, .many = {{0}, {9, false}}};

    printed[0] = '\0';
    fields_print(outer_fields, &some, keep_line, NULL);
    assert_string_equal(printed, "byte 01\nrow 00000000 00000005 00000000\nmany[1].half 0009\n");
}

static void the_hash_of_bytes_depends_on_all_and_on_their_order(void **state)
{
    (void)state;
    uint8_t bytes[31];
    uint64_t hash;

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    hash = hash_bytes(3, bytes, sizeof bytes);
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 0x80;
        assert_false(hash_bytes(3, bytes, sizeof bytes) == hash);
        bytes[i] ^= 0x80;
    }
    assert_true(hash_bytes(3, bytes, sizeof bytes) == hash);
    assert_false(hash_bytes(4, bytes, sizeof bytes) == hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_little_endian_and_packed),
        cmocka_unit_test(what_was_saved_is_loaded_and_the_rest_left_alone),
        cmocka_unit_test(every_field_is_in_the_hash),
        cmocka_unit_test(a_stream_that_ends_or_lies_is_refused),
        cmocka_unit_test(the_shape_tells_tables_apart),
        cmocka_unit_test(fields_print_for_people),
        cmocka_unit_test(the_hash_of_bytes_depends_on_all_and_on_their_order),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
