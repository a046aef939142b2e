/* disks.c: see disks.h. */
#include "disks.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void *nothing(void *opaque)
{
    return opaque;
}

/* The first thread of a process makes the C library handle a signal, which the compartment does not
 * allow; later ones only need what it does. The real one starts inside, where Landlock holds it. */
bool disks_prepare(struct disks *disks)
{
    pthread_t thread;

    errno = pthread_create(&thread, NULL, nothing, NULL);
    if (errno || pthread_join(thread, NULL))
        return false;
    disks->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return disks->event_fd >= 0;
}

/* ---- Flushing ----------------------------------------------------------------------------- */

static unsigned next_to_flush(const struct disks *disks)
{
    unsigned i = 0;

    while (i < disks->count && disks->asked[i] == disks->served[i])
        i++;
    return i;
}

static void *flush_for_ever(void *opaque)
{
    struct disks *disks = opaque;
    uint64_t one = 1;

    pthread_mutex_lock(&disks->lock);
    for (;;) {
        unsigned i = next_to_flush(disks);

        if (i == disks->count) {
            pthread_cond_wait(&disks->wake, &disks->lock);
            continue;
        }
        uint64_t asked = disks->asked[i];
        pthread_mutex_unlock(&disks->lock);
        bool good = fdatasync(disks->disk[i].fd) == 0;
        pthread_mutex_lock(&disks->lock);
        disks->served[i] = asked;
        disks->failed[i] = !good;
        if (write(disks->event_fd, &one, sizeof one) < 0)
            continue; /* it is full of ones: readable */
    }
    return NULL;
}

bool disks_start(struct disks *disks, bool at_once)
{
    pthread_t thread;

    disks->at_once = at_once;
    if (!disks->count || at_once)
        return true;
    pthread_mutex_init(&disks->lock, NULL);
    pthread_cond_init(&disks->wake, NULL);
    errno = pthread_create(&thread, NULL, flush_for_ever, disks);
    return errno == 0;
}

/* A disk whose writes are kept has nothing that could be made durable: what the snapshot before it
 * says is what there is after a crash. */
static void flush(struct disks *disks, struct pc *pc, unsigned number)
{
    struct disk *disk = &disks->disk[number];

    if (disks->at_once || !disk->through) {
        pc_block_done(pc, number, disk_flush(disk) ? PC_BLOCK_GOOD : PC_BLOCK_ERROR);
        return;
    }
    pthread_mutex_lock(&disks->lock);
    disks->asked[number]++;
    pthread_cond_signal(&disks->wake);
    pthread_mutex_unlock(&disks->lock);
}

/* Only the flush that was asked for last is still waited for: one before it was of a driver that
 * has been reset. */
void disks_attend(struct disks *disks, struct pc *pc)
{
    uint64_t ones;

    if (!disks->count || disks->at_once || read(disks->event_fd, &ones, sizeof ones) < 0)
        return;
    for (unsigned i = 0; i < disks->count; i++) {
        pthread_mutex_lock(&disks->lock);
        bool served = disks->served[i] == disks->asked[i] && disks->answered[i] != disks->asked[i];
        bool failed = disks->failed[i];
        disks->answered[i] = served ? disks->asked[i] : disks->answered[i];
        pthread_mutex_unlock(&disks->lock);
        if (served)
            pc_block_done(pc, i, failed ? PC_BLOCK_ERROR : PC_BLOCK_GOOD);
    }
}

/* ---- Requests ----------------------------------------------------------------------------- */

static bool transfer(struct disk *disk, struct pc *pc, unsigned number,
                     const struct pc_block_request *request)
{
    uint64_t done = 0;
    uint32_t part;
    uint8_t *bytes;

    while ((bytes = pc_block_data(pc, number, done, &part))) {
        uint64_t at = request->offset + done;

        if (request->op == PC_BLOCK_READ ? !disk_read(disk, at, bytes, part)
                                         : !disk_write(disk, at, bytes, part))
            return false;
        done += part;
    }
    return true;
}

void disks_request(struct disks *disks, struct pc *pc, unsigned number,
                   const struct pc_block_request *request)
{
    struct disk *disk = &disks->disk[number];
    bool good = true;

    switch (request->op) {
    case PC_BLOCK_FLUSH:
        flush(disks, pc, number);
        return;
    case PC_BLOCK_READ:
    case PC_BLOCK_WRITE:
        good = transfer(disk, pc, number, request);
        break;
    case PC_BLOCK_ZERO:
        good = disk_zero(disk, request->offset, request->bytes);
        break;
    case PC_BLOCK_DISCARD:
        disk_discard(disk, request->offset, request->bytes);
        break;
    }
    pc_block_done(pc, number, good ? PC_BLOCK_GOOD : PC_BLOCK_ERROR);
}

/* ---- Snapshots ---------------------------------------------------------------------------- */

void disks_keep(struct disks *disks, struct pc *pc)
{
    for (unsigned i = 0; i < disks->count; i++) {
        disk_keep(&disks->disk[i]);
        pc_disk_identify(pc, i, disk_identity(&disks->disk[i]));
    }
}

bool disks_save(struct disks *disks, struct pc_writer out)
{
    for (unsigned i = 0; i < disks->count; i++)
        if (!disk_save(&disks->disk[i], out))
            return false;
    return true;
}

const char *disks_load(struct disks *disks, struct pc_reader in)
{
    for (unsigned i = 0; i < disks->count; i++) {
        disk_keep(&disks->disk[i]);
        if (!disk_load(&disks->disk[i], in))
            return "the snapshot's part about what its disks hold is damaged, or there is no room "
                   "for it";
    }
    return NULL;
}

const char *disks_commit(struct disks *disks, void (*tick)(void *opaque), void *opaque)
{
    for (unsigned i = 0; i < disks->count; i++)
        if (disks->commits[i] && !disks->disk[i].through &&
            !disk_commit(&disks->disk[i], tick, opaque))
            return strerror(errno);
    return NULL;
}
