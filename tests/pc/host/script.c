/* script.c: texts are found wherever they come, and keys sent in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those four before it */

#include "helper/pc/script.h"

#include <string.h>

/* Shows text to the script; returns where in it the first step was completed, or -1. */
static int see(struct script *script, const char *text)
{
    for (int i = 0; text[i]; i++)
        if (script_see(script, (uint8_t)text[i]))
            return i;
    return -1;
}

static void steps_come_in_order(void **state)
{
    (void)state;
    static struct script script;
    const struct script_step *step;

    memset(&script, 0, sizeof script);
    assert_true(script_until(&script, "login: "));
    assert_true(script_send(&script, "root\\n"));
    assert_true(script_until(&script, "# "));
    assert_int_equal(see(&script, "x# Debian\r\nlogin:"), -1); /* "# " is not its turn */
    step = script_see(&script, ' ');
    assert_non_null(step);
    assert_int_equal(step->send_length, 5);
    assert_memory_equal(step->send, "root\n", 5);
    assert_false(script_over(&script));
    assert_int_equal(see(&script, "root\r\n# "), 7);
    assert_true(script_over(&script));
    assert_int_equal(see(&script, "# # "), -1);
}

/* The classic: after "aab" of "aabaaa", "aab" begins again inside what was seen. */
static void a_text_that_overlaps_itself_is_found(void **state)
{
    (void)state;
    static struct script script;
    static const struct {
        const char *text, *shown;
        int at;
    } cases[] = {
        {"aabaaa", "aabaabaaa", 8},   {"abab", "aabaabab", 7}, {"ab", "aaaab", 4},
        {"\\x1b[K", "\033\033[K", 3}, {"xx", "x.x.", -1},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        memset(&script, 0, sizeof script);
        assert_true(script_until(&script, cases[i].text));
        assert_int_equal(see(&script, cases[i].shown), cases[i].at);
    }
}

static void keys_without_a_text_go_first(void **state)
{
    (void)state;
    static struct script script;
    const struct script_step *step;

    memset(&script, 0, sizeof script);
    assert_true(script_send(&script, "\\t\\r\\e\\\\\\x00\\xfF"));
    assert_true(script_send(&script, "b"));
    assert_true(script_until(&script, "c"));
    step = script_start(&script);
    assert_non_null(step);
    assert_int_equal(step->send_length, 6);
    assert_memory_equal(step->send, "\t\r\033\\\0\xff", 6);
    step = script_start(&script);
    assert_memory_equal(step->send, "b", 1);
    assert_null(script_start(&script));
    assert_int_equal(see(&script, "abc"), 2);
    assert_true(script_over(&script));
}

static void a_script_that_ends_with_keys_does_not_end_the_run(void **state)
{
    (void)state;
    static struct script script;

    memset(&script, 0, sizeof script);
    script_until(&script, "a");
    script_send(&script, "b");
    assert_int_equal(see(&script, "a"), 0);
    assert_false(script_over(&script));
    memset(&script, 0, sizeof script);
    assert_false(script_over(&script)); /* nor does an empty one */
}

static void what_cannot_be_meant_is_refused(void **state)
{
    (void)state;
    static struct script script;
    static char many[SCRIPT_TEXT + 2];

    memset(&script, 0, sizeof script);
    assert_false(script_until(&script, "\\q"));
    assert_false(script_until(&script, "\\x4"));
    assert_false(script_until(&script, "\\xg0"));
    assert_false(script_until(&script, "\\"));
    assert_false(script_until(&script, ""));
    memset(many, 'a', SCRIPT_TEXT + 1);
    assert_false(script_until(&script, many));
    for (unsigned i = 0; i < SCRIPT_STEPS; i++) {
        memset(&script.step[i], 0, sizeof script.step[i]);
        assert_true(script_until(&script, "a"));
    }
    assert_false(script_until(&script, "a"));
    assert_true(script_send(&script, "b"));
    assert_false(script_send(&script, "b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_come_in_order),
        cmocka_unit_test(a_text_that_overlaps_itself_is_found),
        cmocka_unit_test(keys_without_a_text_go_first),
        cmocka_unit_test(a_script_that_ends_with_keys_does_not_end_the_run),
        cmocka_unit_test(what_cannot_be_meant_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
