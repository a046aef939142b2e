/*
 * The terminal as the console of a PC: raw while the PC runs, with Ctrl-A as the key that speaks to
 * us and not to the guest. What is typed elsewhere than on a terminal passes as it is.
 */
#ifndef HALTER_CLI_TERMINAL_H
#define HALTER_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
    int in;
    bool raw, eof, escaped;
    struct termios before;
};

/* Makes the terminal raw if `in` is one. */
void terminal_init(struct terminal *terminal, int in);
/* Puts everything back; fine to call twice. */
void terminal_finish(struct terminal *terminal);

/* What Ctrl-A and the key behind it asked for. */
enum terminal_command { TERMINAL_NONE, TERMINAL_LEAVE, TERMINAL_STATE, TERMINAL_HELP };

/*
 * Reads what is there into `keys`, at most *count bytes, and takes our own keys out of it; *count
 * is what is left. Call it when `in` is readable. At the end of the input `eof` is set.
 */
enum terminal_command terminal_read(struct terminal *terminal, uint8_t *keys, size_t *count);

#endif
