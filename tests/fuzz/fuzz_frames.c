/*
 * A fuzz target: hostile bytes into the reader, in pieces that the input itself chooses, and every
 * frame that comes out into the decoder of its body. Input: a byte for the direction, a byte for
 * the size of the pieces, then the stream.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const uint8_t *input;
static size_t left, piece;

/* Instead of a socket. */
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)fd;
    (void)flags;
    size_t take = message->msg_iov[0].iov_len;
    take = take < piece ? take : piece;
    take = take < left ? take : left;
    memcpy(message->msg_iov[0].iov_base, input, take);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    input += take;
    left -= take;
    return (ssize_t)take;
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_inside(const struct wire_frame *frame, const struct wire_text *texts,
                           size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *start = (const uint8_t *)texts[i].bytes;
        require(start >= frame->body && start + texts[i].length <= frame->body + frame->length);
        require(utf8_check(texts[i].bytes, texts[i].length));
    }
}

/* What was decoded is encoded again: the fixed part is the same, byte for byte. */
static void decode(const struct wire_frame *frame)
{
    union {
        struct wire_hello hello;
        struct wire_load load;
        struct wire_call call;
        struct wire_error error;
        struct wire_request request;
        struct wire_log log;
    } body;
    uint8_t fixed[WIRE_HELLO_BYTES];
    size_t size = 0;
    if (wire_hello_decode(&body.hello, frame->body, frame->length) &&
        body.hello.version == WIRE_VERSION) {
        wire_hello_encode(&body.hello, fixed);
        require(!memcmp(fixed, frame->body, WIRE_HELLO_BYTES));
    }
    if (wire_load_decode(&body.load, frame->body, frame->length)) {
        size = wire_load_encode(&body.load, fixed);
        require_inside(frame, &body.load.name, 4);
        require(!memcmp(fixed, frame->body, size));
    }
    if (wire_call_decode(&body.call, frame->body, frame->length)) {
        size = wire_call_encode(&body.call, fixed);
        require_inside(frame, &body.call.locale, 1);
        require(!memcmp(fixed, frame->body, size));
    }
    if (wire_error_decode(&body.error, frame->body, frame->length)) {
        size = wire_error_encode(&body.error, fixed);
        require_inside(frame, &body.error.name, 5);
        require(!memcmp(fixed, frame->body, size));
    }
    if (wire_request_decode(&body.request, frame->body, frame->length)) {
        size = wire_request_encode(&body.request, fixed);
        require_inside(frame, &body.request.name, 1);
        require(!memcmp(fixed, frame->body, size));
    }
    if (wire_log_decode(&body.log, frame->body, frame->length)) {
        size = wire_log_encode(&body.log, fixed);
        require_inside(frame, &body.log.text, 1);
        require(!memcmp(fixed, frame->body, size));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct wire_reader reader;
    struct wire_frame frame;
    if (length < 2)
        return 0;
    bool inwards = bytes[0] & 1;
    wire_reader_init(&reader, inwards ? WIRE_DIR_IN : WIRE_DIR_OUT, 1u << (4 + bytes[0] % 24),
                     inwards);
    piece = bytes[1] ? bytes[1] : 65536;
    input = bytes + 2;
    left = length - 2;
    int got, cut = 0;
    while ((got = wire_reader_fill(&reader, -1)) > 0) {
        while ((cut = wire_reader_next(&reader, &frame)) == 1) {
            require(frame.body[frame.length] == 0);
            require(wire_type_limit(frame.type, reader.direction, reader.cap) >= frame.length);
            decode(&frame);
        }
        if (cut < 0)
            break;
        require(reader.capacity <= 2 * (length + (32u << 10)));
    }
    require(cut < 0 || got == WIRE_EOF || got == WIRE_TRUNCATED || got == WIRE_TOO_LONG ||
            got == WIRE_BAD_TYPE || got == WIRE_BAD_FDS);
    wire_reader_finish(&reader);
    return 0;
}
