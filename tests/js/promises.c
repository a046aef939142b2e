/*
 * Promises and timers: a call lasts until its result is settled, or until nothing is left that
 * could settle it.
 */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define PENDING                                                                                    \
    "PENDING Error: the promise that transform returned can never settle: no timer and no call "   \
    "of "                                                                                          \
    "the host is left that could do it"

static void gives(const char *expression, const char *expected)
{
    char source[1024];
    snprintf(source, sizeof(source), "globalThis.transform = (raw, ctx) => (%s)", expression);
    const char *got = once(source, "1");
    if (strcmp(got, expected) != 0)
        fail_msg("%s gave %s, expected %s", expression, got, expected);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void promises_are_awaited(void **state)
{
    (void)state;
    gives("(async () => ({a: 1}))()", "{\"a\":1}");
    gives("Promise.resolve()", "undefined");
    gives("Promise.resolve(null)", "null");
    gives("(async () => { for (let i = 0; i < 1000; i++) await i; return 'deep' })()", "\"deep\"");
    gives("Promise.all([1, Promise.resolve(2), (async () => 3)()])", "[1,2,3]");
    gives("(async () => (async () => (async () => 4)())())()", "4");
    gives("(async () => new Map)()",
          "RESULT TypeError: the result cannot be written as JSON: a Map at $");
    gives("(async () => () => 1)()",
          "RESULT TypeError: the result cannot be written as JSON: a function at $");
    gives("(async () => { throw new RangeError('r') })()", "SCRIPT RangeError: r");
}

static void what_nothing_can_settle_is_told_at_once(void **state)
{
    (void)state;
    double start = now_ms();
    gives("new Promise(() => {})", PENDING);
    gives("(async () => { await new Promise(() => {}) })()", PENDING);
    gives("({then() {}})", PENDING);
    gives("new Promise((done) => clearTimeout(setTimeout(done, 10000)))", PENDING);
    gives("new Promise((done) => { const id = setInterval(() => clearInterval(id), 1) })", PENDING);
    assert_true(now_ms() - start < 5000);
}

static void timers_settle(void **state)
{
    (void)state;
    double start = now_ms();
    gives("new Promise((done) => setTimeout(done, 50, 'late'))", "\"late\"");
    assert_true(now_ms() - start >= 50);
    gives("new Promise((done) => { let n = 0; const id = setInterval((by) => { n += by; if (n >= "
          "6) { clearInterval(id); done(n) } }, 1, 2) })",
          "6");
    gives(
        "new Promise((done) => setTimeout(() => setTimeout(() => setTimeout(done, 0, 'nested'))))",
        "\"nested\"");
    gives("new Promise((done) => setTimeout(done, -5, 1))", "1");
    gives("new Promise((done) => setTimeout(done, 'soon', 2))", "2");
    gives("typeof setTimeout(() => {}, 1)", "\"number\"");
    gives("(clearTimeout(undefined), clearTimeout(99), clearTimeout({}), 3)", "3");
}

static void timers_run_in_order_with_microtasks_between(void **state)
{
    (void)state;
    gives("(async () => { const log = [];"
          " setTimeout(() => log.push('b'), 2); setTimeout(() => log.push('a'), 1);"
          " setTimeout(() => { log.push('1'); queueMicrotask(() => log.push('m1')) });"
          " setTimeout(() => { log.push('2'); Promise.resolve().then(() => log.push('m2')) });"
          " await new Promise((done) => setTimeout(done, 20)); return log.join() })()",
          "\"1,m1,2,m2,a,b\"");
    gives("new Promise((done) => { const all = []; for (let i = 0; i < 500; i++) setTimeout(() => "
          "{ all.push(i); if (all.length === 500) done(all.every((v, k) => v === k)) }, 5) })",
          "true");
}

static void timers_end_with_their_call(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "let fired = 0; setTimeout(() => fired++, 1);"
               "transform = (raw) => raw ? (setTimeout(() => fired++, 1), setInterval(() => "
               "fired++, 1), fired)"
               "  : new Promise((done) => setTimeout(() => done(fired), 30))");
    assert_string_equal(guest_call(&guest, "1"), "0");
    assert_string_equal(guest_call(&guest, "0"), "0");
    guest_finish(&guest);
}

static void an_error_in_a_timer_ends_the_call(void **state)
{
    (void)state;
    gives("new Promise(() => setTimeout(() => { throw new Error('in a timer') }, 1))",
          "SCRIPT Error: in a timer");
    gives("setTimeout('code', 1)", "SCRIPT TypeError: a timer needs a function");
}

static void a_rejection_that_nobody_handles_is_logged(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "transform = () => { Promise.reject(new Error('forgotten')); return 1 }");
    guest_send_call(&guest, "1", 1, 1000);
    struct wire_log log;
    assert_int_equal(guest_receive(&guest), WIRE_LOG);
    assert_true(wire_log_decode(&log, guest.frame.body, guest.frame.length));
    assert_int_equal(log.level, WIRE_WARN);
    assert_true(text_is(log.text, "unhandled rejection: Error: forgotten"));
    assert_string_equal(guest_call(&guest, NULL), "1");
    guest_finish(&guest);
}

static void an_endless_chain_does_not_end(void **state)
{
    (void)state;
    /* It is the host that ends it: here, that it neither returns nor fails. */
    struct guest guest;
    guest_load(
        &guest, NULL,
        "transform = () => { (function next() { Promise.resolve().then(next) })(); return 1 }");
    guest_send_call(&guest, "1", 1, 1000);
    assert_false(guest_readable(&guest, 200));
    guest_kill(&guest);
    guest_finish(&guest);
}

static void an_answer_comes_through_timers_that_are_always_due(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = async () => { setInterval(() => {}, 0); setTimeout(function f() { "
                    "setTimeout(f, 0) }, 0); return await host.ask() }",
                    "ask");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    guest_answer(&guest, guest.frame.id, "\"heard\"", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "\"heard\"");
    guest_finish(&guest);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_are_awaited),
        cmocka_unit_test(what_nothing_can_settle_is_told_at_once),
        cmocka_unit_test(timers_settle),
        cmocka_unit_test(timers_run_in_order_with_microtasks_between),
        cmocka_unit_test(timers_end_with_their_call),
        cmocka_unit_test(an_error_in_a_timer_ends_the_call),
        cmocka_unit_test(a_rejection_that_nobody_handles_is_logged),
        cmocka_unit_test(an_endless_chain_does_not_end),
        cmocka_unit_test(an_answer_comes_through_timers_that_are_always_due),
    };
    return cmocka_run_group_tests_name("promises", tests, NULL, NULL);
}
