/*
 * Requests to the network, by libcurl. Nothing here blocks and nothing here decides: the URL, the
 * ranges of addresses, the limits are in the order. A redirect is not followed but answered, so
 * that the host is asked about every hop. Each plugin has a pool of connections of its own: no
 * request rides on a connection that another plugin opened.
 */
#include <ctype.h>
#include <errno.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "services/services.h"
#include "wire/address.h"
#include "wire/json_write.h"

#define MAX_FETCHES   256 /* at one time, all plugins together */
#define MAX_THREADS   64  /* name look-ups that hang, given up ones included */
#define MAX_POOLS     64  /* kept; idle ones go first */
#define MAX_AUTHORITIES ((size_t)4 << 20) /* bytes of certificates */
#define KEPT_PER_POOL 8   /* connections */
#define CONNECT_MS    30000L

struct pool {
    struct pool *next;
    struct fetcher *fetcher;
    char *plugin;
    CURLM *multi;
    uint64_t due_ms; /* when curl wants to be called, 0: never */
    unsigned fetches;
};

/* A socket that curl wants watched. */
struct wanted {
    struct watch watch; /* first */
    struct pool *pool;
    curl_socket_t fd;
};

struct fetch {
    struct fetch *next;
    struct pool *pool;
    uint64_t id;
    CURL *easy;
    struct curl_slist *headers;
    char *body; /* of the request */
    struct wire_range *allow;
    size_t nallow;
    char as;    /* 't'ext, 'j'son, 'b'ase64 */
    char *data; /* of the response */
    size_t length, capacity, max_bytes;
    bool too_big;
    char refused[WIRE_ADDRESS_TEXT]; /* the last address that may not be reached, "" for none */
    char message[CURL_ERROR_SIZE];
};

struct fetcher {
    int epoll, tasks; /* /proc/self/task: its link count counts the threads */
    struct link *link;
    struct reach reach;
    struct pool *pools;
    struct fetch *fetches;
    unsigned count;
    char *authorities; /* PEM, in place of the system's; NULL: those */
    size_t authorities_bytes;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- pools ---------------------------------------------------------------------------------- */

static void socket_ready(struct watch *watch, uint32_t events)
{
    struct wanted *wanted = (struct wanted *)watch;
    struct pool *pool = wanted->pool;
    int running, flags = (events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                         (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                         (events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
    curl_multi_socket_action(pool->multi, wanted->fd, flags, &running);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
    struct pool *pool = data;
    struct wanted *wanted = socket_data;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        epoll_ctl(pool->fetcher->epoll, EPOLL_CTL_DEL, fd, NULL);
        curl_multi_assign(pool->multi, fd, NULL);
        free(wanted);
        return 0;
    }
    bool fresh = !wanted;
    if (fresh && !(wanted = calloc(1, sizeof(*wanted))))
        return -1;
    *wanted = (struct wanted){{socket_ready}, pool, fd};
    struct epoll_event event = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                          (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
                                .data.ptr = &wanted->watch};
    if (epoll_ctl(pool->fetcher->epoll, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) {
        if (fresh)
            free(wanted);
        return -1;
    }
    curl_multi_assign(pool->multi, fd, wanted);
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *data)
{
    struct pool *pool = data;
    (void)multi;
    pool->due_ms = timeout_ms < 0 ? 0 : now_ms() + (uint64_t)timeout_ms;
    return 0;
}

static void drop_idle_pool(struct fetcher *fetcher)
{
    unsigned count = 0;
    struct pool **idle = NULL;
    for (struct pool **at = &fetcher->pools; *at; at = &(*at)->next, count++)
        if ((*at)->fetches == 0)
            idle = at; /* the last one in the list is the oldest */
    if (count < MAX_POOLS || !idle)
        return;
    struct pool *pool = *idle;
    *idle = pool->next;
    curl_multi_cleanup(pool->multi);
    free(pool->plugin);
    free(pool);
}

static struct pool *pool_for(struct fetcher *fetcher, char *plugin)
{
    for (struct pool *pool = fetcher->pools; pool; pool = pool->next) {
        if (strcmp(pool->plugin, plugin) == 0) {
            free(plugin);
            return pool;
        }
    }
    drop_idle_pool(fetcher);
    struct pool *pool = calloc(1, sizeof(*pool));
    if (!pool || !(pool->multi = curl_multi_init())) {
        free(pool);
        free(plugin);
        return NULL;
    }
    pool->fetcher = fetcher;
    pool->plugin = plugin;
    pool->next = fetcher->pools;
    fetcher->pools = pool;
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(pool->multi, CURLMOPT_SOCKETDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(pool->multi, CURLMOPT_TIMERDATA, pool);
    curl_multi_setopt(pool->multi, CURLMOPT_MAXCONNECTS, (long)KEPT_PER_POOL);
    return pool;
}

/* ---- one request ---------------------------------------------------------------------------- */

static bool may_reach(struct fetch *fetch, const struct wire_address *address)
{
    struct reach reach = fetch->pool->fetcher->reach;
    reach.allow = fetch->allow;
    reach.nallow = fetch->nallow;
    if (reach_allows(&reach, address))
        return true;
    wire_address_print(address, fetch->refused);
    return false;
}

/* Every connection starts here: the address is looked at after the name was resolved. */
static curl_socket_t open_socket(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct wire_address wire;
    if (purpose != CURLSOCKTYPE_IPCXN || !reach_address(&address->addr, &wire) ||
        !may_reach(data, &wire))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                  address->protocol);
}

/* A connection that is used again was opened under another order: its address is looked at again.
 */
static int before_request(void *data, char *address, char *local, int port, int local_port)
{
    struct wire_address wire;
    (void)local;
    (void)port;
    (void)local_port;
    return wire_address_parse(address, strlen(address), &wire) && may_reach(data, &wire)
               ? CURL_PREREQFUNC_OK
               : CURL_PREREQFUNC_ABORT;
}

static size_t take_data(char *data, size_t size, size_t count, void *owner)
{
    struct fetch *fetch = owner;
    size_t more = size * count;
    if (more > fetch->max_bytes - fetch->length) {
        fetch->too_big = true;
        return 0;
    }
    if (fetch->length + more > fetch->capacity) {
        size_t capacity = fetch->capacity ? fetch->capacity * 2 : 16384;
        while (capacity < fetch->length + more)
            capacity *= 2;
        char *grown = realloc(fetch->data, capacity);
        if (!grown)
            return 0;
        fetch->data = grown;
        fetch->capacity = capacity;
    }
    memcpy(fetch->data + fetch->length, data, more);
    fetch->length += more;
    return more;
}

static void fetch_free(struct fetch *fetch)
{
    struct fetcher *fetcher = fetch->pool->fetcher;
    for (struct fetch **at = &fetcher->fetches; *at; at = &(*at)->next) {
        if (*at != fetch)
            continue;
        *at = fetch->next;
        fetcher->count--;
        break;
    }
    if (fetch->easy) {
        /* CURLOPT_QUICK_EXIT: a name look-up that hangs is left behind, not waited for. */
        curl_multi_remove_handle(fetch->pool->multi, fetch->easy);
        curl_easy_cleanup(fetch->easy);
    }
    fetch->pool->fetches--;
    curl_slist_free_all(fetch->headers);
    free(fetch->allow);
    free(fetch->body);
    free(fetch->data);
    free(fetch);
}

/* All values of one name, joined as RFC 9110 section 5.3 has it; to be freed, NULL without memory.
 */
static char *joined_values(CURL *easy, const char *name, size_t amount)
{
    struct curl_header *part;
    size_t bytes = 1, at = 0;
    for (size_t i = 0; i < amount; i++)
        if (curl_easy_header(easy, name, i, CURLH_HEADER, -1, &part) == CURLHE_OK)
            bytes += strlen(part->value) + 2;
    char *all = malloc(bytes);
    for (size_t i = 0; all && i < amount; i++)
        if (curl_easy_header(easy, name, i, CURLH_HEADER, -1, &part) == CURLHE_OK)
            at += (size_t)sprintf(all + at, "%s%s", i ? ", " : "", part->value);
    if (all)
        all[at] = '\0';
    return all;
}

static void write_headers(struct json_writer *out, CURL *easy)
{
    struct curl_header *header = NULL;
    bool first = true;
    json_write(out, "{");
    while ((header = curl_easy_nextheader(easy, CURLH_HEADER, -1, header))) {
        if (header->index > 0)
            continue; /* joined to the first of its name */
        char *value = joined_values(easy, header->name, header->amount);
        char name[256];
        size_t n = 0;
        for (; header->name[n] && n < sizeof(name); n++)
            name[n] = (char)tolower((unsigned char)header->name[n]);
        if (value) {
            json_write(out, first ? "" : ",");
            json_write_string(out, name, n);
            json_write(out, ":");
            json_write_string(out, value, strlen(value));
            first = false;
        }
        free(value);
    }
    json_write(out, "}");
}

/* The body as the order wants it. False when it is not what was promised. */
static bool write_body(struct json_writer *out, struct fetch *fetch)
{
    const char *data = fetch->data ? fetch->data : "";
    json_write(out, ",\"body\":");
    if (fetch->as == 'j') {
        if (fetch->length > 0 && !json_check(data, fetch->length, NULL))
            return false;
        json_write_raw(out, fetch->length ? data : "null", fetch->length ? fetch->length : 4);
    } else if (fetch->as == 'b') {
        json_write_base64(out, (const uint8_t *)data, fetch->length);
    } else {
        size_t mark = fetch->length >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        json_write_string(out, data + mark, fetch->length - mark);
    }
    return true;
}

static void answer(struct fetch *fetch)
{
    struct link *link = fetch->pool->fetcher->link;
    struct json_writer out;
    long status = 0;
    char *redirect = NULL;
    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(fetch->easy, CURLINFO_REDIRECT_URL, &redirect);
    json_writer_init(&out);
    json_write(&out, "{\"status\":");
    json_write_integer(&out, status);
    json_write(&out, ",\"headers\":");
    write_headers(&out, fetch->easy);
    if (redirect) {
        json_write(&out, ",\"redirect\":");
        json_write_string(&out, redirect, strlen(redirect));
    }
    bool ok = redirect || write_body(&out, fetch);
    json_write(&out, "}");
    if (!ok)
        link_error(link, fetch->id, WIRE_ERROR_FAILED, "the body is not JSON");
    else if (json_write_end(&out))
        link_value(link, fetch->id, out.text, out.length);
    else
        link_error(link, fetch->id, WIRE_ERROR_FAILED, "out of memory in halter-services");
    json_writer_finish(&out);
}

static void fail(struct fetch *fetch, CURLcode code)
{
    struct link *link = fetch->pool->fetcher->link;
    char message[CURL_ERROR_SIZE + 96];
    if (fetch->too_big || code == CURLE_FILESIZE_EXCEEDED) {
        snprintf(message, sizeof(message), "the body is larger than %zu bytes", fetch->max_bytes);
        link_error(link, fetch->id, WIRE_ERROR_QUOTA, message);
    } else if (fetch->refused[0]) {
        snprintf(message, sizeof(message),
                 "the name leads to %s, which is not public and not granted", fetch->refused);
        link_error(link, fetch->id, WIRE_ERROR_DENIED, message);
    } else {
        snprintf(message, sizeof(message), "%s",
                 fetch->message[0] ? fetch->message : curl_easy_strerror(code));
        link_error(link, fetch->id, WIRE_ERROR_FAILED, message);
    }
}

/* ---- orders --------------------------------------------------------------------------------- */

static bool add_headers(struct fetch *fetch, struct json_value order)
{
    struct json_value list, pair, part;
    /* curl would ask for a go-ahead and wait a second for it. */
    fetch->headers = curl_slist_append(NULL, "Expect:");
    if (!json_member(order, "headers", &list))
        return fetch->headers != NULL;
    for (size_t at = 0; json_next(list, &at, NULL, &pair);) {
        char line[16384];
        size_t inner = 0;
        long name = json_next(pair, &inner, NULL, &part) ? json_string(part, line, 8000) : -1;
        long value = name > 0 && json_next(pair, &inner, NULL, &part)
                         ? json_string(part, line + name + 2, 8000)
                         : -1;
        if (value < 0)
            return false;
        /* A header without a value is written with a semicolon (CURLOPT_HTTPHEADER). */
        memcpy(line + name, value ? ": " : ";", 2);
        struct curl_slist *grown = curl_slist_append(fetch->headers, line);
        if (!grown)
            return false;
        fetch->headers = grown;
    }
    return true;
}

static bool set_method(struct fetch *fetch, struct json_value order)
{
    struct json_value body;
    char method[32];
    if (!json_member(order, "method", &body) || json_string(body, method, sizeof(method)) < 0)
        return false;
    if (json_member(order, "body", &body) && body.type == JSON_STRING) {
        fetch->body = malloc(body.length + 1);
        long length = fetch->body ? json_string(body, fetch->body, body.length + 1) : -1;
        if (length < 0)
            return false;
        curl_easy_setopt(fetch->easy, CURLOPT_POSTFIELDS, fetch->body);
        curl_easy_setopt(fetch->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
    }
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(fetch->easy, CURLOPT_NOBODY, 1L);
    return curl_easy_setopt(fetch->easy, CURLOPT_CUSTOMREQUEST, method) == CURLE_OK;
}

static void set_fixed(struct fetch *fetch)
{
    CURL *easy = fetch->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->message);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    const struct fetcher *fetcher = fetch->pool->fetcher;
    if (fetcher->authorities) {
        struct curl_blob blob = {fetcher->authorities, fetcher->authorities_bytes, CURL_BLOB_NOCOPY};
        curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "halter/" HALTER_VERSION_TEXT);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->headers);
}

static bool set_up(struct fetch *fetch, struct json_value order)
{
    struct json_value value;
    char *url = order_text(order, "url"), *as = order_text(order, "as");
    int64_t timeout = order_integer(order, "timeout_ms", 30000);
    fetch->max_bytes = (size_t)order_integer(order, "max_bytes", 8 << 20);
    fetch->as = as ? as[0] : 't';
    bool ok = url && (fetch->easy = curl_easy_init()) && set_method(fetch, order) &&
              add_headers(fetch, order) &&
              (!json_member(order, "allow", &value) ||
               reach_list(value, &fetch->allow, &fetch->nallow)) &&
              curl_easy_setopt(fetch->easy, CURLOPT_URL, url) == CURLE_OK;
    if (ok) {
        set_fixed(fetch);
        curl_easy_setopt(fetch->easy, CURLOPT_TIMEOUT_MS, (long)timeout);
        curl_easy_setopt(fetch->easy, CURLOPT_CONNECTTIMEOUT_MS,
                         timeout < CONNECT_MS ? (long)timeout : CONNECT_MS);
        curl_easy_setopt(fetch->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)fetch->max_bytes);
    }
    free(url);
    free(as);
    return ok;
}

/* Name look-ups that nobody waits for any more end by themselves; until then they count. */
static bool is_crowded(const struct fetcher *fetcher)
{
    struct stat status;
    if (fetcher->count >= MAX_FETCHES)
        return true;
    return fetcher->tasks >= 0 && fstat(fetcher->tasks, &status) == 0 &&
           status.st_nlink > 2 + MAX_THREADS;
}

void fetcher_order(struct fetcher *fetcher, uint64_t id, struct json_value order)
{
    char *plugin = order_text(order, "plugin");
    if (!plugin) {
        link_error(fetcher->link, id, WIRE_ERROR_FAILED, "an order without a plugin");
        return;
    }
    if (is_crowded(fetcher)) {
        free(plugin);
        link_error(fetcher->link, id, WIRE_ERROR_QUOTA, "too many requests at one time");
        return;
    }
    struct pool *pool = pool_for(fetcher, plugin);
    struct fetch *fetch = pool ? calloc(1, sizeof(*fetch)) : NULL;
    if (!fetch) {
        link_error(fetcher->link, id, WIRE_ERROR_FAILED, "out of memory in halter-services");
        return;
    }
    fetch->pool = pool;
    fetch->id = id;
    fetch->next = fetcher->fetches;
    fetcher->fetches = fetch;
    fetcher->count++;
    pool->fetches++;
    if (!set_up(fetch, order) || curl_multi_add_handle(pool->multi, fetch->easy) != CURLM_OK) {
        link_error(fetcher->link, id, WIRE_ERROR_FAILED, "an order that cannot be carried out");
        fetch_free(fetch);
    }
}

void fetcher_cancel(struct fetcher *fetcher, uint64_t id)
{
    for (struct fetch *fetch = fetcher->fetches; fetch; fetch = fetch->next) {
        if (fetch->id == id) {
            fetch_free(fetch);
            return;
        }
    }
}

static void finish_done(struct pool *pool)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(pool->multi, &left))) {
        struct fetch *fetch = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &fetch) != CURLE_OK)
            continue;
        if (code == CURLE_OK)
            answer(fetch);
        else
            fail(fetch, code);
        fetch_free(fetch);
    }
}

int fetcher_run(struct fetcher *fetcher)
{
    uint64_t now = now_ms(), next = 0;
    int running;
    for (struct pool *pool = fetcher->pools; pool; pool = pool->next) {
        if (pool->due_ms && pool->due_ms <= now) {
            pool->due_ms = 0;
            curl_multi_socket_action(pool->multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        finish_done(pool);
        if (pool->due_ms && (!next || pool->due_ms < next))
            next = pool->due_ms;
    }
    now = now_ms();
    return !next ? -1 : next <= now ? 0 : next - now > INT_MAX ? INT_MAX : (int)(next - now);
}

struct fetcher *fetcher_create(int epoll, struct link *link, const struct reach *reach)
{
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
    if (!fetcher || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(fetcher);
        return NULL;
    }
    fetcher->epoll = epoll;
    fetcher->link = link;
    fetcher->reach = *reach;
    fetcher->tasks = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fetcher;
}

const char *fetcher_trust(struct fetcher *fetcher, const char *path)
{
    static char why[512];
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(MAX_AUTHORITIES) : NULL;
    size_t bytes = text ? fread(text, 1, MAX_AUTHORITIES, file) : 0;
    if (!file || !text || ferror(file) || bytes == MAX_AUTHORITIES)
        snprintf(why, sizeof(why), "the certificates of authorities in %s: %s", path,
                 bytes == MAX_AUTHORITIES ? "larger than 4 MiB" : strerror(errno));
    else if (!memmem(text, bytes, "-----BEGIN CERTIFICATE-----", 27))
        snprintf(why, sizeof(why), "%s has no certificate in PEM form", path);
    else
        why[0] = '\0';
    if (file)
        fclose(file);
    if (why[0]) {
        free(text);
        return why;
    }
    fetcher->authorities = text;
    fetcher->authorities_bytes = bytes;
    return NULL;
}
