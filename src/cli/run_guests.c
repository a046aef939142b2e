/*
 * The guests of a run: made, followed through loads, deaths and quarantine, and given a new
 * version of their plugin. A guest that cannot go on hands its records back (run_stream.c) and the
 * others go on; without any, the run ends, or, under --watch, waits for a better version.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run.h"
#include "cli/say.h"

#define LAUNCHERS_TRIED 5

static struct halter_plugin_options plugin_options(struct run *run, struct job *job)
{
    const struct run_config *config = &run->config;
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    options.path = config->plugin;
    options.load_deadline_ms = config->load_deadline_ms;
    options.deadline_ms = config->deadline_ms;
    options.wall_cap_ms = config->wall_cap_ms;
    options.memory_bytes = config->memory_bytes;
    options.no_jit = config->no_jit;
    options.queue_max = GUEST_DEPTH;
    options.quarantine_after = (uint32_t)config->quarantine_after;
    options.data = job;
    options.manifest = run->plugin.manifest;
    options.manifest_bytes = run->plugin.manifest_bytes;
    options.grants = run->plugin.grants;
    return options;
}

bool run_make_guests(struct run *run)
{
    for (unsigned i = 0; i < run->config.jobs; i++) {
        struct job *job = &run->jobs[i];
        *job = (struct job){.run = run, .usable = true};
        struct halter_plugin_options options = plugin_options(run, job);
        char why[512] = "";
        options.why = why;
        options.why_bytes = sizeof why;
        int status = halter_plugin_create(run->host, &options, &job->guest);
        if (status == HALTER_OK)
            continue;
        if (status == HALTER_ESYSTEM)
            say("%s: %s", run->config.plugin, strerror(errno));
        else if (status == HALTER_EMANIFEST)
            say("%s", why);
        else
            say("%s: no guest can be made: %s", run->config.plugin, halter_strerror(status));
        return false;
    }
    return true;
}

void run_check_usable(struct run *run)
{
    bool quarantined = false;
    for (unsigned i = 0; i < run->config.jobs; i++) {
        if (run->jobs[i].usable)
            return;
        quarantined |= run->jobs[i].quarantined;
    }
    if (run->ending != ENDING_NONE)
        return;
    if (run->config.watch) {
        say("%s: waiting for a new version", run->config.plugin);
        return;
    }
    run->load_failed = !quarantined;
    run_end(run, ENDING_PLUGIN);
}

/* "plugin.js:3:7: SyntaxError: Unexpected token" */
static void say_script_error(struct run *run, const char *what,
                             const struct halter_script_error *error)
{
    const char *file = error->file[0] ? error->file : run->config.plugin;
    if (error->line)
        say("%s: %s:%u:%u: %s: %s", what, file, error->line, error->column, error->name,
            error->message);
    else
        say("%s: %s: %s: %s", what, file, error->name, error->message);
}

static void say_death(const char *what, const struct halter_death *death)
{
    char extra[128] = "";
    if (death->reason == HALTER_DEATH_SIGNAL)
        snprintf(extra, sizeof extra, " (%s)", strsignal(death->signal));
    else if (death->reason == HALTER_DEATH_EXIT)
        snprintf(extra, sizeof extra, " (status %d)", death->exit_status);
    else if (death->reason == HALTER_DEATH_SYSCALL)
        snprintf(extra, sizeof extra, " (%s, number %d)", death->syscall ? death->syscall : "?",
                 death->syscall_number);
    say("%s: %s%s%s%s", what, halter_death_text(death->reason), extra, death->detail[0] ? ": " : "",
        death->detail);
}

static void load_failed(struct run *run, struct job *job, const struct halter_event *event)
{
    bool first = true; /* --jobs guests fail alike: one message is enough */
    for (unsigned i = 0; i < run->config.jobs; i++)
        first &= run->jobs[i].usable || &run->jobs[i] == job;
    if (first && job->usable && event->error)
        say_script_error(run, "the plugin does not load", event->error);
    else if (first && job->usable && event->death)
        say_death("the plugin does not load", event->death);
    job->usable = false;
    run_check_usable(run);
}

/* The plugin as its files are now; what keeps it from being had is said. */
static int reload(struct run *run, struct job *job)
{
    const struct plugin *plugin = &run->plugin;
    char why[512] = "";
    int status = plugin->manifest
                     ? halter_guest_manifest(job->guest, plugin->manifest, plugin->manifest_bytes,
                                             plugin->grants, why, sizeof why)
                     : halter_guest_reload(job->guest, NULL, 0);
    if (status == HALTER_EMANIFEST)
        say("%s", why);
    else if (status != HALTER_OK && status != HALTER_EBUSY)
        say("%s: cannot be reloaded: %s", run->config.plugin,
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
    return status;
}

static void reload_ended(struct run *run, struct job *job, const struct halter_event *event)
{
    bool first = job == &run->jobs[0];
    if (event->type == HALTER_EVENT_RELOADED) {
        job->usable = true;
        job->quarantined = false;
        if (first && !run->config.quiet)
            say("%s: reloaded", run->config.plugin);
    } else if (first && event->error) {
        say_script_error(run, "the new version does not load, the old one stays", event->error);
    } else if (first && event->death) {
        say_death("the new version does not load, the old one stays", event->death);
    }
    if (job->reload_due) {
        job->reload_due = false;
        if (reload(run, job) == HALTER_EBUSY)
            job->reload_due = true;
    }
}

/* Deaths that no record's failure tells about. */
static void died(struct run *run, const struct halter_death *death)
{
    if ((death->call == 0 || death->loading) && death->reason != HALTER_DEATH_KILLED &&
        !death->final && report_may_speak(run))
        say_death(death->loading ? "the plugin's process died while loading"
                                 : "the plugin's process died between two records",
                  death);
}

static void quarantined(struct run *run, struct job *job, const struct halter_event *event)
{
    job->usable = false;
    job->quarantined = true;
    say("%s: in quarantine after %llu deaths in a row without a result; the last: %s",
        run->config.plugin, (unsigned long long)run->config.quarantine_after,
        event->death ? halter_death_text(event->death->reason) : "unknown");
    run_check_usable(run);
}

/* It is replaced by the library; one that never lives long enough to be of use is given up. */
static void launcher_lost(struct run *run)
{
    run->launchers_lost = run->head == run->done_at_loss ? run->launchers_lost + 1 : 1;
    run->done_at_loss = run->head;
    if (run->launchers_lost < LAUNCHERS_TRIED) {
        say("the launcher died and is being replaced");
        return;
    }
    say("the launcher died %d times and nothing was done in between", LAUNCHERS_TRIED);
    run_end(run, ENDING_HALTER);
}

void run_on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    struct run *run = data;
    struct job *job = event->guest ? halter_guest_data(event->guest) : NULL;
    bool quiet = run->config.quiet;
    (void)host;
    switch (event->type) {
    case HALTER_EVENT_LOADED:
        if (job)
            job->usable = true;
        break;
    case HALTER_EVENT_LOAD_FAILED:
        if (job)
            load_failed(run, job, event);
        break;
    case HALTER_EVENT_RELOADED:
    case HALTER_EVENT_RELOAD_FAILED:
        if (job)
            reload_ended(run, job, event);
        break;
    case HALTER_EVENT_DEATH:
        if (event->death)
            died(run, event->death);
        break;
    case HALTER_EVENT_QUARANTINED:
        if (job)
            quarantined(run, job, event);
        break;
    case HALTER_EVENT_LOG:
        if (!quiet)
            say("%s: %s: %s", run->config.plugin, levels[event->level & 3], event->text);
        break;
    case HALTER_EVENT_STDERR:
        if (!quiet)
            say("%s: stderr: %s", run->config.plugin, event->text);
        break;
    case HALTER_EVENT_DROPPED:
        if (!quiet)
            say("%s: %llu more lines were dropped", run->config.plugin,
                (unsigned long long)event->count);
        break;
    case HALTER_EVENT_DENIED:
        if (report_may_speak(run))
            say("%s: denied: host.%s: %s", run->config.plugin, event->name, event->text);
        break;
    case HALTER_EVENT_AUDIT:
        say("%s: audit: host.%s: %s", run->config.plugin, event->name, event->text);
        break;
    case HALTER_EVENT_LAUNCHER_LOST:
        launcher_lost(run);
        break;
    default:
        break;
    }
}

/* Reads plugin.json again. False when it is not to be had (said): what runs, runs on as it is. */
static bool reread_manifest(struct run *run)
{
    struct plugin *old = &run->plugin, new;
    if (!old->manifest_path)
        return true;
    bool fine = plugin_open(&new, old->manifest_path, &run->config.grants) == EXIT_OK;
    if (fine && strcmp(new.script, old->script) != 0) {
        say("%s: the entry is another file now: start anew to run it", old->manifest_path);
        fine = false;
    }
    if (!fine) {
        plugin_close(&new);
        return false;
    }
    /* The paths are the same, and those of the old one are borrowed in many places. */
    char *script = new.script, *path = new.manifest_path;
    new.script = old->script;
    new.manifest_path = old->manifest_path;
    old->script = script;
    old->manifest_path = path;
    plugin_close(old);
    run->plugin = new;
    return true;
}

void run_reload(struct run *run)
{
    if (!reread_manifest(run))
        return;
    for (unsigned i = 0; i < run->config.jobs; i++) {
        struct job *job = &run->jobs[i];
        int status = reload(run, job);
        if (status == HALTER_EBUSY)
            job->reload_due = true;
        else if (status == HALTER_OK && job->quarantined &&
                 halter_guest_state(job->guest) == HALTER_GUEST_QUARANTINED)
            halter_guest_reset(job->guest);
    }
}
