/* Untrusted text made safe for a terminal, and statuses, locales and histograms: the pure parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "host/internal.h"
#include "wire/json.h"

static void known_texts(void **state)
{
    static const struct {
        const char *in;
        size_t bytes;
        const char *out;
    } rows[] = {
        {"plain", 5, "plain"},
        {"a\0b", 3, "a\\x00b"},
        {"\x1b[31mred", 8, "\\x1b[31mred"},
        {"\x9b" "31m", 4, "\\x9b31m"},
        {"\xc2\x9b" "31m", 5, "\\u{9b}31m"},
        {"caf\xc3\xa9 \xf0\x9f\x98\x80", 10, "caf\xc3\xa9 \xf0\x9f\x98\x80"},
        {"abc\xe2\x80\xae" "fed", 9, "abc\\u{202e}fed"},
        {"\xe2\x80\xa8", 3, "\\u{2028}"},
        {"\xef\xbb\xbf", 3, "\\u{feff}"},
        {"\xff\xfe", 2, "\\xff\\xfe"},
        {"\xc0\x80", 2, "\\xc0\\x80"},
        {"\xed\xa0\x80", 3, "\\xed\\xa0\\x80"},
        {"a\nb\tc\r", 6, "a\\x0ab\\x09c\\x0d"},
        {"\x7f", 1, "\\x7f"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char out[128];
        size_t n = halter_printable(out, sizeof(out), rows[i].in, rows[i].bytes, false);
        assert_string_equal(out, rows[i].out);
        assert_int_equal(n, strlen(rows[i].out));
        assert_int_equal(halter_printable(NULL, 0, rows[i].in, rows[i].bytes, false), n);
    }
    char out[16];
    halter_printable(out, sizeof(out), "a\nb\tc\r", 6, true);
    assert_string_equal(out, "a\nb\tc\\x0d");
}

/* Whatever goes in: what comes out is UTF-8 without a control character, cut at a whole character. */
static void any_bytes_at_any_capacity(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 100000; round++) {
        char in[24], out[200], cut[200];
        size_t bytes = (size_t)rand() % sizeof(in);
        for (size_t i = 0; i < bytes; i++)
            in[i] = (char)(rand() % 3 ? rand() : "\xe2\x80\xf0\x9f\xed\xc2"[rand() % 6]);
        size_t n = halter_printable(out, sizeof(out), in, bytes, false);
        assert_true(n < sizeof(out));
        assert_true(utf8_check(out, n));
        for (size_t i = 0; i < n; i++)
            assert_true((unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
        size_t capacity = 1 + (size_t)rand() % 40;
        memset(cut, 'Z', sizeof(cut));
        assert_int_equal(halter_printable(cut, capacity, in, bytes, false), n);
        assert_true(strlen(cut) < capacity);
        assert_int_equal(strncmp(cut, out, strlen(cut)), 0);
        assert_true(utf8_check(cut, strlen(cut)));
        assert_int_equal(cut[capacity], 'Z');
    }
}

static void histogram_bounds_rise(void **state)
{
    (void)state;
    for (unsigned b = 1; b < HALTER_HISTOGRAM_BUCKETS; b++)
        assert_true(halter_histogram_bound(b) > halter_histogram_bound(b - 1));
    struct halter_stats stats = {0};
    assert_int_equal(halter_histogram_quantile(stats.latency, 0.5), 0);
    for (uint64_t us = 1; us <= 1000; us++)
        stats_latency(&stats, us * 1000);
    uint64_t p50 = halter_histogram_quantile(stats.latency, 0.5);
    uint64_t p99 = halter_histogram_quantile(stats.latency, 0.99);
    assert_in_range(p50, 500000, 600000);
    assert_in_range(p99, 990000, 1190000);
    assert_int_equal(stats.latency_max_ns, 1000000);
    stats_latency(&stats, UINT64_MAX - 1);
    assert_int_equal(stats.latency[HALTER_HISTOGRAM_BUCKETS - 1], 1);
}

static void locales_and_zones(void **state)
{
    static const struct {
        const char *given, *expected;
    } rows[] = {{"de_AT.UTF-8@euro", "de-AT"}, {"C", "en-US"}, {"C.UTF-8", "en-US"},
                {"POSIX", "en-US"}, {"fr", "fr"}, {"pt-BR", "pt-BR"}};
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char *locale = where_locale(rows[i].given);
        assert_string_equal(locale, rows[i].expected);
        free(locale);
    }
    char zone[64];
    where_time_zone("Europe/Vienna", zone, sizeof(zone));
    assert_string_equal(zone, "TZ=Europe/Vienna");
    where_time_zone(":UTC", zone, sizeof(zone));
    assert_string_equal(zone, "TZ=UTC");
}

static void each_status_has_a_name_of_its_own(void **state)
{
    (void)state;
    static const int statuses[] = {
#define HALTER_ERROR(name, number, text) number,
#include "halter/errors.def"
#undef HALTER_ERROR
    };
    for (unsigned i = 0; i < sizeof(statuses) / sizeof(*statuses); i++)
        for (unsigned j = 0; j < i; j++) {
            assert_int_not_equal(statuses[i], statuses[j]);
            assert_string_not_equal(halter_strerror(statuses[i]), halter_strerror(statuses[j]));
        }
    assert_string_equal(halter_strerror(12345), "unknown status");
    assert_string_equal(halter_version(), "0.1.0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts),          cmocka_unit_test(any_bytes_at_any_capacity),
        cmocka_unit_test(histogram_bounds_rise), cmocka_unit_test(locales_and_zones),
        cmocka_unit_test(each_status_has_a_name_of_its_own),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
