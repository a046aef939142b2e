/*
 * The options of a verb, from one table: the parser, `--help` and "did you mean" all read it.
 * Options may stand anywhere before `--`; `--name VALUE` and `--name=VALUE` are the same; an
 * argument in square brackets is optional and then takes the `=` form only.
 */
#ifndef HALTER_CLI_OPTIONS_H
#define HALTER_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct option_spec {
    const char *name;     /* without dashes; NULL ends the table */
    char letter;          /* 0: none */
    const char *argument; /* as --help shows it; NULL: a flag; "[FILE]": optional */
    const char *help;     /* one or more lines */
};

struct verb {
    const char *name;
    const char *summary;  /* one line for `halter --help` */
    const char *synopsis; /* operands as --help shows them */
    const char *description;
    const struct option_spec *options;
    int (*main)(const struct verb *verb, int argc, char **argv);
};

enum { OPTIONS_END = -1, OPTIONS_WRONG = -2, OPTIONS_HELP = -3 };

struct options {
    const struct option_spec *specs;
    char **argv;
    int argc, at;
    const char *letters; /* the rest of a group such as -qj4 */
    bool only_operands;  /* `--` was seen */
    int nbefore;         /* operands before it */
    const char *value;   /* of the option last returned, NULL where there is none */
    char **operands;     /* collected at the front of argv */
    int noperands;
};

/* `argv[0]` is the verb. Operands are moved to the front of argv as they are met. */
void options_start(struct options *options, const struct option_spec *specs, int argc, char **argv);
/* The index of the next option in the table, or one of the three above (the error was said). */
int options_next(struct options *options);
/* `halter VERB --help`, on standard output. */
void options_help(const struct verb *verb);

/* Values; each says what is wrong, naming the option, and returns false. */
bool option_count(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* "250", "250ms", "2s", "1m": in ms. */
bool option_ms(const char *name, const char *text, uint32_t *out);
/* "4096", "64K", "1M", "2G": in bytes, powers of 1024. */
bool option_bytes(const char *name, const char *text, uint64_t *out);
/* The index of `text` in `words`, which ends with NULL. */
bool option_word(const char *name, const char *text, const char *const *words, int *out);

#endif
