/*
 * The state that halter-services keeps: what each order does, quotas, and two plugins that never
 * see each other's keys. How it survives being killed is in test_state_kill.c.
 */
#include "harness.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUOTA 1000

static char *folder;
static char path[512];
static struct services services;

static int start(void **state)
{
    (void)state;
    folder = temporary_folder();
    snprintf(path, sizeof(path), "%s/state.db", folder);
    services_start(&services, path, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    services_stop(&services, 0);
    temporary_remove(folder);
    return 0;
}

static struct answer ask(const char *op, const char *plugin, const char *key, const char *rest)
{
    return services_ask(
        &services, "{\"op\":\"state.%s\",\"plugin\":\"%s\",\"key\":\"%s\",\"quota_bytes\":%d%s%s}",
        op, plugin, key, QUOTA, *rest ? "," : "", rest);
}

static void gets_what_was_set(void **state)
{
    (void)state;
    answer_is(ask("get", "p", "a", ""), "null");
    answer_is(ask("set", "p", "a", "\"value\":{\"x\":[1,\"\\u0000\xc3\xbc\"]}"), "null");
    answer_is(ask("get", "p", "a", ""), "{\"x\":[1,\"\\u0000\xc3\xbc\"]}");
    answer_is(ask("set", "p", "a", "\"value\":2"), "null");
    answer_is(ask("get", "p", "a", ""), "2");
    answer_is(ask("delete", "p", "a", ""), "true");
    answer_is(ask("delete", "p", "a", ""), "false");
    answer_is(ask("get", "p", "a", ""), "null");
    answer_is(ask("set", "p", "a", "\"value\":3"), "null");
    answer_is(ask("set", "p", "a", "\"value\":null"), "null");
    answer_is(ask("keys", "p", "", ""), "[]");
}

static void lists_keys_in_order(void **state)
{
    static const char *const keys[] = {"b", "a/2", "a/10", "\xc3\xbc", "a", "%", "_", "A"};
    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        answer_is(ask("set", "p", keys[i], "\"value\":1"), "null");
    answer_is(ask("keys", "p", "", ""),
              "[\"%\",\"A\",\"_\",\"a\",\"a/10\",\"a/2\",\"b\",\"\xc3\xbc\"]");
    answer_is(ask("keys", "p", "a", ""), "[\"a\",\"a/10\",\"a/2\"]");
    answer_is(ask("keys", "p", "a/", ""), "[\"a/10\",\"a/2\"]");
    answer_is(ask("keys", "p", "%", ""), "[\"%\"]");
    answer_is(ask("keys", "p", "zz", ""), "[]");
}

static void swaps_only_what_is_expected(void **state)
{
    (void)state;
    answer_is(ask("swap", "p", "n", "\"expected\":1,\"value\":2"), "false");
    answer_is(ask("swap", "p", "n", "\"expected\":null,\"value\":1"), "true");
    answer_is(ask("swap", "p", "n", "\"expected\":null,\"value\":9"), "false");
    answer_is(ask("swap", "p", "n", "\"expected\":1,\"value\":2"), "true");
    answer_is(ask("get", "p", "n", ""), "2");
    answer_is(ask("swap", "p", "n", "\"expected\":2,\"value\":null"), "true");
    answer_is(ask("get", "p", "n", ""), "null");
    answer_is(ask("swap", "p", "n", "\"expected\":null,\"value\":null"), "true");
}

static void plugins_are_apart(void **state)
{
    (void)state;
    answer_is(ask("set", "p", "k", "\"value\":\"p\""), "null");
    answer_is(ask("set", "q", "k", "\"value\":\"q\""), "null");
    answer_is(ask("get", "p", "k", ""), "\"p\"");
    answer_is(ask("get", "q", "k", ""), "\"q\"");
    answer_is(ask("delete", "q", "k", ""), "true");
    answer_is(ask("get", "p", "k", ""), "\"p\"");
    answer_is(ask("keys", "r", "", ""), "[]");
}

/* An entry costs its key, its value and 32 bytes. */
static void quota_is_exact(void **state)
{
    char value[QUOTA + 100];
    (void)state;
    int fits = QUOTA - 32 - 1 - 2;
    snprintf(value, sizeof(value), "\"value\":\"%0*d\"", fits + 1, 0);
    answer_fails(ask("set", "p", "k", value), WIRE_ERROR_QUOTA, "1001 bytes of the 1000");
    answer_is(ask("get", "p", "k", ""), "null");
    snprintf(value, sizeof(value), "\"value\":\"%0*d\"", fits, 0);
    answer_is(ask("set", "p", "k", value), "null");
    answer_fails(ask("set", "p", "j", "\"value\":1"), WIRE_ERROR_QUOTA, "of the 1000");
    answer_is(ask("set", "q", "j", "\"value\":1"), "null");
    answer_is(ask("set", "p", "k", "\"value\":1"), "null");
    answer_is(ask("set", "p", "j", "\"value\":1"), "null");
    answer_is(ask("delete", "p", "k", ""), "true");
    answer_is(ask("delete", "p", "j", ""), "true");
    answer_is(ask("set", "p", "k", value), "null");
}

/* Case 22: a plugin that fills its state keeps the old value. */
static void a_full_state_keeps_the_old_value(void **state)
{
    char value[QUOTA + 100];
    (void)state;
    answer_is(ask("set", "p", "k", "\"value\":\"old\""), "null");
    snprintf(value, sizeof(value), "\"value\":\"%0*d\"", QUOTA, 0);
    answer_fails(ask("set", "p", "k", value), WIRE_ERROR_QUOTA, "of the 1000");
    services_stop(&services, SIGKILL);
    services_start(&services, path, NULL);
    answer_is(ask("get", "p", "k", ""), "\"old\"");
}

static void a_lower_quota_lets_it_shrink(void **state)
{
    char value[QUOTA + 100];
    (void)state;
    snprintf(value, sizeof(value), "\"value\":\"%0*d\"", 500, 0);
    answer_is(ask("set", "p", "k", value), "null");
    answer_is(services_ask(&services,
                           "{\"op\":\"state.set\",\"plugin\":\"p\",\"key\":\"k\","
                           "\"quota_bytes\":100,\"value\":\"%0100d\"}",
                           0),
              "null");
    answer_fails(services_ask(&services,
                              "{\"op\":\"state.set\",\"plugin\":\"p\",\"key\":\"k\","
                              "\"quota_bytes\":100,\"value\":\"%0101d\"}",
                              0),
                 WIRE_ERROR_QUOTA, "of the 100");
}

static void bad_orders_are_errors(void **state)
{
    char key[600];
    (void)state;
    answer_fails(ask("get", "p", "", ""), WIRE_ERROR_FAILED, "1 to 512");
    snprintf(key, sizeof(key), "%0513d", 0);
    answer_fails(ask("get", "p", key, ""), WIRE_ERROR_FAILED, "1 to 512");
    answer_is(ask("get", "p", key + 1, ""), "null");
    answer_fails(ask("get", "p", "a\\u0000b", ""), WIRE_ERROR_FAILED, "NUL");
    answer_fails(ask("set", "p", "a", ""), WIRE_ERROR_FAILED, "value is missing");
    answer_fails(ask("swap", "p", "a", "\"value\":1"), WIRE_ERROR_FAILED, "value is missing");
    answer_fails(ask("clear", "p", "a", ""), WIRE_ERROR_FAILED, "unknown");
    answer_fails(services_ask(&services, "[]"), WIRE_ERROR_FAILED, "without an op");
    answer_fails(services_ask(&services, "{"), WIRE_ERROR_FAILED, "no JSON");
}

static void many_orders_in_flight_are_all_answered(void **state)
{
    enum { MANY = 1000 };
    static bool answered[MANY];
    uint64_t first = 0;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        uint64_t id = services_send(&services,
                                    "{\"op\":\"state.set\",\"plugin\":\"p\",\"key\":\"k%d\","
                                    "\"quota_bytes\":1000000,\"value\":%d}",
                                    i, i);
        first = first ? first : id;
    }
    for (int i = 0; i < MANY; i++) {
        struct answer answer;
        assert_true(services_answer(&services, &answer));
        assert_false(answered[(answer.id - first) / 2]);
        answered[(answer.id - first) / 2] = true;
        answer_is(answer, "null");
    }
    answer_is(ask("get", "p", "k999", ""), "999");
}

static void the_file_is_the_owners_only(void **state)
{
    struct stat status;
    (void)state;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void other_files_are_left_alone(void **state)
{
    struct services other;
    char text[512], name[600];
    sqlite3 *db;
    (void)state;
    snprintf(name, sizeof(name), "%s/other.db", folder);
    assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE plugin (x)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    services_spawn(&other, NULL);
    struct wire_frame hello;
    assert_int_equal(wire_receive_wait(&other.reader, other.fd, &hello), 1);
    answer_fails(services_configure(&other, name), WIRE_ERROR_LOAD, "another program");
    services_stop(&other, 0);

    snprintf(name, sizeof(name), "%s/noise.db", folder);
    FILE *file = fopen(name, "w");
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 100; i++)
        fwrite(text, 1, sizeof(text), file);
    fclose(file);
    services_spawn(&other, NULL);
    assert_int_equal(wire_receive_wait(&other.reader, other.fd, &hello), 1);
    answer_fails(services_configure(&other, name), WIRE_ERROR_LOAD, "not a database");
    services_stop(&other, 0);

    services_spawn(&other, NULL);
    assert_int_equal(wire_receive_wait(&other.reader, other.fd, &hello), 1);
    answer_fails(services_configure(&other, "/nonexistent/state.db"), WIRE_ERROR_LOAD,
                 "cannot be opened");
    services_stop(&other, 0);
}

static void without_a_file_there_is_no_state(void **state)
{
    struct services other;
    (void)state;
    services_start(&other, NULL, NULL);
    answer_fails(services_ask(&other, "{\"op\":\"state.get\",\"plugin\":\"p\",\"key\":\"k\"}"),
                 WIRE_ERROR_FAILED, "no state");
    int status = services_stop(&other, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Two applications, or two runs of one, on the same file. */
static void two_processes_share_a_file(void **state)
{
    struct services other;
    (void)state;
    services_start(&other, path, NULL);
    for (int i = 0; i < 50; i++) {
        struct services *from = i % 2 ? &other : &services, *to = i % 2 ? &services : &other;
        char text[32];
        snprintf(text, sizeof(text), "%d", i);
        answer_is(services_ask(from,
                               "{\"op\":\"state.swap\",\"plugin\":\"p\",\"key\":\"n\","
                               "\"quota_bytes\":99,\"expected\":%s,\"value\":%d}",
                               i ? (snprintf(text, sizeof(text), "%d", i - 1), text) : "null", i),
                  "true");
        snprintf(text, sizeof(text), "%d", i);
        answer_is(services_ask(to, "{\"op\":\"state.get\",\"plugin\":\"p\",\"key\":\"n\"}"), text);
    }
    services_stop(&other, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gets_what_was_set),
        TEST(lists_keys_in_order),
        TEST(swaps_only_what_is_expected),
        TEST(plugins_are_apart),
        TEST(quota_is_exact),
        TEST(a_full_state_keeps_the_old_value),
        TEST(a_lower_quota_lets_it_shrink),
        TEST(bad_orders_are_errors),
        TEST(many_orders_in_flight_are_all_answered),
        TEST(the_file_is_the_owners_only),
        TEST(other_files_are_left_alone),
        TEST(without_a_file_there_is_no_state),
        TEST(two_processes_share_a_file),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
