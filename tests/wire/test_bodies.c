/*
 * Bodies that do not fit: every truncation of a sound one, every reserved byte, every length that
 * points outside, text that is no UTF-8. A decoder says no, and reads no byte outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/body.h"
#include "wire/frame.h"

static union {
    struct wire_hello hello;
    struct wire_load load;
    struct wire_call call;
    struct wire_error error;
    struct wire_request request;
    struct wire_log log;
} into;

static bool hello(const uint8_t *body, size_t length)
{
    return wire_hello_decode(&into.hello, body, length);
}
static bool load(const uint8_t *body, size_t length)
{
    return wire_load_decode(&into.load, body, length);
}
static bool call(const uint8_t *body, size_t length)
{
    return wire_call_decode(&into.call, body, length);
}
static bool error(const uint8_t *body, size_t length)
{
    return wire_error_decode(&into.error, body, length);
}
static bool request(const uint8_t *body, size_t length)
{
    return wire_request_decode(&into.request, body, length);
}
static bool log_line(const uint8_t *body, size_t length)
{
    return wire_log_decode(&into.log, body, length);
}

/* In a block of exactly its size, for the sanitizers. */
static bool decodes(bool (*decode)(const uint8_t *, size_t), const uint8_t *body, size_t length)
{
    uint8_t *exact = malloc(length ? length : 1);
    memcpy(exact, body, length);
    bool good = decode(exact, length);
    free(exact);
    return good;
}

/* Sound from `least` bytes on: what is left is the last text's. */
static void truncate_all(bool (*decode)(const uint8_t *, size_t), const uint8_t *body, size_t least,
                         size_t length)
{
    for (size_t cut = 0; cut <= length; cut++)
        assert_int_equal(decodes(decode, body, cut), cut >= least);
}

static size_t make_load(uint8_t *out)
{
    struct wire_load sound = {
        .name = {"ab", 2}, .path = {"c", 1}, .capabilities = {"now", 3}, .source = {"x=>x", 4}};
    memcpy(out + wire_load_encode(&sound, out), "abcnowx=>x", 10);
    return WIRE_LOAD_FIXED + 10;
}

static void test_load(void **state)
{
    (void)state;
    uint8_t body[64];
    size_t length = make_load(body);
    truncate_all(load, body, WIRE_LOAD_FIXED + 6, length);
    for (size_t field = 4; field < WIRE_LOAD_FIXED; field += 4) {
        make_load(body);
        memset(body + field, 0xff, 4);
        assert_false(decodes(load, body, length));
        memset(body + field, 0, 4);
        body[field] = 11; /* one more than there is in all */
        assert_false(decodes(load, body, length));
    }
    make_load(body);
    body[0] = 1;
    assert_false(decodes(load, body, length));
    for (size_t at = WIRE_LOAD_FIXED; at < length; at++) {
        make_load(body);
        body[at] = 0xff;
        assert_false(decodes(load, body, length));
    }
}

static void test_call(void **state)
{
    (void)state;
    struct wire_call sound = {.locale = {"en", 2}};
    uint8_t body[64];
    memcpy(body + wire_call_encode(&sound, body), "en\xff", 3);
    truncate_all(call, body, WIRE_CALL_FIXED + 2, WIRE_CALL_FIXED + 3);
    body[WIRE_CALL_FIXED] = 0xc3;
    assert_false(decodes(call, body, WIRE_CALL_FIXED + 3));
    body[WIRE_CALL_FIXED] = 'e';
    body[31] = 0x80;
    assert_false(decodes(call, body, WIRE_CALL_FIXED + 3));
}

static void test_error(void **state)
{
    (void)state;
    struct wire_error sound = {
        .kind = 2, .name = {"a", 1}, .message = {"b", 1}, .stack = {"c", 1}, .file = {"d", 1}};
    uint8_t body[64];
    memcpy(body + wire_error_encode(&sound, body), "abcdpath", 8);
    truncate_all(error, body, WIRE_ERROR_FIXED + 4, WIRE_ERROR_FIXED + 8);
    for (unsigned kind = 0; kind < 300; kind++) {
        body[0] = (uint8_t)kind;
        body[1] = (uint8_t)(kind >> 8);
        assert_int_equal(decodes(error, body, WIRE_ERROR_FIXED + 8), kind >= 1 && kind <= 9);
    }
    wire_error_encode(&sound, body);
    body[3] = 1;
    assert_false(decodes(error, body, WIRE_ERROR_FIXED + 8));
}

static void test_request_and_log(void **state)
{
    (void)state;
    struct wire_request asked = {.name = {"ab", 2}};
    struct wire_log line = {.level = 3};
    uint8_t body[64];
    memcpy(body + wire_request_encode(&asked, body), "ab[]", 4);
    truncate_all(request, body, WIRE_REQUEST_FIXED + 2, WIRE_REQUEST_FIXED + 4);
    body[0] = 2;
    assert_false(decodes(request, body, 8));
    body[0] = 1;
    assert_true(decodes(request, body, 8));
    body[1] = 1;
    assert_false(decodes(request, body, 8));
    memcpy(body + wire_log_encode(&line, body), "hi", 2);
    truncate_all(log_line, body, WIRE_LOG_FIXED, WIRE_LOG_FIXED + 2);
    body[0] = 4;
    assert_false(decodes(log_line, body, 10));
    for (int at = 1; at < 4; at++) {
        wire_log_encode(&line, body);
        body[at] = 1;
        assert_false(decodes(log_line, body, 10));
    }
}

static void test_hello(void **state)
{
    (void)state;
    struct wire_hello sound = {.version = WIRE_VERSION, .kind = 2, .engine = "some engine"};
    uint8_t body[64] = {0};
    for (size_t length = 0; length <= 64; length++) {
        wire_hello_encode(&sound, body);
        assert_int_equal(decodes(hello, body, length), length == WIRE_HELLO_BYTES);
    }
    static const size_t reserved[] = {0, 1, 2, 3, 20, 21, 22, 23, 40};
    for (size_t i = 0; i < sizeof(reserved) / sizeof(*reserved); i++) {
        wire_hello_encode(&sound, body);
        body[reserved[i]] ^= 2;
        assert_false(decodes(hello, body, WIRE_HELLO_BYTES));
    }
    for (unsigned kind = 0; kind < 6; kind++) {
        sound.kind = (uint16_t)kind;
        wire_hello_encode(&sound, body);
        assert_int_equal(decodes(hello, body, WIRE_HELLO_BYTES), kind >= 1 && kind <= 3);
    }
    /* Of another version only the version is known, however long it is. */
    sound = (struct wire_hello){.version = 2, .kind = 77};
    wire_hello_encode(&sound, body);
    assert_true(decodes(hello, body, 10));
    assert_int_equal(into.hello.version, 2);
    assert_int_equal(into.hello.kind, 0);
    assert_false(decodes(hello, body, 5));
    /* A name of full length is terminated all the same. */
    sound = (struct wire_hello){.version = WIRE_VERSION, .kind = 1};
    memset(sound.engine, 'e', 24);
    wire_hello_encode(&sound, body);
    assert_true(decodes(hello, body, WIRE_HELLO_BYTES));
    assert_string_equal(into.hello.engine, sound.engine);
}

/* Every fault and every type has its own words. */
static void test_words(void **state)
{
    (void)state;
    for (int a = WIRE_SYSTEM; a <= WIRE_EOF; a++)
        for (int b = WIRE_SYSTEM; b < a; b++)
            assert_string_not_equal(wire_fault_text(a), wire_fault_text(b));
    assert_string_equal(wire_fault_text(0), "no fault");
    assert_string_equal(wire_fault_text(-99), "unknown fault");
    assert_string_equal(wire_type_name(WIRE_VALUE), "VALUE");
    assert_string_equal(wire_type_name(0), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_call),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_request_and_log),
        cmocka_unit_test(test_words),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
