/*
 * The built-in capabilities from end to end: a script asks, the library decides, halter-services
 * executes. What is not granted does not exist, what is denied says so, and nothing that a script,
 * a server or a killed process does stops the host or another call.
 */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "halter/halter.h"
#include "harness.h"
#include "server.h"

static struct halter_host *host;
static char *folder;
static char state_path[512];
static int port;
static char denials[8192], audits[16384];

static void on_event(struct halter_host *from, const struct halter_event *event, void *data)
{
    char *log = event->type == HALTER_EVENT_DENIED  ? denials
                : event->type == HALTER_EVENT_AUDIT ? audits
                                                    : NULL;
    size_t room = log == denials ? sizeof(denials) : sizeof(audits);
    (void)from;
    (void)data;
    if (event->type == HALTER_EVENT_STDERR || event->type == HALTER_EVENT_LOG)
        print_message("# %s\n", event->text);
    if (!log)
        return;
    size_t at = strlen(log);
    snprintf(log + at, room - at, "%s %s\n", event->name, event->text);
}

static void create_host(const char *path)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    options.launcher_path = LAUNCHER_PATH;
    options.state_path = path;
    options.on_event = on_event;
    options.audit = true;
    int status = halter_create(&options, &host);
    if (status)
        fail_msg("%s: %s", halter_strerror(status), strerror(errno));
    denials[0] = audits[0] = '\0';
}

static int start(void **state)
{
    (void)state;
    folder = temporary_folder();
    snprintf(state_path, sizeof(state_path), "%s/state.db", folder);
    create_host(state_path);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    halter_destroy(host);
    host = NULL;
    temporary_remove(folder);
    return 0;
}

/* A guest whose transform evaluates the expression or body it is given, with what went wrong. */
static const char evaluate[] =
    "globalThis.transform = async (raw) => {\n"
    "  try { return await (0, eval)('(async () => { ' + raw + ' })()'); }\n"
    "  catch (e) { return e.name + ': ' + e.message; }\n"
    "};\n";

static struct halter_guest *make(const char *const *grants, const char *manifest,
                                 const struct halter_plugin_options *more)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    struct halter_guest *guest;
    char why[256] = "";
    if (more)
        options = *more;
    options.source = evaluate;
    if (!options.name)
        options.name = manifest ? NULL : "p";
    options.grants = grants;
    options.manifest = manifest;
    options.why = why;
    options.why_bytes = sizeof(why);
    if (!options.deadline_ms)
        options.deadline_ms = 5000;
    int status = halter_plugin_create(host, &options, &guest);
    if (status)
        fail_msg("%s: %s", halter_strerror(status), why);
    return guest;
}

/* Runs a body in the guest; the JSON of what it returns lives until the next call. */
static const char *run(struct halter_guest *guest, const char *format, ...)
{
    static char text[65536];
    struct halter_result result;
    char body[4096], json[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(body, sizeof(body), format, arguments);
    va_end(arguments);
    size_t at = 0;
    json[at++] = '"';
    for (const char *c = body; *c; c++) {
        if (*c == '"' || *c == '\\')
            json[at++] = '\\';
        json[at++] = *c;
    }
    json[at++] = '"';
    int status = halter_call_wait(guest, json, at, NULL, &result);
    if (status)
        snprintf(text, sizeof(text), "%s", halter_status_name(status));
    else
        snprintf(text, sizeof(text), "%s",
                 result.kind == HALTER_KIND_VALUE ? result.json : "undefined");
    return text;
}

static void is(const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0)
        fail_msg("%s in place of %s", got, wanted);
}

static void has(const char *got, const char *piece)
{
    if (!strstr(got, piece))
        fail_msg("%s lacks %s", got, piece);
}

static void lacks(const char *got, const char *piece)
{
    if (strstr(got, piece))
        fail_msg("%s has %s", got, piece);
}

/* ---- what exists
 * ----------------------------------------------------------------------------------- */

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

/* ---- fetch
 * ------------------------------------------------------------------------------------------ */

static struct halter_guest *make_fetcher(void)
{
    static char grant[128];
    static const char *grants[] = {grant, NULL};
    snprintf(grant, sizeof(grant), "network:http://127.0.0.1:%d,http://localhost:%d", port, port);
    return make(grants, NULL, NULL);
}

static void fetches_what_is_granted(void **state)
{
    (void)state;
    struct halter_guest *guest = make_fetcher();
    is(run(guest,
           "const r = await host.fetch('http://127.0.0.1:%d/hello');"
           "return [r.ok, r.status, r.url, r.redirected, r.headers['content-type'], r.body]",
           port),
       (snprintf(denials, sizeof(denials),
                 "[true,200,\"http://127.0.0.1:%d/hello\",false,\"text/plain\",\"hello \xc3\xbc\"]",
                 port),
        denials));
    denials[0] = '\0';
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

/* ---- state
 * ------------------------------------------------------------------------------------------ */

static const char *const with_state[] = {"state", NULL};

static void state_is_kept(void **state)
{
    (void)state;
    struct halter_guest *guest = make(with_state, NULL, NULL);
    is(run(guest, "return host.state.get('k')"), "null");
    is(run(guest, "await host.state.set('k', {a: [1, '\\u2028']}); return host.state.get('k')"),
       "{\"a\":[1,\"\xe2\x80\xa8\"]}");
    is(run(guest, "return [await host.state.swap('k', 1, 2), host.state.swap.sync('n', null, 5),"
                  " await host.state.keys(), host.state.keys.sync('n')]"),
       "[false,true,[\"k\",\"n\"],[\"n\"]]");
    is(run(guest, "await host.state.delete('k'); return host.state.keys()"), "[\"n\"]");
    has(run(guest, "return host.state.get(7)"), "HostError: a key is a string");
    has(run(guest, "return host.state.set('k', () => 1)"), "null");
    halter_guest_destroy(guest);
    halter_destroy(host);
    create_host(state_path);
    guest = make(with_state, NULL, NULL);
    is(run(guest, "return host.state.get('n')"), "5");
    halter_guest_destroy(guest);
}

static void guests_of_one_plugin_share_its_state(void **state)
{
    struct halter_plugin_options other = HALTER_PLUGIN_INIT;
    (void)state;
    other.name = "q";
    struct halter_guest *a = make(with_state, NULL, NULL), *b = make(with_state, NULL, NULL),
                        *c = make(with_state, NULL, &other);
    is(run(a, "await host.state.set('k', 'a'); return 1"), "1");
    is(run(b, "return host.state.get('k')"), "\"a\"");
    is(run(c, "return host.state.get('k')"), "null");
    halter_guest_destroy(a);
    halter_guest_destroy(b);
    halter_guest_destroy(c);
}

/* Case 22. */
static void a_full_state_is_a_quota_error(void **state)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    (void)state;
    options.state_bytes = 1000;
    struct halter_guest *guest = make(with_state, NULL, &options);
    is(run(guest, "await host.state.set('k', 'old'); return 1"), "1");
    has(run(guest, "await host.state.set('k', 'x'.repeat(1000))"),
        "QuotaError: the state would take");
    is(run(guest, "return host.state.get('k')"), "\"old\"");
    halter_guest_destroy(guest);
}

/* Finds halter-services below the launcher of this process. */
static pid_t services_pid(void)
{
    DIR *entries = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;
    while (!found && (entry = readdir(entries))) {
        char path[64], text[256] = "", name[64];
        int parent = 0, grandparent = 0, pid = atoi(entry->d_name);
        for (int level = 0; pid > 0 && level < 2; level++) {
            snprintf(path, sizeof(path), "/proc/%d/stat", level ? parent : pid);
            FILE *file = fopen(path, "r");
            if (!file || !fgets(text, sizeof(text), file))
                parent = 0;
            else
                sscanf(text, "%*d (%63[^)]) %*c %d", level ? path : name,
                       level ? &grandparent : &parent);
            if (file)
                fclose(file);
        }
        if (pid > 0 && parent && grandparent == getpid() && strcmp(name, "halter-services") == 0)
            found = pid;
    }
    closedir(entries);
    return found;
}

static void killed_services_are_replaced(void **state)
{
    (void)state;
    struct halter_guest *guest = make(with_state, NULL, NULL);
    for (int round = 1; round <= 20; round++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", round);
        is(run(guest, "await host.state.set('n', %d); return host.state.get('n')", round), number);
        pid_t pid = services_pid();
        assert_true(pid > 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        /* The order that was sent to a dead process fails; the one after it is served. */
        const char *got = run(guest, "return host.state.get('n')");
        if (strstr(got, "HostError: halter-services died"))
            got = run(guest, "return host.state.get('n')");
        is(got, number);
    }
    halter_guest_destroy(guest);
}

static void a_state_that_cannot_be_opened_is_an_error(void **state)
{
    static const char *const both[] = {"state", NULL};
    (void)state;
    halter_destroy(host);
    create_host("/nonexistent/state.db");
    struct halter_guest *guest = make(both, NULL, NULL);
    has(run(guest, "return host.state.get('k')"), "cannot be opened");
    has(run(guest, "return host.state.get('k')"), "HostError: the state cannot be reached now");
    is(run(guest, "return 1"), "1");
    halter_guest_destroy(guest);
    halter_destroy(host);
    create_host(NULL);
    guest = make(both, NULL, NULL);
    has(run(guest, "return host.state.get('k')"), "keeps no state");
    halter_guest_destroy(guest);
}

/* ---- files
 * ------------------------------------------------------------------------------------------ */

static void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void in_folder(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", folder, name);
}

static struct halter_guest *make_reader(const char *mode)
{
    static char grant[1024];
    static const char *grants[] = {grant, NULL};
    snprintf(grant, sizeof(grant), "files:t:%s=%s", mode, folder);
    return make(grants, NULL, NULL);
}

/* Case 28. */
static void a_granted_file_is_read(void **state)
{
    (void)state;
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("read");
    is(run(guest,
           "const f = await host.open('t/a.txt'); const t = await f.read(); f.close(); return t"),
       "\"hello\"");
    has(run(guest, "const f = await host.open('t/a.txt'); return f.write('x')"), "Error");
    has(run(guest, "return host.open('t/a.txt', 'r+')"),
        "DeniedError: t/a.txt: its tree is granted for "
        "reading only");
    has(run(guest, "return host.open('t/new', 'w')"), "DeniedError");
    has(run(guest, "return host.open('t/a.txt', 'rw')"), "HostError: open(path, mode): a mode");
    has(run(guest, "return host.open(7)"), "HostError");
    has(run(guest, "return host.open('t/none')"), "HostError: t/none: No such file");
    halter_guest_destroy(guest);
}

static void nothing_leads_out_of_a_tree(void **state)
{
    static const char *const paths[] = {"t/../x",         "t/../../etc/passwd", "t/sub/../../x",
                                        "t//etc/../..",   "t/absolute",         "t/relative",
                                        "t/folder/passwd"};
    char path[1024];
    (void)state;
    in_folder("absolute", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    in_folder("relative", path);
    assert_int_equal(symlink("../../../../../../etc/passwd", path), 0);
    in_folder("folder", path);
    assert_int_equal(symlink("/etc", path), 0);
    in_folder("inside", path);
    assert_int_equal(symlink("a.txt", path), 0);
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("readwrite");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const char *got = run(guest, "return host.open('%s')", paths[i]);
        lacks(got, "{");
        if (!strstr(got, "DeniedError") && !strstr(got, "HostError"))
            fail_msg("%s: %s", paths[i], got);
    }
    has(run(guest, "return host.open('t/absolute')"),
        "DeniedError: t/absolute: leads out of the tree");
    has(run(guest, "return host.open('t/absolute', 'w')"), "DeniedError");
    has(run(guest, "return host.open('/etc/passwd')"),
        "DeniedError: /etc/passwd: it lies in no tree");
    has(run(guest, "return host.open('tt/a.txt')"), "DeniedError");
    has(run(guest, "return host.list('t/folder')"), "DeniedError");
    has(run(guest, "return host.list('t/..')"), "DeniedError");
    is(run(guest, "const f = await host.open('t/inside'); return f.read()"), "\"hello\"");
    halter_guest_destroy(guest);
}

static void files_are_written_where_that_is_granted(void **state)
{
    char path[1024], text[32] = "";
    (void)state;
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("readwrite");
    is(run(guest, "const f = await host.open('t/a.txt', 'r+'); await f.write('J'); f.close();"
                  "const g = await host.open('t/a.txt'); return g.read()"),
       "\"Jello\"");
    is(run(guest,
           "const f = await host.open('t/b.txt', 'w'); await f.write('new'); f.close(); return 1"),
       "1");
    in_folder("b.txt", path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "new");
    has(run(guest, "return host.open('t/b.txt', 'x')"), "HostError: t/b.txt: File exists");
    halter_guest_destroy(guest);
}

/* A pipe that nobody writes to would block whoever opens it. */
static void only_regular_files_are_opened(void **state)
{
    char path[1024];
    (void)state;
    in_folder("pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct halter_guest *guest = make_reader("readwrite");
    has(run(guest, "return host.open('t/pipe')"), "HostError");
    has(run(guest, "return host.open('t/pipe', 'r+')"), "HostError");
    has(run(guest, "return host.open('t')"), "HostError: t: Is a directory");
    halter_guest_destroy(guest);
}

static void folders_are_listed(void **state)
{
    (void)state;
    put("a.txt", "hello");
    put("b\\u00fc.txt", "");
    struct halter_guest *guest = make_reader("read");
    is(run(guest, "const l = await host.list('t'); l.sort((a, b) => a.name < b.name ? -1 : 1);"
                  "return l[0]"),
       "{\"name\":\"a.txt\",\"type\":\"file\",\"size\":5}");
    has(run(guest, "return host.list('t/a.txt')"), "HostError: t/a.txt: Not a directory");
    has(run(guest, "return host.list('u')"), "DeniedError");
    halter_guest_destroy(guest);
}

/* ---- all together
 * ------------------------------------------------------------------------------------ */

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_granted_does_not_exist),
        TEST(a_manifest_bounds_the_grants),
        TEST(wrong_manifests_and_grants_say_why),
        TEST(fetches_what_is_granted),
        TEST(denies_what_is_not),
        TEST(asks_again_at_every_redirect),
        TEST(redirects_can_be_seen_or_refused),
        TEST(redirects_rewrite_the_request),
        TEST(bad_options_are_errors),
        TEST(caps_hold),
        TEST(the_hosts_time_is_not_charged),
        TEST(a_death_gives_up_its_requests),
        TEST(state_is_kept),
        TEST(guests_of_one_plugin_share_its_state),
        TEST(a_full_state_is_a_quota_error),
        TEST(killed_services_are_replaced),
        TEST(a_state_that_cannot_be_opened_is_an_error),
        TEST(a_granted_file_is_read),
        TEST(nothing_leads_out_of_a_tree),
        TEST(files_are_written_where_that_is_granted),
        TEST(only_regular_files_are_opened),
        TEST(folders_are_listed),
        TEST(request_rates_are_capped),
        TEST(nothing_is_left_behind),
    };
    port = server_start("127.0.0.1", 0);
    server_start("127.0.0.2", port);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
