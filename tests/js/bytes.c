/*
 * Text crosses exactly: every character comes back as the bytes that it went in as.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct guest guest;

static int start(void **state)
{
    (void)state;
    guest_load(&guest, NULL, "transform = (raw) => raw === null ? [...'a\\0b'].length : raw");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    guest_finish(&guest);
    return 0;
}

static void echoes(const char *json)
{
    const char *got = guest_call(&guest, json);
    if (strcmp(got, json) != 0)
        fail_msg("%s came back as %s", json, got);
}

static void characters_of_every_length_come_back(void **state)
{
    (void)state;
    echoes("\"plain\"");
    echoes("\"caf\303\251\"");                                  /* Latin-1, and no longer ASCII */
    echoes("\"\342\202\254 \346\227\245\"");                    /* three bytes */
    echoes("\"\360\237\230\200\"");                             /* four: an emoji */
    echoes("\"\360\237\221\251\342\200\215\360\237\221\247\""); /* joined ones */
    echoes("\"\342\200\250\342\200\251\"");                     /* U+2028, U+2029 */
    echoes("\"\357\273\277bom\"");                      /* a byte order mark is a character */
    echoes("\"\357\277\275\357\277\276\357\277\277\""); /* U+FFFD and the last two of the plane */
    echoes("\"\\u0000\\u001f\"");
    echoes("\"a\\u0000b\"");
    echoes("\"\\\\\\\"/\"");
    echoes("{\"\303\251\":[\"\303\251\",{\"\360\237\230\200\":\"\"}]}");
}

static void lone_surrogates_stay_escapes(void **state)
{
    (void)state;
    echoes("\"\\ud800\"");
    echoes("\"x\\udfff\\ud800y\"");
    assert_string_equal(guest_call(&guest, "\"\\ud83d\\ude00\""), "\"\360\237\230\200\"");
}

static void sources_are_exact_too(void **state)
{
    (void)state;
    /* A BOM before the source is none of it; a NUL and non-ASCII text inside are. */
    static const char source[] =
        "\357\273\277transform = () => ['a\0b'.length, '\360\237\230\200\303\251']";
    struct guest other;
    guest_start(&other, NULL);
    guest_send_load(&other, source, sizeof(source) - 1, "");
    assert_int_equal(guest_receive(&other), WIRE_LOADED);
    assert_string_equal(guest_call(&other, "1"), "[3,\"\360\237\230\200\303\251\"]");
    guest_finish(&other);
}

/* Every length around the vectors' width, with one character of each kind at every place. */
static void every_length_and_place_comes_back(void **state)
{
    (void)state;
    static const char *const kinds[] = {"\303\251", "\342\202\254", "\360\237\230\200", "{}",
                                        "[",        "\\\\"};
    char json[128];
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
        for (size_t length = 0; length < 40; length++)
            for (size_t place = 0; place <= length; place += 3) {
                int at = sprintf(json, "\"");
                for (size_t i = 0; i <= length; i++)
                    at += sprintf(json + at, "%s", i == place ? kinds[kind] : "x");
                sprintf(json + at, "\"");
                echoes(json);
            }
}

static void megabytes_come_back(void **state)
{
    (void)state;
    size_t length = 3u << 20;
    char *json = malloc(length + 1);
    json[0] = '[';
    size_t at = 1;
    while (at < length - 64)
        at += (size_t)sprintf(json + at, "\"caf\303\251 %zu\",", at);
    sprintf(json + at, "0]");
    guest_send_call(&guest, json, strlen(json), 1000);
    assert_int_equal(guest_receive(&guest), WIRE_VALUE);
    assert_int_equal(guest.frame.length, strlen(json));
    assert_memory_equal(guest.frame.body, json, guest.frame.length);
    free(json);
    echoes("\"small again\"");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_of_every_length_come_back),
        cmocka_unit_test(lone_surrogates_stay_escapes),
        cmocka_unit_test(sources_are_exact_too),
        cmocka_unit_test(every_length_and_place_comes_back),
        cmocka_unit_test(megabytes_come_back),
    };
    return cmocka_run_group_tests_name("bytes", tests, start, finish);
}
