/*
 * Where memory cgroups are on this system and how their files are read and written: version 1 and
 * version 2 differ here and in three file names of cgroup.c, nowhere else.
 */
#ifndef HALTER_LAUNCHER_CGROUP_FILES_H
#define HALTER_LAUNCHER_CGROUP_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The directory of the memory cgroup that this process is in, or -1. */
int cgroup_home(bool *v2);
/* The directory that cgroups for helpers may be made below (a new descriptor), or -1. */
int cgroup_place(int home, bool v2);
/* Whether a cgroup made there really limits memory. */
bool cgroup_is_memory(int dir, bool v2);
bool cgroup_write(int dir, const char *name, const char *text);
/* The number behind `key` at the start of a line of a file; 0 when it is not there. */
uint32_t cgroup_count(int dir, const char *name, const char *key);
/* Removes a directory of empty cgroups. */
void cgroup_clear(int above, const char *name);
/* Removes those of launchers that are no more. */
void cgroup_clear_stale(int above);
/* When a process was started, in the kernel's ticks since boot; 0 when there is no such process. */
unsigned long long cgroup_start_time(pid_t pid);

#endif
