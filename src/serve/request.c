/*
 * Untrusted request text taken apart: see request.h. HTTP's own framing is libmicrohttpd's; what is
 * here is what it leaves to its user.
 */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The next byte of an encoded path, or -1 where it cannot be part of a name here. */
static int next_byte(const char **text)
{
    const char *at = *text;
    int byte = (unsigned char)*at++;
    if (byte == '%') {
        int high = hex_digit(at[0]), low = high < 0 ? -1 : hex_digit(at[1]);
        if (low < 0)
            return -1;
        byte = high << 4 | low;
        at += 2;
        if (byte == '/') /* a name with a slash in it: no file has one */
            return -1;
    }
    *text = at;
    return byte < 0x20 || byte == 0x7f || byte == '\\' ? -1 : byte;
}

bool request_path(const char *target, char *out, size_t capacity)
{
    size_t used = 0;
    if (*target++ != '/')
        return false;
    while (*target) {
        int byte = next_byte(&target);
        bool starts = used == 0 || out[used - 1] == '/';
        if (byte < 0 || (starts && (byte == '.' || byte == '/')) || used + 1 >= capacity)
            return false;
        out[used++] = (char)byte;
    }
    out[used] = '\0';
    return true;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* Digits; a number too large for 64 bits is the largest one. False without any. */
static bool take_number(const char **text, uint64_t *out)
{
    const char *at = *text;
    uint64_t value = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    bool any = at != *text;
    *text = at;
    *out = value;
    return any;
}

enum request_range request_range(const char *header, uint64_t size, uint64_t *first,
                                 uint64_t *length)
{
    uint64_t from, to;
    if (strncasecmp(header, "bytes=", 6) != 0)
        return RANGE_WHOLE;
    header = skip_blanks(header + 6);
    bool has_from = take_number(&header, &from);
    if (*header++ != '-')
        return RANGE_WHOLE;
    bool has_to = take_number(&header, &to);
    if (*skip_blanks(header) || (!has_from && !has_to) || (has_from && has_to && to < from))
        return RANGE_WHOLE;
    if (!has_from) { /* the last `to` bytes */
        if (to == 0 || size == 0)
            return RANGE_OUTSIDE;
        from = to < size ? size - to : 0;
        has_to = false;
    }
    if (from >= size)
        return RANGE_OUTSIDE;
    *first = from;
    *length = (has_to && to < size - 1 ? to : size - 1) - from + 1;
    return RANGE_PART;
}

bool request_etag_listed(const char *header, const char *etag, bool weak)
{
    size_t length = strlen(etag);
    header = skip_blanks(header);
    if (*header == '*' && !*skip_blanks(header + 1))
        return true;
    while (*header) {
        bool is_weak = strncmp(header, "W/", 2) == 0;
        const char *tag = header + (is_weak ? 2 : 0);
        const char *end = *tag == '"' ? strchr(tag + 1, '"') : NULL;
        if (!end)
            return false;
        if ((weak || !is_weak) && (size_t)(end + 1 - tag) == length &&
            memcmp(tag, etag, length) == 0)
            return true;
        header = skip_blanks(end + 1);
        if (*header && *header != ',')
            return false;
        header += strspn(header, ", \t");
    }
    return false;
}

bool request_date(const char *text, time_t *out)
{
    static const char *const formats[] = {
        "%a, %d %b %Y %H:%M:%S GMT", /* IMF-fixdate */
        "%A, %d-%b-%y %H:%M:%S GMT", /* RFC 850 */
        "%a %b %e %H:%M:%S %Y",      /* asctime */
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct tm when = {0};
        const char *end = strptime(text, formats[i], &when);
        if (!end || *end)
            continue;
        *out = timegm(&when);
        return true;
    }
    return false;
}

void request_print_date(char out[static 40], time_t when)
{
    struct tm parts;
    gmtime_r(&when, &parts);
    strftime(out, 40, "%a, %d %b %Y %H:%M:%S GMT", &parts);
}

bool request_host_is_loopback(const char *header)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(header, names[i], length) != 0)
            continue;
        const char *rest = header + length;
        if (!*rest || (*rest == ':' && !rest[1 + strspn(rest + 1, "0123456789")]))
            return true;
    }
    return false;
}
