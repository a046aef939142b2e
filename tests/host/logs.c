/* What plugins and helpers say: lines, rates, text made safe, and that a flood delays nothing. */
#include <stdio.h>
#include <string.h>

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

static void a_line_is_an_event(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_of(&f, "p", "transform = (raw) => { console.log('hello', raw); return 1 }", NULL);
    ask(&f, guest, "{\"a\":[1]}", &outcome);
    run_for(&f, 20);
    assert_int_equal(f.events.count[HALTER_EVENT_LOG], 1);
    assert_non_null(strstr(f.events.last_text, "hello"));
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_int_equal(stats.log_lines, 1);
}

static void text_is_safe_for_a_terminal(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(
        &f, "p", "transform = () => { console.error('\\x1b]0;title\\x07\\u202eabc\\rx') }", NULL);
    ask(&f, guest, "1", &outcome);
    run_for(&f, 20);
    assert_string_equal(f.events.last_text, "\\x1b]0;title\\x07\\u{202e}abc\\x0dx");
}

static void a_line_break_makes_two_lines(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_of(&f, "p", "transform = () => { console.log('a\\nb\\nc') }", NULL);
    ask(&f, guest, "1", &outcome);
    run_for(&f, 20);
    assert_int_equal(f.events.count[HALTER_EVENT_LOG], 3);
    assert_string_equal(f.events.last_text, "c");
}

static void a_million_lines(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.log_lines_per_second = 100;
    o.deadline_ms = 15000;
    struct halter_guest *guest = guest_of(
        &f, "p", "transform = () => { for (let i = 0; i < 1e6; i++) console.log(i); return 'done' }",
        &o);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_string_equal(outcome.json, "\"done\"");
    run_for(&f, 1200);
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_in_range(stats.log_lines, 1, 100 + 100 * 17);
    assert_int_equal(stats.log_lines + stats.log_dropped, 1000000); /* all are accounted for */
    assert_int_equal(f.events.dropped, stats.log_dropped);
    assert_int_equal(f.events.lines, stats.log_lines);
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_HOST(a_line_is_an_event),
        WITH_HOST(text_is_safe_for_a_terminal),
        WITH_HOST(a_line_break_makes_two_lines),
        WITH_HOST(a_million_lines),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("logs", tests, NULL, NULL);
}
