/*
 * JSON text as it crosses the wire: checked (RFC 8259, UTF-8 without a byte order mark, depth
 * capped), and read value by value where C needs to look inside (manifests, capabilities).
 * Nothing is built: values are slices of the text.
 */
#ifndef HALTER_WIRE_JSON_H
#define HALTER_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_JSON_MAX_DEPTH 512

struct json_fault {
    size_t offset;       /* of the first byte that does not fit */
    unsigned line, column; /* from 1; the column counts bytes */
    const char *what;    /* e.g. "expected a value", static */
};

/* True when `text` is exactly one JSON value with white space around it. *fault may be NULL. */
bool json_check(const char *text, size_t length, struct json_fault *fault);
/* True when `text` is well-formed UTF-8 (no overlong forms, no surrogates). */
bool utf8_check(const char *text, size_t length);

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
struct json_value {
    enum json_type type;
    const char *text; /* the slice, without white space around it */
    size_t length;
};
/* The value of a text that json_check accepted. */
struct json_value json_root(const char *text, size_t length);
/*
 * Walks an array or an object: start with *at = 0; each call yields the next element (and, in an
 * object, its key as a JSON string slice) until false.
 */
bool json_next(struct json_value container, size_t *at, struct json_value *key,
               struct json_value *value);
/* The member called `key` (UTF-8, compared after unescaping); the last one of that name. */
bool json_member(struct json_value object, const char *key, struct json_value *value);
/* Unescapes a string into `out` (terminated); its length, or -1 if it does not fit in `capacity`. */
long json_string(struct json_value string, char *out, size_t capacity);
/* A number that is an integer in [min, max]. */
bool json_integer(struct json_value number, int64_t min, int64_t max, int64_t *out);
/* Line and column of `at` in `text`, from 1. */
void json_position(const char *text, size_t at, unsigned *line, unsigned *column);

#endif
