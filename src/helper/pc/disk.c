/* disk.c: see disk.h. Positions are explicit: the descriptors' own offsets belong to the host. */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLUSTER    4096u
#define TICK_BYTES (4u << 20)
#define MOST_BYTES (UINT64_C(16) << 40)

/* ---- Whole reads and writes --------------------------------------------------------------- */

/* A file that became shorter reads as zeros behind its end. */
static bool read_at(int fd, uint64_t offset, uint8_t *bytes, uint64_t count)
{
    while (count) {
        ssize_t n = pread(fd, bytes, count, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0) {
            memset(bytes, 0, count);
            return true;
        }
        bytes += n;
        offset += (uint64_t)n;
        count -= (uint64_t)n;
    }
    return true;
}

static bool write_at(int fd, uint64_t offset, const uint8_t *bytes, uint64_t count)
{
    while (count) {
        ssize_t n = pwrite(fd, bytes, count, (off_t)offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            errno = n < 0 ? errno : ENOSPC;
            return false;
        }
        bytes += n;
        offset += (uint64_t)n;
        count -= (uint64_t)n;
    }
    return true;
}

static bool punch(int fd, uint64_t offset, uint64_t count)
{
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                     (off_t)count) == 0;
}

static bool zero_at(int fd, uint64_t offset, uint64_t count)
{
    static const uint8_t zeros[65536];

    if (punch(fd, offset, count))
        return true;
    while (count) {
        uint64_t part = count < sizeof zeros ? count : sizeof zeros;

        if (!write_at(fd, offset, zeros, part))
            return false;
        offset += part;
        count -= part;
    }
    return true;
}

/* ---- Clusters ----------------------------------------------------------------------------- */

static bool is_kept(const struct disk *disk, uint64_t cluster)
{
    return disk->kept[cluster / 8] & 1u << cluster % 8;
}

static void set_kept(struct disk *disk, uint64_t cluster)
{
    disk->kept_count += !is_kept(disk, cluster);
    disk->kept[cluster / 8] |= (uint8_t)(1u << cluster % 8);
}

/* How many bytes from `offset` on lie in the same file, at most `count`. */
static uint64_t run(const struct disk *disk, uint64_t offset, uint64_t count)
{
    uint64_t end = offset + count, to = (offset / CLUSTER + 1) * CLUSTER;

    while (to < end && is_kept(disk, to / CLUSTER) == is_kept(disk, offset / CLUSTER))
        to += CLUSTER;
    return (to < end ? to : end) - offset;
}

bool disk_read(struct disk *disk, uint64_t offset, uint8_t *bytes, uint64_t count)
{
    while (count) {
        uint64_t part = disk->kept_count ? run(disk, offset, count) : count;
        bool kept = disk->kept_count && is_kept(disk, offset / CLUSTER);

        if (!read_at(kept ? disk->overlay : disk->fd, kept ? disk->at + offset : offset, bytes,
                     part))
            return false;
        bytes += part;
        offset += part;
        count -= part;
    }
    return true;
}

/* The cluster around a piece of it that is about to be written. */
static bool copy_up(struct disk *disk, uint64_t cluster)
{
    uint8_t bytes[CLUSTER];

    return is_kept(disk, cluster) ||
           (read_at(disk->fd, cluster * CLUSTER, bytes, CLUSTER) &&
            write_at(disk->overlay, disk->at + cluster * CLUSTER, bytes, CLUSTER));
}

/* Prepares the clusters of a range to be written in the overlay, and marks them once they are. */
static bool copy_ends_up(struct disk *disk, uint64_t offset, uint64_t count)
{
    uint64_t end = offset + count;

    return (offset % CLUSTER == 0 || copy_up(disk, offset / CLUSTER)) &&
           (end % CLUSTER == 0 || copy_up(disk, end / CLUSTER));
}

static void mark(struct disk *disk, uint64_t offset, uint64_t count)
{
    for (uint64_t c = offset / CLUSTER; c <= (offset + count - 1) / CLUSTER; c++)
        set_kept(disk, c);
}

bool disk_write(struct disk *disk, uint64_t offset, const uint8_t *bytes, uint64_t count)
{
    if (disk->through)
        return write_at(disk->fd, offset, bytes, count);
    if (!copy_ends_up(disk, offset, count) ||
        !write_at(disk->overlay, disk->at + offset, bytes, count))
        return false;
    mark(disk, offset, count);
    return true;
}

bool disk_zero(struct disk *disk, uint64_t offset, uint64_t count)
{
    if (disk->through)
        return zero_at(disk->fd, offset, count);
    if (!copy_ends_up(disk, offset, count) || !zero_at(disk->overlay, disk->at + offset, count))
        return false;
    mark(disk, offset, count);
    return true;
}

void disk_discard(struct disk *disk, uint64_t offset, uint64_t count)
{
    if (disk->through)
        punch(disk->fd, offset, count);
}

bool disk_flush(struct disk *disk)
{
    return !disk->through || fdatasync(disk->fd) == 0;
}

/* ---- Life --------------------------------------------------------------------------------- */

/* Not fstat(): the C library makes newfstatat of it, which a confined helper does not have. */
static bool status_of(int fd, struct stat *status)
{
    return syscall(SYS_fstat, fd, status) == 0;
}

const char *disk_open(struct disk *disk, int fd, int overlay, uint64_t *at, bool read_only,
                      bool through)
{
    struct stat status;

    *disk = (struct disk){.fd = fd,
                          .overlay = overlay,
                          .at = *at,
                          .read_only = read_only,
                          .through = through && !read_only};
    if (!status_of(fd, &status))
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is no regular file";
    if (status.st_size == 0 || status.st_size % 512)
        return "it is not made of whole sectors of 512 bytes";
    disk->bytes = (uint64_t)status.st_size;
    if (disk->bytes > MOST_BYTES)
        return "it is larger than 16 TB";
    uint64_t clusters = (disk->bytes + CLUSTER - 1) / CLUSTER;
    *at += clusters * CLUSTER;
    disk->kept = calloc((clusters + 7) / 8, 1);
    return disk->kept ? NULL : "there is no memory for the map of its overlay";
}

uint64_t disk_identity(const struct disk *disk)
{
    struct stat status;
    uint64_t hash = hash_u64(1, disk->bytes);

    if (!status_of(disk->fd, &status))
        return 0;
    hash = hash_u64(hash, (uint64_t)status.st_mtim.tv_sec);
    return hash_u64(hash, (uint64_t)status.st_mtim.tv_nsec);
}

void disk_keep(struct disk *disk)
{
    disk->through = false;
}

/* The last cluster may be cut short by the disk's end. */
static uint64_t cluster_bytes(const struct disk *disk, uint64_t cluster)
{
    uint64_t left = disk->bytes - cluster * CLUSTER;

    return left < CLUSTER ? left : CLUSTER;
}

bool disk_commit(struct disk *disk, void (*tick)(void *opaque), void *opaque)
{
    uint64_t clusters = (disk->bytes + CLUSTER - 1) / CLUSTER, done = 0;
    uint8_t bytes[CLUSTER];

    for (uint64_t c = 0; c < clusters && disk->kept_count; c++) {
        if (!is_kept(disk, c))
            continue;
        if (!read_at(disk->overlay, disk->at + c * CLUSTER, bytes, CLUSTER) ||
            !write_at(disk->fd, c * CLUSTER, bytes, cluster_bytes(disk, c)))
            return false;
        done += CLUSTER;
        if (done % TICK_BYTES == 0)
            tick(opaque);
    }
    memset(disk->kept, 0, (clusters + 7) / 8);
    disk->kept_count = 0;
    disk->through = true;
    return fdatasync(disk->fd) == 0;
}

/* ---- Behind a snapshot -------------------------------------------------------------------- */

static bool save_u64(struct pc_writer out, uint64_t value)
{
    uint8_t bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return out.write(out.opaque, bytes, sizeof bytes);
}

static bool load_u64(struct pc_reader in, uint64_t *value)
{
    uint8_t bytes[8];

    if (!in.read(in.opaque, bytes, sizeof bytes))
        return false;
    *value = 0;
    for (unsigned i = 0; i < 8; i++)
        *value |= (uint64_t)bytes[i] << 8 * i;
    return true;
}

bool disk_save(struct disk *disk, struct pc_writer out)
{
    uint64_t clusters = (disk->bytes + CLUSTER - 1) / CLUSTER;
    uint8_t bytes[CLUSTER];

    if (!save_u64(out, disk->kept_count))
        return false;
    for (uint64_t c = 0; c < clusters && disk->kept_count; c++)
        if (is_kept(disk, c) && (!read_at(disk->overlay, disk->at + c * CLUSTER, bytes, CLUSTER) ||
                                 !save_u64(out, c) || !out.write(out.opaque, bytes, CLUSTER)))
            return false;
    return true;
}

bool disk_load(struct disk *disk, struct pc_reader in)
{
    uint64_t clusters = (disk->bytes + CLUSTER - 1) / CLUSTER, count, number, next = 0;
    uint8_t bytes[CLUSTER];

    if (!load_u64(in, &count) || count > clusters)
        return false;
    while (count--) {
        if (!load_u64(in, &number) || number < next || number >= clusters ||
            !in.read(in.opaque, bytes, CLUSTER) ||
            !write_at(disk->overlay, disk->at + number * CLUSTER, bytes, CLUSTER))
            return false;
        set_kept(disk, number);
        next = number + 1;
    }
    return true;
}
