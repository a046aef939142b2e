/*
 * What a guest that has broken its engine can do with descriptors it was passed: a process that
 * confines itself with the helper's own code and then makes the system calls itself.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "halter/halter.h"
#include "helper/confine.h"

struct granted {
    int file, folder; /* both opened for reading */
    char path[256], path_folder[240];
};

static int result_of(long returned)
{
    return returned < 0 ? errno : 0;
}

static int read_file(const struct granted *granted)
{
    char bytes[16];
    return result_of(pread(granted->file, bytes, sizeof bytes, 0));
}

static int write_read_only(const struct granted *granted)
{
    return result_of(write(granted->file, "x", 1));
}

static int list_folder(const struct granted *granted)
{
    char bytes[1024];
    return result_of(syscall(SYS_getdents64, granted->folder, bytes, sizeof bytes));
}

static int open_path(const struct granted *granted)
{
    return result_of(open(granted->path, O_RDONLY | O_CLOEXEC));
}

static int openat_below(const struct granted *granted)
{
    return result_of(openat(granted->folder, "inner", O_RDONLY | O_CLOEXEC));
}

static int openat_above(const struct granted *granted)
{
    return result_of(openat(granted->folder, "../file", O_RDONLY | O_CLOEXEC));
}

/* The descriptor's file again, this time for writing. */
static int reopen_write(const struct granted *granted)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", granted->file);
    return result_of(open(path, O_WRONLY | O_CLOEXEC));
}

static int stat_below(const struct granted *granted)
{
    struct stat about;
    return result_of(fstatat(granted->folder, "inner", &about, 0));
}

static int signal_parent(const struct granted *granted)
{
    (void)granted;
    return result_of(kill(getppid(), 0));
}

static int udp_socket(const struct granted *granted)
{
    (void)granted;
    return result_of(socket(AF_INET, SOCK_DGRAM, 0));
}

static const struct {
    const char *name;
    int (*run)(const struct granted *granted);
} attacks[] = {
    {"read-file", read_file},       {"write-read-only", write_read_only},
    {"list-folder", list_folder},   {"open-path", open_path},
    {"openat-below", openat_below}, {"openat-above", openat_above},
    {"reopen-write", reopen_write}, {"stat-below", stat_below},
    {"signal-parent", signal_parent}, {"udp-socket", udp_socket},
};

enum tier { TIER_NONE, TIER_LANDLOCK, TIER_BOTH, TIERS };

/*
 * Only the layers in question: another uid would refuse some of it too, and hide what they do.
 * Without an engine in between, both halves follow each other.
 */
static bool confine(enum tier tier, int answer)
{
    struct confinement confinement = {0};
    struct helper_start start = {.socket = answer};
    uint32_t keep = HALTER_LAYER_BIT(HALTER_LAYER_NO_NEW_PRIVS) |
                    HALTER_LAYER_BIT(HALTER_LAYER_LANDLOCK_FS) |
                    HALTER_LAYER_BIT(HALTER_LAYER_LANDLOCK_NET) |
                    HALTER_LAYER_BIT(HALTER_LAYER_LANDLOCK_SCOPE);
    if (tier == TIER_NONE)
        return true;
    if (tier == TIER_BOTH)
        keep |= HALTER_LAYER_BIT(HALTER_LAYER_SECCOMP);
    start.profile.skip_layers = ~keep;
    return confine_before_engine(&confinement, &start) && confine_after_engine(&confinement, &start);
}

/* In a process of its own, whose answer is an errno; none comes from one that was killed. */
static void attack(const struct granted *granted, enum tier tier, size_t which)
{
    int answer[2], error = 0;
    if (pipe2(answer, O_CLOEXEC) < 0)
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (!confine(tier, answer[1]))
            _exit(3);
        error = attacks[which].run(granted);
        ssize_t ignored = write(answer[1], &error, sizeof error);
        (void)ignored;
        _exit(0);
    }
    close(answer[1]);
    ssize_t got = read(answer[0], &error, sizeof error);
    close(answer[0]);
    int status = 0;
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (got != sizeof error)
        printf(" %s", WIFEXITED(status) && WEXITSTATUS(status) == 3 ? "unconfined" : "killed");
    else
        printf(" %s", error ? strerrorname_np(error) : "ok");
}

static bool grant(struct granted *granted, const char *folder)
{
    char inner[256];
    snprintf(granted->path_folder, sizeof granted->path_folder, "%.200s/folder", folder);
    snprintf(granted->path, sizeof granted->path, "%.200s/file", folder);
    snprintf(inner, sizeof inner, "%.230s/inner", granted->path_folder);
    mkdir(granted->path_folder, 0700);
    close(open(granted->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    close(open(inner, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    granted->file = open(granted->path, O_RDONLY | O_CLOEXEC);
    granted->folder = open(granted->path_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return granted->file >= 0 && granted->folder >= 0;
}

static void withdraw(const struct granted *granted)
{
    unlinkat(granted->folder, "inner", 0);
    close(granted->file);
    close(granted->folder);
    unlink(granted->path);
    rmdir(granted->path_folder);
}

void attack_in_tiers(const char *folder, const char *operation)
{
    struct granted granted;
    bool ready = grant(&granted, folder);
    printf("%s", operation);
    for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
        for (int tier = 0; ready && tier < TIERS && strcmp(attacks[i].name, operation) == 0; tier++)
            attack(&granted, (enum tier)tier, i);
    printf("\n");
    withdraw(&granted);
}
