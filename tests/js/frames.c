/*
 * The helper's side of the protocol: what it does when the host is silent, gone, or wrong.
 */
#include "harness.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void breaks_off(struct guest *guest, const char *why)
{
    while (guest_receive(guest) != 0)
        ;
    int status = guest_wait(guest);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HELPER_EXIT_BREACH);
    const char *said = guest_stderr(guest);
    if (!strstr(said, "halter: the host broke the protocol: ") || !strstr(said, why))
        fail_msg("it said: %s", said);
    guest_finish(guest);
}

static void the_end_of_the_host_is_a_good_end(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    guest_finish(&guest); /* which checks for exit 0 */
    guest_load(&guest, NULL, "transform = () => 1");
    guest_finish(&guest);
    guest_load_with(&guest, NULL, "transform = () => host.get.sync()", "get");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    guest_finish(&guest);
    guest_load(&guest, NULL, "transform = () => new Promise((done) => setTimeout(done, 60000))");
    guest_send_call(&guest, "1", 1, 1000);
    guest_finish(&guest);
}

static void a_host_that_is_gone_while_it_speaks_is_a_good_end_too(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "transform = () => { for (let i = 0; i < 100; i++) console.log('x'.repeat(10000)); "
               "return 'x'.repeat(1e6) }");
    guest_send_call(&guest, "1", 1, 1000);
    assert_true(guest_readable(&guest, 5000));
    guest_finish(&guest);
}

static void beats_are_echoed_while_it_waits(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL, "transform = () => host.get.sync()", "get");
    guest_send(&guest, WIRE_BEAT, 77, NULL, 0, NULL, 0);
    assert_int_equal(guest_receive(&guest), WIRE_BEAT);
    assert_int_equal(guest.frame.id, 77);
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    uint64_t id = guest.frame.id;
    guest_send(&guest, WIRE_BEAT, 79, NULL, 0, NULL, 0);
    assert_int_equal(guest_receive(&guest), WIRE_BEAT);
    guest_answer(&guest, id, "2", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "2");
    guest_finish(&guest);
}

static void calls_sent_ahead_are_done_in_turn(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL, "transform = (raw) => raw === 1 ? host.get() : raw", "get");
    guest_send_call(&guest, "1", 1, 1000);
    guest_send_call(&guest, "\"two\"", 5, 1000);
    guest_send_call(&guest, "3", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    guest_answer(&guest, guest.frame.id, "\"one\"", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "\"one\"");
    assert_int_equal(guest.frame.id, guest.last_id - 4);
    assert_string_equal(guest_call(&guest, NULL), "\"two\"");
    assert_string_equal(guest_call(&guest, NULL), "3");
    assert_int_equal(guest.frame.id, guest.last_id);
    guest_finish(&guest);
}

/* A helper that waits sleeps: it uses no time, whatever it waits for. */
static void waiting_costs_nothing(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL, "transform = (raw) => raw ? host.get() : host.get.sync()", "get");
    for (int i = 0; i < 3; i++) {
        uint64_t id = 0;
        if (i > 0) {
            guest_send_call(&guest, i == 1 ? "1" : "0", 1, 1000);
            assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
            id = guest.frame.id;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000000},
                  NULL); /* what the engine still had to do */
        clockid_t clock;
        struct timespec before, after;
        assert_int_equal(clock_getcpuclockid(guest.pid, &clock), 0);
        clock_gettime(clock, &before);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
        clock_gettime(clock, &after);
        double used = (double)(after.tv_sec - before.tv_sec) * 1e3 +
                      (double)(after.tv_nsec - before.tv_nsec) / 1e6;
        if (used > 20)
            fail_msg("it used %.1f ms while it waited", used);
        if (i > 0) {
            guest_answer(&guest, id, "1", NULL, 0);
            assert_string_equal(guest_call(&guest, NULL), "1");
        }
    }
    guest_finish(&guest);
}

static void frames_out_of_turn_break_off(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    guest_send_call(&guest, "1", 1, 1000);
    breaks_off(&guest, "a call before a load that succeeded");

    guest_load(&guest, NULL, "transform = () => 1");
    guest_send_load(&guest, "1", 1, "");
    breaks_off(&guest, "a second load");

    guest_load(&guest, NULL, "transform = () => 1");
    guest_answer(&guest, 2, "1", NULL, 0);
    breaks_off(&guest, "an answer to what was never asked");

    guest_load_with(&guest, NULL, "transform = () => host.get()", "get");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    uint64_t id = guest.frame.id;
    guest_answer(&guest, id, "1", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "1");
    guest_answer(&guest, id, "1", NULL, 0);
    breaks_off(&guest, "an answer too many");

    guest_load_with(&guest, NULL, "transform = () => host.get.sync()", "get");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    guest_send_load(&guest, "1", 1, "");
    breaks_off(&guest, "a frame out of turn");
}

static void bodies_that_are_none_break_off(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    guest_send(&guest, WIRE_LOAD, 1, "short", 5, NULL, 0);
    breaks_off(&guest, "a malformed load");

    guest_load(&guest, NULL, "transform = () => 1");
    guest_send(&guest, WIRE_CALL, 9, "short", 5, NULL, 0);
    breaks_off(&guest, "a malformed call");

    guest_load_with(&guest, NULL, "transform = () => host.get()", "get");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    guest_send(&guest, WIRE_REFUSE, guest.frame.id, "x", 1, NULL, 0);
    breaks_off(&guest, "a malformed refusal");

    guest_start(&guest, NULL);
    guest_send(&guest, WIRE_HELLO, 0, NULL, 0, NULL, 0);
    breaks_off(&guest, "");

    guest_load(&guest, &(struct guest_options){.cap = 1000}, "transform = () => 1");
    char long_body[1200] = "";
    guest_send(&guest, WIRE_CALL, 9, long_body, sizeof(long_body), NULL, 0);
    breaks_off(&guest, "longer than");
}

/* Two helpers of one parent are two worlds. */
static void helpers_share_no_randomness(void **state)
{
    (void)state;
    char first[256];
    const char *source = "transform = () => [Math.random(), Math.random(), crypto.randomUUID()]";
    snprintf(first, sizeof(first), "%s", once(source, "1"));
    const char *second = once(source, "1");
    assert_string_not_equal(first, second);
    assert_memory_not_equal(first, second, 10); /* Math.random() alone differs too */
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_host_is_a_good_end),
        cmocka_unit_test(a_host_that_is_gone_while_it_speaks_is_a_good_end_too),
        cmocka_unit_test(beats_are_echoed_while_it_waits),
        cmocka_unit_test(calls_sent_ahead_are_done_in_turn),
        cmocka_unit_test(waiting_costs_nothing),
        cmocka_unit_test(frames_out_of_turn_break_off),
        cmocka_unit_test(bodies_that_are_none_break_off),
        cmocka_unit_test(helpers_share_no_randomness),
    };
    return cmocka_run_group_tests_name("frames", tests, NULL, NULL);
}
