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

static bool watch_file(struct watch *watch, int which)
{
    const char *path = watch->paths[which];
    char real[PATH_MAX];
    if (watch->fd >= 0 && watch_folder(watch, path) && stat(path, &watch->seen[which]) == 0 &&
        (!realpath(path, real) || watch_folder(watch, real)))
        return true;
    say("--watch: %s cannot be watched: %s", path, strerror(errno));
    return false;
}

bool watch_start(struct watch *watch, const char *path, const char *second)
{
    *watch = (struct watch){.paths = {path, second}};
    watch->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch_file(watch, 0) && (!second || watch_file(watch, 1)))
        return true;
    watch_finish(watch);
    return false;
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

static bool is_new(const char *path, struct stat *seen)
{
    struct stat now;
    if (!path || stat(path, &now) < 0)
        return false; /* between two steps of a replacement: its end is an event too */
    bool same = now.st_ino == seen->st_ino && now.st_dev == seen->st_dev &&
                now.st_size == seen->st_size && now.st_mtim.tv_sec == seen->st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == seen->st_mtim.tv_nsec;
    *seen = now;
    return !same;
}

bool watch_changed(struct watch *watch, uint64_t now_ns)
{
    if (watch->due_ns == 0 || now_ns < watch->due_ns)
        return false;
    watch->due_ns = 0;
    bool first = is_new(watch->paths[0], &watch->seen[0]);
    bool second = is_new(watch->paths[1], &watch->seen[1]);
    return first || second;
}
