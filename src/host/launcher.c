/*
 * The link to halter-launcher: starting it, replacing it when it dies, its messages, and the page
 * through which wall caps are armed without a system call. src/wire/control.h is the contract.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/internal.h"

#define RESTART_MIN_MS 10
#define RESTART_MAX_MS 5000
#define FAREWELL_MS    1000

/* Both descriptors out of the way of those that the launcher will have. */
static int move_up(int *fd)
{
    int moved = fcntl(*fd, F_DUPFD_CLOEXEC, 10);
    if (moved < 0)
        return -1;
    close(*fd);
    *fd = moved;
    return 0;
}

static int spawn_program(struct launcher *launcher, int socket, int page, pid_t *pid)
{
    char *argv[] = {(char *)"halter-launcher", NULL};
    char *environment[] = {launcher->time_zone[0] ? launcher->time_zone : NULL, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;

    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETSID);
    if (!(error = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0)) &&
        !(error = posix_spawn_file_actions_adddup2(&files, 0, 1)) &&
        !(error = posix_spawn_file_actions_adddup2(&files, socket, CONTROL_SOCKET_FD)) &&
        !(error = posix_spawn_file_actions_adddup2(&files, page, CONTROL_PAGE_FD)) &&
        !(error = posix_spawn_file_actions_addclosefrom_np(&files, CONTROL_PAGE_FD + 1)))
        error = posix_spawn(pid, launcher->path, &files, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static int make_page(struct launcher *launcher)
{
    int fd = memfd_create("halter-control", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    struct rlimit largest; /* above it ftruncate() raises SIGXFSZ, which ends the application */
    if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur < sizeof(struct control_page)) {
        errno = EFBIG;
        goto fail;
    }
    if (ftruncate(fd, sizeof(struct control_page)) < 0)
        goto fail;
    void *page = mmap(NULL, sizeof(struct control_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        goto fail;
    launcher->page = page;
    return fd;
fail:
    close(fd);
    return -1;
}

static void drop_page(struct launcher *launcher)
{
    if (launcher->page)
        munmap(launcher->page, sizeof(struct control_page));
    launcher->page = NULL;
}

int launcher_start(struct halter_host *host)
{
    struct launcher *launcher = &host->launcher;
    int pair[2] = {-1, -1}, page = -1;
    pid_t pid;

    launcher->ready = false;
    launcher->watch = (struct watch){.kind = WATCH_LAUNCHER, .fd = -1, .owner = host};
    launcher->pidfd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return HALTER_ESYSTEM;
    page = make_page(launcher);
    if (page < 0 || move_up(&pair[1]) < 0 || move_up(&page) < 0 ||
        fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        goto fail;
    int error = spawn_program(launcher, pair[1], page, &pid);
    if (error) {
        errno = error;
        goto fail;
    }
    /* The pid is ours until it is waited for; an application that waits for any child within this
       moment finds only that it cannot be waited for again. */
    launcher->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    launcher->watch.fd = pair[0];
    if (host_watch(host, &launcher->watch, EPOLLIN) < 0)
        goto fail;
    close(pair[1]);
    close(page);
    return 0;

fail:;
    int saved = errno;
    if (page >= 0)
        close(page);
    close(pair[1]);
    close(pair[0]); /* a launcher that runs sees the end of its socket, and exits */
    launcher->watch.fd = -1;
    drop_page(launcher);
    errno = saved;
    return HALTER_ESYSTEM;
}

/* Leaves *pidfd open when it is not to be waited for and lives. */
static void reap(int *pidfd, bool wait)
{
    if (*pidfd < 0)
        return;
    if (wait) {
        struct pollfd ended = {.fd = *pidfd, .events = POLLIN};
        uint64_t until = monotonic_ns() + FAREWELL_MS * NS_PER_MS, now;
        int n = 0;
        while ((now = monotonic_ns()) < until &&
               (n = poll(&ended, 1, (int)((until - now) / NS_PER_MS) + 1)) < 0 && errno == EINTR)
            ;
        if (n <= 0)
            syscall(SYS_pidfd_send_signal, *pidfd, SIGKILL, NULL, 0);
    }
    siginfo_t info = {0};
    if (waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED | (wait ? 0 : WNOHANG)) == 0 && !info.si_pid)
        return;
    close(*pidfd);
    *pidfd = -1;
}

void launcher_stop(struct halter_host *host)
{
    struct launcher *launcher = &host->launcher;

    timer_cancel(&host->timers, &launcher->restart);
    if (launcher->watch.fd >= 0)
        host_unwatch(host, &launcher->watch);
    reap(&launcher->pidfd, true);
    reap(&launcher->former, true);
    drop_page(launcher);
}

void launcher_ask(struct halter_host *host)
{
    host->unasked = false;
    list_for_each(node, &host->processes) {
        struct process *process = list_entry(node, struct process, link);
        if (process->state == PROCESS_STARTING && !process->asked && !host->unasked &&
            launcher_spawn(host, process) != 0)
            process_kill(process, HALTER_DEATH_LAUNCHER, "the launcher cannot be reached");
    }
}

static void launcher_restart(struct timer *timer, uint64_t now_ns)
{
    struct halter_host *host = list_entry(timer, struct halter_host, launcher.restart);
    struct launcher *launcher = &host->launcher;

    int saved = errno;
    reap(&launcher->former, false);
    if (launcher->former >= 0) {
        /* SIGKILL is on its way to it, and two at a time would be one too many. */
        timer_arm(&host->timers, timer, now_ns + RESTART_MIN_MS * NS_PER_MS);
        errno = saved;
        return;
    }
    if (launcher_start(host) == 0) {
        launcher_ask(host);
    } else {
        launcher->failures++;
        uint64_t delay = RESTART_MIN_MS;
        for (unsigned i = 0; i < launcher->failures && delay < RESTART_MAX_MS; i++)
            delay *= 2;
        launcher->restart.fire = launcher_restart;
        timer_arm(&host->timers, &launcher->restart, now_ns + delay * NS_PER_MS);
    }
    errno = saved;
}

/* It is gone, and every helper with it: say so, and have another. */
static void lost(struct halter_host *host)
{
    struct launcher *launcher = &host->launcher;

    if (launcher->ready)
        launcher->failures = 0;
    else
        launcher->failures++;
    host_unwatch(host, &launcher->watch);
    /* It may be alive and only have closed its socket. */
    if (launcher->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, launcher->pidfd, SIGKILL, NULL, 0);
    /* Its socket closes a moment before it can be waited for: its successor waits for that, and
       nobody else does. So there is no former one here. */
    launcher->former = launcher->pidfd;
    launcher->pidfd = -1;
    reap(&launcher->former, false);
    drop_page(launcher);
    launcher->ready = false;

    struct halter_event event = {.type = HALTER_EVENT_LAUNCHER_LOST,
                                 .text = "the launcher died; it is being replaced"};
    event_emit(host, &event);
    list_for_each(node, &host->processes) {
        struct process *process = list_entry(node, struct process, link);
        if (process->asked)
            process_event(process, PROCESS_EVENT_LOST);
    }
    uint64_t delay = 0;
    for (unsigned i = 0; i < launcher->failures && delay < RESTART_MAX_MS; i++)
        delay = delay ? delay * 2 : RESTART_MIN_MS;
    launcher->restart.fire = launcher_restart;
    timer_arm(&host->timers, &launcher->restart, monotonic_ns() + delay * NS_PER_MS + 1);
}

static struct process *find(struct halter_host *host, uint64_t generation)
{
    list_for_each(node, &host->processes) {
        struct process *process = list_entry(node, struct process, link);
        if (process->generation == generation)
            return process;
    }
    return NULL;
}

/* One message and the descriptor with it: its length, 0 at the end, -1 with errno. */
static ssize_t receive(int fd, struct control_message *message, int *passed)
{
    struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                            .msg_controllen = sizeof(control)};
    ssize_t n;

    *passed = -1;
    do
        n = recvmsg(fd, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n;
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(passed, CMSG_DATA(c), sizeof(int));
    return n;
}

static void handle(struct halter_host *host, const struct control_message *message, int passed)
{
    if (message->type == CONTROL_READY) {
        host->launcher.ready = true;
        host->launcher.features = message->ready.features;
        host->launcher.failures = 0;
        return;
    }
    struct process *process = find(host, message->generation);
    if (message->type == CONTROL_SPAWNED && process) {
        process_spawned(process, message->spawned.pid, passed, message->spawned.error);
        return;
    }
    if (passed >= 0)
        close(passed);
    if (message->type == CONTROL_EXITED && process)
        process_exited(process, message);
}

void launcher_readable(struct halter_host *host)
{
    for (;;) {
        struct control_message message;
        int passed;
        ssize_t n = receive(host->launcher.watch.fd, &message, &passed);
        if (n < 0 && (errno == EAGAIN || errno == ENOMEM || errno == ENOBUFS))
            return; /* without memory: again at the next dispatch */
        if (n == (ssize_t)sizeof(message) && message.version == CONTROL_VERSION) {
            handle(host, &message, passed);
            if (host->launcher.watch.fd < 0)
                return;
            continue;
        }
        if (passed >= 0)
            close(passed);
        lost(host); /* the end, an error, or another release's launcher */
        return;
    }
}

static int send_message(struct halter_host *host, struct control_message *message, const int *fds,
                        unsigned nfds)
{
    struct iovec part = {.iov_base = message, .iov_len = sizeof(*message)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};

    message->version = CONTROL_VERSION;
    if (nfds) {
        memset(&control, 0, sizeof(control));
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(host->launcher.watch.fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -1 : 0;
}

int launcher_spawn(struct halter_host *host, struct process *process)
{
    if (host->launcher.watch.fd < 0)
        return 0; /* it is asked when there is a launcher again */
    struct control_message message = {.type = CONTROL_SPAWN,
                                      .generation = process->generation,
                                      .spawn = {.profile = process->profile, .slot = process->slot}};
    if (send_message(host, &message, process->launcher_ends, 3) < 0) {
        if (errno != EAGAIN)
            return HALTER_ESYSTEM;
        host->unasked = true; /* the launcher is behind: the next dispatch asks again */
        return 0;
    }
    process->asked = true;
    for (int i = 0; i < 3; i++) {
        close(process->launcher_ends[i]);
        process->launcher_ends[i] = -1;
    }
    return 0;
}

void launcher_kill(struct halter_host *host, struct process *process)
{
    struct control_message message = {.type = CONTROL_KILL, .generation = process->generation};
    if (host->launcher.watch.fd >= 0)
        send_message(host, &message, NULL, 0);
}

int launcher_take_slot(struct halter_host *host, uint32_t *slot)
{
    for (uint32_t i = 0; i < CONTROL_SLOTS / 64; i++) {
        uint64_t used = host->launcher.slots_used[i];
        if (used == UINT64_MAX)
            continue;
        uint32_t bit = (uint32_t)__builtin_ctzll(~used);
        host->launcher.slots_used[i] |= 1ull << bit;
        *slot = i * 64 + bit;
        return 0;
    }
    errno = EAGAIN;
    return HALTER_ESYSTEM;
}

void launcher_give_slot(struct halter_host *host, uint32_t slot)
{
    host->launcher.slots_used[slot / 64] &= ~(1ull << (slot % 64));
}

void launcher_arm(struct halter_host *host, struct process *process, uint64_t kill_at_ns,
                  uint64_t call_id)
{
    struct control_page *page = host->launcher.page;

    if (!page || !process->asked)
        return;
    atomic_store(&page->slots[process->slot].call_id, call_id);
    atomic_store(&page->slots[process->slot].kill_at_ns, kill_at_ns);
    if (atomic_load(&page->asleep)) {
        struct control_message message = {.type = CONTROL_WAKE};
        send_message(host, &message, NULL, 0);
    }
}

void launcher_disarm(struct halter_host *host, struct process *process)
{
    if (host->launcher.page && process->asked)
        atomic_store(&host->launcher.page->slots[process->slot].kill_at_ns, 0);
}

void launcher_answering(struct halter_host *host, struct process *process, bool answering)
{
    if (process->answering == answering || !host->launcher.page)
        return;
    process->answering = answering;
    atomic_store(&host->launcher.page->slots[process->slot].answering, answering);
}
