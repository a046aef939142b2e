/*
 * halter-services fetches: against a real server on loopback that answers well and badly, with a
 * resolver that leads names where an attacker would. What the host decides is in test_url.c; here
 * it is whether the decision holds at the socket, and whether anything can hold up the others.
 */
#include "harness.h"

#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int port;
static struct services services;

static int start(void **state)
{
    (void)state;
    services_start(&services, NULL, RESOLVER_PATH);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    services_stop(&services, SIGKILL);
    return 0;
}

#define ALLOW "\"allow\":[\"127.0.0.1\"]"

/* GETs a path of the server by the name `host`, for plugin p. */
static struct answer get(const char *host, const char *path, const char *more)
{
    return services_ask(&services,
                        "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\","
                        "\"url\":\"http://%s:%d%s\"%s%s}",
                        host, port, path, *more ? "," : "", more);
}

static void has(struct answer answer, const char *piece)
{
    if (answer.kind || !strstr(answer.text, piece))
        fail_msg("%d: %s lacks %s", answer.kind, answer.text, piece);
    free(answer.text);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void bodies_come_as_they_are_wanted(void **state)
{
    (void)state;
    has(get("127.0.0.1", "/hello", ALLOW), "\"body\":\"hello \xc3\xbc\"}");
    has(get("127.0.0.1", "/hello", ALLOW), "\"status\":200,");
    has(get("127.0.0.1", "/hello", ALLOW), "\"content-type\":\"text/plain\"");
    has(get("127.0.0.1", "/json", ALLOW ",\"as\":\"json\""), "\"body\":{\"a\":[1,2]}}");
    answer_fails(get("127.0.0.1", "/hello", ALLOW ",\"as\":\"json\""), WIRE_ERROR_FAILED,
                 "not JSON");
    has(get("127.0.0.1", "/binary", ALLOW), "\"body\":\"a\xef\xbf\xbd\\u0000b\"}");
    has(get("127.0.0.1", "/binary", ALLOW ",\"as\":\"base64\""), "\"body\":\"Yf8AYg==\"}");
    has(get("127.0.0.1", "/twice", ALLOW), "\"x-two\":\"a, b\"");
    has(get("127.0.0.1", "/status/204", ALLOW ",\"as\":\"json\""), "\"status\":204,");
    has(get("127.0.0.1", "/status/404", ALLOW), "\"status\":404,");
    has(get("127.0.0.1", "/status/500", ALLOW), "\"status\":500,");
}

static void methods_headers_and_bodies_are_sent(void **state)
{
    (void)state;
    struct answer answer =
        services_ask(&services,
                     "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"PATCH\"," ALLOW
                     ",\"url\":\"http://127.0.0.1:%d/echo\",\"headers\":[[\"X-Mine\",\"a "
                     "b\"],[\"X-Empty\",\"\"]],"
                     "\"body\":\"x\\u0000y\"}",
                     port);
    assert_int_equal(answer.kind, 0);
    assert_non_null(strstr(answer.text, "PATCH /echo HTTP/1.1\\r\\n"));
    assert_non_null(strstr(answer.text, "X-Mine: a b\\r\\n"));
    assert_non_null(strstr(answer.text, "X-Empty:\\r\\n"));
    assert_non_null(strstr(answer.text, "Content-Length: 3\\r\\n"));
    assert_non_null(strstr(answer.text, "User-Agent: halter/"));
    assert_null(strstr(answer.text, "Expect:"));
    assert_null(strstr(answer.text, "Cookie"));
    free(answer.text);
    has(services_ask(&services,
                     "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"HEAD\"," ALLOW
                     ",\"url\":\"http://127.0.0.1:%d/hello\"}",
                     port),
        "\"body\":\"\"}");
}

static void redirects_are_answered_and_not_followed(void **state)
{
    (void)state;
    int before = server_connections();
    has(get("127.0.0.1", "/to/http://127.0.0.2/x", ALLOW), "\"redirect\":\"http://127.0.0.2/x\"");
    has(get("127.0.0.1", "/to//y", ALLOW), "/y\"");
    has(get("127.0.0.1", "/to/http://127.0.0.2/x", ALLOW), "\"status\":302,");
    has(get("127.0.0.1", "/to/file:///etc/passwd", ALLOW), "\"redirect\":\"file:///etc/passwd\"");
    assert_true(server_connections() - before <= 1);
}

static void addresses_are_checked_at_the_socket(void **state)
{
    (void)state;
    int before = server_connections();
    answer_fails(get("127.0.0.1", "/hello", ""), WIRE_ERROR_DENIED, "127.0.0.1");
    answer_fails(get("loop.test", "/hello", ""), WIRE_ERROR_DENIED, "127.0.0.1");
    answer_fails(get("mapped.test", "/hello", ""), WIRE_ERROR_DENIED, "127.0.0.1");
    answer_fails(get("localhost", "/hello", ""), WIRE_ERROR_DENIED, "not public");
    answer_fails(get("loop.test", "/hello", "\"allow\":[\"127.0.0.2\",\"10.0.0.0/8\"]"),
                 WIRE_ERROR_DENIED, "127.0.0.1");
    assert_int_equal(server_connections(), before);
    has(get("loop.test", "/hello", ALLOW), "hello");
    has(get("second.test", "/hello", ALLOW), "hello");
}

/* The name leads somewhere else the second time: what was looked at is what is connected to. */
static void rebinding_leads_nowhere(void **state)
{
    (void)state;
    has(get("rebind.test", "/hello", ALLOW), "hello");
    answer_fails(services_ask(&services,
                              "{\"op\":\"fetch\",\"plugin\":\"q\",\"method\":\"GET\"," ALLOW
                              ",\"url\":\"http://rebind.test:%d/hello\"}",
                              port),
                 WIRE_ERROR_DENIED, "127.0.0.2");
}

/* A connection that is open may have been opened under a grant that this order has not. */
static void an_open_connection_is_checked_again(void **state)
{
    (void)state;
    has(get("loop.test", "/hello", ALLOW), "hello");
    answer_fails(get("loop.test", "/hello", ""), WIRE_ERROR_DENIED, "127.0.0.1");
}

static void connections_are_shared_within_a_plugin_only(void **state)
{
    (void)state;
    struct answer first = get("127.0.0.1", "/connection", ALLOW);
    struct answer again = get("127.0.0.1", "/connection", ALLOW);
    assert_string_equal(first.text, again.text);
    struct answer other =
        services_ask(&services,
                     "{\"op\":\"fetch\",\"plugin\":\"q\",\"method\":\"GET\"," ALLOW
                     ",\"url\":\"http://127.0.0.1:%d/connection\"}",
                     port);
    assert_string_not_equal(first.text, other.text);
    free(first.text);
    free(again.text);
    free(other.text);
}

static void size_is_capped(void **state)
{
    (void)state;
    answer_fails(get("127.0.0.1", "/endless", ALLOW ",\"max_bytes\":100000"), WIRE_ERROR_QUOTA,
                 "100000");
    answer_fails(get("127.0.0.1", "/long/1001", ALLOW ",\"max_bytes\":1000"), WIRE_ERROR_QUOTA,
                 "1000");
    has(get("127.0.0.1", "/long/1000", ALLOW ",\"max_bytes\":1000"), "\"status\":200");
    answer_fails(get("127.0.0.1", "/hello", ALLOW ",\"max_bytes\":7"), WIRE_ERROR_QUOTA, "7 bytes");
}

static void time_is_capped(void **state)
{
    (void)state;
    double begin = seconds();
    answer_fails(get("127.0.0.1", "/slow", ALLOW ",\"timeout_ms\":200"), WIRE_ERROR_FAILED,
                 "timed out");
    answer_fails(get("127.0.0.1", "/drip", ALLOW ",\"timeout_ms\":200"), WIRE_ERROR_FAILED,
                 "timed out");
    answer_fails(get("stall.test", "/hello", ALLOW ",\"timeout_ms\":200"), WIRE_ERROR_FAILED,
                 "timed out");
    assert_true(seconds() - begin < 10);
}

static void broken_answers_are_errors(void **state)
{
    (void)state;
    answer_fails(get("127.0.0.1", "/truncated", ALLOW), WIRE_ERROR_FAILED, "");
    answer_fails(get("127.0.0.1", "/garbage", ALLOW), WIRE_ERROR_FAILED, "");
    answer_fails(get("127.0.0.1", "/hang-up", ALLOW), WIRE_ERROR_FAILED, "");
    answer_fails(services_ask(&services,
                              "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\"," ALLOW
                              ",\"url\":\"http://127.0.0.1:1/\"}"),
                 WIRE_ERROR_FAILED, "");
    answer_fails(services_ask(&services,
                              "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\"," ALLOW
                              ",\"url\":\"https://127.0.0.1:%d/hello\"}",
                              port),
                 WIRE_ERROR_FAILED, "");
    answer_fails(services_ask(&services, "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\","
                                         "\"url\":\"file:///etc/passwd\"}"),
                 WIRE_ERROR_FAILED, "");
    has(get("127.0.0.1", "/hello", ALLOW), "hello");
}

/* Look-ups and answers that hang hold up nobody else, also while they are canceled. */
static void slow_ones_hold_up_nobody(void **state)
{
    uint64_t slow[20];
    (void)state;
    for (int i = 0; i < 20; i++)
        slow[i] = services_send(&services,
                                "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\"," ALLOW
                                ",\"url\":\"http://%s:%d/slow\"}",
                                i % 2 ? "stall.test" : "127.0.0.1", port);
    double begin = seconds();
    has(get("127.0.0.1", "/hello", ALLOW), "hello");
    for (int i = 0; i < 20; i++)
        services_send(&services, "{\"op\":\"cancel\",\"id\":%lu}", (unsigned long)slow[i]);
    has(get("127.0.0.1", "/hello", ALLOW), "hello");
    assert_true(seconds() - begin < 10);
}

static int threads(void)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)services.pid);
    return stat(path, &status) == 0 ? (int)status.st_nlink - 2 : -1;
}

/* Orders `count` look-ups that hang, and gives them up once their threads run. */
static void hang_and_cancel(int count, int expected_threads)
{
    uint64_t first = 0;
    for (int i = 0; i < count; i++) {
        uint64_t id = services_send(&services,
                                    "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\"," ALLOW
                                    ",\"url\":\"http://stall.test:%d/%d\"}",
                                    port, i);
        first = first ? first : id;
    }
    for (int i = 0; i < 1000 && threads() < expected_threads; i++)
        usleep(10000);
    assert_int_equal(threads(), expected_threads);
    for (int i = 0; i < count; i++)
        services_send(&services, "{\"op\":\"cancel\",\"id\":%lu}", (unsigned long)first + 2ul * i);
}

/* Look-ups that were given up still take a thread each: there is a cap on them. */
static void hanging_lookups_are_bounded(void **state)
{
    (void)state;
    hang_and_cancel(40, 41);
    hang_and_cancel(40, 81);
    for (int i = 0; i < 10; i++)
        answer_fails(get("stall.test", "/", ALLOW), WIRE_ERROR_QUOTA, "too many");
    assert_int_equal(threads(), 81);
}

static void many_at_once_are_all_answered(void **state)
{
    enum { MANY = 100 };
    int seen = 0;
    (void)state;
    for (int i = 0; i < MANY; i++)
        services_send(&services,
                      "{\"op\":\"fetch\",\"plugin\":\"p%d\",\"method\":\"GET\"," ALLOW
                      ",\"url\":\"http://127.0.0.1:%d/long/%d\"}",
                      i, port, i * 1000);
    for (; seen < MANY; seen++) {
        struct answer answer;
        assert_true(services_answer(&services, &answer));
        has(answer, "\"status\":200");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bodies_come_as_they_are_wanted),
        TEST(methods_headers_and_bodies_are_sent),
        TEST(redirects_are_answered_and_not_followed),
        TEST(addresses_are_checked_at_the_socket),
        TEST(rebinding_leads_nowhere),
        TEST(an_open_connection_is_checked_again),
        TEST(connections_are_shared_within_a_plugin_only),
        TEST(size_is_capped),
        TEST(time_is_capped),
        TEST(broken_answers_are_errors),
        TEST(slow_ones_hold_up_nobody),
        TEST(hanging_lookups_are_bounded),
        TEST(many_at_once_are_all_answered),
    };
    signal(SIGPIPE, SIG_IGN);
    port = server_start("127.0.0.1", 0);
    server_start("127.0.0.2", port);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
