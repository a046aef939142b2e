/*
 * Memory cgroups: one for each helper, below one for the launcher, where the system lets it make
 * them (version 1, or version 2 with delegation). A helper is never moved into its cgroup, which
 * can take some 20 ms: the launcher itself moves into a fresh one while it has nothing to do, and
 * the next helper is born there.
 *
 *   <the host's own cgroup>/halter-<pid>-<start time>/<number>
 */
#ifndef HALTER_LAUNCHER_CGROUP_H
#define HALTER_LAUNCHER_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroups {
    bool usable;
    bool v2;
    int home;         /* the directory that the launcher came from */
    int base;         /* its own, below home or below a delegated parent */
    char name[64];    /* of base */
    int above;        /* the directory that base is in */
    uint64_t counter; /* numbers given out */
    uint64_t here;    /* the cgroup that the launcher is in, 0: home */
    bool here_taken;  /* a helper was born in it */
};

/* Finds the place, clears what dead launchers left there and makes `base`. */
void cgroups_open(struct cgroups *cgroups);
/* The same at a place that is known: borrows `home`, a directory. */
void cgroups_open_at(struct cgroups *cgroups, int home, bool v2);
/* Moves the launcher into a fresh one, unless it is in one that is. */
void cgroups_prepare(struct cgroups *cgroups);
/* Prepares if need be, sets the limit (0: none); the number, or 0. The next fork is born there. */
uint64_t cgroups_take(struct cgroups *cgroups, uint64_t limit_bytes);
/* After the helper is reaped: how many OOM kills there were, and the cgroup is gone. */
uint32_t cgroups_release(struct cgroups *cgroups, uint64_t number);
/* Goes home and removes everything. */
void cgroups_close(struct cgroups *cgroups);

#endif
