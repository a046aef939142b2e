/* Reads and rewrites a script's request: see fetch_request.h. */
#include "host/fetch_request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Set by the client itself, or able to make one request look like two. */
static const char *const forbidden[] = {"accept-encoding",
                                        "connection",
                                        "content-length",
                                        "expect",
                                        "host",
                                        "http2-settings",
                                        "keep-alive",
                                        "te",
                                        "trailer",
                                        "transfer-encoding",
                                        "upgrade",
                                        "via"};
static const char *const credentials[] = {"authorization", "cookie", "cookie2",
                                          "proxy-authorization"};
static const char *const of_body[] = {"content-encoding", "content-language", "content-location",
                                      "content-type"};
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(name, list[i]) == 0)
            return true;
    return false;
}

/* RFC 9110 section 5.6.2 */
static bool is_token(const char *text)
{
    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("!#$%&'*+-.^_`|~", *at))
            return false;
    return *text != '\0';
}

static bool is_field_value(const char *text)
{
    for (const char *at = text; *at; at++)
        if (((unsigned char)*at < 0x20 && *at != '\t') || *at == 0x7f)
            return false;
    return true;
}

/* A string without NUL of less than `capacity` bytes. */
static bool take(struct json_value value, char *out, size_t capacity)
{
    long length = value.type == JSON_STRING ? json_string(value, out, capacity) : -1;
    return length >= 0 && strlen(out) == (size_t)length;
}

static const char *read_header(struct fetch_request *request, struct json_value key,
                               struct json_value value)
{
    char name[128], text[8000];
    if (!take(key, name, sizeof(name)) || !is_token(name))
        return "fetch: a header's name is no token";
    if (!take(value, text, sizeof(text)) || !is_field_value(text))
        return "fetch: a header's value is no string, is longer than 8000 bytes, or has control "
               "characters";
    if (is_in(name, forbidden, COUNT(forbidden)) || strncasecmp(name, "proxy-", 6) == 0 ||
        strncasecmp(name, "sec-", 4) == 0)
        return "fetch: this header is the host's to set (Host, Content-Length, Connection, ...)";
    if (request->nheaders == FETCH_MAX_HEADERS)
        return "fetch: more than 64 headers";
    struct fetch_header header = {strdup(name), strdup(text)};
    if (!header.name || !header.value) {
        free(header.name);
        free(header.value);
        return "fetch: out of memory";
    }
    request->headers[request->nheaders++] = header;
    return NULL;
}

static const char *read_headers(struct fetch_request *request, struct json_value object)
{
    struct json_value key, value;
    const char *why;
    if (object.type != JSON_OBJECT)
        return "fetch: headers is an object of strings";
    for (size_t at = 0; json_next(object, &at, &key, &value);)
        if ((why = read_header(request, key, value)))
            return why;
    return NULL;
}

static const char *read_method(struct fetch_request *request, struct json_value value)
{
    char *method = request->method;
    if (!take(value, method, sizeof(request->method)) || !is_token(method))
        return "fetch: method is no token";
    for (char *at = method; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    if (strcmp(method, "CONNECT") == 0 || strcmp(method, "TRACE") == 0 ||
        strcmp(method, "TRACK") == 0)
        return "fetch: this method is not allowed (CONNECT, TRACE, TRACK)";
    return NULL;
}

static const char *read_as(struct fetch_request *request, struct json_value value)
{
    if (take(value, request->as, sizeof(request->as)) &&
        (strcmp(request->as, "text") == 0 || strcmp(request->as, "json") == 0 ||
         strcmp(request->as, "base64") == 0))
        return NULL;
    return "fetch: as is \"text\", \"json\" or \"base64\"";
}

static const char *read_redirect(struct fetch_request *request, struct json_value value)
{
    static const char *const names[] = {"follow", "error", "manual"};
    char name[8];
    for (size_t i = 0; take(value, name, sizeof(name)) && i < COUNT(names); i++) {
        if (strcmp(names[i], name) != 0)
            continue;
        request->redirect = (enum fetch_redirect)i;
        return NULL;
    }
    return "fetch: redirect is \"follow\", \"error\" or \"manual\"";
}

static const char *read_number(uint32_t *out, struct json_value value, int64_t max,
                               const char *wrong)
{
    int64_t number;
    if (value.type != JSON_NUMBER || !json_integer(value, 1, max, &number))
        return wrong;
    *out = (uint32_t)number;
    return NULL;
}

static const char *read_option(struct fetch_request *request, const char *name,
                               struct json_value value)
{
    if (strcmp(name, "method") == 0)
        return read_method(request, value);
    if (strcmp(name, "headers") == 0)
        return read_headers(request, value);
    if (strcmp(name, "as") == 0)
        return read_as(request, value);
    if (strcmp(name, "redirect") == 0)
        return read_redirect(request, value);
    if (strcmp(name, "timeout_ms") == 0)
        return read_number(&request->timeout_ms, value, 600000,
                           "fetch: timeout_ms is a whole number from 1 to 600000");
    if (strcmp(name, "max_bytes") == 0)
        return read_number(&request->max_bytes, value, 64 << 20,
                           "fetch: max_bytes is a whole number from 1 to 67108864");
    if (strcmp(name, "body") != 0)
        return "fetch: an option that is none of method, headers, body, as, redirect, timeout_ms, "
               "max_bytes";
    if (value.type == JSON_NULL)
        return NULL;
    free(request->body);
    request->body = value.type == JSON_STRING ? strndup(value.text, value.length) : NULL;
    return request->body ? NULL : "fetch: body is a string";
}

const char *fetch_request_read(struct fetch_request *request, struct json_value options)
{
    struct json_value key, value;
    const char *why;
    memset(request, 0, sizeof(*request));
    memcpy(request->method, "GET", 4);
    memcpy(request->as, "text", 5);
    request->timeout_ms = FETCH_TIMEOUT_MS;
    request->max_bytes = FETCH_MAX_BYTES;
    if (options.type == JSON_NULL)
        return NULL;
    if (options.type != JSON_OBJECT)
        return "fetch(url, options): options is no object";
    for (size_t at = 0; json_next(options, &at, &key, &value);) {
        char name[16] = "";
        take(key, name, sizeof(name));
        if ((why = read_option(request, name, value)))
            return why;
    }
    if (request->body &&
        (strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0))
        return "fetch: a GET or HEAD has no body";
    return NULL;
}

void fetch_request_finish(struct fetch_request *request)
{
    for (size_t i = 0; i < request->nheaders; i++) {
        free(request->headers[i].name);
        free(request->headers[i].value);
    }
    free(request->body);
    request->nheaders = 0;
    request->body = NULL;
}

void fetch_request_write(const struct fetch_request *request, struct json_writer *out)
{
    json_write(out, ",\"method\":");
    json_write_string(out, request->method, strlen(request->method));
    json_write(out, ",\"as\":");
    json_write_string(out, request->as, strlen(request->as));
    json_write(out, ",\"max_bytes\":");
    json_write_integer(out, request->max_bytes);
    json_write(out, ",\"headers\":[");
    for (size_t i = 0; i < request->nheaders; i++) {
        json_write(out, i ? ",[" : "[");
        json_write_string(out, request->headers[i].name, strlen(request->headers[i].name));
        json_write(out, ",");
        json_write_string(out, request->headers[i].value, strlen(request->headers[i].value));
        json_write(out, "]");
    }
    json_write(out, "]");
    if (request->body) {
        json_write(out, ",\"body\":");
        json_write(out, request->body);
    }
}

static void drop(struct fetch_request *request, const char *const *names, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < request->nheaders; i++) {
        if (!is_in(request->headers[i].name, names, count)) {
            request->headers[kept++] = request->headers[i];
            continue;
        }
        free(request->headers[i].name);
        free(request->headers[i].value);
    }
    request->nheaders = kept;
}

void fetch_request_redirect(struct fetch_request *request, int64_t status, bool same_origin)
{
    bool post = strcmp(request->method, "POST") == 0, head = strcmp(request->method, "HEAD") == 0;
    if ((status == 303 && !head) || ((status == 301 || status == 302) && post)) {
        memcpy(request->method, "GET", 4);
        free(request->body);
        request->body = NULL;
        drop(request, of_body, COUNT(of_body));
    }
    if (!same_origin)
        drop(request, credentials, COUNT(credentials));
}
