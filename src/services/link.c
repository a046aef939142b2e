/* Frames between the services and their host. The host is trusted; a breach is a fault of ours. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "services/services.h"

bool link_init(struct link *link, int epoll, int fd)
{
    memset(link, 0, sizeof(*link));
    link->epoll = epoll;
    link->fd = fd;
    link->cap = WIRE_DEFAULT_CAP;
    /* The host's own caps hold for what its guests send; an order is that and an envelope. */
    wire_reader_init(&link->reader, WIRE_DIR_IN, UINT32_MAX, false);
    wire_writer_init(&link->writer);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &link->watch};
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void link_finish(struct link *link)
{
    wire_reader_finish(&link->reader);
    wire_writer_finish(&link->writer);
}

bool link_read(struct link *link, link_frame_fn fn, void *data)
{
    struct wire_frame frame;
    int count = wire_reader_fill(&link->reader, link->fd);
    if (count == WIRE_AGAIN)
        return true;
    if (count == WIRE_EOF || count == WIRE_TRUNCATED ||
        (count == WIRE_SYSTEM && errno == ECONNRESET)) {
        link->closed = true;
        return true;
    }
    int cut = count;
    while (count > 0 && (cut = wire_reader_next(&link->reader, &frame)) > 0)
        fn(data, &frame);
    if (cut < 0)
        fprintf(stderr, "halter-services: from the host: %s\n", wire_fault_text(cut));
    return cut >= 0;
}

static void want_write(struct link *link, bool wanted)
{
    if (wanted == link->wants_write)
        return;
    struct epoll_event event = {.events = EPOLLIN | (wanted ? EPOLLOUT : 0u),
                                .data.ptr = &link->watch};
    epoll_ctl(link->epoll, EPOLL_CTL_MOD, link->fd, &event);
    link->wants_write = wanted;
}

void link_flush(struct link *link)
{
    int fault = wire_writer_flush(&link->writer, link->fd);
    if (fault != 0 && fault != WIRE_AGAIN)
        link->closed = true;
    want_write(link, fault == WIRE_AGAIN);
}

static void send(struct link *link, uint8_t type, uint64_t id, const struct iovec *parts,
                 unsigned nparts)
{
    struct wire_frame frame = {.type = type, .id = id};
    int fault = wire_writer_send(&link->writer, link->fd, &frame, parts, nparts, NULL);
    if (fault == WIRE_NO_MEMORY) {
        fprintf(stderr, "halter-services: out of memory\n");
        exit(EXIT_FAILURE); /* the host sees it and starts another one */
    }
    if (fault != 0)
        link->closed = true;
    want_write(link, wire_writer_pending(&link->writer) > 0);
}

void link_hello(struct link *link, uint32_t layers, uint32_t landlock_abi)
{
    struct wire_hello hello = {.version = WIRE_VERSION,
                               .kind = WIRE_HELPER_SERVICES,
                               .cap = WIRE_DEFAULT_CAP,
                               .layers = layers,
                               .landlock_abi = landlock_abi,
                               .engine = "halter-services"};
    uint8_t body[WIRE_HELLO_BYTES];
    wire_hello_encode(&hello, body);
    struct iovec part = {body, sizeof(body)};
    send(link, WIRE_HELLO, 0, &part, 1);
}

void link_loaded(struct link *link, uint64_t id)
{
    send(link, WIRE_LOADED, id, NULL, 0);
}

void link_value(struct link *link, uint64_t id, const char *json, size_t length)
{
    if (length > link->cap) {
        link_error(link, id, WIRE_ERROR_TOO_LONG, "the answer is larger than the host takes");
        return;
    }
    struct iovec part = {(void *)(uintptr_t)json, length};
    send(link, WIRE_VALUE, id, &part, 1);
}

void link_error(struct link *link, uint64_t id, enum wire_error_kind kind, const char *message)
{
    struct wire_error error = {.kind = (uint16_t)kind,
                               .message = {message, (uint32_t)strlen(message)}};
    uint8_t fixed[WIRE_ERROR_FIXED];
    if (!utf8_check(message, strlen(message)))
        error.message = (struct wire_text){"failed, with a message that is no UTF-8", 39};
    wire_error_encode(&error, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {(void *)(uintptr_t)error.message.bytes, error.message.length}};
    send(link, WIRE_ERROR, id, parts, 2);
}
