/*
 * Grants: what the user allows, in texts such as "network:https://api.example.org" or
 * "state:readwrite" (halter-permissions(5) has them all), and the permit: what holds, which is what the
 * manifest asks for and the grants allow, both. Pure, and the one place where the two meet.
 */
#ifndef HALTER_HOST_GRANTS_H
#define HALTER_HOST_GRANTS_H

#include "host/manifest.h"

#include <stdbool.h>
#include <stddef.h>

enum grant_kind {
    GRANT_ALL = 1,     /* all: whatever the manifest asks for */
    GRANT_NETWORK = 2, /* network: every host it asks for */
    GRANT_HOST = 3,    /* network:PATTERN */
    GRANT_RANGE = 4,   /* network:ADDRESS/BITS */
    GRANT_STATE = 5,   /* state, state:LEVEL */
    GRANT_FILES = 6,   /* files:TREE[:MODE][=FOLDER] */
    GRANT_LOG = 7,     /* log:LEVEL */
    GRANT_SCOPE = 8,   /* a capability of the application's own */
};

struct grant {
    enum grant_kind kind;
    unsigned level; /* of state, files, log */
    struct policy_pattern pattern;
    struct wire_range range;
    char *name;   /* of a tree or a scope */
    char *folder; /* where a tree is, NULL: at its own name */
};

struct grants {
    struct grant *items;
    size_t count;
};

#define GRANTS_FAULT 256

/* Adds one text ("network:a,b" adds several). False with why, for people, in `fault`. */
bool grants_add(struct grants *grants, const char *text, char fault[GRANTS_FAULT]);
/*
 * Adds what a grants file gives to `plugin`: {"grants": {"NAME": ["state:read", ...], "*": [...]}}.
 * False with why and where.
 */
bool grants_add_file(struct grants *grants, const char *text, size_t length, const char *plugin,
                     struct manifest_fault *fault);
void grants_finish(struct grants *grants);

struct permit_tree {
    char *path;   /* as the plugin calls it */
    char *folder; /* where it is */
    bool write;
};

/* What holds for a guest. */
struct permit {
    struct policy_pattern *patterns;
    size_t npatterns;
    struct wire_range *ranges;
    size_t nranges;
    unsigned state; /* bits */
    unsigned log;   /* the least severe level passed on */
    struct permit_tree *trees;
    size_t ntrees;
    char **scopes;
    size_t nscopes;
};

/*
 * Fills *permit (to be finished). Without a manifest what is granted holds. False with why, when a
 * grant says something that cannot be, or without memory.
 */
bool permit_make(const struct manifest *manifest, const struct grants *grants,
                 struct permit *permit, char fault[GRANTS_FAULT]);
void permit_finish(struct permit *permit);
/* The names that the script's world has, separated by '\n'; to be freed. NULL: no memory. */
char *permit_capabilities(const struct permit *permit);

/* One line of what `halter check` says. */
enum permit_verdict { PERMIT_YES = 1, PERMIT_PARTLY = 2, PERMIT_NO = 3, PERMIT_UNASKED = 4 };
struct permit_line {
    enum permit_verdict verdict;
    const char *scope;  /* "network", "state", ... */
    const char *asked;  /* what of it; for PERMIT_UNASKED what was granted in vain */
    const char *holds;  /* for PERMIT_PARTLY: what does */
    const char *reason; /* the plugin's, may be "" */
    const char *advice; /* the grant that would allow it, or a warning; may be "" */
};
typedef void (*permit_line_fn)(const struct permit_line *line, void *data);
/* Explains each permission that the manifest asks for, and each grant that it never asked for. */
void permit_explain(const struct manifest *manifest, const struct grants *grants, permit_line_fn fn,
                    void *data);

#endif
