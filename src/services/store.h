/*
 * The state of plugins in one SQLite file: every plugin has keys of its own and a quota. Blocking,
 * and used by one thread; state.c puts a queue in front of it.
 */
#ifndef HALTER_SERVICES_STORE_H
#define HALTER_SERVICES_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/body.h"
#include "wire/json_write.h"

#define STORE_KEY_BYTES   512
#define STORE_ENTRY_BYTES 32 /* what an entry costs beside its key and value */

enum store_op { STORE_GET, STORE_KEYS, STORE_SET, STORE_DELETE, STORE_SWAP, STORE_OPS };
static inline bool store_writes(enum store_op op)
{
    return op >= STORE_SET;
}

/* One thing to do, and what came of it. Values are JSON texts; null stands for "no entry". */
struct store_job {
    enum store_op op;
    char *plugin, *key; /* the prefix for STORE_KEYS */
    char *value, *expected;
    uint64_t quota_bytes;

    struct json_writer answer; /* when kind is 0 */
    enum wire_error_kind kind; /* else why not */
    char message[256];
};

struct store;
/* NULL with why. The file is made when it is not there, readable by its owner only. */
struct store *store_open(const char *path, char why[256]);
void store_close(struct store *store);
/*
 * Does some jobs in one transaction. When it returns every job has its answer or error, and what
 * was written and not refused is on the disk. All or nothing: where the file fails, all jobs do.
 */
void store_run(struct store *store, struct store_job *const *jobs, size_t count);

#endif
