/* The keys of a terminal: see terminal.h. */
#include "cli/terminal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ESCAPE_KEY 0x01 /* Ctrl-A */

void terminal_init(struct terminal *terminal, int in)
{
    struct termios raw;

    *terminal = (struct terminal){.in = in};
    if (!isatty(in) || tcgetattr(in, &terminal->before) != 0)
        return;
    raw = terminal->before;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST | ONLCR; /* for lines of our own between the guest's */
    terminal->raw = tcsetattr(in, TCSANOW, &raw) == 0;
}

void terminal_finish(struct terminal *terminal)
{
    if (terminal->raw)
        tcsetattr(terminal->in, TCSADRAIN, &terminal->before);
    terminal->raw = false;
}

static enum terminal_command command_of(uint8_t key)
{
    switch (key | 0x20) {
    case 'x':
        return TERMINAL_LEAVE;
    case 'c':
        return TERMINAL_STATE;
    case 'h':
        return TERMINAL_HELP;
    default:
        return TERMINAL_NONE;
    }
}

/* Ctrl-A is ours; what follows says what it meant, and is a key of the guest when it means nothing.
 * Compacts the keys in place. A command is the last thing that is looked at. */
static enum terminal_command unescape(struct terminal *terminal, uint8_t *keys, size_t *count)
{
    enum terminal_command command = TERMINAL_NONE;
    size_t kept = 0;

    for (size_t i = 0; i < *count && command == TERMINAL_NONE; i++) {
        if (!terminal->escaped && keys[i] == ESCAPE_KEY) {
            terminal->escaped = true;
            continue;
        }
        if (terminal->escaped)
            command = command_of(keys[i]);
        terminal->escaped = false;
        if (command == TERMINAL_NONE)
            keys[kept++] = keys[i];
    }
    *count = kept;
    return command;
}

enum terminal_command terminal_read(struct terminal *terminal, uint8_t *keys, size_t *count)
{
    ssize_t n = read(terminal->in, keys, *count);

    *count = n > 0 ? (size_t)n : 0;
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        terminal->eof = true;
    return terminal->raw ? unescape(terminal, keys, count) : TERMINAL_NONE;
}
