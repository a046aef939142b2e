/*
 * The receiving half of a connection: bytes come in, whole frames come out, and nothing that the
 * peer writes makes this side allocate more than about twice what has arrived. Bodies are never
 * copied: a frame's body is a slice of the buffer, and the byte behind it is lent to a NUL.
 *
 * Descriptors are matched to frames by order. Their sender puts them on the first byte of their
 * frame, so when a frame is whole they have arrived: each frame takes its `nfds` from the front of
 * the queue, and a queue that is not empty when no byte is left unread is a fault.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire/frame.h"

#define FIRST_BYTES (32u << 10) /* the first buffer: most frames of most plugins fit */
#define QUEUE_FDS   (sizeof(((struct wire_reader *)0)->fds) / sizeof(int))

void wire_reader_init(struct wire_reader *reader, enum wire_direction direction, uint32_t cap,
                      bool takes_fds)
{
    *reader = (struct wire_reader){
        .direction = direction,
        .cap = cap,
        .takes_fds = takes_fds,
    };
}

static void close_queue(struct wire_reader *reader)
{
    for (unsigned i = 0; i < reader->nfds; i++)
        close(reader->fds[i]);
    reader->nfds = 0;
}

void wire_reader_finish(struct wire_reader *reader)
{
    close_queue(reader);
    free(reader->buffer);
    wire_reader_init(reader, reader->direction, reader->cap, reader->takes_fds);
}

/* Takes back the byte behind the last body, which a NUL stood in for. */
static void restore_lent(struct wire_reader *reader)
{
    if (reader->has_lent)
        reader->buffer[reader->start] = reader->lent;
    reader->has_lent = false;
}

/* A header of the buffer: 1 when it is there and sound, 0 when bytes are missing, else a fault. */
static int look(const struct wire_reader *reader, size_t at, struct wire_frame *frame)
{
    if (reader->end - at < WIRE_HEADER_BYTES)
        return 0;
    wire_header_decode(frame, reader->buffer + at);
    int64_t limit = wire_type_limit(frame->type, reader->direction, reader->cap);
    if (limit < 0)
        return WIRE_BAD_TYPE;
    if (frame->length > limit)
        return WIRE_TOO_LONG;
    if (frame->nfds > WIRE_MAX_FDS ||
        (frame->nfds && !(reader->takes_fds && wire_type_takes_fds(frame->type))))
        return WIRE_BAD_FDS;
    return 1;
}

/* Puts the unread bytes at the front of a buffer of `capacity` bytes. */
static bool resize(struct wire_reader *reader, size_t capacity)
{
    size_t unread = reader->end - reader->start;
    if (reader->start && unread)
        memmove(reader->buffer, reader->buffer + reader->start, unread);
    reader->start = 0;
    reader->end = unread;
    if (capacity == reader->capacity)
        return true;
    uint8_t *buffer = realloc(reader->buffer, capacity);
    if (!buffer)
        return false;
    reader->buffer = buffer;
    reader->capacity = capacity;
    return true;
}

/*
 * Makes room for what is to be read: 1, or 0 when the buffer is full of whole frames, or a fault.
 * A buffer doubles, and only when the bytes that have arrived fill it, so a length that is a lie
 * costs nothing. One byte at the end stays free for the NUL.
 */
static int make_room(struct wire_reader *reader)
{
    struct wire_frame frame = {0};
    int seen = look(reader, reader->start, &frame);
    if (seen < 0)
        return seen;
    size_t unread = reader->end - reader->start;
    size_t whole = WIRE_HEADER_BYTES + (seen ? (size_t)frame.length : 0);
    if (reader->capacity > WIRE_KEEP_BYTES && whole < WIRE_KEEP_BYTES && unread < WIRE_KEEP_BYTES)
        return resize(reader, WIRE_KEEP_BYTES) ? 1 : WIRE_NO_MEMORY;
    if (reader->capacity && reader->end + 1 < reader->capacity &&
        reader->start + whole < reader->capacity)
        return 1;
    if (unread + 1 < reader->capacity)
        return resize(reader, reader->capacity) ? 1 : WIRE_NO_MEMORY;
    if (seen && unread >= whole)
        return 0;
    size_t wanted = reader->capacity ? 2 * reader->capacity : FIRST_BYTES;
    size_t most = whole + 1 > WIRE_KEEP_BYTES ? whole + 1 : WIRE_KEEP_BYTES;
    return resize(reader, wanted < most ? wanted : most) ? 1 : WIRE_NO_MEMORY;
}

/* Queues the descriptors of one message. Every one that arrived is either queued or closed. */
static int take_fds(struct wire_reader *reader, struct msghdr *message)
{
    bool fits = !(message->msg_flags & MSG_CTRUNC);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            if (reader->nfds < QUEUE_FDS) {
                reader->fds[reader->nfds++] = fd;
            } else {
                close(fd);
                fits = false;
            }
        }
    }
    return fits ? 0 : WIRE_BAD_FDS;
}

/* Whether the unread bytes end where a frame ends. */
static bool at_boundary(const struct wire_reader *reader)
{
    struct wire_frame frame;
    size_t at = reader->start;
    while (at < reader->end) {
        if (look(reader, at, &frame) != 1 || reader->end - at - WIRE_HEADER_BYTES < frame.length)
            return false;
        at += WIRE_HEADER_BYTES + frame.length;
    }
    return true;
}

static int end_of_input(struct wire_reader *reader)
{
    reader->at_eof = true;
    return at_boundary(reader) ? WIRE_EOF : WIRE_TRUNCATED;
}

static int receive(struct wire_reader *reader, int fd, int flags)
{
    restore_lent(reader);
    int room = make_room(reader);
    if (room <= 0)
        return room;
    /* Without room for control data the kernel drops descriptors unopened, and says MSG_CTRUNC. */
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * QUEUE_FDS)];
    } control;
    struct iovec into = {
        .iov_base = reader->buffer + reader->end,
        .iov_len = reader->capacity - reader->end - 1,
    };
    struct msghdr message = {
        .msg_iov = &into,
        .msg_iovlen = 1,
        .msg_control = reader->takes_fds ? &control : NULL,
        .msg_controllen = reader->takes_fds ? sizeof(control) : 0,
    };
    ssize_t got;
    do {
        got = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return WIRE_AGAIN;
    if (got == 0 || (got < 0 && errno == ECONNRESET))
        return end_of_input(reader);
    if (got < 0)
        return WIRE_SYSTEM;
    reader->end += (size_t)got;
    int fault = take_fds(reader, &message);
    return fault ? fault : (int)got;
}

int wire_reader_fill(struct wire_reader *reader, int fd)
{
    return receive(reader, fd, MSG_DONTWAIT);
}

/* A large frame is behind us and nothing is unread: its memory goes back. */
static int idle(struct wire_reader *reader)
{
    if (reader->start == reader->end) {
        reader->start = reader->end = 0;
        if (reader->nfds)
            return WIRE_BAD_FDS;
        if (reader->capacity > WIRE_KEEP_BYTES) {
            free(reader->buffer);
            reader->buffer = NULL;
            reader->capacity = 0;
        }
    }
    return 0;
}

int wire_reader_next(struct wire_reader *reader, struct wire_frame *frame)
{
    restore_lent(reader);
    int seen = look(reader, reader->start, frame);
    if (seen < 0)
        return seen;
    if (!seen || reader->end - reader->start - WIRE_HEADER_BYTES < frame->length)
        return idle(reader);
    if (frame->nfds > reader->nfds)
        return WIRE_BAD_FDS;
    if (frame->nfds) {
        memcpy(frame->fds, reader->fds, frame->nfds * sizeof(int));
        reader->nfds -= frame->nfds;
        memmove(reader->fds, reader->fds + frame->nfds, reader->nfds * sizeof(int));
    }
    frame->body = reader->buffer + reader->start + WIRE_HEADER_BYTES;
    reader->start += WIRE_HEADER_BYTES + (size_t)frame->length;
    reader->lent = reader->buffer[reader->start];
    reader->has_lent = true;
    reader->buffer[reader->start] = 0;
    return 1;
}

int wire_receive_wait(struct wire_reader *reader, int fd, struct wire_frame *frame)
{
    for (;;) {
        int cut = wire_reader_next(reader, frame);
        if (cut)
            return cut;
        int got = receive(reader, fd, 0);
        if (got == WIRE_AGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            if (poll(&ready, 1, -1) < 0 && errno != EINTR)
                return WIRE_SYSTEM;
        } else if (got < 0) {
            return got;
        }
    }
}
