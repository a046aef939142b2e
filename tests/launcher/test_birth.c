/*
 * What a helper is born with, and what it is not: descriptors, environment, signals, session,
 * memory shared with anyone. It is asked itself (`report` of tests/fake), forked and executed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness.h"
#include "wire/json.h"

#define STRAY 500 /* descriptors that the application forgot to close */

static struct rig rig;
static struct guest other, guest;
static char *report;
static bool executed;

static int open_stray(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    int last = -1;
    for (int i = 0; i < STRAY; i++)
        last = open("/dev/null", O_RDONLY); /* not close-on-exec: the point */
    return last;
}

/* An application in a bad state: stray descriptors, signals ignored and blocked, secrets. */
static int start_of(void)
{
    struct control_profile profile = {
        .kind = WIRE_HELPER_JS,
        .cap = 123456,
        .flags = executed ? CONTROL_EXEC : 0,
    };
    sigset_t blocked;
    assert_true(open_stray() > STRAY);
    setenv("SECRET_TOKEN", "hunter2", 1);
    setenv("JSC_useJIT", "0", 1);
    setenv("TZ", "Europe/Oslo", 1);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigfillset(&blocked);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    rig_start(&rig);
    guest_spawn(&rig, &other, 1, NULL);
    guest_spawn(&rig, &guest, 2, &profile);
    guest_load(&guest, "call report");
    report = guest_call(&guest, "null");
    return 0;
}

static int start_forked(void **state)
{
    (void)state;
    return start_of();
}

static int stop(void **state)
{
    (void)state;
    sigset_t none;
    free(report);
    guest_close(&guest);
    guest_close(&other);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    assert_int_equal(rig_stop(&rig), 0);
    return 0;
}

static int start_executed(void **state)
{
    executed = true;
    return start_forked(state);
}

static struct json_value member(const char *key)
{
    struct json_value value;
    assert_true(json_check(report, strlen(report), NULL));
    assert_true(json_member(json_root(report, strlen(report)), key, &value));
    return value;
}

static int64_t number(const char *key)
{
    int64_t value;
    assert_true(json_integer(member(key), INT64_MIN, INT64_MAX, &value));
    return value;
}

static void assert_text(const char *key, const char *expected)
{
    struct json_value value = member(key);
    char *text = strndup(value.text, value.length);
    assert_string_equal(text, expected);
    free(text);
}

static void test_descriptors(void **state)
{
    (void)state;
    assert_text("fds", "[0,1,2,3]");
}

static void test_environment(void **state)
{
    (void)state;
    assert_text("variables", "[\"TZ=Europe/Oslo\"]");
}

/* Not even as bytes left lying in the memory that a forked helper shares. */
static void test_environment_is_wiped(void **state)
{
    (void)state;
    assert_int_equal(number("environment_bytes"), executed ? (int64_t)strlen("TZ=Europe/Oslo") : 0);
}

static void test_signals(void **state)
{
    (void)state;
    assert_text("SigBlk", "\"SigBlk:?0000000000000000\"");
    /* Its own doing: it ignores SIGPIPE. */
    assert_text("SigIgn", "\"SigIgn:?0000000000001000\"");
}

static void test_session_and_parent(void **state)
{
    (void)state;
    assert_int_equal(number("pid"), guest.pid);
    assert_int_equal(number("sid"), guest.pid);
    assert_int_equal(number("ppid"), rig.pid);
    assert_int_equal(number("pdeathsig"), SIGKILL);
    assert_text("cwd", "\"/\"");
    assert_text("name", "\"halter-helper\"");
}

static void test_profile(void **state)
{
    (void)state;
    assert_int_equal(number("generation"), guest.generation);
    assert_int_equal(number("cap"), 123456);
}

/* Its status page and nothing else: neither the control page nor another helper's. */
static void test_shared_memory(void **state)
{
    (void)state;
    struct json_value shared = member("shared");
    char *text = strndup(shared.text, shared.length);
    char *first = strstr(text, "rw-s");
    assert_non_null(first);
    assert_null(strstr(first + 1, "rw-s"));
    assert_non_null(strstr(text, executed ? "halter-status" : "/dev/zero"));
    free(text);
}

static void test_chosen_first_when_memory_is_short(void **state)
{
    (void)state;
    assert_text("oom_score_adj", "\"1000\"");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_environment_is_wiped),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_session_and_parent),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_chosen_first_when_memory_is_short),
    };
    bool exec = argc > 1 && !strcmp(argv[1], "executed");
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("birth", tests, exec ? start_executed : start_forked, stop);
}
