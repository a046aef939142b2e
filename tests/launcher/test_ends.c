/*
 * Nothing outlives its host: whoever dies first, however, all that is below is gone in a second.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define HELPERS 5

static void spawn_some(struct rig *rig, struct guest guests[HELPERS])
{
    static const char *const scripts[HELPERS] = {"", "call hang", "call stall", "call half-frame",
                                                 "call close"};
    for (uint32_t i = 0; i < HELPERS; i++) {
        guest_spawn(rig, &guests[i], i, NULL);
        guest_load(&guests[i], scripts[i]);
        if (i)
            guest_send(&guests[i], "1");
    }
}

/* The host is a process of its own here; it tells the test who its launcher and helpers are. */
static void run_host(int out)
{
    struct rig rig;
    struct guest guests[HELPERS];
    pid_t pids[HELPERS + 1];
    rig_start(&rig);
    spawn_some(&rig, guests);
    pids[0] = rig.pid;
    for (int i = 0; i < HELPERS; i++)
        pids[i + 1] = guests[i].pid;
    if (write(out, pids, sizeof(pids)) != sizeof(pids))
        abort();
    for (;;)
        pause();
}

static void test_host_killed(void **state)
{
    (void)state;
    int ends[2];
    pid_t pids[HELPERS + 1];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t host = fork();
    if (host == 0)
        run_host(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], pids, sizeof(pids)), sizeof(pids));
    close(ends[0]);
    kill(host, SIGKILL);
    assert_int_equal(waitpid(host, NULL, 0), host);
    for (int i = 0; i <= HELPERS; i++)
        assert_true(gone_within(pids[i], 30000));
}

/* A child of the application that never execs keeps the host's end of the socket open. */
static void test_host_killed_and_socket_kept(void **state)
{
    (void)state;
    int ends[2];
    pid_t pids[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t host = fork();
    if (host == 0) {
        struct rig rig;
        rig_start(&rig);
        pids[0] = rig.pid;
        pids[1] = fork();
        if (pids[1] == 0) {
            prctl(PR_SET_PDEATHSIG, 0);
            sleep(30);
            _exit(0);
        }
        if (write(ends[1], pids, sizeof(pids)) != sizeof(pids))
            abort();
        for (;;)
            pause();
    }
    assert_int_equal(read(ends[0], pids, sizeof(pids)), sizeof(pids));
    close(ends[0]);
    close(ends[1]);
    kill(host, SIGKILL);
    assert_int_equal(waitpid(host, NULL, 0), host);
    assert_true(gone_within(pids[0], 30000));
    assert_int_equal(kill(pids[1], SIGKILL), 0);
    assert_int_equal(waitpid(pids[1], NULL, 0), pids[1]);
}

static void close_all(struct guest guests[HELPERS])
{
    for (int i = 0; i < HELPERS; i++)
        guest_close(&guests[i]);
}

static void test_launcher_killed(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guests[HELPERS];
    rig_start(&rig);
    spawn_some(&rig, guests);
    kill(rig.pid, SIGKILL);
    for (int i = 0; i < HELPERS; i++)
        assert_true(gone_within(guests[i].pid, 30000));
    int status = rig_stop(&rig);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close_all(guests);
}

static void test_host_closes(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guests[HELPERS];
    rig_start(&rig);
    spawn_some(&rig, guests);
    assert_int_equal(rig_stop(&rig), 0);
    for (int i = 0; i < HELPERS; i++)
        assert_true(gone_within(guests[i].pid, 0));
    close_all(guests);
}

static void test_launcher_told_to_end(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guests[HELPERS];
    rig_start(&rig);
    spawn_some(&rig, guests);
    kill(rig.pid, SIGTERM);
    int status = rig_stop(&rig);
    assert_true(WIFEXITED(status));
    for (int i = 0; i < HELPERS; i++)
        assert_true(gone_within(guests[i].pid, 0));
    close_all(guests);
}

/* What a helper forks dies with it. */
static void test_helpers_child(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guest;
    rig_start(&rig);
    guest_spawn(&rig, &guest, 0, NULL);
    guest_load(&guest, "call orphan\ncall exit 3");
    struct wire_frame frame;
    guest_send(&guest, "1");
    guest_receive(&guest, &frame);
    pid_t orphan = atoi((const char *)frame.body);
    assert_true(orphan > 0);
    assert_int_equal(guest_exited(&rig, &guest).exited.status, 3);
    assert_true(gone_within(orphan, 30000));
    assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_killed),
        cmocka_unit_test(test_host_killed_and_socket_kept),
        cmocka_unit_test(test_launcher_killed),
        cmocka_unit_test(test_host_closes),
        cmocka_unit_test(test_launcher_told_to_end),
        cmocka_unit_test(test_helpers_child),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
