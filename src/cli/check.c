/*
 * `halter check PLUGIN`: says what a plugin asks for, why, and what of it holds under some grants,
 * without running it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "cli/plugin.h"
#include "cli/say.h"
#include "cli/verbs.h"
#include "halter/halter.h"

enum { CHECK_GRANT, CHECK_GRANTS, CHECK_STRICT };

static const struct option_spec check_options[] = {
    [CHECK_GRANT] = {"grant", 'g', "GRANT", "as for halter run; may be repeated"},
    [CHECK_GRANTS] = {"grants", 0, "FILE", "grants by the plugins' names"},
    [CHECK_STRICT] = {"strict", 0, NULL, "exit with 1 unless all that is asked for holds"},
    {0},
};

struct table {
    bool incomplete;
    unsigned lines;
};

static void print_line(const struct permit_line *line, void *data)
{
    static const char *const words[] = {[PERMIT_YES] = "yes",
                                        [PERMIT_PARTLY] = "partly",
                                        [PERMIT_NO] = "no",
                                        [PERMIT_UNASKED] = "-"};
    struct table *table = data;
    char reason[1100];
    halter_printable(reason, sizeof reason, line->reason, strlen(line->reason), false);
    table->lines++;
    table->incomplete |= line->verdict == PERMIT_NO || line->verdict == PERMIT_PARTLY;
    printf("  %-7s %-12s %s\n", words[line->verdict], line->scope, line->asked);
    if (line->verdict == PERMIT_PARTLY)
        printf("  %20s only %s\n", "", line->holds);
    if (reason[0])
        printf("  %20s because: %s\n", "", reason);
    if (line->advice[0])
        printf("  %20s %s %s\n", "",
               line->verdict == PERMIT_YES || line->verdict == PERMIT_UNASKED ? "note:"
                                                                              : "to grant it:",
               line->advice);
}

static void print_limit(const char *name, uint64_t value)
{
    if (value)
        printf("  %-21s %" PRIu64 "\n", name, value);
}

static void print_limits(const struct manifest_limits *limits)
{
    const struct manifest_limits none = {0};
    if (memcmp(limits, &none, sizeof none) == 0)
        return;
    printf("\nLimits it sets itself (the application's hold too):\n");
#define LIMIT(name, type, smallest, largest) print_limit(#name, limits->name);
#include "host/manifest.def"
    if (limits->no_jit)
        printf("  %-21s off\n", "jit");
}

static int explain(const struct plugin *plugin, bool strict)
{
    struct grants grants = {0};
    struct table table = {0};
    char fault[GRANTS_FAULT], text[2100];
    const struct manifest *manifest = &plugin->read;
    for (size_t i = 0; i < plugin->ngrants; i++)
        grants_add(&grants, plugin->grants[i], fault); /* each was checked when it was given */
    halter_printable(text, sizeof text, manifest->version, strlen(manifest->version), false);
    printf("%s %s (%s)\n", manifest->name, text, plugin->script);
    if (manifest->description) {
        halter_printable(text, sizeof text, manifest->description, strlen(manifest->description),
                         false);
        printf("%s\n", text);
    }
    printf("\n  holds   scope        what\n");
    permit_explain(manifest, &grants, print_line, &table);
    if (!table.lines)
        printf("  (it asks for nothing)\n");
    print_limits(&manifest->limits);
    grants_finish(&grants);
    return strict && table.incomplete ? EXIT_RECORDS_FAILED : EXIT_OK;
}

/* EXIT_OK, or what to exit with: -1 for --help. */
static int read_options(const struct verb *verb, int argc, char **argv, struct options *options,
                        struct grant_options *grants, bool *strict)
{
    int option;
    options_start(options, verb->options, argc, argv);
    while ((option = options_next(options)) >= 0) {
        if (option == CHECK_STRICT)
            *strict = true;
        else if (option == CHECK_GRANT ? !grant_option(grants, options->value)
                                       : !grants_option(grants, options->value))
            return EXIT_USAGE;
    }
    if (option == OPTIONS_HELP) {
        options_help(verb);
        return -1;
    }
    if (option == OPTIONS_WRONG)
        return EXIT_USAGE;
    if (options->noperands == 1)
        return EXIT_OK;
    say("name one plugin: a folder with a plugin.json, or that file");
    return EXIT_USAGE;
}

static int check_main(const struct verb *verb, int argc, char **argv)
{
    struct options options;
    struct grant_options grants = {0};
    struct plugin plugin;
    bool strict = false;
    int status = read_options(verb, argc, argv, &options, &grants, &strict);
    if (status != EXIT_OK)
        return status < 0 ? EXIT_OK : status;
    status = plugin_open(&plugin, options.operands[0], &grants);
    if (status == EXIT_OK && plugin.manifest_path) {
        status = explain(&plugin, strict);
    } else if (status == EXIT_OK) {
        say("%s is a bare script: without a plugin.json it asks for nothing that could be "
            "explained",
            options.operands[0]);
        status = EXIT_NOT_LOADED;
    }
    plugin_close(&plugin);
    return status;
}

const struct verb check_verb = {
    .name = "check",
    .summary = "say what a plugin asks for and what of it holds",
    .synopsis = "PLUGIN",
    .description =
        "Reads the plugin's plugin.json and says, permission by permission, what it asks\n"
        "for, why, and whether it holds under the grants that are given. Runs nothing.",
    .options = check_options,
    .main = check_main,
};
