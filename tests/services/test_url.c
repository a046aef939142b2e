/*
 * The decision table of host.fetch: URLs taken apart, patterns, and what is allowed. curl's own URL
 * parser serves as a second implementation: of every URL that we take, it must see the same host
 * and port in the text that we write, or two parsers could be played off against each other.
 */
#include "check.h"

#include "host/policy_url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* URL, and host:port as decided about; NULL: refused. */
static const struct {
    const char *url, *host;
    unsigned port;
} urls[] = {
    {"https://example.org", "example.org", 443},
    {"https://example.org/", "example.org", 443},
    {"http://example.org/a?b#c", "example.org", 80},
    {"HTTPS://EXAMPLE.ORG/Path", "example.org", 443},
    {"hTtP://eXaMpLe.OrG", "example.org", 80},
    {"https://example.org./", "example.org", 443},
    {"https://example.org..", NULL, 0},
    {"https://.example.org", NULL, 0},
    {"https://a..b.org", NULL, 0},
    {"https://.", NULL, 0},
    {"https://", NULL, 0},
    {"https:///example.org", NULL, 0},
    {"https:/example.org", NULL, 0},
    {"https:example.org", NULL, 0},
    {"//example.org/", NULL, 0},
    {"/etc/passwd", NULL, 0},
    {"example.org", NULL, 0},
    {"", NULL, 0},
    {" https://example.org", NULL, 0},
    {"https://example.org ", NULL, 0},
    {"https://exa mple.org/", NULL, 0},
    {"https://example.org/a b", "example.org", 443},
    {"https://exa\tmple.org/", NULL, 0},
    {"https://example.org/a\nb", NULL, 0},
    {"https://example.org/\x7f", NULL, 0},
    {"file:///etc/passwd", NULL, 0},
    {"ftp://example.org/", NULL, 0},
    {"gopher://example.org/", NULL, 0},
    {"javascript:alert(1)", NULL, 0},
    {"data:text/plain,hi", NULL, 0},
    {"https+unix://x/", NULL, 0},
    {"ws://example.org/", NULL, 0},
    /* user information, and what looks like it */
    {"https://user@example.org/", NULL, 0},
    {"https://user:pw@example.org/", NULL, 0},
    {"https://@example.org/", NULL, 0},
    {"https://example.org@evil.net/", NULL, 0},
    {"https://example.org:443@evil.net/", NULL, 0},
    {"https://evil.net\\@example.org/", NULL, 0},
    {"https://example.org\\.evil.net/", NULL, 0},
    {"https:\\\\example.org/", NULL, 0},
    {"https://evil.net#@example.org/", "evil.net", 443},
    {"https://evil.net?@example.org/", "evil.net", 443},
    {"https://evil.net/@example.org/", "evil.net", 443},
    {"https://example.org/path@x", "example.org", 443},
    {"https://example.org?q=https://evil.net", "example.org", 443},
    /* ports */
    {"https://example.org:443/", "example.org", 443},
    {"https://example.org:80/", "example.org", 80},
    {"https://example.org:8443/", "example.org", 8443},
    {"https://example.org:65535/", "example.org", 65535},
    {"https://example.org:/", "example.org", 443},
    {"https://example.org:0/", NULL, 0},
    {"https://example.org:65536/", NULL, 0},
    {"https://example.org:080/", "example.org", 80},
    {"https://example.org:-1/", NULL, 0},
    {"https://example.org:+1/", NULL, 0},
    {"https://example.org:4 3/", NULL, 0},
    {"https://example.org:0x50/", NULL, 0},
    {"https://example.org:*/", NULL, 0},
    {"https://example.org:443:443/", NULL, 0},
    {"https://:443/", NULL, 0},
    /* names */
    {"https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443},
    {"https://b\xc3\xbc"
     "cher.example/",
     NULL, 0},
    {"https://example\xe3\x80\x82org/", NULL, 0},
    {"https://\xef\xbd\x85xample.org/", NULL, 0},
    {"https://\xd0\xb5xample.org/", NULL, 0},
    {"https://exam%70le.org/", NULL, 0},
    {"https://example.org%2eevil.net/", NULL, 0},
    {"https://example.org%00.evil.net/", NULL, 0},
    {"https://a_b.example.org/", "a_b.example.org", 443},
    {"https://a-b.example.org/", "a-b.example.org", 443},
    {"https://a,b.example.org/", NULL, 0},
    {"https://a;b/", NULL, 0},
    {"https://a$b/", NULL, 0},
    {"https://*.example.org/", NULL, 0},
    {"https://a{b,c}.example.org/", NULL, 0},
    {"https://localhost:8080/", "localhost", 8080},
    {"https://LOCALHOST./", "localhost", 443},
    /* IPv4, in all its spellings */
    {"http://127.0.0.1/", "127.0.0.1", 80},
    {"http://127.0.0.1./", "127.0.0.1", 80},
    {"http://127.1/", "127.0.0.1", 80},
    {"http://127.0.1/", "127.0.0.1", 80},
    {"http://2130706433/", "127.0.0.1", 80},
    {"http://0x7f000001/", "127.0.0.1", 80},
    {"http://0x7f.0.0.1/", "127.0.0.1", 80},
    {"http://0X7F.1/", "127.0.0.1", 80},
    {"http://0177.0.0.01/", "127.0.0.1", 80},
    {"http://017700000001/", "127.0.0.1", 80},
    {"http://0177.0.0x1/", "127.0.0.1", 80},
    {"http://0/", "0.0.0.0", 80},
    {"http://169.254.43518/", "169.254.169.254", 80},
    {"http://0xa9fea9fe/", "169.254.169.254", 80},
    {"http://4294967295/", "255.255.255.255", 80},
    {"http://4294967296/", NULL, 0},
    {"http://256.0.0.1/", NULL, 0},
    {"http://1.2.3.4.5/", NULL, 0},
    {"http://1.2.3.08/", NULL, 0},
    {"http://09.0.0.1/", NULL, 0},
    {"http://1..2.3/", NULL, 0},
    {"http://127.0.0.0x/", "127.0.0.0", 80},
    {"http://127.0.0.0xg/", "127.0.0.0xg", 80},
    {"http://example.1/", NULL, 0},
    {"http://1.example/", "1.example", 80},
    {"http://0x7f.1.example/", "0x7f.1.example", 80},
    /* IPv6 */
    {"http://[::1]/", "::1", 80},
    {"http://[::1]:8080/", "::1", 8080},
    {"http://[0:0:0:0:0:0:0:1]/", "::1", 80},
    {"http://[2001:DB8::1]/", "2001:db8::1", 80},
    {"http://[::ffff:127.0.0.1]/", "127.0.0.1", 80},
    {"http://[::ffff:7f00:1]/", "127.0.0.1", 80},
    {"http://[::127.0.0.1]/", "::7f00:1", 80},
    {"http://[64:ff9b::10.0.0.1]/", "64:ff9b::a00:1", 80},
    {"http://[fe80::1%25eth0]/", NULL, 0},
    {"http://[fe80::1%eth0]/", NULL, 0},
    {"http://[::1/", NULL, 0},
    {"http://[::1]x/", NULL, 0},
    {"http://[::1]x:80/", NULL, 0},
    {"http://[127.0.0.1]/", NULL, 0},
    {"http://[]/", NULL, 0},
    {"http://[::1]]/", NULL, 0},
    {"http://::1/", NULL, 0},
    {"http://[v1.x]/", NULL, 0},
    {"http://[1:2:3]/", NULL, 0},
};

static const char *parse(const char *text, struct policy_url *url)
{
    return policy_url_parse(text, strlen(text), url);
}

static void urls_are_taken_apart(void **state)
{
    (void)state;
    assert_true(COUNT(urls) >= 100);
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct policy_url url;
        const char *why = parse(urls[i].url, &url);
        if (!urls[i].host) {
            if (!why)
                fail_msg("%s is taken, as %s:%u", urls[i].url, url.host, url.port);
            assert_non_null(strstr(why, "refused"));
            continue;
        }
        if (why)
            fail_msg("%s: %s", urls[i].url, why);
        assert_string_equal(url.host, urls[i].host);
        assert_int_equal(url.port, urls[i].port);
    }
}

/* What curl makes of a text that we wrote: the host without [] and the port. */
static bool curl_agrees(const char *text, const struct policy_url *url)
{
    char *host = NULL, *port = NULL, host_text[POLICY_HOST_BYTES] = "";
    CURLU *handle = curl_url();
    bool same = curl_url_set(handle, CURLUPART_URL, text, 0) == CURLUE_OK &&
                curl_url_get(handle, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
                curl_url_get(handle, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    if (same) {
        bool v6 = host[0] == '[';
        snprintf(host_text, sizeof host_text, "%.*s", (int)strlen(host) - (v6 ? 2 : 0), host + v6);
        same = strcmp(host_text, url->host) == 0 && (unsigned)atoi(port) == url->port;
        if (!same)
            print_message("# %s: curl sees %s:%s, we %s:%u\n", text, host_text, port, url->host,
                          url->port);
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(handle);
    return same;
}

static void curl_sees_the_same_host(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(urls); i++) {
        struct policy_url url;
        char text[POLICY_URL_TEXT];
        if (parse(urls[i].url, &url))
            continue;
        policy_url_write(&url, text);
        if (!curl_agrees(text, &url))
            fail_msg("curl reads %s otherwise", text);
    }
}

/* Random texts from the letters that parsers disagree about. */
static void curl_sees_the_same_host_in_random_urls(void **state)
{
    static const char *const pieces[] = {
        "a",    "b.",       ".", "org", "1",  "0x7", "08",  ":",  "80", "@", "/",
        "?",    "#",        "[", "]",   "::", "1",   "%41", "\\", "*",  "-", "_",
        "xn--", "\xc3\xbc", " ", ";",   ",",  "{",   "|",   "'",  "\"", "!"};
    unsigned taken = 0;
    (void)state;
    srandom(7);
    for (int round = 0; round < 200000; round++) {
        struct policy_url url;
        char text[256], written[POLICY_URL_TEXT];
        strcpy(text, random() % 2 ? "https://" : "http://");
        for (long n = random() % 9; n > 0; n--)
            strcat(text, pieces[(size_t)random() % COUNT(pieces)]);
        if (parse(text, &url))
            continue;
        taken++;
        policy_url_write(&url, written);
        if (!curl_agrees(written, &url))
            fail_msg("curl reads %s (from %s) otherwise", written, text);
    }
    assert_true(taken > 10000);
}

static void writes_what_is_sent(void **state)
{
    static const char *const pairs[][2] = {
        {"HTTP://Example.ORG.:80", "http://example.org/"},
        {"https://example.org:443?q=1#f", "https://example.org/?q=1"},
        {"https://example.org:444/a b", "https://example.org:444/a%20b"},
        {"http://0x7f.1/x", "http://127.0.0.1/x"},
        {"http://[0::0:1]:8080/x", "http://[::1]:8080/x"},
        {"https://e.org/\xc3\xbc?\xe2\x82\xac", "https://e.org/%C3%BC?%E2%82%AC"},
        {"https://e.org/%41%zz\"<>", "https://e.org/%41%zz%22%3C%3E"},
        {"https://e.org/a/../b", "https://e.org/a/../b"}};
    struct policy_url url;
    char text[POLICY_URL_TEXT];
    (void)state;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        assert_null(parse(pairs[i][0], &url));
        assert_int_equal(policy_url_write(&url, text), strlen(pairs[i][1]));
        assert_string_equal(text, pairs[i][1]);
    }
}

static void long_urls_are_refused_or_fit(void **state)
{
    char *text = malloc(POLICY_URL_BYTES + 2), *out = malloc(POLICY_URL_TEXT);
    struct policy_url url;
    (void)state;
    memset(text, '|', POLICY_URL_BYTES + 1);
    memcpy(text, "https://e.org/", 14);
    assert_non_null(policy_url_parse(text, POLICY_URL_BYTES + 1, &url));
    assert_null(policy_url_parse(text, POLICY_URL_BYTES, &url));
    assert_int_equal(policy_url_write(&url, out), 14 + 3 * (POLICY_URL_BYTES - 14));
    free(text);
    free(out);
}

/* Pattern, its printed form; NULL: refused. */
static void patterns_are_read_and_printed(void **state)
{
    static const char *const cases[][2] = {{"example.org", "https://example.org"},
                                           {"https://Example.ORG.", "https://example.org"},
                                           {"http://example.org", "http://example.org"},
                                           {"http://example.org:80/", "http://example.org"},
                                           {"example.org:8443", "https://example.org:8443"},
                                           {"example.org:*", "https://example.org:*"},
                                           {"*://example.org", "*://example.org"},
                                           {"*://example.org:8080", "*://example.org:8080"},
                                           {"*.example.org", "https://*.example.org"},
                                           {"http://*.example.org:*", "http://*.example.org:*"},
                                           {"*", "https://*"},
                                           {"*:8443", "https://*:8443"},
                                           {"http://127.1:8080", "http://127.0.0.1:8080"},
                                           {"http://[::1]:80", "http://[::1]"},
                                           {"http://[::ffff:1.2.3.4]", "http://1.2.3.4"},
                                           {"", NULL},
                                           {"https://", NULL},
                                           {"a*.example.org", NULL},
                                           {"*example.org", NULL},
                                           {"www.*.org", NULL},
                                           {"*.*.org", NULL},
                                           {"*.1.2.3.4", NULL},
                                           {"example.org/path", NULL},
                                           {"example.org?q", NULL},
                                           {"user@example.org", NULL},
                                           {"ftp://example.org", NULL},
                                           {"file:///etc", NULL},
                                           {"example.org:0", NULL},
                                           {"example.org:99999", NULL},
                                           {"b\xc3\xbc"
                                            "cher.example",
                                            NULL},
                                           {"**", NULL},
                                           {"*.", NULL},
                                           {"a b", NULL}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct policy_pattern pattern, again;
        char text[POLICY_PATTERN_TEXT], twice[POLICY_PATTERN_TEXT];
        const char *why = policy_pattern_parse(cases[i][0], strlen(cases[i][0]), &pattern);
        if (!cases[i][1]) {
            if (!why)
                fail_msg("the pattern \"%s\" is taken", cases[i][0]);
            continue;
        }
        if (why)
            fail_msg("the pattern \"%s\": %s", cases[i][0], why);
        policy_pattern_print(&pattern, text);
        assert_string_equal(text, cases[i][1]);
        assert_null(policy_pattern_parse(text, strlen(text), &again));
        policy_pattern_print(&again, twice);
        assert_string_equal(twice, text);
    }
}

/* Grants, a URL, and the verdict. */
static const struct {
    const char *patterns[4];
    const char *range; /* granted, or NULL */
    const char *url;
    bool allowed;
} decisions[] = {
    {{0}, NULL, "https://example.org/", false},
    {{"example.org"}, NULL, "https://example.org/", true},
    {{"example.org"}, NULL, "https://EXAMPLE.org./x", true},
    {{"example.org"}, NULL, "http://example.org/", false},
    {{"example.org"}, NULL, "https://example.org:8443/", false},
    {{"example.org"}, NULL, "https://www.example.org/", false},
    {{"example.org"}, NULL, "https://example.org.evil.net/", false},
    {{"example.org"}, NULL, "https://evilexample.org/", false},
    {{"*.example.org"}, NULL, "https://a.example.org/", true},
    {{"*.example.org"}, NULL, "https://a.b.example.org/", true},
    {{"*.example.org"}, NULL, "https://example.org/", false},
    {{"*.example.org"}, NULL, "https://evilexample.org/", false},
    {{"*.example.org"}, NULL, "https://.example.org/", false},
    {{"example.org:*"}, NULL, "https://example.org:1/", true},
    {{"example.org:8443"}, NULL, "https://example.org:8443/", true},
    {{"example.org:8443"}, NULL, "https://example.org/", false},
    {{"*://example.org"}, NULL, "http://example.org/", true},
    {{"*://example.org"}, NULL, "https://example.org/", true},
    {{"*://example.org"}, NULL, "http://example.org:443/", false},
    {{"https://*"}, NULL, "https://anything.example/", true},
    {{"https://*"}, NULL, "http://anything.example/", false},
    {{"https://*"}, NULL, "https://8.8.8.8/", true},
    {{"https://*"}, NULL, "https://127.0.0.1/", false},
    {{"https://*"}, NULL, "https://[::1]/", false},
    {{"https://*"}, NULL, "https://10.0.0.1/", false},
    {{"https://*"}, NULL, "https://0xa9fea9fe/", false},
    {{"https://*"}, NULL, "https://[::ffff:10.0.0.1]/", false},
    {{"https://*"}, NULL, "https://[64:ff9b::7f00:1]/", false},
    {{"https://*"}, NULL, "https://[fd00::1]/", false},
    {{"https://*"}, "10.0.0.0/8", "https://10.0.0.1/", true},
    {{"https://*"}, "10.0.0.0/8", "https://[::ffff:10.0.0.1]/", true},
    {{"https://*"}, "10.0.0.0/8", "https://192.168.0.1/", false},
    {{"http://127.0.0.1:8080"}, NULL, "http://127.0.0.1:8080/", true},
    {{"http://127.0.0.1:8080"}, NULL, "http://2130706433:8080/", true},
    {{"http://127.0.0.1:8080"}, NULL, "http://127.0.0.1:8081/", false},
    {{"http://127.0.0.1:8080"}, NULL, "http://127.0.0.2:8080/", false},
    {{"http://127.0.0.1:8080"}, NULL, "http://localhost:8080/", false},
    {{"https://*", "https://127.0.0.1"}, NULL, "https://127.0.0.1/", true},
    {{"http://[::1]:1"}, NULL, "http://[0:0::1]:1/", true},
    {{"http://localhost:8080"}, NULL, "http://localhost:8080/", true},
    {{"http://localhost:8080"}, NULL, "http://127.0.0.1:8080/", false},
    {{"*.example.org"}, NULL, "https://127.0.0.1/", false},
    {{"a.org", "b.org", "c.org"}, NULL, "https://c.org/", true},
};

static size_t read_patterns(const char *const texts[4], struct policy_pattern patterns[4])
{
    size_t count = 0;
    for (; count < 4 && texts[count]; count++)
        assert_null(policy_pattern_parse(texts[count], strlen(texts[count]), &patterns[count]));
    return count;
}

static void decides(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(decisions); i++) {
        struct policy_pattern patterns[4];
        struct wire_range range;
        struct policy_network network = {.patterns = patterns, .ranges = &range};
        struct policy_decision decision;
        struct policy_url url;
        network.npatterns = read_patterns(decisions[i].patterns, patterns);
        if (decisions[i].range) {
            assert_true(wire_range_parse(decisions[i].range, strlen(decisions[i].range), &range));
            network.nranges = 1;
        }
        bool allowed = false;
        if (!parse(decisions[i].url, &url)) {
            policy_decide(&network, &url, &decision);
            allowed = decision.allowed;
            assert_non_null(decision.why);
        }
        if (allowed != decisions[i].allowed)
            fail_msg("row %zu: %s is %s", i, decisions[i].url, allowed ? "allowed" : "refused");
    }
}

static void localhost_reaches_loopback_and_wildcards_do_not(void **state)
{
    static const char *const names[] = {"http://localhost", "http://*", "http://*.localhost"};
    static const unsigned reach[] = {2, 0, 2};
    struct policy_url url;
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        struct policy_pattern pattern;
        struct policy_network network = {.patterns = &pattern, .npatterns = 1};
        struct policy_decision decision;
        assert_null(policy_pattern_parse(names[i], strlen(names[i]), &pattern));
        assert_null(parse(i == 2 ? "http://x.localhost/" : "http://localhost/", &url));
        policy_decide(&network, &url, &decision);
        assert_true(decision.allowed);
        assert_int_equal(decision.nreach, reach[i]);
    }
}

/* The intersection of two patterns allows exactly what both allow. */
static void intersection_is_what_both_allow(void **state)
{
    static const char *const texts[] = {
        "a.org",          "http://a.org",   "*://a.org", "*.a.org",
        "*.b.a.org",      "c.b.a.org",      "*",         "*://*",
        "*://*:*",        "a.org:*",        "a.org:81",  "*://a.org:443",
        "*://a.org:80",   "http://1.2.3.4", "*:81",      "https://[::1]",
        "*://*.a.org:81", "http://*:443"};
    static const char *const probes[] = {
        "https://a.org",      "http://a.org",     "https://a.org:81", "http://a.org:81",
        "http://a.org:443",   "https://a.org:80", "https://b.a.org",  "http://b.a.org",
        "https://c.b.a.org",  "http://1.2.3.4",   "https://1.2.3.4",  "https://[::1]",
        "https://b.a.org:81", "https://x.y",      "http://x.y:443",   "https://c.b.a.org:81",
        "http://c.b.a.org:81"};
    (void)state;
    for (size_t i = 0; i < COUNT(texts) * COUNT(texts); i++) {
        struct policy_pattern a, b, both;
        const char *ta = texts[i / COUNT(texts)], *tb = texts[i % COUNT(texts)];
        assert_null(policy_pattern_parse(ta, strlen(ta), &a));
        assert_null(policy_pattern_parse(tb, strlen(tb), &b));
        bool some = policy_pattern_intersect(&a, &b, &both);
        for (size_t p = 0; p < COUNT(probes); p++) {
            struct policy_url url;
            assert_null(parse(probes[p], &url));
            bool want = policy_pattern_matches(&a, &url) && policy_pattern_matches(&b, &url);
            if (want != (some && policy_pattern_matches(&both, &url)))
                fail_msg("%s with %s on %s", ta, tb, probes[p]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_taken_apart),
        cmocka_unit_test(curl_sees_the_same_host),
        cmocka_unit_test(curl_sees_the_same_host_in_random_urls),
        cmocka_unit_test(writes_what_is_sent),
        cmocka_unit_test(long_urls_are_refused_or_fit),
        cmocka_unit_test(patterns_are_read_and_printed),
        cmocka_unit_test(decides),
        cmocka_unit_test(localhost_reaches_loopback_and_wildcards_do_not),
        cmocka_unit_test(intersection_is_what_both_allow),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
