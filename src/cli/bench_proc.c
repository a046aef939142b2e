/*
 * What the kernel says of processes: memory, mappings, and what one of ours has left behind.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bench.h"

static unsigned entries(const char *path)
{
    DIR *folder = opendir(path);
    unsigned count = 0;
    if (!folder)
        return 0;
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static unsigned lines(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned count = 0;
    int c;
    if (!file)
        return 0;
    while ((c = getc(file)) != EOF)
        count += c == '\n';
    fclose(file);
    return count;
}

/* The parent of a process, from the second field behind its name, which may hold anything. */
static pid_t parent_of(const char *pid)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    char *behind = strrchr(text, ')');
    int parent = 0;
    if (behind)
        sscanf(behind + 1, " %*c %d", &parent);
    return parent;
}

/* Of any generation: whoever lives below this process. */
static unsigned descendants(pid_t of)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *folder = opendir("/proc");
    if (!folder)
        return 0;
    while ((entry = readdir(folder)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == of)
            count += 1 + descendants(atoi(entry->d_name));
    closedir(folder);
    return count;
}

/* Directories "halter-PID-…" of launchers below the usual places of cgroups. */
static unsigned launcher_groups(const char *path, unsigned depth)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    while ((entry = readdir(folder))) {
        char below[4096];
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        if (strncmp(entry->d_name, "halter-", 7) == 0)
            count++;
        else if (depth > 0 && (size_t)snprintf(below, sizeof below, "%s/%s", path, entry->d_name) <
                                  sizeof below)
            count += launcher_groups(below, depth - 1);
    }
    closedir(folder);
    return count;
}

void bench_residue(struct residue *residue)
{
    residue->descriptors = entries("/proc/self/fd");
    residue->mappings = lines("/proc/self/maps");
    residue->children = descendants(getpid());
    residue->cgroups = launcher_groups("/sys/fs/cgroup", 4);
}

/* The sum of the lines of smaps_rollup that begin with `label`, in bytes. */
static uint64_t rollup(pid_t pid, const char *label)
{
    char path[64], line[256];
    uint64_t kib, sum = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, label, strlen(label)) == 0 &&
            sscanf(colon + 1, "%" SCNu64, &kib) == 1)
            sum += kib << 10;
    }
    fclose(file);
    return sum;
}

uint64_t bench_private_bytes(pid_t pid)
{
    return rollup(pid, "Private_Clean:") + rollup(pid, "Private_Dirty:");
}

uint64_t bench_proportional_bytes(pid_t pid)
{
    return rollup(pid, "Pss:");
}

bool bench_maps_code(pid_t pid, uint64_t *bytes)
{
    char path[64], line[4200];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    *bytes = 0;
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        uint64_t from, to;
        unsigned long inode;
        char rights[8];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*s %lu", &from, &to, rights, &inode) ==
                4 &&
            strncmp(rights, "rwx", 3) == 0 && inode == 0)
            *bytes += to - from;
    }
    fclose(file);
    return *bytes > 0;
}
