/*
 * The launcher's loop: one epoll over the control socket, the host's pidfd, its signals and the
 * timer of the wall caps. It ends when the host's end closes or the host dies, whichever it hears
 * of first (a child of the application may hold the socket open), and takes all helpers with it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "launcher/launcher.h"

#define TICK_NS (CONTROL_TICK_MS * 1000000ll)

uint64_t launcher_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void read_signals(struct launcher *launcher)
{
    struct signalfd_siginfo info;
    while (read(launcher->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo != SIGCHLD)
            launcher->stop = true;
    reap(launcher);
}

static void set_timer(struct launcher *launcher, int64_t sleep_ns)
{
    struct itimerspec when = {0};
    if (sleep_ns >= 0) {
        when.it_value.tv_sec = sleep_ns / 1000000000;
        when.it_value.tv_nsec = sleep_ns % 1000000000;
        if (sleep_ns == 0)
            when.it_value.tv_nsec = 1; /* zero would disarm it */
    }
    timerfd_settime(launcher->timer, 0, &when, NULL);
}

/*
 * Looks at the page and says how long to sleep: for ever only after `asleep` is set and a second
 * look has found nothing armed, so that a host which arms a slot meanwhile sends a WAKE.
 */
static void prepare_sleep(struct launcher *launcher)
{
    int64_t sleep_ns = wallcap_look(launcher, launcher_now_ns());
    if (sleep_ns < 0) {
        launcher->page->asleep = 1;
        sleep_ns = wallcap_look(launcher, launcher_now_ns());
        if (sleep_ns >= 0)
            launcher->page->asleep = 0;
    }
    if (launcher->send_later && (sleep_ns < 0 || sleep_ns > TICK_NS))
        sleep_ns = TICK_NS;
    set_timer(launcher, sleep_ns);
}

/* What epoll is to report of the control socket: no more to read while a refusal is unsent. */
static void watch_control(struct launcher *launcher)
{
    struct epoll_event event = {.data.fd = launcher->control};
    if (!launcher->refusing)
        event.events |= EPOLLIN;
    if (launcher->first && !launcher->send_later)
        event.events |= EPOLLOUT;
    epoll_ctl(launcher->epoll, EPOLL_CTL_MOD, launcher->control, &event);
}

static void handle(struct launcher *launcher, const struct epoll_event *event)
{
    if (event->data.fd == launcher->host_pidfd) {
        launcher->stop = true;
    } else if (event->data.fd == launcher->signals) {
        read_signals(launcher);
    } else if (event->data.fd == launcher->timer) {
        uint64_t ticks;
        launcher->send_later = false;
        if (read(launcher->timer, &ticks, sizeof(ticks)) < 0)
            return; /* it was set anew meanwhile */
    } else {
        if (event->events & (EPOLLHUP | EPOLLERR))
            launcher->stop = true;
        else if (event->events & EPOLLIN)
            control_read(launcher);
    }
}

static void step(struct launcher *launcher)
{
    struct epoll_event events[16];
    prepare_sleep(launcher);
    watch_control(launcher);
    int count = epoll_wait(launcher->epoll, events, 16, 0);
    if (count == 0) {
        /* Nothing to do: this is when moving to a fresh cgroup keeps nobody waiting. */
        cgroups_prepare(&launcher->cgroups);
        count = epoll_wait(launcher->epoll, events, 16, -1);
    }
    launcher->page->asleep = 0;
    if (count < 0 && errno != EINTR) {
        launcher->exit_code = LAUNCHER_EXIT_BROKEN;
        launcher->stop = true;
    }
    for (int i = 0; i < count; i++)
        handle(launcher, &events[i]);
    control_flush(launcher);
}

int launcher_run(void)
{
    struct launcher launcher;
    if (!launcher_setup(&launcher))
        return LAUNCHER_EXIT_SETUP;
    struct report ready = {
        .message = {.type = CONTROL_READY,
                    .ready = {.pid = launcher.pid,
                              .features = launcher.cgroups.usable ? CONTROL_HAS_CGROUP : 0}},
        .fd = -1,
    };
    control_queue(&launcher, &ready);
    control_flush(&launcher);
    while (!launcher.stop)
        step(&launcher);
    reap_all(&launcher);
    cgroups_close(&launcher.cgroups);
    return launcher.exit_code;
}
