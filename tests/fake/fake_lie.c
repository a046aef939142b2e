/*
 * Every way of speaking the protocol wrongly: bytes that are no frame, frames that are no answer,
 * bodies that are not what their type says, descriptors that nobody wants, and slow or half truths.
 */
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define IS(word) (!strcmp(verb, word))

static void raw(struct fake *fake, const void *bytes, size_t length)
{
    const char *at = bytes;
    while (length) {
        ssize_t put = write(fake->start->socket, at, length);
        if (put < 0)
            _exit(HELPER_EXIT_EOF);
        at += put;
        length -= (size_t)put;
    }
}

static void raw_header(struct fake *fake, const struct wire_frame *frame, size_t bytes)
{
    uint8_t header[WIRE_HEADER_BYTES];
    wire_header_encode(frame, header);
    raw(fake, header, bytes);
}

static _Noreturn void stall(void)
{
    for (;;)
        pause();
}

static bool lie_bytes(struct fake *fake, const struct moment *moment, const char *verb,
                      const char *rest)
{
    struct wire_frame value = {.type = WIRE_VALUE, .id = moment->id, .length = 8};
    uint8_t noise[64];
    if (IS("half-frame")) {
        raw_header(fake, &value, WIRE_HEADER_BYTES);
        raw(fake, "\"abc", 4);
        stall();
    } else if (IS("half-header")) {
        raw_header(fake, &value, 7);
        stall();
    } else if (IS("length")) {
        value.length = (uint32_t)strtoul(rest, NULL, 0);
        raw_header(fake, &value, WIRE_HEADER_BYTES);
    } else if (IS("garbage")) {
        for (unsigned i = 0; i < sizeof(noise); i++)
            noise[i] = (uint8_t)(0x9d + i * 0x4f);
        raw(fake, noise, sizeof(noise));
    } else if (IS("hello-magic")) {
        uint8_t body[WIRE_HELLO_BYTES] = "ELF";
        fake_send(fake, WIRE_HELLO, 0, 0, body, sizeof(body));
        fake->hello_sent = true;
    } else if (IS("hello-short") || IS("hello-long")) {
        uint8_t body[WIRE_HELLO_BYTES + 16] = {0};
        wire_hello_encode(&fake->hello, body);
        fake_send(fake, WIRE_HELLO, 0, 0, body, IS("hello-short") ? 20 : sizeof(body));
        fake->hello_sent = true;
    } else {
        return false;
    }
    return true;
}

static bool lie_bodies(struct fake *fake, uint64_t id, const char *verb)
{
    if (IS("bad-json"))
        fake_value(fake, id, "{\"a\":");
    else if (IS("bad-utf8"))
        fake_value(fake, id, "\"\xff\xfe\"");
    else if (IS("empty"))
        fake_value(fake, id, "");
    else if (IS("trailing"))
        fake_value(fake, id, "1 2");
    else if (IS("bad-error"))
        fake_send(fake, WIRE_ERROR, 0, id, "\x63\0\0\0", 4);
    else if (IS("bad-log"))
        fake_send(fake, WIRE_LOG, 0, 0, "\x09\0\0\0\0\0\0\0x", 9);
    else if (IS("bad-request"))
        fake_send(fake, WIRE_REQUEST, 0, fake->next_request, "\0\0\xff\0x", 5);
    else
        return false;
    return true;
}

/* Sound frames at the wrong time, in the wrong direction or under the wrong id. */
static bool lie_frames(struct fake *fake, const struct moment *moment, const char *verb,
                       const char *rest)
{
    uint64_t id = moment->id;
    unsigned number = (unsigned)strtoul(rest, NULL, 0);
    if (IS("unknown-type"))
        fake_send(fake, *rest ? (uint8_t)number : 200, 0, id, "1", 1);
    else if (IS("wrong-way"))
        fake_send(fake, WIRE_ANSWER, 0, id, "1", 1);
    else if (IS("wrong-id"))
        fake_value(fake, id + 2, "1");
    else if (IS("old-id"))
        fake_value(fake, fake->last_id ? fake->last_id : id - 2, "1");
    else if (IS("zero-id"))
        fake_value(fake, 0, "1");
    else if (IS("even-id"))
        fake_value(fake, id + 1, "1");
    else if (IS("unasked") || IS("value-first"))
        fake_value(fake, id, "1");
    else if (IS("twice"))
        fake_value(fake, id, "1"), fake_value(fake, id, "2");
    else if (IS("loaded"))
        fake_send(fake, WIRE_LOADED, 0, id, NULL, 0);
    else if (IS("odd-request"))
        fake_send(fake, WIRE_REQUEST, 0, 3, "\0\0\1\0x[]", 7);
    else if (IS("same-request"))
        fake_send(fake, WIRE_REQUEST, 0, 2, "\0\0\1\0x[]", 7),
            fake_send(fake, WIRE_REQUEST, 0, 2, "\0\0\1\0x[]", 7);
    else if (IS("beat"))
        fake_send(fake, WIRE_BEAT, 0, 7777, NULL, 0);
    else if (IS("mute-beats"))
        fake->mute_beats = true;
    else if (IS("end"))
        fake_send(fake, WIRE_END, 7, 0, NULL, 0);
    else
        return false;
    return true;
}

static bool lie_sizes(struct fake *fake, uint64_t id, const char *verb, const char *rest)
{
    uint8_t body[WIRE_HELLO_BYTES], credit[4] = {0};
    unsigned number = (unsigned)strtoul(rest, NULL, 0);
    if (IS("hello")) {
        wire_hello_encode(&fake->hello, body);
        fake_send(fake, WIRE_HELLO, 0, 0, body, sizeof(body));
    } else if (IS("credit")) {
        memcpy(credit, &number, sizeof(credit));
        fake_send(fake, WIRE_CREDIT, 7, 0, credit, sizeof(credit));
    } else if (IS("data") || IS("long-error")) {
        size_t length = IS("data") ? number : 300000;
        char *bytes = calloc(1, length + 1);
        fake_send(fake, IS("data") ? WIRE_DATA : WIRE_ERROR, 7, id, bytes, length);
        free(bytes);
    } else {
        return false;
    }
    return true;
}

/* Descriptors go inwards only: these go outwards, or are promised and do not come. */
static void send_fds(struct fake *fake, const struct moment *moment, unsigned count, bool claimed)
{
    uint8_t bytes[WIRE_HEADER_BYTES + 1] = {0};
    struct wire_frame frame = {
        .type = WIRE_VALUE,
        .id = moment->id,
        .length = 1,
        .nfds = claimed ? (uint8_t)count : 0,
    };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * 64)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int) * count),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < count; i++)
        memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &null, sizeof(int));
    wire_header_encode(&frame, bytes);
    bytes[WIRE_HEADER_BYTES] = '1';
    struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(sizeof(int) * count),
    };
    if (sendmsg(fake->start->socket, &message, 0) < 0)
        _exit(HELPER_EXIT_EOF);
    close(null);
}

static void slow_bytes(struct fake *fake, const struct moment *moment, const char *rest)
{
    uint8_t header[WIRE_HEADER_BYTES];
    unsigned pause_ms = *rest ? (unsigned)strtoul(rest, NULL, 0) : 1;
    struct wire_frame frame = {
        .type = WIRE_VALUE,
        .id = moment->id,
        .length = (uint32_t)moment->json_bytes,
    };
    wire_header_encode(&frame, header);
    for (size_t i = 0; i < WIRE_HEADER_BYTES + moment->json_bytes; i++) {
        raw(fake,
            i < WIRE_HEADER_BYTES ? (const char *)header + i : moment->json + i - WIRE_HEADER_BYTES,
            1);
        usleep(pause_ms * 1000);
    }
}

bool fake_lie(struct fake *fake, const struct moment *moment, const char *verb, const char *rest)
{
    struct wire_frame claim = {.type = WIRE_VALUE, .id = moment->id, .length = 1, .nfds = 1};
    if (lie_bytes(fake, moment, verb, rest) || lie_bodies(fake, moment->id, verb) ||
        lie_frames(fake, moment, verb, rest) || lie_sizes(fake, moment->id, verb, rest))
        return true;
    if (IS("claim-fd"))
        raw_header(fake, &claim, WIRE_HEADER_BYTES), raw(fake, "1", 1);
    else if (IS("send-fd"))
        send_fds(fake, moment, 1, *rest == 'c');
    else if (IS("many-fds"))
        send_fds(fake, moment, 64, false);
    else if (IS("slow-bytes"))
        slow_bytes(fake, moment, rest);
    else if (IS("stop-reading"))
        stall();
    else
        return false;
    return true;
}
