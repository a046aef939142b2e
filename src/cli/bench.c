/*
 * `halter bench [E1 …]`: repeats the measurements that halter's promises rest on, on this machine.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"

enum { BENCH_PEERS, BENCH_JSON, BENCH_HTML, BENCH_SCALE, BENCH_STRICT };

static const struct option_spec bench_options[] = {
    [BENCH_PEERS] = {"peers", 0, "[FOLDER]",
                     "measure what one would build instead, too: Node's\nfork and Worker, isolated-vm and "
                     "QuickJS"},
    [BENCH_JSON] = {"json", 0, "FILE", "write everything, samples included, as JSON"},
    [BENCH_HTML] = {"html", 0, "FILE", "write a page with the distributions drawn"},
    [BENCH_SCALE] = {"scale", 0, "PERCENT", "take so many of the usual samples (1 to 1000)"},
    [BENCH_STRICT] = {"strict", 0, NULL, "exit with 1 when an \"at least\" does not hold"},
    {0},
};

static struct experiment experiments[] = {
    {"E1", "Cold start: a new plugin to its first answer",
     "Alternating; 3 starts of warm-up; the plugin adds one to a number.", .run = bench_start},
    {"E1b", "The same from nothing: host, launcher, engine",
     "Alternating; the page cache is emptied of every file that a helper maps.",
     .run = bench_start_cold},
    {"E2", "Round trip: a snapshot of 50 tabs",
     "20 alternating rounds after 300 calls of warm-up; the same engine code on both sides.",
     .run = bench_trip},
    {"E3", "What one reverse call adds", "Alternating call by call after 300 of warm-up.",
     .run = bench_reverse},
    {"E4", "Deadline to kill to the answer of a new helper; residue",
     "A plugin that hangs under a deadline of 20 ms, with another call queued behind.",
     .run = bench_kill},
    {"E5", "What confinement costs, what the JIT is worth",
     "8 rounds of new helpers, alternating inside each, 200 calls of warm-up.",
     .run = bench_confine},
    {"E6", "Memory, seen from outside", "New guests; 20 calls of warm-up.", .run = bench_memory},
    {"E7", "Descriptors that were passed, in three tiers",
     "A native attacker behind the helper's own confinement.", .run = bench_files},
    {"E8", "A thousand plugins at one time", "One host, one launcher, all of them loaded.",
     .run = bench_thousand, .by_name = true},
};
#define EXPERIMENTS (sizeof experiments / sizeof *experiments)

unsigned bench_count(const struct bench *bench, unsigned usual, unsigned least)
{
    unsigned count = (unsigned)((uint64_t)usual * bench->scale / 100);
    if (bench->scale < 100) /* then speed is wanted, not confidence */
        return count > 2 ? count : 2;
    return count > least ? count : least;
}

void bench_progress(const struct bench *bench, const char *format, ...)
{
    char text[128], line[200];
    va_list arguments;
    if (!isatty(STDERR_FILENO))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "%s: %s", bench->current->id, text);
    say_live(line);
}

/* ---- about the machine ----------------------------------------------------------------------- */

static double load_now(void)
{
    double load = 0.0;
    return getloadavg(&load, 1) == 1 ? load : 0.0;
}

static void describe_machine(struct bench *bench)
{
    char line[512];
    struct utsname name;
    time_t now = time(NULL);
    struct tm local;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(bench->machine, sizeof bench->machine, "%.200s", colon + 2);
            break;
        }
    }
    if (file)
        fclose(file);
    if (uname(&name) == 0)
        snprintf(bench->kernel, sizeof bench->kernel, "%.100s", name.release);
    bench->processors = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    bench->load_before = load_now();
    strftime(bench->date, sizeof bench->date, "%Y-%m-%d %H:%M %z", localtime_r(&now, &local));
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* Beside this program, or where programs of its kind are installed. */
static bool find_program(const char *name, char *out, size_t capacity)
{
    char here[4096];
    ssize_t length = readlink("/proc/self/exe", here, sizeof here - 1);
    if (length <= 0)
        return false;
    here[length] = '\0';
    *strrchr(here, '/') = '\0';
    static const char *const places[] = {"", "/../libexec"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if ((size_t)snprintf(out, capacity, "%s%s/%s", here, places[i], name) < capacity &&
            access(out, X_OK) == 0)
            return true;
    say("%s was not found beside this program", name);
    return false;
}

static bool write_input(const char *path, const char *bytes, size_t count)
{
    FILE *file = fopen(path, "we");
    bool fine = file && fwrite(bytes, 1, count, file) == count;
    if (file)
        fine &= fclose(file) == 0;
    if (!fine)
        say("%s: %s", path, strerror(errno));
    return fine;
}

static void ask_version(struct bench *bench)
{
    const char *argv[] = {bench->engine, "version", NULL};
    struct side *side = bench_side_start(bench, "version", argv);
    if (side) {
        bench_side_ask(side, "version", bench->engine_version, sizeof bench->engine_version);
        bench_side_end(side);
        bench->nsides--;
    }
}

static bool set_up(struct bench *bench)
{
    struct buffer payload = {0};
    const char *named = getenv("HALTER_LAUNCHER");
    if (named)
        snprintf(bench->launcher, sizeof bench->launcher, "%s", named);
    else if (!find_program("halter-launcher", bench->launcher, sizeof bench->launcher))
        return false;
    if (!find_program("halter-bench-engine", bench->engine, sizeof bench->engine))
        return false;
    snprintf(bench->folder, sizeof bench->folder, "/tmp/halter-bench-XXXXXX");
    if (!mkdtemp(bench->folder)) {
        say("%s: %s", bench->folder, strerror(errno));
        return false;
    }
    bench_payload(&payload);
    bench->payload = payload.bytes;
    bench->payload_bytes = payload.used;
    snprintf(bench->plugin_path, sizeof bench->plugin_path, "%s/plugin.js", bench->folder);
    snprintf(bench->payload_path, sizeof bench->payload_path, "%s/payload.json", bench->folder);
    describe_machine(bench);
    ask_version(bench);
    return write_input(bench->plugin_path, bench_plugin, strlen(bench_plugin)) &&
           write_input(bench->payload_path, bench->payload, bench->payload_bytes);
}

static void tear_down(struct bench *bench)
{
    for (unsigned i = 0; i < bench->nsides; i++)
        bench_side_end(&bench->sides[i]);
    if (bench->payload) {
        unlink(bench->plugin_path);
        unlink(bench->payload_path);
    }
    free(bench->payload);
    if (bench->folder[0])
        rmdir(bench->folder);
    for (size_t i = 0; i < bench->nexperiments; i++)
        for (unsigned s = 0; s < bench->experiments[i].nseries; s++)
            series_finish(&bench->experiments[i].series[s]);
}

/* ---- the run --------------------------------------------------------------------------------- */

static bool wanted(const struct experiment *experiment, char **names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcasecmp(names[i], experiment->id) == 0)
            return true;
    return count == 0 && !experiment->by_name;
}

static bool names_known(char **names, int count)
{
    const char *ids[EXPERIMENTS + 1] = {0};
    for (size_t i = 0; i < EXPERIMENTS; i++)
        ids[i] = experiments[i].id;
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (size_t e = 0; e < EXPERIMENTS; e++)
            known |= strcasecmp(names[i], ids[e]) == 0;
        if (known)
            continue;
        say("there is no experiment \"%s\"; there are E1, E1b and E2 to E8", names[i]);
        return false;
    }
    return true;
}

static void run_all(struct bench *bench, char **names, int count)
{
    printf("halter %s · %s, %u processors · Linux %s · %s\n%s · load %.2f\n\n", halter_version(),
           bench->machine, bench->processors, bench->kernel, bench->engine_version, bench->date,
           bench->load_before);
    for (size_t i = 0; i < EXPERIMENTS; i++) {
        struct experiment *experiment = &experiments[i];
        if (!wanted(experiment, names, count))
            continue;
        bench->current = experiment;
        experiment->ran = true;
        bench_progress(bench, "begins");
        experiment->failed = !experiment->run(bench);
        say_live(NULL);
        bench_print(bench, experiment);
    }
    bench->load_after = load_now();
    if (bench->want_peers)
        bench_peers_survival(bench);
    bench_print_survival(bench);
}

/* Controls that fail make a run worthless; what does not hold is for the reader, unless --strict. */
static int judge(const struct bench *bench, bool strict)
{
    unsigned void_ones = 0, missed = 0;
    for (size_t i = 0; i < bench->nexperiments; i++) {
        const struct experiment *experiment = &bench->experiments[i];
        void_ones += experiment->failed;
        for (unsigned v = 0; v < experiment->nverdicts; v++) {
            void_ones += experiment->verdicts[v].kind == VERDICT_CONTROL &&
                         !experiment->verdicts[v].holds;
            missed += experiment->verdicts[v].kind == VERDICT_AT_LEAST &&
                      !experiment->verdicts[v].holds;
        }
    }
    if (void_ones)
        say("%u controls or experiments failed: their figures mean nothing", void_ones);
    if (missed)
        say("%u of what should hold at least on an idle machine does not hold here", missed);
    return void_ones || (strict && missed) ? EXIT_RECORDS_FAILED : EXIT_OK;
}

struct bench_config {
    const char *json, *html;
    bool strict;
};

/* EXIT_OK, or what to exit with; -1 for --help. */
static int read_options(const struct verb *verb, int argc, char **argv, struct options *options,
                        struct bench *bench, struct bench_config *config)
{
    int option;
    uint64_t scale;
    options_start(options, verb->options, argc, argv);
    while ((option = options_next(options)) >= 0) {
        if (option == BENCH_PEERS) {
            bench->want_peers = true;
            bench->peers_folder = options->value;
        } else if (option == BENCH_JSON) {
            config->json = options->value;
        } else if (option == BENCH_HTML) {
            config->html = options->value;
        } else if (option == BENCH_STRICT) {
            config->strict = true;
        } else {
            if (!option_count("scale", options->value, 1, 1000, &scale))
                return EXIT_USAGE;
            bench->scale = (unsigned)scale;
        }
    }
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return -1;
    }
    if (option == OPTIONS_WRONG || !names_known(options->operands, options->noperands))
        return EXIT_USAGE;
    return EXIT_OK;
}

static int bench_main(const struct verb *verb, int argc, char **argv)
{
    static struct bench bench = {
        .experiments = experiments, .nexperiments = EXPERIMENTS, .scale = 100};
    struct options options;
    struct bench_config config = {0};
    int status = read_options(verb, argc, argv, &options, &bench, &config);
    if (status != EXIT_OK)
        return status < 0 ? EXIT_OK : status;
    if (!set_up(&bench)) {
        tear_down(&bench);
        return EXIT_HALTER;
    }
    if (bench.want_peers)
        bench.want_peers = bench_peers_start(&bench);
    run_all(&bench, options.operands, options.noperands);
    status = judge(&bench, config.strict);
    if ((config.json && !bench_write_json(&bench, config.json)) ||
        (config.html && !bench_write_html(&bench, config.html)))
        status = EXIT_IO;
    tear_down(&bench);
    return status;
}

const struct verb bench_verb = {
    .name = "bench",
    .summary = "measure starts, round trips, kills, memory and confinement here",
    .synopsis = "[E1 … E8]",
    .description =
        "Repeats the measurements that halter's promises rest on, on this machine, which should\n"
        "have nothing else to do. Without names all but E8 run, which takes about a minute.",
    .options = bench_options,
    .main = bench_main,
};
