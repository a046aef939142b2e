/* Loading and reloading: what does not load, what hangs while it does, and that a reload loses
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static struct fixture f;

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

static void load_error(const char *source, const char *message, unsigned line)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;

    o.path = "bad.js";
    struct halter_guest *guest = guest_of(&f, "bad", source, &o);
    call(guest, "1", &outcome);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_ELOAD);
    if (!strstr(outcome.error_message, message))
        fail_msg("the message is '%s'", outcome.error_message);
    assert_int_equal(outcome.line, line);
    if (line)
        assert_true(outcome.column > 0);
    assert_string_equal(outcome.error_file, "bad.js");
    assert_int_equal(halter_guest_state(guest), HALTER_GUEST_FAILED);
    assert_int_equal(halter_call(guest, "1", 0, NULL, record, &outcome, NULL), HALTER_ELOAD);
    halter_guest_destroy(guest);
}

static void a_syntax_error_has_its_place(void **state)
{
    (void)state;
    load_error("let a = 1;\nlet b = (;\n", "", 2);
}

static void no_transform(void **state)
{
    (void)state;
    load_error("let a = 1", "transform", 1);
}

static void a_transform_that_is_no_function(void **state)
{
    (void)state;
    load_error("globalThis.transform = 7", "transform", 1);
}

static void a_throw_at_the_top(void **state)
{
    (void)state;
    load_error("\n\nthrow new RangeError('top')", "top", 3);
}

static void a_loop_at_the_top_meets_the_load_deadline(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;

    o.load_deadline_ms = 100;
    o.quarantine_after = 1;
    uint64_t start = now_ns();
    struct halter_guest *guest = guest_of(&f, "loop", "for(;;);", &o);
    call(guest, "1", &outcome);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EQUARANTINED);
    assert_true(now_ns() - start >= 100000000ull);
    run_for(&f, 50);
    assert_int_equal(f.events.deaths[HALTER_DEATH_DEADLINE], 1);
    assert_true(f.events.last_death.loading);
}

static void a_getter_called_transform_meets_it_too(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    (void)state;
    o.load_deadline_ms = 100;
    o.quarantine_after = 1;
    struct halter_guest *guest = guest_of(
        &f, "getter",
        "Object.defineProperty(globalThis, 'transform', {get() { for(;;); }})", &o);
    settle_state(&f, guest, HALTER_GUEST_QUARANTINED);
}

struct tally {
    unsigned old, new, failed, total;
};

static void count(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct tally *t = data;
    (void)guest;
    t->total++;
    if (result->status != HALTER_OK)
        t->failed++;
    else if (strcmp(result->json, "\"old\"") == 0)
        t->old++;
    else if (strcmp(result->json, "\"new\"") == 0)
        t->new++;
}

static void a_reload_loses_no_queued_call(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct tally t = {0};
    (void)state;

    o.queue_max = 1000;
    struct halter_guest *guest = guest_of(&f, "p", "transform = () => 'old'", &o);
    settle_state(&f, guest, HALTER_GUEST_READY);
    for (int i = 0; i < 500; i++)
        assert_int_equal(halter_call(guest, "1", 0, NULL, count, &t, NULL), HALTER_OK);
    assert_int_equal(halter_guest_reload(guest, "transform = () => 'new'", 0), HALTER_OK);
    assert_int_equal(halter_guest_reload(guest, "transform = () => 'new'", 0), HALTER_EBUSY);
    while (!f.events.count[HALTER_EVENT_RELOADED])
        dispatch(&f, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(halter_call(guest, "1", 0, NULL, count, &t, NULL), HALTER_OK);
    while (t.total < 600)
        dispatch(&f, 100);
    assert_int_equal(t.failed, 0);
    assert_int_equal(t.old + t.new, 600);
    assert_true(t.new >= 100);
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 0); /* being replaced is no death */
}

static void a_reload_waits_for_the_call_in_flight(void **state)
{
    struct outcome slow;
    (void)state;
    struct halter_guest *guest = guest_of(
        &f, "p", "transform = () => { const t = Date.now(); while (Date.now() - t < 300); return 'old' }",
        NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "1", &slow);
    assert_int_equal(halter_guest_reload(guest, "transform = () => 'new'", 0), HALTER_OK);
    settle(&f, &slow);
    assert_int_equal(slow.status, HALTER_OK);
    assert_string_equal(slow.json, "\"old\"");
    ask(&f, guest, "1", &slow);
    assert_string_equal(slow.json, "\"new\"");
    assert_int_equal(f.events.count[HALTER_EVENT_RELOADED], 1);
}

static void a_bad_reload_leaves_the_old_version(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", "transform = () => 'old'", NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    assert_int_equal(halter_guest_reload(guest, "syntax error here", 0), HALTER_OK);
    while (!f.events.count[HALTER_EVENT_RELOAD_FAILED])
        dispatch(&f, 100);
    assert_non_null(strstr(f.events.last_error, "SyntaxError"));
    ask(&f, guest, "1", &outcome);
    assert_string_equal(outcome.json, "\"old\"");
    /* Also when it dies in loading. */
    assert_int_equal(halter_guest_reload(guest, "for(;;);", 0), HALTER_OK);
    while (f.events.count[HALTER_EVENT_RELOAD_FAILED] < 2)
        dispatch(&f, 100);
    ask(&f, guest, "1", &outcome);
    assert_string_equal(outcome.json, "\"old\"");
    /* And it can be reloaded again. */
    assert_int_equal(halter_guest_reload(guest, "transform = () => 'new'", 0), HALTER_OK);
    while (!f.events.count[HALTER_EVENT_RELOADED])
        dispatch(&f, 100);
    ask(&f, guest, "1", &outcome);
    assert_string_equal(outcome.json, "\"new\"");
}

static void a_guest_that_did_not_load_is_mended_by_a_reload(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", "nonsense nonsense", NULL);
    settle_state(&f, guest, HALTER_GUEST_FAILED);
    assert_int_equal(halter_guest_reload(guest, "transform = () => 'new'", 0), HALTER_OK);
    call(guest, "1", &outcome); /* accepted: a version that may serve it is on its way */
    settle(&f, &outcome);
    assert_string_equal(outcome.json, "\"new\"");
}

static void from_a_file(void **state)
{
    char path[] = "/tmp/halter-test-XXXXXX";
    struct outcome outcome;
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct halter_guest *guest;
    (void)state;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "transform = () => 'file'", 24), 24);
    o.path = path;
    assert_int_equal(halter_plugin_create(f.host, &o, &guest), HALTER_OK);
    ask(&f, guest, "1", &outcome);
    assert_string_equal(outcome.json, "\"file\"");
    assert_string_equal(halter_guest_name(guest), path);
    close(fd);
    unlink(path);
    assert_int_equal(halter_guest_reload(guest, NULL, 0), HALTER_ESYSTEM);
    o.path = "/nonexistent/plugin.js";
    assert_int_equal(halter_plugin_create(f.host, &o, &guest), HALTER_ESYSTEM);
    o.path = "/tmp";
    assert_int_equal(halter_plugin_create(f.host, &o, &guest), HALTER_ESYSTEM);
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOST(a_syntax_error_has_its_place),
        WITH_HOST(no_transform),
        WITH_HOST(a_transform_that_is_no_function),
        WITH_HOST(a_throw_at_the_top),
        WITH_HOST(a_loop_at_the_top_meets_the_load_deadline),
        WITH_HOST(a_getter_called_transform_meets_it_too),
        WITH_HOST(a_reload_loses_no_queued_call),
        WITH_HOST(a_reload_waits_for_the_call_in_flight),
        WITH_HOST(a_bad_reload_leaves_the_old_version),
        WITH_HOST(a_guest_that_did_not_load_is_mended_by_a_reload),
        WITH_HOST(from_a_file),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("loading", tests, NULL, NULL);
}
