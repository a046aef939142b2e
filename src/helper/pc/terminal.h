/* terminal.h: the console of a PC on the terminal that the program was started from: raw while
 * the PC runs, with Ctrl-A x to leave and Ctrl-A Ctrl-A for the key itself. */
#ifndef HALTER_TERMINAL_H
#define HALTER_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
    int in, out;
    bool raw, eof, escaped;
    struct termios before;
    uint8_t written[4096]; /* output not yet handed to the descriptor */
    size_t written_count;
};

/* Makes the terminal raw if `in` is one. */
void terminal_init(struct terminal *terminal, int in, int out);

/* Puts everything back; fine to call twice. */
void terminal_finish(struct terminal *terminal);

void terminal_write(struct terminal *terminal, uint8_t byte);

/* Hands the output over; false when the other end is gone. */
bool terminal_flush(struct terminal *terminal);

enum terminal_event { TERMINAL_NOTHING, TERMINAL_KEYS, TERMINAL_LEAVE };

/* Waits up to `ns` (UINT64_MAX: for ever) for keys and takes them into `keys`. At the end of the
 * input it waits without listening. TERMINAL_LEAVE: the person asked to leave. */
enum terminal_event terminal_read(struct terminal *terminal, uint64_t ns, uint8_t *keys,
                                  size_t *count);

#endif
