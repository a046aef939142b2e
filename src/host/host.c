/*
 * The host: one descriptor, and the order in which a dispatch does things.
 *
 * Everything that has arrived is read before any clock is looked at, so that an application that
 * dispatches late loses no answer that came in time. Callbacks run from here and nowhere else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "host/caps.h"
#include "host/internal.h"
#include "wire/json.h"

#define EVENTS_AT_ONCE 64
#define FRAME_CAP_MIN (16u << 10) /* a plugin's source needs 8 KiB around it */
#define FRAME_CAP_MAX (1u << 30)
/* A dispatch stays awake for the answers to calls that take no longer than this, as a rule. */
#define AWAKE_CALL_NS 400000ull
#define LAUNCHER_TIMERS 2 /* its restart, and the deadline of the services */

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

int host_watch(struct halter_host *host, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    watch->events = events;
    return epoll_ctl(host->epoll, EPOLL_CTL_ADD, watch->fd, &event);
}

void host_unwatch(struct halter_host *host, struct watch *watch)
{
    if (watch->fd < 0)
        return;
    epoll_ctl(host->epoll, EPOLL_CTL_DEL, watch->fd, NULL);
    close(watch->fd);
    watch->fd = -1;
}

int host_want_write(struct halter_host *host, struct watch *watch, bool wanted)
{
    uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (watch->events == events)
        return 0;
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(host->epoll, EPOLL_CTL_MOD, watch->fd, &event) < 0)
        return -1;
    watch->events = events;
    return 0;
}

int host_need_timers(struct halter_host *host, size_t count)
{
    if (timers_reserve(&host->timers, host->timer_owners + count) < 0)
        return -1;
    host->timer_owners += count;
    return 0;
}

void host_drop_timers(struct halter_host *host, size_t count)
{
    host->timer_owners -= count;
}

void halter_wakeup(struct halter_host *host)
{
    int saved = errno;
    uint64_t one = 1;
    if (!host)
        return;
    /* A full counter means that a wakeup is already on its way. */
    ssize_t ignored = write(host->wakeup.fd, &one, sizeof(one));
    (void)ignored;
    errno = saved;
}

void host_defer(struct halter_host *host)
{
    if (host->deferred)
        return;
    host->deferred = true;
    if (!host->depth)
        halter_wakeup(host);
}

static int add_watch(struct halter_host *host, struct watch *watch, enum watch_kind kind, int fd)
{
    *watch = (struct watch){.kind = kind, .fd = fd, .owner = host};
    return fd < 0 ? -1 : host_watch(host, watch, EPOLLIN);
}

static int read_options(struct halter_host *host, const struct halter_options *given)
{
    struct halter_options options = {0};
    if (given) {
        if (given->size > sizeof(options) || given->size < sizeof(given->size))
            return HALTER_EINVAL;
        memcpy(&options, given, given->size);
    } else {
        options.spares = 1;
    }
    if (options.spares > 64 || options.frame_cap_bytes > FRAME_CAP_MAX ||
        (options.frame_cap_bytes && options.frame_cap_bytes < FRAME_CAP_MIN))
        return HALTER_EINVAL;
    host->spares = options.spares;
    host->cap = options.frame_cap_bytes ? options.frame_cap_bytes : WIRE_DEFAULT_CAP;
    host->required_layers = options.required_layers | HALTER_LAYER_FLOOR;
    host->spawn_deadline_ms = options.spawn_deadline_ms ? options.spawn_deadline_ms : 5000;
    host->on_event = options.on_event;
    host->data = options.data;
    host->audit = options.audit;
    if (options.state_path) {
        if (!utf8_check(options.state_path, strlen(options.state_path)))
            return HALTER_EINVAL;
        /* The services' working directory is not the application's. */
        host->services.state_path = where_absolute(options.state_path);
        if (!host->services.state_path)
            return errno == ENOMEM ? HALTER_ENOMEM : HALTER_ESYSTEM;
    }
    if (options.ca_file) {
        if (!utf8_check(options.ca_file, strlen(options.ca_file)))
            return HALTER_EINVAL;
        host->services.ca_file = where_absolute(options.ca_file);
        if (!host->services.ca_file)
            return errno == ENOMEM ? HALTER_ENOMEM : HALTER_ESYSTEM;
    }
    host->locale = where_locale(options.locale);
    where_time_zone(options.time_zone, host->launcher.time_zone, sizeof(host->launcher.time_zone));
    if (!host->locale)
        return HALTER_ENOMEM;
    host->launcher.path = where_launcher(options.launcher_path);
    if (!host->launcher.path) {
        if (errno == ENOMEM)
            return HALTER_ENOMEM;
        return HALTER_ESYSTEM;
    }
    return 0;
}

int halter_create(const struct halter_options *options, struct halter_host **out)
{
    if (!out)
        return HALTER_EINVAL;
    struct halter_host *host = calloc(1, sizeof(*host));
    if (!host)
        return HALTER_ENOMEM;
    list_init(&host->processes);
    list_init(&host->guests);
    list_init(&host->pcs);
    list_init(&host->buried);
    list_init(&host->events);
    list_init(&host->corked);
    list_init(&host->requests);
    services_init(&host->services);
    monitor_init(&host->monitor);
    timers_init(&host->timers);
    host->timer.fd = host->wakeup.fd = host->launcher.watch.fd = host->launcher.pidfd = -1;
    host->epoll = host->launcher.former = -1;

    int status = read_options(host, options);
    if (status)
        goto fail;
    host->may_stay_awake = wire_awake_possible();
    status = HALTER_ESYSTEM;
    host->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (host->epoll < 0 ||
        add_watch(host, &host->timer, WATCH_TIMER,
                  timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) < 0 ||
        add_watch(host, &host->wakeup, WATCH_WAKEUP, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        goto fail;
    status = HALTER_ENOMEM;
    if (host_need_timers(host, LAUNCHER_TIMERS) < 0)
        goto fail;
    status = caps_provide(host);
    if (status)
        goto fail;
    status = launcher_start(host);
    if (status)
        goto fail;
    *out = host;
    return HALTER_OK;

fail:;
    int saved = errno;
    halter_destroy(host);
    errno = saved;
    return status;
}

static void bury(struct halter_host *host)
{
    list_for_each(node, &host->buried)
        process_free(list_entry(node, struct process, link));
    list_for_each(node, &host->guests) {
        struct halter_guest *guest = list_entry(node, struct halter_guest, link);
        if (guest->closing && list_empty(&guest->finished))
            guest_free(guest);
    }
}

void halter_destroy(struct halter_host *host)
{
    if (!host || host->depth)
        return;
    host->closing = true;
    host->on_event = NULL;
    /* All are closed before the first callback runs, and none is freed before the last one has: a
     * callback may hold the handle of any of them. */
    host->depth++;
    list_for_each(node, &host->guests)
        halter_guest_destroy(list_entry(node, struct halter_guest, link));
    host->depth--;
    list_for_each(node, &host->guests)
        calls_run_finished(list_entry(node, struct halter_guest, link));
    pcs_finish(host);
    bury(host);
    /* The launcher takes whatever still lives along; nothing is reported any more. */
    launcher_stop(host);
    list_for_each(node, &host->processes)
        process_free(list_entry(node, struct process, link));
    bury(host);
    pools_finish(host);
    services_finish(host);
    events_forget(host, NULL);
    list_for_each(node, &host->requests) {
        list_entry(node, struct halter_request, host_link)->host = NULL;
        list_remove(node);
    }
    monitor_finish(host);
    host_unwatch(host, &host->wakeup);
    host_unwatch(host, &host->timer);
    if (host->epoll >= 0)
        close(host->epoll);
    timers_finish(&host->timers);
    calls_finish(host);
    for (unsigned i = 0; i < host->nprovided; i++)
        free(host->provided[i].name);
    free(host->provided);
    free(host->launcher.path);
    free(host->locale);
    free(host->scratch);
    free(host);
}

int halter_fd(const struct halter_host *host)
{
    return host ? host->epoll : HALTER_EINVAL;
}

/* The descriptor's clock: only set anew when something is due before it would go off. */
static void set_clock(struct halter_host *host, uint64_t fired_until_ns)
{
    uint64_t next = timers_next(&host->timers);

    if (host->timer_armed_ns && host->timer_armed_ns <= fired_until_ns)
        host->timer_armed_ns = 0;
    if (!next || (host->timer_armed_ns && host->timer_armed_ns <= next))
        return;
    struct itimerspec at = {.it_value = {.tv_sec = (time_t)(next / 1000000000ull),
                                         .tv_nsec = (long)(next % 1000000000ull)}};
    if (timerfd_settime(host->timer.fd, TFD_TIMER_ABSTIME, &at, NULL) == 0)
        host->timer_armed_ns = next;
}

static void drain_counter(int fd)
{
    uint64_t count;
    ssize_t ignored = read(fd, &count, sizeof(count));
    (void)ignored;
}

static void handle(struct halter_host *host, struct epoll_event *event)
{
    struct watch *watch = event->data.ptr;

    if (watch->fd < 0)
        return; /* closed by something earlier in this batch */
    switch (watch->kind) {
    case WATCH_TIMER:
        drain_counter(watch->fd);
        break;
    case WATCH_WAKEUP:
        drain_counter(watch->fd);
        host->woken = true;
        break;
    case WATCH_LAUNCHER:
        launcher_readable(host);
        break;
    case WATCH_SOCKET:
        if (event->events & EPOLLOUT)
            process_writable(watch->owner);
        if (watch->fd >= 0 && (event->events & ~EPOLLOUT))
            process_readable(watch->owner);
        break;
    case WATCH_STDERR:
        process_errors_readable(watch->owner);
        break;
    case WATCH_STATUS:
        monitor_accept(host);
        break;
    case WATCH_CLIENT:
        monitor_client(host, watch);
        break;
    }
}

static void run_deferred(struct halter_host *host)
{
    host->deferred = false;
    events_run_deferred(host);
    list_for_each(process, &host->processes)
        process_run_condemned(list_entry(process, struct process, link));
    pcs_run_deferred(host);
    list_for_each(guest, &host->guests)
        calls_run_finished(list_entry(guest, struct halter_guest, link));
}

static void uncork(struct halter_host *host)
{
    list_for_each(node, &host->corked) {
        list_remove(node);
        process_writable(list_entry(node, struct process, cork_link));
    }
}

/*
 * The application waits in here, and what it waits for is one call of a guest whose calls are
 * short: looks for the answer a while before it goes to sleep, where that has paid.
 */
static int await_awake(struct halter_host *host, struct epoll_event *events)
{
    uint64_t usual = host->working_for_ns;

    if (!host->may_stay_awake || host->working != 1 || !usual || usual > AWAKE_CALL_NS ||
        !wire_awake_try(&host->awake))
        return 0;
    int n;
    for (uint64_t until = monotonic_ns() + usual + usual / 2 + AWAKE_CALL_NS / 16;;) {
        n = epoll_wait(host->epoll, events, EVENTS_AT_ONCE, 0);
        if (n || monotonic_ns() >= until)
            break;
        wire_awake_pause();
    }
    wire_awake_learn(&host->awake, n > 0);
    return n;
}

int halter_dispatch(struct halter_host *host, int timeout_ms)
{
    if (!host || timeout_ms < -1)
        return HALTER_EINVAL;
    if (host->depth)
        return HALTER_EBUSY;
    host->progress = 0;
    host->woken = false;
    host->dispatching = true;
    if (host->deferred)
        run_deferred(host);
    uncork(host);

    /* Timers armed since the last dispatch (by a call) are on the descriptor already. */
    set_clock(host, 0);
    struct epoll_event events[EVENTS_AT_ONCE];
    if (host->progress)
        timeout_ms = 0;
    int n = timeout_ms ? await_awake(host, events) : 0;
    if (n == 0)
        n = epoll_wait(host->epoll, events, EVENTS_AT_ONCE, timeout_ms);
    if (n < 0 && errno != EINTR) {
        host->dispatching = false;
        return HALTER_ESYSTEM;
    }
    for (int i = 0; i < n; i++)
        handle(host, &events[i]);
    /* When more may be waiting than was looked at, clocks are not looked at either. */
    if (n < EVENTS_AT_ONCE) {
        uint64_t now = monotonic_ns();
        if (timers_next(&host->timers) && timers_next(&host->timers) <= now)
            timers_run(&host->timers, now);
        set_clock(host, now);
    }
    if (host->unasked)
        launcher_ask(host);
    pool_refill(host);
    if (host->deferred)
        run_deferred(host);
    uncork(host);
    bury(host);
    /* What the last callbacks put off is for the next dispatch: the descriptor has to ask for it. */
    if (host->deferred)
        halter_wakeup(host);
    monitor_bury(host);
    host->dispatching = false;
    return (int)host->progress;
}
