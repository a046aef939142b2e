/*
 * `halter serve`: the PC's page on this machine, for a browser. The server is a program of its own,
 * halter-serve; this finds the folders that it serves, says what is missing, and becomes it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"

enum { SERVE_PORT, SERVE_ADDRESS, SERVE_GUEST, SERVE_PAGE, SERVE_OPEN, SERVE_VERBOSE };

static const struct option_spec serve_options[] = {
    [SERVE_PORT] = {"port", 'p', "PORT", "8086 unless given; 0 takes a free one"},
    [SERVE_ADDRESS] = {"address", 'a', "IP", "127.0.0.1 unless given: this machine alone"},
    [SERVE_GUEST] = {"guest", 'g', "FOLDER", "the kernels and RAM disks, served as guest/"},
    [SERVE_PAGE] = {"page", 0, "FOLDER", "another page than halter's own"},
    [SERVE_OPEN] = {"open", 'o', NULL, "open the page in the desktop's browser"},
    [SERVE_VERBOSE] = {"verbose", 'v', NULL, "one line a request"},
    {0},
};

struct serve_plan {
    const char *address, *page, *guest;
    uint64_t port;
    bool open, verbose;
};

/* NAME beside this program, as in a build folder; false without one. */
static bool beside(char *out, size_t capacity, const char *name)
{
    struct stat found;
    ssize_t length = readlink("/proc/self/exe", out, capacity - strlen(name) - 2);
    if (length <= 0)
        return false;
    out[length] = '\0';
    strcpy(strrchr(out, '/') + 1, name);
    return stat(out, &found) == 0;
}

/* The first of the places where a folder can be: in a build folder, in the sources around it, in an
 * installation. NULL where there is none. */
static char *find_folder(const char *built, const char *around, const char *installed)
{
    char path[4096];
    struct stat found;
    if (beside(path, sizeof path, built) || beside(path, sizeof path, around))
        return strdup(path);
    return stat(installed, &found) == 0 ? strdup(installed) : NULL;
}

static void become(char **argv)
{
    char path[4096];
    if (beside(path, sizeof path, "halter-serve"))
        execv(path, argv);
    execv(HALTER_LIBEXECDIR "/halter-serve", argv);
    say("halter-serve cannot be started: %s", strerror(errno));
}

static bool take_option(struct serve_plan *plan, int option, const char *value)
{
    switch (option) {
    case SERVE_PORT:
        return option_count("port", value, 0, 65535, &plan->port);
    case SERVE_ADDRESS:
        plan->address = value;
        return true;
    case SERVE_GUEST:
        plan->guest = value;
        return true;
    case SERVE_PAGE:
        plan->page = value;
        return true;
    case SERVE_OPEN:
        plan->open = true;
        return true;
    default:
        plan->verbose = true;
        return true;
    }
}

static int start(struct serve_plan *plan)
{
    char port[8], flags[4], *page, *guest = NULL;
    if (!plan->page)
        plan->page = find_folder("web/site", "web/site", HALTER_DATADIR "/halter/site");
    if (!plan->page) {
        say("the page is not built: make site (ninja -C build site)");
        return EXIT_IO;
    }
    if (!plan->guest)
        plan->guest = find_folder("guest", "../build-guest", HALTER_DATADIR "/halter/guest");
    if (!plan->guest)
        say("there are no guests: make guest builds them, --guest FOLDER names others");
    snprintf(port, sizeof port, "%u", (unsigned)plan->port);
    snprintf(flags, sizeof flags, "-%s%s", plan->open ? "o" : "", plan->verbose ? "v" : "");
    if (asprintf(&page, "=%s", plan->page) < 0 ||
        (plan->guest && asprintf(&guest, "guest/=%s", plan->guest) < 0))
        die_without_memory();
    become(
        (char *[]){(char *)"halter-serve", (char *)plan->address, port, flags, page, guest, NULL});
    return EXIT_HALTER;
}

static int serve_main(const struct verb *verb, int argc, char **argv)
{
    struct serve_plan plan = {.address = "127.0.0.1", .port = 8086};
    struct options options;
    int option;
    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) >= 0)
        if (!take_option(&plan, option, options.value))
            return EXIT_USAGE;
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return EXIT_OK;
    }
    if (option == OPTIONS_WRONG || options.noperands != 0) {
        if (option != OPTIONS_WRONG)
            say("%s: there are only options here; --guest FOLDER names the guests",
                options.operands[0]);
        return EXIT_USAGE;
    }
    return start(&plan);
}

const struct verb serve_verb = {
    .name = "serve",
    .summary = "serve the PC's page to a browser on this machine",
    .synopsis = "",
    .description =
        "Serves the page that boots a PC in a browser's tab, the machine as wasm and the\n"
        "guests. Prints the address; Ctrl-C ends.",
    .options = serve_options,
    .main = serve_main,
};
