/*
 * The status socket: a page or two of HTTP/1.0 over a Unix socket of mode 0600, for `halter top`,
 * for curl --unix-socket, and for whatever collects figures. It serves its own user and nobody
 * else, never waits for a client, and keeps few of them.
 *
 *   GET /status.json   GET /metrics (Prometheus)   GET /status.tsv
 *   POST /guests/NUMBER/kill   …/reload   …/reset
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/internal.h"

#define CLIENTS_MAX 8

struct client {
    struct list link;
    struct watch watch;
    char request[1024];
    size_t used;
    char *reply;
    size_t reply_bytes, sent;
};

/* ---- what is told ---------------------------------------------------------------------------- */

/* Between quotes, for JSON and for Prometheus: what both escape alike; the rest is left out. */
static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, out);
    }
}

static double quantile_ms(const struct halter_stats *stats, double fraction)
{
    uint64_t bound = halter_histogram_quantile(stats->latency, fraction);
    /* A bucket's bound lies above every sample in it: what was measured is never exceeded. */
    return (double)(bound < stats->latency_max_ns ? bound : stats->latency_max_ns) / 1e6;
}

static uint64_t deaths_of(const struct halter_stats *stats)
{
    uint64_t sum = 0;
    for (int i = 1; i < 16; i++)
        sum += stats->deaths[i];
    return sum;
}

static void put_json(FILE *out, const struct halter_guest *guest, const struct halter_stats *s)
{
    fprintf(out, "{\"number\":%" PRIu64 ",\"name\":\"", guest->number);
    put_text(out, guest->name);
    fprintf(out,
            "\",\"state\":\"%s\",\"pid\":%d,\"calls\":%" PRIu64 ",\"succeeded\":%" PRIu64
            ",\"failed\":%" PRIu64 ",\"pending\":%u,\"restarts\":%" PRIu64 ",\"requests\":%" PRIu64
            ",\"denials\":%" PRIu64 ",\"bytes_in\":%" PRIu64 ",\"bytes_out\":%" PRIu64
            ",\"cpu_ns\":%" PRIu64 ",\"resident_bytes\":%" PRIu64 ",\"peak_bytes\":%" PRIu64
            ",\"p50_ms\":%.4f,\"p95_ms\":%.4f,\"p99_ms\":%.4f,\"deaths\":{",
            halter_guest_state_text(guest->state), halter_guest_pid(guest), s->calls, s->succeeded,
            s->failed, guest->pending, s->restarts, s->requests, s->denials, s->bytes_in,
            s->bytes_out, s->cpu_ns, s->resident_bytes, s->peak_bytes, quantile_ms(s, 0.5),
            quantile_ms(s, 0.95), quantile_ms(s, 0.99));
    bool first = true;
    for (int i = 1; i < 16; i++)
        if (s->deaths[i]) {
            fprintf(out, "%s\"%s\":%" PRIu64, first ? "" : ",",
                    halter_death_text((enum halter_death_reason)i), s->deaths[i]);
            first = false;
        }
    fputs("},\"requests_by_kind\":{", out);
    first = true;
    for (int i = 0; i < HALTER_REQUEST_KINDS; i++)
        if (s->requests_by_kind[i]) {
            fprintf(out, "%s\"%s\":%" PRIu64, first ? "" : ",",
                    halter_request_kind_text((enum halter_request_kind)i), s->requests_by_kind[i]);
            first = false;
        }
    fputs("}}", out);
}

/* A line of columns, for `halter top`: see top.c. */
static void put_columns(FILE *out, const struct halter_guest *guest, const struct halter_stats *s)
{
    fprintf(out,
            "%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.4f\t%" PRIu64
            "\t%" PRIu64 "\t",
            guest->number, halter_guest_state_text(guest->state), s->resident_bytes, s->cpu_ns,
            s->calls, s->failed, quantile_ms(s, 0.95), deaths_of(s), s->denials);
    bool none = true;
    for (int i = 0; i < HALTER_REQUEST_KINDS; i++)
        if (s->requests_by_kind[i]) {
            fprintf(out, "%s%s %" PRIu64, none ? "" : ", ",
                    halter_request_kind_text((enum halter_request_kind)i), s->requests_by_kind[i]);
            none = false;
        }
    fputs(none ? "-\t" : "\t", out);
    for (const char *c = guest->name; *c; c++)
        putc((unsigned char)*c < 0x20 ? ' ' : *c, out);
    putc('\n', out);
}

struct metric {
    const char *name, *type, *help;
    double (*of)(const struct halter_guest *guest, const struct halter_stats *stats);
};

#define METRIC(id, expression)                                                                     \
    static double id(const struct halter_guest *guest, const struct halter_stats *stats)           \
    {                                                                                              \
        (void)guest;                                                                               \
        (void)stats;                                                                               \
        return (double)(expression);                                                               \
    }
METRIC(metric_calls, stats->calls)
METRIC(metric_failed, stats->failed)
METRIC(metric_pending, guest->pending)
METRIC(metric_restarts, stats->restarts)
METRIC(metric_requests, stats->requests)
METRIC(metric_denials, stats->denials)
METRIC(metric_deaths, deaths_of(stats))
METRIC(metric_cpu, (double)stats->cpu_ns / 1e9)
METRIC(metric_resident, stats->resident_bytes)
METRIC(metric_peak, stats->peak_bytes)
METRIC(metric_p95, quantile_ms(stats, 0.95) / 1e3)

static const struct metric metrics[] = {
    {"calls_total", "counter", "Calls accepted.", metric_calls},
    {"failed_total", "counter", "Calls that came to no result.", metric_failed},
    {"pending", "gauge", "Calls accepted and not finished.", metric_pending},
    {"restarts_total", "counter", "Processes that loaded the plugin after the first.", metric_restarts},
    {"requests_total", "counter", "Reverse calls.", metric_requests},
    {"denials_total", "counter", "Reverse calls that policy refused.", metric_denials},
    {"deaths_total", "counter", "Processes that ended.", metric_deaths},
    {"cpu_seconds_total", "counter", "User and system time.", metric_cpu},
    {"resident_bytes", "gauge", "Resident memory now.", metric_resident},
    {"peak_bytes", "gauge", "The largest resident memory seen.", metric_peak},
    {"latency_p95_seconds", "gauge", "Of the calls that succeeded.", metric_p95},
};

/* Counters with a label more: which kind of reverse call, which reason of a death. */
static void put_labelled(FILE *out, struct halter_host *host, const char *name, const char *label,
                         const char *help, unsigned count, const char *(*text)(unsigned),
                         const uint64_t *(*of)(const struct halter_stats *stats))
{
    fprintf(out, "# HELP halter_guest_%s %s\n# TYPE halter_guest_%s counter\n", name, help, name);
    list_for_each(node, &host->guests) {
        struct halter_guest *guest = list_entry(node, struct halter_guest, link);
        struct halter_stats stats = HALTER_STATS_INIT;
        if (guest->closing || halter_guest_stats(guest, &stats) != HALTER_OK)
            continue;
        for (unsigned i = 0; i < count; i++) {
            if (!of(&stats)[i])
                continue;
            fprintf(out, "halter_guest_%s{guest=\"", name);
            put_text(out, guest->name);
            fprintf(out, "\",number=\"%" PRIu64 "\",%s=\"%s\"} %" PRIu64 "\n", guest->number, label,
                    text(i), of(&stats)[i]);
        }
    }
}

static const char *kind_text(unsigned i)
{
    return halter_request_kind_text((enum halter_request_kind)i);
}

static const uint64_t *kind_counts(const struct halter_stats *stats)
{
    return stats->requests_by_kind;
}

static const char *reason_text(unsigned i)
{
    return halter_death_text((enum halter_death_reason)i);
}

static const uint64_t *reason_counts(const struct halter_stats *stats)
{
    return stats->deaths;
}

static void put_metrics(FILE *out, struct halter_host *host)
{
    put_labelled(out, host, "requests_by_kind_total", "kind", "Reverse calls, by kind.",
                 HALTER_REQUEST_KINDS, kind_text, kind_counts);
    put_labelled(out, host, "deaths_by_reason_total", "reason", "Processes that ended, by reason.",
                 16, reason_text, reason_counts);
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        fprintf(out, "# HELP halter_guest_%s %s\n# TYPE halter_guest_%s %s\n", metrics[i].name,
                metrics[i].help, metrics[i].name, metrics[i].type);
        list_for_each(node, &host->guests) {
            struct halter_guest *guest = list_entry(node, struct halter_guest, link);
            struct halter_stats stats = HALTER_STATS_INIT;
            if (guest->closing || halter_guest_stats(guest, &stats) != HALTER_OK)
                continue;
            fprintf(out, "halter_guest_%s{guest=\"", metrics[i].name);
            put_text(out, guest->name);
            fprintf(out, "\",number=\"%" PRIu64 "\"} %.17g\n", guest->number,
                    metrics[i].of(guest, &stats));
        }
    }
}

static void put_guests(FILE *out, struct halter_host *host, bool json)
{
    bool first = true;
    if (json)
        fprintf(out, "{\"halter\":\"%s\",\"pid\":%d,\"guests\":[", halter_version(), (int)getpid());
    list_for_each(node, &host->guests) {
        struct halter_guest *guest = list_entry(node, struct halter_guest, link);
        struct halter_stats stats = HALTER_STATS_INIT;
        if (guest->closing || halter_guest_stats(guest, &stats) != HALTER_OK)
            continue;
        if (json && !first)
            putc(',', out);
        first = false;
        if (json)
            put_json(out, guest, &stats);
        else
            put_columns(out, guest, &stats);
    }
    if (json)
        fputs("]}\n", out);
}

/* ---- what is asked ---------------------------------------------------------------------------- */

/* POST /guests/NUMBER/VERB: a status of HTTP. */
static int act(struct halter_host *host, const char *path)
{
    uint64_t number;
    char verb[16];
    int status = HALTER_EINVAL;
    if (sscanf(path, "/guests/%" SCNu64 "/%15[a-z]", &number, verb) != 2)
        return 404;
    list_for_each(node, &host->guests) {
        struct halter_guest *guest = list_entry(node, struct halter_guest, link);
        if (guest->number != number || guest->closing)
            continue;
        if (strcmp(verb, "kill") == 0)
            status = halter_guest_kill(guest);
        else if (strcmp(verb, "reload") == 0)
            status = halter_guest_reload(guest, NULL, 0);
        else if (strcmp(verb, "reset") == 0)
            status = halter_guest_reset(guest);
        else
            return 404;
        return status == HALTER_OK ? 200 : 409;
    }
    return 404;
}

static int answer(struct halter_host *host, const char *request, FILE *out, const char **type)
{
    char method[8] = "", path[64] = "";
    *type = "text/plain; charset=utf-8";
    if (sscanf(request, "%7s %63s", method, path) != 2)
        return 400;
    if (strcmp(method, "POST") == 0)
        return act(host, path);
    if (strcmp(method, "GET") != 0)
        return 405;
    if (strcmp(path, "/status.json") == 0) {
        *type = "application/json";
        put_guests(out, host, true);
    } else if (strcmp(path, "/status.tsv") == 0) {
        *type = "text/tab-separated-values; charset=utf-8";
        put_guests(out, host, false);
    } else if (strcmp(path, "/metrics") == 0) {
        *type = "text/plain; version=0.0.4; charset=utf-8";
        put_metrics(out, host);
    } else {
        return 404;
    }
    return 200;
}

static bool make_reply(struct halter_host *host, struct client *client)
{
    char *body = NULL;
    size_t bytes = 0;
    const char *type;
    FILE *out = open_memstream(&body, &bytes);
    if (!out)
        return false;
    int status = answer(host, client->request, out, &type);
    bool whole = fclose(out) == 0;
    char head[256];
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.0 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", status,
                          status == 200 ? "OK" : "No", type, bytes);
    client->reply = whole ? malloc((size_t)length + bytes) : NULL;
    if (client->reply) {
        memcpy(client->reply, head, (size_t)length);
        memcpy(client->reply + length, body, bytes);
        client->reply_bytes = (size_t)length + bytes;
    }
    free(body);
    return client->reply != NULL;
}

/* ---- clients ---------------------------------------------------------------------------------- */

static void drop(struct halter_host *host, struct client *client)
{
    list_remove(&client->link);
    host->monitor.nclients--;
    host_unwatch(host, &client->watch);
    free(client->reply);
    /* An event of this batch may still point to it: it is freed when nothing does. */
    list_append(&host->monitor.dropped, &client->link);
}

void monitor_bury(struct halter_host *host)
{
    list_for_each(node, &host->monitor.dropped) {
        list_remove(node);
        free(list_entry(node, struct client, link));
    }
}

static void send_reply(struct halter_host *host, struct client *client)
{
    while (client->sent < client->reply_bytes) {
        ssize_t n = send(client->watch.fd, client->reply + client->sent,
                         client->reply_bytes - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN && host_want_write(host, &client->watch, true) == 0)
            return;
        if (n < 0)
            break;
        client->sent += (size_t)n;
    }
    drop(host, client);
}

void monitor_client(struct halter_host *host, struct watch *watch)
{
    struct client *client = list_entry(watch, struct client, watch);
    if (client->reply) {
        send_reply(host, client);
        return;
    }
    size_t room = sizeof(client->request) - 1 - client->used;
    ssize_t n = recv(watch->fd, client->request + client->used, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) { /* it left, or says more than any request of ours */
        drop(host, client);
        return;
    }
    client->used += (size_t)n;
    client->request[client->used] = '\0';
    if (!strstr(client->request, "\r\n\r\n") && !strstr(client->request, "\n\n"))
        return;
    if (make_reply(host, client))
        send_reply(host, client);
    else
        drop(host, client);
}

void monitor_accept(struct halter_host *host)
{
    struct monitor *monitor = &host->monitor;
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int fd = accept4(monitor->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct client *client = NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid())
        client = calloc(1, sizeof(*client));
    if (!client) {
        close(fd);
        return;
    }
    if (monitor->nclients == CLIENTS_MAX) /* who came first has had its time */
        drop(host, list_entry(monitor->clients.next, struct client, link));
    client->watch = (struct watch){.kind = WATCH_CLIENT, .fd = fd, .owner = host};
    list_append(&monitor->clients, &client->link);
    monitor->nclients++;
    if (host_watch(host, &client->watch, EPOLLIN) < 0)
        drop(host, client);
}

/* ---- the socket ------------------------------------------------------------------------------- */

/* A socket that nobody listens on any more is in the way; one that somebody does is not ours. */
static bool clear_path(const struct sockaddr_un *address)
{
    struct stat about;
    if (lstat(address->sun_path, &about) < 0)
        return errno == ENOENT;
    if (!S_ISSOCK(about.st_mode)) {
        errno = EEXIST;
        return false;
    }
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0)
        return false;
    bool refused = connect(probe, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
                   errno == ECONNREFUSED;
    close(probe);
    if (refused)
        return unlink(address->sun_path) == 0;
    errno = EADDRINUSE;
    return false;
}

int halter_status_listen(struct halter_host *host, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!host || !path || !*path || strlen(path) >= sizeof(address.sun_path))
        return HALTER_EINVAL;
    if (host->monitor.path)
        return HALTER_EBUSY;
    strcpy(address.sun_path, path);
    char *copy = strdup(path);
    if (!copy)
        return HALTER_ENOMEM;
    struct watch *watch = &host->monitor.watch;
    *watch = (struct watch){.kind = WATCH_STATUS, .owner = host};
    watch->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode of the socket before bind() is that of the file: there is no moment in between. */
    bool bound = watch->fd >= 0 && fchmod(watch->fd, 0600) == 0 && clear_path(&address) &&
                 bind(watch->fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (bound && listen(watch->fd, CLIENTS_MAX) == 0 && host_watch(host, watch, EPOLLIN) == 0) {
        host->monitor.path = copy;
        return HALTER_OK;
    }
    int saved = errno;
    if (bound)
        unlink(path);
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
    free(copy);
    errno = saved;
    return HALTER_ESYSTEM;
}

void monitor_init(struct monitor *monitor)
{
    monitor->watch.fd = -1;
    list_init(&monitor->clients);
    list_init(&monitor->dropped);
}

void monitor_finish(struct halter_host *host)
{
    struct monitor *monitor = &host->monitor;
    list_for_each(node, &monitor->clients)
        drop(host, list_entry(node, struct client, link));
    monitor_bury(host);
    host_unwatch(host, &monitor->watch);
    if (monitor->path)
        unlink(monitor->path);
    free(monitor->path);
    monitor->path = NULL;
}
