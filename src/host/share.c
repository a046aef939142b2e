/*
 * The share of a processor that a guest may use. The host counts the CPU time of its processes, one
 * after the other, against a credit that grows at the share's rate and holds what ten seconds of it
 * give: so much may be used in one go. Who is in debt is killed, and comes back when half of the
 * credit has grown again. Throttling would say less: the guest would only miss a deadline, and
 * would be told to be slow where it was greedy.
 */
#include <poll.h>
#include <stdio.h>

#include "host/internal.h"

#define WINDOW_NS    10000000000ull
#define LOOK_MS      50   /* while it works: what it may use beyond its credit */
#define LOOK_IDLE_MS 1000 /* a script only runs in a call; a helper that was taken over may not wait */

static int64_t capacity(const struct cpu_share *share)
{
    return (int64_t)(WINDOW_NS / 100 * share->percent);
}

void share_reset(struct cpu_share *share)
{
    share->credit_ns = capacity(share);
    share->looked_ns = monotonic_ns();
}

void share_init(struct cpu_share *share, uint32_t percent)
{
    share->percent = percent;
    share_reset(share);
}

static void grow(struct cpu_share *share, uint64_t now_ns)
{
    uint64_t grown = (now_ns - share->looked_ns) / 100 * share->percent;
    int64_t most = capacity(share);
    share->looked_ns = now_ns;
    share->credit_ns =
        grown >= (uint64_t)(most - share->credit_ns) ? most : share->credit_ns + (int64_t)grown;
}

/* Its CPU time so far; what was known where the process is gone and the number may be another's. */
static uint64_t used_by(const struct process *process)
{
    struct pollfd ended = {.fd = process->pidfd, .events = POLLIN};
    if (process->evidence.reported)
        return process->evidence.cpu_ns;
    uint64_t used = process_cpu_ns(process);
    if (process->pidfd < 0 || poll(&ended, 1, 0) != 0)
        return process->cpu_charged_ns;
    return used;
}

void share_charge(struct halter_guest *guest, struct process *process)
{
    struct cpu_share *share = &guest->share;
    uint64_t used = share->percent ? used_by(process) : 0;

    if (!share->percent)
        return;
    grow(share, monotonic_ns());
    if (used > process->cpu_charged_ns) {
        share->credit_ns -= (int64_t)(used - process->cpu_charged_ns);
        process->cpu_charged_ns = used;
    }
}

static void look_within(struct process *process, uint64_t ms)
{
    uint64_t when_ns = monotonic_ns() + ms * NS_PER_MS;
    struct timer *timer = &process->share_look;
    if (!timer->index || timer->when_ns > when_ns)
        timer_arm(&process->host->timers, timer, when_ns);
}

static void look(struct timer *timer, uint64_t now_ns)
{
    struct process *process = list_entry(timer, struct process, share_look);
    struct halter_guest *guest = process->guest;
    char detail[96];

    (void)now_ns;
    if (!guest)
        return;
    share_charge(guest, process);
    if (guest->share.credit_ns < 0) {
        snprintf(detail, sizeof(detail), "more than %u %% of a processor over 10 seconds",
                 guest->share.percent);
        process_kill(process, HALTER_DEATH_CPU, detail);
        return;
    }
    look_within(process, process->load_id || process->nsent ? LOOK_MS : LOOK_IDLE_MS);
}

void share_process_init(struct process *process)
{
    process->share_look.fire = look;
}

void share_adopt(struct halter_guest *guest, struct process *process)
{
    if (guest->share.percent)
        process->cpu_charged_ns = used_by(process); /* what it used as a spare was nobody's */
}

void share_working(struct process *process)
{
    if (process->guest->share.percent)
        look_within(process, LOOK_MS);
}

uint32_t share_wait_ms(struct halter_guest *guest)
{
    struct cpu_share *share = &guest->share;
    int64_t missing = capacity(share) / 2 - share->credit_ns;

    if (!share->percent || share->credit_ns >= 0)
        return 0;
    return (uint32_t)((uint64_t)missing * 100 / share->percent / NS_PER_MS) + 1;
}
