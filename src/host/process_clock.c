/*
 * The clocks of one helper process: the deadline of its hello, of a load and of a call, which stands
 * still while the host works on a reverse call; and the looks at its memory where no cgroup counts
 * it. Whatever has come in before a deadline is read before it ends anything.
 */
#include <stdio.h>

#include "host/internal.h"

#define MEMORY_LOOK_MS 20

static void hello_late(struct process *process)
{
    process_kill(process, HALTER_DEATH_DEADLINE, "no hello within the spawn deadline");
}

static void deadline_fired(struct timer *timer, uint64_t now_ns)
{
    struct process *process = list_entry(timer, struct process, deadline);

    (void)now_ns;
    if (process->state == PROCESS_DYING) {
        process->evidence.hung_up = true;
        snprintf(process->detail, sizeof(process->detail), "closed its socket and lived on");
        process_sigkill(process);
        return;
    }
    /* An answer that lies in the socket came in time: it is read before anything expires. */
    uint64_t load_id = process->load_id;
    struct call *call = process_call(process);
    enum process_state state = process->state;
    for (int i = 0; i < READS_AT_DEADLINE; i++) {
        size_t before = process->reader.end - process->reader.start;
        process_readable(process);
        if (process->state != state || process->load_id != load_id || process_call(process) != call ||
            process->paused_since_ns)
            return;
        if (process->reader.end - process->reader.start == before)
            break;
    }
    if (state == PROCESS_STARTING)
        hello_late(process);
    else
        process_kill(process, HALTER_DEATH_DEADLINE,
                     load_id ? "while loading" : "in a call");
}

static void memory_fired(struct timer *timer, uint64_t now_ns)
{
    struct process *process = list_entry(timer, struct process, memory_look);
    uint64_t resident = process_resident_bytes(process);

    if (process->guest && resident > process->guest->memory_bytes) {
        if (resident > process->evidence.peak_bytes)
            process->evidence.peak_bytes = resident;
        process_kill(process, HALTER_DEATH_MEMORY, "resident memory above the limit");
        return;
    }
    timer_arm(&process->host->timers, timer, now_ns + MEMORY_LOOK_MS * NS_PER_MS);
}

void process_clocks_init(struct process *process)
{
    process->deadline.fire = deadline_fired;
    process->memory_look.fire = memory_fired;
}

void process_start_clocks(struct process *process, uint64_t now, uint32_t deadline_ms,
                         uint32_t wall_cap_ms, uint64_t id)
{
    struct halter_host *host = process->host;

    process->paused_since_ns = 0;
    timer_arm(&host->timers, &process->deadline, now + deadline_ms * NS_PER_MS);
    launcher_arm(host, process, now + wall_cap_ms * NS_PER_MS, id);
    if (!(host->launcher.features & CONTROL_HAS_CGROUP) &&
        process->guest->memory_bytes != UINT64_MAX)
        timer_arm(&host->timers, &process->memory_look, now + MEMORY_LOOK_MS * NS_PER_MS);
    share_working(process);
}

void process_pause(struct process *process, uint64_t now_ns)
{
    if (process->paused_since_ns || !process->deadline.index)
        return;
    process->paused_left_ns =
        process->deadline.when_ns > now_ns ? process->deadline.when_ns - now_ns : 1;
    process->paused_since_ns = now_ns;
    timer_cancel(&process->host->timers, &process->deadline);
}

void process_resume(struct process *process, uint64_t now_ns)
{
    if (!process->paused_since_ns)
        return;
    struct call *call = process_call(process);
    if (call)
        call->host_ns += now_ns - process->paused_since_ns;
    process->paused_since_ns = 0;
    timer_arm(&process->host->timers, &process->deadline, now_ns + process->paused_left_ns);
}

uint64_t process_settle(struct process *process, uint64_t now_ns)
{
    struct halter_host *host = process->host;
    struct call *call = process_call(process);
    uint64_t host_ns = call ? call->host_ns : 0;

    if (process->paused_since_ns)
        host_ns += now_ns - process->paused_since_ns;
    process->paused_since_ns = 0;
    timer_cancel(&host->timers, &process->deadline);
    timer_cancel(&host->timers, &process->memory_look);
    launcher_disarm(host, process);
    return host_ns;
}
