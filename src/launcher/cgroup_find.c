/*
 * Finds the memory cgroup that this process is in, and the place where others may be made.
 *
 * Version 1: below its own. Version 2 allows children with controllers only below a cgroup that
 * has no processes, so: below its own where that works (the root), else beside it where the parent
 * was delegated to it, which the service manager marks with an extended attribute. A place that
 * was not delegated would take helpers out of the limits that the administrator set.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "launcher/cgroup_files.h"

/* Reads a small file as text. */
static bool read_text(int dir, const char *name, char *out, size_t capacity)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got;
    do {
        got = read(fd, out, capacity - 1);
    } while (got < 0 && errno == EINTR);
    close(fd);
    out[got > 0 ? got : 0] = 0;
    return got > 0;
}

bool cgroup_write(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t put;
    do {
        put = write(fd, text, strlen(text));
    } while (put < 0 && errno == EINTR);
    close(fd);
    return put == (ssize_t)strlen(text);
}

uint32_t cgroup_count(int dir, const char *name, const char *key)
{
    char text[1024];
    if (!read_text(dir, name, text, sizeof(text)))
        return 0;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, strlen(key)))
            return (uint32_t)strtoul(line + strlen(key), NULL, 10);
    }
    return 0;
}

unsigned long long cgroup_start_time(pid_t pid)
{
    char path[32], text[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (!read_text(AT_FDCWD, path, text, sizeof(text)))
        return 0;
    /* Field 22; the second, the name, may hold anything and ends at the last parenthesis. */
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        ticks = strtoull(at, NULL, 10);
    return ticks;
}

bool cgroup_is_memory(int dir, bool v2)
{
    return faccessat(dir, v2 ? "memory.max" : "memory.limit_in_bytes", W_OK, 0) == 0 &&
           faccessat(dir, "cgroup.procs", W_OK, 0) == 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || strchr(" ,", at[-1])) && (!at[length] || strchr(" ,\n:", at[length])))
            return true;
    return false;
}

/* The path of this process in one hierarchy, from a line "number:controllers:path". */
static bool own_path(FILE *file, bool v2, char *out, size_t capacity)
{
    char line[4352];
    while (fgets(line, sizeof(line), file)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool this_one = v2 ? !strncmp(line, "0:", 2) : has_word(controllers + 1, "memory");
        if (this_one && strlen(path) < capacity) {
            strcpy(out, path);
            return true;
        }
    }
    return false;
}

/*
 * One line of mountinfo (proc(5)): "… root mount-point options … - type source super-options".
 * The mount point of the hierarchy wanted, and the root of it that is mounted there.
 */
static bool is_hierarchy(char *line, bool v2, char **root, char **point)
{
    char *dash = strstr(line, " - ");
    if (!dash)
        return false;
    *dash = 0;
    char *rest = dash + 3, *save = NULL;
    char *type = strtok_r(rest, " ", &save), *options = NULL;
    strtok_r(NULL, " ", &save);
    options = strtok_r(NULL, " \n", &save);
    if (!type || !options || strcmp(type, v2 ? "cgroup2" : "cgroup"))
        return false;
    if (!v2 && !has_word(options, "memory"))
        return false;
    strtok_r(line, " ", &save); /* id, parent, device */
    strtok_r(NULL, " ", &save);
    strtok_r(NULL, " ", &save);
    *root = strtok_r(NULL, " ", &save);
    *point = strtok_r(NULL, " ", &save);
    return *root && *point;
}

/* Opens `path` of a hierarchy through the mount that shows it. */
static int open_through(FILE *mounts, bool v2, const char *path)
{
    char line[4352], full[8704], *root, *point;
    while (fgets(line, sizeof(line), mounts)) {
        if (!is_hierarchy(line, v2, &root, &point))
            continue;
        size_t shown = strcmp(root, "/") ? strlen(root) : 0;
        if (strncmp(path, root, shown))
            continue;
        snprintf(full, sizeof(full), "%s%s", point, path + shown);
        int dir = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (dir >= 0)
            return dir;
    }
    return -1;
}

static int open_home(bool v2)
{
    char path[4096];
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool known = file && own_path(file, v2, path, sizeof(path));
    if (file)
        fclose(file);
    if (!known)
        return -1;
    file = fopen("/proc/self/mountinfo", "re");
    int dir = file ? open_through(file, v2, path) : -1;
    if (file)
        fclose(file);
    return dir;
}

int cgroup_home(bool *v2)
{
    *v2 = false;
    int dir = open_home(false);
    if (dir < 0) {
        *v2 = true;
        dir = open_home(true);
    }
    return dir;
}

static bool passes_memory_on(int dir)
{
    char text[512];
    if (read_text(dir, "cgroup.subtree_control", text, sizeof(text)) && has_word(text, "memory"))
        return true;
    return cgroup_write(dir, "cgroup.subtree_control", "+memory");
}

static bool is_delegated(int dir)
{
    char mark = 0;
    return (fgetxattr(dir, "user.delegate", &mark, 1) == 1 ||
            fgetxattr(dir, "trusted.delegate", &mark, 1) == 1) &&
           mark == '1';
}

int cgroup_place(int home, bool v2)
{
    if (home < 0)
        return -1;
    if (!v2 || passes_memory_on(home))
        return fcntl(home, F_DUPFD_CLOEXEC, 5);
    int parent = openat(home, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0 && is_delegated(parent) && passes_memory_on(parent))
        return parent;
    if (parent >= 0)
        close(parent);
    return -1;
}

void cgroup_clear(int above, const char *name)
{
    int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    unlinkat(above, name, AT_REMOVEDIR);
}

void cgroup_clear_stale(int above)
{
    int fd = openat(above, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        int pid;
        unsigned long long start;
        if (sscanf(entry->d_name, "halter-%d-%llu", &pid, &start) == 2 &&
            cgroup_start_time(pid) != start)
            cgroup_clear(above, entry->d_name);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
}
