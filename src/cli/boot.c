/*
 * `halter boot`: a PC on the terminal, or a command in one. This file is its command line: one
 * table of options, and what each of them sets.
 */
#include "cli/boot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"

#define COMMAND_LINE "console=ttyS0 cryptomgr.notests noisapnp quiet panic=-1"
#define ICOUNT_NS    5
#define RESTARTS     3
#define HEARTBEAT_MS 10000 /* a slice lasts 8 ms: what is still for so long hangs */

enum {
    O_INITRD,
    O_DISK,
    O_APPEND_,
    O_RAM,
    O_CPU,
    O_UNTIL,
    O_SEND,
    O_TIMEOUT,
    O_ICOUNT,
    O_SLICE,
    O_RTC,
    O_NO_REBOOT,
    O_SAVE,
    O_RESUME,
    O_HEARTBEAT,
    O_SNAPSHOT_EVERY,
    O_RESTARTS,
    O_FRESH,
    O_TRACE,
    O_STATS,
    O_HASH,
    O_VERBOSE,
};

static const struct option_spec boot_options[] = {
    [O_INITRD] = {"initrd", 'i', "FILE", "initial RAM disk"},
    [O_DISK] = {"disk", 'd', "FILE",
                "a disk, /dev/vda and so on; ,ro behind FILE: the guest\ncannot write; ,snapshot: "
                "what it writes is not kept"},
    [O_APPEND_] = {"append", 'a', "TEXT", "kernel command line, instead of\n" COMMAND_LINE},
    [O_RAM] = {"ram", 'm', "MB", "memory, 2 to 3072; 128 unless given"},
    [O_CPU] = {"cpu", 0, "MODEL", "p6, pentium3 or pentium-m, which is the default"},
    [O_UNTIL] = {"until", 'u', "TEXT",
                 "wait until TEXT is on the console; the last one\nends the run"},
    [O_SEND] = {"send", 's', "TEXT", "then type TEXT: \\n \\r \\t \\e \\\\ \\xNN"},
    [O_TIMEOUT] = {"timeout", 't', "SECONDS", "end with status 124"},
    [O_ICOUNT] = {"icount", 0, "[NS]",
                  "deterministic time: so many ns an instruction,\n5 unless given"},
    [O_SLICE] = {"slice", 0, "INSNS",
                 "the length of deterministic slices, which changes\nnothing else"},
    [O_RTC] = {"rtc", 0, "SECONDS", "the date at power-on, since 1970"},
    [O_NO_REBOOT] = {"no-reboot", 0, NULL, "a reset ends the run"},
    [O_SAVE] = {"save", 0, "FILE", "write a snapshot at the end of the run"},
    [O_RESUME] = {"resume", 0, "FILE", "go on from a snapshot; no KERNEL is needed then"},
    [O_HEARTBEAT] = {"heartbeat", 0, "SECONDS",
                     "kill the PC when it does not answer for so long;\n10 unless given"},
    [O_SNAPSHOT_EVERY] =
        {"snapshot-every", 0, "SECONDS",
         "keep a snapshot in memory, and go on from it\nwhen the PC's process dies"},
    [O_RESTARTS] = {"restarts", 0, "COUNT",
                    "so many times in a row without a new snapshot;\n3 unless given"},
    [O_FRESH] = {"fresh", 0, NULL,
                 "boot for a command, and do not use the snapshot\nthat is kept in the cache"},
    [O_TRACE] = {"trace", 0, "LIST", "log io, irq or both, separated by a comma"},
    [O_STATS] = {"stats", 0, NULL, "say at the end what it cost"},
    [O_HASH] = {"hash", 0, NULL, "say at the end the hash of the machine"},
    [O_VERBOSE] = {"verbose", 'v', NULL, "log what the machine has to say"},
    {NULL},
};

/* ---- values ------------------------------------------------------------------------------------
 */

static bool real(const char *name, const char *text, double least, double most, double *out)
{
    char *end;

    errno = 0;
    *out = strtod(text, &end);
    if (end != text && !*end && !errno && *out >= least && *out <= most)
        return true;
    say("--%s wants a number from %g to %g, not \"%s\"", name, least, most, text);
    return false;
}

static bool seconds(const char *name, const char *text, uint32_t *ms)
{
    double value;

    if (!real(name, text, 0.001, 1e6, &value))
        return false;
    *ms = (uint32_t)(value * 1000);
    return true;
}

static bool icount(const char *text, uint32_t *q16)
{
    double ns = ICOUNT_NS;

    if (text && !real("icount", text, 0.001, 60000, &ns))
        return false;
    *q16 = (uint32_t)(ns * 65536);
    return true;
}

static bool trace(const char *list, uint32_t *bits)
{
    static const char *const words[] = {"io", "irq", NULL};

    while (*list) {
        size_t length = strcspn(list, ",");
        char word[16];
        int index;

        if (length >= sizeof word)
            length = sizeof word - 1;
        memcpy(word, list, length);
        word[length] = '\0';
        if (!option_word("trace", word, words, &index))
            return false;
        *bits |= 1u << index;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return true;
}

static bool step(struct boot_config *config, const char *until, const char *send)
{
    struct halter_pc_options *pc = &config->pc;

    if (pc->nsteps == BOOT_STEPS) {
        say("more than %d --until and --send", BOOT_STEPS);
        return false;
    }
    config->steps[pc->nsteps++] = (struct halter_pc_step){until, send};
    return true;
}

static bool set(struct boot_config *config, int option, const char *value)
{
    static const char *const models[] = {"p6", "pentium3", "pentium-m", NULL};
    struct halter_pc_options *pc = &config->pc;
    const char *name = boot_options[option].name;
    uint64_t number;
    int index;

    switch (option) {
    case O_INITRD:
        config->initrd = value;
        return true;
    case O_DISK:
        return disk_option(config, value);
    case O_APPEND_:
        pc->append = value;
        return true;
    case O_RAM:
        if (!option_count(name, value, 2, 3072, &number))
            return false;
        pc->ram_mb = (uint32_t)number;
        return true;
    case O_CPU:
        if (!option_word(name, value, models, &index))
            return false;
        pc->model = (enum halter_pc_model)index;
        return true;
    case O_UNTIL:
        return step(config, value, NULL);
    case O_SEND:
        return step(config, NULL, value);
    case O_TIMEOUT:
        return seconds(name, value, &pc->timeout_ms);
    case O_ICOUNT:
        return icount(value, &pc->icount_ns_q16);
    case O_SLICE:
        return option_count(name, value, 1, 1000000000, &pc->slice_insns);
    case O_RTC:
        return option_count(name, value, 0, 100000000000, &pc->rtc_seconds);
    case O_NO_REBOOT:
        return pc->no_reboot = true;
    case O_SAVE:
        config->save = value;
        return true;
    case O_RESUME:
        config->resume = value;
        return true;
    case O_HEARTBEAT:
        return seconds(name, value, &pc->heartbeat_ms);
    case O_SNAPSHOT_EVERY:
        return seconds(name, value, &pc->snapshot_every_ms);
    case O_RESTARTS:
        if (!option_count(name, value, 0, 1000, &number))
            return false;
        config->restarts = (uint32_t)number;
        return true;
    case O_FRESH:
        return config->fresh = true;
    case O_TRACE:
        return trace(value, &pc->trace);
    case O_STATS:
        return config->stats = true;
    case O_HASH:
        return pc->hash = true;
    case O_VERBOSE:
        return pc->verbose = true;
    default:
        return false;
    }
}

/* ---- the verb -----------------------------------------------------------------------------------
 */

/* With a command, the guest is told to wait for it and to start no shell. */
static bool read_command(struct boot_config *config, const struct options *options)
{
    static char *append;

    config->words = options->operands + options->nbefore;
    config->words[options->noperands - options->nbefore] = NULL;
    if (!command_fits(config->words)) {
        say("behind -- belongs a command of at most 64 KB");
        return false;
    }
    if (config->pc.nsteps) {
        say("--until and --send are for a console; with a command there is its input");
        return false;
    }
    if (config->pc.snapshot_every_ms) {
        say("a command that went back to a snapshot would see its input twice: no "
            "--snapshot-every");
        return false;
    }
    if (asprintf(&append, "%s halter.run", config->pc.append) < 0)
        die_without_memory();
    config->pc.append = append;
    return true;
}

static bool read_operands(struct boot_config *config, const struct options *options)
{
    int kernels = options->only_operands ? options->nbefore : options->noperands;

    if (kernels > 1) {
        say("one kernel is enough; a command stands behind --");
        return false;
    }
    if (kernels == 1)
        config->kernel = options->operands[0];
    return !options->only_operands || read_command(config, options);
}

static int boot_main(const struct verb *verb, int argc, char **argv)
{
    static struct boot boot;
    struct boot_config *config = &boot.config;
    struct options options;
    int option;

    config->pc = (struct halter_pc_options)HALTER_PC_INIT;
    config->pc.append = COMMAND_LINE;
    config->pc.heartbeat_ms = HEARTBEAT_MS;
    config->pc.steps = config->steps;
    config->restarts = RESTARTS;
    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) != OPTIONS_END) {
        if (option == OPTIONS_HELP)
            options_help(verb);
        if (option < 0)
            return option == OPTIONS_HELP ? EXIT_OK : EXIT_USAGE;
        if (!set(config, option, options.value))
            return EXIT_USAGE;
    }
    if (!read_operands(config, &options))
        return EXIT_USAGE;
    if (config->pc.snapshot_every_ms)
        config->pc.restarts = config->restarts;
    return boot_run(&boot);
}

const struct verb boot_verb = {
    .name = "boot",
    .summary = "boot a Linux kernel in a PC",
    .synopsis = "[KERNEL] [-- COMMAND…]",
    .description = "Boots a 32-bit Linux kernel, a bzImage or better the ELF that `halter image`\n"
                   "makes of it, in an emulated PC that lives in a confined process; without one,\n"
                   "the default guest. Its first serial port is the terminal; Ctrl-A x leaves,\n"
                   "Ctrl-A h tells what else. With a COMMAND the guest runs it: its input, output\n"
                   "and exit status are those of this program.",
    .options = boot_options,
    .main = boot_main,
};
