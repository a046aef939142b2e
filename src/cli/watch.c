/*
 * inotify on the folder of a file (a rename replaces the file, and with it any watch on it) and on
 * the folder that a symbolic link leads to. Events only say when to look; what is compared is the
 * file itself, so a lost event costs nothing that the next one does not bring.
 */
#include "cli/watch.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/say.h"

#define QUIET_NS 30000000u /* 30 ms without an event: an editor has finished */

static bool watch_folder(struct watch *watch, const char *file)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(file, '/');
    int length = slash ? (int)(slash - file) + 1 : 1;
    snprintf(folder, sizeof folder, "%.*s", length, slash ? file : ".");
    return inotify_add_watch(watch->fd, folder,
                             IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_ATTRIB) >= 0;
}

bool watch_start(struct watch *watch, const char *path)
{
    *watch = (struct watch){.path = path};
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char real[PATH_MAX];
    if (watch->fd < 0 || !watch_folder(watch, path) || stat(path, &watch->seen) < 0 ||
        (realpath(path, real) && !watch_folder(watch, real))) {
        say("--watch: %s cannot be watched: %s", path, strerror(errno));
        watch_finish(watch);
        return false;
    }
    return true;
}

void watch_finish(struct watch *watch)
{
    if (watch->fd >= 0)
        close(watch->fd);
    watch->fd = -1;
}

void watch_read(struct watch *watch, uint64_t now_ns)
{
    char events[4096];
    while (read(watch->fd, events, sizeof events) > 0)
        watch->due_ns = now_ns + QUIET_NS;
}

bool watch_changed(struct watch *watch, uint64_t now_ns)
{
    if (watch->due_ns == 0 || now_ns < watch->due_ns)
        return false;
    watch->due_ns = 0;
    struct stat now;
    if (stat(watch->path, &now) < 0)
        return false; /* between two steps of a replacement: its end is an event too */
    bool same = now.st_ino == watch->seen.st_ino && now.st_dev == watch->seen.st_dev &&
                now.st_size == watch->seen.st_size &&
                now.st_mtim.tv_sec == watch->seen.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == watch->seen.st_mtim.tv_nsec;
    watch->seen = now;
    return !same;
}
