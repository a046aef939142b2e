/*
 * Every legal sequence of nine events in the life of a guest, under a fake clock: the backoff timer,
 * the verdict on each death and the fate of calls are followed along, and what must hold is checked
 * at each step.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/guest_table.h"

#define DEPTH 9

static const struct guest_rules rules = {50, 200, 4};

struct walk {
    enum halter_guest_state state;
    struct guest_record record;
    uint64_t now_ms, timer_ms; /* timer_ms 0: unarmed */
    int accepted, finished, queued, in_flight;
    int processes; /* had or waited for */
    int deaths_in_a_row;
};

static long steps;

static void check(const struct walk *w)
{
    steps++;
    assert_int_equal(w->accepted, w->finished + w->queued + w->in_flight);
    assert_int_equal(w->in_flight, w->state == HALTER_GUEST_BUSY);
    assert_int_equal(w->timer_ms != 0, w->state == HALTER_GUEST_BACKOFF);
    bool has_process = w->state == HALTER_GUEST_LOADING || w->state == HALTER_GUEST_READY ||
                       w->state == HALTER_GUEST_BUSY;
    assert_int_equal(w->processes, has_process);
    if (w->state == HALTER_GUEST_READY || w->state == HALTER_GUEST_QUARANTINED ||
        w->state == HALTER_GUEST_FAILED || w->state == HALTER_GUEST_CLOSED)
        assert_int_equal(w->queued, 0); /* nothing waits where nothing comes */
    if (w->state == HALTER_GUEST_QUARANTINED)
        assert_true(w->deaths_in_a_row >= (int)rules.quarantine_after);
    if (w->state == HALTER_GUEST_CLOSED)
        assert_int_equal(w->accepted, w->finished);
}

static void apply(struct walk *w, enum guest_event event, uint32_t delay_ms)
{
    struct guest_step step = guest_step(w->state, event);

    assert_int_equal(step.actions & GUEST_WRONG, 0);
    if (event == GUEST_EVENT_RETRY || event == GUEST_EVENT_BACKOFF ||
        event == GUEST_EVENT_QUARANTINE)
        w->processes--;
    if (event == GUEST_EVENT_REPLACED)
        w->processes = 1; /* the new one is the guest's, the old one is ended */
    if (event == GUEST_EVENT_ANSWERED) {
        w->in_flight--;
        w->finished++;
        w->deaths_in_a_row = 0;
        guest_succeeded(&w->record);
    }
    if (event == GUEST_EVENT_TIMER) {
        w->now_ms = w->timer_ms;
        w->timer_ms = 0;
    }
    w->state = step.next;
    if (step.actions & GUEST_DISARM)
        w->timer_ms = 0;
    if (step.actions & GUEST_ARM)
        w->timer_ms = w->now_ms + delay_ms;
    if (step.actions & GUEST_RELEASE)
        w->processes = 0;
    if (step.actions & GUEST_ACQUIRE)
        w->processes++;
    if (step.actions & GUEST_FAIL_CALL) {
        w->in_flight--;
        w->finished++;
    }
    if (step.actions & GUEST_FAIL_QUEUE) {
        w->finished += w->queued;
        w->queued = 0;
    }
    if (step.actions & GUEST_SEND && w->queued) {
        w->queued--;
        w->in_flight++;
        apply(w, GUEST_EVENT_SENT, 0);
    }
}

static void descend(const struct walk *w, int depth);

static void die(struct walk w, enum halter_death_reason reason, int depth)
{
    uint32_t delay_ms;
    enum guest_event verdict = guest_verdict(&w.record, &rules, reason, &delay_ms);

    if (reason == HALTER_DEATH_EXIT)
        w.deaths_in_a_row++;
    assert_true(delay_ms <= rules.backoff_max_ms);
    assert_int_equal(delay_ms != 0, verdict == GUEST_EVENT_BACKOFF);
    apply(&w, verdict, delay_ms);
    descend(&w, depth + 1);
}

static void descend(const struct walk *from, int depth)
{
    check(from);
    if (depth == DEPTH)
        return;
    static const enum guest_event plain[] = {
        GUEST_EVENT_LOADED, GUEST_EVENT_LOAD_ERROR, GUEST_EVENT_ANSWERED, GUEST_EVENT_TIMER,
        GUEST_EVENT_RESET,  GUEST_EVENT_REPLACED,   GUEST_EVENT_CLOSE,
    };
    for (unsigned i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
        if (guest_step(from->state, plain[i]).actions & GUEST_WRONG)
            continue;
        struct walk w = *from;
        apply(&w, plain[i], 0);
        if (plain[i] == GUEST_EVENT_RESET || plain[i] == GUEST_EVENT_REPLACED) {
            w.record.fruitless = 0;
            w.deaths_in_a_row = 0;
        }
        descend(&w, depth + 1);
    }
    if (!(guest_step(from->state, GUEST_EVENT_RETRY).actions & GUEST_WRONG)) {
        die(*from, HALTER_DEATH_EXIT, depth);
        die(*from, HALTER_DEATH_CANCELED, depth);
    }
    if (from->state != HALTER_GUEST_CLOSED && from->state != HALTER_GUEST_QUARANTINED &&
        from->state != HALTER_GUEST_FAILED && from->accepted < 3) {
        struct walk w = *from;
        w.accepted++;
        if (w.state == HALTER_GUEST_READY) {
            w.in_flight++;
            apply(&w, GUEST_EVENT_SENT, 0);
        } else {
            w.queued++;
        }
        descend(&w, depth + 1);
    }
}

static void every_sequence(void **state)
{
    (void)state;
    descend(&(struct walk){.state = HALTER_GUEST_LOADING, .processes = 1, .now_ms = 1000}, 0);
    assert_true(steps > 100000);
}

static void delays_double_up_to_the_cap(void **state)
{
    static const uint32_t expected[] = {0, 50, 100, 200, 200, 200};
    const struct guest_rules patient = {50, 200, UINT32_MAX};
    struct guest_record record = {0};
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        uint32_t delay_ms;
        enum guest_event verdict =
            guest_verdict(&record, &patient, HALTER_DEATH_SIGNAL, &delay_ms);
        assert_int_equal(delay_ms, expected[i]);
        assert_int_equal(verdict, i ? GUEST_EVENT_BACKOFF : GUEST_EVENT_RETRY);
    }
    guest_succeeded(&record);
    uint32_t delay_ms;
    assert_int_equal(guest_verdict(&record, &patient, HALTER_DEATH_SIGNAL, &delay_ms),
                     GUEST_EVENT_RETRY);
}

static void what_the_application_did_is_not_held_against_it(void **state)
{
    static const enum halter_death_reason wanted[] = {HALTER_DEATH_CANCELED, HALTER_DEATH_KILLED,
                                                      HALTER_DEATH_LAUNCHER};
    struct guest_record record = {0};
    uint32_t delay_ms;
    (void)state;
    for (unsigned i = 0; i < 300; i++)
        assert_int_equal(guest_verdict(&record, &rules, wanted[i % 3], &delay_ms),
                         GUEST_EVENT_RETRY);
    assert_int_equal(record.fruitless, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence),
        cmocka_unit_test(delays_double_up_to_the_cap),
        cmocka_unit_test(what_the_application_did_is_not_held_against_it),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("guest table", tests, NULL, NULL);
}
