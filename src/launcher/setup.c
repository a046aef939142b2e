/*
 * What the launcher does before it serves: it cuts itself off from whatever the application handed
 * down (descriptors, environment, signal state, session, directory), makes sure that its parent is
 * the host that made its socket, and opens the few descriptors that its loop waits on.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "launcher/launcher.h"

/* 0, 1 and 2 on /dev/null: the launcher says nothing, and holds no pipe of the application open. */
static bool detach_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return false;
    bool done = dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2;
    if (null > 2)
        close(null);
    return done;
}

/*
 * The environment may hold secrets of the application, and a forked helper has the launcher's
 * memory: so the strings themselves are wiped. TZ stays, for local time.
 */
static bool wipe_environment(void)
{
    const char *zone = getenv("TZ");
    char *kept = zone ? strdup(zone) : NULL;
    if (zone && !kept)
        return false;
    for (char **entry = environ; *entry; entry++)
        explicit_bzero(*entry, strlen(*entry));
    bool done = clearenv() == 0 && (!kept || setenv("TZ", kept, 1) == 0);
    free(kept);
    return done;
}

/* Default dispositions; everything blocked: what the launcher wants to know comes by signalfd. */
static bool reset_signals(void)
{
    /* All zero is the kernel's own form of the default; the C library keeps two signals to itself. */
    static const uint64_t standard[4];
    sigset_t all;
    sigfillset(&all);
    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, standard, NULL, sizeof(uint64_t));
    return sigprocmask(SIG_SETMASK, &all, NULL) == 0;
}

/* The host is who made the socket; a launcher that anyone else is the parent of has lost it. */
static int open_host(int control)
{
    struct ucred host;
    socklen_t size = sizeof(host);
    if (getsockopt(control, SOL_SOCKET, SO_PEERCRED, &host, &size) < 0)
        return -1;
    int pidfd = pidfd_open(host.pid, 0);
    if (pidfd < 0)
        return -1;
    if (getppid() == host.pid)
        return pidfd;
    close(pidfd);
    errno = ESRCH;
    return -1;
}

static struct control_page *map_page(int fd)
{
    struct stat file;
    if (fstat(fd, &file) < 0 || file.st_size < (off_t)sizeof(struct control_page))
        return NULL;
    void *page = mmap(NULL, sizeof(struct control_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, sizeof(struct control_page), MADV_DONTFORK) < 0) {
        munmap(page, sizeof(struct control_page));
        return NULL;
    }
    return page;
}

static bool watch(struct launcher *launcher, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(launcher->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool open_loop(struct launcher *launcher)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGHUP);
    launcher->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (launcher->epoll < 0)
        return false;
    launcher->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    launcher->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    launcher->host_pidfd = open_host(launcher->control);
    return launcher->signals >= 0 && launcher->timer >= 0 && launcher->host_pidfd >= 0 &&
           watch(launcher, launcher->control) && watch(launcher, launcher->signals) &&
           watch(launcher, launcher->timer) && watch(launcher, launcher->host_pidfd);
}

bool launcher_setup(struct launcher *launcher)
{
    *launcher = (struct launcher){
        .control = CONTROL_SOCKET_FD,
        .epoll = -1,
        .host_pidfd = -1,
        .signals = -1,
        .timer = -1,
        .pid = getpid(),
    };
    if (!reset_signals() || !wipe_environment() || !detach_streams())
        return false;
    if (close_range(CONTROL_PAGE_FD + 1, ~0u, 0) < 0 || chdir("/") < 0)
        return false;
    setsid(); /* EPERM: it already leads its group, which serves as well */
    prctl(PR_SET_NAME, "halter-launcher");
    prctl(PR_SET_TIMERSLACK, 1UL); /* the wall caps are its only timers */
    fcntl(CONTROL_SOCKET_FD, F_SETFD, FD_CLOEXEC);
    launcher->page = map_page(CONTROL_PAGE_FD);
    if (!launcher->page)
        return false;
    close(CONTROL_PAGE_FD);
    if (!open_loop(launcher))
        return false;
    cgroups_open(&launcher->cgroups);
    return true;
}
