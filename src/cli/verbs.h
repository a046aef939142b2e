/*
 * The verbs of the command, one file each. To add one: write its `struct verb`, name it here and
 * in the table of main.c.
 */
#ifndef HALTER_CLI_VERBS_H
#define HALTER_CLI_VERBS_H

#include "cli/options.h"

extern const struct verb bench_verb;
extern const struct verb boot_verb;
extern const struct verb image_verb;
extern const struct verb check_verb;
extern const struct verb doctor_verb;
extern const struct verb run_verb;
extern const struct verb serve_verb;
extern const struct verb top_verb;

#endif
