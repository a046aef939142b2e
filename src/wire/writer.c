/*
 * The sending half of a connection. A frame goes straight from the caller's memory to the socket;
 * only what the socket does not take is copied and waits for a flush. Memory for that is set
 * aside before the first byte is sent, so a failure never leaves half a frame behind.
 *
 * Descriptors go with the first byte of their frame (reader.c relies on it). Those that must wait
 * are duplicated and remembered by the place of that byte, and a flush never sends across one.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

struct wire_pending_fds {
    size_t at; /* index into the buffer of the byte they go with */
    unsigned count;
    int fds[WIRE_MAX_FDS];
};

void wire_writer_init(struct wire_writer *writer)
{
    *writer = (struct wire_writer){0};
}

static void close_all(const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

void wire_writer_finish(struct wire_writer *writer)
{
    for (unsigned i = 0; i < writer->nfds_messages; i++)
        close_all(writer->fds[i].fds, writer->fds[i].count);
    free(writer->fds);
    free(writer->buffer);
    wire_writer_init(writer);
}

/* The fault that errno stands for after a failed send. */
static int send_fault(void)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK)
        return WIRE_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? WIRE_EOF : WIRE_SYSTEM;
}

/* One sendmsg, with descriptors or without. Bytes sent, or a fault. */
static ssize_t send_once(int fd, struct iovec *parts, unsigned nparts, const int *fds,
                         unsigned nfds, int flags)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * WIRE_MAX_FDS)];
    } control = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = nparts};
    if (nfds) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int) * nfds),
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS,
        };
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * nfds);
    }
    ssize_t sent;
    do {
        sent = sendmsg(fd, &message, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : send_fault();
}

/* The same by writev, the one way to send that a confined helper keeps. */
static ssize_t write_once(int fd, const struct iovec *parts, unsigned nparts)
{
    ssize_t sent;
    do {
        sent = writev(fd, parts, (int)nparts);
    } while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : send_fault();
}

/* Makes room for `bytes` more, moving what waits to the front. */
static bool reserve(struct wire_writer *writer, size_t bytes)
{
    size_t pending = wire_writer_pending(writer);
    if (writer->capacity - writer->end >= bytes)
        return true;
    if (writer->start) {
        memmove(writer->buffer, writer->buffer + writer->start, pending);
        for (unsigned i = 0; i < writer->nfds_messages; i++)
            writer->fds[i].at -= writer->start;
        writer->start = 0;
        writer->end = pending;
    }
    if (writer->capacity - pending >= bytes)
        return true;
    size_t capacity =
        pending + bytes > 2 * writer->capacity ? pending + bytes : 2 * writer->capacity;
    uint8_t *buffer = realloc(writer->buffer, capacity);
    if (!buffer)
        return false;
    writer->buffer = buffer;
    writer->capacity = capacity;
    return true;
}

/* Duplicates descriptors for the byte that will be queued next. 0 or a fault. */
static int keep_fds(struct wire_writer *writer, const int *fds, unsigned count)
{
    struct wire_pending_fds *grown =
        realloc(writer->fds, (writer->nfds_messages + 1) * sizeof(*grown));
    if (!grown)
        return WIRE_NO_MEMORY;
    writer->fds = grown;
    struct wire_pending_fds *kept = &grown[writer->nfds_messages];
    *kept = (struct wire_pending_fds){.at = writer->end};
    for (; kept->count < count; kept->count++) {
        int copy = fcntl(fds[kept->count], F_DUPFD_CLOEXEC, 3);
        if (copy < 0) {
            int error = errno;
            close_all(kept->fds, kept->count);
            errno = error;
            return WIRE_SYSTEM;
        }
        kept->fds[kept->count] = copy;
    }
    writer->nfds_messages++;
    return 0;
}

/* Gives back memory that only a large frame needed. */
static void trim(struct wire_writer *writer)
{
    if (wire_writer_pending(writer))
        return;
    writer->start = writer->end = 0;
    if (writer->capacity > WIRE_KEEP_BYTES) {
        free(writer->buffer);
        writer->buffer = NULL;
        writer->capacity = 0;
    }
}

/* Queues the parts but for their first `sent` bytes; the room is there. */
static void queue_rest(struct wire_writer *writer, const struct iovec *parts, unsigned nparts,
                       size_t sent)
{
    for (unsigned i = 0; i < nparts; i++) {
        size_t skip = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        size_t rest = parts[i].iov_len - skip;
        sent -= skip;
        if (rest) {
            memcpy(writer->buffer + writer->end, (const uint8_t *)parts[i].iov_base + skip, rest);
            writer->end += rest;
        }
    }
}

/* Header and parts as one vector; the size of all of it in *total, or a fault. */
static int gather(const struct wire_frame *header, const struct iovec *parts, unsigned nparts,
                  const int *fds, uint8_t bytes[WIRE_HEADER_BYTES],
                  struct iovec all[WIRE_MAX_PARTS + 1], size_t *total)
{
    struct wire_frame filled = *header;
    uint64_t length = 0;
    if (nparts > WIRE_MAX_PARTS)
        return WIRE_TOO_LONG;
    for (unsigned i = 0; i < nparts; i++) {
        length += parts[i].iov_len;
        if (length > UINT32_MAX)
            return WIRE_TOO_LONG;
        all[i + 1] = parts[i];
    }
    filled.length = (uint32_t)length;
    filled.nfds = fds ? header->nfds : 0;
    if (filled.nfds > WIRE_MAX_FDS)
        return WIRE_BAD_FDS;
    wire_header_encode(&filled, bytes);
    all[0] = (struct iovec){.iov_base = bytes, .iov_len = WIRE_HEADER_BYTES};
    *total = WIRE_HEADER_BYTES + (size_t)length;
    return 0;
}

/* Sends as far as the socket takes it and queues the rest; with `fd` -1 queues all of it. */
static int send_or_queue(struct wire_writer *writer, int fd, const struct wire_frame *header,
                         const struct iovec *parts, unsigned nparts, const int *fds)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct iovec all[WIRE_MAX_PARTS + 1];
    size_t total;
    unsigned nfds = fds ? header->nfds : 0;
    int fault = gather(header, parts, nparts, fds, bytes, all, &total);
    if (fault)
        return fault;
    if (!reserve(writer, total))
        return WIRE_NO_MEMORY;
    ssize_t sent = WIRE_AGAIN;
    if (fd >= 0 && !wire_writer_pending(writer))
        sent = send_once(fd, all, nparts + 1, fds, nfds, MSG_DONTWAIT);
    if (sent == WIRE_AGAIN && nfds)
        fault = keep_fds(writer, fds, nfds);
    else if (sent < 0 && sent != WIRE_AGAIN)
        fault = (int)sent;
    if (!fault)
        queue_rest(writer, all, nparts + 1, sent > 0 ? (size_t)sent : 0);
    trim(writer);
    return fault;
}

int wire_writer_send(struct wire_writer *writer, int fd, const struct wire_frame *header,
                     const struct iovec *parts, unsigned nparts, const int *fds)
{
    return send_or_queue(writer, fd, header, parts, nparts, fds);
}

int wire_writer_queue(struct wire_writer *writer, const struct wire_frame *header,
                      const struct iovec *parts, unsigned nparts, const int *fds)
{
    return send_or_queue(writer, -1, header, parts, nparts, fds);
}

static void drop_first_fds(struct wire_writer *writer)
{
    close_all(writer->fds[0].fds, writer->fds[0].count);
    writer->nfds_messages--;
    memmove(writer->fds, writer->fds + 1, writer->nfds_messages * sizeof(*writer->fds));
}

int wire_writer_flush(struct wire_writer *writer, int fd)
{
    while (wire_writer_pending(writer)) {
        const struct wire_pending_fds *first = writer->nfds_messages ? writer->fds : NULL;
        bool with = first && first->at == writer->start;
        size_t stop = writer->end;
        if (with && writer->nfds_messages > 1)
            stop = first[1].at;
        else if (first && !with)
            stop = first->at;
        struct iovec part = {
            .iov_base = writer->buffer + writer->start,
            .iov_len = stop - writer->start,
        };
        ssize_t sent = send_once(fd, &part, 1, with ? first->fds : NULL, with ? first->count : 0,
                                 MSG_DONTWAIT);
        if (sent < 0)
            return (int)sent;
        writer->start += (size_t)sent;
        if (with)
            drop_first_fds(writer);
    }
    trim(writer);
    return 0;
}

/* Drops the first `sent` bytes of a vector. */
static void advance(struct iovec **parts, unsigned *nparts, size_t sent)
{
    while (*nparts && sent >= (*parts)->iov_len) {
        sent -= (*parts)->iov_len;
        ++*parts;
        --*nparts;
    }
    if (*nparts) {
        (*parts)->iov_base = (uint8_t *)(*parts)->iov_base + sent;
        (*parts)->iov_len -= sent;
    }
}

int wire_send_wait(int fd, const struct wire_frame *header, const struct iovec *parts,
                   unsigned nparts, const int *fds)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct iovec all[WIRE_MAX_PARTS + 1], *left = all;
    size_t total;
    unsigned nleft = nparts + 1, nfds = fds ? header->nfds : 0;
    int fault = gather(header, parts, nparts, fds, bytes, all, &total);
    if (fault)
        return fault;
    while (nleft) {
        ssize_t sent =
            nfds ? send_once(fd, left, nleft, fds, nfds, 0) : write_once(fd, left, nleft);
        if (sent >= 0) {
            nfds = 0;
            advance(&left, &nleft, (size_t)sent);
        } else if (sent == WIRE_AGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return WIRE_SYSTEM;
        } else {
            return (int)sent;
        }
    }
    return 0;
}
