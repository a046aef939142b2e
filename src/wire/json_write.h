/*
 * JSON text, written piece by piece into a buffer that grows. Failure (no memory) is remembered and
 * asked about once, at the end; text that is no UTF-8 comes out with U+FFFD in its place, so what
 * is written is always JSON.
 */
#ifndef HALTER_WIRE_JSON_WRITE_H
#define HALTER_WIRE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer {
    char *text; /* not terminated until json_write_end */
    size_t length, capacity;
    bool failed;
};

void json_writer_init(struct json_writer *writer);
void json_writer_finish(struct json_writer *writer);
/* Empties it and keeps its buffer. */
void json_writer_reset(struct json_writer *writer);
/* Bytes as they are: punctuation, numbers, and values that are JSON already. */
void json_write_raw(struct json_writer *writer, const char *bytes, size_t length);
void json_write(struct json_writer *writer, const char *text);
void json_write_string(struct json_writer *writer, const char *text, size_t length);
void json_write_integer(struct json_writer *writer, int64_t value);
void json_write_base64(struct json_writer *writer, const uint8_t *bytes, size_t length);
/* Terminates the text. False when memory ran out on the way. */
bool json_write_end(struct json_writer *writer);

#endif
