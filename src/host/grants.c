/*
 * Reads grants: from the command line, from an application's list, from a grants file. One syntax,
 * whichever way it comes.
 */
#include "host/grants.h"
#include "host/array.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(char fault[GRANTS_FAULT], const char *text, const char *why)
{
    snprintf(fault, GRANTS_FAULT, "the grant \"%.100s\": %s", text, why);
    return false;
}

static struct grant *append(struct grants *grants, enum grant_kind kind)
{
    struct grant *grant = array_append(&grants->items, &grants->count, sizeof *grant);
    if (grant)
        grant->kind = kind;
    return grant;
}

/* One element behind "network:": a pattern of hosts, or a range of addresses. */
static bool add_network(struct grants *grants, const char *text, const char *element, size_t length,
                        char fault[GRANTS_FAULT])
{
    struct wire_range range;
    bool is_range = memchr(element, '/', length) && wire_range_parse(element, length, &range);
    struct grant *grant = append(grants, is_range ? GRANT_RANGE : GRANT_HOST);
    if (!grant)
        return fail(fault, text, "out of memory");
    grant->range = range;
    const char *why = is_range ? NULL : policy_pattern_parse(element, length, &grant->pattern);
    return !why || fail(fault, text, why);
}

static bool add_networks(struct grants *grants, const char *text, const char *rest,
                         char fault[GRANTS_FAULT])
{
    for (;;) {
        size_t length = strcspn(rest, ",");
        if (!add_network(grants, text, rest, length, fault))
            return false;
        if (!rest[length])
            return true;
        rest += length + 1;
    }
}

static bool add_level(struct grants *grants, enum grant_kind kind, const char *text,
                      const char *rest, char fault[GRANTS_FAULT])
{
    int level = kind == GRANT_LOG ? manifest_log_level(rest, strlen(rest))
                                  : manifest_access_level(rest, strlen(rest));
    if (level < 0)
        return fail(fault, text,
                    kind == GRANT_LOG ? "a level is debug, info, warn, error or none"
                                      : "a level is none, read, write or readwrite");
    struct grant *grant = append(grants, kind);
    if (!grant)
        return fail(fault, text, "out of memory");
    grant->level = (unsigned)level;
    return true;
}

/* TREE[:MODE][=FOLDER]; without a mode, reading. */
static bool add_tree(struct grants *grants, const char *text, const char *rest,
                     char fault[GRANTS_FAULT])
{
    size_t tree = strcspn(rest, ":=");
    const char *mode = rest + tree, *folder = strchr(mode, '=');
    size_t mode_length = folder ? (size_t)(folder - mode) : strlen(mode);
    int level = MANIFEST_READ;
    if (!manifest_is_tree(rest, tree))
        return fail(fault, text, "expected files:TREE:MODE=FOLDER");
    if (mode_length > 0)
        level = manifest_access_level(mode + 1, mode_length - 1);
    if (level != MANIFEST_READ && level != MANIFEST_READWRITE)
        return fail(fault, text, "a mode is read or readwrite");
    if (folder ? folder[1] != '/' : rest[0] != '/')
        return fail(fault, text,
                    "say where the tree is, by an absolute path: files:TREE:MODE=/PATH");
    struct grant *grant = append(grants, GRANT_FILES);
    if (!grant || !(grant->name = strndup(rest, tree)) ||
        (folder && !(grant->folder = strdup(folder + 1))))
        return fail(fault, text, "out of memory");
    grant->level = (unsigned)level;
    return true;
}

bool grants_add(struct grants *grants, const char *text, char fault[GRANTS_FAULT])
{
    size_t word = strcspn(text, ":");
    const char *rest = text[word] ? text + word + 1 : NULL;
    if (strcmp(text, "all") == 0 || strcmp(text, "network") == 0)
        return append(grants, text[0] == 'a' ? GRANT_ALL : GRANT_NETWORK) ||
               fail(fault, text, "out of memory");
    if (strcmp(text, "state") == 0)
        return add_level(grants, GRANT_STATE, text, "readwrite", fault);
    if (rest && word == 7 && memcmp(text, "network", 7) == 0)
        return add_networks(grants, text, rest, fault);
    if (rest && word == 5 && memcmp(text, "state", 5) == 0)
        return add_level(grants, GRANT_STATE, text, rest, fault);
    if (rest && word == 5 && memcmp(text, "files", 5) == 0)
        return add_tree(grants, text, rest, fault);
    if (rest && word == 3 && memcmp(text, "log", 3) == 0)
        return add_level(grants, GRANT_LOG, text, rest, fault);
    if (!manifest_is_scope(text, strlen(text)))
        return fail(
            fault, text,
            "expected all, network[:HOSTS], state[:LEVEL], files:TREE:MODE=FOLDER, log:LEVEL "
            "or a capability of the application");
    struct grant *grant = append(grants, GRANT_SCOPE);
    return (grant && (grant->name = strdup(text))) || fail(fault, text, "out of memory");
}

static bool file_fault(struct manifest_fault *fault, const char *text, const char *at,
                       const char *what)
{
    json_position(text, (size_t)(at - text), &fault->line, &fault->column);
    snprintf(fault->text, sizeof fault->text, "%s", what);
    return false;
}

static bool add_list(struct grants *grants, const char *text, struct json_value list,
                     struct manifest_fault *fault)
{
    struct json_value element;
    if (list.type != JSON_ARRAY)
        return file_fault(fault, text, list.text, "expected a list of grants");
    for (size_t at = 0; json_next(list, &at, NULL, &element);) {
        char grant[2048], why[GRANTS_FAULT];
        long length = element.type == JSON_STRING ? json_string(element, grant, sizeof grant) : -1;
        if (length < 0 || strlen(grant) != (size_t)length)
            return file_fault(fault, text, element.text, "expected a grant such as \"state:read\"");
        if (!grants_add(grants, grant, why))
            return file_fault(fault, text, element.text, why);
    }
    return true;
}

bool grants_add_file(struct grants *grants, const char *text, size_t length, const char *plugin,
                     struct manifest_fault *fault)
{
    struct json_fault json;
    struct json_value list, key, value;
    if (!json_check(text, length, &json)) {
        fault->line = json.line;
        fault->column = json.column;
        snprintf(fault->text, sizeof fault->text, "this is no JSON: %s", json.what);
        return false;
    }
    struct json_value root = json_root(text, length);
    if (root.type != JSON_OBJECT || !json_member(root, "grants", &list) || list.type != JSON_OBJECT)
        return file_fault(fault, text, root.text,
                          "expected {\"grants\": {\"PLUGIN\": [\"state:read\", ...]}}");
    for (size_t at = 0; json_next(list, &at, &key, &value);) {
        char name[72];
        long n = json_string(key, name, sizeof name);
        if (n < 0 || strlen(name) != (size_t)n)
            return file_fault(fault, text, key.text, "this is no plugin's name");
        if ((strcmp(name, plugin) == 0 || strcmp(name, "*") == 0) &&
            !add_list(grants, text, value, fault))
            return false;
    }
    return true;
}

void grants_finish(struct grants *grants)
{
    for (size_t i = 0; i < grants->count; i++) {
        free(grants->items[i].name);
        free(grants->items[i].folder);
    }
    free(grants->items);
    memset(grants, 0, sizeof *grants);
}
