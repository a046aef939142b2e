/*
 * Untrusted text, made safe to show: nothing in it can move a cursor, change a colour, hide, reorder
 * or imitate. What cannot be shown as it is comes out as a visible escape.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "halter/halter.h"

struct out {
    char *at;
    size_t capacity, length; /* length goes on counting when the room is used up */
};

static void put(struct out *out, const char *bytes, size_t n)
{
    if (out->length + n < out->capacity)
        memcpy(out->at + out->length, bytes, n);
    else if (out->length < out->capacity)
        out->capacity = out->length + 1; /* never half a character: full from here on */
    out->length += n;
}

/*
 * One character of UTF-8 (RFC 3629): its length, or 0 when the bytes at `text` are none.
 */
static size_t decode(const unsigned char *text, size_t left, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3
               : text[0] < 0xf5 ? 4 : 0;

    if (n == 0 || n > left)
        return 0;
    *code = n == 1 ? text[0] : text[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (text[i] & 0x3f);
    }
    if (*code < smallest[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
        return 0;
    return n;
}

/* Characters that are invisible, reorder their neighbours, or end a line where none is expected. */
static bool deceptive(uint32_t c)
{
    return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x115f || c == 0x1160 ||
           c == 0x180e || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0x3164 || c == 0xfeff || c == 0xffa0 ||
           (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe0fff);
}

size_t halter_printable(char *out, size_t capacity, const char *text, size_t bytes, bool multiline)
{
    struct out o = {.at = out, .capacity = capacity};
    char escape[16];

    for (size_t i = 0; i < bytes;) {
        unsigned char first = (unsigned char)text[i];
        uint32_t code;
        size_t n = decode((const unsigned char *)text + i, bytes - i, &code);
        if (n == 0 || (n == 1 && (first < 0x20 || first == 0x7f) &&
                       !(multiline && (first == '\n' || first == '\t')))) {
            put(&o, escape, (size_t)snprintf(escape, sizeof(escape), "\\x%02x", first));
            i++;
        } else if (n > 1 && deceptive(code)) {
            put(&o, escape, (size_t)snprintf(escape, sizeof(escape), "\\u{%x}", code));
            i += n;
        } else {
            put(&o, text + i, n);
            i += n;
        }
    }
    if (capacity)
        out[o.length < o.capacity ? o.length : o.capacity - 1] = '\0';
    return o.length;
}
