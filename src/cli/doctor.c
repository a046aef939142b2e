/*
 * `halter doctor`: what this machine's kernel gives a compartment. It starts one helper as `halter
 * run` would and tells, layer by layer, what is in force in it, what is not, and what that means.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "halter/halter.h"

struct layer {
    const char *name;
    bool floor;
    const char *kernel, *stops;
};

static const struct layer layers[HALTER_LAYER_COUNT] = {
#define CONFINE_LAYER(name, floor, kernel, stops, attack)                                          \
    [HALTER_LAYER_##name] = {#name, floor, kernel, stops},
#include "helper/confine.def"
#undef CONFINE_LAYER
};

static const struct option_spec doctor_options[] = {{0}};

/* What keeps the helper from saying so itself, or why it is nothing to worry about. */
static const char *remark(unsigned layer)
{
    if (layer == HALTER_LAYER_CGROUP_MEMORY)
        return "the launcher's to make: memory is watched from outside where there is none";
    if (layer == HALTER_LAYER_NAMESPACES)
        return "not used: nothing that passes the filter would be narrowed by it";
    if (layer == HALTER_LAYER_UNPRIVILEGED_UID)
        return "only where the application runs as root: elsewhere the uid is its own";
    return NULL;
}

static void tell(uint32_t in_force)
{
    bool colour = say_has_colour(STDOUT_FILENO);

    for (unsigned i = 0; i < HALTER_LAYER_COUNT; i++) {
        const struct layer *layer = &layers[i];
        bool on = in_force & HALTER_LAYER_BIT(i);
        const char *why = on ? NULL : remark(i);
        char name[32];
        for (size_t at = 0; at < sizeof(name); at++) {
            char c = layer->name[at];
            name[at] = c == '_' ? '-' : (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
            if (!c)
                break;
        }
        printf("  %s%-7s%s %-17s %s\n", colour && on ? "\033[32m" : colour && !why ? "\033[31m" : "",
               on ? "yes" : why ? "-" : "MISSING", colour ? "\033[0m" : "", name, layer->stops);
        if (why)
            printf("  %25s (%s)\n", "", why);
        else if (!on)
            printf("  %25s (needs Linux %s%s)\n", "", layer->kernel[0] ? layer->kernel : "any",
                   layer->floor ? "; without it no plugin is loaded" : "");
    }
}

static int doctor_main(const struct verb *verb, int argc, char **argv)
{
    struct options options;
    struct halter_options host_options = HALTER_OPTIONS_INIT;
    struct halter_plugin_options plugin = HALTER_PLUGIN_INIT;
    struct halter_host *host = NULL;
    struct halter_guest *guest = NULL;
    struct halter_result result = {0};
    struct utsname machine;

    options_start(&options, verb->options, argc, argv);
    int option = options_next(&options);
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return EXIT_OK;
    }
    if (option != OPTIONS_END || options.noperands) {
        if (option == OPTIONS_END)
            say("no operand is taken; --help tells more");
        return EXIT_USAGE;
    }
    plugin.source = "globalThis.transform = (raw) => raw";
    plugin.quarantine_after = 1;
    host_options.spares = 0;
    int status = halter_create(&host_options, &host);
    if (!status)
        status = halter_plugin_create(host, &plugin, &guest);
    if (!status)
        status = halter_call_wait(guest, "1", 0, NULL, &result);
    uname(&machine);
    printf("halter %s on %s %s\n", halter_version(), machine.sysname, machine.release);
    if (status) {
        printf("No helper serves here: %s%s%s\n", halter_strerror(status),
               result.death ? ": " : "", result.death ? result.death->detail : "");
        halter_destroy(host);
        return EXIT_HALTER;
    }
    printf("A helper serves. The layers of its compartment:\n\n");
    tell(halter_guest_layers(guest));
    printf("\nno-new-privs, seccomp and landlock-fs are the floor: below it no plugin is loaded.\n");
    halter_destroy(host);
    return EXIT_OK;
}

const struct verb doctor_verb = {
    .name = "doctor",
    .summary = "what this machine gives a plugin's compartment",
    .synopsis = "",
    .description = "Starts a helper and tells which layers of confinement are in force in it, which\n"
                   "are missing on this machine, and what each of them stops.",
    .options = doctor_options,
    .main = doctor_main,
};
