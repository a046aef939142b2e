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
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "helper/helper.h"
#include "launcher/launcher.h"
#include "wire/body.h"

#define SOCKET_FD  3
#define STATUS_FD  4
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

static void execute(const struct helper *helper)
{
    const struct control_profile *p = &helper->profile;
    char text[192];
    snprintf(text, sizeof(text),
             "%" PRIu16 ",%" PRIu16 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32
             ",%" PRIu64,
             p->kind, p->flags, p->skip_layers, p->cap, p->memory_bytes, p->cpu_seconds, p->max_fds,
             helper->generation);
    char name[] = "halter-helper", option[] = "--helper";
    char *arguments[] = {name, option, text, NULL};
    execve("/proc/self/exe", arguments, environ);
}

/* It lies beside the launcher, in the build folder as where they are installed. */
static void execute_services(void)
{
    char path[PATH_MAX], name[] = "halter-services";
    char *arguments[] = {name, NULL};
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));
    if (length <= 0)
        return;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return;
    memcpy(slash + 1, name, sizeof(name));
    execve(path, arguments, environ);
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
}

void child_run(const struct birth *birth)
{
    const struct helper *helper = birth->helper;
    if (!settle(birth))
        _exit(EXIT_BIRTH);
    if (helper->profile.kind == WIRE_HELPER_SERVICES) {
        execute_services();
        _exit(EXIT_BIRTH);
    }
    if (helper->profile.flags & CONTROL_EXEC) {
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
    struct helper_start start = {.socket = SOCKET_FD};
    struct control_profile *p = &start.profile;
    if (count != 3 || strcmp(arguments[1], "--helper") ||
        sscanf(arguments[2],
               "%" SCNu16 ",%" SCNu16 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%" SCNu32 ",%" SCNu32
               ",%" SCNu64,
               &p->kind, &p->flags, &p->skip_layers, &p->cap, &p->memory_bytes, &p->cpu_seconds,
               &p->max_fds, &start.generation) != 8) {
        fputs("halter-launcher is started by libhalter, not by hand.\n", stderr);
        return LAUNCHER_EXIT_SETUP;
    }
    void *page =
        mmap(NULL, sizeof(*start.status), PROT_READ | PROT_WRITE, MAP_SHARED, STATUS_FD, 0);
    if (page == MAP_FAILED)
        return EXIT_BIRTH;
    start.status = page;
    close(STATUS_FD);
    prctl(PR_SET_NAME, "halter-helper");
    return helper_main(&start);
}
