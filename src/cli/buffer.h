/*
 * Bytes that grow: what the command collects before it writes them, and the JSON that it writes of
 * its own (dead letters, statistics). A buffer keeps its memory when it is emptied, so that a
 * stream allocates for its largest record and not for each one.
 */
#ifndef HALTER_CLI_BUFFER_H
#define HALTER_CLI_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    char *bytes;
    size_t used, capacity;
};

/* Room for `more` bytes behind the used ones. Memory that cannot be had ends the program. */
void buffer_reserve(struct buffer *buffer, size_t more);
void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
void buffer_byte(struct buffer *buffer, char byte);
void buffer_text(struct buffer *buffer, const char *text);
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Empties it; memory above `keep` bytes is given back. */
void buffer_reset(struct buffer *buffer, size_t keep);
void buffer_finish(struct buffer *buffer);

/*
 * Appends a JSON string. Bytes that are no UTF-8 become U+FFFD, so that the result is JSON
 * whatever the text was.
 */
void buffer_json(struct buffer *buffer, const char *text, size_t bytes);
/*
 * The members of an object, one by one: `"key":` with a comma before it where one is due (that is,
 * unless the last byte opens the object).
 */
void buffer_key(struct buffer *buffer, const char *key);
void buffer_key_text(struct buffer *buffer, const char *key, const char *text);
void buffer_key_number(struct buffer *buffer, const char *key, uint64_t number);
void buffer_key_real(struct buffer *buffer, const char *key, double number);

/*
 * Appends what a JSON string says, as UTF-8 without quotes and escapes. `json` starts and ends
 * with a quote and is valid; a lone surrogate becomes U+FFFD.
 */
void buffer_unquote(struct buffer *buffer, const char *json, size_t bytes);

#endif
