/*
 * plugin.json: what a plugin is, what it asks for and why, and the limits it can live with. Pure:
 * text in, structure or a fault with line and column out. halter-permissions(5) describes the file.
 * A manifest grants nothing: see grants.h.
 */
#ifndef HALTER_HOST_MANIFEST_H
#define HALTER_HOST_MANIFEST_H

#include "host/policy_url.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_MAX_BYTES (1u << 20)

enum manifest_section {
    MANIFEST_TOP,
    MANIFEST_PERMISSIONS,
    MANIFEST_NETWORK,
    MANIFEST_STATE,
    MANIFEST_FILE,
    MANIFEST_LOG,
    MANIFEST_SCOPE,
    MANIFEST_LIMITS,
    MANIFEST_SECTIONS
};

/* Levels of access; reading and writing are bits. */
#define MANIFEST_READ      1u
#define MANIFEST_WRITE     2u
#define MANIFEST_READWRITE 3u

/* The least severe line of the log that is passed on: a level of the wire, or none at all. */
#define MANIFEST_LOG_NONE 4u

struct manifest_network {
    bool fetch;
    struct policy_pattern *patterns;
    size_t npatterns;
    struct wire_range *ranges;
    size_t nranges;
    char *reason;
};

/* A tree of files: a name that the user's grant gives a folder, or an absolute path. */
struct manifest_tree {
    char *path;
    unsigned mode; /* MANIFEST_READ or MANIFEST_READWRITE */
    char *reason;
};

/* A capability of the application's own, e.g. "ai.respond". */
struct manifest_scope {
    char *name;
    char *reason;
};

struct manifest_limits {
    bool no_jit;
#define LIMIT(name, type, smallest, largest) type name; /* 0: not said */
#include "host/manifest.def"
};

struct manifest {
    char *name, *version, *description, *entry; /* description may be NULL */
    struct manifest_network network;
    unsigned state; /* bits */
    char *state_reason;
    unsigned log; /* 0 (debug) to 3 (error), or MANIFEST_LOG_NONE */
    char *log_reason;
    struct manifest_tree *trees;
    size_t ntrees;
    struct manifest_scope *scopes;
    size_t nscopes;
    struct manifest_limits limits;
};

struct manifest_fault {
    unsigned line, column; /* from 1; 0 when the fault is of no place */
    char text[256];        /* what is wrong and what to do; printable */
};

/* Fills *manifest (to be finished) on success, *fault on failure. */
bool manifest_parse(const char *text, size_t length, struct manifest *manifest,
                    struct manifest_fault *fault);
/* Frees what it holds. A zeroed manifest is fine. */
void manifest_finish(struct manifest *manifest);

/* The i-th member that a section knows, NULL behind the last. */
const char *manifest_member(enum manifest_section section, size_t i);
/* The bounds of a limit. False when there is none of that name. */
bool manifest_limit_bounds(const char *name, int64_t *smallest, int64_t *largest);

/* Names shared with grants.h. -1 when there is none. */
int manifest_access_level(const char *text, size_t length); /* none, read, write, readwrite */
int manifest_log_level(const char *text, size_t length);    /* debug, info, warn, error, none */
const char *manifest_access_name(unsigned level);
const char *manifest_log_name(unsigned level);
/* Dotted identifiers that name no built-in capability. */
bool manifest_is_scope(const char *text, size_t length);
/* A tree's path: a name, or an absolute path without "." and ".." in it. */
bool manifest_is_tree(const char *text, size_t length);

#endif
