/* main.c: halter-pc, a PC on standard input and output.
 *
 * Reads its command line, opens the files, and in a compartment (guard.h) connects a runner
 * (runner.h) with a terminal and a script. Exit status: 0 the guest powered off or the last --until
 * was seen; 1 it could not start; 2 usage; 3 triple fault; 4 reset with --no-reboot; 5 left by
 * Ctrl-A x, a closed output or a signal; 6 the compartment's process died or was killed;
 * 124 --timeout. */
#include "guard.h"
#include "runner.h"
#include "script.h"
#include "serve.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_START = 1,
    EXIT_USAGE,
    EXIT_SHUTDOWN,
    EXIT_RESET,
    EXIT_LEFT,
    EXIT_DIED,
    EXIT_TIMEOUT = 124
};

#define DEFAULT_COMMAND_LINE "console=ttyS0 cryptomgr.notests noisapnp quiet panic=-1"
#define DEFAULT_RAM_MB       128
#define DEFAULT_ICOUNT_NS    5
#define STALL_MS             10000 /* a slice lasts 8 ms: this is a machine that hangs */

struct options {
    const char *kernel, *initrd, *append, *save, *resume;
    unsigned ram_mb;
    uint64_t slice_insns; /* 0: the pace's own */
    double icount_ns, timeout_s;
    bool no_reboot, stats, hash, verbose;
    struct pc_config pc;
    struct script script;
};

struct app {
    struct options options;
    struct terminal terminal;
    struct runner runner;
    struct runner_config config;
    struct guard_pulse *pulse;
    FILE *save;            /* opened before the compartment closes */
    const uint8_t *resume; /* mapped, for the same reason */
    size_t resume_bytes, resume_read;
    uint64_t started_ns, started_insns;
    const struct script_step *sending; /* a step whose keys are not all on the wire yet */
    size_t sent;
    bool timed_out;
};

static uint64_t now_ns(void *opaque)
{
    (void)opaque;
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- The command line --------------------------------------------------------------------- */

static const char usage[] =
    "usage: halter-pc [OPTION]... KERNEL\n"
    "  --initrd FILE        initial RAM disk\n"
    "  --append TEXT        kernel command line (default: " DEFAULT_COMMAND_LINE ")\n"
    "  --ram MB             memory (default: 128)\n"
    "  --cpu MODEL          p6, pentium3 or pentium-m (default)\n"
    "  --until TEXT         wait for TEXT on the console; the last one ends the run\n"
    "  --send TEXT          then type TEXT (\\n \\r \\t \\e \\\\ \\xNN)\n"
    "  --timeout SECONDS    end with status 124\n"
    "  --icount[=NS]        deterministic time: NS nanoseconds an instruction (default: 5)\n"
    "  --slice INSNS        the length of deterministic slices, which changes nothing else\n"
    "  --rtc SECONDS        the date at power-on, since 1970 (default: now; 0 with --icount)\n"
    "  --no-reboot          a reset ends the run\n"
    "  --save FILE          write a snapshot at the end of the run\n"
    "  --resume FILE        go on from a snapshot\n"
    "  --trace LIST         cpu, irq, io, mmu: log to standard error\n"
    "  --stats, --hash      say at the end what it cost, and the hash of the machine\n"
    "  --verbose            log what the machine has to say\n";

static bool parse_model(const char *name, enum pc_model *model)
{
    static const char *const names[] = {"p6", "pentium3", "pentium-m"};

    for (unsigned i = 0; i < 3; i++)
        if (strcmp(name, names[i]) == 0) {
            *model = (enum pc_model)i;
            return true;
        }
    return false;
}

static bool parse_trace(const char *list, uint32_t *trace)
{
    static const struct {
        const char *name;
        enum pc_trace bit;
    } kinds[] = {
        {"cpu", PC_TRACE_CPU}, {"irq", PC_TRACE_IRQ}, {"io", PC_TRACE_IO}, {"mmu", PC_TRACE_MMU}};

    while (*list) {
        size_t length = strcspn(list, ",");
        uint32_t bit = 0;

        for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (strlen(kinds[i].name) == length && memcmp(list, kinds[i].name, length) == 0)
                bit = kinds[i].bit;
        if (!bit)
            return false;
        *trace |= bit;
        list += length + (list[length] == ',');
    }
    return true;
}

static bool parse_number(const char *text, double least, double most, double *value)
{
    char *end;

    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && !errno && *value >= least && *value <= most;
}

enum { O_INITRD = 256, O_APPEND_, O_RAM, O_CPU, O_UNTIL, O_SEND, O_TIMEOUT, O_ICOUNT };
enum { O_RTC = 290, O_SLICE };
enum { O_NO_REBOOT = 300, O_SAVE, O_RESUME, O_TRACE, O_STATS, O_HASH, O_VERBOSE };

static const struct option long_options[] = {
    {"initrd", required_argument, NULL, O_INITRD},   {"append", required_argument, NULL, O_APPEND_},
    {"ram", required_argument, NULL, O_RAM},         {"cpu", required_argument, NULL, O_CPU},
    {"until", required_argument, NULL, O_UNTIL},     {"send", required_argument, NULL, O_SEND},
    {"timeout", required_argument, NULL, O_TIMEOUT}, {"icount", optional_argument, NULL, O_ICOUNT},
    {"rtc", required_argument, NULL, O_RTC},         {"slice", required_argument, NULL, O_SLICE},
    {"no-reboot", no_argument, NULL, O_NO_REBOOT},   {"save", required_argument, NULL, O_SAVE},
    {"resume", required_argument, NULL, O_RESUME},   {"trace", required_argument, NULL, O_TRACE},
    {"stats", no_argument, NULL, O_STATS},           {"hash", no_argument, NULL, O_HASH},
    {"verbose", no_argument, NULL, O_VERBOSE},       {0},
};

static bool set_option(struct options *o, int option, const char *value)
{
    double number;

    switch (option) {
    case O_INITRD:
        return (o->initrd = value) != NULL;
    case O_APPEND_:
        return (o->append = value) != NULL;
    case O_RAM:
        if (!parse_number(value, 2, 3072, &number))
            return false;
        o->ram_mb = (unsigned)number;
        return true;
    case O_CPU:
        return parse_model(value, &o->pc.model);
    case O_UNTIL:
        return script_until(&o->script, value);
    case O_SEND:
        return script_send(&o->script, value);
    case O_TIMEOUT:
        return parse_number(value, 0.001, 1e6, &o->timeout_s);
    case O_ICOUNT:
        o->icount_ns = DEFAULT_ICOUNT_NS;
        return !value || parse_number(value, 0.001, 60000, &o->icount_ns);
    case O_RTC:
        if (!parse_number(value, 0, 1e11, &number))
            return false;
        o->pc.rtc_seconds = (uint64_t)number;
        return true;
    case O_SLICE:
        if (!parse_number(value, 1, 1e9, &number))
            return false;
        o->slice_insns = (uint64_t)number;
        return true;
    case O_SAVE:
        return (o->save = value) != NULL;
    case O_RESUME:
        return (o->resume = value) != NULL;
    case O_TRACE:
        return parse_trace(value, &o->pc.trace);
    case O_NO_REBOOT:
        return o->no_reboot = true;
    case O_STATS:
        return o->stats = true;
    case O_HASH:
        return o->hash = true;
    case O_VERBOSE:
        return o->verbose = true;
    default:
        return false;
    }
}

static bool parse(struct options *o, int argc, char **argv)
{
    int option;

    *o = (struct options){.append = DEFAULT_COMMAND_LINE, .ram_mb = DEFAULT_RAM_MB};
    o->pc.model = PC_MODEL_PENTIUM_M;
    o->pc.rtc_seconds = UINT64_MAX;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == '?')
            return false;
        if (!set_option(o, option, optarg)) {
            fprintf(stderr, "halter-pc: %s is not right here\n", optarg ? optarg : "this option");
            return false;
        }
    }
    if (o->pc.rtc_seconds == UINT64_MAX)
        o->pc.rtc_seconds = o->icount_ns > 0 ? 0 : (uint64_t)time(NULL);
    if (optind + 1 != argc)
        return false;
    o->kernel = argv[optind];
    return true;
}

/* ---- Files -------------------------------------------------------------------------------- */

static bool map_file(const char *path, const uint8_t **bytes, size_t *count)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *map = MAP_FAILED;

    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
        map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    else if (fd >= 0)
        errno = errno ? errno : EINVAL;
    if (map == MAP_FAILED) {
        fprintf(stderr, "halter-pc: %s: %s\n", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    close(fd);
    *bytes = map;
    *count = (size_t)status.st_size;
    return true;
}

static bool write_file(void *opaque, const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, opaque) == count;
}

static bool read_snapshot(void *opaque, void *bytes, size_t count)
{
    struct app *app = opaque;

    if (count > app->resume_bytes - app->resume_read)
        return false;
    memcpy(bytes, app->resume + app->resume_read, count);
    app->resume_read += count;
    return true;
}

static bool open_files(struct app *app)
{
    const struct options *o = &app->options;

    if (o->resume && !map_file(o->resume, &app->resume, &app->resume_bytes))
        return false;
    if (o->save && !(app->save = fopen(o->save, "wbe"))) {
        fprintf(stderr, "halter-pc: %s: %s\n", o->save, strerror(errno));
        return false;
    }
    return true;
}

static bool save(struct app *app)
{
    atomic_store(&app->pulse->napping, 1); /* a disk may take its time */
    bool good = pc_save(app->runner.pc, (struct pc_writer){write_file, app->save});

    if (fclose(app->save) != 0)
        good = false;
    if (!good)
        fprintf(stderr, "halter-pc: %s: %s\n", app->options.save, strerror(errno));
    return good;
}

static bool resume(struct app *app)
{
    const char *wrong = pc_load(app->runner.pc, (struct pc_reader){read_snapshot, app});

    if (wrong)
        fprintf(stderr, "halter-pc: %s: %s\n", app->options.resume, wrong);
    return !wrong;
}

/* ---- The console -------------------------------------------------------------------------- */

/* The keys go onto the wire at the very instruction that completed the text, so that a scripted
 * run in deterministic time is the same each time. */
static void push_keys(struct app *app)
{
    const struct script_step *step = app->sending;

    if (!step)
        return;
    app->sent += pc_console_in(app->runner.pc, 0, (const uint8_t *)step->send + app->sent,
                               step->send_length - app->sent);
    if (app->sent == step->send_length)
        app->sending = NULL;
}

static void begin_sending(struct app *app, const struct script_step *step)
{
    if (!step || !step->sends)
        return;
    app->sending = step;
    app->sent = 0;
    push_keys(app);
}

static void console_out(void *opaque, unsigned uart, uint8_t byte)
{
    struct app *app = opaque;

    if (uart != 0)
        return;
    terminal_write(&app->terminal, byte);
    begin_sending(app, script_see(&app->options.script, byte));
    if (script_over(&app->options.script))
        pc_pause(app->runner.pc);
}

static void log_line(void *opaque, enum pc_log level, const char *text)
{
    struct app *app = opaque;

    if (level == PC_LOG_INFO && !app->options.verbose)
        return;
    terminal_flush(&app->terminal);
    fprintf(stderr, "halter-pc: %s\n", text);
}

static bool attend(void *opaque, struct pc *pc, uint64_t nap_ns)
{
    struct app *app = opaque;
    uint64_t timeout_ns = (uint64_t)(app->options.timeout_s * 1e9);
    uint64_t elapsed = now_ns(NULL) - app->started_ns;
    uint8_t keys[256];
    size_t count = app->sending ? 0 : sizeof keys;
    enum terminal_event event;

    if (script_over(&app->options.script))
        return false;
    app->timed_out = timeout_ns && elapsed >= timeout_ns;
    if (app->timed_out)
        return false;
    push_keys(app);
    if (timeout_ns && nap_ns > timeout_ns - elapsed)
        nap_ns = timeout_ns - elapsed;
    atomic_fetch_add(&app->pulse->beats, 1);
    atomic_store(&app->pulse->napping, nap_ns > 0);
    event = terminal_read(&app->terminal, nap_ns, keys, &count);
    atomic_store(&app->pulse->napping, 0);
    if (event == TERMINAL_KEYS)
        pc_console_in(pc, 0, keys, count);
    return event != TERMINAL_LEAVE;
}

/* ---- The run ------------------------------------------------------------------------------ */

static void report_line(void *opaque, const char *text)
{
    (void)opaque;
    fprintf(stderr, "  %s\n", text);
}

static void print_stats(const struct app *app)
{
    double wall = (double)(now_ns(NULL) - app->started_ns) / 1e9;
    double slept = (double)app->runner.stats.slept_ns / 1e9;
    double insns = (double)(pc_insns(app->runner.pc) - app->started_insns);

    fprintf(stderr,
            "halter-pc: %.3f G instructions, %.3f s guest, %.3f s wall, %.3f s asleep, %.1f MIPS, "
            "%" PRIu64 " slices, %" PRIu64 " boots, %.3f s given up\n",
            insns / 1e9, (double)pc_now_ns(app->runner.pc) / 1e9, wall, slept,
            insns / 1e6 / (wall - slept > 1e-6 ? wall - slept : 1e-6), app->runner.stats.slices,
            app->runner.stats.boots, (double)app->runner.stats.lost_ns / 1e9);
}

static int status_of(struct app *app, enum pc_stop stop)
{
    switch (stop) {
    case PC_OFF:
        return EXIT_SUCCESS;
    case PC_RESET:
        return EXIT_RESET;
    case PC_SHUTDOWN:
        fprintf(stderr, "halter-pc: triple fault\n");
        pc_report(app->runner.pc, report_line, NULL);
        return EXIT_SHUTDOWN;
    default:
        if (script_over(&app->options.script))
            return EXIT_SUCCESS;
        if (app->timed_out)
            fprintf(stderr, "halter-pc: the time is up\n");
        return app->timed_out ? EXIT_TIMEOUT : EXIT_LEFT;
    }
}

/* In the compartment. */
static int run(void *opaque, struct guard_pulse *pulse)
{
    struct app *app = opaque;
    struct options *o = &app->options;
    struct runner_host host = {.opaque = app,
                               .now_ns = now_ns,
                               .console_out = console_out,
                               .log = log_line,
                               .attend = attend};
    const char *wrong = runner_init(&app->runner, &app->config, &host);
    int status = EXIT_START;

    app->pulse = pulse;
    if (wrong) {
        fprintf(stderr, "halter-pc: %s\n", wrong);
    } else if (!app->resume || resume(app)) {
        app->started_ns = now_ns(NULL);
        app->started_insns = pc_insns(app->runner.pc);
        begin_sending(app, script_start(&o->script));
        enum pc_stop stop = runner_run(&app->runner);
        terminal_flush(&app->terminal);
        status = status_of(app, stop);
        if (o->stats)
            print_stats(app);
        if (o->hash)
            fprintf(stderr, "halter-pc: hash %016" PRIx64 "\n", pc_hash(app->runner.pc));
        if (app->save && !save(app))
            status = EXIT_START;
    }
    runner_destroy(&app->runner);
    return status;
}

static int status_of_guard(struct guard_result result)
{
    switch (result.end) {
    case GUARD_EXITED:
        return result.status;
    case GUARD_KILLED:
        fprintf(stderr, "halter-pc: the machine's process died of signal %d (%s)\n", result.status,
                strsignal(result.status));
        return EXIT_DIED;
    case GUARD_STALLED:
        fprintf(stderr, "halter-pc: the machine did not answer for %d s: killed\n",
                STALL_MS / 1000);
        return EXIT_DIED;
    case GUARD_SIGNAL:
        return EXIT_LEFT;
    default:
        fprintf(stderr, "halter-pc: the machine's process: %s\n", strerror(errno));
        return EXIT_START;
    }
}

static bool prepare(struct app *app)
{
    struct options *o = &app->options;
    struct runner_config *config = &app->config;

    if (!map_file(o->kernel, &config->image.kernel, &config->image.kernel_bytes) ||
        (o->initrd && !map_file(o->initrd, &config->image.initrd, &config->image.initrd_bytes)) ||
        !open_files(app))
        return false;
    config->pc = o->pc;
    config->image.command_line = o->append;
    config->ram_bytes = o->ram_mb << 20;
    config->icount_q16 = (uint32_t)(o->icount_ns * 65536);
    config->slice_insns = o->slice_insns;
    config->no_reboot = o->no_reboot;
    config->ram = mmap(NULL, config->ram_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (config->ram == MAP_FAILED) {
        fprintf(stderr, "halter-pc: %u MB of RAM: %s\n", o->ram_mb, strerror(errno));
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct app app;
    struct guard_result result;

    if (argc > 1 && strcmp(argv[1], "--helper") == 0)
        return serve(argc, argv);
    if (!parse(&app.options, argc, argv)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (!prepare(&app))
        return EXIT_START;
    terminal_init(&app.terminal, STDIN_FILENO, STDOUT_FILENO);
    result = guard_run(run, &app, app.save ? fileno(app.save) : -1, STALL_MS);
    terminal_finish(&app.terminal);
    return status_of_guard(result);
}
