/*
 * halter-serve: the static server behind `halter serve`, a program of its own so that the command
 * and the library stay without libmicrohttpd and what comes with it.
 *
 *     halter-serve ADDRESS PORT FLAGS PREFIX=FOLDER…
 *
 * FLAGS are a dash and letters: v logs requests, o opens a browser. One thread, one loop: epoll for
 * the connections, a signalfd for the end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/say.h"
#include "serve/serve.h"

#define MAX_CONNECTIONS 256
#define IDLE_SECONDS    30
#define MEMORY_BYTES    16384 /* a connection's, for its request's head: longer ones are refused */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, unsigned port, union address *out)
{
    *out = (union address){0};
    if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return true;
    }
    return false;
}

static bool is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* Listens, and learns the port when it was 0. -1 is said. */
static int listen_at(const char *text, unsigned port, union address *address)
{
    socklen_t length = sizeof *address;
    if (!parse_address(text, port, address)) {
        say("\"%s\" is no IP address; 127.0.0.1 is this machine alone, 0.0.0.0 is everybody", text);
        return -1;
    }
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (fd < 0 || bind(fd, &address->any, sizeof *address) < 0 || listen(fd, 64) < 0 ||
        getsockname(fd, &address->any, &length) < 0) {
        say("cannot listen at %s, port %u: %s%s", text, port, strerror(errno),
            errno == EADDRINUSE ? "; --port 0 takes a free one" : "");
        return -1;
    }
    return fd;
}

static void print_url(char *out, size_t capacity, const union address *address)
{
    char host[INET6_ADDRSTRLEN];
    bool v4 = address->any.sa_family == AF_INET;
    const void *number = v4 ? (const void *)&address->v4.sin_addr : &address->v6.sin6_addr;
    inet_ntop(address->any.sa_family, number, host, sizeof host);
    snprintf(out, capacity, v4 ? "http://%s:%u/" : "http://[%s]:%u/", host,
             ntohs(v4 ? address->v4.sin_port : address->v6.sin6_port));
}

/* PREFIX=FOLDER; false is said. */
static bool add_folder(struct serve_site *site, char *text)
{
    char *equals = strchr(text, '=');
    if (!equals || site->nfolders >= SERVE_MAX_FOLDERS) {
        say("\"%s\": PREFIX=FOLDER is meant, %d of them at the most", text, SERVE_MAX_FOLDERS);
        return false;
    }
    *equals = '\0';
    int fd = open(equals + 1, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        say("%s: %s", equals + 1, strerror(errno));
        return false;
    }
    site->folders[site->nfolders++] = (struct serve_folder){.prefix = text, .fd = fd};
    return true;
}

/* The desktop's browser, in a process that nobody waits for. */
static void open_browser(const char *url)
{
    sigset_t none;
    if (fork() != 0)
        return;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    execlp("xdg-open", "xdg-open", url, (char *)NULL);
    say("xdg-open cannot be started: %s; open %s yourself", strerror(errno), url);
    _exit(1);
}

/* Targets are taken apart by request.c, still encoded. */
static size_t leave_encoded(void *data, struct MHD_Connection *connection, char *text)
{
    (void)data, (void)connection;
    return strlen(text);
}

/* What clients do wrong is theirs; it is of interest with --verbose. */
__attribute__((format(printf, 2, 0))) static void log_daemon(void *data, const char *format,
                                                             va_list arguments)
{
    const struct serve_site *site = data;
    if (site->verbose)
        vfprintf(stderr, format, arguments);
}

static int signals_blocked(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* the browser's process is reaped by the kernel */
    return signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Until a signal ends it. */
static bool serve(struct MHD_Daemon *daemon, int ends)
{
    int epoll = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    struct pollfd ready[] = {{.fd = ends, .events = POLLIN}, {.fd = epoll, .events = POLLIN}};
    while (!ready[0].revents) {
        MHD_UNSIGNED_LONG_LONG timeout_ms;
        int wait_ms = -1;
        if (MHD_get_timeout(daemon, &timeout_ms) == MHD_YES)
            wait_ms = timeout_ms < 60000 ? (int)timeout_ms : 60000;
        if (poll(ready, 2, wait_ms) < 0 && errno != EINTR)
            return false;
        if (MHD_run(daemon) != MHD_YES)
            return false;
    }
    return true;
}

static int run(struct serve_site *site, const char *address_text, const char *port,
               const char *flags)
{
    union address address;
    char url[128];
    int ends = signals_blocked();
    int fd = listen_at(address_text, (unsigned)strtoul(port, NULL, 10), &address);
    if (fd < 0)
        return EXIT_IO;
    site->loopback_only = is_loopback(&address);
    site->verbose = strchr(flags, 'v') != NULL;
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, serve_answer, site,
        /* the logger comes first: the options after it may have something to say */
        MHD_OPTION_EXTERNAL_LOGGER, log_daemon, site, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_encoded, NULL, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_CONNECTION_LIMIT, MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_BYTES, MHD_OPTION_END);
    if (!daemon || ends < 0) {
        say("the server cannot be started: %s", strerror(errno));
        return EXIT_HALTER;
    }
    print_url(url, sizeof url, &address);
    printf("%s\n", url);
    fflush(stdout);
    if (!site->loopback_only)
        say("everybody who reaches %s can read what is served", address_text);
    if (strchr(flags, 'o'))
        open_browser(url);
    bool well = serve(daemon, ends);
    MHD_stop_daemon(daemon);
    return well ? EXIT_OK : EXIT_IO;
}

int main(int argc, char **argv)
{
    static struct serve_site site;
    say_as("halter serve");
    if (argc < 5) {
        say("halter-serve is started by halter serve");
        return EXIT_USAGE;
    }
    for (int i = 4; i < argc; i++)
        if (!add_folder(&site, argv[i]))
            return EXIT_IO;
    return run(&site, argv[1], argv[2], argv[3]);
}
