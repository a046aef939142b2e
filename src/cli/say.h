/*
 * What the command says to people, all of it on standard error. A message says what is wrong,
 * where, and what can be done; it begins with the command's words ("halter run: "). Text that a
 * plugin or a file supplied is made safe for a terminal here. The live line, when one is on the
 * screen, is taken away before a message and drawn again after it.
 */
#ifndef HALTER_CLI_SAY_H
#define HALTER_CLI_SAY_H

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses: docs/man/halter-run.1.scd documents them, and they never change their meaning. */
enum exit_status {
    EXIT_OK = 0,
    EXIT_RECORDS_FAILED = 1, /* ran to the end, some records failed */
    EXIT_USAGE = 2,
    EXIT_NOT_LOADED = 3,  /* the plugin does not load */
    EXIT_STOPPED = 4,     /* --on-error stop: a record failed */
    EXIT_QUARANTINED = 5, /* the plugin died too often */
    EXIT_IO = 6,          /* reading the input or writing the output failed */
    EXIT_HALTER = 7,      /* no launcher, no helper, confinement below the minimum, no memory */
    EXIT_SIGNALED = 128,  /* plus the signal's number */
};

/* Sets the words that start every message, e.g. "halter run". */
void say_as(const char *who);
/* One line: "WHO: MESSAGE\n". Newlines and control characters in it come out as escapes. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same without a prefix, for tables; lines stay lines. */
void say_plain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Draws or replaces the live line; NULL takes it away. Only where standard error is a screen. */
void say_live(const char *line);
/* Whether a descriptor is a terminal that can be drawn on (TERM=dumb says no). */
bool say_has_screen(int fd);
/* Whether it takes colours as well (NO_COLOR says no). */
bool say_has_colour(int fd);

_Noreturn void die_without_memory(void);

/*
 * The candidate nearest to `word`, for "did you mean": within two edits and less than half of the
 * word's length, or NULL. `names` ends with NULL.
 */
const char *nearest_word(const char *word, const char *const *names);

#endif
