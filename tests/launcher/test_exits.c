/*
 * How a helper ended, exactly: its status or signal, who did it, and what it cost.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#include "harness.h"

static struct rig rig;

static int start(void **state)
{
    (void)state;
    rig_start(&rig);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(rig_stop(&rig), 0);
    return 0;
}

/* Spawns a helper, lets it run one line, and waits for its end. */
static struct control_message end_of(const char *line)
{
    struct guest guest;
    char script[128] = "call ";
    guest_spawn(&rig, &guest, 7, NULL);
    guest_load(&guest, strncat(script, line, sizeof(script) - 8));
    guest_send(&guest, "1");
    struct control_message message = guest_exited(&rig, &guest);
    assert_true(message.exited.exited_ns > message.exited.spawned_ns);
    return message;
}

static void test_statuses(void **state)
{
    (void)state;
    for (int status = 0; status < 256; status += 51) {
        char line[32];
        snprintf(line, sizeof(line), "exit %d", status);
        struct control_message message = end_of(line);
        assert_int_equal(message.exited.code, CLD_EXITED);
        assert_int_equal(message.exited.status, status);
        assert_int_equal(message.exited.cause, CONTROL_CAUSE_NONE);
        assert_int_equal(message.exited.syscall_number, -1);
        assert_int_equal(message.exited.oom_kills, 0);
    }
}

static void test_signals(void **state)
{
    (void)state;
    const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGKILL, SIGTERM, SIGXCPU, SIGUSR1};
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        char line[32];
        snprintf(line, sizeof(line), "signal %d", signals[i]);
        struct control_message message = end_of(line);
        assert_true(message.exited.code == CLD_KILLED || message.exited.code == CLD_DUMPED);
        assert_int_equal(message.exited.status, signals[i]);
        assert_int_equal(message.exited.cause, CONTROL_CAUSE_NONE);
    }
}

static void test_trapped_call(void **state)
{
    (void)state;
    struct control_message message = end_of("trap 59");
    assert_int_equal(message.exited.status, SIGSYS);
    assert_int_equal(message.exited.syscall_number, 59);
}

static void test_killed_by_host(void **state)
{
    (void)state;
    struct guest guest;
    guest_spawn(&rig, &guest, 0, NULL);
    guest_load(&guest, "call hang");
    guest_send(&guest, "1");
    struct control_message kill = {
        .type = CONTROL_KILL, .version = CONTROL_VERSION, .generation = guest.generation};
    assert_int_equal(send(rig.control, &kill, sizeof(kill), 0), sizeof(kill));
    struct control_message message = guest_exited(&rig, &guest);
    assert_int_equal(message.exited.code, CLD_KILLED);
    assert_int_equal(message.exited.status, SIGKILL);
    assert_int_equal(message.exited.cause, CONTROL_CAUSE_KILL);
}

static void test_killed_through_pidfd(void **state)
{
    (void)state;
    struct guest guest;
    guest_spawn(&rig, &guest, 0, NULL);
    assert_int_equal(pidfd_send_signal(guest.pidfd, SIGKILL, NULL, 0), 0);
    struct control_message message = guest_exited(&rig, &guest);
    assert_int_equal(message.exited.status, SIGKILL);
    assert_int_equal(message.exited.cause, CONTROL_CAUSE_NONE);
}

static void test_unknown_generation_is_no_one(void **state)
{
    (void)state;
    struct guest guest;
    struct control_message kill = {
        .type = CONTROL_KILL, .version = CONTROL_VERSION, .generation = 999999};
    guest_spawn(&rig, &guest, 0, NULL);
    assert_int_equal(send(rig.control, &kill, sizeof(kill), 0), sizeof(kill));
    guest_load(&guest, "");
    free(guest_call(&guest, "1"));
    assert_int_equal(pidfd_send_signal(guest.pidfd, SIGKILL, NULL, 0), 0);
    guest_exited(&rig, &guest);
}

static void test_cpu_time(void **state)
{
    (void)state;
    struct guest guest;
    guest_spawn(&rig, &guest, 0, NULL);
    guest_load(&guest, "call burn 200\ncall exit 0");
    guest_send(&guest, "1");
    struct control_message message = guest_exited(&rig, &guest);
    uint64_t used = message.exited.user_ns + message.exited.system_ns;
    assert_in_range(used / 1000000, 198, 400);
}

/* The peak is the helper's own: 64 MiB more than of one that allocates nothing, and no more. */
static void test_peak_memory(void **state)
{
    (void)state;
    struct guest guest;
    uint64_t idle = end_of("exit 0").exited.peak_bytes;
    guest_spawn(&rig, &guest, 0, NULL);
    guest_load(&guest, "call allocate 64M\ncall exit 0");
    guest_send(&guest, "1");
    uint64_t peak = guest_exited(&rig, &guest).exited.peak_bytes;
    assert_true(idle < 64u << 20);
    assert_in_range((peak - idle) >> 20, 62, 68);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_trapped_call),
        cmocka_unit_test(test_killed_by_host),
        cmocka_unit_test(test_killed_through_pidfd),
        cmocka_unit_test(test_unknown_generation_is_no_one),
        cmocka_unit_test(test_cpu_time),
        cmocka_unit_test(test_peak_memory),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("exits", tests, start, stop);
}
