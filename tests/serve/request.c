/* What a request's text means: paths, ranges, conditions, dates, hosts. */
#include "serve/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_path(const char *target, const char *wanted)
{
    char out[64] = "?";
    bool good = request_path(target, out, sizeof out);
    if (good != (wanted != NULL) || (good && strcmp(out, wanted) != 0))
        fail_msg("%s: %s, \"%s\"", target, good ? "taken" : "refused", out);
}

static void paths(void **state)
{
    (void)state;
    assert_path("/", "");
    assert_path("/a/b.js", "a/b.js");
    assert_path("/a/", "a/");
    assert_path("/a%20b%c3%A9", "a b\xc3\xa9");
    assert_path("/a..b/c.", "a..b/c.");
}

static void hostile_paths(void **state)
{
    static const char *const hostile[] = {
        "",          "a",       "*",        "/..",    "/../etc/passwd", "/a/../b", "/a/..",
        "/%2e%2e/x", "/.%2e/x", "/%2E./x",  "//x",    "/a//b",          "/a%2fb",  "/a%2F..%2fb",
        "/a\\b",     "/a%5cb",  "/a%00.js", "/a%0ab", "/a%7f",          "/.git/x", "/a/.hidden",
        "/%",        "/%4",     "/%zz",     "/a%2",   "http://x/a",     "/./a",    "/a/.",
    };
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++)
        assert_path(hostile[i], NULL);
}

static void a_long_path_is_refused_and_never_cut(void **state)
{
    char target[80] = "/", out[64];
    (void)state;
    memset(target + 1, 'a', 64);
    target[65] = '\0';
    assert_path(target, NULL);
    target[64] = '\0';
    assert_true(request_path(target, out, sizeof out));
    assert_int_equal(strlen(out), 63);
}

static void assert_range(const char *header, uint64_t size, enum request_range kind, uint64_t first,
                         uint64_t length)
{
    uint64_t got_first = 0, got_length = 0;
    enum request_range got = request_range(header, size, &got_first, &got_length);
    if (got != kind || got_first != first || got_length != length)
        fail_msg("%s of %llu: %d, %llu + %llu", header, (unsigned long long)size, (int)got,
                 (unsigned long long)got_first, (unsigned long long)got_length);
}

static void ranges(void **state)
{
    (void)state;
    assert_range("bytes=0-0", 10, RANGE_PART, 0, 1);
    assert_range("bytes=2-4", 10, RANGE_PART, 2, 3);
    assert_range("bytes=2-", 10, RANGE_PART, 2, 8);
    assert_range("bytes=-3", 10, RANGE_PART, 7, 3);
    assert_range("bytes=-30", 10, RANGE_PART, 0, 10);
    assert_range("BYTES= 9-99 ", 10, RANGE_PART, 9, 1);
    assert_range("bytes=0-18446744073709551615", 10, RANGE_PART, 0, 10);
    assert_range("bytes=1-99999999999999999999999", 10, RANGE_PART, 1, 9);
    assert_range("bytes=-99999999999999999999999", 10, RANGE_PART, 0, 10);
}

static void ranges_that_lie_outside(void **state)
{
    (void)state;
    assert_range("bytes=10-", 10, RANGE_OUTSIDE, 0, 0);
    assert_range("bytes=99999999999999999999999-", 10, RANGE_OUTSIDE, 0, 0);
    assert_range("bytes=-0", 10, RANGE_OUTSIDE, 0, 0);
    assert_range("bytes=0-0", 0, RANGE_OUTSIDE, 0, 0);
    assert_range("bytes=-1", 0, RANGE_OUTSIDE, 0, 0);
}

static void ranges_that_are_none(void **state)
{
    static const char *const none[] = {
        "",           "bytes",       "bytes=",    "bytes=-",      "bytes=4-2", "bytes=a-b",
        "bytes=1-2x", "bytes=0-1,4", "items=0-1", "bytes=1-2,3-", "bytes 1-2", "bytes=+1-2",
    };
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_range(none[i], 10, RANGE_WHOLE, 0, 0);
}

static void etags(void **state)
{
    (void)state;
    assert_true(request_etag_listed("\"a\"", "\"a\"", false));
    assert_true(request_etag_listed(" \"x\" , \"a\"", "\"a\"", false));
    assert_true(request_etag_listed("*", "\"a\"", false));
    assert_true(request_etag_listed("W/\"a\"", "\"a\"", true));
    assert_false(request_etag_listed("W/\"a\"", "\"a\"", false));
    assert_false(request_etag_listed("\"ab\"", "\"a\"", true));
    assert_false(request_etag_listed("a", "\"a\"", true));
    assert_false(request_etag_listed("\"a", "\"a\"", true));
    assert_false(request_etag_listed("\"x\" \"a\"", "\"a\"", true));
    assert_false(request_etag_listed("", "\"a\"", true));
}

static void dates(void **state)
{
    static const char *const same[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                       "Sunday, 06-Nov-94 08:49:37 GMT",
                                       "Sun Nov  6 08:49:37 1994"};
    char text[40];
    time_t when;
    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_true(request_date(same[i], &when));
        assert_int_equal(when, 784111777);
    }
    request_print_date(text, when);
    assert_string_equal(text, same[0]);
    assert_false(request_date("yesterday", &when));
    assert_false(request_date("", &when));
    assert_false(request_date("Sun, 06 Nov 1994 08:49:37 GMT, and more", &when));
}

static void hosts(void **state)
{
    (void)state;
    assert_true(request_host_is_loopback("localhost"));
    assert_true(request_host_is_loopback("LocalHost:8086"));
    assert_true(request_host_is_loopback("127.0.0.1:1"));
    assert_true(request_host_is_loopback("[::1]:8086"));
    assert_false(request_host_is_loopback("localhost.evil.example"));
    assert_false(request_host_is_loopback("127.0.0.1.evil.example:80"));
    assert_false(request_host_is_loopback("localhost:80@evil.example"));
    assert_false(request_host_is_loopback("evil.example"));
    assert_false(request_host_is_loopback(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths),
        cmocka_unit_test(hostile_paths),
        cmocka_unit_test(a_long_path_is_refused_and_never_cut),
        cmocka_unit_test(ranges),
        cmocka_unit_test(ranges_that_lie_outside),
        cmocka_unit_test(ranges_that_are_none),
        cmocka_unit_test(etags),
        cmocka_unit_test(dates),
        cmocka_unit_test(hosts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
