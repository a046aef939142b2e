/*
 * What PLUGIN on a command line names: a script, a plugin.json, or a folder that has one; and the
 * grants that its user gives it. Shared by the verbs.
 */
#ifndef HALTER_CLI_PLUGIN_H
#define HALTER_CLI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>

#include "host/grants.h"

struct plugin {
    char *script;        /* to be loaded */
    char *manifest_path; /* NULL: a bare script */
    char *manifest;      /* its text */
    size_t manifest_bytes;
    const char **grants; /* as given, ended by NULL; those of files are copies */
    size_t ngrants;
    char **copies;
    size_t ncopies;
    struct manifest read; /* the manifest, when there is one */
};

/* The --grant and --grants options of a verb, as they come: borrowed. */
struct grant_options {
    const char *texts[256], *files[16];
    size_t ntexts, nfiles;
};
/* False when there are too many (said). */
bool grant_option(struct grant_options *options, const char *text);
bool grants_option(struct grant_options *options, const char *path);

/*
 * Finds the plugin, reads its manifest and takes the grants. EXIT_OK, or an exit status with what
 * is wrong said. To be closed in either case.
 */
int plugin_open(struct plugin *plugin, const char *operand, const struct grant_options *options);
void plugin_close(struct plugin *plugin);

#endif
