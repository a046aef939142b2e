/* boot.c: `halter boot KERNEL`: a PC on the terminal. The PC is a program of its own, halter-pc,
 * which confines itself; this finds it, hands the options on, and becomes it. */
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct option_spec boot_options[] = {
    {"initrd", 'i', "FILE", "initial RAM disk"},
    {"append", 'a', "TEXT",
     "kernel command line, instead of\nconsole=ttyS0 cryptomgr.notests noisapnp quiet panic=-1"},
    {"ram", 'm', "MB", "memory, 2 to 3072; 128 unless given"},
    {"cpu", 0, "MODEL", "p6, pentium3 or pentium-m, which is the default"},
    {"until", 'u', "TEXT", "wait until TEXT is on the console; the last one\nends the run"},
    {"send", 's', "TEXT", "then type TEXT: \\n \\r \\t \\e \\\\ \\xNN"},
    {"timeout", 't', "SECONDS", "end with status 124"},
    {"icount", 0, "[NS]", "deterministic time: so many ns an instruction,\n5 unless given"},
    {"slice", 0, "INSNS", "the length of deterministic slices, which changes\nnothing else"},
    {"rtc", 0, "SECONDS", "the date at power-on, since 1970"},
    {"no-reboot", 0, NULL, "a reset ends the run"},
    {"save", 0, "FILE", "write a snapshot at the end of the run"},
    {"resume", 0, "FILE", "go on from a snapshot"},
    {"trace", 0, "LIST", "log some of cpu, irq, io and mmu, separated by\ncommas"},
    {"stats", 0, NULL, "say at the end what it cost"},
    {"hash", 0, NULL, "say at the end the hash of the machine"},
    {"verbose", 'v', NULL, "log what the machine has to say"},
    {NULL},
};

/* Beside this program, as in a build folder; or where an installation puts it. */
static int become(const char *name, char **argv)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - strlen(name) - 2);
    const char *given = getenv("HALTER_PC");
    char *slash;

    if (given)
        return execv(given, argv);
    if (length > 0) {
        path[length] = '\0';
        slash = strrchr(path, '/');
        memcpy(slash + 1, name, strlen(name) + 1);
        execv(path, argv);
    }
    snprintf(path, sizeof path, "%s/%s", HALTER_LIBEXECDIR, name);
    return execv(path, argv);
}

/* The options again, each as one argument. */
static char *spelled(const struct option_spec *spec, const char *value)
{
    char *text = NULL;
    int made =
        value ? asprintf(&text, "--%s=%s", spec->name, value) : asprintf(&text, "--%s", spec->name);

    if (made < 0)
        die_without_memory();
    return text;
}

static int boot_main(const struct verb *verb, int argc, char **argv)
{
    struct options options;
    char **out = calloc((size_t)argc + 3, sizeof *out);
    int option, n = 0;

    if (!out)
        die_without_memory();
    out[n++] = (char *)"halter-pc";
    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) != OPTIONS_END) {
        if (option == OPTIONS_HELP)
            options_help(verb);
        if (option < 0)
            return option == OPTIONS_HELP ? EXIT_OK : EXIT_USAGE;
        out[n++] = spelled(&verb->options[option], options.value);
    }
    if (options.noperands != 1) {
        say("one kernel is needed, a bzImage or an ELF; --help tells more");
        return EXIT_USAGE;
    }
    out[n++] = (char *)"--";
    out[n++] = options.operands[0];
    become("halter-pc", out);
    say("halter-pc cannot be started: %s", strerror(errno));
    return EXIT_HALTER;
}

const struct verb boot_verb = {
    .name = "boot",
    .summary = "boot a Linux kernel in a PC",
    .synopsis = "KERNEL",
    .description = "Boots a 32-bit Linux kernel, a bzImage or better the ELF that `halter image`\n"
                   "makes of it, in an emulated PC that lives in a confined process. Its first\n"
                   "serial port is the terminal; Ctrl-A x leaves.",
    .options = boot_options,
    .main = boot_main,
};
