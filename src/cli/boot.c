/*
 * `halter boot KERNEL`: a PC in a confined helper, its console on this terminal. On a terminal the
 * keys go to the guest as they are typed, and Ctrl-A x leaves; without one, --until and --send make
 * the run a script. The guest prints no faster than the terminal takes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "halter/halter.h"
#include "wire/json.h"

#define DEFAULT_APPEND "console=ttyS0 cryptomgr.notests noisapnp quiet panic=-1"
#define ICOUNT_NS      5
#define MAX_STEPS      64
#define ESCAPE_KEY     0x01 /* Ctrl-A */

/* halter-boot(1) documents them. */
enum boot_status {
    BOOT_NOT_STARTED = 3,
    BOOT_TRIPLE_FAULT = 4,
    BOOT_RESET = 5,
    BOOT_LEFT = 6,
    BOOT_DIED = 8,
    BOOT_TIMEOUT = 124,
};

enum {
    BOOT_INITRD,
    BOOT_APPEND,
    BOOT_RAM,
    BOOT_CPU,
    BOOT_UNTIL,
    BOOT_SEND,
    BOOT_TIMEOUT_OPTION,
    BOOT_ICOUNT,
    BOOT_NO_REBOOT,
    BOOT_STATS,
    BOOT_HASH,
    BOOT_TRACE,
    BOOT_HEARTBEAT,
    BOOT_VERBOSE,
};

static const struct option_spec boot_options[] = {
    [BOOT_INITRD] = {"initrd", 0, "FILE", "the initial RAM disk"},
    [BOOT_APPEND] = {"append", 0, "TEXT",
                     "the kernel's command line\n(" DEFAULT_APPEND ")"},
    [BOOT_RAM] = {"ram", 0, "BYTES", "memory of the PC (128M)"},
    [BOOT_CPU] = {"cpu", 0, "MODEL", "p6, pentium3 or pentium-m (pentium-m)"},
    [BOOT_UNTIL] = {"until", 0, "TEXT",
                    "wait for TEXT on the console; as the last step of a\n"
                    "script it ends the run with status 0"},
    [BOOT_SEND] = {"send", 0, "TEXT", "then type TEXT; \\n \\r \\t \\e \\\\ \\xNN are understood"},
    [BOOT_TIMEOUT_OPTION] = {"timeout", 0, "MS", "end the run after so long, with status 124"},
    [BOOT_ICOUNT] = {"icount", 0, "[NS]",
                     "a deterministic run: NS nanoseconds of guest time an\n"
                     "instruction (5)"},
    [BOOT_NO_REBOOT] = {"no-reboot", 0, NULL, "a reset ends the run, with status 5"},
    [BOOT_STATS] = {"stats", 's', NULL, "what the run came to, on standard error"},
    [BOOT_HASH] = {"hash", 0, NULL, "a hash of the whole machine at the end"},
    [BOOT_TRACE] = {"trace", 0, "WHAT", "log port accesses (io), interrupts (irq), or both (io,irq)"},
    [BOOT_HEARTBEAT] = {"heartbeat", 0, "MS",
                        "kill a helper that does not answer for so long (5s)"},
    [BOOT_VERBOSE] = {"verbose", 'v', NULL, "what the machine itself has to say"},
    {0},
};

struct boot {
    struct halter_pc_options pc;
    struct halter_pc_step steps[MAX_STEPS];
    const char *kernel, *initrd;
    bool stats;
    struct halter_host *host;
    struct halter_pc *machine;
    int signals;
    struct termios before;
    bool raw, escaped, input_ended, ended, left;
    int status;
    char output[65536]; /* what the terminal has not taken yet */
    size_t output_count;
    char keys[4096]; /* what the guest has not taken yet */
    size_t keys_count;
};

/* ---- options ------------------------------------------------------------------------------------ */

static bool add_step(struct boot *boot, const char *until, const char *send)
{
    struct halter_pc_options *o = &boot->pc;
    struct halter_pc_step *last = o->nsteps ? &boot->steps[o->nsteps - 1] : NULL;

    if (send && last && !last->send) {
        last->send = send;
        return true;
    }
    if (o->nsteps == MAX_STEPS) {
        say("a script has at most %d steps", MAX_STEPS);
        return false;
    }
    boot->steps[o->nsteps++] = (struct halter_pc_step){until, send};
    return true;
}

static bool take_icount(struct boot *boot, const char *value)
{
    char *end;
    double ns = value ? strtod(value, &end) : ICOUNT_NS;

    if (value && (end == value || *end || !(ns >= 0.001 && ns <= 60000))) {
        say("--icount: \"%s\" is no number of nanoseconds from 0.001 to 60000", value);
        return false;
    }
    boot->pc.icount_ns_q16 = (uint32_t)(ns * 65536);
    return true;
}

static bool take_option(struct boot *boot, int option, const char *value)
{
    static const char *const models[] = {"p6", "pentium3", "pentium-m", NULL};
    static const char *const traces[] = {"", "io", "irq", "io,irq", NULL};
    const char *name = boot_options[option].name;
    uint64_t bytes;
    int word;

    switch (option) {
    case BOOT_INITRD:
        boot->initrd = value;
        return true;
    case BOOT_APPEND:
        boot->pc.append = value;
        return true;
    case BOOT_RAM:
        if (!option_bytes(name, value, &bytes))
            return false;
        boot->pc.ram_mb = (uint32_t)(bytes >> 20);
        if (bytes >> 20 >= 2 && bytes >> 20 <= 3072)
            return true;
        say("--ram: from 2M to 3072M");
        return false;
    case BOOT_CPU:
        if (!option_word(name, value, models, &word))
            return false;
        boot->pc.model = (enum halter_pc_model)word;
        return true;
    case BOOT_UNTIL:
        return add_step(boot, value, NULL);
    case BOOT_SEND:
        return add_step(boot, NULL, value);
    case BOOT_TIMEOUT_OPTION:
        return option_ms(name, value, &boot->pc.timeout_ms);
    case BOOT_HEARTBEAT:
        return option_ms(name, value, &boot->pc.heartbeat_ms);
    case BOOT_ICOUNT:
        return take_icount(boot, value);
    case BOOT_TRACE:
        if (!option_word(name, value, traces, &word))
            return false;
        boot->pc.trace = (uint32_t)word;
        return true;
    case BOOT_NO_REBOOT:
        return boot->pc.no_reboot = true;
    case BOOT_STATS:
        return boot->stats = true;
    case BOOT_HASH:
        return boot->pc.hash = boot->stats = true;
    case BOOT_VERBOSE:
        return boot->pc.verbose = true;
    default:
        return false;
    }
}

/* ---- the console ---------------------------------------------------------------------------------- */

static void write_output(struct boot *boot)
{
    size_t done = 0;
    while (done < boot->output_count) {
        ssize_t n = write(STDOUT_FILENO, boot->output + done, boot->output_count - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n < 0 && errno == EAGAIN) {
            break;
        } else if (!(n < 0 && errno == EINTR)) {
            boot->left = true; /* nobody reads any more */
            boot->status = EXIT_SIGNALED + SIGPIPE;
            done = boot->output_count;
        }
    }
    memmove(boot->output, boot->output + done, boot->output_count - done);
    boot->output_count -= done;
    halter_pc_hold(boot->machine, boot->output_count > sizeof(boot->output) / 4);
}

static void on_console(struct halter_pc *pc, const void *bytes, size_t count, void *data)
{
    struct boot *boot = data;
    const char *at = bytes;

    (void)pc;
    while (count && !boot->left) {
        size_t room = sizeof(boot->output) - boot->output_count;
        if (!room) { /* more than a window: the terminal has to take some first */
            poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
            write_output(boot);
            continue;
        }
        size_t part = count < room ? count : room;
        memcpy(boot->output + boot->output_count, at, part);
        boot->output_count += part;
        at += part;
        count -= part;
    }
}

/* Ctrl-A is ours on a terminal; what follows says what it meant. */
static void take_keys(struct boot *boot, const char *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (boot->raw && !boot->escaped && keys[i] == ESCAPE_KEY) {
            boot->escaped = true;
            continue;
        }
        if (boot->escaped && (keys[i] == 'x' || keys[i] == 'X')) {
            boot->left = true;
            boot->status = BOOT_LEFT;
            return;
        }
        boot->escaped = false;
        boot->keys[boot->keys_count++] = keys[i];
    }
}

static void send_keys(struct boot *boot)
{
    long taken = boot->keys_count ? halter_pc_send(boot->machine, boot->keys, boot->keys_count) : 0;
    if (taken <= 0)
        return;
    memmove(boot->keys, boot->keys + taken, boot->keys_count - (size_t)taken);
    boot->keys_count -= (size_t)taken;
}

static void read_keys(struct boot *boot)
{
    char keys[1024];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        boot->input_ended = true;
    if (n > 0)
        take_keys(boot, keys, (size_t)n);
}

static void make_raw(struct boot *boot)
{
    struct termios raw;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &boot->before) != 0)
        return;
    raw = boot->before;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST | ONLCR; /* for lines of our own between the guest's */
    boot->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void make_cooked(struct boot *boot)
{
    if (boot->raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &boot->before);
    boot->raw = false;
}

/* ---- the end ---------------------------------------------------------------------------------------- */

static void on_log(struct halter_pc *pc, enum halter_level level, const char *text, void *data)
{
    (void)pc;
    (void)level;
    (void)data;
    say("%s", text);
}

static double member(struct json_value report, const char *name)
{
    struct json_value value;
    int64_t n;
    return json_member(report, name, &value) && json_integer(value, 0, INT64_MAX, &n) ? (double)n : 0;
}

static void say_stats(const char *json)
{
    struct json_value report = json_root(json, strlen(json)), hash;
    double insns = member(report, "insns"), wall = member(report, "wallNs") / 1e9;
    double slept = member(report, "sleptNs") / 1e9, busy = wall - slept;
    char text[64];

    say("%.3f G instructions, %.3f s of the guest's time, %.3f s wall, %.3f s asleep, %.1f MIPS",
        insns / 1e9, member(report, "guestNs") / 1e9, wall, slept,
        busy > 0 ? insns / busy / 1e6 : 0);
    if (json_member(report, "hash", &hash) && json_string(hash, text, sizeof(text)) > 0)
        say("hash %s", text);
}

static void say_report(const char *json)
{
    struct json_value lines, line;
    char text[256];
    size_t at = 0;

    if (!json_member(json_root(json, strlen(json)), "report", &lines))
        return;
    while (json_next(lines, &at, NULL, &line))
        if (json_string(line, text, sizeof(text)) >= 0)
            say_plain("  %s", text);
}

static void on_end(struct halter_pc *pc, const struct halter_pc_end *end, void *data)
{
    static const int statuses[] = {
        [HALTER_PC_OFF] = EXIT_OK,           [HALTER_PC_RESET] = BOOT_RESET,
        [HALTER_PC_UNTIL] = EXIT_OK,         [HALTER_PC_TIMEOUT] = BOOT_TIMEOUT,
        [HALTER_PC_TRIPLE_FAULT] = BOOT_TRIPLE_FAULT,
        [HALTER_PC_NOT_STARTED] = BOOT_NOT_STARTED, [HALTER_PC_DIED] = BOOT_DIED};
    struct boot *boot = data;

    (void)pc;
    boot->ended = true;
    boot->status = statuses[end->reason];
    while (boot->output_count && !boot->left) {
        poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, -1);
        write_output(boot);
    }
    make_cooked(boot);
    if (end->reason == HALTER_PC_NOT_STARTED)
        say("%s: %s", boot->kernel, end->detail);
    if (end->reason == HALTER_PC_DIED)
        say("the PC's helper is dead: %s%s%s", halter_death_text(end->death->reason),
            end->detail[0] ? ": " : "", end->detail);
    if (end->reason == HALTER_PC_TIMEOUT)
        say("the time is up");
    if (end->reason == HALTER_PC_TRIPLE_FAULT) {
        say("triple fault");
        say_report(end->report_json);
    }
    if (boot->stats)
        say_stats(end->report_json);
}

static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    (void)host;
    (void)data;
    if (event->type == HALTER_EVENT_STDERR)
        say("%s", event->text);
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        say("%s: %s", path, strerror(errno));
    return fd;
}

static void take_signals(struct boot *boot)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    boot->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void loop(struct boot *boot)
{
    while (!boot->ended && !boot->left) {
        bool listen = !boot->input_ended && boot->keys_count < sizeof(boot->keys) - 1024;
        struct pollfd ready[] = {
            {.fd = halter_fd(boot->host), .events = POLLIN},
            {.fd = boot->signals, .events = POLLIN},
            {.fd = listen ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = boot->output_count ? STDOUT_FILENO : -1, .events = POLLOUT},
        };
        poll(ready, 4, -1);
        struct signalfd_siginfo signal;
        if (ready[1].revents && read(boot->signals, &signal, sizeof(signal)) > 0) {
            boot->left = true;
            boot->status = EXIT_SIGNALED + (int)signal.ssi_signo;
        }
        if (ready[2].revents)
            read_keys(boot);
        send_keys(boot);
        if (halter_dispatch(boot->host, 0) < 0) {
            boot->left = true;
            boot->status = EXIT_HALTER;
        }
        send_keys(boot);
        if (boot->output_count && !boot->ended)
            write_output(boot);
    }
}

static int run(struct boot *boot)
{
    struct halter_options options = HALTER_OPTIONS_INIT;

    options.spares = 0;
    options.on_event = on_event;
    options.data = boot;
    boot->pc.kernel_fd = open_file(boot->kernel);
    if (boot->pc.kernel_fd < 0)
        return BOOT_NOT_STARTED;
    if (boot->initrd && (boot->pc.initrd_fd = open_file(boot->initrd)) < 0)
        return BOOT_NOT_STARTED;
    int status = halter_create(&options, &boot->host);
    if (!status)
        status = halter_pc_create(boot->host, &boot->pc, &boot->machine);
    if (status) {
        say("the PC cannot be started: %s",
            status == HALTER_ESYSTEM ? strerror(errno) : halter_strerror(status));
        halter_destroy(boot->host);
        return EXIT_HALTER;
    }
    take_signals(boot);
    make_raw(boot);
    loop(boot);
    make_cooked(boot);
    halter_pc_destroy(boot->machine);
    halter_destroy(boot->host);
    return boot->status;
}

static int boot_main(const struct verb *verb, int argc, char **argv)
{
    static struct boot boot = {.pc = HALTER_PC_INIT};
    struct options options;
    int option;

    boot.pc.append = DEFAULT_APPEND;
    boot.pc.steps = boot.steps;
    boot.pc.on_console = on_console;
    boot.pc.on_log = on_log;
    boot.pc.on_end = on_end;
    boot.pc.data = &boot;
    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) >= 0)
        if (!take_option(&boot, option, options.value))
            return EXIT_USAGE;
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return EXIT_OK;
    }
    if (option == OPTIONS_WRONG)
        return EXIT_USAGE;
    if (options.noperands != 1) {
        say("which kernel? Usage: halter boot [OPTION…] %s", verb->synopsis);
        return EXIT_USAGE;
    }
    boot.kernel = options.operands[0];
    return run(&boot);
}

const struct verb boot_verb = {
    .name = "boot",
    .summary = "boot a PC, its console on this terminal",
    .synopsis = "KERNEL",
    .description = "Boots a bzImage or a 32-bit ELF kernel in an emulated PC that lives in a confined\n"
                   "helper. Ctrl-A x leaves; Ctrl-A Ctrl-A types Ctrl-A.",
    .options = boot_options,
    .main = boot_main,
};
