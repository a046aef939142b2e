/*
 * Plugins that try to get away, by script: one row a way. In each of them another plugin is served
 * meanwhile, no dispatch waits, the callback runs exactly once and never before its deadline, the
 * next call is answered, and at the end no descriptor and no process is left.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define DEADLINE_MS  150
#define SPARE_DESCRIPTORS 3 /* socket, standard error, pidfd */
#define MEMORY_BYTES (200ull << 20)

struct row {
    const char *name;
    const char *transform; /* body of transform(raw): runs when raw is "go", else it echoes */
    int status;
    const char *expected; /* JSON, or what the error's message or path must contain */
    const char *path;     /* of the offending value, when the status is ERESULT */
};

static const struct row rows[] = {
    /* hangs: each a kind of its own */
    {"a loop", "for(;;);", HALTER_EDEADLINE, NULL, NULL},
    {"a loop that allocates", "for(;;) ({});", HALTER_EDEADLINE, NULL, NULL},
    {"a loop in try/finally", "for(;;) try { for(;;); } finally { continue; }", HALTER_EDEADLINE,
     NULL, NULL},
    {"a catastrophic regular expression", "/^(a+)+$/.test('a'.repeat(60) + '!')", HALTER_EDEADLINE,
     NULL, NULL},
    {"a built-in that does not listen", "new Array(1e9) + ''", HALTER_EDEADLINE, NULL, NULL},
    {"reverse() of a huge length", "[].reverse.call({length: 2**32 - 1})", HALTER_EDEADLINE, NULL,
     NULL},
    {"an endless chain of promises", "const f = () => Promise.resolve().then(f); return f()",
     HALTER_EDEADLINE, NULL, NULL},
    {"an async loop", "return (async () => { for(;;) await null })()", HALTER_EDEADLINE, NULL,
     NULL},
    {"a thenable that calls itself", "const t = {then(r) { r(t) }}; return t", HALTER_EDEADLINE,
     NULL, NULL},
    {"a timer that renews itself", "return new Promise(() => setInterval(() => {}, 1))",
     HALTER_EDEADLINE, NULL, NULL},
    {"a toJSON that loops", "return {toJSON() { for(;;); }}", HALTER_EDEADLINE, NULL, NULL},
    {"a getter that loops", "return {get a() { for(;;); }}", HALTER_EDEADLINE, NULL, NULL},
    {"a proxy that loops", "return new Proxy({}, {ownKeys() { for(;;); }})", HALTER_EDEADLINE,
     NULL, NULL},
    {"an error whose message loops",
     "const e = new Error(); Object.defineProperty(e, 'message', {get() { for(;;); }}); throw e",
     HALTER_EDEADLINE, NULL, NULL},
    {"Atomics.wait or a long sleep", "const t = Date.now(); while (Date.now() - t < 1e7);",
     HALTER_EDEADLINE, NULL, NULL},
    /* memory (cases 8 and 9): out of memory by that name, and the host's own stays flat */
    {"an array that grows for ever", "const a = []; for (;;) a.push('x' + a.length)",
     HALTER_EMEMORY, NULL, NULL},
    {"typed arrays that grow for ever",
     "const a = []; for (;;) { const b = new Uint8Array(1 << 20); b.fill(1); a.push(b) }",
     HALTER_EMEMORY, NULL, NULL},
    /* promises */
    {"an async result", "return (async () => ({a: 1}))()", HALTER_OK, "{\"a\":1}", NULL},
    {"a promise of a promise", "return Promise.resolve(Promise.resolve([1]))", HALTER_OK, "[1]",
     NULL},
    {"a promise that cannot settle", "return new Promise(() => {})", HALTER_EPENDING, "", NULL},
    {"a rejected promise", "return Promise.reject(new TypeError('no'))", HALTER_ESCRIPT, "no",
     NULL},
    /* what can go wrong and is survived */
    {"unbounded recursion", "const f = () => f() + 1; return f()", HALTER_ESCRIPT, "", NULL},
    {"a cyclic result", "const a = {b: []}; a.b.push(a); return a", HALTER_ERESULT, "cycl",
     "$.b[0]"},
    {"a getter that throws", "return {a: [{get b() { throw new RangeError('mine') }}]}",
     HALTER_ERESULT, "mine", "$.a[0].b"},
    {"a BigInt in the result", "return {items: [1, {n: 2n}]}", HALTER_ERESULT, "BigInt",
     "$.items[1].n"},
    /* what there is to return */
    {"undefined", "return undefined", HALTER_OK, "undefined", NULL},
    {"nothing", ";", HALTER_OK, "undefined", NULL},
    {"null", "return null", HALTER_OK, "null", NULL},
    {"numbers", "return [NaN, Infinity, -Infinity, -0, 2**53 + 1, 1e21, 5e-324]", HALTER_OK,
     "[null,null,null,0,9007199254740992,1e+21,5e-324]", NULL},
    {"text", "return '\\u{1f600}\\u2028\\ufeffa\\0b\\ud800'", HALTER_OK,
     "\"\xf0\x9f\x98\x80\xe2\x80\xa8\xef\xbb\xbf" "a\\u0000b\\ud800\"", NULL},
    /* what there is to throw */
    {"throw null", "throw null", HALTER_ESCRIPT, "null", NULL},
    {"throw a symbol", "throw Symbol('s')", HALTER_ESCRIPT, "Symbol(s)", NULL},
    {"throw a number", "throw 1", HALTER_ESCRIPT, "1", NULL},
    {"throw a frozen object", "throw Object.freeze({a: 1})", HALTER_ESCRIPT, "", NULL},
    {"throw a proxy", "throw new Proxy({}, {get() { throw 2 }})", HALTER_ESCRIPT, "", NULL},
    /* forgeries */
    {"JSON.stringify replaced", "JSON.stringify = () => 'forged'; return [1]", HALTER_OK, "[1]",
     NULL},
    {"Promise.prototype.then replaced",
     "Promise.prototype.then = function() { throw 3 }; return (async () => 4)()", HALTER_OK, "4",
     NULL},
    {"toJSON on every object", "Object.prototype.toJSON = () => 'x'; return {a: 1}", HALTER_OK,
     "\"x\"", NULL},
};

static struct fixture f;

static long resident_bytes(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void one(void **state)
{
    const struct row *row = *state;
    char source[2048];
    struct outcome subject, other, after;
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;

    o.deadline_ms = row->status == HALTER_EMEMORY ? 30000 : DEADLINE_MS;
    o.memory_bytes = MEMORY_BYTES;
    o.path = "subject.js";
    snprintf(source, sizeof(source),
             "globalThis.transform = (raw) => { if (raw !== 'go') return raw; %s }",
             row->transform);
    struct halter_guest *guest = guest_of(&f, "subject", source, &o);
    struct halter_guest *bystander = guest_of(&f, "bystander", "transform = (raw) => raw", NULL);
    ask(&f, bystander, "0", &other);
    settle_state(&f, guest, HALTER_GUEST_READY);
    int before = open_descriptors();

    unsigned served = 0;
    long resident = resident_bytes();
    uint64_t start = now_ns();
    call(guest, "\"go\"", &subject);
    while (!subject.callbacks) {
        ask(&f, bystander, "[\"meanwhile\"]", &other);
        assert_int_equal(other.status, HALTER_OK);
        assert_string_equal(other.json, "[\"meanwhile\"]");
        served++;
        assert_true(now_ns() - start < 60000000000ull);
    }
    if (subject.status != row->status)
        fail_msg("%s: %s (%s), not %s", row->name, halter_status_name(subject.status),
                 subject.error_message, halter_status_name(row->status));
    assert_true(served > 0);
    if (row->status == HALTER_EDEADLINE) {
        assert_true(subject.finished_ns - start >= DEADLINE_MS * 1000000ull);
        assert_int_equal(subject.death.reason, HALTER_DEATH_DEADLINE);
        assert_false(subject.death.loading);
    } else if (row->status == HALTER_EMEMORY) {
        assert_int_equal(subject.death.reason, HALTER_DEATH_MEMORY);
        assert_true(resident_bytes() - resident < 16l << 20);
    } else if (row->status == HALTER_OK) {
        assert_string_equal(subject.kind == HALTER_KIND_UNDEFINED ? "undefined" : subject.json,
                            row->expected);
    } else {
        if (!strstr(subject.error_message, row->expected))
            fail_msg("%s: the message is '%s'", row->name, subject.error_message);
        if (row->path)
            assert_string_equal(subject.error_path, row->path);
        if (strstr(row->transform, "new RangeError") || strstr(row->transform, "new TypeError"))
            assert_non_null(strstr(subject.error_stack, "subject.js"));
        assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0); /* the helper lives on */
    }
    /* The next call is answered, by a new process where the old one was killed. */
    ask(&f, guest, "{\"next\":true}", &after);
    assert_int_equal(after.status, HALTER_OK);
    if (subject.death.reason != HALTER_DEATH_NONE) {
        while (!f.events.count[HALTER_EVENT_DEATH])
            dispatch(&f, 100);
        assert_int_equal(f.events.deaths[subject.death.reason], 1);
        assert_true(f.events.last_death.final);
        assert_true(f.events.last_death.peak_bytes > 0);
    }
    /* Back to where it was, but for a spare that is there now and was not then. */
    for (int i = 0; i < 40 && open_descriptors() > before + SPARE_DESCRIPTORS; i++)
        run_for(&f, 50);
    assert_in_range(open_descriptors(), 0, before + SPARE_DESCRIPTORS);
}

static int open_real(void **state)
{
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    return 0;
}

int main(void)
{
    struct CMUnitTest tests[sizeof(rows) / sizeof(*rows)];
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        tests[i] = (struct CMUnitTest){rows[i].name, one, open_real, close_all,
                                       (void *)(uintptr_t)&rows[i]};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("plugins that try to get away", tests, NULL, NULL);
}
