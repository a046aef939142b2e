/*
 * `halter run PLUGIN [FILE…]`: every record of the input goes through the plugin's transform, and
 * the results come out in order. This file reads the options, sets a run up and takes it down;
 * run.h shows what happens in between.
 */
#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/say.h"
#include "cli/start.h"
#include "cli/verbs.h"

#define MAX_RECORD_BYTES (1u << 30)
#define FRAME_BYTES_MIN  16384
#define ENVELOPE_BYTES   4096 /* what a frame holds beside the record */

enum {
    RUN_DEADLINE,
    RUN_JOBS,
    RUN_ON_ERROR,
    RUN_DEAD_LETTER,
    RUN_DOCUMENT,
    RUN_TEXT,
    RUN_OUTPUT,
    RUN_WATCH,
    RUN_STATS,
    RUN_SUMMARY,
    RUN_LIVE,
    RUN_MAX_RECORD,
    RUN_MEMORY,
    RUN_LOAD_DEADLINE,
    RUN_WALL_CAP,
    RUN_QUARANTINE,
    RUN_NO_JIT,
    RUN_GRANT,
    RUN_GRANTS,
    RUN_STATE, RUN_CA_FILE,
    RUN_AUDIT,
    RUN_STATUS,
    RUN_QUIET,
};

const struct option_spec run_options[] = {
    [RUN_DEADLINE] = {"deadline", 'd', "MS", "kill the plugin when a record takes longer (1000)"},
    [RUN_JOBS] = {"jobs", 'j', "N", "guests that work at the same time, order kept (1)"},
    [RUN_ON_ERROR] = {"on-error", 'e', "WHAT",
                      "of a record that fails: stop the run, skip it, or write\n"
                      "null in its place (stop)"},
    [RUN_DEAD_LETTER] = {"dead-letter", 0, "FILE",
                         "write failed records and why they failed there"},
    [RUN_DOCUMENT] = {"document", 'D', NULL, "each file is one JSON document, not one a line"},
    [RUN_TEXT] = {"text", 't', NULL,
                  "lines are plain text: transform gets a string, and a\n"
                  "string that it returns is written without quotes"},
    [RUN_OUTPUT] = {"output", 'o', "FILE", "write results there, not to standard output"},
    [RUN_WATCH] = {"watch", 'w', NULL, "load the plugin anew when it or its plugin.json changes"},
    [RUN_STATS] = {"stats", 0, "[FILE]", "figures as JSON at the end, to standard error or FILE"},
    [RUN_STATUS] = {"status", 0, "SOCKET", "open a status socket there, for halter top"},
    [RUN_SUMMARY] = {"summary", 's', NULL, "figures for people at the end, on standard error"},
    [RUN_LIVE] = {"live", 0, "WHEN", "the line of progress: auto, always or never (auto)"},
    [RUN_MAX_RECORD] = {"max-record", 0, "BYTES", "longest record taken, and longest result (64M)"},
    [RUN_MEMORY] = {"memory", 'm', "BYTES", "kill a guest above this much memory (512M)"},
    [RUN_LOAD_DEADLINE] = {"load-deadline", 0, "MS", "for the plugin's top level (2000)"},
    [RUN_WALL_CAP] = {"wall-cap", 0, "MS",
                      "for a record with all the host does for it (10 × the\n"
                      "deadline)"},
    [RUN_QUARANTINE] = {"quarantine", 0, "N",
                        "give a guest up after N deaths in a row without a result;\n"
                        "0: never (5)"},
    [RUN_NO_JIT] = {"no-jit", 0, NULL, "run the plugin in the interpreter, as the kernel enforces"},
    [RUN_GRANT] = {"grant", 'g', "GRANT",
                   "let the plugin do that: network:https://api.example.org,\n"
                   "state:read, files:NAME:read=/FOLDER, all, ...; repeatable"},
    [RUN_GRANTS] = {"grants", 0, "FILE", "grants by the plugins' names"},
    [RUN_STATE] = {"state", 0, "FILE", "keep the plugin's state there"},
    [RUN_CA_FILE] = {"ca-file", 0, "FILE", "authorities that https is checked by, in place of the system's"},
    [RUN_AUDIT] = {"audit", 0, NULL, "say on standard error what the plugin does with its grants"},
    [RUN_QUIET] = {"quiet", 'q', NULL, "no lines from the plugin, no message for a failed record"},
    {0},
};

static const char *const on_error_words[] = {"stop", "skip", "null", NULL};
static const char *const live_words[] = {"never", "auto", "always", NULL};

/* One option into the configuration; false when its value is wrong (said). */
static bool take_option(struct run_config *config, int option, const char *value)
{
    const char *name = run_options[option].name;
    uint64_t number = 0;
    switch (option) {
    case RUN_DEADLINE:
        return option_ms(name, value, &config->deadline_ms);
    case RUN_LOAD_DEADLINE:
        return option_ms(name, value, &config->load_deadline_ms);
    case RUN_WALL_CAP:
        return option_ms(name, value, &config->wall_cap_ms);
    case RUN_JOBS:
        if (!option_count(name, value, 1, MAX_JOBS, &number))
            return false;
        config->jobs = (unsigned)number;
        return true;
    case RUN_ON_ERROR:
        return option_word(name, value, on_error_words, &config->on_error);
    case RUN_LIVE:
        return option_word(name, value, live_words, &config->live);
    case RUN_MAX_RECORD:
        if (!option_bytes(name, value, &config->cap_bytes))
            return false;
        if (config->cap_bytes <= MAX_RECORD_BYTES - ENVELOPE_BYTES)
            return true;
        if (config->cap_bytes == MAX_RECORD_BYTES) {
            config->cap_bytes -= ENVELOPE_BYTES;
            return true;
        }
        say("--max-record is at most 1G");
        return false;
    case RUN_MEMORY:
        return option_bytes(name, value, &config->memory_bytes);
    case RUN_QUARANTINE:
        if (!option_count(name, value, 0, 1000000, &config->quarantine_after))
            return false;
        if (config->quarantine_after == 0)
            config->quarantine_after = UINT32_MAX;
        return true;
    case RUN_DEAD_LETTER:
        config->dead_letter_path = value;
        break;
    case RUN_OUTPUT:
        config->output_path = value;
        break;
    case RUN_STATS:
        config->stats = true;
        config->stats_path = value;
        break;
    case RUN_STATUS:
        config->status_path = value;
        break;
    case RUN_DOCUMENT:
        config->document = true;
        break;
    case RUN_TEXT:
        config->text = true;
        break;
    case RUN_WATCH:
        config->watch = true;
        break;
    case RUN_SUMMARY:
        config->summary = true;
        break;
    case RUN_NO_JIT:
        config->no_jit = true;
        break;
    case RUN_GRANT:
        return grant_option(&config->grants, value);
    case RUN_GRANTS:
        return grants_option(&config->grants, value);
    case RUN_STATE:
        config->state_path = value;
        break;
    case RUN_CA_FILE:
        config->ca_file = value;
        break;
    case RUN_AUDIT:
        config->audit = true;
        break;
    case RUN_QUIET:
        config->quiet = true;
        break;
    }
    return true;
}

/* EXIT_OK with a whole configuration, or -1 when --help was given. */
static int read_options(const struct verb *verb, int argc, char **argv, struct run_config *config)
{
    static const char *const standard_input[] = {"-"};
    *config = (struct run_config){
        .jobs = 1, .live = 1, .cap_bytes = 64u << 20, .deadline_ms = 1000, .quarantine_after = 5};
    struct options options;
    options_start(&options, verb->options, argc, argv);
    int option;
    while ((option = options_next(&options)) >= 0)
        if (!take_option(config, option, options.value))
            return EXIT_USAGE;
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return -1;
    }
    if (option == OPTIONS_WRONG)
        return EXIT_USAGE;
    if (options.noperands == 0) {
        say("which plugin? Usage: halter run [OPTION…] %s", verb->synopsis);
        return EXIT_USAGE;
    }
    if (config->document && config->text) {
        say("--document and --text exclude each other");
        return EXIT_USAGE;
    }
    config->plugin = options.operands[0];
    config->inputs = (const char *const *)options.operands + 1;
    config->ninputs = (unsigned)options.noperands - 1;
    if (config->ninputs == 0) {
        config->inputs = standard_input;
        config->ninputs = 1;
    }
    return EXIT_OK;
}

static int make_host(struct run *run)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    /* The plugin itself has to fit too: records are held to their cap where they are read. */
    options.frame_cap_bytes = (uint32_t)run->config.cap_bytes + ENVELOPE_BYTES;
    if (options.frame_cap_bytes < FRAME_BYTES_MIN)
        options.frame_cap_bytes = FRAME_BYTES_MIN;
    options.on_event = run_on_event;
    options.data = run;
    options.state_path = run->config.state_path;
    options.ca_file = run->config.ca_file;
    options.audit = run->config.audit;
    return start_host(&options, &run->host) ? EXIT_OK : EXIT_HALTER;
}

/* Opens everything; on failure what was opened is closed by tear_down(). */
static int set_up(struct run *run)
{
    struct run_config *config = &run->config;
    enum input_form form = config->document ? INPUT_DOCUMENT
                           : config->text   ? INPUT_TEXT
                                            : INPUT_LINES;
    input_start(&run->input, config->inputs, config->ninputs, config->cap_bytes, form);
    int found = plugin_open(&run->plugin, config->plugin, &config->grants);
    if (found != EXIT_OK)
        return found;
    config->plugin = run->plugin.script;
    if (access(config->plugin, R_OK) < 0) {
        say("%s: %s", config->plugin, strerror(errno));
        return EXIT_NOT_LOADED;
    }
    if (!input_check(&run->input))
        return EXIT_IO;
    if (!run_files_differ(config))
        return EXIT_USAGE;
    /* In this order: to open a pipe is to wait for its reader, which a signal has to end. */
    if (!run_open_files(run) || (run->signals_fd = start_signals()) < 0)
        return EXIT_IO;
    run->slots = calloc(WINDOW_RECORDS, sizeof *run->slots);
    if (!run->slots)
        die_without_memory();
    if (config->watch && !watch_start(&run->watch, config->plugin, run->plugin.manifest_path))
        return EXIT_IO;
    run->started_ns = run->now = now_ns();
    bool screen = say_has_screen(STDERR_FILENO) && !run->output.terminal && !config->quiet;
    if (config->live == 2 || (config->live == 1 && screen))
        run->live_due_ns = run->started_ns + 1;
    int status = make_host(run);
    if (status == EXIT_OK && config->status_path) {
        int listening = halter_status_listen(run->host, config->status_path);
        if (listening != HALTER_OK) {
            say("%s: %s", config->status_path,
                listening == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(listening));
            status = EXIT_IO;
        }
    }
    if (status == EXIT_OK && !run_make_guests(run))
        status = EXIT_NOT_LOADED;
    return status;
}

static int exit_status(const struct run *run)
{
    switch (run->ending) {
    case ENDING_STOP:
        return EXIT_STOPPED;
    case ENDING_PLUGIN:
        return run->load_failed ? EXIT_NOT_LOADED : EXIT_QUARANTINED;
    case ENDING_SIGNAL:
        return EXIT_SIGNALED + run->signal;
    case ENDING_BROKEN:
        return EXIT_SIGNALED + SIGPIPE;
    case ENDING_IO:
        return EXIT_IO;
    case ENDING_HALTER:
        return EXIT_HALTER;
    case ENDING_NONE:
        break;
    }
    return run->tally.failed ? EXIT_RECORDS_FAILED : EXIT_OK;
}

/* The order matters: guests end before the records that their calls point to. */
static void tear_down(struct run *run)
{
    halter_destroy(run->host);
    if (run->slots)
        run_drop_window(run);
    free(run->slots);
    plugin_close(&run->plugin);
    input_finish(&run->input);
    watch_finish(&run->watch);
    bool fine = output_close(&run->output);
    fine &= run_close_file(&run->dead_letter, run->config.dead_letter_path);
    fine &= run_close_file(&run->stats, run->config.stats_path);
    if (!fine)
        run_end(run, ENDING_IO);
    if (run->signals_fd >= 0)
        close(run->signals_fd);
}

static int run_main(const struct verb *verb, int argc, char **argv)
{
    static struct run run; /* large, and there is one */
    run.signals_fd = run.watch.fd = run.output.fd = -1;
    int status = read_options(verb, argc, argv, &run.config);
    if (status != EXIT_OK)
        return status < 0 ? EXIT_OK : status;
    status = set_up(&run);
    if (status == EXIT_OK) {
        run_loop(&run);
        say_live(NULL);
        char position[512];
        report_position(&run, position, sizeof position);
        if (run.ending != ENDING_NONE && run.ending != ENDING_BROKEN && position[0])
            say("ended before %s", position);
        report_end(&run);
    }
    tear_down(&run);
    return status == EXIT_OK ? exit_status(&run) : status;
}

const struct verb run_verb = {
    .name = "run",
    .summary = "put every record of a stream through a plugin",
    .synopsis = "PLUGIN [FILE…]",
    .description = "Calls the plugin's transform(raw, ctx) with each line of the files (or of\n"
                   "standard input) as JSON and writes the results in the same order.",
    .options = run_options,
    .main = run_main,
};
