/*
 * What callbacks and closing do to what is still under way: each accepted call is told exactly once,
 * and the descriptor says so when there is something left to tell.
 */
#include "support.h"

#include <poll.h>
#include <string.h>

static struct fixture f;

static int open_fake(void **state)
{
    (void)state;
    fixture_open(&f, FAKE_LAUNCHER, NULL);
    return 0;
}

static int close_fake(void **state)
{
    (void)state;
    if (f.host)
        fixture_teardown(&f);
    return 0;
}

static void shut(void)
{
    fixture_close(&f);
    f.host = NULL;
}

/* ---- a reload that fails takes the calls that waited for it along ------------------------------ */

static void calls_behind_a_failed_reload(void **state)
{
    static struct outcome outcome;

    (void)state;
    struct halter_guest *guest = guest_of(&f, "g", "load error 1", NULL);
    settle_state(&f, guest, HALTER_GUEST_FAILED);
    assert_int_equal(halter_guest_reload(guest, "load error 1", 0), HALTER_OK);
    call(guest, "1", &outcome);
    uint64_t until = now_ns() + 5000000000ull;
    while (!f.events.count[HALTER_EVENT_RELOAD_FAILED] && now_ns() < until)
        dispatch(&f, 100);
    assert_int_equal(f.events.count[HALTER_EVENT_RELOAD_FAILED], 1);
    run_for(&f, 50);
    assert_int_equal(outcome.callbacks, 1);
    assert_int_equal(outcome.status, HALTER_ELOAD);
}

/* ---- callbacks that cancel and close ------------------------------------------------------------ */

static struct halter_guest *chain[3];
static uint64_t numbers[3];
static unsigned told[3];

static void cancel_the_one_before(struct halter_guest *guest, const struct halter_result *result,
                                  void *data)
{
    (void)guest;
    (void)result;
    unsigned i = (unsigned)((unsigned *)data - told);
    told[i]++;
    if (i)
        halter_cancel(chain[i - 1], numbers[i - 1]);
}

/* The last work of a dispatch makes more work: the descriptor must be readable for it. */
static void deferred_by_the_deferred(void **state)
{
    static struct outcome first[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        told[i] = 0;
        chain[i] = guest_of(&f, "g", "call stall", &(struct halter_plugin_options){
                                .size = sizeof(struct halter_plugin_options), .deadline_ms = 60000});
        settle_state(&f, chain[i], HALTER_GUEST_READY);
        call(chain[i], "1", &first[i]);
        assert_int_equal(halter_call(chain[i], "2", 0, NULL, cancel_the_one_before, &told[i],
                                     &numbers[i]),
                         HALTER_OK);
    }
    run_for(&f, 300); /* spares come, and nothing else is on its way */
    assert_int_equal(halter_cancel(chain[2], numbers[2]), HALTER_OK);
    while (!told[0]) {
        struct pollfd ready = {.fd = halter_fd(f.host), .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 1000), 1);
        assert_true(halter_dispatch(f.host, 0) >= 0);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(told[i], 1);
}

/* Every handle is good until the last callback of halter_destroy() has run, whichever is first. */
static void touch_both(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    assert_int_equal(result->status, HALTER_ECLOSED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(halter_guest_state(chain[i]), HALTER_GUEST_CLOSED);
        assert_true(strlen(halter_guest_name(chain[i])) == 1);
        assert_int_equal(halter_cancel(chain[i], 1), HALTER_EINVAL);
        assert_int_equal(halter_call(chain[i], "1", 0, NULL, touch_both, data, NULL),
                         HALTER_ECLOSED);
    }
    assert_true(guest == chain[0] || guest == chain[1]);
    ++*(unsigned *)data;
}

static void handles_live_through_the_last_callback(void **state)
{
    static unsigned count;

    (void)state;
    for (int i = 0; i < 2; i++) {
        chain[i] = guest_of(&f, i ? "b" : "a", "", NULL);
        assert_int_equal(halter_call(chain[i], "1", 0, NULL, touch_both, &count, NULL), HALTER_OK);
    }
    shut();
    assert_int_equal(count, 2);
}

static void close_the_next(struct halter_guest *guest, const struct halter_result *result,
                           void *data)
{
    (void)guest;
    assert_int_equal(result->status, HALTER_ECLOSED);
    ++*(unsigned *)data;
    halter_guest_destroy(chain[1]);
}

/* The host is destroyed; a callback closes a guest that still has calls to be told of. */
static void closed_while_all_closes(void **state)
{
    static struct outcome second;
    static unsigned count;

    (void)state;
    chain[0] = guest_of(&f, "a", "", NULL);
    chain[1] = guest_of(&f, "b", "", NULL);
    assert_int_equal(halter_call(chain[0], "1", 0, NULL, close_the_next, &count, NULL), HALTER_OK);
    call(chain[1], "1", &second);
    shut();
    assert_int_equal(count, 1);
    assert_int_equal(second.callbacks, 1);
    assert_int_equal(second.status, HALTER_ECLOSED);
}

/* ---- what nobody needs any more ----------------------------------------------------------------- */

static void spares_of_the_gone(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 4; i++) {
        struct halter_plugin_options o = HALTER_PLUGIN_INIT;
        o.memory_bytes = (256 + i) << 20; /* a profile of its own */
        halter_guest_destroy(guest_of(&f, "g", "", &o));
    }
    run_for(&f, 500);
    assert_descendants(1); /* the launcher */
}

static void odd_frame_caps(void **state)
{
    struct halter_options o = HALTER_OPTIONS_INIT;
    struct halter_host *host = NULL;

    (void)state;
    o.launcher_path = FAKE_LAUNCHER;
    for (uint32_t cap = 1; cap < 16384; cap += 1023) {
        o.frame_cap_bytes = cap;
        assert_int_equal(halter_create(&o, &host), HALTER_EINVAL);
        assert_null(host);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(calls_behind_a_failed_reload, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(deferred_by_the_deferred, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(closed_while_all_closes, open_fake, close_fake),
        cmocka_unit_test_setup_teardown(handles_live_through_the_last_callback, open_fake,
                                        close_fake),
        cmocka_unit_test_setup_teardown(spares_of_the_gone, open_fake, close_fake),
        cmocka_unit_test(odd_frame_caps),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reentry", tests, NULL, NULL);
}
