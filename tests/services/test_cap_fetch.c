/*
 * host.fetch from end to end: a script asks, the library decides about every hop, halter-services
 * executes; nothing that a server does stops the host or another call.
 */
#include "guests.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

/* ---- fetch ---------------------------------------------------------------------------------- */

static struct halter_guest *make_fetcher(void)
{
    static char grant[128];
    static const char *grants[] = {grant, NULL};
    snprintf(grant, sizeof(grant), "network:http://127.0.0.1:%d,http://localhost:%d", port, port);
    return make(grants, NULL, NULL);
}

static void fetches_what_is_granted(void **state)
{
    char wanted[160];
    (void)state;
    struct halter_guest *guest = make_fetcher();
    snprintf(wanted, sizeof(wanted),
             "[true,200,\"http://127.0.0.1:%d/hello\",false,\"text/plain\",\"hello \xc3\xbc\"]",
             port);
    is(run(guest,
           "const r = await host.fetch('http://127.0.0.1:%d/hello');"
           "return [r.ok, r.status, r.url, r.redirected, r.headers['content-type'], r.body]",
           port),
       wanted);
    is(run(guest, "return (await host.fetch('http://localhost:%d/json', {as: 'json'})).body.a[1]",
           port),
       "2");
    is(run(guest, "return host.fetch.sync('http://LOCALHOST.:%d/status/404').ok", port), "false");
    has(run(guest,
            "return (await host.fetch('http://127.0.0.1:%d/echo', {method: 'post', body: "
            "'b\\u00fc',"
            " headers: {'X-Mine': 'v', 'content-type': 'a/b'}})).body",
            port),
        "X-Mine: v\\r\\n");
    has(run(guest, "return (await host.fetch('http://127.0.0.1:%d/binary', {as: 'base64'})).body",
            port),
        "Yf8AYg==");
    assert_string_equal(denials, "");
    has(audits, "allowed http://127.0.0.1:");
    halter_guest_destroy(guest);
}

static void denies_what_is_not(void **state)
{
    static const char *const urls[] = {"http://127.0.0.2:%d/",  "https://127.0.0.1:%d/",
                                       "http://127.0.0.1:1%d/", "http://a@127.0.0.1:%d/",
                                       "http://[::1]:%d/",      "file:///etc/passwd?%d",
                                       "http://evil.net:%d/",   "http://localhost.evil.net:%d/",
                                       "//127.0.0.1:%d/"};
    (void)state;
    struct halter_guest *guest = make_fetcher();
    int before = server_connections();
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        char url[128];
        snprintf(url, sizeof(url), urls[i], port);
        denials[0] = '\0';
        has(run(guest, "await host.fetch('%s')", url), "\"DeniedError: ");
        has(denials, url);
        has(denials, "fetch ");
    }
    assert_int_equal(server_connections(), before);
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_int_equal(stats.denials, sizeof(urls) / sizeof(*urls));
    halter_guest_destroy(guest);
}

static void asks_again_at_every_redirect(void **state)
{
    (void)state;
    struct halter_guest *guest = make_fetcher();
    is(run(guest,
           "const r = await host.fetch('http://127.0.0.1:%d/to/http://localhost:%d/hello');"
           "return [r.redirected, r.url.includes('localhost'), r.body.slice(0, 5)]",
           port, port),
       "[true,true,\"hello\"]");
    has(run(guest, "return (await host.fetch('http://127.0.0.1:%d/to//hello')).body", port),
        "hello");
    int before = server_connections();
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/to/http://127.0.0.2:%d/hello')", port,
            port),
        "DeniedError: http://127.0.0.2");
    has(run(guest,
            "return host.fetch('http://127.0.0.1:%d/to/http://127.0.0.1:%d/to/http://a.org/')",
            port, port),
        "DeniedError: http://a.org");
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/to/file:///etc/passwd')", port),
        "DeniedError: file:///etc/passwd");
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/to/http://x@127.0.0.1:%d/hello')", port,
            port),
        "DeniedError: http://x@");
    assert_true(server_connections() - before <= 1);
    halter_guest_destroy(guest);
}

static void redirects_can_be_seen_or_refused(void **state)
{
    (void)state;
    struct halter_guest *guest = make_fetcher();
    is(run(guest,
           "const r = await host.fetch('http://127.0.0.1:%d/to/http://a.org/', {redirect: "
           "'manual'}); return [r.status, r.redirect]",
           port),
       "[302,\"http://a.org/\"]");
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/to//hello', {redirect: 'error'})", port),
        "HostError: redirected to");
    char loop[256];
    snprintf(loop, sizeof(loop), "http://127.0.0.1:%d/to//loop", port);
    has(run(guest,
            "let u = 'http://127.0.0.1:%d/hello';"
            "for (let i = 0; i < 11; i++) u = 'http://127.0.0.1:%d/to/' + u;"
            "return host.fetch(u)",
            port, port),
        "HostError: more than 10 redirects");
    halter_guest_destroy(guest);
}

static void redirects_rewrite_the_request(void **state)
{
    static const char ask[] =
        "const r = await host.fetch('http://127.0.0.1:%d%shttp://%s:%d/echo',"
        "{method: 'POST', body: 'BODY', headers: {Authorization: 'secret',"
        " Cookie: 'c', 'Content-Type': 'a/b', 'X-Other': 'o'}}); return r.body";
    const char *body;
    (void)state;
    struct halter_guest *guest = make_fetcher();
    body = run(guest, ask, port, "/see-other/", "127.0.0.1", port);
    has(body, "GET /echo");
    lacks(body, "BODY");
    lacks(body, "Content-Type");
    has(body, "Authorization: secret");
    body = run(guest, ask, port, "/keep/", "127.0.0.1", port);
    has(body, "POST /echo");
    has(body, "BODY");
    has(body, "Cookie: c");
    body = run(guest, ask, port, "/keep/", "localhost", port);
    has(body, "BODY");
    has(body, "X-Other: o");
    lacks(body, "secret");
    lacks(body, "Cookie");
    body = run(guest, ask, port, "/to/", "localhost", port);
    has(body, "GET /echo");
    halter_guest_destroy(guest);
}

static void bad_options_are_errors(void **state)
{
    static const char *const options[][2] = {
        {"{method: 'CONNECT'}", "not allowed"},
        {"{method: 'A B'}", "no token"},
        {"{headers: {Host: 'a.org'}}", "the host's to set"},
        {"{headers: {'Content-Length': '5'}}", "the host's to set"},
        {"{headers: {'Transfer-Encoding': 'chunked'}}", "the host's to set"},
        {"{headers: {'proxy-authorization': 'x'}}", "the host's to set"},
        {"{headers: {'a b': 'x'}}", "no token"},
        {"{headers: {a: 'x\\r\\nHost: b'}}", "control characters"},
        {"{headers: {a: 1}}", "no string"},
        {"{headers: 'a'}", "object of strings"},
        {"{body: 'x'}", "has no body"},
        {"{method: 'POST', body: {}}", "body is a string"},
        {"{as: 'bytes'}", "as is"},
        {"{redirect: 'no'}", "redirect is"},
        {"{timeout_ms: 0}", "timeout_ms is"},
        {"{max_bytes: 1e9}", "max_bytes is"},
        {"{methd: 'GET'}", "none of method"},
        {"7", "no object"}};
    (void)state;
    struct halter_guest *guest = make_fetcher();
    int before = server_connections();
    for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
        const char *got =
            run(guest, "return host.fetch('http://127.0.0.1:%d/hello', %s)", port, options[i][0]);
        has(got, "HostError: fetch");
        has(got, options[i][1]);
    }
    has(run(guest, "return host.fetch(7)"), "no string");
    has(run(guest, "return host.fetch()"), "no string");
    assert_int_equal(server_connections(), before);
    halter_guest_destroy(guest);
}

static void caps_hold(void **state)
{
    (void)state;
    struct halter_guest *guest = make_fetcher();
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/endless', {max_bytes: 1000})", port),
        "QuotaError: the body is larger");
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/slow', {timeout_ms: 100})", port),
        "HostError: ");
    is(run(guest,
           "const all = []; for (let i = 0; i < 20; i++) all.push(host.fetch("
           "'http://127.0.0.1:%d/wait/100').then(r => r.body, e => e.name));"
           "const r = await Promise.all(all);"
           "return [r.filter(x => x === 'waited').length, r.filter(x => x === "
           "'QuotaError').length]",
           port),
       "[16,4]");
    halter_guest_destroy(guest);
}

/* The deadline's clock stands still while the host works. */
static void the_hosts_time_is_not_charged(void **state)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    char grant[64];
    const char *const grants[] = {grant, NULL};
    (void)state;
    snprintf(grant, sizeof(grant), "network:http://127.0.0.1:%d", port);
    options.deadline_ms = 200;
    options.wall_cap_ms = 10000;
    struct halter_guest *guest = make(grants, NULL, &options);
    has(run(guest, "return (await host.fetch('http://127.0.0.1:%d/wait/600')).body", port),
        "waited");
    is(run(guest, "await host.fetch('http://127.0.0.1:%d/wait/10'); for (;;);", port), "EDEADLINE");
    has(run(guest, "return (await host.fetch('http://127.0.0.1:%d/wait/600')).body", port),
        "waited");
    halter_guest_destroy(guest);
}

static void ignore(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    (void)guest;
    *(int *)data = result->status;
}

/* The guest dies while it waits: what it asked for is given up, and the next one is served. */
static void a_death_gives_up_its_requests(void **state)
{
    char call[256];
    (void)state;
    struct halter_guest *guest = make_fetcher();
    for (int round = 0; round < 20; round++) {
        uint64_t number;
        int status = 1;
        snprintf(call, sizeof(call),
                 "\"await Promise.all([host.fetch('http://127.0.0.1:%d/slow'),"
                 "host.fetch('http://127.0.0.1:%d/drip')])\"",
                 port, port);
        assert_int_equal(halter_call(guest, call, 0, NULL, ignore, &status, &number), HALTER_OK);
        int before = server_connections();
        for (int i = 0; i < 500 && server_connections() < before + 1; i++)
            halter_dispatch(host, 10);
        assert_int_equal(halter_cancel(guest, number), HALTER_OK);
        while (status == 1)
            halter_dispatch(host, 100);
        assert_int_equal(status, HALTER_ECANCELED);
        has(run(guest, "return (await host.fetch('http://127.0.0.1:%d/hello')).body", port),
            "hello");
    }
    halter_guest_destroy(guest);
}

static struct halter_guest *doomed;
static const char *doom;

static void destroy_at_doom(const struct halter_event *event)
{
    if (event->type == HALTER_EVENT_AUDIT && doomed && strstr(event->text, doom)) {
        halter_guest_destroy(doomed);
        doomed = NULL;
    }
}

/* An application that hears of a request may end its guest on the spot, at every stage of it. */
static void a_guest_may_be_destroyed_at_every_audit_line(void **state)
{
    static const char *const dooms[] = {"GET", "after a redirect", "no pattern", "denied", "user"};
    char call[256];
    (void)state;
    event_hook = destroy_at_doom;
    for (size_t i = 0; i < sizeof(dooms) / sizeof(*dooms); i++) {
        int status = 1;
        doomed = make_fetcher();
        doom = dooms[i];
        snprintf(
            call, sizeof(call),
            "\"await Promise.all([host.fetch('http://127.0.0.1:%d/to/http://localhost:%d/hello'),"
            "host.fetch('http://127.0.0.1:%d/to/http://a.org/'),"
            "host.fetch('http://127.0.0.1:%d/to/http://u@a.org/')])\"",
            port, port, port, port);
        assert_int_equal(halter_call(doomed, call, 0, NULL, ignore, &status, NULL), HALTER_OK);
        for (int n = 0; n < 2000 && (status == 1 || doomed); n++)
            halter_dispatch(host, 10);
        assert_null(doomed);
        /* The line may come in the dispatch that also brings the call's end. */
        assert_true(status == HALTER_ECLOSED || status == HALTER_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(fetches_what_is_granted),
        TEST(denies_what_is_not),
        TEST(asks_again_at_every_redirect),
        TEST(redirects_can_be_seen_or_refused),
        TEST(redirects_rewrite_the_request),
        TEST(bad_options_are_errors),
        TEST(caps_hold),
        TEST(the_hosts_time_is_not_charged),
        TEST(a_death_gives_up_its_requests),
        TEST(a_guest_may_be_destroyed_at_every_audit_line),
    };
    port = server_start("127.0.0.1", 0);
    server_start("127.0.0.2", port);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
