/*
 * State in SQLite: WAL, synchronous=FULL, so that what was committed survives the end of any
 * process and of the machine. The quota is kept in the same transaction as the values it counts.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "services/store.h"

#define APPLICATION_ID 0x484c5452 /* "HLTR", in the file's header */
#define BUSY_MS        5000       /* another process of the application holds the file */

enum statement {
    SQL_BEGIN_READ,
    SQL_BEGIN_WRITE,
    SQL_COMMIT,
    SQL_ROLLBACK,
    SQL_PLUGIN,
    SQL_ADD_PLUGIN,
    SQL_SET_BYTES,
    SQL_GET,
    SQL_KEYS,
    SQL_PUT,
    SQL_DELETE,
    SQL_STATEMENTS
};

static const char *const sql[SQL_STATEMENTS] = {
    [SQL_BEGIN_READ] = "BEGIN",
    [SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",
    [SQL_PLUGIN] = "SELECT id, bytes FROM plugin WHERE name = ?1",
    [SQL_ADD_PLUGIN] = "INSERT INTO plugin (name, bytes) VALUES (?1, 0)",
    [SQL_SET_BYTES] = "UPDATE plugin SET bytes = ?2 WHERE id = ?1",
    [SQL_GET] = "SELECT value FROM entry WHERE plugin = ?1 AND key = ?2",
    [SQL_KEYS] = "SELECT key FROM entry WHERE plugin = ?1 AND key >= ?2 AND "
                 "substr(key, 1, length(?2)) = ?2 ORDER BY key",
    [SQL_PUT] = "INSERT INTO entry (plugin, key, value) VALUES (?1, ?2, ?3) "
                "ON CONFLICT (plugin, key) DO UPDATE SET value = ?3",
    [SQL_DELETE] = "DELETE FROM entry WHERE plugin = ?1 AND key = ?2",
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS plugin (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " bytes INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS entry (plugin INTEGER NOT NULL REFERENCES plugin (id),"
    " key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (plugin, key)) STRICT, WITHOUT ROWID;"
    "PRAGMA user_version = 1;";

struct store {
    sqlite3 *db;
    sqlite3_stmt *statements[SQL_STATEMENTS];
};

/* One plugin as a transaction sees it. */
struct owner {
    sqlite3_int64 id; /* 0: it has never written */
    sqlite3_int64 bytes;
};

static sqlite3_int64 pragma_number(sqlite3 *db, const char *text)
{
    sqlite3_stmt *statement;
    sqlite3_int64 number = -1;
    if (sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

/* A file of another program, or of a later version of this one, is left alone. */
static bool is_ours(sqlite3 *db, char why[256])
{
    sqlite3_int64 tables = pragma_number(db, "SELECT count(*) FROM sqlite_schema");
    sqlite3_int64 id = pragma_number(db, "PRAGMA application_id");
    sqlite3_int64 version = pragma_number(db, "PRAGMA user_version");
    if (tables < 0)
        snprintf(why, 256, "the state file cannot be read: %s", sqlite3_errmsg(db));
    else if (tables > 0 && id != APPLICATION_ID)
        snprintf(why, 256, "the state file is a database of another program");
    else if (version > 1)
        snprintf(why, 256, "the state file was written by a later version of halter");
    else
        return true;
    return false;
}

static bool set_up(struct store *store, char why[256])
{
    char pragma[64];
    sqlite3_busy_timeout(store->db, BUSY_MS);
    if (!is_ours(store->db, why))
        return false;
    snprintf(pragma, sizeof(pragma), "PRAGMA application_id = %d", APPLICATION_ID);
    const char *const steps[] = {"PRAGMA journal_mode = WAL",
                                 "PRAGMA synchronous = FULL",
                                 "PRAGMA trusted_schema = OFF",
                                 "BEGIN IMMEDIATE",
                                 pragma,
                                 schema,
                                 "COMMIT"};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (sqlite3_exec(store->db, steps[i], NULL, NULL, NULL) != SQLITE_OK) {
            snprintf(why, 256, "the state file: %s", sqlite3_errmsg(store->db));
            return false;
        }
    }
    for (int i = 0; i < SQL_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(store->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &store->statements[i], NULL) != SQLITE_OK) {
            snprintf(why, 256, "the state file: %s", sqlite3_errmsg(store->db));
            return false;
        }
    }
    return true;
}

struct store *store_open(const char *path, char why[256])
{
    struct store *store = calloc(1, sizeof(*store));
    if (!store) {
        snprintf(why, 256, "out of memory");
        return NULL;
    }
    /* SQLite would make it readable for all that the umask lets read. */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    if (sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK)
        snprintf(why, 256, "the state file cannot be opened: %s",
                 store->db ? sqlite3_errmsg(store->db) : "out of memory");
    else if (set_up(store, why))
        return store;
    store_close(store);
    return NULL;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    for (int i = 0; i < SQL_STATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
    sqlite3_close(store->db);
    free(store);
}

/* ---- one statement -------------------------------------------------------------------------- */

static sqlite3_stmt *ready(struct store *store, enum statement which)
{
    sqlite3_reset(store->statements[which]);
    sqlite3_clear_bindings(store->statements[which]);
    return store->statements[which];
}

/* Runs one that yields no row. False when the file failed. */
static bool done(sqlite3_stmt *statement)
{
    bool ok = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return ok;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text64(statement, at, text, strlen(text), SQLITE_STATIC, SQLITE_UTF8);
}

static bool find_owner(struct store *store, const char *plugin, struct owner *owner)
{
    sqlite3_stmt *statement = ready(store, SQL_PLUGIN);
    bind_text(statement, 1, plugin);
    int code = sqlite3_step(statement);
    *owner = (struct owner){0, 0};
    if (code == SQLITE_ROW)
        *owner =
            (struct owner){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)};
    sqlite3_reset(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* Positions SQL_GET on an entry. The row stays valid until the statement is used again. */
static bool find_entry(struct store *store, const struct owner *owner, const char *key,
                       const char **value, size_t *length)
{
    sqlite3_stmt *statement = ready(store, SQL_GET);
    sqlite3_bind_int64(statement, 1, owner->id);
    bind_text(statement, 2, key);
    int code = sqlite3_step(statement);
    *value = NULL;
    *length = 0;
    if (code == SQLITE_ROW) {
        *value = (const char *)sqlite3_column_text(statement, 0);
        *length = (size_t)sqlite3_column_bytes(statement, 0);
    }
    return code == SQLITE_ROW || code == SQLITE_DONE;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static bool get(struct store *store, struct store_job *job, const struct owner *owner)
{
    const char *value;
    size_t length;
    if (!find_entry(store, owner, job->key, &value, &length))
        return false;
    json_write_raw(&job->answer, value ? value : "null", value ? length : 4);
    sqlite3_reset(store->statements[SQL_GET]);
    return true;
}

static bool keys(struct store *store, struct store_job *job, const struct owner *owner)
{
    sqlite3_stmt *statement = ready(store, SQL_KEYS);
    int code;
    sqlite3_bind_int64(statement, 1, owner->id);
    bind_text(statement, 2, job->key);
    json_write(&job->answer, "[");
    for (bool first = true; (code = sqlite3_step(statement)) == SQLITE_ROW; first = false) {
        json_write(&job->answer, first ? "" : ",");
        json_write_string(&job->answer, (const char *)sqlite3_column_text(statement, 0),
                          (size_t)sqlite3_column_bytes(statement, 0));
    }
    json_write(&job->answer, "]");
    sqlite3_reset(statement);
    return code == SQLITE_DONE;
}

static bool add_owner(struct store *store, const char *plugin, struct owner *owner)
{
    sqlite3_stmt *statement = ready(store, SQL_ADD_PLUGIN);
    bind_text(statement, 1, plugin);
    if (!done(statement))
        return false;
    owner->id = sqlite3_last_insert_rowid(store->db);
    return true;
}

static bool write_entry(struct store *store, const struct owner *owner, const char *key,
                        const char *value, sqlite3_int64 bytes)
{
    sqlite3_stmt *statement = ready(store, value ? SQL_PUT : SQL_DELETE);
    sqlite3_bind_int64(statement, 1, owner->id);
    bind_text(statement, 2, key);
    if (value)
        bind_text(statement, 3, value);
    if (!done(statement))
        return false;
    statement = ready(store, SQL_SET_BYTES);
    sqlite3_bind_int64(statement, 1, owner->id);
    sqlite3_bind_int64(statement, 2, bytes);
    return done(statement);
}

static sqlite3_int64 cost(const char *key, const char *value, size_t length)
{
    return value ? (sqlite3_int64)(strlen(key) + length + STORE_ENTRY_BYTES) : 0;
}

static bool same(const char *value, size_t length, const char *expected)
{
    return value ? strlen(expected) == length && memcmp(value, expected, length) == 0
                 : strcmp(expected, "null") == 0;
}

/* Set, delete and swap: one entry is replaced, or not. */
static bool put(struct store *store, struct store_job *job, struct owner *owner)
{
    const char *old,
        *value = job->op == STORE_DELETE || strcmp(job->value, "null") == 0 ? NULL : job->value;
    size_t old_length;
    if (!find_entry(store, owner, job->key, &old, &old_length))
        return false;
    bool matches = job->op != STORE_SWAP || same(old, old_length, job->expected);
    sqlite3_int64 was = cost(job->key, old, old_length);
    sqlite3_int64 now = cost(job->key, value, value ? strlen(value) : 0);
    bool there = old != NULL;
    sqlite3_reset(store->statements[SQL_GET]);
    if (!matches || (!value && !there)) {
        json_write(&job->answer, job->op == STORE_SET               ? "null"
                                 : matches && job->op == STORE_SWAP ? "true"
                                                                    : "false");
        return true;
    }
    sqlite3_int64 bytes = owner->bytes - was + now;
    /* What makes the state smaller is always allowed, also after the quota was lowered. */
    if (now > was && (uint64_t)bytes > job->quota_bytes) {
        job->kind = WIRE_ERROR_QUOTA;
        snprintf(job->message, sizeof(job->message),
                 "the state would take %lld bytes of the %llu it may have", (long long)bytes,
                 (unsigned long long)job->quota_bytes);
        return true;
    }
    if (!owner->id && !add_owner(store, job->plugin, owner))
        return false;
    json_write(&job->answer, job->op == STORE_SET ? "null" : "true");
    return write_entry(store, owner, job->key, value, bytes);
}

static bool run_one(struct store *store, struct store_job *job)
{
    struct owner owner;
    if (!find_owner(store, job->plugin, &owner))
        return false;
    switch (job->op) {
    case STORE_GET:
        return get(store, job, &owner);
    case STORE_KEYS:
        return keys(store, job, &owner);
    default:
        return put(store, job, &owner);
    }
}

static void fail_all(struct store *store, struct store_job *const *jobs, size_t count)
{
    char message[256];
    snprintf(message, sizeof(message), "the state file: %s", sqlite3_errmsg(store->db));
    if (!sqlite3_get_autocommit(store->db))
        done(ready(store, SQL_ROLLBACK));
    for (size_t i = 0; i < count; i++) {
        jobs[i]->kind = WIRE_ERROR_FAILED;
        memcpy(jobs[i]->message, message, sizeof(message));
    }
}

void store_run(struct store *store, struct store_job *const *jobs, size_t count)
{
    bool writes = false, ok;
    for (size_t i = 0; i < count; i++)
        writes |= store_writes(jobs[i]->op);
    ok = done(ready(store, writes ? SQL_BEGIN_WRITE : SQL_BEGIN_READ));
    for (size_t i = 0; ok && i < count; i++)
        ok = run_one(store, jobs[i]);
    if (!ok || !done(ready(store, SQL_COMMIT)))
        fail_all(store, jobs, count);
}
