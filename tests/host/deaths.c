/*
 * Helpers that break the protocol or die, one row a way, by a helper that does as it is told
 * (tests/fake). In each: the exact reason, one callback, another guest served meanwhile, the queued
 * call answered by a new process, nothing left.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "support.h"

struct row {
    const char *action; /* for the first call; the second one echoes */
    int status;
    int detail; /* exit status, signal or system call, as the reason has it; -1: none to check */
};

static const struct row rows[] = {
    /* half a frame, then silence */
    {"half-frame", HALTER_EDEADLINE, -1},
    {"half-header", HALTER_EDEADLINE, -1},
    {"stall", HALTER_EDEADLINE, -1},
    {"hang", HALTER_EDEADLINE, -1},
    {"silence", HALTER_EDEADLINE, -1},
    {"stop-reading", HALTER_EDEADLINE, -1},
    /* lengths and bytes that are no frame */
    {"length 4294967295", HALTER_EPROTOCOL, -1},
    {"length 67108865", HALTER_EPROTOCOL, -1},
    {"garbage", HALTER_EPROTOCOL, -1},
    /* frames that are wrong, here or now */
    {"bad-json", HALTER_EPROTOCOL, -1},
    {"bad-utf8", HALTER_EPROTOCOL, -1},
    {"empty", HALTER_EPROTOCOL, -1},
    {"trailing", HALTER_EPROTOCOL, -1},
    {"unknown-type", HALTER_EPROTOCOL, -1},
    {"wrong-way", HALTER_EPROTOCOL, -1},
    {"wrong-id", HALTER_EPROTOCOL, -1},
    {"old-id", HALTER_EPROTOCOL, -1},
    {"zero-id", HALTER_EPROTOCOL, -1},
    {"even-id", HALTER_EPROTOCOL, -1},
    {"loaded", HALTER_EPROTOCOL, -1},
    {"hello", HALTER_EPROTOCOL, -1},
    {"bad-error", HALTER_EPROTOCOL, -1},
    {"bad-log", HALTER_EPROTOCOL, -1},
    {"bad-request", HALTER_EPROTOCOL, -1},
    {"odd-request", HALTER_EPROTOCOL, -1},
    {"same-request", HALTER_EPROTOCOL, -1},
    {"long-error", HALTER_EPROTOCOL, -1},
    {"data 100", HALTER_EPROTOCOL, -1},
    {"credit 100", HALTER_EPROTOCOL, -1},
    {"end", HALTER_EPROTOCOL, -1},
    {"send-fd", HALTER_EPROTOCOL, -1},
    {"claim-fd", HALTER_EPROTOCOL, -1},
    {"many-fds", HALTER_EPROTOCOL, -1},
    {"close", HALTER_EPROTOCOL, -1},
    {"shutdown", HALTER_EPROTOCOL, -1},
    /* deaths */
    {"exit 0", HALTER_EEXIT, 0},
    {"exit 1", HALTER_EEXIT, 1},
    {"exit 99", HALTER_EEXIT, 99},
    {"signal 11", HALTER_ESIGNAL, SIGSEGV},
    {"abort", HALTER_ESIGNAL, SIGABRT},
    {"signal 9", HALTER_ESIGNAL, SIGKILL},
    {"signal 24", HALTER_ECPU, -1},
    {"trap 101", HALTER_ESYSCALL, SYS_ptrace},
};

static struct fixture f;
static char source[256];

static int open_fake(void **state)
{
    (void)state;
    fixture_open(&f, FAKE_LAUNCHER, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    return 0;
}

static void one(void **state)
{
    const struct row *row = *state;
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome subject, queued, other;
    unsigned served = 0;

    o.deadline_ms = 150;
    snprintf(source, sizeof(source), "tick 1 %s\ncall echo\n", row->action);
    struct halter_guest *guest = guest_of(&f, "subject", source, &o);
    struct halter_guest *bystander = guest_of(&f, "bystander", "call echo\n", NULL);
    ask(&f, bystander, "0", &other);
    settle_state(&f, guest, HALTER_GUEST_READY);
    uint64_t start = now_ns();
    call(guest, "1", &subject);
    call(guest, "\"queued\"", &queued);
    while (!subject.callbacks) {
        ask(&f, bystander, "[1]", &other);
        assert_int_equal(other.status, HALTER_OK);
        served++;
        assert_true(now_ns() - start < 60000000000ull);
    }
    if (subject.status != row->status)
        fail_msg("%s: %s (%s), not %s", row->action, halter_status_name(subject.status),
                 subject.detail, halter_status_name(row->status));
    assert_true(served > 0);
    if (row->status == HALTER_EDEADLINE)
        assert_true(subject.finished_ns - start >= 150000000ull);
    else
        assert_true(subject.death.lived_ns == 0 || subject.death.final);
    settle(&f, &queued);
    assert_int_equal(queued.status, HALTER_OK);
    assert_string_equal(queued.json, "\"queued\"");
    while (!f.events.count[HALTER_EVENT_DEATH])
        dispatch(&f, 100);
    const struct halter_death *death = &f.events.last_death;
    assert_int_equal(f.events.count[HALTER_EVENT_DEATH], 1);
    assert_int_equal(death->reason, subject.death.reason);
    assert_true(death->final);
    assert_int_equal(death->call & 1, 1);
    if (row->status == HALTER_EEXIT)
        assert_int_equal(death->exit_status, row->detail);
    if (row->status == HALTER_ESIGNAL)
        assert_int_equal(death->signal, row->detail);
    if (row->status == HALTER_ESYSCALL) {
        assert_int_equal(death->syscall_number, row->detail);
        assert_string_equal(death->syscall, "ptrace");
    }
    run_for(&f, 30);
    assert_int_equal(subject.callbacks, 1);
    assert_int_equal(queued.callbacks, 1);
}

/* An answer given twice is right the first time; the second one is an answer to no call. */
static void an_answer_given_twice(void **state)
{
    struct outcome first, second;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", "tick 1 twice\ncall echo\n", NULL);
    ask(&f, guest, "1", &first);
    assert_int_equal(first.status, HALTER_OK);
    while (!f.events.count[HALTER_EVENT_DEATH])
        dispatch(&f, 100);
    assert_int_equal(f.events.last_death.reason, HALTER_DEATH_PROTOCOL);
    ask(&f, guest, "2", &second);
    assert_string_equal(second.json, "2");
}

/* Bytes that come one by one, and an answer larger than any buffer, are still answers. */
static void slow_and_large_answers(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_of(&f, "p", "tick 1 slow-bytes 1\ntick 2 big 30000000\ncall echo\n", NULL);
    f.large_bytes = 30000000;
    ask(&f, guest, "[1,2,3]", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_in_range(outcome.json_bytes, 30000000, 30000002);
}

/* A spare that is not what it says, or is not confined, never sees a plugin. */
static void quarantined_with(const char *load, enum halter_death_reason reason)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    o.backoff_min_ms = 10;
    o.quarantine_after = 4;
    o.load_deadline_ms = 100;
    struct halter_guest *guest = guest_of(&f, "p", load, &o);
    uint64_t start = now_ns();
    call(guest, "1", &outcome);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EQUARANTINED);
    assert_int_equal(halter_guest_state(guest), HALTER_GUEST_QUARANTINED);
    /* Backed off in between: 10 and 20 ms after the second and the third. */
    assert_true(now_ns() - start >= 30000000ull);
    run_for(&f, 300);
    assert_int_equal(f.events.deaths[reason], 4);
    assert_int_equal(f.events.count[HALTER_EVENT_QUARANTINED], 1);
    assert_int_equal(f.events.count[HALTER_EVENT_RESTARTING], 3);
    assert_int_equal(halter_call(guest, "1", 0, NULL, record, &outcome, NULL),
                     HALTER_EQUARANTINED);
    /* A reset by hand tries again, and so does a reload. */
    assert_int_equal(halter_guest_reset(guest), HALTER_OK);
    assert_int_equal(halter_guest_reset(guest), HALTER_EBUSY);
    settle_state(&f, guest, HALTER_GUEST_QUARANTINED);
    assert_int_equal(halter_guest_reload(guest, "load ok\ncall echo\n", 0), HALTER_OK);
    ask(&f, guest, "7", &outcome);
    assert_string_equal(outcome.json, "7");
}

static void crashes_each_time_it_loads(void **state)
{
    (void)state;
    quarantined_with("load signal 11\n", HALTER_DEATH_SIGNAL);
}

static void exits_each_time_it_loads(void **state)
{
    (void)state;
    quarantined_with("load exit 3\n", HALTER_DEATH_EXIT);
}

static void hangs_each_time_it_loads(void **state)
{
    (void)state;
    quarantined_with("load hang\n", HALTER_DEATH_DEADLINE);
}

static void garbage_each_time_it_loads(void **state)
{
    (void)state;
    quarantined_with("load garbage\n", HALTER_DEATH_PROTOCOL);
}

static void stderr_is_drained_line_by_line(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.log_lines_per_second = 50;
    o.deadline_ms = 30000;
    struct halter_guest *guest =
        guest_of(&f, "p", "tick 1 stderr 20000\ntick 1 echo\ntick 2 stderr-text a line\ntick 2 echo\ncall echo\n", &o);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    run_for(&f, 1300);
    struct halter_stats stats = HALTER_STATS_INIT;
    halter_guest_stats(guest, &stats);
    assert_in_range(stats.log_lines, 50, 50 * 32);
    assert_int_equal(stats.log_lines + stats.log_dropped, 20000);
    assert_int_equal(f.events.dropped, stats.log_dropped);
    ask(&f, guest, "1", &outcome);
    run_for(&f, 50);
    assert_string_equal(f.events.last_text, "a line");
}

static void a_flood_of_log_frames(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome, other;
    (void)state;
    o.deadline_ms = 30000;
    struct halter_guest *guest = guest_of(&f, "p", "tick 1 log 100000\ntick 1 echo\ncall echo\n", &o);
    struct halter_guest *bystander = guest_of(&f, "q", "call echo\n", NULL);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "1", &outcome);
    while (!outcome.callbacks) {
        ask(&f, bystander, "2", &other);
        assert_int_equal(other.status, HALTER_OK);
    }
    assert_int_equal(outcome.status, HALTER_OK);
}

static void host_memory_stays_flat(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.memory_bytes = 64u << 20;
    o.deadline_ms = 5000;
    struct halter_guest *guest = guest_of(&f, "p", "tick 1 allocate 2G\ncall echo\n", &o);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_EMEMORY);
    while (!f.events.count[HALTER_EVENT_DEATH])
        dispatch(&f, 100);
    assert_int_equal(f.events.last_death.reason, HALTER_DEATH_MEMORY);
    assert_in_range(f.events.last_death.peak_bytes, 50u << 20, 700u << 20);
    ask(&f, guest, "2", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
}

#define WITH_HOST(test) cmocka_unit_test_setup_teardown(test, open_fake, close_all)

int main(void)
{
    const struct CMUnitTest others[] = {
        WITH_HOST(an_answer_given_twice),
        WITH_HOST(slow_and_large_answers),
        WITH_HOST(crashes_each_time_it_loads),
        WITH_HOST(exits_each_time_it_loads),
        WITH_HOST(hangs_each_time_it_loads),
        WITH_HOST(garbage_each_time_it_loads),
        WITH_HOST(stderr_is_drained_line_by_line),
        WITH_HOST(a_flood_of_log_frames),
        WITH_HOST(host_memory_stays_flat),
    };
    enum { ROWS = sizeof(rows) / sizeof(*rows), OTHERS = sizeof(others) / sizeof(*others) };
    struct CMUnitTest tests[ROWS + OTHERS];
    for (unsigned i = 0; i < ROWS; i++)
        tests[i] = (struct CMUnitTest){rows[i].action, one, open_fake, close_all,
                                       (void *)(uintptr_t)&rows[i]};
    memcpy(tests + ROWS, others, sizeof(others));
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("helpers that misbehave", tests, NULL, NULL);
}
