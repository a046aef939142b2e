/*
 * Looking inside a JSON text that json_check accepted: values are slices, and finding the next one
 * means skipping over this one. Nothing is built. On a text that was not checked the answers are
 * wrong, but no byte outside it is read.
 */
#include "wire/scan.h"

/* `at` is on a quote; behind the string. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        at = scan_plain(at, end);
        if (at < end && *at == '"')
            return at + 1;
        if (at < end && *at == '\\')
            at++;
    }
    return end;
}

static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    do {
        if (at >= end)
            return end;
        if (*at == '"') {
            at = skip_string(at, end);
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            if (depth)
                depth--;
            at++;
        } else if (depth) {
            at++;
        } else {
            while (at < end && !scan_is_space(*at) && !memchr(",]}", *at, 3))
                at++;
        }
    } while (depth);
    return at;
}

static struct json_value slice(const char *at, const char *end)
{
    struct json_value value = {.text = at, .length = (size_t)(end - at)};
    switch (at < end ? *at : 0) {
    case '{':
        value.type = JSON_OBJECT;
        break;
    case '[':
        value.type = JSON_ARRAY;
        break;
    case '"':
        value.type = JSON_STRING;
        break;
    case 't':
        value.type = JSON_TRUE;
        break;
    case 'f':
        value.type = JSON_FALSE;
        break;
    case 'n':
        value.type = JSON_NULL;
        break;
    default:
        value.type = JSON_NUMBER;
    }
    return value;
}

struct json_value json_root(const char *text, size_t length)
{
    const char *end = text + length, *at = scan_space(text, end);
    return slice(at, skip_value(at, end));
}

bool json_next(struct json_value container, size_t *at, struct json_value *key,
               struct json_value *value)
{
    if (container.type != JSON_ARRAY && container.type != JSON_OBJECT)
        return false;
    const char *end = container.text + container.length;
    const char *p = scan_space(container.text + (*at ? *at : 1), end);
    if (p < end && *p == ',')
        p = scan_space(p + 1, end);
    if (p >= end || *p == ']' || *p == '}')
        return false;
    if (container.type == JSON_OBJECT) {
        const char *stop = skip_value(p, end);
        if (key)
            *key = slice(p, stop);
        p = scan_space(stop, end);
        if (p < end)
            p = scan_space(p + 1, end); /* the colon */
    }
    const char *stop = skip_value(p, end);
    *value = slice(p, stop);
    *at = (size_t)(stop - container.text);
    return true;
}

static int hex_digit(char byte)
{
    return byte <= '9' ? byte - '0' : (byte | 0x20) - 'a' + 10;
}

/* Four hexadecimal digits, or -1 where there are not as many. */
static long hex4(const char *at, const char *end)
{
    if (end - at < 4)
        return -1;
    return hex_digit(at[0]) << 12 | hex_digit(at[1]) << 8 | hex_digit(at[2]) << 4 |
           hex_digit(at[3]);
}

static size_t encode_utf8(long point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t length = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, point >>= 6)
        out[i] = (char)(0x80 | (point & 0x3f));
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[length] | point);
    return length;
}

/* `at` is behind "\u". A surrogate without its other half becomes U+FFFD. */
static const char *unescape_u(const char *at, const char *end, char out[4], size_t *length)
{
    long point = hex4(at, end);
    at += 4;
    if (point < 0) {
        point = 0xfffd;
        at = end;
    } else if (point >= 0xd800 && point < 0xe000) {
        long low = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? hex4(at + 2, end) : -1;
        if (point < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        } else {
            point = 0xfffd;
        }
    }
    *length = encode_utf8(point, out);
    return at;
}

/* The next piece of a string: plain bytes as they stand, or one unescaped character. */
static const char *unescape(const char *at, const char *end, char room[4], const char **piece,
                            size_t *length)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *stop = memchr(at, '\\', (size_t)(end - at));
    if (stop != at) {
        *piece = at;
        *length = (size_t)((stop ? stop : end) - at);
        return at + *length;
    }
    *piece = room;
    *length = 1;
    if (end - at < 2) {
        *length = 0;
        return end;
    }
    if (at[1] == 'u')
        return unescape_u(at + 2, end, room, length);
    const char *letter = memchr(from, at[1], 5);
    room[0] = letter ? to[letter - from] : at[1];
    return at + 2;
}

/* The bytes between the quotes. */
static const char *inside(struct json_value string, const char **end)
{
    *end = string.text + (string.length >= 2 ? string.length - 1 : string.length);
    return string.text + (string.length >= 2);
}

long json_string(struct json_value string, char *out, size_t capacity)
{
    const char *end, *at = inside(string, &end), *piece;
    char room[4];
    size_t used = 0, length;
    while (at < end) {
        at = unescape(at, end, room, &piece, &length);
        if (length >= capacity - used || capacity == 0)
            return -1;
        memcpy(out + used, piece, length);
        used += length;
    }
    if (used >= capacity)
        return -1;
    out[used] = 0;
    return (long)used;
}

static bool string_is(struct json_value string, const char *text)
{
    const char *end, *at = inside(string, &end), *piece;
    char room[4];
    size_t left = strlen(text), length;
    while (at < end) {
        at = unescape(at, end, room, &piece, &length);
        if (length > left || memcmp(piece, text, length))
            return false;
        text += length;
        left -= length;
    }
    return left == 0;
}

bool json_member(struct json_value object, const char *key, struct json_value *value)
{
    struct json_value name, found;
    size_t at = 0;
    bool is_there = false;
    if (object.type != JSON_OBJECT)
        return false;
    while (json_next(object, &at, &name, &found)) {
        if (string_is(name, key)) {
            *value = found;
            is_there = true;
        }
    }
    return is_there;
}
