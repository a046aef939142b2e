/*
 * A failure at every system call and allocation of the launcher, one after the other: the same
 * scenario runs again and again, and each time the Nth call of one kind fails as it can fail.
 * What must hold each time: each SPAWN is answered by success or an errno, each success by EXITED;
 * a launcher that cannot go on exits with a code of its own, never by a signal; and no process, no
 * descriptor is left.
 *
 * The launcher runs in a fork of this program, linked with tests/fake, and all its calls go through
 * this file.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "launcher/launcher.h"

enum site {
    SITE_FORK,
    SITE_PIDFD,
    SITE_CALLOC,
    SITE_MALLOC,
    SITE_MMAP,
    SITE_MADVISE,
    SITE_MEMFD,
    SITE_FTRUNCATE,
    SITE_SENDMSG,
    SITE_RECVMSG,
    SITE_RECV,
    SITE_IOCTL,
    SITE_EPOLL_CREATE,
    SITE_EPOLL_ADD,
    SITE_EPOLL_WAIT,
    SITE_SIGNALFD,
    SITE_TIMERFD,
    SITE_GETSOCKOPT,
    SITE_FSTAT,
    SITE_OPEN,
    SITE_OPENAT,
    SITE_MKDIRAT,
    SITE_FCNTL,
    SITE_DUP2,
    SITE_CLOSE_RANGE,
    SITE_CHDIR,
    SITE_SETSID,
    SITE_WAITID,
    SITE_WAIT4,
    SITE_READ,
    SITE_WRITE,
    SITE_SIGPROCMASK,
    SITES
};

/* In memory that test, launcher and helpers share. */
struct plan {
    enum site target;
    int error;
    _Atomic int countdown; /* the call that takes it to 0 fails */
    _Atomic bool struck;
};
static struct plan *plan;
static bool armed; /* in the launcher and its helpers: the test's own calls never fail */

static bool strikes(enum site site)
{
    if (!armed || site != plan->target || plan->struck)
        return false;
    if (--plan->countdown != 0)
        return false;
    plan->struck = true;
    errno = plan->error;
    return true;
}

#define WRAP(type, name, site, failed, params, args)                                               \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        return strikes(site) ? failed : __real_##name args;                                        \
    }

struct itimerspec;
WRAP(pid_t, fork, SITE_FORK, -1, (void), ())
WRAP(int, pidfd_open, SITE_PIDFD, -1, (pid_t pid, unsigned flags), (pid, flags))
WRAP(void *, calloc, SITE_CALLOC, NULL, (size_t n, size_t size), (n, size))
WRAP(void *, malloc, SITE_MALLOC, NULL, (size_t size), (size))
WRAP(void *, mmap, SITE_MMAP, MAP_FAILED,
     (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset))
WRAP(int, madvise, SITE_MADVISE, -1, (void *at, size_t size, int advice), (at, size, advice))
WRAP(int, memfd_create, SITE_MEMFD, -1, (const char *name, unsigned flags), (name, flags))
WRAP(int, ftruncate, SITE_FTRUNCATE, -1, (int fd, off_t size), (fd, size))
WRAP(ssize_t, sendmsg, SITE_SENDMSG, -1, (int fd, const struct msghdr *m, int flags),
     (fd, m, flags))
WRAP(ssize_t, recvmsg, SITE_RECVMSG, -1, (int fd, struct msghdr *m, int flags), (fd, m, flags))
WRAP(ssize_t, recv, SITE_RECV, -1, (int fd, void *b, size_t n, int flags), (fd, b, n, flags))
WRAP(int, epoll_create1, SITE_EPOLL_CREATE, -1, (int flags), (flags))
WRAP(int, epoll_wait, SITE_EPOLL_WAIT, -1, (int fd, struct epoll_event *e, int n, int timeout),
     (fd, e, n, timeout))
WRAP(int, signalfd, SITE_SIGNALFD, -1, (int fd, const sigset_t *set, int flags), (fd, set, flags))
WRAP(int, timerfd_create, SITE_TIMERFD, -1, (int clock, int flags), (clock, flags))
WRAP(int, getsockopt, SITE_GETSOCKOPT, -1, (int fd, int level, int name, void *v, socklen_t *n),
     (fd, level, name, v, n))
WRAP(int, fstat, SITE_FSTAT, -1, (int fd, struct stat *file), (fd, file))
WRAP(int, mkdirat, SITE_MKDIRAT, -1, (int dir, const char *name, mode_t mode), (dir, name, mode))
WRAP(int, dup2, SITE_DUP2, -1, (int from, int to), (from, to))
WRAP(int, close_range, SITE_CLOSE_RANGE, -1, (unsigned from, unsigned to, int flags),
     (from, to, flags))
WRAP(int, chdir, SITE_CHDIR, -1, (const char *path), (path))
WRAP(pid_t, setsid, SITE_SETSID, -1, (void), ())
WRAP(int, waitid, SITE_WAITID, -1, (idtype_t type, id_t id, siginfo_t *info, int options),
     (type, id, info, options))
WRAP(pid_t, wait4, SITE_WAIT4, -1, (pid_t pid, int *status, int options, struct rusage *usage),
     (pid, status, options, usage))
WRAP(ssize_t, read, SITE_READ, -1, (int fd, void *bytes, size_t n), (fd, bytes, n))
WRAP(ssize_t, write, SITE_WRITE, -1, (int fd, const void *bytes, size_t n), (fd, bytes, n))
WRAP(int, sigprocmask, SITE_SIGPROCMASK, -1, (int how, const sigset_t *set, sigset_t *old),
     (how, set, old))

int __real_epoll_ctl(int fd, int operation, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int operation, int other, struct epoll_event *event);
int __wrap_epoll_ctl(int fd, int operation, int other, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && strikes(SITE_EPOLL_ADD))
        return -1;
    return __real_epoll_ctl(fd, operation, other, event);
}

/* The variadic ones have one optional argument, passed on whether it is there or not. */
#define WRAP_OPTIONAL(name, site, params, args)                                                    \
    int __real_##name params;                                                                      \
    int __wrap_##name params;                                                                      \
    int __wrap_##name params                                                                       \
    {                                                                                              \
        return strikes(site) ? -1 : __real_##name args;                                            \
    }
WRAP_OPTIONAL(open, SITE_OPEN, (const char *path, int flags, long mode), (path, flags, mode))
WRAP_OPTIONAL(openat, SITE_OPENAT, (int dir, const char *path, int flags, long mode),
              (dir, path, flags, mode))
WRAP_OPTIONAL(fcntl, SITE_FCNTL, (int fd, int command, long argument), (fd, command, argument))
WRAP_OPTIONAL(ioctl, SITE_IOCTL, (int fd, unsigned long request, void *argument),
              (fd, request, argument))

/* ---- the scenario --------------------------------------------------------------------------- */

#define GUESTS 3

struct outcome {
    unsigned answered, spawned, exited;
    bool ready;
    int status;   /* of the launcher */
    unsigned fds; /* of the launcher when all helpers were gone */
};

static void use(struct rig *rig, struct guest *guest)
{
    static const char *const scripts[GUESTS] = {"call hang", "call exit 3", "call echo"};
    const char *script = scripts[guest->slot];
    struct wire_load load = {.source.length = (uint32_t)strlen(script)};
    struct wire_call call = {.tick = 1};
    uint8_t fixed[64];
    struct wire_frame frame = {.type = WIRE_LOAD, .id = 1};
    struct iovec parts[2] = {{.iov_base = fixed, .iov_len = wire_load_encode(&load, fixed)},
                             {.iov_base = (void *)(uintptr_t)script, .iov_len = strlen(script)}};
    struct timespec now;
    wire_send_wait(guest->socket, &frame, parts, 2, NULL); /* it may be dead already */
    frame = (struct wire_frame){.type = WIRE_CALL, .id = 3};
    parts[0].iov_len = wire_call_encode(&call, fixed);
    parts[1] = (struct iovec){.iov_base = (void *)(uintptr_t) "1", .iov_len = 1};
    wire_send_wait(guest->socket, &frame, parts, 2, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (guest->slot == 1)
        return; /* it ends by itself */
    /* One hangs, and one has answered: that one is looked at, spared, and then no more. */
    rig->page->slots[guest->slot].call_id = guest->slot ? 99 : 3;
    rig->page->slots[guest->slot].kill_at_ns =
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + 10000000u;
    struct control_message wake = {.type = CONTROL_WAKE, .version = CONTROL_VERSION};
    send(rig->control, &wake, sizeof(wake), MSG_NOSIGNAL);
}

static bool dead(const struct rig *rig)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)rig->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Listens until every guest has come to its end, or the launcher has. */
static void listen_to(struct rig *rig, struct guest *guests, struct outcome *outcome)
{
    struct control_message message;
    uint64_t until = now_ms() + WAIT_MS;
    int fd;
    while (outcome->answered + outcome->exited < GUESTS + outcome->spawned) {
        if (!rig_receive(rig, 50, &message, &fd)) {
            if (dead(rig))
                return;
            assert_true(now_ms() < until);
            continue;
        }
        struct guest *guest = &guests[(message.generation - 1) % GUESTS];
        if (message.type == CONTROL_SPAWNED) {
            outcome->answered++;
            outcome->spawned += message.spawned.pid != 0;
            assert_int_equal(message.spawned.pid != 0, message.spawned.error == 0);
            assert_int_equal(message.spawned.pid != 0, fd >= 0);
            guest->pid = message.spawned.pid;
            if (guest->pid)
                use(rig, guest);
        } else {
            assert_int_equal(message.type, CONTROL_EXITED);
            outcome->exited++;
        }
        if (fd >= 0)
            close(fd);
    }
}

static int run_armed(void)
{
    armed = true;
    return launcher_run();
}

static struct outcome run(void)
{
    struct rig rig;
    struct guest guests[GUESTS];
    struct outcome outcome = {0};
    struct control_message message;
    int fd;
    rig_fork(&rig, run_armed);
    outcome.ready = rig_receive(&rig, WAIT_MS, &message, &fd);
    for (uint32_t i = 0; i < GUESTS && outcome.ready; i++) {
        struct control_profile profile = {.kind = WIRE_HELPER_JS,
                                          .cap = 65536,
                                          .memory_bytes = 64u << 20,
                                          .flags = i == 2 ? CONTROL_EXEC : 0};
        if (dead(&rig)) {
            guests[i] = (struct guest){.socket = -1, .stderr_pipe = -1, .pidfd = -1};
            continue;
        }
        guest_ask(&rig, &guests[i], i, &profile);
    }
    if (outcome.ready)
        listen_to(&rig, guests, &outcome);
    usleep(2000);
    outcome.fds = dead(&rig) ? 0 : count_fds(rig.pid);
    outcome.status = rig_stop(&rig);
    for (int i = 0; i < GUESTS && outcome.ready; i++) {
        if (guests[i].pid)
            assert_true(gone_within(guests[i].pid, 30000));
        guest_close(&guests[i]);
    }
    return outcome;
}

/* ---- what must hold ------------------------------------------------------------------------- */

static unsigned most_fds; /* of a launcher that nothing failed for */

static void check(const struct outcome *outcome)
{
    assert_true(WIFEXITED(outcome->status));
    int code = WEXITSTATUS(outcome->status);
    assert_true(code == LAUNCHER_EXIT_HOST_GONE || code == LAUNCHER_EXIT_SETUP ||
                code == LAUNCHER_EXIT_BROKEN);
    assert_int_equal(outcome->ready, code != LAUNCHER_EXIT_SETUP);
    if (code == LAUNCHER_EXIT_HOST_GONE) {
        assert_int_equal(outcome->answered, GUESTS);
        assert_int_equal(outcome->exited, outcome->spawned);
        assert_true(outcome->fds <= most_fds);
    }
}

static void fail_each(enum site site, int error)
{
    unsigned before = count_fds(getpid());
    unsigned turns = 0;
    do {
        plan->target = site;
        plan->error = error;
        plan->struck = false;
        plan->countdown = (int)++turns;
        struct outcome outcome = run();
        check(&outcome);
        assert_int_equal(count_fds(getpid()), before);
    } while (plan->struck && turns < 60);
    plan->target = SITES;
    assert_true(turns > 1); /* the site is there */
}

static int setup(void **state)
{
    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (plan == MAP_FAILED)
        return -1;
    plan->target = SITES;
    for (int i = 0; i < 3; i++) {
        struct outcome outcome = run();
        if (outcome.spawned != GUESTS || outcome.exited != GUESTS || outcome.status)
            return -1;
        most_fds = outcome.fds > most_fds ? outcome.fds : most_fds;
    }
    return 0;
}

#define EACH(test, site, ...)                                                                      \
    static void test(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        const int errors[] = {__VA_ARGS__};                                                        \
        for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)                              \
            fail_each(site, errors[i]);                                                            \
    }
EACH(fork_fails, SITE_FORK, EAGAIN, ENOMEM)
EACH(pidfd_open_fails, SITE_PIDFD, EMFILE)
EACH(calloc_fails, SITE_CALLOC, ENOMEM)
EACH(malloc_fails, SITE_MALLOC, ENOMEM)
EACH(mmap_fails, SITE_MMAP, ENOMEM)
EACH(madvise_fails, SITE_MADVISE, ENOMEM)
EACH(memfd_create_fails, SITE_MEMFD, EMFILE)
EACH(ftruncate_fails, SITE_FTRUNCATE, EINTR, ENOSPC)
EACH(sendmsg_fails, SITE_SENDMSG, EINTR, EAGAIN, ENOMEM, ETOOMANYREFS)
EACH(recvmsg_fails, SITE_RECVMSG, EINTR, EAGAIN, ENOMEM)
EACH(recv_fails, SITE_RECV, EINTR, EAGAIN)
EACH(ioctl_fails, SITE_IOCTL, EINTR)
EACH(epoll_create_fails, SITE_EPOLL_CREATE, EMFILE)
EACH(epoll_add_fails, SITE_EPOLL_ADD, ENOMEM, ENOSPC)
EACH(epoll_wait_fails, SITE_EPOLL_WAIT, EINTR)
EACH(signalfd_fails, SITE_SIGNALFD, EMFILE)
EACH(timerfd_create_fails, SITE_TIMERFD, EMFILE)
EACH(getsockopt_fails, SITE_GETSOCKOPT, EBADF)
EACH(fstat_fails, SITE_FSTAT, EOVERFLOW)
EACH(open_fails, SITE_OPEN, EMFILE)
EACH(openat_fails, SITE_OPENAT, EMFILE)
EACH(mkdirat_fails, SITE_MKDIRAT, ENOMEM, EEXIST)
EACH(fcntl_fails, SITE_FCNTL, EMFILE)
EACH(dup2_fails, SITE_DUP2, EINTR, EMFILE)
EACH(close_range_fails, SITE_CLOSE_RANGE, ENOMEM)
EACH(chdir_fails, SITE_CHDIR, EACCES)
EACH(setsid_fails, SITE_SETSID, EPERM)
EACH(waitid_fails, SITE_WAITID, EINTR)
EACH(wait4_fails, SITE_WAIT4, EINTR)
EACH(read_fails, SITE_READ, EINTR, EAGAIN)
EACH(write_fails, SITE_WRITE, EINTR, ENOMEM)
EACH(sigprocmask_fails, SITE_SIGPROCMASK, EINVAL)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_fails),           cmocka_unit_test(pidfd_open_fails),
        cmocka_unit_test(calloc_fails),         cmocka_unit_test(malloc_fails),
        cmocka_unit_test(mmap_fails),           cmocka_unit_test(madvise_fails),
        cmocka_unit_test(memfd_create_fails),   cmocka_unit_test(ftruncate_fails),
        cmocka_unit_test(sendmsg_fails),        cmocka_unit_test(recvmsg_fails),
        cmocka_unit_test(recv_fails),           cmocka_unit_test(ioctl_fails),
        cmocka_unit_test(epoll_create_fails),   cmocka_unit_test(epoll_add_fails),
        cmocka_unit_test(epoll_wait_fails),     cmocka_unit_test(signalfd_fails),
        cmocka_unit_test(timerfd_create_fails), cmocka_unit_test(getsockopt_fails),
        cmocka_unit_test(fstat_fails),          cmocka_unit_test(open_fails),
        cmocka_unit_test(openat_fails),         cmocka_unit_test(mkdirat_fails),
        cmocka_unit_test(fcntl_fails),          cmocka_unit_test(dup2_fails),
        cmocka_unit_test(close_range_fails),    cmocka_unit_test(chdir_fails),
        cmocka_unit_test(setsid_fails),         cmocka_unit_test(waitid_fails),
        cmocka_unit_test(wait4_fails),          cmocka_unit_test(read_fails),
        cmocka_unit_test(write_fails),          cmocka_unit_test(sigprocmask_fails),
    };
    if (argc > 1) /* executed as a helper */
        return child_resume(argc, argv);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("failures", tests, setup, NULL);
}
