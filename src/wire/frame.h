/*
 * Frames: how bytes and descriptors cross the boundary between a host and a helper.
 *
 * A frame is a header of 16 bytes and a body; docs/protocol.md is the specification and this
 * header its C form. The wire knows nothing of guests: it caps, it cuts, it carries. Every byte
 * that arrives is treated as hostile. Nothing here blocks unless its name says `wait`.
 *
 *   0        4      5      6        8                16
 *   +--------+------+------+--------+----------------+----------...
 *   | length | type | nfds | stream | id             | body, `length` bytes
 *   +--------+------+------+--------+----------------+----------...
 *   all little-endian
 */
#ifndef HALTER_WIRE_FRAME_H
#define HALTER_WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define WIRE_MAGIC            0x52544c48u /* "HLTR" as bytes */
#define WIRE_VERSION          1
#define WIRE_HEADER_BYTES     16
#define WIRE_MAX_FDS          8              /* descriptors in one frame */
#define WIRE_DEFAULT_CAP      (64u << 20)    /* the largest body, unless the host says otherwise */
#define WIRE_KEEP_BYTES       (256u << 10)   /* a reader's buffer shrinks back to this */

enum wire_type {
#define FRAME(name, number, direction, largest, what) WIRE_##name = number,
#include "wire/frame.def"
#undef FRAME
};

enum wire_direction { WIRE_DIR_IN = 1, WIRE_DIR_OUT = 2, WIRE_DIR_BOTH = 3 };

struct wire_frame {
    uint32_t length; /* of the body, in bytes */
    uint8_t type;    /* enum wire_type */
    uint8_t nfds;
    uint16_t stream;
    uint64_t id;         /* odd from the host, even from the helper, 0 where none is needed */
    const uint8_t *body; /* borrowed from the reader until its next fill or next, and followed by
                            a NUL that is not part of it: a text at a body's end is terminated */
    int fds[WIRE_MAX_FDS]; /* owned by the caller of wire_reader_next, close-on-exec */
};

/* What a reader can find wrong. The numbers are negative, so that they share an int with counts. */
enum wire_fault {
    WIRE_EOF = -1,        /* the peer closed at a frame's boundary */
    WIRE_AGAIN = -2,      /* nothing more to read now */
    WIRE_TRUNCATED = -3,  /* the peer closed inside a frame */
    WIRE_TOO_LONG = -4,   /* a length above the type's cap; nothing was allocated for it */
    WIRE_BAD_TYPE = -5,   /* an unknown type, or one that does not go this way */
    WIRE_BAD_FDS = -6,    /* descriptors missing, too many, or truncated by the kernel */
    WIRE_NO_MEMORY = -7,
    WIRE_SYSTEM = -8,     /* a system call failed: errno says which way */
};
const char *wire_fault_text(int fault);

/* One direction of one connection, as its receiver sees it. */
struct wire_reader {
    uint8_t *buffer; /* bytes [start, end) are unread */
    size_t capacity, start, end;
    uint32_t cap;                     /* the largest body taken, bytes */
    enum wire_direction direction;    /* which frames may arrive: WIRE_DIR_IN in a helper */
    bool takes_fds;                   /* false in a host: descriptors are dropped, and a fault */
    bool at_eof;
    int fds[4 * WIRE_MAX_FDS];        /* arrived and not yet claimed by a frame */
    unsigned nfds;
    bool has_lent; /* the byte at `start` stands in `lent`, for the NUL behind the last body */
    uint8_t lent;
};

/* Makes a reader; allocates nothing until bytes arrive. */
void wire_reader_init(struct wire_reader *reader, enum wire_direction direction, uint32_t cap,
                      bool takes_fds);
/* Frees its buffer and closes the descriptors that no frame has claimed. */
void wire_reader_finish(struct wire_reader *reader);
/*
 * One recvmsg() from `fd`, which does not wait. Returns the number of bytes, or a fault; 0 when
 * the buffer is full of whole frames, which wire_reader_next has to take first. WIRE_EOF is
 * returned as WIRE_TRUNCATED when part of a frame is held. EINTR is retried. A reader that takes
 * no descriptors gives the kernel no room for any: they are dropped unopened, and WIRE_BAD_FDS.
 */
int wire_reader_fill(struct wire_reader *reader, int fd);
/*
 * Cuts the next whole frame out of the buffer. 1 with *frame filled; 0 when more bytes are needed;
 * a fault when the bytes are no frame (the connection is then of no more use).
 */
int wire_reader_next(struct wire_reader *reader, struct wire_frame *frame);

/* What still has to be sent on one connection; its bytes are copies, its descriptors are owned. */
struct wire_writer {
    uint8_t *buffer;
    size_t capacity, start, end;
    struct wire_pending_fds *fds; /* descriptors that go with a later byte of the buffer */
    unsigned nfds_messages;
};
void wire_writer_init(struct wire_writer *writer);
void wire_writer_finish(struct wire_writer *writer);
static inline size_t wire_writer_pending(const struct wire_writer *writer)
{
    return writer->end - writer->start;
}
/*
 * Sends a frame whose body is the concatenation of `parts`, at most WIRE_MAX_PARTS: at once as far
 * as the socket takes it, the rest is copied and waits for wire_writer_flush. The header's length
 * is filled in here; `fds` has header->nfds entries, or is NULL for none, and is borrowed
 * (duplicated where it must wait). 0, or WIRE_NO_MEMORY, WIRE_TOO_LONG (more than a frame can
 * hold), WIRE_EOF (the peer is gone), WIRE_SYSTEM: then nothing of the frame was sent. Never
 * waits, never raises SIGPIPE.
 */
#define WIRE_MAX_PARTS 8
int wire_writer_send(struct wire_writer *writer, int fd, const struct wire_frame *header,
                     const struct iovec *parts, unsigned nparts, const int *fds);
/* The same, but nothing is sent before the next flush: many small frames then go in one call. */
int wire_writer_queue(struct wire_writer *writer, const struct wire_frame *header,
                      const struct iovec *parts, unsigned nparts, const int *fds);
/* Sends what waits. 0 when all is sent, WIRE_AGAIN when some is left, else a fault. */
int wire_writer_flush(struct wire_writer *writer, int fd);

/*
 * The waiting forms, for helpers and tests. They make only the system calls that a confined helper
 * keeps: recvmsg, poll, and writev where no descriptors go along (so the sender ignores SIGPIPE).
 */
int wire_send_wait(int fd, const struct wire_frame *header, const struct iovec *parts,
                   unsigned nparts, const int *fds);
/* 1 with a frame, WIRE_EOF, or another fault. Waits for ever: a host kills its helper. */
int wire_receive_wait(struct wire_reader *reader, int fd, struct wire_frame *frame);

/* The header alone, for test vectors and for peeking. */
void wire_header_encode(const struct wire_frame *frame, uint8_t out[WIRE_HEADER_BYTES]);
void wire_header_decode(struct wire_frame *frame, const uint8_t in[WIRE_HEADER_BYTES]);
/* The largest body that frames of `type` may have under `cap` going `direction`, or -1. */
int64_t wire_type_limit(uint8_t type, enum wire_direction direction, uint32_t cap);
/* Whether frames of `type` may carry descriptors: LOAD, CALL and ANSWER. */
bool wire_type_takes_fds(uint8_t type);
const char *wire_type_name(uint8_t type);

#endif
