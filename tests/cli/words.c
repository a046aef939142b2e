/* Options, their values, "did you mean", and the JSON that the command writes of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/buffer.h"
#include "cli/options.h"
#include "cli/say.h"
#include "wire/json.h"

static const struct option_spec specs[] = {
    {"jobs", 'j', "N", ""},
    {"quiet", 'q', NULL, ""},
    {"stats", 0, "[FILE]", ""},
    {"on-error", 'e', "WHAT", ""},
    {0},
};

/* Parses a command line given as words and says what came of it, e.g. "jobs=4 quiet | a b". */
static void parse(const char *words, char *out, size_t capacity)
{
    char copy[256], verb[] = "verb", *argv[16] = {verb};
    int argc = 1;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    struct options options;
    options_start(&options, specs, argc, argv);
    int option;
    *out = '\0';
    while ((option = options_next(&options)) >= 0) {
        size_t used = strlen(out);
        snprintf(out + used, capacity - used, "%s%s%s ", specs[option].name,
                 options.value ? "=" : "", options.value ? options.value : "");
    }
    size_t used = strlen(out);
    snprintf(out + used, capacity - used, "%s",
             option == OPTIONS_END    ? "|"
             : option == OPTIONS_HELP ? "help"
                                      : "wrong");
    for (int i = 0; option == OPTIONS_END && i < options.noperands; i++) {
        used = strlen(out);
        snprintf(out + used, capacity - used, " %s", options.operands[i]);
    }
}

static void command_lines(void **state)
{
    static const char *const rows[][2] = {
        {"a b", "| a b"},
        {"--jobs 4 a", "jobs=4 | a"},
        {"a --jobs=4 b", "jobs=4 | a b"},
        {"-j4 -q a", "jobs=4 quiet | a"},
        {"-qj 4 a", "quiet jobs=4 | a"},
        {"-qj4", "quiet jobs=4 |"},
        {"--stats a", "stats | a"},
        {"--stats=f a", "stats=f | a"},
        {"-- --jobs -q", "| --jobs -q"},
        {"- a", "| - a"},
        {"--jobs=", "jobs= |"},
        {"--on-error --quiet", "on-error=--quiet |"},
        {"--quiet=1", "wrong"},
        {"--jobs", "wrong"},
        {"-j", "wrong"},
        {"-x", "wrong"},
        {"--job 4", "wrong"},
        {"-q --help", "quiet help"},
        {"-h", "help"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[256];
        parse(rows[i][0], got, sizeof got);
        assert_string_equal(got, rows[i][1]);
    }
}

static void times(void **state)
{
    static const struct {
        const char *text;
        uint32_t ms; /* 0: refused */
    } rows[] = {{"250", 250},
                {"250ms", 250},
                {"2s", 2000},
                {"1m", 60000},
                {"0", 0},
                {"-1", 0},
                {"", 0},
                {"1h", 0},
                {"1.5s", 0},
                {" 1", 0},
                {"86400000", 86400000},
                {"86400001", 0},
                {"1441m", 0},
                {"99999999999999999999", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t ms = 7;
        assert_int_equal(option_ms("deadline", rows[i].text, &ms), rows[i].ms != 0);
        assert_int_equal(ms, rows[i].ms ? rows[i].ms : 7);
    }
}

static void sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } rows[] = {{"4096", 4096},     {"64K", 65536},  {"1m", 1 << 20}, {"2G", 2ull << 30},
                {"1T", 1ull << 40}, {"0", 0},        {"K", 0},        {"1KB", 0},
                {"1X", 0},          {"9999999T", 0}, {"-4", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t bytes = 7;
        assert_int_equal(option_bytes("memory", rows[i].text, &bytes), rows[i].bytes != 0);
        assert_int_equal(bytes, rows[i].bytes ? rows[i].bytes : 7);
    }
}

static void nearest_words(void **state)
{
    static const char *const names[] = {"run",      "deadline", "dead-letter",
                                        "document", "on-error", NULL};
    static const char *const rows[][2] = {
        {"rnu", "run"},
        {"rum", "run"},
        {"dedline", "deadline"},
        {"document", "document"},
        {"docmuent", "document"},
        {"onerror", "on-error"},
        {"doc", "document"},
        {"xyz", NULL},
        {"r", NULL},
        {"frobnicate-the-whole-thing-and-then-some", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *nearest = nearest_word(rows[i][0], names);
        if (rows[i][1])
            assert_string_equal(nearest, rows[i][1]);
        else
            assert_null(nearest);
    }
}

/* Any bytes at all become valid JSON, and text in UTF-8 comes back as it was. */
static void quoting(void **state)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *json;
    } rows[] = {
        {"plain", 5, "\"plain\""},
        {"a\0b\n\"\\", 6, "\"a\\u0000b\\n\\\"\\\\\""},
        {"\x1b[0m", 4, "\"\\u001b[0m\""},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "\"caf\xc3\xa9 \xf0\x9f\x98\x80\""},
        {"\xff"
         "a\xc3",
         3,
         "\"\xef\xbf\xbd"
         "a\xef\xbf\xbd\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xc0\x80", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer json = {0}, back = {0};
        buffer_json(&json, rows[i].text, rows[i].bytes);
        assert_int_equal(json.used, strlen(rows[i].json));
        assert_memory_equal(json.bytes, rows[i].json, json.used);
        assert_true(json_check(json.bytes, json.used, NULL));
        buffer_unquote(&back, json.bytes, json.used);
        if (utf8_check(rows[i].text, rows[i].bytes)) {
            assert_int_equal(back.used, rows[i].bytes);
            assert_memory_equal(back.bytes, rows[i].text, back.used);
        }
        buffer_finish(&json);
        buffer_finish(&back);
    }
}

static void random_bytes_are_quoted_well(void **state)
{
    (void)state;
    uint32_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[24];
        size_t length = (size_t)round % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = (char)(seed >> 24);
        }
        struct buffer json = {0};
        buffer_json(&json, text, length);
        assert_true(json_check(json.bytes, json.used, NULL));
        buffer_finish(&json);
    }
}

static void unquoting(void **state)
{
    static const char *const rows[][2] = {
        {"\"\"", ""},
        {"\"a\\/b\\tc\"", "a/b\tc"},
        {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\ude00x\"", "\xef\xbf\xbdx"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer out = {0};
        buffer_unquote(&out, rows[i][0], strlen(rows[i][0]));
        buffer_byte(&out, '\0');
        assert_string_equal(out.bytes, rows[i][1]);
        buffer_finish(&out);
    }
}

static void objects(void **state)
{
    (void)state;
    struct buffer out = {0};
    buffer_byte(&out, '{');
    buffer_key_number(&out, "n", 18446744073709551615ull);
    buffer_key(&out, "inner");
    buffer_byte(&out, '{');
    buffer_key_text(&out, "a\"b", "\n");
    buffer_text(&out, "}");
    buffer_key_real(&out, "r", 0.5);
    buffer_text(&out, "}");
    buffer_byte(&out, '\0');
    assert_string_equal(out.bytes,
                        "{\"n\":18446744073709551615,\"inner\":{\"a\\\"b\":\"\\n\"},\"r\":0.500}");
    buffer_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_lines), cmocka_unit_test(times),
        cmocka_unit_test(sizes),         cmocka_unit_test(nearest_words),
        cmocka_unit_test(quoting),       cmocka_unit_test(random_bytes_are_quoted_well),
        cmocka_unit_test(unquoting),     cmocka_unit_test(objects),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
