/*
 * The life of one memory cgroup after another; cgroup.h tells the idea, cgroup_find.c finds the
 * place. All failures mean the same: no cgroup, and the host measures memory itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/cgroup.h"
#include "launcher/cgroup_files.h"

/* The text of a number as a directory's name. */
struct number_name {
    char text[24];
};

static struct number_name name_of(uint64_t number)
{
    struct number_name name;
    snprintf(name.text, sizeof(name.text), "%llu", (unsigned long long)number);
    return name;
}

static bool write_number(int dir, const char *name, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
    return cgroup_write(dir, name, text);
}

/* Moves this process into the cgroup of a directory. */
static bool move_to(int dir)
{
    return cgroup_write(dir, "cgroup.procs", "0");
}

/* Memory and swap together, where swap is counted. */
static bool set_limit(const struct cgroups *cgroups, int dir, uint64_t bytes)
{
    if (cgroups->v2) {
        cgroup_write(dir, "memory.swap.max", "0");
        return write_number(dir, "memory.max", bytes);
    }
    if (!write_number(dir, "memory.limit_in_bytes", bytes))
        return false;
    write_number(dir, "memory.memsw.limit_in_bytes", bytes);
    return true;
}

static void leave(struct cgroups *cgroups)
{
    uint64_t left = cgroups->here;
    if (!left || !move_to(cgroups->home))
        return;
    cgroups->here = 0;
    if (!cgroups->here_taken)
        unlinkat(cgroups->base, name_of(left).text, AT_REMOVEDIR);
}

void cgroups_prepare(struct cgroups *cgroups)
{
    if (!cgroups->usable || (cgroups->here && !cgroups->here_taken))
        return;
    uint64_t number = cgroups->counter + 1;
    struct number_name name = name_of(number);
    if (mkdirat(cgroups->base, name.text, 0755) < 0)
        return;
    int dir = openat(cgroups->base, name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0 && move_to(dir)) {
        cgroups->counter = cgroups->here = number;
        cgroups->here_taken = false;
    } else {
        unlinkat(cgroups->base, name.text, AT_REMOVEDIR);
    }
    if (dir >= 0)
        close(dir);
}

uint64_t cgroups_take(struct cgroups *cgroups, uint64_t limit_bytes)
{
    cgroups_prepare(cgroups);
    if (!cgroups->here || cgroups->here_taken) {
        /* It cannot get a fresh one: better born at home than in another helper's. */
        leave(cgroups);
        return 0;
    }
    int dir =
        openat(cgroups->base, name_of(cgroups->here).text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool set = dir >= 0 && (!limit_bytes || set_limit(cgroups, dir, limit_bytes));
    if (dir >= 0)
        close(dir);
    if (!set) {
        leave(cgroups);
        return 0;
    }
    cgroups->here_taken = true;
    return cgroups->here;
}

uint32_t cgroups_release(struct cgroups *cgroups, uint64_t number)
{
    if (!number)
        return 0;
    uint32_t kills = 0;
    struct number_name name = name_of(number);
    int dir = openat(cgroups->base, name.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir >= 0) {
        kills =
            cgroup_count(dir, cgroups->v2 ? "memory.events" : "memory.oom_control", "oom_kill ");
        close(dir);
    }
    if (cgroups->here == number) {
        cgroups_prepare(cgroups);
        if (cgroups->here == number)
            leave(cgroups);
    }
    unlinkat(cgroups->base, name.text, AT_REMOVEDIR);
    return kills;
}

void cgroups_open_at(struct cgroups *cgroups, int home, bool v2)
{
    *cgroups = (struct cgroups){.v2 = v2, .home = -1, .base = -1, .above = -1};
    int above = cgroup_place(home, v2);
    if (above < 0)
        return;
    cgroup_clear_stale(above);
    snprintf(cgroups->name, sizeof(cgroups->name), "halter-%d-%llu", (int)getpid(),
             cgroup_start_time(getpid()));
    bool made = mkdirat(above, cgroups->name, 0755) == 0;
    int base = made ? openat(above, cgroups->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (base >= 0 && v2)
        cgroup_write(base, "cgroup.subtree_control", "+memory");
    int kept = base >= 0 ? fcntl(home, F_DUPFD_CLOEXEC, 5) : -1;
    if (kept >= 0 && cgroup_is_memory(base, v2)) {
        cgroups->usable = true;
        cgroups->home = kept;
        cgroups->base = base;
        cgroups->above = above;
        return;
    }
    if (kept >= 0)
        close(kept);
    if (base >= 0)
        close(base);
    if (made)
        unlinkat(above, cgroups->name, AT_REMOVEDIR);
    close(above);
}

void cgroups_open(struct cgroups *cgroups)
{
    bool v2 = false;
    int home = cgroup_home(&v2);
    cgroups_open_at(cgroups, home, v2);
    if (home >= 0)
        close(home);
}

void cgroups_close(struct cgroups *cgroups)
{
    if (!cgroups->usable)
        return;
    move_to(cgroups->home);
    cgroup_clear(cgroups->above, cgroups->name);
    close(cgroups->home);
    close(cgroups->base);
    close(cgroups->above);
    *cgroups = (struct cgroups){.home = -1, .base = -1, .above = -1};
}
