/*
 * URLs, taken apart by the few rules that http and https need (RFC 3986, and the WHATWG URL
 * standard where it reads numbers as IPv4 addresses). What other parsers guess at is refused: user
 * information, backslashes, control characters, one or three slashes, percent signs in a host.
 */
#include "host/policy_url.h"
#include "host/policy_host.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool has_prefix(const char *text, size_t length, const char *prefix)
{
    size_t n = strlen(prefix);
    return length >= n && strncasecmp(text, prefix, n) == 0;
}

static const char *check_bytes(const char *text, size_t length)
{
    if (length == 0)
        return "an empty URL is refused";
    if (length > POLICY_URL_BYTES)
        return "a URL longer than 8192 bytes is refused";
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c < 0x20 || c == 0x7f)
            return "a URL with control characters is refused";
        if (c == '\\')
            return "a URL with a backslash is refused (write it as %5C)";
    }
    if (text[0] == ' ' || text[length - 1] == ' ')
        return "a URL with spaces around it is refused";
    if (!utf8_check(text, length))
        return "a URL that is no UTF-8 is refused";
    return NULL;
}

static const char *take_scheme(const char **text, const char *end, unsigned *scheme)
{
    size_t length = (size_t)(end - *text);
    if (has_prefix(*text, length, "https://")) {
        *scheme = POLICY_HTTPS;
        *text += 8;
    } else if (has_prefix(*text, length, "http://")) {
        *scheme = POLICY_HTTP;
        *text += 7;
    } else if (has_prefix(*text, length, "https:") || has_prefix(*text, length, "http:")) {
        return "a URL without :// behind its scheme is refused";
    } else {
        return "a URL that does not start with https:// or http:// is refused";
    }
    return NULL;
}

const char *policy_url_parse(const char *text, size_t length, struct policy_url *url)
{
    const char *end = text + length, *at = text, *why;
    struct policy_host host;
    if ((why = check_bytes(text, length)) || (why = take_scheme(&at, end, &url->scheme)))
        return why;
    size_t authority = 0;
    while (at + authority < end && !strchr("/?#", at[authority]))
        authority++;
    if (memchr(at, '@', authority))
        return "a URL with user information (user@host) is refused";
    if ((why = policy_host_parse(at, authority, &host)))
        return why;
    if (host.any_port)
        return "a URL with a port that is no number is refused";
    url->is_address = host.is_address;
    url->address = host.address;
    url->port = host.port ? host.port : url->scheme == POLICY_HTTPS ? 443 : 80;
    memcpy(url->host, host.name, sizeof url->host);
    url->rest = at + authority;
    const char *fragment = memchr(url->rest, '#', (size_t)(end - url->rest));
    url->rest_length = (size_t)((fragment ? fragment : end) - url->rest);
    return NULL;
}

bool policy_url_same_origin(const struct policy_url *a, const struct policy_url *b)
{
    return a->scheme == b->scheme && a->port == b->port && a->is_address == b->is_address &&
           strcmp(a->host, b->host) == 0;
}

size_t policy_url_write(const struct policy_url *url, char out[POLICY_URL_TEXT])
{
    static const char hex[] = "0123456789ABCDEF";
    bool https = url->scheme == POLICY_HTTPS, v6 = strchr(url->host, ':') != NULL;
    char port[8] = "";
    if (url->port != (https ? 443 : 80))
        snprintf(port, sizeof port, ":%u", url->port);
    size_t at = (size_t)snprintf(out, POLICY_URL_TEXT, "%s://%s%s%s%s%s", https ? "https" : "http",
                                 v6 ? "[" : "", url->host, v6 ? "]" : "", port,
                                 url->rest_length && url->rest[0] == '/' ? "" : "/");
    for (size_t i = 0; i < url->rest_length; i++) {
        uint8_t c = (uint8_t)url->rest[i];
        if (c > 0x20 && c < 0x7f && !strchr("\"<>`{}|^", c)) {
            out[at++] = (char)c;
            continue;
        }
        out[at++] = '%';
        out[at++] = hex[c >> 4];
        out[at++] = hex[c & 15];
    }
    out[at] = '\0';
    return at;
}
