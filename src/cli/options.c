/*
 * One table of options, read by the parser, the help and "did you mean"; and the parsers of the
 * values that several verbs take. See options.h.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"

#define MAX_NAMES 64

void options_start(struct options *options, const struct option_spec *specs, int argc, char **argv)
{
    *options =
        (struct options){.specs = specs, .argv = argv, .argc = argc, .at = 1, .operands = argv};
}

static int wrong_name(const struct options *options, const char *word)
{
    const char *names[MAX_NAMES + 2] = {"help"};
    int count = 1;
    for (const struct option_spec *spec = options->specs; spec->name && count < MAX_NAMES; spec++)
        names[count++] = spec->name;
    const char *nearest = nearest_word(word, names);
    if (nearest)
        say("there is no option --%s; did you mean --%s?", word, nearest);
    else
        say("there is no option --%s; --help lists them", word);
    return OPTIONS_WRONG;
}

/* Settles the argument of option `index`, whose attached text (after = or its letter) is given. */
static int take_argument(struct options *options, int index, const char *attached)
{
    const struct option_spec *spec = &options->specs[index];
    options->value = attached;
    if (!spec->argument) {
        if (!attached)
            return index;
        say("--%s takes no value", spec->name);
        return OPTIONS_WRONG;
    }
    if (attached || spec->argument[0] == '[')
        return index;
    if (options->at >= options->argc) {
        say("--%s needs a value: --%s %s", spec->name, spec->name, spec->argument);
        return OPTIONS_WRONG;
    }
    options->value = options->argv[options->at++];
    return index;
}

static int next_long(struct options *options, const char *word)
{
    size_t length = strcspn(word, "=");
    const char *attached = word[length] ? word + length + 1 : NULL;
    if (strcmp(word, "help") == 0)
        return OPTIONS_HELP;
    for (int i = 0; options->specs[i].name; i++) {
        const char *name = options->specs[i].name;
        if (strlen(name) == length && memcmp(name, word, length) == 0)
            return take_argument(options, i, attached);
    }
    char name[MAX_NAMES];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    return wrong_name(options, name);
}

static int next_letter(struct options *options)
{
    char letter = *options->letters++;
    const char *rest = *options->letters ? options->letters : NULL;
    if (letter == 'h')
        return OPTIONS_HELP;
    for (int i = 0; options->specs[i].name; i++) {
        const struct option_spec *spec = &options->specs[i];
        if (spec->letter != letter)
            continue;
        if (!spec->argument || spec->argument[0] == '[')
            return take_argument(options, i, NULL);
        options->letters = NULL;
        return take_argument(options, i, rest);
    }
    say("there is no option -%c; --help lists them", letter);
    return OPTIONS_WRONG;
}

int options_next(struct options *options)
{
    if (options->letters && *options->letters)
        return next_letter(options);
    while (options->at < options->argc) {
        char *word = options->argv[options->at++];
        if (options->only_operands || word[0] != '-' || !word[1]) {
            options->operands[options->noperands++] = word;
        } else if (word[1] != '-') {
            options->letters = word + 1;
            return next_letter(options);
        } else if (word[2]) {
            return next_long(options, word + 2);
        } else {
            options->only_operands = true;
            options->nbefore = options->noperands;
        }
    }
    return OPTIONS_END;
}

static void print_option(const struct option_spec *spec)
{
    char left[64];
    const char *argument = spec->argument ? spec->argument : "";
    const char *joint = !spec->argument ? "" : argument[0] == '[' ? "=" : " ";
    int length = 0;
    if (spec->letter)
        length = snprintf(left, sizeof left, "-%c, ", spec->letter);
    else
        length = snprintf(left, sizeof left, "    ");
    if (argument[0] == '[') /* --stats[=FILE] */
        snprintf(left + length, sizeof left - (size_t)length, "--%s[%s%s", spec->name, joint,
                 argument + 1);
    else
        snprintf(left + length, sizeof left - (size_t)length, "--%s%s%s", spec->name, joint,
                 argument);
    printf("  %-26s", left);
    if (strlen(left) > 25)
        printf("\n%28s", "");
    for (const char *line = spec->help; line;) {
        const char *end = strchr(line, '\n');
        int width = end ? (int)(end - line) : (int)strlen(line);
        printf("%.*s\n", width, line);
        line = end ? end + 1 : NULL;
        if (line)
            printf("%28s", "");
    }
}

void options_help(const struct verb *verb)
{
    printf("Usage: halter %s [OPTION…] %s\n\n%s\n\nOptions:\n", verb->name, verb->synopsis,
           verb->description);
    for (const struct option_spec *spec = verb->options; spec->name; spec++)
        print_option(spec);
    print_option(&(struct option_spec){"help", 'h', NULL, "this text"});
    printf("\nhalter-%s(1) is the manual.\n", verb->name);
}

/* A number and its suffix; false when there is no number at all or it does not fit. */
static bool split_number(const char *text, uint64_t *number, const char **suffix)
{
    if (text[0] < '0' || text[0] > '9')
        return false;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    *suffix = end;
    return errno == 0;
}

bool option_count(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    const char *suffix;
    uint64_t number;
    if (split_number(text, &number, &suffix) && !*suffix && number >= min && number <= max) {
        *out = number;
        return true;
    }
    say("--%s wants a whole number from %llu to %llu, not \"%s\"", name, (unsigned long long)min,
        (unsigned long long)max, text);
    return false;
}

bool option_ms(const char *name, const char *text, uint32_t *out)
{
    static const struct {
        const char *suffix;
        uint32_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60000}};
    const char *suffix;
    uint64_t number;
    if (split_number(text, &number, &suffix))
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (strcmp(suffix, units[i].suffix) == 0 && number > 0 &&
                number <= 86400000u / units[i].ms) {
                *out = (uint32_t)number * units[i].ms;
                return true;
            }
    say("--%s wants a time above zero and up to a day, such as 250, 250ms, 2s or 1m, not \"%s\"",
        name, text);
    return false;
}

bool option_bytes(const char *name, const char *text, uint64_t *out)
{
    static const char units[] = "KMGT";
    const char *suffix;
    uint64_t number;
    if (split_number(text, &number, &suffix)) {
        const char *unit = *suffix ? strchr(units, *suffix & ~0x20) : NULL;
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        bool known = !*suffix || (unit && !suffix[1]);
        if (known && number > 0 && number <= (UINT64_MAX >> 1 >> shift)) {
            *out = number << shift;
            return true;
        }
    }
    say("--%s wants a size above zero, such as 4096, 64K, 1M or 2G, not \"%s\"", name, text);
    return false;
}

bool option_word(const char *name, const char *text, const char *const *words, int *out)
{
    char list[128] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return true;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    }
    const char *nearest = nearest_word(text, words);
    if (nearest)
        say("--%s is one of %s, not \"%s\"; did you mean %s?", name, list, text, nearest);
    else
        say("--%s is one of %s, not \"%s\"", name, list, text);
    return false;
}
