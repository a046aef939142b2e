/*
 * What a request asks for, read from untrusted text: the path, the range, the conditions. Pure
 * functions without a system call, so that they can be fuzzed; answer.c acts on what they say.
 */
#ifndef HALTER_SERVE_REQUEST_H
#define HALTER_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * The path of a request target, still percent-encoded and without its query, as a path relative to
 * a folder; "" is the folder itself, and a final slash stays. False for everything that is not the
 * plain name of something below it: broken encodings, control characters, encoded or doubled
 * slashes, backslashes, names that begin with a dot ("..", ".git").
 */
bool request_path(const char *target, char *out, size_t capacity);

enum request_range {
    RANGE_WHOLE, /* none, or one that RFC 9110 14.2 lets a server ignore: malformed, or several */
    RANGE_PART,
    RANGE_OUTSIDE, /* 416 */
};

/* A Range header against a file of `size` bytes; `*first` and `*length` are set for RANGE_PART. */
enum request_range request_range(const char *header, uint64_t size, uint64_t *first,
                                 uint64_t *length);

/* Whether an If-Match or If-None-Match header names `etag`, or is "*". With `weak`, W/"x" and "x"
 * are equal (RFC 9110 8.8.3.2). */
bool request_etag_listed(const char *header, const char *etag, bool weak);

/* A date in one of the three formats of RFC 9110 5.6.7; false when it is none. */
bool request_date(const char *text, time_t *out);
/* IMF-fixdate, as in "Sun, 06 Nov 1994 08:49:37 GMT". */
void request_print_date(char out[static 40], time_t when);

/* Whether a Host header, port or not, is one of this machine's own names for itself: another one on
 * a loopback socket is a page elsewhere whose name was made to point here (DNS rebinding). */
bool request_host_is_loopback(const char *header);

#endif
