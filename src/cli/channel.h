/* channel.h: what `halter boot -- COMMAND` and the agent of the default guest say to each other
 * over the guest's second serial port. docs/protocol.md, "The default guest's channel", specifies
 * it.
 *
 * A message is a type, a length of two bytes, little-endian, and so many bytes. */
#ifndef HALTER_CLI_CHANNEL_H
#define HALTER_CLI_CHANNEL_H

#define CHANNEL_HEADER 3
#define CHANNEL_BODY   65535 /* at most */
#define CHANNEL_HELLO  "halter agent 1"
#define CHANNEL_SEED   32 /* bytes of randomness in RUN */

enum channel_type {
    /* to the guest */
    CHANNEL_RUN = 1,    /* u64 seconds and u32 nanoseconds since 1970, the seed, then the words of
                           the command, each ended by NUL */
    CHANNEL_INPUT = 2,  /* of its standard input, within the credit */
    CHANNEL_EOF = 3,    /* of its standard input */
    CHANNEL_SIGNAL = 4, /* one byte: send it this signal */
    /* from the guest */
    CHANNEL_READY = 16,  /* CHANNEL_HELLO: a command may come */
    CHANNEL_CREDIT = 17, /* u32: so many more bytes of INPUT */
    CHANNEL_OUTPUT = 18, /* of its standard output */
    CHANNEL_ERRORS = 19, /* of its standard error */
    CHANNEL_EXIT = 20,   /* one byte of status, one byte of the signal that ended it or 0 */
};

#endif
