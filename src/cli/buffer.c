/*
 * Bytes that grow, and JSON written into them. See buffer.h; out of memory ends the program here,
 * because a command that cannot hold one record has nothing better to do.
 */
#include "cli/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/say.h"

void buffer_reserve(struct buffer *buffer, size_t more)
{
    if (buffer->capacity - buffer->used >= more)
        return;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity - buffer->used < more)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        die_without_memory();
    buffer->bytes = bytes;
    buffer->capacity = capacity;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count)
{
    if (count == 0)
        return;
    buffer_reserve(buffer, count);
    memcpy(buffer->bytes + buffer->used, bytes, count);
    buffer->used += count;
}

void buffer_byte(struct buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

void buffer_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        buffer_reserve(buffer, (size_t)length + 1);
        vsnprintf(buffer->bytes + buffer->used, (size_t)length + 1, format, again);
        buffer->used += (size_t)length;
    }
    va_end(again);
}

void buffer_reset(struct buffer *buffer, size_t keep)
{
    buffer->used = 0;
    if (buffer->capacity > keep)
        buffer_finish(buffer);
}

void buffer_finish(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

/* The length of the well-formed UTF-8 sequence at `text`, or 0 (Unicode 15, table 3-7). */
static size_t utf8_length(const unsigned char *text, size_t bytes)
{
    unsigned char first = text[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > bytes)
        return 0;
    unsigned char lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < lowest || text[1] > highest)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    return length;
}

static void append_escape(struct buffer *buffer, unsigned char byte)
{
    static const char letters[32] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    if (byte == '"' || byte == '\\')
        buffer_format(buffer, "\\%c", byte);
    else if (byte < sizeof letters && letters[byte])
        buffer_format(buffer, "\\%c", letters[byte]);
    else
        buffer_format(buffer, "\\u%04x", byte);
}

void buffer_json(struct buffer *buffer, const char *text, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)text;
    buffer_byte(buffer, '"');
    for (size_t i = 0; i < bytes;) {
        size_t plain = i;
        while (plain < bytes && at[plain] >= 0x20 && at[plain] < 0x80 && at[plain] != '"' &&
               at[plain] != '\\')
            plain++;
        buffer_append(buffer, text + i, plain - i);
        i = plain;
        if (i == bytes)
            break;
        if (at[i] < 0x80) {
            append_escape(buffer, at[i++]);
            continue;
        }
        size_t length = utf8_length(at + i, bytes - i);
        if (length)
            buffer_append(buffer, text + i, length);
        else
            buffer_text(buffer, "\xef\xbf\xbd");
        i += length ? length : 1;
    }
    buffer_byte(buffer, '"');
}

void buffer_key(struct buffer *buffer, const char *key)
{
    char last = buffer->used ? buffer->bytes[buffer->used - 1] : '{';
    if (last != '{' && last != '[')
        buffer_byte(buffer, ',');
    buffer_json(buffer, key, strlen(key));
    buffer_byte(buffer, ':');
}

void buffer_key_text(struct buffer *buffer, const char *key, const char *text)
{
    buffer_key(buffer, key);
    buffer_json(buffer, text, strlen(text));
}

void buffer_key_number(struct buffer *buffer, const char *key, uint64_t number)
{
    buffer_key(buffer, key);
    buffer_format(buffer, "%llu", (unsigned long long)number);
}

void buffer_key_real(struct buffer *buffer, const char *key, double number)
{
    buffer_key(buffer, key);
    buffer_format(buffer, "%.3f", number);
}

static unsigned hex4(const char *digits)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        char c = digits[i];
        value = value * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return value;
}

static void append_utf8(struct buffer *buffer, unsigned code)
{
    if (code >= 0xd800 && code <= 0xdfff)
        code = 0xfffd;
    char out[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (length == 1) {
        out[0] = (char)code;
    } else {
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = length - 1; i > 0; i--, code >>= 6)
            out[i] = (char)(0x80 | (code & 0x3f));
        out[0] = (char)(lead[length] | code);
    }
    buffer_append(buffer, out, length);
}

void buffer_unquote(struct buffer *buffer, const char *json, size_t bytes)
{
    const char *at = json + 1, *end = json + bytes - 1;
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t)(end - at));
        buffer_append(buffer, at, (size_t)((escape ? escape : end) - at));
        if (!escape || escape + 1 >= end)
            return;
        char letter = escape[1];
        at = escape + 2;
        if (letter != 'u') {
            static const char plain[128] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r',
                                            ['t'] = '\t', ['"'] = '"',  ['\\'] = '\\', ['/'] = '/'};
            buffer_byte(buffer, plain[letter & 0x7f]);
            continue;
        }
        if (end - at < 4)
            return;
        unsigned code = hex4(at);
        at += 4;
        if (code >= 0xd800 && code <= 0xdbff && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
            unsigned low = hex4(at + 2);
            if (low >= 0xdc00 && low <= 0xdfff) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                at += 6;
            }
        }
        append_utf8(buffer, code);
    }
}
