/*
 * Applications that do as they please: SIGCHLD ignored, waitpid(-1), a host made by a thread that
 * exits, five seconds without a dispatch, hundreds of open descriptors, a launcher that is killed, a
 * host that is killed. Reasons stay exact, helpers die on time, nothing is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

#define HANG_ON_GO "transform = (raw) => { if (raw === 'go') for(;;); return raw }"

static struct fixture f;

static void hang_once(struct halter_guest *guest, struct outcome *outcome)
{
    ask(&f, guest, "\"go\"", outcome);
    assert_int_equal(outcome->status, HALTER_EDEADLINE);
    while (!f.events.count[HALTER_EVENT_DEATH])
        dispatch(&f, 100);
    assert_int_equal(f.events.last_death.reason, HALTER_DEATH_DEADLINE);
    assert_int_equal(f.events.last_death.signal, SIGKILL); /* the launcher saw it itself */
    assert_true(f.events.last_death.cpu_ns > 0);
}

static struct halter_guest *hanger(void)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    o.deadline_ms = 80;
    return guest_of(&f, "p", HANG_ON_GO, &o);
}

static void with_sigchld_ignored(void **state)
{
    struct outcome outcome;
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    fixture_open(&f, REAL_LAUNCHER, NULL);
    hang_once(hanger(), &outcome);
    fixture_close(&f);
    signal(SIGCHLD, SIG_DFL);
}

static void with_an_application_that_waits_for_any_child(void **state)
{
    struct outcome outcome;
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    struct halter_guest *guest = hanger();
    call(guest, "\"go\"", &outcome);
    while (!outcome.callbacks) {
        int status;
        assert_true(waitpid(-1, &status, WNOHANG) <= 0); /* there is none to steal */
        dispatch(&f, 5);
    }
    assert_int_equal(outcome.status, HALTER_EDEADLINE);
    /* The launcher's own status may be stolen: that is noticed all the same. */
    halter_destroy(f.host);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    assert_descendants(0);
    assert_int_equal(open_descriptors(), f.descriptors);
}

static void *open_in_thread(void *data)
{
    (void)data;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    return NULL;
}

static void made_by_a_thread_that_exits(void **state)
{
    pthread_t thread;
    struct outcome outcome;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, open_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    usleep(100000);
    struct halter_guest *guest = hanger();
    hang_once(guest, &outcome);
    ask(&f, guest, "2", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(f.events.count[HALTER_EVENT_LAUNCHER_LOST], 0);
    fixture_close(&f);
}

/* The wall cap needs no dispatch: the launcher keeps it. */
static void asleep_for_five_seconds(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    o.deadline_ms = 100;
    o.wall_cap_ms = 400;
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, &o);
    settle_state(&f, guest, HALTER_GUEST_READY);
    int pid = halter_guest_pid(guest);
    assert_true(pid > 0);
    call(guest, "\"go\"", &outcome);
    uint64_t start = now_ns(), died = 0;
    while (now_ns() - start < 5000000000ull) {
        if (!died && kill(pid, 0) < 0 && errno == ESRCH)
            died = now_ns();
        usleep(1000);
    }
    assert_true(died != 0);
    assert_true(died - start >= 400000000ull);
    settle(&f, &outcome);
    assert_int_equal(outcome.status, HALTER_EWALLCAP);
    assert_int_equal(outcome.death.reason, HALTER_DEATH_WALL_CAP);
    assert_in_range(outcome.death.lived_ns, 0, 4000000000ull);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    fixture_close(&f);
}

static void with_500_open_descriptors(void **state)
{
    static int fds[500];
    struct outcome outcome;
    (void)state;
    for (int i = 0; i < 500; i++)
        assert_true((fds[i] = open("/dev/null", O_RDONLY)) >= 0); /* not even close-on-exec */
    fixture_open(&f, REAL_LAUNCHER, NULL);
    struct halter_guest *guest = hanger();
    settle_state(&f, guest, HALTER_GUEST_READY);
    /* None of them has reached the helper. */
    char path[64], target[256];
    unsigned inherited = 0;
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", halter_guest_pid(guest), fd);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n > 0 && fd > 2) {
            target[n] = '\0';
            inherited += strcmp(target, "/dev/null") == 0;
        }
    }
    assert_int_equal(inherited, 0);
    hang_once(guest, &outcome);
    fixture_close(&f);
    for (int i = 0; i < 500; i++)
        close(fds[i]);
}

static int launcher_pid(void)
{
    char command[64], text[64];
    snprintf(command, sizeof(command), "/proc/self/task/%d/children", getpid());
    int fd = open(command, O_RDONLY), pid = 0;
    assert_true(fd >= 0);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    assert_true(n > 0);
    text[n] = '\0';
    pid = atoi(text);
    assert_true(pid > 1);
    return pid;
}

static void the_launcher_is_killed(void **state)
{
    struct outcome flying, queued, other;
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    struct halter_guest *guest = guest_of(&f, "p", HANG_ON_GO, NULL);
    struct halter_guest *bystander = guest_of(&f, "echo", "transform = (raw) => raw", NULL);
    ask(&f, bystander, "1", &other);
    settle_state(&f, guest, HALTER_GUEST_READY);
    call(guest, "\"go\"", &flying);
    call(guest, "2", &queued);
    run_for(&f, 20);
    kill(launcher_pid(), SIGKILL);
    settle(&f, &flying);
    assert_int_equal(flying.status, HALTER_ELAUNCHER);
    settle(&f, &queued); /* served by the new launcher */
    assert_int_equal(queued.status, HALTER_OK);
    ask(&f, bystander, "3", &other);
    assert_int_equal(other.status, HALTER_OK);
    assert_int_equal(f.events.count[HALTER_EVENT_LAUNCHER_LOST], 1);
    fixture_close(&f);
}

/* In a child: a host with three guests, one of them hanging. */
static void host_to_be_killed(int ready)
{
    struct outcome outcome[3];
    fixture_open(&f, REAL_LAUNCHER, NULL);
    struct halter_guest *guests[3];
    for (int i = 0; i < 3; i++) {
        guests[i] = guest_of(&f, "p", HANG_ON_GO, NULL);
        settle_state(&f, guests[i], HALTER_GUEST_READY);
    }
    call(guests[0], "\"go\"", &outcome[0]);
    run_for(&f, 30);
    if (write(ready, "", 1) != 1)
        _exit(1);
    pause();
}

static void the_host_is_killed(void **state)
{
    int ready[2];
    char byte;
    (void)state;
    /* Orphans come to this process, so that it can count them. */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        host_to_be_killed(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_true(living_descendants() >= 5); /* host, launcher, three helpers */
    kill(pid, SIGKILL);
    uint64_t start = now_ns();
    while (living_descendants() > 0 && now_ns() - start < 30000000000ull) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        usleep(2000);
    }
    assert_int_equal(living_descendants(), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    close(ready[0]);
    close(ready[1]);
}

/* Too small a limit for the page of the wall caps: an error, and not a SIGXFSZ. */
static void with_a_limit_on_the_size_of_files(void **state)
{
    struct rlimit before, small;
    struct halter_host *host = NULL;
    (void)state;
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int status = halter_create(NULL, &host), error = errno;
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(status, HALTER_ESYSTEM);
    assert_int_equal(error, EFBIG);
    assert_null(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_sigchld_ignored),
        cmocka_unit_test(with_an_application_that_waits_for_any_child),
        cmocka_unit_test(made_by_a_thread_that_exits),
        cmocka_unit_test(asleep_for_five_seconds),
        cmocka_unit_test(with_500_open_descriptors),
        cmocka_unit_test(with_a_limit_on_the_size_of_files),
        cmocka_unit_test(the_launcher_is_killed),
        cmocka_unit_test(the_host_is_killed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("applications that do as they please", tests, NULL, NULL);
}
