/* file.c: see file.h. Positions are explicit (pread, pwrite): the descriptor's own offset belongs
 * to whoever passed it. */
#include "file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define TICK_BYTES (4u << 20)

void file_init(struct file *file, int fd)
{
    file->fd = fd;
    file->error = 0;
    file->bytes = file->ticked = 0;
    file->start = file->end = 0;
    file->tick = NULL;
    file->opaque = NULL;
}

static void tick(struct file *file)
{
    if (file->tick && file->bytes - file->ticked >= TICK_BYTES) {
        file->ticked = file->bytes;
        file->tick(file->opaque);
    }
}

static bool put(struct file *file, const uint8_t *bytes, size_t count)
{
    while (count) {
        ssize_t n = pwrite(file->fd, bytes, count, (off_t)file->bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            file->error = n < 0 ? errno : ENOSPC;
            return false;
        }
        bytes += n;
        count -= (size_t)n;
        file->bytes += (uint64_t)n;
        tick(file);
    }
    return true;
}

bool file_flush(struct file *file)
{
    size_t count = file->end;

    file->end = 0;
    return !file->error && put(file, file->buffer, count);
}

static bool write_bytes(void *opaque, const void *bytes, size_t count)
{
    struct file *file = opaque;

    if (count > FILE_BUFFER - file->end && !file_flush(file))
        return false;
    if (count > FILE_BUFFER)
        return put(file, bytes, count);
    memcpy(file->buffer + file->end, bytes, count);
    file->end += count;
    return true;
}

static ssize_t get(struct file *file, uint8_t *bytes, size_t count)
{
    ssize_t n;

    do
        n = pread(file->fd, bytes, count, (off_t)file->bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        file->error = errno;
    else
        file->bytes += (uint64_t)n;
    tick(file);
    return n;
}

static bool read_bytes(void *opaque, void *bytes, size_t count)
{
    struct file *file = opaque;
    uint8_t *to = bytes;

    while (count) {
        size_t have = file->end - file->start;
        if (have) {
            size_t part = have < count ? have : count;
            memcpy(to, file->buffer + file->start, part);
            file->start += part;
            to += part;
            count -= part;
            continue;
        }
        bool directly = count >= FILE_BUFFER;
        ssize_t n = get(file, directly ? to : file->buffer, directly ? count : FILE_BUFFER);
        if (n <= 0)
            return false;
        if (directly) {
            to += n;
            count -= (size_t)n;
        } else {
            file->start = 0;
            file->end = (size_t)n;
        }
    }
    return true;
}

struct pc_writer file_writer(struct file *file)
{
    return (struct pc_writer){write_bytes, file};
}

struct pc_reader file_reader(struct file *file)
{
    return (struct pc_reader){read_bytes, file};
}
