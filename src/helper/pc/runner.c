/* runner.c: see runner.h. */
#include "runner.h"

#include <stdlib.h>
#include <string.h>

static void console_out(void *opaque, unsigned uart, uint8_t byte)
{
    struct runner *runner = opaque;

    runner->host.console_out(runner->host.opaque, uart, byte);
}

static void log_line(void *opaque, enum pc_log level, const char *text)
{
    struct runner *runner = opaque;

    runner->host.log(runner->host.opaque, level, text);
}

static void block(void *opaque, unsigned disk, const struct pc_block_request *request)
{
    struct runner *runner = opaque;

    runner->host.block(runner->host.opaque, runner->pc, disk, request);
}

const char *runner_init(struct runner *runner, const struct runner_config *config,
                        const struct runner_host *host)
{
    struct pc_ports ports = {
        .opaque = runner,
        .ram = config->ram,
        .ram_bytes = config->ram_bytes,
        .console_out = console_out,
        .block = block,
        .log = log_line,
    };
    size_t bytes = (pc_bytes(config->ram_bytes) + 63) & ~(size_t)63;
    const char *wrong;

    *runner = (struct runner){.config = config, .host = *host};
    runner->memory = aligned_alloc(64, bytes);
    if (!runner->memory)
        return "there is no memory for the machine";
    runner->pc = pc_init(runner->memory, &config->pc, &ports);
    if (!runner->pc)
        return "a PC cannot have this much RAM, or such disks";
    wrong =
        config->resume ? pc_load(runner->pc, *config->resume) : pc_boot(runner->pc, &config->image);
    if (wrong)
        return wrong;
    runner->stats.boots = 1;
    return NULL;
}

void runner_destroy(struct runner *runner)
{
    free(runner->memory);
    runner->memory = NULL;
    runner->pc = NULL;
}

static enum pc_stop run_slice(struct runner *runner)
{
    struct runner_host *host = &runner->host;
    uint64_t now = host->now_ns(host->opaque), before = pc_insns(runner->pc);
    struct pc_budget budget = pace_slice(&runner->pace, now, pc_now_ns(runner->pc));
    enum pc_stop stop = PC_BUDGET;

    if (runner->config->icount_q16 && runner->config->slice_insns)
        budget.max_insns = runner->config->slice_insns;
    if (budget.max_insns) {
        stop = pc_run(runner->pc, budget);
        runner->stats.slices++;
        pace_measure(&runner->pace, pc_insns(runner->pc) - before,
                     host->now_ns(host->opaque) - now);
    }
    return stop;
}

/* How long to sleep after a slice: a halted guest until its next event, a busy one not at all
 * unless it is ahead. In deterministic time a halted guest wants nothing but input. */
static uint64_t nap_after(struct runner *runner, enum pc_stop stop)
{
    struct runner_host *host = &runner->host;
    uint64_t wanted = pc_now_ns(runner->pc);

    if (stop == PC_IDLE)
        wanted = pc_next_event_ns(runner->pc);
    if (runner->config->icount_q16)
        return stop == PC_IDLE ? UINT64_MAX : 0;
    return pace_nap_ns(&runner->pace, host->now_ns(host->opaque), wanted);
}

static bool reboot(struct runner *runner)
{
    const char *wrong;

    if (!runner->config->image.kernel)
        return false;
    pc_reset(runner->pc);
    wrong = pc_boot(runner->pc, &runner->config->image);
    if (wrong)
        log_line(runner, PC_LOG_ERROR, wrong);
    runner->stats.boots++;
    return !wrong;
}

enum pc_stop runner_run(struct runner *runner)
{
    struct runner_host *host = &runner->host;

    pace_init(&runner->pace, runner->config->icount_q16, host->now_ns(host->opaque),
              pc_now_ns(runner->pc));
    for (;;) {
        enum pc_stop stop = run_slice(runner);
        uint64_t nap, began;

        if (stop == PC_OFF || stop == PC_SHUTDOWN)
            return stop;
        if (stop == PC_RESET && (runner->config->no_reboot || !reboot(runner)))
            return stop;
        nap = nap_after(runner, stop);
        began = host->now_ns(host->opaque);
        if (!host->attend(host->opaque, runner->pc, nap))
            return PC_PAUSED;
        runner->stats.slept_ns += nap ? host->now_ns(host->opaque) - began : 0;
        runner->stats.lost_ns = runner->pace.lost_ns;
    }
}
