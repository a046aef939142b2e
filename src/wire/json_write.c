/* The writer of JSON text. Long plain runs are copied whole; only what needs it is looked at. */
#include "wire/json_write.h"
#include "wire/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *writer)
{
    memset(writer, 0, sizeof *writer);
}

void json_writer_finish(struct json_writer *writer)
{
    free(writer->text);
    memset(writer, 0, sizeof *writer);
}

void json_writer_reset(struct json_writer *writer)
{
    writer->length = 0;
    writer->failed = false;
}

static bool reserve(struct json_writer *writer, size_t more)
{
    size_t need = writer->length + more + 1;
    if (writer->failed || need < more)
        return false;
    if (need <= writer->capacity)
        return true;
    size_t capacity = writer->capacity ? writer->capacity : 256;
    while (capacity < need)
        capacity = capacity < SIZE_MAX / 2 ? capacity * 2 : need;
    char *text = realloc(writer->text, capacity);
    if (!text) {
        writer->failed = true;
        return false;
    }
    writer->text = text;
    writer->capacity = capacity;
    return true;
}

void json_write_raw(struct json_writer *writer, const char *bytes, size_t length)
{
    if (!reserve(writer, length))
        return;
    if (length > 0)
        memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
}

void json_write(struct json_writer *writer, const char *text)
{
    json_write_raw(writer, text, strlen(text));
}

static void write_escape(struct json_writer *writer, uint8_t c)
{
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    char escape[8];
    if (c == '"' || c == '\\')
        snprintf(escape, sizeof escape, "\\%c", c);
    else if (letters[c])
        snprintf(escape, sizeof escape, "\\%c", letters[c]);
    else
        snprintf(escape, sizeof escape, "\\u%04x", c);
    json_write(writer, escape);
}

void json_write_string(struct json_writer *writer, const char *text, size_t length)
{
    const char *at = text, *start = text, *end = text + length, *next;
    json_write(writer, "\"");
    while (at < end) {
        if ((next = scan_plain(at, end)) > at) {
            at = next;
            continue;
        }
        bool ascii = (uint8_t)*at < 0x80;
        if (!ascii && (next = utf8_step(at, end))) {
            at = next;
            continue;
        }
        json_write_raw(writer, start, (size_t)(at - start));
        if (ascii)
            write_escape(writer, (uint8_t)*at);
        else
            json_write(writer, "\xef\xbf\xbd");
        start = ++at;
    }
    json_write_raw(writer, start, (size_t)(at - start));
    json_write(writer, "\"");
}

void json_write_integer(struct json_writer *writer, int64_t value)
{
    char digits[24];
    json_write_raw(writer, digits,
                   (size_t)snprintf(digits, sizeof digits, "%lld", (long long)value));
}

void json_write_base64(struct json_writer *writer, const uint8_t *bytes, size_t length)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (length > SIZE_MAX / 2 || !reserve(writer, (length + 2) / 3 * 4 + 2)) {
        writer->failed = true;
        return;
    }
    char *out = writer->text + writer->length;
    *out++ = '"';
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                         (left > 2 ? bytes[i + 2] : 0);
        *out++ = alphabet[group >> 18];
        *out++ = alphabet[group >> 12 & 63];
        *out++ = left > 1 ? alphabet[group >> 6 & 63] : '=';
        *out++ = left > 2 ? alphabet[group & 63] : '=';
    }
    *out++ = '"';
    writer->length = (size_t)(out - writer->text);
}

bool json_write_end(struct json_writer *writer)
{
    if (!reserve(writer, 0))
        return false;
    writer->text[writer->length] = '\0';
    return true;
}
