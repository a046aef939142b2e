/* Evidence to reason: each reason by its own evidence, and the precedence where two fit. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "host/death.h"

#define REPORTED .reported = true, .syscall_number = -1

static void each_by_its_evidence(void **state)
{
    static const struct {
        struct evidence evidence;
        enum halter_death_reason reason;
    } rows[] = {
        {{REPORTED, .code = CLD_EXITED, .status = 0}, HALTER_DEATH_EXIT},
        {{REPORTED, .code = CLD_EXITED, .status = 1}, HALTER_DEATH_EXIT},
        {{REPORTED, .code = CLD_DUMPED, .status = SIGSEGV}, HALTER_DEATH_SIGNAL},
        {{REPORTED, .code = CLD_KILLED, .status = SIGKILL}, HALTER_DEATH_SIGNAL},
        {{REPORTED, .code = CLD_KILLED, .status = SIGSYS}, HALTER_DEATH_SYSCALL},
        {{REPORTED, .code = CLD_KILLED, .status = SIGXCPU}, HALTER_DEATH_CPU},
        {{REPORTED, .code = CLD_KILLED, .status = SIGKILL, .oom_kills = 1}, HALTER_DEATH_MEMORY},
        {{REPORTED, .code = CLD_KILLED, .status = SIGKILL, .cause = CONTROL_CAUSE_WALL_CAP},
         HALTER_DEATH_WALL_CAP},
        {{REPORTED, .code = CLD_KILLED, .status = SIGKILL, .hung_up = true}, HALTER_DEATH_PROTOCOL},
        {{REPORTED, .code = CLD_KILLED, .status = SIGKILL, .cpu_limit_seconds = 1,
          .cpu_ns = 1000000000},
         HALTER_DEATH_CPU},
        {{.launcher_lost = true}, HALTER_DEATH_LAUNCHER},
        {{.spawn_error = 11}, HALTER_DEATH_SPAWN},
        {{.decided = HALTER_DEATH_DEADLINE}, HALTER_DEATH_DEADLINE},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        assert_int_equal(death_reason(&rows[i].evidence), rows[i].reason);
}

static void what_the_host_did_comes_first(void **state)
{
    (void)state;
    for (int decided = HALTER_DEATH_DEADLINE; decided <= HALTER_DEATH_SPAWN; decided++) {
        struct evidence e = {REPORTED, .decided = (enum halter_death_reason)decided,
                             .code = CLD_KILLED, .status = SIGKILL};
        if (decided == HALTER_DEATH_SIGNAL || decided == HALTER_DEATH_EXIT)
            continue; /* the host never decides on these */
        assert_int_equal(death_reason(&e), decided == HALTER_DEATH_LAUNCHER ? HALTER_DEATH_SIGNAL
                                                                            : decided);
    }
}

static void a_crash_while_it_lingered_is_a_crash(void **state)
{
    (void)state;
    struct evidence e = {REPORTED, .code = CLD_KILLED, .status = SIGSEGV, .hung_up = true};
    assert_int_equal(death_reason(&e), HALTER_DEATH_SIGNAL);
    e.code = CLD_EXITED;
    e.status = 3;
    assert_int_equal(death_reason(&e), HALTER_DEATH_EXIT);
}

static void the_wall_cap_beats_a_deadline_seen_late(void **state)
{
    (void)state;
    struct evidence e = {REPORTED, .decided = HALTER_DEATH_DEADLINE, .code = CLD_KILLED,
                         .status = SIGKILL, .cause = CONTROL_CAUSE_WALL_CAP};
    assert_int_equal(death_reason(&e), HALTER_DEATH_WALL_CAP);
}

static void each_reason_has_its_status(void **state)
{
    (void)state;
    for (int reason = HALTER_DEATH_DEADLINE; reason <= HALTER_DEATH_SPAWN; reason++) {
        int status = death_status((enum halter_death_reason)reason);
        assert_string_not_equal(halter_status_name(status), "UNKNOWN");
        assert_string_not_equal(halter_death_text((enum halter_death_reason)reason), "unknown");
    }
    assert_int_equal(death_status(HALTER_DEATH_DEADLINE), HALTER_EDEADLINE);
    assert_int_equal(death_status(HALTER_DEATH_MEMORY), HALTER_EMEMORY);
    assert_int_equal(death_status(HALTER_DEATH_SPAWN), HALTER_ESPAWN);
}

static void system_calls_have_names(void **state)
{
    (void)state;
    assert_string_equal(syscall_name(SYS_openat), "openat");
    assert_string_equal(syscall_name(SYS_execve), "execve");
    assert_string_equal(syscall_name(SYS_ptrace), "ptrace");
    assert_null(syscall_name(100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_by_its_evidence),
        cmocka_unit_test(what_the_host_did_comes_first),
        cmocka_unit_test(a_crash_while_it_lingered_is_a_crash),
        cmocka_unit_test(the_wall_cap_beats_a_deadline_seen_late),
        cmocka_unit_test(each_reason_has_its_status),
        cmocka_unit_test(system_calls_have_names),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("death", tests, NULL, NULL);
}
