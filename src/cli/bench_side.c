/*
 * Other programs in the same run: each takes a command a line on its standard input and answers
 * with one line, so that whoever compares decides who works when.
 *
 *   NAME COUNT   ──►   that many samples in nanoseconds, with spaces between
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/say.h"

static void become(int in, int out, const char *const *argv)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

struct side *bench_side_start(struct bench *bench, const char *name, const char *const *argv)
{
    int to[2], from[2];
    if (bench->nsides == BENCH_SIDES || pipe2(to, O_CLOEXEC) < 0)
        return NULL;
    if (pipe2(from, O_CLOEXEC) < 0) {
        close(to[0]);
        close(to[1]);
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(to[0], from[1], argv);
    close(to[0]);
    close(from[1]);
    struct side *side = &bench->sides[bench->nsides++];
    *side = (struct side){.pid = pid, .to = fdopen(to[1], "w"), .from = fdopen(from[0], "r")};
    snprintf(side->name, sizeof side->name, "%s", name);
    if (!side->to || !side->from)
        die_without_memory();
    return side;
}

/* One line of any length, without its end; NULL when the program is gone. To be freed. */
static char *ask(struct side *side, const char *command)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length = -1;
    if (side->pid > 0 && fprintf(side->to, "%s\n", command) > 0 && fflush(side->to) == 0)
        length = getline(&line, &room, side->from);
    if (length > 0 && line[length - 1] == '\n') {
        line[length - 1] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

bool bench_side_ask(struct side *side, const char *command, char *answer, size_t capacity)
{
    char *line = ask(side, command);
    if (!line)
        return false;
    snprintf(answer, capacity, "%s", line);
    free(line);
    return true;
}

bool bench_side_samples(struct side *side, const char *what, unsigned count, struct series *to)
{
    char command[64];
    snprintf(command, sizeof command, "%s %u", what, count);
    char *line = ask(side, command);
    if (!line) {
        say("%s ended when asked for %s", side->name, what);
        return false;
    }
    char *at = line, *end;
    unsigned got = 0;
    for (;; at = end, got++) {
        double ns = strtod(at, &end);
        if (end == at)
            break;
        series_add(to, ns / 1000.0);
    }
    bool whole = *at == '\0' && got == count;
    if (!whole && strcmp(line, "none") != 0)
        say("%s, asked for %s: %.200s", side->name, what, line);
    free(line);
    return whole;
}

void bench_side_end(struct side *side)
{
    if (side->pid <= 0)
        return;
    fclose(side->to); /* the end of its input is the end of it */
    side->to = NULL;
    for (int tries = 0; tries < 200; tries++) {
        if (waitpid(side->pid, NULL, WNOHANG) != 0) {
            side->pid = 0;
            break;
        }
        usleep(10000);
    }
    if (side->pid > 0) {
        kill(side->pid, SIGKILL);
        waitpid(side->pid, NULL, 0);
    }
    fclose(side->from);
    side->pid = 0;
}
