/* disk.h: one disk of a PC, on descriptors that were passed in: its file, and a part of the overlay.
 *
 * Through: writes go to the file. Kept: the file stays as it is, and what is written goes to the
 * overlay, a sparse file that the disks share, in clusters of 4 KB; a bitmap in memory says which.
 * The overlay's file needs no clearing: what the bitmap does not name is never read. */
#ifndef HALTER_PC_DISK_H
#define HALTER_PC_DISK_H

#include "pc/pc.h"

struct disk {
    int fd, overlay;
    uint64_t bytes;
    uint64_t at; /* its part of the overlay begins here */
    bool read_only, through;
    uint8_t *kept; /* a bit a cluster: it is in the overlay */
    uint64_t kept_count;
};

/* Takes the descriptors. `at` is where its part of the overlay may begin, and is moved behind it.
 * NULL when done, otherwise what is wrong with the file, in a sentence that lives. */
const char *disk_open(struct disk *disk, int fd, int overlay, uint64_t *at, bool read_only,
                      bool through);

/* All within the disk. False with errno when the host's file system refuses. */
bool disk_read(struct disk *disk, uint64_t offset, uint8_t *bytes, uint64_t count);
bool disk_write(struct disk *disk, uint64_t offset, const uint8_t *bytes, uint64_t count);

/* Makes a range read as zeros, and gives its space back where the file system can. */
bool disk_zero(struct disk *disk, uint64_t offset, uint64_t count);
/* The same where it costs nothing, otherwise nothing. */
void disk_discard(struct disk *disk, uint64_t offset, uint64_t count);

/* Makes durable what was written: of a disk that is written through. */
bool disk_flush(struct disk *disk);

/* Which content the file has: its size and when it was last written to. */
uint64_t disk_identity(const struct disk *disk);

/* From now on the file stays as it is. */
void disk_keep(struct disk *disk);
/* What was kept is written to the file, which is written through again. `tick` is called now and
 * then. */
bool disk_commit(struct disk *disk, void (*tick)(void *opaque), void *opaque);

/* The overlay behind a snapshot: u64 of clusters, then {u64 number, 4096 bytes} each, in order. */
bool disk_save(struct disk *disk, struct pc_writer out);
bool disk_load(struct disk *disk, struct pc_reader in);

#endif
