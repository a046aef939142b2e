/*
 * Who may fetch what: URLs taken apart, patterns of hosts, and the decision. Pure: text in, verdict
 * out. Parsing is strict, and the services fetch exactly the text that policy_url_write() makes
 * from what was decided about, so that no second parser can understand another host in it.
 *
 *   pattern = [ ("https" | "http" | "*") "://" ] host [ ":" (port | "*") ]
 *   host    = name | "*." name | "*" | IPv4 | "[" IPv6 "]"
 *
 * Without a scheme a pattern means https; without a port the scheme's own. "*.example.org" holds
 * every name below example.org and not example.org itself.
 */
#ifndef HALTER_HOST_POLICY_URL_H
#define HALTER_HOST_POLICY_URL_H

#include "wire/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_HTTP         1u
#define POLICY_HTTPS        2u
#define POLICY_HOST_BYTES   256  /* a name of 253 and some air */
#define POLICY_URL_BYTES    8192 /* the longest URL taken */
#define POLICY_URL_TEXT     (3 * POLICY_URL_BYTES + POLICY_HOST_BYTES) /* the longest one written */
#define POLICY_PATTERN_TEXT (POLICY_HOST_BYTES + 24)

struct policy_url {
    unsigned scheme; /* POLICY_HTTP or POLICY_HTTPS */
    uint16_t port;
    bool is_address;
    struct wire_address address;  /* when is_address */
    char host[POLICY_HOST_BYTES]; /* lower case without a final dot; addresses as printed, no [] */
    const char *rest;             /* path and query, borrowed from the text, without the fragment */
    size_t rest_length;
};

/* NULL and *url filled, or why it is no URL to fetch: a static text that ends "... is refused". */
const char *policy_url_parse(const char *text, size_t length, struct policy_url *url);
/* The URL as it is sent: normalized, everything unusual percent-encoded. Returns its length. */
size_t policy_url_write(const struct policy_url *url, char out[POLICY_URL_TEXT]);
bool policy_url_same_origin(const struct policy_url *a, const struct policy_url *b);

enum policy_host_kind {
    POLICY_HOST_NAME = 1,
    POLICY_HOST_BELOW = 2, /* every name below `host` */
    POLICY_HOST_ADDRESS = 3,
    POLICY_HOST_ANY = 4,
};
#define POLICY_PORT_ANY     0
#define POLICY_PORT_DEFAULT (-1) /* the scheme's own: only in patterns for both schemes */

struct policy_pattern {
    unsigned schemes; /* bits */
    enum policy_host_kind kind;
    int32_t port;
    struct wire_address address;
    char host[POLICY_HOST_BYTES];
};

/* NULL and *pattern filled, or what is wrong with it. */
const char *policy_pattern_parse(const char *text, size_t length, struct policy_pattern *pattern);
size_t policy_pattern_print(const struct policy_pattern *pattern, char out[POLICY_PATTERN_TEXT]);
bool policy_pattern_matches(const struct policy_pattern *pattern, const struct policy_url *url);
/* What both allow. False when that is nothing; *out is then undefined. */
bool policy_pattern_intersect(const struct policy_pattern *a, const struct policy_pattern *b,
                              struct policy_pattern *out);

/* What a guest may reach. The arrays are borrowed. */
struct policy_network {
    const struct policy_pattern *patterns;
    size_t npatterns;
    const struct wire_range *ranges; /* granted although special: see policy_address.h */
    size_t nranges;
};

struct policy_decision {
    bool allowed;
    const char *why;            /* a static text, in either case */
    struct wire_range reach[2]; /* further ranges that this request may open sockets to, because */
    unsigned nreach;            /* the pattern names loopback or the very address */
};
void policy_decide(const struct policy_network *network, const struct policy_url *url,
                   struct policy_decision *decision);

#endif
