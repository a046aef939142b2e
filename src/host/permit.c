/*
 * What holds: the manifest and the grants, met member by member. Every line of a permit comes from
 * one of each; without a manifest from a grant alone.
 */
#include "host/array.h"
#include "host/grants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_pattern(struct permit *permit, const struct policy_pattern *pattern)
{
    struct policy_pattern *slot = array_append(&permit->patterns, &permit->npatterns, sizeof *slot);
    if (slot)
        *slot = *pattern;
    return slot != NULL;
}

static bool add_range(struct permit *permit, const struct wire_range *range)
{
    struct wire_range *slot = array_append(&permit->ranges, &permit->nranges, sizeof *slot);
    if (slot)
        *slot = *range;
    return slot != NULL;
}

static bool add_scope(struct permit *permit, const char *name)
{
    for (size_t i = 0; i < permit->nscopes; i++)
        if (strcmp(permit->scopes[i], name) == 0)
            return true;
    char **slot = array_append(&permit->scopes, &permit->nscopes, sizeof *slot);
    return slot && (*slot = strdup(name));
}

/* A tree granted twice holds once, with the wider mode. */
static bool add_tree(struct permit *permit, const char *path, const char *folder, bool write)
{
    for (size_t i = 0; i < permit->ntrees; i++) {
        struct permit_tree *tree = &permit->trees[i];
        if (strcmp(tree->path, path) == 0 && strcmp(tree->folder, folder) == 0) {
            tree->write |= write;
            return true;
        }
    }
    struct permit_tree *tree = array_append(&permit->trees, &permit->ntrees, sizeof *tree);
    if (!tree)
        return false;
    tree->write = write;
    return (tree->path = strdup(path)) && (tree->folder = strdup(folder));
}

static bool meet_host(const struct manifest *manifest, const struct grant *grant,
                      struct permit *permit)
{
    struct policy_pattern both;
    if (!manifest)
        return add_pattern(permit, &grant->pattern);
    if (!manifest->network.fetch)
        return true;
    for (size_t i = 0; i < manifest->network.npatterns; i++)
        if (policy_pattern_intersect(&manifest->network.patterns[i], &grant->pattern, &both) &&
            !add_pattern(permit, &both))
            return false;
    return true;
}

static bool meet_range(const struct manifest *manifest, const struct grant *grant,
                       struct permit *permit)
{
    if (!manifest)
        return add_range(permit, &grant->range);
    for (size_t i = 0; manifest->network.fetch && i < manifest->network.nranges; i++) {
        const struct wire_range *asked = &manifest->network.ranges[i];
        if (wire_range_within(asked, &grant->range)   ? !add_range(permit, asked)
            : wire_range_within(&grant->range, asked) ? !add_range(permit, &grant->range)
                                                      : false)
            return false;
    }
    return true;
}

static bool meet_network(const struct manifest *manifest, struct permit *permit)
{
    const struct manifest_network *network = &manifest->network;
    for (size_t i = 0; network->fetch && i < network->npatterns; i++)
        if (!add_pattern(permit, &network->patterns[i]))
            return false;
    for (size_t i = 0; network->fetch && i < network->nranges; i++)
        if (!add_range(permit, &network->ranges[i]))
            return false;
    return true;
}

static bool meet_tree(const struct manifest *manifest, const struct grant *grant,
                      struct permit *permit)
{
    const char *folder = grant->folder ? grant->folder : grant->name;
    bool write = grant->level == MANIFEST_READWRITE;
    if (!manifest)
        return add_tree(permit, grant->name, folder, write);
    for (size_t i = 0; i < manifest->ntrees; i++)
        if (strcmp(manifest->trees[i].path, grant->name) == 0)
            return add_tree(permit, grant->name, folder,
                            write && manifest->trees[i].mode == MANIFEST_READWRITE);
    return true;
}

static bool meet_scope(const struct manifest *manifest, const struct grant *grant,
                       struct permit *permit)
{
    if (!manifest)
        return add_scope(permit, grant->name);
    for (size_t i = 0; i < manifest->nscopes; i++)
        if (strcmp(manifest->scopes[i].name, grant->name) == 0)
            return add_scope(permit, grant->name);
    return true;
}

/* All that is asked for. A tree that is only a name has no place, so it stays ungranted. */
static bool meet_all(const struct manifest *manifest, struct permit *permit)
{
    permit->state = manifest->state;
    if (!meet_network(manifest, permit))
        return false;
    for (size_t i = 0; i < manifest->ntrees; i++)
        if (manifest->trees[i].path[0] == '/' &&
            !add_tree(permit, manifest->trees[i].path, manifest->trees[i].path,
                      manifest->trees[i].mode == MANIFEST_READWRITE))
            return false;
    for (size_t i = 0; i < manifest->nscopes; i++)
        if (!add_scope(permit, manifest->scopes[i].name))
            return false;
    return true;
}

static bool meet(const struct manifest *manifest, const struct grant *grant, struct permit *permit)
{
    switch (grant->kind) {
    case GRANT_ALL:
        return meet_all(manifest, permit);
    case GRANT_NETWORK:
        return meet_network(manifest, permit);
    case GRANT_HOST:
        return meet_host(manifest, grant, permit);
    case GRANT_RANGE:
        return meet_range(manifest, grant, permit);
    case GRANT_STATE:
        permit->state |= manifest ? grant->level & manifest->state : grant->level;
        return true;
    case GRANT_FILES:
        return meet_tree(manifest, grant, permit);
    case GRANT_LOG:
        if (grant->level > permit->log)
            permit->log = grant->level;
        return true;
    case GRANT_SCOPE:
        return meet_scope(manifest, grant, permit);
    }
    return true;
}

bool permit_make(const struct manifest *manifest, const struct grants *grants,
                 struct permit *permit, char fault[GRANTS_FAULT])
{
    memset(permit, 0, sizeof *permit);
    permit->log = manifest ? manifest->log : 0;
    for (size_t i = 0; i < grants->count; i++) {
        enum grant_kind kind = grants->items[i].kind;
        if (!manifest && (kind == GRANT_ALL || kind == GRANT_NETWORK))
            snprintf(
                fault, GRANTS_FAULT,
                "the grant \"%s\" needs a plugin.json that says what is asked for: name the %s",
                kind == GRANT_ALL ? "all" : "network",
                kind == GRANT_ALL ? "capabilities instead" : "hosts instead: network:HOST");
        else if (!meet(manifest, &grants->items[i], permit))
            snprintf(fault, GRANTS_FAULT, "out of memory");
        else
            continue;
        permit_finish(permit);
        return false;
    }
    return true;
}

void permit_finish(struct permit *permit)
{
    for (size_t i = 0; i < permit->ntrees; i++) {
        free(permit->trees[i].path);
        free(permit->trees[i].folder);
    }
    for (size_t i = 0; i < permit->nscopes; i++)
        free(permit->scopes[i]);
    free(permit->trees);
    free(permit->scopes);
    free(permit->patterns);
    free(permit->ranges);
    memset(permit, 0, sizeof *permit);
}

static void put_name(char *out, size_t *at, const char *name)
{
    size_t length = strlen(name);
    if (out) {
        memcpy(out + *at, name, length);
        out[*at + length] = '\n';
    }
    *at += length + 1;
}

/* The bytes of the list; written to `out` unless it is NULL. */
static size_t put_names(const struct permit *permit, char *out)
{
    size_t at = 0;
    if (permit->npatterns)
        put_name(out, &at, "fetch");
    if (permit->state & MANIFEST_READ) {
        put_name(out, &at, "state.get");
        put_name(out, &at, "state.keys");
    }
    if (permit->state & MANIFEST_WRITE) {
        put_name(out, &at, "state.set");
        put_name(out, &at, "state.delete");
    }
    if (permit->state == MANIFEST_READWRITE)
        put_name(out, &at, "state.swap");
    if (permit->ntrees) {
        put_name(out, &at, "open");
        put_name(out, &at, "list");
    }
    for (size_t i = 0; i < permit->nscopes; i++)
        put_name(out, &at, permit->scopes[i]);
    return at;
}

char *permit_capabilities(const struct permit *permit)
{
    size_t bytes = put_names(permit, NULL);
    char *names = malloc(bytes + 1);
    if (!names)
        return NULL;
    put_names(permit, names);
    names[bytes ? bytes - 1 : 0] = '\0'; /* in place of the last separator */
    return names;
}
