/*
 * A PC that outlives its helper: snapshots are taken as it runs, into memory of the host's, and
 * when the helper dies another one goes on from the last of them, or from the start while there is
 * none. What the guest did since is lost, and what it printed since comes again.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/pc.h"
#include "wire/json.h"

#define BUSY_MS 50 /* something else is being asked: soon again */

static void arm(struct halter_pc *pc, uint64_t ms)
{
    timer_arm(&pc->host->timers, &pc->snapshot_timer, monotonic_ns() + ms * NS_PER_MS);
}

static void drop_draft(struct halter_pc *pc)
{
    if (pc->draft >= 0)
        close(pc->draft);
    pc->draft = -1;
}

static uint64_t figure(const char *json, const char *name)
{
    struct json_value value;
    int64_t n = 0;

    if (json_member(json_root(json, strlen(json)), name, &value))
        json_integer(value, 0, INT64_MAX, &n);
    return (uint64_t)n;
}

static void taken(struct halter_pc *pc, const char *wrong, const char *json, void *data)
{
    (void)data;
    if (wrong) {
        drop_draft(pc);
        if (pc->on_log && pc->process)
            pc->on_log(pc, HALTER_WARN, wrong, pc->data);
    } else {
        if (pc->snapshot >= 0)
            close(pc->snapshot);
        pc->snapshot = pc->draft;
        pc->draft = -1;
        pc->snapshot_ns = monotonic_ns();
        pc->snapshot_step = (uint32_t)figure(json, "step");
        pc->snapshot_sent = (uint32_t)figure(json, "sent");
        pc->restarts_left = pc->restarts;
    }
    if (!pc->ended && !pc->closing)
        arm(pc, pc->snapshot_every_ms);
}

static void snapshot_fired(struct timer *timer, uint64_t now_ns)
{
    struct halter_pc *pc = list_entry(timer, struct halter_pc, snapshot_timer);

    (void)now_ns;
    if (!pc->loaded || pc->order.id || pc->ended || pc->closing) {
        if (!pc->ended && !pc->closing)
            arm(pc, BUSY_MS);
        return;
    }
    pc->draft = memfd_create("halter-snapshot", MFD_CLOEXEC);
    if (pc->draft < 0 || halter_pc_save(pc, pc->draft, taken, NULL) != HALTER_OK) {
        drop_draft(pc);
        arm(pc, pc->snapshot_every_ms);
    }
}

void pc_again_init(struct halter_pc *pc, const struct halter_pc_options *o)
{
    pc->snapshot = pc->draft = -1;
    pc->snapshot_every_ms = o->snapshot_every_ms;
    pc->restarts = pc->restarts_left = o->restarts;
    pc->on_restart = o->on_restart;
    pc->created_ns = monotonic_ns();
    pc->timeout_ms = o->timeout_ms;
    pc->snapshot_timer.fire = snapshot_fired;
}

void pc_again_started(struct halter_pc *pc)
{
    if (pc->snapshot_every_ms)
        arm(pc, pc->snapshot_every_ms);
}

void pc_again_finish(struct halter_pc *pc)
{
    timer_cancel(&pc->host->timers, &pc->snapshot_timer);
    drop_draft(pc);
    if (pc->snapshot >= 0)
        close(pc->snapshot);
    pc->snapshot = -1;
}

bool pc_again_may(const struct halter_pc *pc, const struct halter_death *death)
{
    switch (death->reason) {
    case HALTER_DEATH_SPAWN:
    case HALTER_DEATH_CONFINEMENT: /* the next one would fare no better */
    case HALTER_DEATH_LAUNCHER:
    case HALTER_DEATH_KILLED:
        return false;
    default:
        return pc->restarts_left > 0 && !pc->closing && !pc->ended;
    }
}

void pc_again_tell(struct halter_pc *pc, const struct halter_death *death)
{
    uint64_t since = pc->snapshot >= 0 ? pc->snapshot_ns : pc->created_ns;

    pc->restarts_left--;
    if (!pc->on_restart)
        return;
    host_enter(pc->host);
    pc->on_restart(pc, death, (monotonic_ns() - since) / NS_PER_MS, pc->data);
    host_leave(pc->host);
}

/* Of two members of one name the last one counts: so these go behind what it was told at first. */
void pc_again_config(const struct halter_pc *pc, char *text, size_t capacity)
{
    uint64_t ran_ms = (monotonic_ns() - pc->created_ns) / NS_PER_MS;
    int n = 0;

    *text = '\0';
    if (pc->timeout_ms && pc->generations > 1)
        n = snprintf(text, capacity, ",\"timeoutMs\":%llu",
                     (unsigned long long)(ran_ms < pc->timeout_ms ? pc->timeout_ms - ran_ms : 1));
    if (pc->snapshot >= 0)
        snprintf(text + n, capacity - (size_t)n, ",\"resume\":%u,\"step\":%u,\"sent\":%u", pc->nfds,
                 pc->snapshot_step, pc->snapshot_sent);
}
