/*
 * What a script wants fetched: method, headers, body and how, checked and kept over the hops of a
 * request. Pure.
 */
#ifndef HALTER_HOST_FETCH_REQUEST_H
#define HALTER_HOST_FETCH_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/json.h"
#include "wire/json_write.h"

#define FETCH_TIMEOUT_MS  30000
#define FETCH_MAX_BYTES   (8u << 20)
#define FETCH_MAX_HEADERS 64

enum fetch_redirect { FETCH_REDIRECT_FOLLOW, FETCH_REDIRECT_ERROR, FETCH_REDIRECT_MANUAL };

struct fetch_header {
    char *name, *value;
};

struct fetch_request {
    char method[20];
    char as[8]; /* text, json or base64 */
    enum fetch_redirect redirect;
    uint32_t timeout_ms, max_bytes;
    struct fetch_header headers[FETCH_MAX_HEADERS];
    size_t nheaders;
    char *body; /* a JSON string, NULL for none */
};

/* Reads the options (an object or null). NULL, or what is wrong with them. To be finished anyway.
 */
const char *fetch_request_read(struct fetch_request *request, struct json_value options);
void fetch_request_finish(struct fetch_request *request);
/* Writes it as members of an order, each with a comma before it. */
void fetch_request_write(const struct fetch_request *request, struct json_writer *out);
/*
 * Makes it what the next hop is asked (RFC 9110 section 15.4): 303, and 301 and 302 of a POST, turn
 * into a GET without a body; credentials go to no other origin.
 */
void fetch_request_redirect(struct fetch_request *request, int64_t status, bool same_origin);

#endif
