/*
 * What a request gets: a regular file beneath one of the site's folders, whole or in part, or an
 * error that says why. There are no listings, no uploads, and no way out of the folders: the kernel
 * resolves each name beneath its folder (openat2), symbolic links included.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/request.h"
#include "serve/serve.h"

#define MAX_PATH 1024

/*
 * With every answer. The first three make the page cross-origin isolated: it gets shared memory and
 * fine clocks, and no other origin can embed it or what it loads. Scripts come from here and
 * nowhere else; styles may stand in the document, because the terminal writes its own.
 */
static const char *const common_headers[][2] = {
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Embedder-Policy", "require-corp"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
     "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
     "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-cache"}, /* kept, but asked about each time */
};

struct exchange {
    const struct serve_site *site;
    struct MHD_Connection *connection;
    const char *target, *method;
};

static const char *header(const struct exchange *exchange, const char *name)
{
    return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

/* Text from outside, fit for a terminal. */
static void print_quoted(const char *text)
{
    for (; *text; text++)
        if (*text > ' ' && *text < 0x7f && *text != '\\')
            fputc(*text, stderr);
        else
            fprintf(stderr, "\\x%02x", (unsigned char)*text);
}

/* Sends `response`, which is taken, under `status`. */
static enum MHD_Result reply(const struct exchange *exchange, unsigned status,
                             struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    for (size_t i = 0; i < sizeof common_headers / sizeof *common_headers; i++)
        MHD_add_response_header(response, common_headers[i][0], common_headers[i][1]);
    if (exchange->site->verbose) {
        fprintf(stderr, "%u %s ", status, exchange->method);
        print_quoted(exchange->target);
        fputc('\n', stderr);
    }
    enum MHD_Result result = MHD_queue_response(exchange->connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* `text` is a constant. `name` and `value` are one more header, or NULL. */
static enum MHD_Result refuse(const struct exchange *exchange, unsigned status, const char *text,
                              const char *name, const char *value)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain; charset=utf-8");
    if (name)
        MHD_add_response_header(response, name, value);
    return reply(exchange, status, response);
}

static const char *media_type(const char *path)
{
    static const char *const types[][2] = {
#define TYPE(extension, type) {extension, type},
#include "serve/types.def"
#undef TYPE
    };
    const char *name = strrchr(path, '/');
    const char *dot = strrchr(name ? name : path, '.');
    for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
        if (strcmp(dot + 1, types[i][0]) == 0)
            return types[i][1];
    return "application/octet-stream";
}

/* Beneath the folder, whatever links there are; a FIFO or a device does not hold us up. */
static int open_beneath(int folder, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    long fd = -1;
    /* EAGAIN: something was renamed meanwhile and the kernel cannot be sure (openat2(2)). */
    for (int tries = 0; tries < 16; tries++) {
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd >= 0 || errno != EAGAIN)
            break;
    }
    return (int)fd;
}

/* The folder with the longest prefix of `path`; `*rest` is what is left of it. */
static const struct serve_folder *find_folder(const struct serve_site *site, const char *path,
                                              const char **rest)
{
    const struct serve_folder *best = NULL;
    size_t longest = 0;
    for (int i = 0; i < site->nfolders; i++) {
        size_t length = strlen(site->folders[i].prefix);
        if (strncmp(path, site->folders[i].prefix, length) != 0 || (best && length < longest))
            continue;
        best = &site->folders[i];
        longest = length;
    }
    *rest = path + longest;
    return best;
}

/* Its identity, size and time of change: another content has another tag. */
static void print_etag(char out[static 80], const struct stat *file)
{
    snprintf(out, 80, "\"%llx-%llx-%llx.%lx\"", (unsigned long long)file->st_ino,
             (unsigned long long)file->st_size, (unsigned long long)file->st_mtim.tv_sec,
             (unsigned long)file->st_mtim.tv_nsec);
}

/* RFC 9110 13.2.2: 412, 304, or 0 to go on. */
static unsigned check_conditions(const struct exchange *exchange, const char *etag, time_t changed)
{
    const char *value;
    time_t date;
    if ((value = header(exchange, "If-Match"))) {
        if (!request_etag_listed(value, etag, false))
            return MHD_HTTP_PRECONDITION_FAILED;
    } else if ((value = header(exchange, "If-Unmodified-Since")) && request_date(value, &date) &&
               changed > date) {
        return MHD_HTTP_PRECONDITION_FAILED;
    }
    if ((value = header(exchange, "If-None-Match")))
        return request_etag_listed(value, etag, true) ? MHD_HTTP_NOT_MODIFIED : 0;
    if ((value = header(exchange, "If-Modified-Since")) && request_date(value, &date) &&
        changed <= date)
        return MHD_HTTP_NOT_MODIFIED;
    return 0;
}

/* Whether a Range header counts: If-Range names the version that the other part came from. */
static bool range_applies(const struct exchange *exchange, const char *etag)
{
    const char *value = header(exchange, "If-Range");
    return !value || (*value == '"' && strcmp(value, etag) == 0);
}

/* Takes `fd`. */
static enum MHD_Result send_file(const struct exchange *exchange, int fd, const struct stat *file,
                                 const char *path)
{
    uint64_t size = (uint64_t)file->st_size, first = 0, length = size;
    char etag[80], date[40], text[80];
    unsigned status;
    print_etag(etag, file);
    request_print_date(date, file->st_mtim.tv_sec);
    if ((status = check_conditions(exchange, etag, file->st_mtim.tv_sec))) {
        close(fd);
        return refuse(exchange, status, "", "ETag", etag);
    }
    const char *range = header(exchange, "Range");
    enum request_range asked = RANGE_WHOLE;
    if (range && strcmp(exchange->method, "GET") == 0 && range_applies(exchange, etag))
        asked = request_range(range, size, &first, &length);
    if (asked == RANGE_OUTSIDE) {
        close(fd);
        snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)size);
        return refuse(exchange, MHD_HTTP_RANGE_NOT_SATISFIABLE, "The file is shorter.\n",
                      "Content-Range", text);
    }
    struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(length, fd, first);
    if (!response) {
        close(fd);
        return MHD_NO;
    }
    if (asked == RANGE_PART) {
        snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)first,
                 (unsigned long long)(first + length - 1), (unsigned long long)size);
        MHD_add_response_header(response, "Content-Range", text);
    }
    MHD_add_response_header(response, "Content-Type", media_type(path));
    MHD_add_response_header(response, "Accept-Ranges", "bytes");
    MHD_add_response_header(response, "ETag", etag);
    MHD_add_response_header(response, "Last-Modified", date);
    return reply(exchange, asked == RANGE_PART ? MHD_HTTP_PARTIAL_CONTENT : MHD_HTTP_OK, response);
}

static enum MHD_Result refuse_unopened(const struct exchange *exchange, int error)
{
    if (error == EMFILE || error == ENFILE || error == ENOMEM)
        return refuse(exchange, MHD_HTTP_SERVICE_UNAVAILABLE, "Too much at once: try again.\n",
                      "Retry-After", "1");
    return refuse(exchange, MHD_HTTP_NOT_FOUND, "There is no such file.\n", NULL, NULL);
}

static enum MHD_Result serve_path(const struct exchange *exchange, const char *path)
{
    char name[MAX_PATH + sizeof "index.html"];
    const char *rest;
    const struct serve_folder *folder = find_folder(exchange->site, path, &rest);
    struct stat file;
    if (!folder)
        return refuse_unopened(exchange, ENOENT);
    size_t length = strlen(rest);
    bool index = length == 0 || rest[length - 1] == '/';
    snprintf(name, sizeof name, "%s%s", rest, index ? "index.html" : "");
    int fd = open_beneath(folder->fd, name);
    if (fd < 0)
        return refuse_unopened(exchange, errno);
    if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode)) {
        close(fd);
        return refuse_unopened(exchange, ENOENT);
    }
    return send_file(exchange, fd, &file, name);
}

enum MHD_Result serve_answer(void *site, struct MHD_Connection *connection, const char *target,
                             const char *method, const char *version, const char *upload_data,
                             size_t *upload_data_size, void **request)
{
    (void)version, (void)upload_data;
    const struct exchange exchange = {
        .site = site, .connection = connection, .target = target, .method = method};
    char path[MAX_PATH];
    const char *host = header(&exchange, "Host");
    if (exchange.site->loopback_only && host && !request_host_is_loopback(host))
        return refuse(&exchange, MHD_HTTP_MISDIRECTED_REQUEST,
                      "This server is for its own machine: ask for it by the name localhost.\n",
                      NULL, NULL);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(&exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "Files can be read, no more.\n",
                      "Allow", "GET, HEAD");
    /* An answer to the first call, which comes after the head, would end the connection. */
    if (!*request || *upload_data_size) {
        *request = site;
        *upload_data_size = 0;
        return MHD_YES;
    }
    if (!request_path(target, path, sizeof path))
        return refuse(&exchange, MHD_HTTP_BAD_REQUEST, "That is not the name of a file here.\n",
                      NULL, NULL);
    return serve_path(&exchange, path);
}
