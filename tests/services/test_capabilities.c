/*
 * What a guest has and has not: names by grant and manifest, limits, rates; and that all of it
 * leaves nothing behind.
 */
#include "guests.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "server.h"

/* ---- what exists ---------------------------------------------------------------------------- */

/* Case 20. */
static void what_is_not_granted_does_not_exist(void **state)
{
    static const char *const some[] = {"state:read", "files:n:read=/tmp", NULL};
    static const char *const writes[] = {"state:write", "network:a.org", NULL};
    static const char names[] = "const names = [];"
                                "for (const k of Object.keys(host).sort())"
                                "  names.push(typeof host[k] === 'object' ?"
                                "    k + '(' + Object.keys(host[k]).sort() + ')' : k);"
                                "return names.join(' ')";
    (void)state;
    struct halter_guest *guest = make(NULL, NULL, NULL);
    is(run(guest, "%s", names), "\"locale log now\"");
    is(run(guest, "return typeof host.fetch + typeof host.state"), "\"undefinedundefined\"");
    halter_guest_destroy(guest);
    guest = make(some, NULL, NULL);
    is(run(guest, "%s", names), "\"list locale log now open state(get,keys)\"");
    halter_guest_destroy(guest);
    guest = make(writes, NULL, NULL);
    is(run(guest, "%s", names), "\"fetch locale log now state(delete,set)\"");
    halter_guest_destroy(guest);
}

static void provided(struct halter_guest *guest, struct halter_request *request, const char *args,
                     size_t bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)bytes;
    (void)data;
    halter_answer(request, "1", 1);
}

/* Each kind of reverse call is counted as what it is, denied or not. */
static void what_is_asked_for_is_counted_by_kind(void **state)
{
    static const char *const grants[] = {"state", "files:t:read=/tmp", "network:a.org", "counted",
                                         NULL};
    static const struct {
        enum halter_request_kind kind;
        unsigned count;
        const char *word;
    } expected[] = {
        {HALTER_REQUEST_OWN, 2, "own"},
        {HALTER_REQUEST_FETCH, 1, "fetch"},
        {HALTER_REQUEST_OPEN, 3, "open"},
        {HALTER_REQUEST_LIST, 1, "list"},
        {HALTER_REQUEST_STATE_GET, 4, "state.get"},
        {HALTER_REQUEST_STATE_KEYS, 1, "state.keys"},
        {HALTER_REQUEST_STATE_SET, 2, "state.set"},
        {HALTER_REQUEST_STATE_SWAP, 1, "state.swap"},
        {HALTER_REQUEST_STATE_DELETE, 5, "state.delete"},
        {HALTER_REQUEST_UNGRANTED, 0, "ungranted"},
    };
    struct halter_stats stats = HALTER_STATS_INIT;
    uint64_t sum = 0;
    (void)state;
    assert_int_equal(halter_provide(host, "counted", provided, NULL), HALTER_OK);
    struct halter_guest *guest = make(grants, NULL, NULL);
    is(run(guest, "const n = async (times, f) => { while (times--) await f().catch(() => 0) };"
                  "await n(2, () => host.counted()); await n(1, () => host.fetch('http://b.org'));"
                  "await n(3, () => host.open('nowhere')); await n(1, () => host.list('nowhere'));"
                  "await n(4, () => host.state.get('a')); await n(1, () => host.state.keys());"
                  "await n(2, () => host.state.set('a', 1));"
                  "await n(1, () => host.state.swap('a', 1, 2));"
                  "await n(5, () => host.state.delete('a')); return 1"),
       "1");
    assert_int_equal(halter_guest_stats(guest, &stats), HALTER_OK);
    for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
        if (stats.requests_by_kind[expected[i].kind] != expected[i].count)
            fail_msg("%s: %llu", expected[i].word,
                     (unsigned long long)stats.requests_by_kind[expected[i].kind]);
        assert_string_equal(halter_request_kind_text(expected[i].kind), expected[i].word);
    }
    for (int i = 0; i < HALTER_REQUEST_KINDS; i++)
        sum += stats.requests_by_kind[i];
    assert_int_equal(sum, stats.requests);
    assert_string_equal(halter_request_kind_text((enum halter_request_kind)99), "");
    halter_guest_destroy(guest);
}

static void built_in_names_are_taken(void **state)
{
    static const char *const names[] = {"fetch",   "open",  "list",   "state.get", "state.more",
                                        "state",   "log",   "now",    "locale",    "all",
                                        "network", "files", "fetch.x"};
    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_int_equal(halter_provide(host, names[i], provided, NULL), HALTER_EINVAL);
    assert_int_equal(halter_provide(host, "fetcher", provided, NULL), HALTER_OK);
    assert_int_equal(halter_provide(host, "fetcher", provided, NULL), HALTER_EINVAL);
}

static const char manifest[] =
    "{\"name\": \"m\", \"version\": \"1\", \"entry\": \"m.js\", \"permissions\": {"
    "\"state\": {\"level\": \"read\", \"reason\": \"x\"}, \"ai.respond\": {\"reason\": \"y\"}},"
    "\"limits\": {\"output_bytes\": 100, \"requests_per_second\": 3, \"deadline_ms\": 3000}}";

static void a_manifest_bounds_the_grants(void **state)
{
    static const char *const grants[] = {"state:readwrite", "network:a.org", "ai.respond", NULL};
    (void)state;
    struct halter_guest *guest = make(grants, manifest, NULL);
    assert_string_equal(halter_guest_name(guest), "m");
    is(run(guest, "return Object.keys(host.state).join()"), "\"get,keys\"");
    is(run(guest, "return typeof host.fetch"), "\"undefined\"");
    is(run(guest, "return 'x'.repeat(98)"), "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"");
    is(run(guest, "return 'x'.repeat(99)"), "ETOOBIG");
    is(run(guest, "return 1"), "1");
    halter_guest_destroy(guest);
}

static void wrong_manifests_and_grants_say_why(void **state)
{
    static const char *const bad[] = {"state:rw", NULL}, *const all[] = {"all", NULL};
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    struct halter_guest *guest = NULL;
    char why[256];
    (void)state;
    options.source = evaluate;
    options.why = why;
    options.why_bytes = sizeof(why);
    options.manifest = "{\"name\": \"m\",\n \"x\": 1}";
    assert_int_equal(halter_plugin_create(host, &options, &guest), HALTER_EMANIFEST);
    has(why, "plugin.json:2:2: unknown member");
    options.manifest = NULL;
    options.grants = bad;
    assert_int_equal(halter_plugin_create(host, &options, &guest), HALTER_EMANIFEST);
    has(why, "state:rw");
    options.grants = all;
    options.why = NULL;
    assert_int_equal(halter_plugin_create(host, &options, &guest), HALTER_EMANIFEST);
    assert_null(guest);
}

/* ---- all together --------------------------------------------------------------------------- */

static const char *const with_state[] = {"state", NULL};

static void request_rates_are_capped(void **state)
{
    (void)state;
    struct halter_guest *guest = make(with_state, manifest, NULL);
    const char *got =
        run(guest, "const r = []; for (let i = 0; i < 6; i++)"
                   "  r.push(await host.state.get('k').catch(e => e.name)); return r");
    has(got, "[null,null,null,\"QuotaError\"");
    halter_guest_destroy(guest);
}

/* The user's answer may come later, and may be taken back. */
static void grants_can_change(void **state)
{
    static const char *const reads[] = {"state:read", NULL}, *const bad[] = {"state:x", NULL};
    char why[128];
    (void)state;
    struct halter_guest *guest = make(NULL, manifest, NULL);
    is(run(guest, "globalThis.n = (globalThis.n ?? 0) + 1; return typeof host.state"),
       "\"undefined\"");
    assert_int_equal(halter_guest_grant(guest, bad, why, sizeof(why)), HALTER_EMANIFEST);
    has(why, "state:x");
    assert_int_equal(halter_guest_grant(guest, reads, why, sizeof(why)), HALTER_OK);
    assert_int_equal(halter_guest_grant(guest, reads, NULL, 0), HALTER_EBUSY);
    for (int i = 0; i < 500 && strcmp(run(guest, "return typeof host.state"), "\"object\"") != 0;
         i++)
        halter_dispatch(host, 10);
    is(run(guest, "return host.state.get('k')"), "null");
    assert_int_equal(halter_guest_grant(guest, NULL, NULL, 0), HALTER_OK);
    /* The old process still has the name, and is told no. */
    const char *got = run(guest, "return host.state.get('k')");
    if (!strstr(got, "DeniedError: not granted"))
        has(got, "undefined is not an object");
    halter_guest_destroy(guest);
}

static int open_descriptors(void)
{
    DIR *entries = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}

static void nothing_is_left_behind(void **state)
{
    char grant[1024], network[64];
    const char *const grants[] = {grant, network, "state", NULL};
    int before = 0;
    (void)state;
    put("a.txt", "hello");
    snprintf(grant, sizeof(grant), "files:t:read=%s", folder);
    snprintf(network, sizeof(network), "network:http://127.0.0.1:%d", port);
    for (int round = 0; round < 30; round++) {
        struct halter_guest *guest = make(grants, NULL, NULL);
        is(run(guest,
               "const f = await host.open('t/a.txt'); await host.state.set('a', 1);"
               "await host.fetch('http://127.0.0.1:%d/hello'); return f.read()",
               port),
           "\"hello\"");
        halter_guest_destroy(guest);
        for (int i = 0; i < 20; i++)
            halter_dispatch(host, 5);
        if (round == 5)
            before = open_descriptors();
    }
    assert_in_range(open_descriptors(), 1, before + 4); /* spares come and go */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_granted_does_not_exist),
        TEST(what_is_asked_for_is_counted_by_kind),
        TEST(built_in_names_are_taken),
        TEST(a_manifest_bounds_the_grants),
        TEST(wrong_manifests_and_grants_say_why),
        TEST(request_rates_are_capped),
        TEST(grants_can_change),
        TEST(nothing_is_left_behind),
    };
    port = server_start("127.0.0.1", 0);
    server_start("127.0.0.2", port);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
