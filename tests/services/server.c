/* The web server of server.h. */
#include "server.h"

#include "check.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_int connections;

struct connection {
    int fd, number;
};

static int send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return -1;
        bytes += sent;
        length -= (size_t)sent;
    }
    return 0;
}

static void reply(int fd, int status, const char *headers, const char *body, size_t length)
{
    char head[4608];
    int n = snprintf(head, sizeof(head), "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%s\r\n",
                     status, length, headers);
    if (send_all(fd, head, (size_t)n) == 0)
        send_all(fd, body, length);
}

static void stream(int fd, size_t length, size_t piece, unsigned pause_us)
{
    static const char zeros[4096];
    const char *head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    if (send_all(fd, head, strlen(head)) < 0)
        return;
    while (length > 0) {
        size_t n = length < piece ? length : piece;
        if (send_all(fd, zeros, n) < 0)
            return;
        length -= n;
        if (pause_us)
            usleep(pause_us);
    }
}

/* True when the connection stays open. */
static bool serve(struct connection *connection, const char *path, const char *request,
                  const char *body, size_t length)
{
    int fd = connection->fd;
    char text[4096];
    if (strcmp(path, "/hello") == 0) {
        reply(fd, 200, "Content-Type: text/plain\r\n", "hello \xc3\xbc", 8);
    } else if (strcmp(path, "/json") == 0) {
        reply(fd, 200, "", "{\"a\":[1,2]}", 11);
    } else if (strcmp(path, "/echo") == 0) {
        snprintf(text, sizeof(text), "%s%.*s", request, (int)length, body);
        reply(fd, 200, "", text, strlen(text));
    } else if (strncmp(path, "/to/", 4) == 0) {
        snprintf(text, sizeof(text), "Location: %s\r\n", path + 4);
        reply(fd, 302, text, "moved", 5);
    } else if (strncmp(path, "/status/", 8) == 0) {
        reply(fd, atoi(path + 8), "", "", 0);
    } else if (strcmp(path, "/twice") == 0) {
        reply(fd, 200, "X-Two: a\r\nx-two: b\r\n", "", 0);
    } else if (strcmp(path, "/binary") == 0) {
        reply(fd, 200, "", "a\xff\0b", 4);
    } else if (strncmp(path, "/wait/", 6) == 0) {
        usleep((unsigned)atoi(path + 6) * 1000);
        reply(fd, 200, "", "waited", 6);
    } else if (strncmp(path, "/see-other/", 11) == 0) {
        snprintf(text, sizeof(text), "Location: %s\r\n", path + 11);
        reply(fd, 303, text, "", 0);
    } else if (strncmp(path, "/keep/", 6) == 0) {
        snprintf(text, sizeof(text), "Location: %s\r\n", path + 6);
        reply(fd, 307, text, "", 0);
    } else if (strcmp(path, "/slow") == 0) {
        sleep(30);
        return false;
    } else if (strcmp(path, "/endless") == 0) {
        stream(fd, SIZE_MAX, 4096, 0);
        return false;
    } else if (strcmp(path, "/drip") == 0) {
        stream(fd, SIZE_MAX, 1, 20000);
        return false;
    } else if (strncmp(path, "/long/", 6) == 0) {
        stream(fd, (size_t)atol(path + 6), 4096, 0);
        return false;
    } else if (strcmp(path, "/truncated") == 0) {
        const char *head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort";
        send_all(fd, head, strlen(head));
        return false;
    } else if (strcmp(path, "/garbage") == 0) {
        send_all(fd, "\x01\x02\x03 garbage\r\n\r\n", 14);
        return false;
    } else if (strcmp(path, "/connection") == 0) {
        snprintf(text, sizeof(text), "%d", connection->number);
        reply(fd, 200, "", text, strlen(text));
    } else {
        return false;
    }
    return true;
}

/* One request, whole, into `buffer`; its length, 0 at the end. */
static size_t receive(int fd, char *buffer, size_t capacity, char **body)
{
    size_t length = 0, wanted = 0;
    *body = NULL;
    for (;;) {
        ssize_t n = recv(fd, buffer + length, capacity - 1 - length, 0);
        if (n <= 0)
            return 0;
        length += (size_t)n;
        buffer[length] = '\0';
        if (buffer[0] == 0x16)
            return 0; /* TLS */
        char *end = strstr(buffer, "\r\n\r\n");
        if (!end)
            continue;
        *body = end + 4;
        const char *header = strcasestr(buffer, "\r\nContent-Length:");
        wanted = (size_t)(*body - buffer) + (header ? (size_t)atol(header + 17) : 0);
        if (length >= wanted)
            return length;
    }
}

static void *talk(void *data)
{
    struct connection *connection = data;
    char *buffer = malloc(1 << 20), *body, path[2048];
    size_t length;
    while ((length = receive(connection->fd, buffer, 1 << 20, &body))) {
        size_t body_length = length - (size_t)(body - buffer);
        char *copy = malloc(body_length + 1);
        memcpy(copy, body, body_length);
        *body = '\0';
        bool stays = sscanf(buffer, "%*s %2047s", path) == 1 &&
                     serve(connection, path, buffer, copy, body_length);
        free(copy);
        if (!stays)
            break;
    }
    close(connection->fd);
    free(buffer);
    free(connection);
    return NULL;
}

static void *listen_on(void *data)
{
    int listener = (int)(intptr_t)data;
    for (;;) {
        pthread_t thread;
        struct connection *connection = malloc(sizeof(*connection));
        connection->fd = accept(listener, NULL, NULL);
        connection->number = atomic_fetch_add(&connections, 1) + 1;
        pthread_create(&thread, NULL, talk, connection);
        pthread_detach(thread);
    }
    return NULL;
}

int server_start(const char *address, int port)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof(where);
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, address, &where.sin_addr), 1);
    assert_int_equal(bind(listener, (struct sockaddr *)&where, size), 0);
    assert_int_equal(listen(listener, 64), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&where, &size), 0);
    assert_int_equal(pthread_create(&thread, NULL, listen_on, (void *)(intptr_t)listener), 0);
    pthread_detach(thread);
    return ntohs(where.sin_port);
}

int server_connections(void)
{
    return atomic_load(&connections);
}
