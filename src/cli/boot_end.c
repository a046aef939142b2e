/*
 * How a PC's run ended, in words and as the command's status; and what it says about itself: what
 * the run cost, its hash, its state.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/boot.h"
#include "cli/say.h"
#include "wire/json.h"

/* A member of the machine's last report, 0 where it is not there. */
static uint64_t figure(struct json_value report, const char *name)
{
    struct json_value value;
    int64_t number;

    if (!json_member(report, name, &value) || !json_integer(value, 0, INT64_MAX, &number))
        return 0;
    return (uint64_t)number;
}

static void print_stats(struct json_value r)
{
    double wall = (double)figure(r, "wallNs") / 1e9, slept = (double)figure(r, "sleptNs") / 1e9;
    double insns = (double)figure(r, "ranInsns"), awake = wall - slept > 1e-6 ? wall - slept : 1e-6;

    say("%.3f G instructions, %.3f s guest, %.3f s wall, %.3f s asleep, %.1f MIPS, %" PRIu64
        " slices, %" PRIu64 " boots, %.3f s given up",
        insns / 1e9, (double)figure(r, "guestNs") / 1e9, wall, slept, insns / 1e6 / awake,
        figure(r, "slices"), figure(r, "boots"), (double)figure(r, "lostNs") / 1e9);
}

void boot_print_report(const char *json)
{
    struct json_value lines, line;
    char text[1024];
    size_t at = 0;

    if (!json_member(json_root(json, strlen(json)), "report", &lines) || lines.type != JSON_ARRAY)
        return;
    while (json_next(lines, &at, NULL, &line))
        if (line.type == JSON_STRING && json_string(line, text, sizeof text) >= 0)
            say_plain("  %s\n", text);
}

void boot_print_death(const struct boot *boot, const struct halter_death *death)
{
    if (death->reason == HALTER_DEATH_DEADLINE && !death->loading)
        say("the machine did not answer for %g s: killed", boot->config.pc.heartbeat_ms / 1e3);
    else if (death->reason == HALTER_DEATH_SIGNAL)
        say("the machine's process died of signal %d (%s)", death->signal,
            strsignal(death->signal));
    else if (death->reason == HALTER_DEATH_EXIT)
        say("the machine's process ended with status %d", death->exit_status);
    else
        say("the machine's process died: %s%s%s", halter_death_text(death->reason),
            death->detail[0] ? ": " : "", death->detail);
}

static int status_of(const struct boot *boot, const struct halter_pc_end *end)
{
    switch (end->reason) {
    case HALTER_PC_OFF:
    case HALTER_PC_UNTIL:
        return BOOT_OFF;
    case HALTER_PC_RESET:
        return BOOT_RESET;
    case HALTER_PC_TRIPLE_FAULT:
        say("triple fault");
        boot_print_report(end->report_json);
        return BOOT_TRIPLE_FAULT;
    case HALTER_PC_TIMEOUT:
        say("the time is up");
        return BOOT_TIMEOUT;
    case HALTER_PC_NOT_STARTED:
        say("%s", end->detail);
        return BOOT_NOT_STARTED;
    case HALTER_PC_DIED:
        break;
    }
    boot_print_death(boot, end->death);
    return BOOT_DIED;
}

/* The machine ended before its command, or has no machine to be. True when that is settled. */
static bool ended_early(struct boot *boot, const struct halter_pc_end *end)
{
    if (boot->command.state == COMMAND_ENDED)
        return false;
    if (end->reason == HALTER_PC_NOT_STARTED && boot->cache.resumed) {
        boot->again = true;
        return true;
    }
    if (end->reason == HALTER_PC_TIMEOUT)
        return false;
    if (end->reason != HALTER_PC_NOT_STARTED && end->reason != HALTER_PC_DIED)
        say("the guest ended before its command did; its console said last:");
    command_print_console(&boot->command);
    return false;
}

void boot_ended(struct boot *boot, const struct halter_pc_end *end)
{
    struct json_value report = json_root(end->report_json, strlen(end->report_json)), value;
    char text[256];

    boot->over = true;
    if (boot->config.words && ended_early(boot, end))
        return;
    boot->status = status_of(boot, end);
    if (end->reason == HALTER_PC_NOT_STARTED || end->reason == HALTER_PC_DIED)
        return;
    if (boot->config.stats)
        print_stats(report);
    if (json_member(report, "hash", &value) && json_string(value, text, sizeof text) >= 0)
        say("hash %s", text);
    if (json_member(report, "saveWrong", &value) && json_string(value, text, sizeof text) >= 0) {
        say("%s: %s", boot->config.save, text);
        boot->status = BOOT_NOT_STARTED;
    }
}
