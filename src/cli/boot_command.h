/*
 * One command in a guest: its streams over the channel, as bytes in and bytes out. Whoever has the
 * PC moves them: boot_run.c.
 */
#ifndef HALTER_CLI_BOOT_COMMAND_H
#define HALTER_CLI_BOOT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/buffer.h"
#include "cli/output.h"
#include "halter/halter.h"

#define COMMAND_CHUNK 16384 /* of standard input, at a time */
#define COMMAND_TAIL  4096  /* of the console, kept for when something goes wrong */

enum command_state {
    COMMAND_BOOTS, /* the guest has not said yet that it is ready */
    COMMAND_WAITS, /* it has */
    COMMAND_RUNS,
    COMMAND_ENDED, /* with `status` */
};

struct command {
    char **words; /* ended by NULL; borrowed; NULL: no command is to be run */
    enum command_state state;
    int status;
    uint32_t credit;       /* bytes of input that the guest still takes */
    bool eof;              /* of our input, and said so */
    struct buffer in, out; /* half a message from the guest; messages to it */
    struct buffer console;
    struct output *output; /* borrowed */
    struct output errors;
};

/* Whether the words are a command, and not too long to be sent. */
bool command_fits(char *const *words);

/* Tells a guest that is ready to run the command. */
void command_begin(struct command *command);
void command_signal(struct command *command, int number);
/* How many bytes of input it would take now; 0: none, leave it where it is. */
size_t command_wants(const struct command *command);
/* Reads input that is there. */
void command_input(struct command *command, int fd);
/* Sends what waits, as far as the PC takes it. */
void command_send(struct command *command, struct halter_pc *pc);

/* Bytes from the channel. False: they are not what an agent says. */
bool command_receive(struct command *command, const void *bytes, size_t count);
/* Bytes from the console, of which the last are kept. */
void command_console(struct command *command, const void *bytes, size_t count);
void command_print_console(const struct command *command);
void command_finish(struct command *command);

#endif
