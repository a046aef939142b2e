/*
 * How a helper can come to its end, or refuse to: statuses, signals, loops, memory, and what it
 * may leave behind. And what it knows of itself, for the tests of the launcher.
 */
#include "fake.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IS(word) (!strcmp(verb, word))

static _Noreturn void stall(void)
{
    for (;;)
        pause();
}

static _Noreturn void hang(void)
{
    for (volatile unsigned turns = 0;; turns++)
        continue;
}

static void burn(const char *rest)
{
    double wanted = strtod(rest, NULL) / 1000;
    while ((double)clock() / CLOCKS_PER_SEC < wanted)
        continue;
}

/* Touches every page, and keeps them. */
static void allocate(const char *rest)
{
    char *unit;
    size_t bytes = strtoull(rest, &unit, 0);
    switch (toupper((unsigned char)*unit)) {
    case 'G':
        bytes <<= 10;
        __attribute__((fallthrough));
    case 'M':
        bytes <<= 10;
        __attribute__((fallthrough));
    case 'K':
        bytes <<= 10;
        break;
    default:
        break;
    }
    char *memory = malloc(bytes);
    if (!memory)
        _exit(1);
    for (size_t at = 0; at < bytes; at += 4096)
        ((volatile char *)memory)[at] = 1;
}

static void trap(struct fake *fake, const char *rest)
{
    if (fake->start->status)
        fake->start->status->syscall_number = atoi(rest);
    raise(SIGSYS);
}

/* Leaves a child behind and answers with its pid. */
static void orphan(struct fake *fake, const struct moment *moment)
{
    char json[24];
    pid_t pid = fork();
    if (pid == 0) {
        close(fake->start->socket);
        close(2);
        stall();
    }
    snprintf(json, sizeof(json), "%d", (int)pid);
    fake_value(fake, moment->id, json);
}

bool fake_die(struct fake *fake, const struct moment *moment, const char *verb, const char *rest)
{
    if (IS("exit"))
        _exit(atoi(rest));
    else if (IS("signal"))
        signal(atoi(rest), SIG_DFL), raise(atoi(rest));
    else if (IS("abort"))
        abort();
    else if (IS("trap"))
        trap(fake, rest);
    else if (IS("hang"))
        hang();
    else if (IS("stall"))
        stall();
    else if (IS("allocate"))
        allocate(rest);
    else if (IS("burn"))
        burn(rest);
    else if (IS("close"))
        close(fake->start->socket), stall();
    else if (IS("shutdown"))
        shutdown(fake->start->socket, SHUT_WR), stall();
    else if (IS("orphan"))
        orphan(fake, moment);
    else
        return false;
    return true;
}

/* The descriptors that are open, as a JSON array. */
static void tell_fds(FILE *out)
{
    DIR *dir = opendir("/proc/self/fd");
    const char *comma = "";
    fputs("[", out);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.' || atoi(entry->d_name) == dirfd(dir))
            continue;
        fprintf(out, "%s%s", comma, entry->d_name);
        comma = ",";
    }
    if (dir)
        closedir(dir);
    fputs("]", out);
}

/* A file of /proc, printable bytes only, as a JSON string. */
static void tell_file(FILE *out, const char *path, const char *wanted)
{
    char line[4096];
    FILE *in = fopen(path, "re");
    fputs("\"", out);
    while (in && fgets(line, sizeof(line), in))
        if (!wanted || strstr(line, wanted))
            for (char *at = line; *at && *at != '\n'; at++)
                fputc(*at == '"' || *at == '\\' || *at < ' ' ? '?' : *at, out);
    if (in)
        fclose(in);
    fputs("\"", out);
}

/* Everything in the initial environment that is not zero, as a count of bytes. */
static size_t environment_bytes(void)
{
    char bytes[65536];
    int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
    size_t count = 0;
    for (ssize_t got; (got = read(fd, bytes, sizeof(bytes))) > 0;)
        for (ssize_t i = 0; i < got; i++)
            count += bytes[i] != 0;
    close(fd);
    return count;
}

static void report(struct fake *fake, const struct moment *moment)
{
    char *json = NULL, name[17] = "";
    size_t length;
    int death = 0;
    FILE *out = open_memstream(&json, &length);
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_NAME, name);
    fprintf(out, "{\"pid\":%d,\"ppid\":%d,\"sid\":%d,\"pdeathsig\":%d,\"name\":\"%s\"",
            (int)getpid(), (int)getppid(), (int)getsid(0), death, name);
    fprintf(out,
            ",\"generation\":%llu,\"cap\":%u,\"fds\":", (unsigned long long)fake->start->generation,
            fake->start->profile.cap);
    tell_fds(out);
    fputs(",\"variables\":[", out);
    for (char **entry = environ; entry && *entry; entry++)
        fprintf(out, "%s\"%s\"", entry == environ ? "" : ",", *entry);
    fprintf(out, "],\"environment_bytes\":%zu", environment_bytes());
    static const char *const lines[] = {"SigBlk", "SigIgn", "SigCgt"};
    for (int i = 0; i < 3; i++) {
        fprintf(out, ",\"%s\":", lines[i]);
        tell_file(out, "/proc/self/status", lines[i]);
    }
    fputs(",\"oom_score_adj\":", out);
    tell_file(out, "/proc/self/oom_score_adj", NULL);
    fputs(",\"shared\":", out);
    tell_file(out, "/proc/self/maps", "rw-s");
    fputs(",\"cgroup\":", out);
    tell_file(out, "/proc/self/cgroup", "memory");
    char cwd[256];
    fprintf(out, ",\"cwd\":\"%s\"}", getcwd(cwd, sizeof(cwd)) ? cwd : "");
    fclose(out);
    fake_send(fake, WIRE_VALUE, 0, moment->id, json, length);
    free(json);
}

bool fake_tell(struct fake *fake, const struct moment *moment, const char *verb, const char *rest)
{
    char json[24];
    (void)rest;
    if (IS("report")) {
        report(fake, moment);
    } else if (IS("pid")) {
        snprintf(json, sizeof(json), "%d", (int)getpid());
        fake_value(fake, moment->id, json);
    } else {
        return false;
    }
    return true;
}
