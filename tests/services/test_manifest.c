/*
 * plugin.json: what is read, what is refused and where, and that the schema that is shipped says
 * the same as the parser.
 */
#include "check.h"

#include "host/manifest.h"
#include "wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char whole[] =
    "{\n"
    "  \"$schema\": \"x\", \"name\": \"link-preview\", \"version\": \"1.2.0\",\n"
    "  \"description\": \"titles\", \"entry\": \"src/plugin.js\",\n"
    "  \"permissions\": {\n"
    "    \"network\": {\"level\": \"fetch\", \"hosts\": [\"api.example.org\", \"http://*.a.b\"],\n"
    "                \"addresses\": [\"10.0.0.0/8\"], \"reason\": \"to look up titles\"},\n"
    "    \"state\": {\"level\": \"readwrite\", \"reason\": \"to keep them\"},\n"
    "    \"files\": [{\"path\": \"notes\", \"mode\": \"read\", \"reason\": \"to read\"},\n"
    "              {\"path\": \"/var/log\", \"mode\": \"readwrite\", \"reason\": \"to write\"}],\n"
    "    \"log\": {\"level\": \"warn\"},\n"
    "    \"ai.respond\": {\"reason\": \"to summar\\u0069ze\"}\n"
    "  },\n"
    "  \"limits\": {\"deadline_ms\": 50, \"memory_bytes\": 67108864, \"jit\": false, "
    "\"state_bytes\": 9}\n"
    "}\n";

static void everything_is_read(void **state)
{
    struct manifest m;
    struct manifest_fault fault;
    (void)state;
    if (!manifest_parse(whole, strlen(whole), &m, &fault))
        fail_msg("%u:%u: %s", fault.line, fault.column, fault.text);
    assert_string_equal(m.name, "link-preview");
    assert_string_equal(m.version, "1.2.0");
    assert_string_equal(m.description, "titles");
    assert_string_equal(m.entry, "src/plugin.js");
    assert_true(m.network.fetch);
    assert_int_equal(m.network.npatterns, 2);
    assert_string_equal(m.network.patterns[1].host, "a.b");
    assert_int_equal(m.network.nranges, 1);
    assert_string_equal(m.network.reason, "to look up titles");
    assert_int_equal(m.state, MANIFEST_READWRITE);
    assert_int_equal(m.ntrees, 2);
    assert_int_equal(m.trees[0].mode, MANIFEST_READ);
    assert_int_equal(m.trees[1].mode, MANIFEST_READWRITE);
    assert_int_equal(m.log, 2);
    assert_int_equal(m.nscopes, 1);
    assert_string_equal(m.scopes[0].name, "ai.respond");
    assert_string_equal(m.scopes[0].reason, "to summarize");
    assert_int_equal(m.limits.deadline_ms, 50);
    assert_int_equal(m.limits.memory_bytes, 67108864);
    assert_int_equal(m.limits.state_bytes, 9);
    assert_int_equal(m.limits.wall_cap_ms, 0);
    assert_true(m.limits.no_jit);
    manifest_finish(&m);
}

/* Put in place of P, L or the whole; line:column and a piece of what is said. */
#define HEAD "{\"name\": \"a\", \"version\": \"1\", \"entry\": \"a.js\""
static const struct {
    const char *text;
    unsigned line, column;
    const char *says;
} faults[] = {
    {"", 1, 1, "no JSON"},
    {"[]", 1, 1, "object"},
    {"{\n  \"name\": \"a\",\n}", 3, 1, "no JSON"},
    {"{}", 1, 1, "\"name\" is missing"},
    {"{\"name\": \"a\", \"version\": \"1\"}", 1, 1, "\"entry\" is missing"},
    {"{\"name\": \"A\"}", 1, 10, "a name is of"},
    {"{\"name\": \"\"}", 1, 10, "empty"},
    {"{\"name\": \".a\"}", 1, 10, "a name is of"},
    {"{\"name\": \"a/b\"}", 1, 10, "a name is of"},
    {"{\"name\": 7}", 1, 10, "string"},
    {"{\"name\": \"a\",\n\"nmae\": 1}", 2, 1, "known here are $schema, name"},
    {"{\"name\": \"a\", \"name\": \"a\"}", 1, 15, "twice"},
    {"{\"name\": \"a\", \"n\\u0061me\": \"a\"}", 1, 15, "twice"},
    {"{\"version\": \"\\u0007\"}", 1, 13, "control"},
    {"{\"version\": \"\\u0000\"}", 1, 13, "control"},
    {"{\"entry\": \"/etc/x\"}", 1, 11, "below"},
    {"{\"entry\": \"../x\"}", 1, 11, "below"},
    {"{\"entry\": \"a//x\"}", 1, 11, "below"},
    {HEAD ", \"permissions\": []}", 1, 63, "object"},
    {HEAD ", \"permissions\": {\"netwrok\": {\"reason\": 1}}}", 1, 86, "string"},
    {HEAD ", \"permissions\": {\"a b\": {}}}", 1, 64, "is no permission"},
    {HEAD ", \"permissions\": {\"fetch\": {}}}", 1, 64, "is no permission"},
    {HEAD ", \"permissions\": {\"ai\": {}}}", 1, 70, "\"reason\" is missing"},
    {HEAD ", \"permissions\": {\"ai\": {\"reason\": \"\"}}}", 1, 81, "empty"},
    {HEAD ", \"permissions\": {\"network\": {\"level\": \"all\"}}}", 1, 85, "\"fetch\""},
    {HEAD ", \"permissions\": {\"network\": {\"level\": \"fetch\", \"reason\": \"x\"}}}", 1, 75,
     "hosts"},
    {HEAD ", \"permissions\": {\"network\": {\"hosts\": [\"a/b\"]}}}", 1, 86, "no path"},
    {HEAD ", \"permissions\": {\"network\": {\"addresses\": [\"10.0.0.1/8\"]}}}", 1, 90, "range"},
    {HEAD ", \"permissions\": {\"state\": {\"level\": \"rw\"}}}", 1, 83, "readwrite"},
    {HEAD ", \"permissions\": {\"state\": {\"level\": \"read\"}}}", 1, 73, "\"reason\" is missing"},
    {HEAD ", \"permissions\": {\"files\": [{\"path\": \"../a\"}]}}", 1, 83, "absolute"},
    {HEAD ", \"permissions\": {\"files\": [{\"path\": \"a:b\"}]}}", 1, 83, "colon"},
    {HEAD ", \"permissions\": {\"files\": [{\"mode\": \"write\"}]}}", 1, 83, "\"read\""},
    {HEAD ", \"permissions\": {\"log\": {\"level\": \"all\"}}}", 1, 81, "\"debug\""},
    {HEAD ", \"limits\": {\"deadline_ms\": 0}}", 1, 74, "1 to 3600000"},
    {HEAD ", \"limits\": {\"deadline_ms\": 1.5}}", 1, 74, "whole number"},
    {HEAD ", \"limits\": {\"deadline_ms\": \"1\"}}", 1, 74, "whole number"},
    {HEAD ", \"limits\": {\"memory_bytes\": 1}}", 1, 75, "16777216"},
    {HEAD ", \"limits\": {\"jit\": 0}}", 1, 66, "true or false"},
    {HEAD ", \"limits\": {\"deadline\": 1}}", 1, 59, "known here are jit"},
};

static void faults_say_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        struct manifest m;
        struct manifest_fault fault = {0};
        if (manifest_parse(faults[i].text, strlen(faults[i].text), &m, &fault))
            fail_msg("%s is taken", faults[i].text);
        if (!strstr(fault.text, faults[i].says) || fault.line != faults[i].line ||
            (faults[i].column > 0 && fault.column != faults[i].column))
            fail_msg("%s: %u:%u: %s", faults[i].text, fault.line, fault.column, fault.text);
    }
}

/* Every prefix, and every byte changed: a fault or a manifest, never a crash (with sanitizers). */
static void damage_is_survived(void **state)
{
    char text[sizeof whole];
    (void)state;
    for (size_t i = 0; i < sizeof whole - 2; i++) {
        struct manifest m;
        struct manifest_fault fault;
        if (manifest_parse(whole, i, &m, &fault))
            fail_msg("a prefix of %zu bytes is taken", i);
        for (unsigned bit = 0; bit < 8; bit++) {
            memcpy(text, whole, sizeof whole);
            text[i] = (char)(text[i] ^ 1 << bit);
            if (manifest_parse(text, sizeof whole - 1, &m, &fault))
                manifest_finish(&m);
        }
    }
}

/* A list of any length would let a stranger's file keep the host busy for minutes. */
static void long_lists_are_refused(void **state)
{
    static const char *const lists[][4] = {
        {"\"network\": {\"hosts\": [", "\"a", ".org\"", "]}"},
        {"\"network\": {\"addresses\": [", "\"fd00::", "\"", "]}"},
        {"\"files\": [", "{\"path\": \"a", "\", \"mode\": \"read\", \"reason\": \"x\"}", "]"},
        {"\"a\": {\"reason\": \"x\"}", ", \"a", "\": {\"reason\": \"x\"}", ""}};
    (void)state;
    char *text = malloc(MANIFEST_MAX_BYTES);
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct manifest m;
        struct manifest_fault fault;
        size_t at = (size_t)snprintf(text, 200, HEAD ", \"permissions\": {%s", lists[i][0]);
        for (unsigned n = 0; n < 257; n++)
            at += (size_t)snprintf(text + at, 100, "%s%s%u%s", n && i < 3 ? "," : "", lists[i][1],
                                   n, lists[i][2]);
        at += (size_t)snprintf(text + at, 20, "%s}}", lists[i][3]);
        assert_false(manifest_parse(text, at, &m, &fault));
        assert_non_null(strstr(fault.text, "more than 256"));
    }
    free(text);
}

static char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    *length = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

static struct json_value member(struct json_value object, const char *key)
{
    struct json_value value;
    if (!json_member(object, key, &value))
        fail_msg("the schema has no \"%s\"", key);
    return value;
}

/* The members of a section in the schema are those of the parser, both ways. */
static void compare_section(struct json_value schema, enum manifest_section section)
{
    struct json_value properties = member(schema, "properties"), key, value, found;
    size_t in_schema = 0, in_parser = 0;
    for (size_t at = 0; json_next(properties, &at, &key, &value);)
        in_schema++;
    for (const char *name; (name = manifest_member(section, in_parser)); in_parser++)
        if (!json_member(properties, name, &found))
            fail_msg("section %d: the parser knows \"%s\", the schema does not", section, name);
    if (in_schema != in_parser)
        fail_msg("section %d: %zu members in the schema, %zu in the parser", section, in_schema,
                 in_parser);
    value = member(schema, "additionalProperties");
    assert_int_equal(value.type, section == MANIFEST_PERMISSIONS ? JSON_OBJECT : JSON_FALSE);
}

static void the_schema_says_the_same(void **state)
{
    static const char *const sections[MANIFEST_SECTIONS] = {
        NULL, "permissions", "network", "state", "file", "log", "scope", "limits"};
    size_t length;
    char *text = read_whole(SCHEMA_PATH, &length);
    (void)state;
    assert_true(json_check(text, length, NULL));
    struct json_value root = json_root(text, length), defs = member(root, "$defs");
    for (int i = 0; i < MANIFEST_SECTIONS; i++)
        compare_section(sections[i] ? member(defs, sections[i]) : root, (enum manifest_section)i);
    struct json_value limits = member(member(defs, "limits"), "properties"), key, value;
    for (size_t at = 0; json_next(limits, &at, &key, &value);) {
        char name[64];
        int64_t smallest, largest, got;
        json_string(key, name, sizeof name);
        if (!manifest_limit_bounds(name, &smallest, &largest))
            continue;
        assert_true(json_integer(member(value, "minimum"), INT64_MIN, INT64_MAX, &got));
        assert_int_equal(got, smallest);
        assert_true(json_integer(member(value, "maximum"), INT64_MIN, INT64_MAX, &got));
        assert_int_equal(got, largest);
    }
    free(text);
}

/* What the schema requires, and each value of its enumerations, the parser requires and takes. */
static void the_schema_requires_the_same(void **state)
{
    static const struct {
        const char *section, *text;
    } enums[] = {
        {"network", "{\"network\": {\"hosts\": [\"a.org\"], \"reason\": \"x\", \"level\": %s}}"},
        {"state", "{\"state\": {\"reason\": \"x\", \"level\": %s}}"},
        {"log", "{\"log\": {\"level\": %s}}"},
        {"file", "{\"files\": [{\"path\": \"a\", \"reason\": \"x\", \"mode\": %s}]}"}};
    size_t length;
    char *text = read_whole(SCHEMA_PATH, &length);
    struct json_value defs = member(json_root(text, length), "$defs"), value;
    (void)state;
    for (size_t i = 0; i < COUNT(enums); i++) {
        struct json_value properties = member(member(defs, enums[i].section), "properties");
        struct json_value list = member(member(properties, i == 3 ? "mode" : "level"), "enum");
        for (size_t at = 0; json_next(list, &at, NULL, &value);) {
            char permissions[256], level[32], document[512];
            struct manifest m;
            struct manifest_fault fault;
            snprintf(level, sizeof level, "%.*s", (int)value.length, value.text);
            snprintf(permissions, sizeof permissions, enums[i].text, level);
            snprintf(document, sizeof document, HEAD ", \"permissions\": %s}", permissions);
            if (!manifest_parse(document, strlen(document), &m, &fault))
                fail_msg("%s: %s", document, fault.text);
            manifest_finish(&m);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),       cmocka_unit_test(faults_say_where_and_what),
        cmocka_unit_test(damage_is_survived),       cmocka_unit_test(long_lists_are_refused),
        cmocka_unit_test(the_schema_says_the_same), cmocka_unit_test(the_schema_requires_the_same),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
