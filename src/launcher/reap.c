/*
 * Deaths: who is dead, of what, and what it cost, as the kernel tells the parent and nobody else.
 * A helper's process group is killed before its leader is reaped, while the number cannot yet
 * belong to anyone else.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "launcher/launcher.h"

#define LAST_WAIT_NS 2000000000u /* for the kernel to tear down what was killed, at the end */

void helper_kill(struct helper *helper, uint32_t cause)
{
    if (!helper->pid || helper->cause)
        return;
    helper->cause = cause;
    kill(helper->pid, SIGKILL);
}

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_usec * 1000u;
}

static void fill_exited(struct control_message *message, const struct helper *helper, int status,
                        const struct rusage *usage)
{
    *message = (struct control_message){
        .type = CONTROL_EXITED,
        .generation = helper->generation,
        .exited = {.cause = helper->cause,
                   .syscall_number = helper->status->syscall_number,
                   .user_ns = timeval_ns(usage->ru_utime),
                   .system_ns = timeval_ns(usage->ru_stime),
                   .peak_bytes = (uint64_t)usage->ru_maxrss * 1024u,
                   .spawned_ns = helper->spawned_ns,
                   .exited_ns = launcher_now_ns()},
    };
    if (WIFEXITED(status)) {
        message->exited.code = CLD_EXITED;
        message->exited.status = WEXITSTATUS(status);
    } else {
        message->exited.code = WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED;
        message->exited.status = WTERMSIG(status);
    }
}

static struct helper *helper_of(const struct launcher *launcher, pid_t pid)
{
    struct helper *helper = launcher->helpers;
    while (helper && helper->pid != pid)
        helper = helper->next;
    return helper;
}

/* Reaps a child that is known to be dead. */
static void bury(struct launcher *launcher, pid_t pid)
{
    struct helper *helper = helper_of(launcher, pid);
    struct rusage usage;
    int status;
    pid_t reaped;
    kill(-pid, SIGKILL);
    do {
        reaped = wait4(pid, &status, 0, &usage);
    } while (reaped < 0 && errno == EINTR);
    if (reaped != pid || !helper)
        return;
    fill_exited(&helper->exited.message, helper, status, &usage);
    helper->pid = 0;
    helper->exited.message.exited.oom_kills = cgroups_release(&launcher->cgroups, helper->cgroup);
    helper_release(helper);
    control_queue(launcher, &helper->exited);
}

/* The next dead child, not yet reaped; 0 when there is none. */
static pid_t next_dead(void)
{
    siginfo_t info = {0};
    int found;
    do {
        found = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT);
    } while (found < 0 && errno == EINTR);
    return found < 0 ? 0 : info.si_pid;
}

void reap(struct launcher *launcher)
{
    for (pid_t pid = next_dead(); pid; pid = next_dead())
        bury(launcher, pid);
}

static bool any_alive(const struct launcher *launcher)
{
    for (const struct helper *helper = launcher->helpers; helper; helper = helper->next)
        if (helper->pid)
            return true;
    return false;
}

void reap_all(struct launcher *launcher)
{
    uint64_t until = launcher_now_ns() + LAST_WAIT_NS;
    struct timespec moment = {.tv_nsec = 5000000};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (struct helper *helper = launcher->helpers; helper; helper = helper->next)
        helper_kill(helper, CONTROL_CAUSE_KILL);
    reap(launcher);
    while (any_alive(launcher) && launcher_now_ns() < until) {
        sigtimedwait(&child, NULL, &moment);
        reap(launcher);
    }
    while (launcher->helpers) {
        if (launcher->helpers->spawned.fd >= 0)
            close(launcher->helpers->spawned.fd);
        helper_free(launcher, launcher->helpers);
    }
}

void helper_free(struct launcher *launcher, struct helper *helper)
{
    struct helper **link = &launcher->helpers;
    while (*link != helper)
        link = &(*link)->next;
    *link = helper->next;
    helper_release(helper);
    free(helper);
}
