/* disks.h: the disks of a served PC: what the machine asks of them, done here.
 *
 * Reads and writes are done at once: they end in the page cache. Making what was written durable
 * takes as long as the host's disk does, and is done by a thread, so that the machine and its
 * heartbeat go on; in deterministic time it is done at once as well. */
#ifndef HALTER_PC_DISKS_H
#define HALTER_PC_DISKS_H

#include <pthread.h>

#include "disk.h"

struct disks {
    struct disk disk[PC_DISKS];
    unsigned count;
    bool commits[PC_DISKS]; /* what was kept belongs into the file when the run ends */
    bool at_once;           /* no thread */

    /* Shared with the thread, under the lock. */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t asked[PC_DISKS], served[PC_DISKS]; /* flushes; the last one asked for has them all */
    bool failed[PC_DISKS];
    uint64_t answered[PC_DISKS]; /* by this side alone */
    int event_fd;                /* readable when one is served */
};

/* Before the compartment closes: makes what cannot be made in it. False with errno. */
bool disks_prepare(struct disks *disks);

/* Once the disks are there: what the thread is for. */
bool disks_start(struct disks *disks, bool at_once);

/* A request of the machine `pc`, answered now or by disks_attend. */
void disks_request(struct disks *disks, struct pc *pc, unsigned number,
                   const struct pc_block_request *request);
void disks_attend(struct disks *disks, struct pc *pc);

/* Around a snapshot: the files stay as they are from here on, the machine learns which they are;
 * and what is not in them is behind the machine's own state. */
void disks_keep(struct disks *disks, struct pc *pc);
bool disks_save(struct disks *disks, struct pc_writer out);
const char *disks_load(struct disks *disks, struct pc_reader in);

/* At the end of a run. NULL, or what is wrong. */
const char *disks_commit(struct disks *disks, void (*tick)(void *opaque), void *opaque);

#endif
