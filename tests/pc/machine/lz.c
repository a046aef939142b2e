/* lz.c: what is packed unpacks to the same bytes, is smaller where it repeats, keeps within its
 * room, and what was not packed does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those four before it */

#include "pc/lz.h"

#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;

static uint32_t any(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* Memory as memories are: runs, repeats from near and far, words that count, noise. */
static void fill(uint8_t *bytes, size_t count, unsigned noise)
{
    for (size_t at = 0; at < count;) {
        size_t run = 1 + any() % 300, left = count - at;

        run = run < left ? run : left;
        if (any() % 100 < noise)
            for (size_t i = 0; i < run; i++)
                bytes[at + i] = (uint8_t)any();
        else if (at && any() % 2)
            for (size_t i = 0, back = 1 + any() % at; i < run; i++)
                bytes[at + i] = bytes[at + i - back];
        else
            memset(bytes + at, (int)any(), run);
        at += run;
    }
}

/* Each end of a buffer lies at the end of its memory, so that the sanitizer sees a byte too many.
 */
static size_t there_and_back(const uint8_t *bytes, size_t count, size_t room)
{
    uint8_t *packed = malloc(room ? room : 1), *back = malloc(count ? count : 1);
    size_t made = lz_pack(bytes, count, packed, room);

    assert_true(made <= room);
    if (made) {
        uint8_t *exact = malloc(made);
        memcpy(exact, packed, made);
        memset(back, 0xa5, count);
        assert_true(lz_unpack(exact, made, back, count));
        assert_memory_equal(back, bytes, count);
        assert_false(lz_unpack(exact, made - 1, back, count));
        if (count)
            assert_false(lz_unpack(exact, made, back, count - 1));
        free(exact);
    }
    free(packed);
    free(back);
    return made;
}

static void what_is_packed_comes_back(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 400; round++) {
        size_t count = round < 40 ? round : 1 + any() % LZ_MOST;
        uint8_t *bytes = malloc(count ? count : 1);

        fill(bytes, count, round % 101);
        assert_true(there_and_back(bytes, count, count + count / 255 + 16) > 0);
        free(bytes);
    }
}

static void what_repeats_is_small(void **state)
{
    (void)state;
    static uint8_t bytes[LZ_MOST];

    memset(bytes, 7, sizeof bytes);
    assert_in_range(there_and_back(bytes, sizeof bytes, sizeof bytes), 1, 300);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = i % 64 == 0 ? (uint8_t)(i / 64) : (uint8_t)(i % 64 * 5);
    assert_in_range(there_and_back(bytes, sizeof bytes, sizeof bytes), 1, sizeof bytes / 2);
}

static void noise_does_not_fit_its_own_room(void **state)
{
    (void)state;
    static uint8_t bytes[LZ_MOST];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)any();
    assert_int_equal(there_and_back(bytes, sizeof bytes, sizeof bytes - 1), 0);
    fill(bytes, sizeof bytes, 30);
    size_t needs = there_and_back(bytes, sizeof bytes, 2 * sizeof bytes);
    assert_int_equal(there_and_back(bytes, sizeof bytes, needs), needs);
    assert_int_equal(there_and_back(bytes, sizeof bytes, needs - 1), 0);
}

/* Changed bytes: another result or a refusal, and nothing beyond the buffers. */
static void what_was_not_packed_does_no_harm(void **state)
{
    (void)state;
    enum { COUNT = 3000 };
    uint8_t bytes[COUNT], packed[2 * COUNT];
    unsigned refused = 0;

    fill(bytes, COUNT, 20);
    size_t made = lz_pack(bytes, COUNT, packed, sizeof packed);
    for (size_t at = 0; at < made; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t *exact = malloc(made), *back = malloc(COUNT);
            memcpy(exact, packed, made);
            exact[at] ^= (uint8_t)(1u << bit);
            refused += !lz_unpack(exact, made, back, COUNT);
            free(exact);
            free(back);
        }
    assert_true(refused > made);
    for (unsigned round = 0; round < 20000; round++) {
        size_t some = 1 + any() % 64;
        uint8_t *junk = malloc(some), *back = malloc(COUNT);
        for (size_t i = 0; i < some; i++)
            junk[i] = (uint8_t)any();
        lz_unpack(junk, some, back, COUNT);
        free(junk);
        free(back);
    }
    assert_false(lz_unpack(packed, 0, bytes, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(what_repeats_is_small),
        cmocka_unit_test(noise_does_not_fit_its_own_room),
        cmocka_unit_test(what_was_not_packed_does_no_harm),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("lz", tests, NULL, NULL);
}
