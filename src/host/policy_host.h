/*
 * The "host:port" of a URL or of a pattern, in its one normal form. Both go through here, so that a
 * pattern and a URL that mean the same host have the same bytes.
 */
#ifndef HALTER_HOST_POLICY_HOST_H
#define HALTER_HOST_POLICY_HOST_H

#include "host/policy_url.h"

struct policy_host {
    bool is_address;
    bool any_port; /* ":*" */
    uint16_t port; /* 0 when none is given */
    struct wire_address address;
    char name[POLICY_HOST_BYTES]; /* as in struct policy_url */
};

/* NULL and *host filled, or why not (a text as those of policy_url_parse). */
const char *policy_host_parse(const char *text, size_t length, struct policy_host *host);
/* A name in a leading "*." pattern: letters, digits, hyphens, dots. */
const char *policy_name_parse(const char *text, size_t length, char out[POLICY_HOST_BYTES]);

#endif
