/*
 * The default guest: where it is, and the snapshot of it that waits for a command, kept in the
 * user's cache from the first run on. Its name is a hash of all that makes it: a kernel or an
 * option that changes makes another one. What cannot be cached is booted each time.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/boot.h"
#include "cli/say.h"

#define KEPT 4 /* snapshots: others are of guests that are gone */

/* ---- the guest ---------------------------------------------------------------------------------
 */

static bool there(char **path, const char *folder, const char *name)
{
    free(*path);
    if (asprintf(path, "%s/%s", folder, name) < 0)
        die_without_memory();
    return access(*path, R_OK) == 0;
}

static bool guest_in(struct boot_config *config, const char *folder)
{
    static char *kernel, *initrd; /* the one guest of this process */

    if (!there(&kernel, folder, "vmlinux-686") || !there(&initrd, folder, "initramfs.cpio.gz"))
        return false;
    config->kernel = kernel;
    if (!config->initrd)
        config->initrd = initrd;
    return true;
}

bool guest_find(struct boot_config *config)
{
    char beside[4096];
    ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - sizeof "/guest");
    const char *given = getenv("HALTER_GUEST");

    if (given) {
        if (guest_in(config, given))
            return true;
        say("HALTER_GUEST: %s has no vmlinux-686 and initramfs.cpio.gz", given);
        return false;
    }
    if (length > 0) {
        beside[length] = '\0';
        strcpy(strrchr(beside, '/'), "/guest");
        if (guest_in(config, beside))
            return true;
    }
    if (guest_in(config, HALTER_DATADIR "/halter/guest"))
        return true;
    say("there is no default guest: `make guest` makes it; HALTER_GUEST can name its folder");
    return false;
}

/* ---- the name of its snapshot
 * -------------------------------------------------------------------- */

static uint64_t hash(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;

    while (count--)
        hash = (hash ^ *at++) * UINT64_C(0x100000001b3); /* FNV-1a */
    return hash;
}

static uint64_t hash_file(uint64_t h, int fd)
{
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        return h;
    int64_t what[] = {(int64_t)status.st_dev, (int64_t)status.st_ino, status.st_size,
                      status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    return hash(h, what, sizeof what);
}

static uint64_t name_of(const struct boot_config *config)
{
    const struct halter_pc_options *pc = &config->pc;
    uint32_t machine[] = {pc->ram_mb, (uint32_t)pc->model};
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), machine, sizeof machine);

    h = hash(h, halter_version(), strlen(halter_version()));
    h = hash(h, pc->append, strlen(pc->append));
    return hash_file(hash_file(h, pc->kernel_fd), pc->initrd_fd);
}

/* $XDG_CACHE_HOME/halter, made when it is not there; -1 where there can be none. */
static int open_folder(char *path, size_t capacity)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/')
        snprintf(path, capacity, "%s", cache);
    else if (home && home[0] == '/')
        snprintf(path, capacity, "%s/.cache", home);
    else
        return -1;
    mkdir(path, 0700);
    size_t length = strlen(path);
    snprintf(path + length, capacity - length, "/halter");
    mkdir(path, 0700);
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void cache_open(struct boot_config *config, struct guest_cache *cache)
{
    char folder[4000];
    struct stat status;

    *cache = (struct guest_cache){.folder = open_folder(folder, sizeof folder), .fd = -1};
    snprintf(cache->name, sizeof cache->name, "guest-%016" PRIx64 ".snapshot", name_of(config));
    if (cache->folder < 0)
        return;
    int fd = openat(cache->folder, cache->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    /* A machine that somebody else may have written is not ours to run. */
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_mode & 022) {
        say("%s/%s is not used: it is not a file that only you can write", folder, cache->name);
        close(fd);
        return;
    }
    futimens(fd, NULL); /* by which the oldest are found */
    config->pc.resume_fd = fd;
    cache->resumed = true;
}

/* ---- keeping one
 * --------------------------------------------------------------------------------- */

int cache_begin(struct guest_cache *cache)
{
    if (cache->folder < 0)
        return -1;
    snprintf(cache->draft, sizeof cache->draft, "%s.%ld", cache->name, (long)getpid());
    cache->fd = openat(cache->folder, cache->draft, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return cache->fd;
}

/* Removes the oldest snapshots beyond those that are kept. */
static void prune(int folder)
{
    char oldest[256] = "";
    unsigned count = 0;
    struct timespec age = {0};
    DIR *all = fdopendir(dup(folder));
    struct dirent *entry;

    if (!all)
        return;
    rewinddir(all);
    while ((entry = readdir(all))) {
        struct stat status;
        if (strncmp(entry->d_name, "guest-", 6) != 0 ||
            fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        count++;
        if (!oldest[0] || status.st_mtim.tv_sec < age.tv_sec) {
            age = status.st_mtim;
            snprintf(oldest, sizeof oldest, "%s", entry->d_name);
        }
    }
    closedir(all);
    if (count > KEPT)
        unlinkat(folder, oldest, 0);
}

void cache_end(struct guest_cache *cache, bool keep)
{
    if (cache->fd < 0)
        return;
    close(cache->fd);
    cache->fd = -1;
    if (!keep || renameat(cache->folder, cache->draft, cache->folder, cache->name) < 0)
        unlinkat(cache->folder, cache->draft, 0);
    prune(cache->folder);
}

void cache_discard(struct guest_cache *cache)
{
    if (cache->folder >= 0)
        unlinkat(cache->folder, cache->name, 0);
}

void cache_close(struct guest_cache *cache)
{
    cache_end(cache, false);
    if (cache->folder >= 0)
        close(cache->folder);
    cache->folder = -1;
}
