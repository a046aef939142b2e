/*
 * A failure at every system call and every allocation of the library, one after the other: the
 * scenario is run again and again, and in each run the Nth call fails as such a call can fail. What
 * must hold each time: every function returns a typed status, every accepted call ends in exactly
 * one callback, and no descriptor and no process is left. (Memory: the same under ASan's leak check.)
 */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <dirent.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "halter/halter.h"

enum site {
    SITE_ALLOC, SITE_SOCKETPAIR, SITE_EPOLL_CREATE, SITE_EPOLL_CTL, SITE_EPOLL_WAIT,
    SITE_TIMERFD_CREATE, SITE_TIMERFD_SETTIME, SITE_EVENTFD, SITE_MEMFD, SITE_FTRUNCATE, SITE_MMAP,
    SITE_SPAWN, SITE_FCNTL, SITE_READ, SITE_SENDMSG, SITE_RECVMSG, SITE_SYSCALL, SITES
};
static const char *const site_names[SITES] = {
    "allocation", "socketpair", "epoll_create1", "epoll_ctl", "epoll_wait", "timerfd_create",
    "timerfd_settime", "eventfd", "memfd_create", "ftruncate", "mmap", "posix_spawn", "fcntl",
    "read", "sendmsg", "recvmsg", "syscall"};

static bool armed;            /* false while the test itself is at work */
static enum site target;
static long countdown;        /* the call that fails is the one that takes it to 0 */
static int failure;           /* errno it fails with; 0: a short count where that is possible */
static bool struck;

static bool strikes(enum site site)
{
    if (!armed || site != target || --countdown != 0)
        return false;
    struck = true;
    if (failure)
        errno = failure;
    return true;
}

#define WRAP(type, name, site, failed, params, args)                                               \
    type __real_##name params;                                                                     \
    type __wrap_##name params;                                                                     \
    type __wrap_##name params                                                                      \
    {                                                                                              \
        return strikes(site) ? (failed) : __real_##name args;                                      \
    }

WRAP(void *, malloc, SITE_ALLOC, NULL, (size_t n), (n))
WRAP(void *, calloc, SITE_ALLOC, NULL, (size_t n, size_t m), (n, m))
WRAP(void *, realloc, SITE_ALLOC, NULL, (void *p, size_t n), (p, n))
WRAP(char *, strdup, SITE_ALLOC, NULL, (const char *s), (s))
WRAP(char *, strndup, SITE_ALLOC, NULL, (const char *s, size_t n), (s, n))
WRAP(int, socketpair, SITE_SOCKETPAIR, -1, (int d, int t, int p, int v[2]), (d, t, p, v))
WRAP(int, epoll_create1, SITE_EPOLL_CREATE, -1, (int f), (f))
WRAP(int, epoll_ctl, SITE_EPOLL_CTL, -1, (int e, int o, int f, struct epoll_event *ev),
     (e, o, f, ev))
WRAP(int, epoll_wait, SITE_EPOLL_WAIT, -1, (int e, struct epoll_event *ev, int n, int t),
     (e, ev, n, t))
WRAP(int, timerfd_create, SITE_TIMERFD_CREATE, -1, (int c, int f), (c, f))
WRAP(int, timerfd_settime, SITE_TIMERFD_SETTIME, -1,
     (int fd, int f, const struct itimerspec *n, struct itimerspec *o), (fd, f, n, o))
WRAP(int, eventfd, SITE_EVENTFD, -1, (unsigned c, int f), (c, f))
WRAP(int, memfd_create, SITE_MEMFD, -1, (const char *n, unsigned f), (n, f))
WRAP(int, ftruncate64, SITE_FTRUNCATE, -1, (int fd, off_t n), (fd, n))
WRAP(void *, mmap64, SITE_MMAP, MAP_FAILED, (void *a, size_t n, int p, int f, int fd, off_t o),
     (a, n, p, f, fd, o))
WRAP(int, posix_spawn, SITE_SPAWN, failure,
     (pid_t *pid, const char *path, const posix_spawn_file_actions_t *f, const posix_spawnattr_t *at,
      char *const argv[], char *const env[]), (pid, path, f, at, argv, env))

int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
    va_list list;
    va_start(list, command);
    long argument = va_arg(list, long);
    va_end(list);
    return strikes(SITE_FCNTL) ? -1 : __real_fcntl64(fd, command, argument);
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[4];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return strikes(SITE_SYSCALL) ? -1 : __real_syscall(number, a[0], a[1], a[2], a[3]);
}

/* read and the messages can also come short: one byte at a time is legal for a stream. */
ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_read(int fd, void *to, size_t n)
{
    if (strikes(SITE_READ)) {
        if (failure)
            return -1;
        n = n > 1 ? 1 : n;
    }
    return __real_read(fd, to, n);
}

static bool is_stream(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
    if (!strikes(SITE_SENDMSG))
        return __real_sendmsg(fd, m, flags);
    if (failure)
        return -1;
    if (!is_stream(fd))
        return __real_sendmsg(fd, m, flags);
    struct iovec one = {m->msg_iov[0].iov_base, 1};
    struct msghdr part = *m;
    part.msg_iov = &one;
    part.msg_iovlen = 1;
    return __real_sendmsg(fd, &part, flags);
}

ssize_t __real_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *m, int flags)
{
    if (strikes(SITE_RECVMSG) && failure)
        return -1;
    return __real_recvmsg(fd, m, flags);
}

/* ---- the scenario ---------------------------------------------------------------------------------- */

static unsigned accepted, callbacks;

static void done(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    (void)guest;
    (void)data;
    if (strcmp(halter_status_name(result->status), "UNKNOWN") == 0)
        abort();
    callbacks++;
}

static void event(struct halter_host *host, const struct halter_event *e, void *data)
{
    (void)host;
    (void)e;
    (void)data;
}

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool dispatch_until(struct halter_host *host, unsigned wanted)
{
    uint64_t until = now_ms() + 5000;
    while (callbacks < wanted && now_ms() < until) {
        int n = halter_dispatch(host, 50);
        if (n < 0 && n != HALTER_ESYSTEM)
            return false;
    }
    return callbacks >= wanted;
}

static void call_some(struct halter_guest *guest, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (halter_call(guest, "{\"a\":1}", 0, NULL, done, NULL, NULL) == HALTER_OK)
            accepted++;
}

static void scenario(void)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    struct halter_plugin_options plugin = HALTER_PLUGIN_INIT;
    struct halter_host *host = NULL;
    struct halter_guest *guest = NULL;

    accepted = callbacks = 0;
    options.launcher_path = FAKE_LAUNCHER_PATH;
    options.on_event = event;
    options.locale = "de-AT";
    options.spawn_deadline_ms = 2000;
    plugin.source = "load ok\ncall echo\n";
    plugin.deadline_ms = 1500;
    plugin.quarantine_after = 3;
    armed = true;
    int status = halter_create(&options, &host);
    if (status == HALTER_OK) {
        status = halter_plugin_create(host, &plugin, &guest);
        if (status == HALTER_OK) {
            call_some(guest, 3);
            assert_true(dispatch_until(host, accepted));
            call_some(guest, 1);
            halter_guest_kill(guest);
            assert_true(dispatch_until(host, accepted));
            halter_guest_reload(guest, plugin.source, 0);
            call_some(guest, 2);
            assert_true(dispatch_until(host, accepted));
            call_some(guest, 1);
        }
    }
    halter_destroy(host);
    armed = false;
    assert_int_equal(callbacks, accepted);
    if (status != HALTER_OK)
        assert_true(status == HALTER_ENOMEM || status == HALTER_ESYSTEM);
}

static int count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static void nothing_is_left(int descriptors)
{
    assert_int_equal(count_descriptors(), descriptors);
    uint64_t until = now_ms() + 2000;
    while (waitpid(-1, NULL, WNOHANG) == 0 && now_ms() < until)
        usleep(1000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Every occurrence of `site` in the scenario, until there is none left to fail. */
static void at_every(enum site site, int error, long most)
{
    long n = 1;
    for (; n <= most; n++) {
        int descriptors = count_descriptors();
        target = site;
        failure = error;
        countdown = n;
        struck = false;
        scenario();
        nothing_is_left(descriptors);
        if (!struck)
            break;
    }
    print_message("# %s, %s: %ld places\n", site_names[site], error ? strerror(error) : "short",
                  n - 1);
    assert_true(n > 1);
}

static void allocations(void **state)
{
    (void)state;
    at_every(SITE_ALLOC, ENOMEM, 400);
}

static void descriptors(void **state)
{
    static const enum site sites[] = {SITE_SOCKETPAIR, SITE_EPOLL_CREATE, SITE_TIMERFD_CREATE,
                                      SITE_EVENTFD, SITE_MEMFD, SITE_FCNTL};
    (void)state;
    for (unsigned i = 0; i < sizeof(sites) / sizeof(*sites); i++)
        at_every(sites[i], EMFILE, 100);
}

static void kernel_memory(void **state)
{
    static const enum site sites[] = {SITE_EPOLL_CTL, SITE_FTRUNCATE, SITE_MMAP, SITE_SPAWN,
                                      SITE_SENDMSG, SITE_RECVMSG};
    (void)state;
    for (unsigned i = 0; i < sizeof(sites) / sizeof(*sites); i++)
        at_every(sites[i], ENOMEM, 120);
}

static void interruptions(void **state)
{
    static const enum site sites[] = {SITE_EPOLL_WAIT, SITE_READ, SITE_SENDMSG, SITE_RECVMSG};
    (void)state;
    for (unsigned i = 0; i < sizeof(sites) / sizeof(*sites); i++)
        at_every(sites[i], EINTR, 60);
}

static void short_counts(void **state)
{
    (void)state;
    at_every(SITE_READ, 0, 60);
    at_every(SITE_SENDMSG, 0, 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations),  cmocka_unit_test(descriptors),
        cmocka_unit_test(kernel_memory), cmocka_unit_test(interruptions),
        cmocka_unit_test(short_counts),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("a failure at every system call", tests, NULL, NULL);
}
