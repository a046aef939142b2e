/*
 * One descriptor out. Setting O_NONBLOCK on an inherited descriptor would change it for every
 * process that shares it (the shell, the next program), so a pipe or a terminal is opened anew
 * through /proc/self/fd, and where that is refused written in pieces that poll() vouches for.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/say.h"
#include "halter/halter.h"

#define KEEP_BYTES (1u << 20) /* memory that an emptied buffer keeps */

static void choose_way(struct output *output)
{
    struct stat status;
    if (fstat(output->fd, &status) < 0)
        return;
    if (S_ISSOCK(status.st_mode)) {
        output->way = OUTPUT_SOCKET;
    } else if (S_ISFIFO(status.st_mode) || isatty(output->fd)) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", output->fd);
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (fd < 0) {
            output->way = S_ISFIFO(status.st_mode) ? OUTPUT_SMALL : OUTPUT_BLOCKS;
            return;
        }
        if (output->owned)
            close(output->fd);
        output->fd = fd;
        output->owned = true;
        output->way = OUTPUT_NONBLOCKING;
        if (S_ISFIFO(status.st_mode))
            (void)fcntl(fd, F_SETPIPE_SZ, 1 << 20); /* fewer turns; refused is fine */
    }
}

bool output_open(struct output *output, const char *path)
{
    *output = (struct output){.fd = STDOUT_FILENO, .name = path ? path : "<stdout>"};
    if (path) {
        output->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
        output->owned = true;
        if (output->fd < 0) {
            say("%s: %s", path, strerror(errno));
            return false;
        }
    }
    output->terminal = isatty(output->fd);
    choose_way(output);
    return true;
}

void output_adopt(struct output *output, int fd, const char *name)
{
    *output = (struct output){.fd = fd, .name = name, .terminal = isatty(fd)};
    choose_way(output);
}

bool output_close(struct output *output)
{
    bool fine = true;
    if (output->owned && output->fd >= 0 && close(output->fd) < 0 && errno != EINTR) {
        say("%s: %s", output->name, strerror(errno));
        fine = false;
    }
    buffer_finish(&output->buffer);
    output->fd = -1;
    return fine;
}

/* What is written makes room at the front, now and then. */
static void make_room(struct output *output)
{
    struct buffer *buffer = &output->buffer;
    if (output->start == buffer->used) {
        buffer_reset(buffer, KEEP_BYTES);
        output->start = 0;
    } else if (output->start > KEEP_BYTES && output->start > output_pending(output)) {
        memmove(buffer->bytes, buffer->bytes + output->start, output_pending(output));
        buffer->used -= output->start;
        output->start = 0;
    }
}

void output_bytes(struct output *output, const void *bytes, size_t count)
{
    make_room(output);
    buffer_append(&output->buffer, bytes, count);
}

void output_text(struct output *output, const char *text, size_t bytes, uint64_t now_ns)
{
    struct buffer *buffer = &output->buffer;
    if (output_pending(output) == 0)
        output->since_ns = now_ns;
    make_room(output);
    if (!output->terminal) {
        buffer_append(buffer, text, bytes);
        return;
    }
    size_t safe_bytes = halter_printable(NULL, 0, text, bytes, true);
    buffer_reserve(buffer, safe_bytes + 1);
    halter_printable(buffer->bytes + buffer->used, safe_bytes + 1, text, bytes, true);
    buffer->used += safe_bytes;
}

static ssize_t write_some(struct output *output, const char *bytes, size_t count)
{
    switch (output->way) {
    case OUTPUT_SOCKET:
        return send(output->fd, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    case OUTPUT_SMALL:
        if (poll(&(struct pollfd){.fd = output->fd, .events = POLLOUT}, 1, 0) != 1) {
            errno = EAGAIN;
            return -1;
        }
        return write(output->fd, bytes, count < PIPE_BUF ? count : PIPE_BUF);
    default:
        return write(output->fd, bytes, count);
    }
}

void output_flush(struct output *output)
{
    output->blocked = false;
    while (output_pending(output) > 0 && !output->broken && !output->error) {
        ssize_t count =
            write_some(output, output->buffer.bytes + output->start, output_pending(output));
        if (count > 0) {
            output->start += (size_t)count;
            output->bytes_written += (uint64_t)count;
        } else if (errno == EAGAIN) {
            output->blocked = true;
            return;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            output->broken = true;
        } else if (errno != EINTR) {
            output->error = errno;
        }
    }
    if (output_pending(output) == 0)
        output->since_ns = 0;
}
