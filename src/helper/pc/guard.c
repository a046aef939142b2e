/* guard.c: see guard.h. */
#include "guard.h"

#include "halter/halter.h"
#include "helper/confine.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 500 /* how often the pulse is felt */

/* The child may keep the file it is to write; everything else that was open stays behind. */
static bool close_all_but(int keep_fd)
{
    if (keep_fd < 3)
        return close_range(3, ~0u, 0) == 0;
    return (keep_fd == 3 || close_range(3, (unsigned)keep_fd - 1, 0) == 0) &&
           close_range((unsigned)keep_fd + 1, ~0u, 0) == 0;
}

/* The whole compartment. Executable memory is refused: a PC interprets. */
static bool confine(int keep_fd)
{
    struct confinement confinement = {0};
    struct helper_start start = {
        .socket = -1,
        .profile = {.flags = CONTROL_NO_JIT,
                    .skip_layers = HALTER_LAYER_BIT(HALTER_LAYER_CLOSED_FDS)},
    };

    return close_all_but(keep_fd) && confine_before_engine(&confinement, &start) &&
           confine_after_engine(&confinement, &start);
}

static _Noreturn void run_child(int (*child)(void *opaque, struct guard_pulse *pulse), void *opaque,
                                int keep_fd, struct guard_pulse *pulse, pid_t parent)
{
    sigset_t none;
    int status;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that was asked for */
        _exit(EXIT_FAILURE);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!confine(keep_fd))
        _exit(EXIT_FAILURE);
    status = child(opaque, pulse);
    fflush(NULL);
    _exit(status); /* what runs at an exit may ask for more than the compartment grants */
}

/* Waits for the child's end, a signal of ours, or a pulse that has stopped. */
static struct guard_result watch(int pidfd, int signals, struct guard_pulse *pulse,
                                 uint32_t stall_ms)
{
    uint64_t beats = 0;
    uint32_t still_ms = 0;

    for (;;) {
        struct pollfd fds[2] = {{.fd = pidfd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        struct signalfd_siginfo info;

        if (poll(fds, 2, LOOK_MS) < 0 && errno != EINTR)
            return (struct guard_result){.end = GUARD_FAILED};
        if (fds[0].revents)
            return (struct guard_result){.end = GUARD_EXITED};
        if (fds[1].revents && read(signals, &info, sizeof info) == (ssize_t)sizeof info)
            return (struct guard_result){GUARD_SIGNAL, (int)info.ssi_signo};
        if (atomic_load(&pulse->beats) != beats || atomic_load(&pulse->napping))
            still_ms = 0;
        else if ((still_ms += LOOK_MS) >= stall_ms)
            return (struct guard_result){.end = GUARD_STALLED};
        beats = atomic_load(&pulse->beats);
    }
}

/* The last word, and then the truth about how the child ended. */
static void reap(pid_t child, struct guard_result *result)
{
    siginfo_t info = {0};

    if (result->end != GUARD_EXITED)
        kill(child, SIGKILL);
    while (waitid(P_PID, (id_t)child, &info, WEXITED) < 0 && errno == EINTR)
        continue;
    if (result->end != GUARD_EXITED)
        return;
    result->status = info.si_status;
    if (info.si_code != CLD_EXITED)
        result->end = GUARD_KILLED;
}

struct guard_result guard_run(int (*child)(void *opaque, struct guard_pulse *pulse), void *opaque,
                              int keep_fd, uint32_t stall_ms)
{
    struct guard_result result = {.end = GUARD_FAILED};
    struct guard_pulse *pulse =
        mmap(NULL, sizeof *pulse, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t self = getpid(), pid = -1;
    int pidfd = -1, signals;
    sigset_t ours, before;

    if (pulse == MAP_FAILED)
        return result;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &before);
    signals = signalfd(-1, &ours, SFD_CLOEXEC);
    if (signals >= 0)
        pid = fork();
    if (pid == 0)
        run_child(child, opaque, keep_fd, pulse, self);
    if (pid > 0) {
        pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (pidfd >= 0)
            result = watch(pidfd, signals, pulse, stall_ms);
        reap(pid, &result);
    }
    if (pidfd >= 0)
        close(pidfd);
    if (signals >= 0)
        close(signals);
    sigprocmask(SIG_SETMASK, &before, NULL);
    munmap(pulse, sizeof *pulse);
    return result;
}
