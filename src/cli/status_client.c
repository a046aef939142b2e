/* A client of the status socket, which speaks HTTP/1.0: see status_client.h. */
#include "cli/status_client.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 5000
#define REPLY_MAX   (16u << 20)
#define PIECE_BYTES 65536

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A connected socket, or -1 with errno: EAGAIN when the program takes no connections. */
static int reach(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000}; /* of connect() and send() */
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

/* Everything up to the end of the connection; false with errno, EAGAIN when it takes too long. */
static bool read_all(int fd, struct buffer *reply)
{
    int64_t end = now_ms() + PATIENCE_MS;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left = end - now_ms();
        if (left <= 0 || poll(&ready, 1, (int)left) == 0) {
            errno = EAGAIN;
            return false;
        }
        buffer_reserve(reply, PIECE_BYTES);
        ssize_t count = recv(fd, reply->bytes + reply->used, PIECE_BYTES - 1, MSG_DONTWAIT);
        if (count == 0)
            return true;
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        reply->used += count > 0 ? (size_t)count : 0;
        if (reply->used > REPLY_MAX) {
            errno = EMSGSIZE;
            return false;
        }
    }
}

static bool explain(char *why, size_t why_bytes)
{
    if (errno == EAGAIN)
        snprintf(why, why_bytes, "no answer within %d seconds: is the program stopped?",
                 PATIENCE_MS / 1000);
    else if (errno == EMSGSIZE)
        snprintf(why, why_bytes, "an answer without end: this is no status socket");
    else
        snprintf(why, why_bytes, "%s", strerror(errno));
    return false;
}

bool status_ask(const char *path, const char *method, const char *what, struct buffer *reply,
                char *why, size_t why_bytes)
{
    char request[160];
    int length = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\n\r\n", method, what);
    buffer_reset(reply, 1 << 20);
    int fd = reach(path);
    if (fd < 0)
        return explain(why, why_bytes);
    bool read = send(fd, request, (size_t)length, MSG_NOSIGNAL) == length && read_all(fd, reply);
    int error = errno;
    close(fd);
    errno = error;
    if (!read)
        return explain(why, why_bytes);
    buffer_byte(reply, '\0');
    char *body = strstr(reply->bytes, "\r\n\r\n");
    if (!body || strncmp(reply->bytes, "HTTP/1.0 ", 9) != 0) {
        snprintf(why, why_bytes, "%s",
                 reply->used > 1 ? "the answer is not that of a status socket"
                                 : "no answer: is it another user's?");
        return false;
    }
    bool fine = strncmp(reply->bytes + 9, "200", 3) == 0;
    if (!fine)
        snprintf(why, why_bytes, "%.*s", (int)strcspn(reply->bytes + 9, "\r\n"), reply->bytes + 9);
    reply->used -= (size_t)(body + 4 - reply->bytes) + 1;
    memmove(reply->bytes, body + 4, reply->used + 1);
    return fine;
}
