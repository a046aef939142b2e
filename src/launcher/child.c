/*
 * The child's side of a fork: it leaves the launcher's session, ties its life to the launcher's,
 * sorts its descriptors and goes on to helper_main(), directly or, where the profile asks for an
 * address-space layout of its own, through an exec of the same program. The rest of what a helper
 * must not have (rights, system calls) is taken from it there, in src/helper.
 *
 *   0, 1  /dev/null      2  the stderr pipe      3  its socket      4  the status page (exec only)
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helper/helper.h"
#include "launcher/launcher.h"
#include "wire/body.h"

#define SOCKET_FD  HELPER_SOCKET_FD
#define STATUS_FD  HELPER_STATUS_FD
#define EXIT_BIRTH 69 /* no helper came of it: the same step would fail for the next one */

/* The kernel, when memory is short, is to take helpers and not the application. */
static void volunteer_for_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (write(fd, "1000", 4) < 0) {
            /* Raising is always allowed; without /proc the kernel chooses by size. */
        }
        close(fd);
    }
}

static bool sort_descriptors(const struct birth *birth)
{
    int status = birth->helper->status_fd;
    if (dup2(birth->stderr_pipe, 2) < 0 || dup2(birth->socket, SOCKET_FD) < 0)
        return false;
    if (status >= 0 &&
        (status == STATUS_FD ? fcntl(status, F_SETFD, 0) : dup2(status, STATUS_FD)) < 0)
        return false;
    return close_range(status >= 0 ? STATUS_FD + 1 : SOCKET_FD + 1, ~0u, 0) == 0;
}

/* The signal mask is emptied last: until then no signal finds a child that is half made. */
static bool settle(const struct birth *birth)
{
    sigset_t none;
    sigemptyset(&none);
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != birth->launcher)
        return false;
    volunteer_for_oom();
    prctl(PR_SET_NAME, "halter-helper");
    prctl(PR_SET_TIMERSLACK, 50000UL); /* the usual one again: the launcher has a finer one */
    return sort_descriptors(birth) && sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

/* A program that lies beside the launcher, in the build folder as where they are installed. */
static void execute_beside(char *name, char *const *arguments)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - strlen(name) - 1);
    if (length <= 0)
        return;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return;
    strcpy(slash + 1, name);
    execve(path, arguments, environ);
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
}

static void execute(const struct helper *helper)
{
    char text[HELPER_PROFILE_TEXT], option[] = "--helper";
    char services[] = "halter-services", pc[] = "halter-pc", name[] = "halter-helper";
    char *arguments[] = {name, option, text, NULL};
    helper_profile_print(text, &helper->profile, helper->generation);
    switch (helper->profile.kind) {
    case WIRE_HELPER_SERVICES:
        arguments[0] = services;
        arguments[1] = NULL;
        execute_beside(services, arguments);
        break;
    case WIRE_HELPER_PC:
        arguments[0] = pc;
        execute_beside(pc, arguments);
        break;
    default:
        execve("/proc/self/exe", arguments, environ);
    }
}

void child_run(const struct birth *birth)
{
    const struct helper *helper = birth->helper;
    if (!settle(birth))
        _exit(EXIT_BIRTH);
    if (helper->profile.kind != WIRE_HELPER_JS || helper->profile.flags & CONTROL_EXEC) {
        execute(helper);
        _exit(EXIT_BIRTH);
    }
    struct helper_start start = {
        .socket = SOCKET_FD,
        .status = helper->status,
        .profile = helper->profile,
        .generation = helper->generation,
    };
    _exit(helper_main(&start));
}

int child_resume(int count, char **arguments)
{
    struct helper_start start;
    if (!helper_resume(&start, count, arguments)) {
        fputs("halter-launcher is started by libhalter, not by hand.\n", stderr);
        return LAUNCHER_EXIT_SETUP;
    }
    prctl(PR_SET_NAME, "halter-helper");
    return helper_main(&start);
}
