/*
 * The parser of plugin.json: one function a member, found through the table in manifest.def.
 * Unknown and repeated members are faults: a permission that is misspelt must not be silently
 * absent.
 */
#include "host/manifest.h"
#include "host/array.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* A manifest comes from strangers and is compared piece by piece: its lists are short. */
#define MAX_ELEMENTS 256

struct reading {
    const char *text;
    struct manifest *manifest;
    struct manifest_fault *fault;
    struct manifest_tree *tree;   /* the one being read */
    struct manifest_scope *scope; /* likewise */
};

typedef bool (*member_fn)(struct reading *reading, struct json_value value);

static bool fail(struct reading *reading, const char *at, const char *what, const char *detail)
{
    struct manifest_fault *fault = reading->fault;
    json_position(reading->text, (size_t)(at - reading->text), &fault->line, &fault->column);
    snprintf(fault->text, sizeof fault->text, what, detail);
    return false;
}

static bool fail_memory(struct reading *reading)
{
    *reading->fault = (struct manifest_fault){.text = "out of memory"};
    return false;
}

/* A text of `min` to `max` bytes without control characters. */
static bool take_text(struct reading *reading, struct json_value value, size_t min, size_t max,
                      char **out)
{
    if (value.type != JSON_STRING)
        return fail(reading, value.text, "expected a string%s", "");
    char *text = malloc(max + 1);
    if (!text)
        return fail_memory(reading);
    long length = json_string(value, text, max + 1);
    if (length < (long)min) {
        free(text);
        return fail(reading, value.text,
                    length < 0 ? "this text is too long%s" : "this text is empty%s", "");
    }
    for (long i = 0; i < length; i++) {
        if ((uint8_t)text[i] >= 0x20 && text[i] != 0x7f)
            continue;
        free(text);
        return fail(reading, value.text, "this text has a control character in it%s", "");
    }
    *out = text;
    return true;
}

/* ---- names shared with grants --------------------------------------------------------------- */

static const char *const access_names[] = {"none", "read", "write", "readwrite"};
static const char *const log_names[] = {"debug", "info", "warn", "error", "none"};

static int find_name(const char *const names[], size_t count, const char *text, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0)
            return (int)i;
    return -1;
}

int manifest_access_level(const char *text, size_t length)
{
    return find_name(access_names, COUNT(access_names), text, length);
}

int manifest_log_level(const char *text, size_t length)
{
    return find_name(log_names, COUNT(log_names), text, length);
}

const char *manifest_access_name(unsigned level)
{
    return level < COUNT(access_names) ? access_names[level] : "none";
}

const char *manifest_log_name(unsigned level)
{
    return level < COUNT(log_names) ? log_names[level] : "none";
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

bool manifest_is_scope(const char *text, size_t length)
{
    static const char *const taken[] = {"all",   "network", "state", "files",  "log",
                                        "fetch", "open",    "list",  "locale", "now"};
    bool start = true;
    if (length == 0 || length > 128)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' ? start
                           : !is_letter(text[i]) && (start || text[i] < '0' || text[i] > '9'))
            return false;
        start = text[i] == '.';
    }
    const char *dot = memchr(text, '.', length);
    return !start && find_name(taken, COUNT(taken), text, dot ? (size_t)(dot - text) : length) < 0;
}

bool manifest_is_tree(const char *text, size_t length)
{
    size_t label = 0;
    if (length == 0 || length > 1024)
        return false;
    for (size_t i = text[0] == '/'; i <= length; i++) {
        if (i < length && text[i] != '/') {
            if ((uint8_t)text[i] < 0x20 || text[i] == ':' || text[i] == '=')
                return false;
            label++;
            continue;
        }
        const char *name = text + i - label;
        if (label == 0 || (label == 1 && name[0] == '.') ||
            (label == 2 && name[0] == '.' && name[1] == '.'))
            return false;
        label = 0;
    }
    return true;
}

/* ---- members -------------------------------------------------------------------------------- */

static bool read_object(struct reading *reading, struct json_value object,
                        enum manifest_section section);

static bool skip_text(struct reading *reading, struct json_value value)
{
    return value.type == JSON_STRING || fail(reading, value.text, "expected a string%s", "");
}

static bool read_name(struct reading *reading, struct json_value value)
{
    char **name = &reading->manifest->name;
    if (!take_text(reading, value, 1, 64, name))
        return false;
    size_t good = strspn(*name, "abcdefghijklmnopqrstuvwxyz0123456789.-_");
    if ((*name)[good] || (*name)[0] == '.' || (*name)[0] == '-')
        return fail(
            reading, value.text,
            "a name is of a-z, 0-9, dots, hyphens and underscores, and starts with a letter%s", "");
    return true;
}

static bool read_version(struct reading *reading, struct json_value value)
{
    return take_text(reading, value, 1, 64, &reading->manifest->version);
}

static bool read_description(struct reading *reading, struct json_value value)
{
    return take_text(reading, value, 0, 1000, &reading->manifest->description);
}

static bool read_entry(struct reading *reading, struct json_value value)
{
    char **entry = &reading->manifest->entry;
    if (!take_text(reading, value, 1, 1024, entry))
        return false;
    if ((*entry)[0] == '/' || !manifest_is_tree(*entry, strlen(*entry)))
        return fail(reading, value.text, "the entry is a path below the folder of plugin.json%s",
                    "");
    return true;
}

static bool read_permissions(struct reading *reading, struct json_value value)
{
    return read_object(reading, value, MANIFEST_PERMISSIONS);
}

static bool read_limits(struct reading *reading, struct json_value value)
{
    return read_object(reading, value, MANIFEST_LIMITS);
}

static bool read_network(struct reading *reading, struct json_value value)
{
    const struct manifest_network *network = &reading->manifest->network;
    if (!read_object(reading, value, MANIFEST_NETWORK))
        return false;
    if (network->fetch && network->npatterns == 0)
        return fail(reading, value.text,
                    "network needs \"hosts\": a list of those to be fetched from%s", "");
    return true;
}

static bool read_network_level(struct reading *reading, struct json_value value)
{
    char level[8];
    if (value.type == JSON_STRING && json_string(value, level, sizeof level) >= 0) {
        reading->manifest->network.fetch = strcmp(level, "fetch") == 0;
        if (reading->manifest->network.fetch || strcmp(level, "none") == 0)
            return true;
    }
    return fail(reading, value.text, "expected \"none\" or \"fetch\"%s", "");
}

static bool read_hosts(struct reading *reading, struct json_value value)
{
    struct manifest_network *network = &reading->manifest->network;
    struct json_value element;
    if (value.type != JSON_ARRAY)
        return fail(reading, value.text, "expected a list of hosts%s", "");
    for (size_t at = 0; json_next(value, &at, NULL, &element);) {
        char *text = NULL;
        if (network->npatterns == MAX_ELEMENTS)
            return fail(reading, element.text, "more than 256 hosts%s", "");
        if (!take_text(reading, element, 1, 512, &text))
            return false;
        struct policy_pattern *pattern =
            array_append(&network->patterns, &network->npatterns, sizeof *pattern);
        const char *why = pattern ? policy_pattern_parse(text, strlen(text), pattern) : NULL;
        free(text);
        if (!pattern)
            return fail_memory(reading);
        if (why)
            return fail(reading, element.text, "%s", why);
    }
    return true;
}

static bool read_addresses(struct reading *reading, struct json_value value)
{
    struct manifest_network *network = &reading->manifest->network;
    struct json_value element;
    if (value.type != JSON_ARRAY)
        return fail(reading, value.text, "expected a list of address ranges%s", "");
    for (size_t at = 0; json_next(value, &at, NULL, &element);) {
        char text[WIRE_RANGE_TEXT];
        long length = element.type == JSON_STRING ? json_string(element, text, sizeof text) : -1;
        if (network->nranges == MAX_ELEMENTS)
            return fail(reading, element.text, "more than 256 ranges%s", "");
        struct wire_range *range = array_append(&network->ranges, &network->nranges, sizeof *range);
        if (!range)
            return fail_memory(reading);
        if (length < 0 || !wire_range_parse(text, (size_t)length, range))
            return fail(reading, element.text,
                        "expected an address or range, e.g. \"10.0.0.0/8\"%s", "");
    }
    return true;
}

static bool read_reason(struct reading *reading, struct json_value value, char **reason)
{
    return take_text(reading, value, 1, 500, reason);
}

static bool read_network_reason(struct reading *reading, struct json_value value)
{
    return read_reason(reading, value, &reading->manifest->network.reason);
}

static bool read_state(struct reading *reading, struct json_value value)
{
    return read_object(reading, value, MANIFEST_STATE);
}

static bool read_level(struct reading *reading, struct json_value value, bool log, int first,
                       unsigned *out)
{
    char text[16];
    long length = value.type == JSON_STRING ? json_string(value, text, sizeof text) : -1;
    int level = length < 0 ? -1
                : log      ? manifest_log_level(text, (size_t)length)
                           : manifest_access_level(text, (size_t)length);
    if (level < first || (first && level == MANIFEST_WRITE))
        return fail(reading, value.text,
                    log     ? "expected \"debug\", \"info\", \"warn\", \"error\" or \"none\"%s"
                    : first ? "expected \"read\" or \"readwrite\"%s"
                            : "expected \"none\", \"read\", \"write\" or \"readwrite\"%s",
                    "");
    *out = (unsigned)level;
    return true;
}

static bool read_state_level(struct reading *reading, struct json_value value)
{
    return read_level(reading, value, false, 0, &reading->manifest->state);
}

static bool read_state_reason(struct reading *reading, struct json_value value)
{
    return read_reason(reading, value, &reading->manifest->state_reason);
}

static bool read_log(struct reading *reading, struct json_value value)
{
    return read_object(reading, value, MANIFEST_LOG);
}

static bool read_log_level(struct reading *reading, struct json_value value)
{
    return read_level(reading, value, true, 0, &reading->manifest->log);
}

static bool read_log_reason(struct reading *reading, struct json_value value)
{
    return read_reason(reading, value, &reading->manifest->log_reason);
}

static bool read_files(struct reading *reading, struct json_value value)
{
    struct manifest *manifest = reading->manifest;
    struct json_value element;
    if (value.type != JSON_ARRAY)
        return fail(reading, value.text, "expected a list of {path, mode, reason}%s", "");
    for (size_t at = 0; json_next(value, &at, NULL, &element);) {
        if (manifest->ntrees == MAX_ELEMENTS)
            return fail(reading, element.text, "more than 256 trees%s", "");
        reading->tree = array_append(&manifest->trees, &manifest->ntrees, sizeof *reading->tree);
        if (!reading->tree)
            return fail_memory(reading);
        if (!read_object(reading, element, MANIFEST_FILE))
            return false;
        for (size_t i = 0; i + 1 < manifest->ntrees; i++)
            if (strcmp(manifest->trees[i].path, reading->tree->path) == 0)
                return fail(reading, element.text, "\"%s\" is asked for twice",
                            reading->tree->path);
    }
    return true;
}

static bool read_file_path(struct reading *reading, struct json_value value)
{
    char **path = &reading->tree->path;
    if (!take_text(reading, value, 1, 1024, path))
        return false;
    if (!manifest_is_tree(*path, strlen(*path)))
        return fail(reading, value.text,
                    "expected a name that a grant gives a folder (\"notes\") or an absolute path, "
                    "without . and .. in it and without a colon%s",
                    "");
    return true;
}

static bool read_file_mode(struct reading *reading, struct json_value value)
{
    return read_level(reading, value, false, 1, &reading->tree->mode);
}

static bool read_file_reason(struct reading *reading, struct json_value value)
{
    return read_reason(reading, value, &reading->tree->reason);
}

static bool read_scope_reason(struct reading *reading, struct json_value value)
{
    return read_reason(reading, value, &reading->scope->reason);
}

static bool read_jit(struct reading *reading, struct json_value value)
{
    if (value.type != JSON_TRUE && value.type != JSON_FALSE)
        return fail(reading, value.text, "expected true or false%s", "");
    reading->manifest->limits.no_jit = value.type == JSON_FALSE;
    return true;
}

/* ---- the table ------------------------------------------------------------------------------ */

static const struct {
    enum manifest_section section;
    const char *name;
    member_fn read;
} members[] = {
#define MEMBER(section, name, reader) {MANIFEST_##section, name, reader},
#include "host/manifest.def"
};

static const struct {
    const char *name;
    size_t offset, size;
    int64_t smallest, largest;
} limits[] = {
#define LIMIT(name, type, smallest, largest)                                                       \
    {#name, offsetof(struct manifest_limits, name), sizeof(type), smallest, largest},
#include "host/manifest.def"
};

/* What must be there, and what is said when it is not. */
static const struct {
    enum manifest_section section;
    const char *name;
} required[] = {
    {MANIFEST_TOP, "name"},      {MANIFEST_TOP, "version"}, {MANIFEST_TOP, "entry"},
    {MANIFEST_NETWORK, "level"}, {MANIFEST_STATE, "level"}, {MANIFEST_LOG, "level"},
    {MANIFEST_FILE, "path"},     {MANIFEST_FILE, "mode"},   {MANIFEST_NETWORK, "reason"},
    {MANIFEST_STATE, "reason"},  {MANIFEST_FILE, "reason"}, {MANIFEST_SCOPE, "reason"},
};

const char *manifest_member(enum manifest_section section, size_t i)
{
    for (size_t at = 0; at < COUNT(members); at++)
        if (members[at].section == section && i-- == 0)
            return members[at].name;
    return section == MANIFEST_LIMITS && i < COUNT(limits) ? limits[i].name : NULL;
}

bool manifest_limit_bounds(const char *name, int64_t *smallest, int64_t *largest)
{
    for (size_t i = 0; i < COUNT(limits); i++) {
        if (strcmp(limits[i].name, name) != 0)
            continue;
        *smallest = limits[i].smallest;
        *largest = limits[i].largest;
        return true;
    }
    return false;
}

static bool read_limit(struct reading *reading, size_t i, struct json_value value)
{
    int64_t number;
    char bounds[96];
    if (value.type != JSON_NUMBER ||
        !json_integer(value, limits[i].smallest, limits[i].largest, &number)) {
        snprintf(bounds, sizeof bounds, "%lld to %lld", (long long)limits[i].smallest,
                 (long long)limits[i].largest);
        return fail(reading, value.text, "expected a whole number from %s", bounds);
    }
    char *at = (char *)&reading->manifest->limits + limits[i].offset;
    if (limits[i].size == sizeof(uint64_t))
        *(uint64_t *)(void *)at = (uint64_t)number;
    else
        *(uint32_t *)(void *)at = (uint32_t)number;
    return true;
}

/* A member of `permissions` that is not built in: a capability of the application's own. */
static bool read_scope(struct reading *reading, const char *name, struct json_value key,
                       struct json_value value)
{
    struct manifest *manifest = reading->manifest;
    if (!manifest_is_scope(name, strlen(name)))
        return fail(reading, key.text,
                    "\"%s\" is no permission: network, state, files, log, or a capability of the "
                    "application such as \"ai.respond\"",
                    name);
    if (manifest->nscopes == MAX_ELEMENTS)
        return fail(reading, key.text, "more than 256 capabilities%s", "");
    struct manifest_scope *scope =
        array_append(&manifest->scopes, &manifest->nscopes, sizeof *scope);
    if (!scope || !(scope->name = strdup(name)))
        return fail_memory(reading);
    reading->scope = scope;
    return read_object(reading, value, MANIFEST_SCOPE);
}

static bool read_member(struct reading *reading, enum manifest_section section, const char *name,
                        struct json_value key, struct json_value value)
{
    for (size_t i = 0; i < COUNT(members); i++)
        if (members[i].section == section && strcmp(members[i].name, name) == 0)
            return members[i].read(reading, value);
    if (section == MANIFEST_LIMITS)
        for (size_t i = 0; i < COUNT(limits); i++)
            if (strcmp(limits[i].name, name) == 0)
                return read_limit(reading, i, value);
    if (section == MANIFEST_PERMISSIONS)
        return read_scope(reading, name, key, value);
    char known[200] = "";
    const char *next;
    for (size_t i = 0, at = 0; (next = manifest_member(section, i)) && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "", next);
    return fail(reading, key.text, "unknown member; known here are %s", known);
}

/* The member `name` before `stop`, by its unescaped key. */
static bool comes_before(struct json_value object, const char *name, const char *stop)
{
    struct json_value key, value;
    char text[136];
    for (size_t at = 0; json_next(object, &at, &key, &value) && key.text < stop;)
        if (json_string(key, text, sizeof text) >= 0 && strcmp(text, name) == 0)
            return true;
    return false;
}

static bool read_object(struct reading *reading, struct json_value object,
                        enum manifest_section section)
{
    struct json_value key, value;
    char name[136];
    if (object.type != JSON_OBJECT)
        return fail(reading, object.text, "expected an object {...}%s", "");
    for (size_t at = 0; json_next(object, &at, &key, &value);) {
        long length = json_string(key, name, sizeof name);
        if (length < 0 || (size_t)length != strlen(name))
            return fail(reading, key.text, "unknown member%s", "");
        if (comes_before(object, name, key.text))
            return fail(reading, key.text, "this member is there twice%s", "");
        if (!read_member(reading, section, name, key, value))
            return false;
    }
    for (size_t i = 0; i < COUNT(required); i++)
        if (required[i].section == section && !json_member(object, required[i].name, &value))
            return fail(reading, object.text, "\"%s\" is missing", required[i].name);
    return true;
}

bool manifest_parse(const char *text, size_t length, struct manifest *manifest,
                    struct manifest_fault *fault)
{
    struct json_fault json;
    struct reading reading = {.text = text, .manifest = manifest, .fault = fault};
    memset(manifest, 0, sizeof *manifest);
    if (length > MANIFEST_MAX_BYTES) {
        *fault = (struct manifest_fault){.text = "a plugin.json larger than 1 MiB is refused"};
        return false;
    }
    if (!json_check(text, length, &json)) {
        fault->line = json.line;
        fault->column = json.column;
        snprintf(fault->text, sizeof fault->text, "this is no JSON: %s", json.what);
        return false;
    }
    if (read_object(&reading, json_root(text, length), MANIFEST_TOP))
        return true;
    manifest_finish(manifest);
    return false;
}

void manifest_finish(struct manifest *manifest)
{
    for (size_t i = 0; i < manifest->ntrees; i++) {
        free(manifest->trees[i].path);
        free(manifest->trees[i].reason);
    }
    for (size_t i = 0; i < manifest->nscopes; i++) {
        free(manifest->scopes[i].name);
        free(manifest->scopes[i].reason);
    }
    free(manifest->trees);
    free(manifest->scopes);
    free(manifest->network.patterns);
    free(manifest->network.ranges);
    free(manifest->network.reason);
    free(manifest->state_reason);
    free(manifest->log_reason);
    free(manifest->name);
    free(manifest->version);
    free(manifest->description);
    free(manifest->entry);
    memset(manifest, 0, sizeof *manifest);
}
