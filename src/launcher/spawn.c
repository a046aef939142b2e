/*
 * SPAWN: everything a helper needs is made first, then it is forked; whatever fails is undone in
 * reverse and reported as SPAWNED with the errno. The parent's side of a fork is here, the child's
 * in child.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/launcher.h"

#define STATUS_BYTES 4096

/* A helper that never was: its SPAWNED has no struct to wait in but the launcher's own. */
static void refuse(struct launcher *launcher, uint64_t generation, int error)
{
    launcher->refusal = (struct report){
        .message = {.type = CONTROL_SPAWNED, .generation = generation, .spawned = {.error = error}},
        .fd = -1,
    };
    launcher->refusing = true;
    control_queue(launcher, &launcher->refusal);
}

/* What is wrong with a SPAWN, as an errno. */
static int check(const struct launcher *launcher, const struct control_message *message,
                 const int fds[SPAWN_FDS])
{
    for (int i = 0; i < SPAWN_FDS; i++)
        if (fds[i] < 0)
            return EMFILE; /* the kernel had no room to hand it over */
    if (message->generation == 0 || message->spawn.slot >= CONTROL_SLOTS)
        return EINVAL;
    for (const struct helper *other = launcher->helpers; other; other = other->next) {
        if (other->generation == message->generation)
            return EEXIST;
        if (other->slot == message->spawn.slot)
            return EBUSY;
    }
    return 0;
}

/*
 * The page for the helper's last words. It is kept out of every later fork: one helper must not
 * see what another may write. An exec would lose an anonymous mapping, so there it is a memfd.
 */
static bool make_status(struct helper *helper)
{
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    if (helper->profile.flags & CONTROL_EXEC) {
        helper->status_fd = memfd_create("halter-status", MFD_CLOEXEC);
        if (helper->status_fd < 0 || ftruncate(helper->status_fd, STATUS_BYTES) < 0)
            return false;
        flags = MAP_SHARED;
    }
    void *page = mmap(NULL, STATUS_BYTES, PROT_READ | PROT_WRITE, flags, helper->status_fd, 0);
    if (page == MAP_FAILED)
        return false;
    helper->status = page;
    helper->status->syscall_number = -1;
    return true;
}

void helper_release(struct helper *helper)
{
    if (helper->status)
        munmap(helper->status, STATUS_BYTES);
    if (helper->status_fd >= 0)
        close(helper->status_fd);
    if (helper->host_end >= 0)
        close(helper->host_end);
    helper->status = NULL;
    helper->status_fd = helper->host_end = -1;
}

/* Kills a child that cannot be handed over; waits for it, which takes no time: it has done nothing.
 */
static void take_back(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Forks and gets the pidfd. An errno. */
static int give_birth(struct launcher *launcher, struct helper *helper, int socket, int stderr_pipe)
{
    struct birth birth = {
        .helper = helper,
        .socket = socket,
        .stderr_pipe = stderr_pipe,
        .launcher = launcher->pid,
    };
    helper->cgroup = cgroups_take(&launcher->cgroups, helper->profile.memory_bytes);
    helper->spawned_ns = launcher_now_ns();
    helper->pid = fork();
    if (helper->pid == 0)
        child_run(&birth);
    int error = errno;
    if (helper->pid > 0) {
        helper->spawned.fd = pidfd_open(helper->pid, 0);
        if (helper->spawned.fd >= 0 && madvise(helper->status, STATUS_BYTES, MADV_DONTFORK) == 0)
            return 0;
        error = errno;
        take_back(helper->pid);
        if (helper->spawned.fd >= 0)
            close(helper->spawned.fd);
    }
    cgroups_release(&launcher->cgroups, helper->cgroup);
    return error;
}

static struct helper *make_helper(const struct control_message *message, int host_end)
{
    struct helper *helper = calloc(1, sizeof(*helper));
    if (!helper)
        return NULL;
    helper->profile = message->spawn.profile;
    helper->generation = message->generation;
    helper->slot = message->spawn.slot;
    helper->host_end = host_end;
    helper->status_fd = -1;
    helper->spawned.fd = helper->exited.fd = -1;
    return helper;
}

void spawn(struct launcher *launcher, const struct control_message *message,
           const int fds[SPAWN_FDS])
{
    int error = check(launcher, message, fds);
    struct helper *helper = error ? NULL : make_helper(message, fds[1]);
    if (!error && !helper)
        error = ENOMEM;
    if (!error && !make_status(helper))
        error = errno;
    if (!error)
        error = give_birth(launcher, helper, fds[0], fds[2]);
    if (fds[0] >= 0)
        close(fds[0]);
    if (fds[2] >= 0)
        close(fds[2]);
    if (error) {
        if (helper)
            helper_release(helper);
        else if (fds[1] >= 0)
            close(fds[1]);
        free(helper);
        refuse(launcher, message->generation, error);
        return;
    }
    helper->next = launcher->helpers;
    launcher->helpers = helper;
    helper->spawned.message = (struct control_message){
        .type = CONTROL_SPAWNED,
        .generation = helper->generation,
        .spawned = {.pid = helper->pid, .features = helper->cgroup ? CONTROL_HAS_CGROUP : 0},
    };
    control_queue(launcher, &helper->spawned);
}
