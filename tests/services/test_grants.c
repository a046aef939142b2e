/* Grants: how they are written, and that what holds is what is both asked for and granted. */
#include "check.h"

#include "host/grants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char manifest_text[] =
    "{\"name\": \"p\", \"version\": \"1\", \"entry\": \"p.js\", \"permissions\": {"
    "\"network\": {\"level\": \"fetch\", \"hosts\": [\"*.example.org\", \"http://localhost:8080\"],"
    " \"addresses\": [\"10.0.0.0/8\"], \"reason\": \"titles\"},"
    "\"state\": {\"level\": \"readwrite\", \"reason\": \"cache\"},"
    "\"files\": [{\"path\": \"notes\", \"mode\": \"readwrite\", \"reason\": \"notes\"},"
    " {\"path\": \"/var/log\", \"mode\": \"read\", \"reason\": \"logs\"}],"
    "\"ai.respond\": {\"reason\": \"summaries\"}}}";

/* Grants, separated by spaces, and the names that the script then has. */
static const struct {
    const char *grants, *names;
} cases[] = {
    {"", ""},
    {"all", "fetch state.get state.keys state.set state.delete state.swap open list ai.respond"},
    {"network", "fetch"},
    {"network:https://*.example.org", "fetch"},
    {"network:a.example.org", "fetch"},
    {"network:example.org", ""},
    {"network:evil.net", ""},
    {"network:http://a.example.org", ""},
    {"network:*", "fetch"},
    {"network:10.0.0.0/8", ""},
    {"state", "state.get state.keys state.set state.delete state.swap"},
    {"state:read", "state.get state.keys"},
    {"state:write", "state.set state.delete"},
    {"state:read state:write", "state.get state.keys state.set state.delete state.swap"},
    {"state:none", ""},
    {"files:notes:read=/home/me/notes", "open list"},
    {"files:other:read=/home/me", ""},
    {"files:/var/log:read", "open list"},
    {"ai.respond", "ai.respond"},
    {"ai.respond ai.respond", "ai.respond"},
    {"ai.other", ""},
    {"log:error", ""},
};

static void add_all(struct grants *grants, const char *texts)
{
    char copy[256], fault[GRANTS_FAULT], *save = NULL;
    snprintf(copy, sizeof copy, "%s", texts);
    for (char *text = strtok_r(copy, " ", &save); text; text = strtok_r(NULL, " ", &save))
        if (!grants_add(grants, text, fault))
            fail_msg("%s", fault);
}

static void read_manifest(struct manifest *manifest)
{
    struct manifest_fault fault;
    if (!manifest_parse(manifest_text, strlen(manifest_text), manifest, &fault))
        fail_msg("%u:%u: %s", fault.line, fault.column, fault.text);
}

static void names_are_what_is_asked_and_granted(void **state)
{
    struct manifest manifest;
    (void)state;
    read_manifest(&manifest);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct grants grants = {0};
        struct permit permit;
        char fault[GRANTS_FAULT];
        add_all(&grants, cases[i].grants);
        assert_true(permit_make(&manifest, &grants, &permit, fault));
        char *names = permit_capabilities(&permit);
        for (char *at = names; (at = strchr(at, '\n'));)
            *at = ' ';
        if (strcmp(names, cases[i].names) != 0)
            fail_msg("%s gives %s", cases[i].grants, names);
        free(names);
        permit_finish(&permit);
        grants_finish(&grants);
    }
    manifest_finish(&manifest);
}

static void details_are_the_stricter_of_both(void **state)
{
    struct manifest manifest;
    struct grants grants = {0};
    struct permit permit;
    char fault[GRANTS_FAULT], text[POLICY_PATTERN_TEXT];
    (void)state;
    read_manifest(&manifest);
    add_all(&grants, "network:*://*.example.org:*,10.1.0.0/16,0.0.0.0/0 files:notes:read=/n "
                     "files:/var/log:readwrite log:warn");
    assert_true(permit_make(&manifest, &grants, &permit, fault));
    assert_int_equal(permit.npatterns, 1);
    policy_pattern_print(&permit.patterns[0], text);
    assert_string_equal(text, "https://*.example.org");
    assert_int_equal(permit.nranges, 2);
    wire_range_print(&permit.ranges[0], text);
    assert_string_equal(text, "10.1.0.0/16");
    wire_range_print(&permit.ranges[1], text);
    assert_string_equal(text, "10.0.0.0/8");
    assert_int_equal(permit.ntrees, 2);
    assert_string_equal(permit.trees[0].folder, "/n");
    assert_false(permit.trees[0].write);
    assert_string_equal(permit.trees[1].folder, "/var/log");
    assert_false(permit.trees[1].write);
    assert_int_equal(permit.log, 2);
    permit_finish(&permit);
    grants_finish(&grants);
    manifest_finish(&manifest);
}

static void without_a_manifest_the_grants_hold(void **state)
{
    struct grants grants = {0};
    struct permit permit;
    char fault[GRANTS_FAULT];
    (void)state;
    add_all(&grants, "ai.respond network:example.org state:read");
    assert_true(permit_make(NULL, &grants, &permit, fault));
    assert_int_equal(permit.npatterns, 1);
    assert_int_equal(permit.nscopes, 1);
    assert_int_equal(permit.state, MANIFEST_READ);
    permit_finish(&permit);
    add_all(&grants, "all");
    assert_false(permit_make(NULL, &grants, &permit, fault));
    assert_non_null(strstr(fault, "plugin.json"));
    grants_finish(&grants);
}

static void bad_grants_are_refused(void **state)
{
    static const char *const wrong[] = {"",
                                        "netwrok",
                                        "network:",
                                        "network:a/b",
                                        "network:10.0.0.1/8",
                                        "network:a,,b",
                                        "state:",
                                        "state:rw",
                                        "files",
                                        "files:",
                                        "files:notes",
                                        "files:notes:read",
                                        "files:notes:read=rel",
                                        "files:notes:write=/n",
                                        "files:../x:read=/n",
                                        "log",
                                        "log:all",
                                        "fetch",
                                        "state.get",
                                        "a b",
                                        "ai.",
                                        ".ai",
                                        "1a",
                                        "files:/a/../b:read",
                                        "all:x"};
    (void)state;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct grants grants = {0};
        char fault[GRANTS_FAULT] = "";
        bool taken = grants_add(&grants, wrong[i], fault);
        /* A dotted name without a colon is a capability of some application: it cannot be misspelt.
         */
        if (strcmp(wrong[i], "netwrok") == 0)
            assert_true(taken);
        else if (taken || !strstr(fault, wrong[i]))
            fail_msg("\"%s\": %s", wrong[i], taken ? "taken" : fault);
        grants_finish(&grants);
    }
}

static void a_file_grants_by_name(void **state)
{
    static const char file[] = "{\"grants\": {\"p\": [\"state:read\", \"ai.respond\"],\n"
                               " \"q\": [\"all\"], \"*\": [\"log:error\"]}}";
    static const struct {
        const char *text;
        unsigned line, column;
    } wrong[] = {{"{", 1, 2},
                 {"[]", 1, 1},
                 {"{\"grants\": []}", 1, 1},
                 {"{\"grants\": {\"p\": \"all\"}}", 1, 18},
                 {"{\"grants\": {\"p\":\n [7]}}", 2, 3},
                 {"{\"grants\": {\"p\": [\"state:rw\"]}}", 1, 19}};
    struct grants grants = {0};
    struct manifest_fault fault;
    (void)state;
    assert_true(grants_add_file(&grants, file, strlen(file), "p", &fault));
    assert_int_equal(grants.count, 3);
    grants_finish(&grants);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_false(grants_add_file(&grants, wrong[i].text, strlen(wrong[i].text), "p", &fault));
        if (fault.line != wrong[i].line || fault.column != wrong[i].column)
            fail_msg("%s: %u:%u: %s", wrong[i].text, fault.line, fault.column, fault.text);
        grants_finish(&grants);
    }
}

static void collect(const struct permit_line *line, void *data)
{
    static const char *const words[] = {"", "yes", "partly", "no", "unasked"};
    char *out = data;
    size_t at = strlen(out);
    snprintf(out + at, 2048 - at, "%s %s %s [%s]\n", words[line->verdict], line->scope, line->asked,
             line->holds);
}

static void explains_each_line(void **state)
{
    struct manifest manifest;
    struct grants grants = {0};
    char out[2048] = "";
    (void)state;
    read_manifest(&manifest);
    add_all(&grants, "network:a.example.org,http://localhost:8080,evil.net state:read "
                     "files:notes:readwrite=/n ai.respond ai.other");
    permit_explain(&manifest, &grants, collect, out);
    assert_string_equal(out, "partly network https://*.example.org [https://a.example.org]\n"
                             "yes network http://localhost:8080 [http://localhost:8080]\n"
                             "no network 10.0.0.0/8 []\n"
                             "partly state readwrite [read]\n"
                             "yes files notes (readwrite) [/n (readwrite)]\n"
                             "no files /var/log (read) []\n"
                             "yes application ai.respond []\n"
                             "unasked network https://evil.net []\n"
                             "unasked application ai.other []\n");
    grants_finish(&grants);
    manifest_finish(&manifest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_what_is_asked_and_granted),
        cmocka_unit_test(details_are_the_stricter_of_both),
        cmocka_unit_test(without_a_manifest_the_grants_hold),
        cmocka_unit_test(bad_grants_are_refused),
        cmocka_unit_test(a_file_grants_by_name),
        cmocka_unit_test(explains_each_line),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
