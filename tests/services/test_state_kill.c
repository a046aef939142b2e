/*
 * 1000 times halter-services is killed while it writes, at a random point. After each start every
 * value that was acknowledged is there, or a later one that was sent; the file passes SQLite's own
 * integrity check, and the quota's count is what the entries add up to.
 */
#include "harness.h"

#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 1000
#define KEYS   8
#define BURST  64

struct record {
    long acknowledged[KEYS]; /* the last value that was */
    long sent[KEYS];
    long next;
};

static void send_burst(struct services *services, struct record *record)
{
    for (int i = 0; i < BURST; i++) {
        int key = (int)(random() % KEYS);
        long value = ++record->next;
        uint64_t id = services_send(services,
                                    "{\"op\":\"state.set\",\"plugin\":\"p\",\"key\":\"k%d\","
                                    "\"quota_bytes\":100000,\"value\":%ld}",
                                    key, value);
        if (id)
            record->sent[key] = value;
    }
}

/* Answers come in the order of the orders; each says which by its id. */
static void take_answers(struct services *services, struct record *record, const int *keys,
                         const long *values, uint64_t first)
{
    struct answer answer;
    while (services_answer(services, &answer)) {
        size_t at = (size_t)(answer.id - first) / 2;
        assert_int_equal(answer.kind, 0);
        record->acknowledged[keys[at]] = values[at];
        free(answer.text);
    }
}

static void check_values(struct services *services, struct record *record)
{
    for (int key = 0; key < KEYS; key++) {
        struct answer answer =
            services_ask(services, "{\"op\":\"state.get\",\"plugin\":\"p\",\"key\":\"k%d\"}", key);
        assert_int_equal(answer.kind, 0);
        long value = strcmp(answer.text, "null") == 0 ? 0 : atol(answer.text);
        if (value < record->acknowledged[key] || value > record->sent[key])
            fail_msg("key %d is %ld, acknowledged %ld, sent %ld", key, value,
                     record->acknowledged[key], record->sent[key]);
        record->acknowledged[key] = value;
        free(answer.text);
    }
}

static long number(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    long value = (long)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

static void check_file(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    assert_int_equal(number(db, "SELECT coalesce(sum(bytes), 0) FROM plugin"),
                     number(db, "SELECT coalesce(sum(length(cast(key AS BLOB)) + "
                                "length(cast(value AS BLOB)) + 32), 0) FROM entry"));
    sqlite3_close(db);
}

static void one_round(const char *path, struct record *record)
{
    struct services services;
    struct record before;
    int keys[BURST];
    long values[BURST];
    services_start(&services, path, NULL);
    check_values(&services, record);
    before = *record;
    uint64_t first = services.last_id + 2;
    /* The same keys again, to know which order was for which. */
    unsigned seed = (unsigned)random();
    srandom(seed);
    for (int i = 0; i < BURST; i++) {
        keys[i] = (int)(random() % KEYS);
        values[i] = before.next + i + 1;
    }
    srandom(seed);
    send_burst(&services, record);
    struct timespec pause = {0, random() % 4000000};
    nanosleep(&pause, NULL);
    kill(services.pid, SIGKILL);
    take_answers(&services, record, keys, values, first);
    services_stop(&services, SIGKILL);
}

static void nothing_acknowledged_is_lost(void **state)
{
    char *folder = temporary_folder(), path[512];
    struct record record = {0};
    long acknowledged = 0, unanswered = 0;
    (void)state;
    srandom(11);
    snprintf(path, sizeof(path), "%s/state.db", folder);
    for (int round = 0; round < ROUNDS; round++) {
        one_round(path, &record);
        for (int key = 0; key < KEYS; key++)
            record.acknowledged[key] == record.sent[key] ? acknowledged++ : unanswered++;
        if (round % 100 == 99)
            check_file(path);
    }
    /* Kills must have hit both before and after the answers, or the test proves nothing. */
    print_message("# %ld last values acknowledged, %ld not\n", acknowledged, unanswered);
    assert_true(acknowledged > ROUNDS / 10);
    assert_true(unanswered > ROUNDS / 10);
    temporary_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_acknowledged_is_lost)};
    signal(SIGPIPE, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
