/*
 * Watches a file or two for a new version: written in place, replaced by a rename, or a symbolic link
 * that points elsewhere now. Editors do all three, in several steps, so a change is reported when
 * the file has been quiet for a moment.
 */
#ifndef HALTER_CLI_WATCH_H
#define HALTER_CLI_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct watch {
    int fd; /* inotify; -1 when nothing is watched */
    const char *paths[2]; /* the second may be NULL */
    struct stat seen[2];  /* the versions last reported */
    uint64_t due_ns;  /* look at the file then; 0: no event is pending */
};

/* `second` may be NULL. False when it cannot be had (said). */
bool watch_start(struct watch *watch, const char *path, const char *second);
void watch_finish(struct watch *watch);
/* Takes in events; call it when the descriptor is readable. */
void watch_read(struct watch *watch, uint64_t now_ns);
/* True once for each new version of either, when it is due. */
bool watch_changed(struct watch *watch, uint64_t now_ns);

#endif
