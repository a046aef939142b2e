/*
 * The output of a run: bytes in, one descriptor out, never blocking where that can be had. What the
 * descriptor does not take waits here, and whoever fills the buffer looks at output_pending()
 * first: that is how back-pressure begins.
 */
#ifndef HALTER_CLI_OUTPUT_H
#define HALTER_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/buffer.h"

enum output_way {
    OUTPUT_BLOCKS,      /* a file: write() takes what it gets */
    OUTPUT_NONBLOCKING, /* a pipe or terminal, opened anew so that the flag is ours alone */
    OUTPUT_SOCKET,      /* send(MSG_DONTWAIT) */
    OUTPUT_SMALL,       /* a pipe that is not ours to open: PIPE_BUF bytes after POLLOUT */
};

struct output {
    int fd;
    bool owned, terminal;
    enum output_way way;
    struct buffer buffer;
    size_t start; /* bytes of the buffer before it are written */
    uint64_t bytes_written;
    uint64_t since_ns; /* the oldest waiting byte is waiting; 0 when none is */
    bool blocked;      /* the last write found no room: wait for POLLOUT */
    bool broken;       /* the reader is gone */
    int error;         /* errno of a write that failed otherwise */
    const char *name;
};

/* `path` NULL: standard output. False when it cannot be opened (said). */
bool output_open(struct output *output, const char *path);
/* A descriptor that is open already, and stays so. */
void output_adopt(struct output *output, int fd, const char *name);
/* Closes what it opened; false when that failed (said), e.g. for want of space. */
bool output_close(struct output *output);
/* Appends result text; on a terminal, made safe for it. */
void output_text(struct output *output, const char *text, size_t bytes, uint64_t now_ns);
/* Appends bytes as they are: the console of a PC is the terminal's own language. */
void output_bytes(struct output *output, const void *bytes, size_t count);
static inline size_t output_pending(const struct output *output)
{
    return output->buffer.used - output->start;
}
/* Writes what can be written now; `blocked`, `broken` or `error` tell what came of it. */
void output_flush(struct output *output);

#endif
