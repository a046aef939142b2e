/*
 * The one place where a run waits: for its guests, its input, its output, the watched plugin and
 * signals, all in one poll(). Nothing here spins: a descriptor is in the set only while something
 * can be done about it.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/run.h"
#include "cli/say.h"

#define MS               1000000u
#define FLUSH_BYTES      (256u << 10) /* enough for a write() of its own */
#define FLUSH_NS         (4 * MS)     /* no result waits longer for company */
#define GRACE_NS         (2000ull * MS)
#define LIVE_TERMINAL_NS (200ull * MS)
#define LIVE_LINE_NS     (1000ull * MS)

enum { FD_HOST, FD_SIGNALS, FD_WATCH, FD_OUTPUT, FD_INPUT, FD_COUNT };

/* The first signal lets what is in flight finish, for two seconds; the second drops it. */
static void take_signals(struct run *run)
{
    struct signalfd_siginfo info;
    while (read(run->signals_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (run->signal) {
            run->give_up_ns = 1;
            continue;
        }
        run->signal = (int)info.ssi_signo;
        run->give_up_ns = now_ns() + GRACE_NS;
        input_stop(&run->input);
        run_end(run, ENDING_SIGNAL);
    }
}

static bool given_up(const struct run *run, uint64_t now)
{
    return run->give_up_ns && now >= run->give_up_ns;
}

/* Whether records in the window will still come out: the head is with a guest, or done. */
static bool window_moves(struct run *run)
{
    return run->head < run->next && run_slot(run, run->head)->state != SLOT_WAITING;
}

static bool finished(struct run *run, uint64_t now)
{
    if (given_up(run, now) || run->output.broken || run->output.error)
        return true;
    if (output_pending(&run->output) > 0)
        return false;
    switch (run->ending) {
    case ENDING_NONE:
        return run->input_ended && run->head == run->next;
    case ENDING_SIGNAL:
    case ENDING_PLUGIN:
        return !window_moves(run);
    default:
        return true;
    }
}

/* Writes when it is worth it, or when there is nothing to wait for. */
static void flush_when_due(struct run *run, uint64_t now)
{
    struct output *output = &run->output;
    size_t pending = output_pending(output);
    if (pending == 0 || output->blocked)
        return;
    bool idle = run->head == run->next || run->ending != ENDING_NONE;
    if (idle || pending >= FLUSH_BYTES || now - output->since_ns >= FLUSH_NS) {
        output_flush(output);
        output->since_ns = now;
    }
    if (output->error)
        say("%s: %s", output->name, strerror(output->error));
    if (output->broken || output->error)
        run_end(run, output->broken ? ENDING_BROKEN : ENDING_IO);
}

static void sooner(uint64_t *due, uint64_t when)
{
    if (when && when < *due)
        *due = when;
}

static int time_to_wait(struct run *run, uint64_t now)
{
    uint64_t due = UINT64_MAX;
    sooner(&due, run->give_up_ns);
    sooner(&due, run->watch.due_ns);
    sooner(&due, run->live_due_ns);
    if (output_pending(&run->output) > 0 && !run->output.blocked)
        sooner(&due, run->output.since_ns + FLUSH_NS);
    if (due == UINT64_MAX)
        return -1;
    return due <= now ? 0 : (int)((due - now + MS - 1) / MS);
}

static void wait_and_serve(struct run *run, int timeout)
{
    struct pollfd fds[FD_COUNT] = {
        [FD_HOST] = {.fd = halter_fd(run->host), .events = POLLIN},
        [FD_SIGNALS] = {.fd = run->signals_fd, .events = POLLIN},
        [FD_WATCH] = {.fd = run->watch.fd, .events = POLLIN},
        /* Without an event asked for, poll() still reports the reader's leaving. */
        [FD_OUTPUT] = {.fd = run->output.way == OUTPUT_BLOCKS ? -1 : run->output.fd,
                       .events = run->output.blocked ? POLLOUT : 0},
        [FD_INPUT] = {.fd = run->want_input ? run->input.fd : -1, .events = POLLIN},
    };
    if (poll(fds, FD_COUNT, timeout) < 0)
        return;
    if (fds[FD_SIGNALS].revents)
        take_signals(run);
    if (fds[FD_WATCH].revents)
        watch_read(&run->watch, now_ns());
    if (fds[FD_OUTPUT].revents & (POLLERR | POLLHUP)) {
        run->output.broken = true;
        run_end(run, ENDING_BROKEN);
    } else if (fds[FD_OUTPUT].revents & POLLOUT) {
        output_flush(&run->output);
    }
    if (fds[FD_INPUT].revents) {
        input_fill(&run->input);
        run->want_input = false;
    }
    if (fds[FD_HOST].revents && halter_dispatch(run->host, 0) < 0) {
        say("the library gave up: %s", strerror(errno));
        run_end(run, ENDING_HALTER);
    }
}

static void serve_clock(struct run *run, uint64_t now)
{
    if (watch_changed(&run->watch, now))
        run_reload(run);
    if (run->live_due_ns && now >= run->live_due_ns) {
        report_live(run, now);
        run->live_due_ns = now + (say_has_screen(STDERR_FILENO) ? LIVE_TERMINAL_NS : LIVE_LINE_NS);
    }
}

void run_loop(struct run *run)
{
    for (;;) {
        run_submit(run);
        uint64_t now = run->now = now_ns();
        serve_clock(run, now);
        flush_when_due(run, now);
        if (finished(run, now))
            return;
        wait_and_serve(run, time_to_wait(run, now));
    }
}
