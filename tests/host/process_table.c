/* Every legal sequence of eight events in the life of a helper process, and what must hold in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "host/process_table.h"

#define DEPTH 8

struct walk {
    enum process_state state;
    int finals, deceased, sigkills, hang_ups, offers, adoptions;
    long paths;
};

static void check(const struct walk *w)
{
    assert_in_range(w->finals, 0, 1);
    assert_in_range(w->offers, 0, 1);
    assert_in_range(w->adoptions, 0, 1);
    assert_int_equal(w->finals, w->state == PROCESS_REAPED);
    /* Whoever is dying is not listened to, and a guest has been told of each end that is known. */
    if (w->state == PROCESS_DYING || w->state == PROCESS_REAPED)
        assert_true(w->hang_ups > 0);
    else
        assert_int_equal(w->hang_ups + w->sigkills + w->deceased, 0);
    if (w->state == PROCESS_REAPED)
        assert_true(w->deceased > 0);
    assert_int_equal(w->adoptions, w->state == PROCESS_OWNED ? 1 : w->adoptions);
    if (w->state == PROCESS_SPARE)
        assert_int_equal(w->offers, 1);
}

static void descend(struct walk w, int depth, long *paths)
{
    check(&w);
    ++*paths;
    if (depth == DEPTH)
        return;
    for (int event = 0; event < PROCESS_EVENTS; event++) {
        struct process_step step = process_step(w.state, (enum process_event)event);
        if (step.actions & PROCESS_WRONG) {
            assert_int_equal(step.next, w.state);
            continue;
        }
        struct walk next = w;
        next.state = step.next;
        next.finals += !!(step.actions & PROCESS_FINAL);
        next.deceased += !!(step.actions & PROCESS_DECEASED);
        next.sigkills += !!(step.actions & PROCESS_SIGKILL);
        next.hang_ups += !!(step.actions & PROCESS_HANG_UP);
        next.offers += !!(step.actions & PROCESS_OFFER);
        next.adoptions += event == PROCESS_EVENT_ADOPT;
        descend(next, depth + 1, paths);
    }
}

static void every_sequence(void **state)
{
    long paths = 0;
    (void)state;
    descend((struct walk){.state = PROCESS_STARTING}, 0, &paths);
    assert_true(paths > 10000);
}

static void a_kill_is_known_at_once(void **state)
{
    (void)state;
    for (int s = PROCESS_STARTING; s <= PROCESS_OWNED; s++) {
        struct process_step step = process_step((enum process_state)s, PROCESS_EVENT_KILL);
        assert_int_equal(step.next, PROCESS_DYING);
        assert_int_equal(step.actions, PROCESS_SIGKILL | PROCESS_HANG_UP | PROCESS_DECEASED);
    }
}

static void a_closed_socket_waits_for_the_report(void **state)
{
    (void)state;
    struct process_step step = process_step(PROCESS_OWNED, PROCESS_EVENT_CLOSED);
    assert_int_equal(step.next, PROCESS_DYING);
    assert_int_equal(step.actions & PROCESS_DECEASED, 0);
    assert_int_not_equal(step.actions & PROCESS_LINGER, 0);
    step = process_step(PROCESS_DYING, PROCESS_EVENT_EXITED);
    assert_int_not_equal(step.actions & PROCESS_DECEASED, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence),
        cmocka_unit_test(a_kill_is_known_at_once),
        cmocka_unit_test(a_closed_socket_waits_for_the_report),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("process table", tests, NULL, NULL);
}
