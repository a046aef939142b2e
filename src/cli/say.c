/*
 * Messages to people: prefix, safety for terminals, the live line, and the nearest word for a
 * mistyped one. Nothing else in the command writes to standard error.
 */
#include "cli/say.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "halter/halter.h"

/* The state of this process's one screen. */
static const char *speaker = "halter";
static char live_line[256];
static bool live_shown;

void say_as(const char *who)
{
    speaker = who;
}

static void write_all(const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(STDERR_FILENO, bytes, count);
        if (written <= 0)
            return; /* nobody is left to complain to */
        bytes += written;
        count -= (size_t)written;
    }
}

static void hide_live(void)
{
    if (live_shown)
        write_all("\r\x1b[K", 4);
}

/* On a narrow terminal the line is cut: of a line that wraps only the end could be taken away. */
static void show_live(void)
{
    if (!live_shown)
        return;
    write_all("\x1b[?7l", 5);
    write_all(live_line, strlen(live_line));
    write_all("\x1b[?7h", 5);
}

/* One write for a whole message, so that those of two processes do not mix. */
static void write_message(const char *text, size_t bytes, bool prefixed)
{
    size_t safe_bytes = halter_printable(NULL, 0, text, bytes, !prefixed);
    size_t head = prefixed ? strlen(speaker) + 2 : 0;
    char *message = malloc(head + safe_bytes + 2);
    if (!message)
        return;
    if (prefixed)
        snprintf(message, head + 1, "%s: ", speaker);
    halter_printable(message + head, safe_bytes + 1, text, bytes, !prefixed);
    if (prefixed)
        message[head + safe_bytes++] = '\n';
    hide_live();
    write_all(message, head + safe_bytes);
    show_live();
    free(message);
}

static void say_list(bool prefixed, const char *format, va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    if (length < 0)
        return;
    write_message(text, (size_t)length, prefixed);
    free(text);
}

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(true, format, arguments);
    va_end(arguments);
}

void say_plain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say_list(false, format, arguments);
    va_end(arguments);
}

void say_live(const char *line)
{
    hide_live();
    live_shown = line != NULL;
    if (line)
        snprintf(live_line, sizeof live_line, "%s", line);
    show_live();
}

bool say_has_screen(int fd)
{
    const char *term = getenv("TERM");
    return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

bool say_has_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR");
    return say_has_screen(fd) && !(no_colour && no_colour[0]);
}

void die_without_memory(void)
{
    static const char text[] = ": out of memory\n";
    write_all(speaker, strlen(speaker));
    write_all(text, sizeof text - 1);
    _exit(EXIT_HALTER);
}

#define WORD_MAX 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two words: a letter more, less or other, or two that changed places. */
static size_t edits(const char *a, const char *b)
{
    size_t far[WORD_MAX + 1][WORD_MAX + 1], rows = strlen(a), columns = strlen(b);
    if (rows > WORD_MAX || columns > WORD_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= rows; i++)
        for (size_t j = 0; j <= columns; j++) {
            if (i == 0 || j == 0) {
                far[i][j] = i + j;
                continue;
            }
            far[i][j] = least(least(far[i - 1][j], far[i][j - 1]) + 1,
                              far[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                far[i][j] = least(far[i][j], far[i - 2][j - 2] + 1);
        }
    return far[rows][columns];
}

const char *nearest_word(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    size_t fewest = 3, length = strlen(word);
    for (; *names; names++) {
        size_t distance = edits(word, *names);
        if (length >= 3 && strncmp(*names, word, length) == 0)
            distance = 1; /* a beginning: "dead" for "dead-letter" */
        if (distance < fewest && 2 * distance < length) {
            fewest = distance;
            nearest = *names;
        }
    }
    return nearest;
}
