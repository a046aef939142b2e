/*
 * What is JSON and what is not (RFC 8259), where the fault is, and what a look inside finds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/json.h"

/* Checked in a block of exactly its size, so that a sanitizer sees a byte too many. */
static bool check(const char *text, size_t length, struct json_fault *fault)
{
    char *exact = malloc(length ? length : 1);
    memcpy(exact, text, length);
    bool good = json_check(exact, length, fault);
    free(exact);
    return good;
}

#define LENGTH(array) (sizeof(array) / sizeof(*(array)))

static void test_accepted(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "123456789012345678901234567890",
        "0.5",
        "-0.0",
        "1.25",
        "1e0",
        "1E5",
        "1e+5",
        "1e-5",
        "0e0",
        "0.1e-7",
        "1e999999",
        "\"\"",
        "\"a\"",
        "\" \"",
        "\"\\\"\"",
        "\"\\\\\"",
        "\"\\/\"",
        "\"/\"",
        "\"\\b\\f\\n\\r\\t\"",
        "\"\\u0000\"",
        "\"\\uD834\\udd1e\"",
        "\"\\ud800\"",
        "\"\\uDFFF\\uD800\"",
        "\"\x7f\"",
        "\"\xc2\x80\"",
        "\"\xdf\xbf\"",
        "\"\xe0\xa0\x80\"",
        "\"\xed\x9f\xbf\"",
        "\"\xee\x80\x80\"",
        "\"\xef\xbf\xbf\"",
        "\"\xf0\x90\x80\x80\"",
        "\"\xf4\x8f\xbf\xbf\"",
        "\"\xe2\x80\xa8\"",
        "\"\xef\xbb\xbf\"",
        "[]",
        "[ ]",
        "[1]",
        "[1,2]",
        "[[]]",
        "[[],{}]",
        "{}",
        "{ }",
        "{\"a\":1}",
        "{\"a\":1,\"a\":2}",
        "{\"\":{}}",
        "{\"a\":[{\"b\":[]}]}",
        " 1 ",
        "\t\r\n[\t1\n,\r2 ] ",
        "{ \"a\" : 1 , \"b\" : 2 }",
        "[null,true,false]",
        "[\"a\",\"b\",\"this one is longer than sixteen bytes\",\"\"]",
        "        {        \"eight spaces and more\"        :        1        }        ",
    };
    for (size_t i = 0; i < LENGTH(texts); i++)
        if (!check(texts[i], strlen(texts[i]), NULL))
            fail_msg("refused: %s", texts[i]);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t offset;
    } cases[] = {
        {"", 0},
        {" ", 1},
        {"\n", 1},
        {"nul", 3},
        {"nulL", 3},
        {"True", 0},
        {"truefalse", 4},
        {"nan", 1},
        {"NaN", 0},
        {"Infinity", 0},
        {"-Infinity", 1},
        {"undefined", 0},
        {"-", 1},
        {"+1", 0},
        {"01", 1},
        {"-01", 2},
        {"1.", 2},
        {".5", 0},
        {"1.e5", 2},
        {"1e", 2},
        {"1e+", 3},
        {"1e5.5", 3},
        {"0x10", 1},
        {"1_000", 1},
        {"1 2", 2},
        {"--1", 1},
        {"1,", 1},
        {"\"", 1},
        {"\"a", 2},
        {"\"\\", 2},
        {"\"\\\"", 3},
        {"\"\\x41\"", 2},
        {"\"\\a\"", 2},
        {"\"\\u12\"", 5},
        {"\"\\u12G4\"", 5},
        {"\"\\U0041\"", 2},
        {"'a'", 0},
        {"\"a\"b", 3},
        {"\"\n\"", 1},
        {"\"\t\"", 1},
        {"\"\x1f\"", 1},
        {"a", 0},
        {"\"\x80\"", 1},
        {"\"\xc0\x80\"", 1},
        {"\"\xc1\xbf\"", 1},
        {"\"\xc2\"", 1},
        {"\"\xc2", 1},
        {"\"\xe0\x9f\xbf\"", 1},
        {"\"\xe2\x82\"", 1},
        {"\"\xe2\x82", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"\"\xf0\x8f\xbf\xbf\"", 1},
        {"\"\xf4\x90\x80\x80\"", 1},
        {"\"\xf5\x80\x80\x80\"", 1},
        {"\"\xff\"", 1},
        {"\"\xf0\x90\x80\"", 1},
        {"\xef\xbb\xbf"
         "1",
         0},
        {"[", 1},
        {"]", 0},
        {"[1", 2},
        {"[1,", 3},
        {"[1,]", 3},
        {"[,1]", 1},
        {"[1 2]", 3},
        {"[1}", 2},
        {"[]]", 2},
        {"[1,,2]", 3},
        {"{", 1},
        {"}", 0},
        {"{\"a\"", 4},
        {"{\"a\":", 5},
        {"{\"a\":1", 6},
        {"{\"a\":1,", 7},
        {"{\"a\":1,}", 7},
        {"{\"a\" 1}", 5},
        {"{\"a\"::1}", 5},
        {"{a:1}", 1},
        {"{1:1}", 1},
        {"{\"a\":1]", 6},
        {"{\"a\":}", 5},
        {"{,}", 1},
        {"{\"a\":1 \"b\":2}", 7},
        {"[1]x", 3},
        {"/**/1", 0},
        {"[1]//", 3},
        {"\x0b"
         "1",
         0},
        {"\xc2\xa0"
         "1",
         0},
        {"\"abcdefghijklmno\x01\"", 16},
        {"\"abcdefghijklmnopqrstuvw\xff\"", 24},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct json_fault fault;
        if (check(cases[i].text, strlen(cases[i].text), &fault))
            fail_msg("accepted: %s", cases[i].text);
        if (fault.offset != cases[i].offset)
            fail_msg("%s: fault at %zu (%s), not %zu", cases[i].text, fault.offset, fault.what,
                     cases[i].offset);
        assert_non_null(fault.what);
    }
    assert_false(check("1\0", 2, NULL));
    assert_false(check("\"a\0b\"", 5, NULL));
}

/* A fault at every place of a long string, so that each way of scanning meets it. */
static void test_every_place_in_a_string(void **state)
{
    (void)state;
    char text[80];
    static const char bad[] = {'\0', '\x1f', '\n', '\x80', '\xff', '\xc3'};
    for (size_t length = 2; length < sizeof(text); length++) {
        memset(text, 'x', length);
        text[0] = text[length - 1] = '"';
        assert_true(check(text, length, NULL));
        for (size_t at = 1; at + 1 < length; at++) {
            for (size_t b = 0; b < sizeof(bad); b++) {
                struct json_fault fault;
                text[at] = bad[b];
                assert_false(check(text, length, &fault));
                assert_int_equal(fault.offset, at);
                text[at] = 'x';
            }
        }
    }
}

/* Every truncation of a document is refused, exactly at its end. */
static void test_every_truncation(void **state)
{
    (void)state;
    const char *text =
        "{\"name\":\"a\\u00e9\xc3\xa9\\n\",\"list\":[1.5e3,true,null,{\"x\":[]}],\"n\":-0}";
    size_t length = strlen(text);
    assert_true(check(text, length, NULL));
    for (size_t cut = 0; cut < length; cut++) {
        struct json_fault fault;
        assert_false(check(text, cut, &fault));
        assert_true(fault.offset == cut || (cut && (text[cut] & 0xc0) == 0x80));
        assert_true(fault.offset <= cut);
    }
}

static void test_depth(void **state)
{
    (void)state;
    static char text[4 * WIRE_JSON_MAX_DEPTH];
    struct json_fault fault;
    for (size_t depth = WIRE_JSON_MAX_DEPTH - 1; depth <= WIRE_JSON_MAX_DEPTH + 1; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        bool good = check(text, 2 * depth, &fault);
        assert_int_equal(good, depth <= WIRE_JSON_MAX_DEPTH);
        if (!good)
            assert_string_equal(fault.what, "nested too deep");
    }
    /* A closed container makes room for the next. */
    size_t at = 0;
    text[at++] = '[';
    while (at + 4 < sizeof(text))
        memcpy(text + at, "[],", 3), at += 3;
    memcpy(text + at, "{}]", 3);
    assert_true(check(text, at + 3, NULL));
}

static void test_line_and_column(void **state)
{
    (void)state;
    struct json_fault fault;
    const char *text = "{\n  \"a\": 1,\n  \"b\": oops\n}";
    assert_false(check(text, strlen(text), &fault));
    assert_int_equal(fault.line, 3);
    assert_int_equal(fault.column, 8);
    assert_string_equal(fault.what, "expected a value");
    assert_false(check("", 0, &fault));
    assert_int_equal(fault.line, 1);
    assert_int_equal(fault.column, 1);
    assert_string_equal(fault.what, "unexpected end of text");
    assert_false(check("[1,\n", 4, &fault));
    assert_int_equal(fault.line, 2);
    assert_int_equal(fault.column, 1);
}

static void test_utf8(void **state)
{
    (void)state;
    static const char good[] =
        "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 and a tail that is long";
    assert_true(utf8_check(good, sizeof(good) - 1));
    assert_true(utf8_check("", 0));
    assert_true(utf8_check("a\0b", 3));
    for (size_t cut = 0; cut < sizeof(good) - 1; cut++)
        assert_int_equal(utf8_check(good, cut), (good[cut] & 0xc0) != 0x80);
}

/* Every sequence of up to four bytes against the definition of a code point. */
static bool is_character(const uint8_t *b, size_t length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t point = length == 2 ? b[0] & 0x1f : length == 3 ? b[0] & 0x0f : b[0] & 0x07;
    if ((length == 2 && b[0] >> 5 != 6) || (length == 3 && b[0] >> 4 != 14) ||
        (length == 4 && b[0] >> 3 != 30))
        return false;
    for (size_t i = 1; i < length; i++) {
        if (b[i] >> 6 != 2)
            return false;
        point = point << 6 | (b[i] & 0x3f);
    }
    return point >= least[length] && point < 0x110000 && !(point >= 0xd800 && point < 0xe000);
}

static void test_utf8_by_definition(void **state)
{
    (void)state;
    static const uint8_t edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    uint8_t b[4];
    for (unsigned lead = 0x80; lead < 256; lead++) {
        b[0] = (uint8_t)lead;
        for (unsigned second = 0; second < 256; second++) {
            b[1] = (uint8_t)second;
            assert_int_equal(utf8_check((char *)b, 2), is_character(b, 2));
            for (size_t i = 0; i < sizeof(edges); i++) {
                b[2] = edges[i];
                if (b[2] >= 0x80) /* else the third byte is a character of its own */
                    assert_int_equal(utf8_check((char *)b, 3), is_character(b, 3));
                for (size_t j = 0; j < sizeof(edges) && b[2] >= 0xa0; j++) {
                    b[3] = edges[j];
                    if (b[3] >= 0x80 && b[3] < 0xc0)
                        assert_int_equal(utf8_check((char *)b, 4),
                                         is_character(b, 4) ||
                                             (is_character(b, 2) && is_character(b + 2, 2)));
                }
            }
        }
    }
}

/* ---- a look inside -------------------------------------------------------------------------- */

static struct json_value root(const char *text)
{
    assert_true(json_check(text, strlen(text), NULL));
    return json_root(text, strlen(text));
}

static void assert_slice(struct json_value value, enum json_type type, const char *text)
{
    assert_int_equal(value.type, type);
    assert_int_equal(value.length, strlen(text));
    assert_memory_equal(value.text, text, value.length);
}

static void test_walk(void **state)
{
    (void)state;
    struct json_value key, value;
    size_t at = 0;
    struct json_value array =
        root(" [ 1 , \"a,]\\\"\" , [ [ ] , {\"x\":[]} ] , null ,true,false] ");
    static const struct {
        enum json_type type;
        const char *text;
    } wanted[] = {
        {JSON_NUMBER, "1"},  {JSON_STRING, "\"a,]\\\"\""}, {JSON_ARRAY, "[ [ ] , {\"x\":[]} ]"},
        {JSON_NULL, "null"}, {JSON_TRUE, "true"},          {JSON_FALSE, "false"}};
    for (size_t i = 0; i < LENGTH(wanted); i++) {
        assert_true(json_next(array, &at, NULL, &value));
        assert_slice(value, wanted[i].type, wanted[i].text);
    }
    assert_false(json_next(array, &at, NULL, &value));
    assert_false(json_next(array, &at, NULL, &value));
    at = 0;
    assert_false(json_next(root("[ ]"), &at, &key, &value));
    at = 0;
    assert_false(json_next(root("{}"), &at, &key, &value));
    at = 0;
    assert_false(json_next(root("12"), &at, &key, &value));
    struct json_value object = root("{ \"a:{\" : { \"b\" : 2 } , \"c\":\"}\" }");
    at = 0;
    assert_true(json_next(object, &at, &key, &value));
    assert_slice(key, JSON_STRING, "\"a:{\"");
    assert_slice(value, JSON_OBJECT, "{ \"b\" : 2 }");
    assert_true(json_next(object, &at, &key, &value));
    assert_slice(key, JSON_STRING, "\"c\"");
    assert_slice(value, JSON_STRING, "\"}\"");
    assert_false(json_next(object, &at, &key, &value));
}

static void test_member(void **state)
{
    (void)state;
    struct json_value value;
    struct json_value object =
        root("{\"a\":1,\"\\u0061b\":2,\"a\":3,\"\":4,\"\xc3\xa9\":5,\"x\\u0000y\":6}");
    assert_true(json_member(object, "a", &value));
    assert_slice(value, JSON_NUMBER, "3");
    assert_true(json_member(object, "ab", &value));
    assert_slice(value, JSON_NUMBER, "2");
    assert_true(json_member(object, "", &value));
    assert_slice(value, JSON_NUMBER, "4");
    assert_true(json_member(object, "\xc3\xa9", &value));
    assert_false(json_member(object, "b", &value));
    assert_false(json_member(object, "x", &value));
    assert_false(json_member(root("[\"a\",1]"), "a", &value));
}

static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *json, *text;
        long length;
    } cases[] = {
        {"\"\"", "", 0},
        {"\"abc\"", "abc", 3},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", 6},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx", 4},
        {"\"\\ude00\\ud83d\"", "\xef\xbf\xbd\xef\xbf\xbd", 6},
        {"\"\\ud83d\\u0041\"",
         "\xef\xbf\xbd"
         "A",
         4},
        {"\"a\\u0000b\"", "a\0b", 3},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        char out[32];
        struct json_value value = root(cases[i].json);
        assert_int_equal(json_string(value, out, sizeof(out)), cases[i].length);
        assert_memory_equal(out, cases[i].text, cases[i].length + 1);
        assert_int_equal(json_string(value, out, (size_t)cases[i].length + 1), cases[i].length);
        assert_int_equal(json_string(value, out, (size_t)cases[i].length), -1);
        assert_int_equal(json_string(value, out, 0), -1);
    }
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool good;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"7", true, 7},
        {"-7", true, -7},
        {"1.0", true, 1},
        {"1.5", false, 0},
        {"1e3", true, 1000},
        {"1.25e2", true, 125},
        {"1.25e1", false, 0},
        {"100e-2", true, 1},
        {"120e-2", false, 0},
        {"0.001e3", true, 1},
        {"0e99999999999", true, 0},
        {"0.000", true, 0},
        {"1e-99999999999", false, 0},
        {"1e99999999999", false, 0},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"9007199254740993", true, 9007199254740993},
        {"18446744073709551616", false, 0},
        {"1000000000000000000000e-20", true, 10},
        {"\"1\"", false, 0},
        {"true", false, 0},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        int64_t value = 0;
        bool good = json_integer(root(cases[i].json), INT64_MIN, INT64_MAX, &value);
        if (good != cases[i].good || (good && value != cases[i].value))
            fail_msg("%s: %d %lld", cases[i].json, good, (long long)value);
    }
    int64_t value = 42;
    assert_false(json_integer(root("11"), 0, 10, &value));
    assert_false(json_integer(root("-1"), 0, 10, &value));
    assert_int_equal(value, 42);
    assert_true(json_integer(root("10"), 0, 10, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_place_in_a_string),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_line_and_column),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_by_definition),
        cmocka_unit_test(test_walk),
        cmocka_unit_test(test_member),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_integers),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
