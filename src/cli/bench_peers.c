/*
 * What people would build instead, in the same run: programs of bench/peers, each of which speaks
 * to bench_side.c. They are installed by npm on demand; without it the run goes on without them,
 * and says so.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/say.h"

const char *const bench_harms[BENCH_HARMS] = {"while (true)", "deaf built-in", "memory bomb",
                                              "native crash"};

static const char *const peers[] = {"fork-vm", "worker", "isolated-vm", "quickjs"};
#define PEERS (sizeof peers / sizeof *peers)

static bool find_folder(struct bench *bench)
{
    static char found[4200];
    static const char *const places[] = {"../bench/peers", "../share/halter/bench/peers"};
    char program[4096];
    if (bench->peers_folder)
        return true;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(found, sizeof found, "%s/%s", program, places[i]);
        if (access(found, R_OK) == 0) {
            bench->peers_folder = found;
            return true;
        }
    }
    return false;
}

/* npm and its registry may both be missing: then so are the peers that come from there. */
static bool install(const char *folder)
{
    char path[4300];
    snprintf(path, sizeof path, "%s/node_modules/.complete", folder);
    if (access(path, F_OK) == 0)
        return true;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(folder) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
            execlp("sh", "sh", "./install.sh", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

bool bench_peers_start(struct bench *bench)
{
    char program[4300], answer[256];
    if (!find_folder(bench)) {
        say("peers: bench/peers was not found; --peers=FOLDER names it");
        return false;
    }
    if (!install(bench->peers_folder))
        say("peers: npm could not install all of them; those that are missing are left out");
    snprintf(program, sizeof program, "%s/peer.mjs", bench->peers_folder);
    for (size_t i = 0; i < PEERS; i++) {
        const char *argv[] = {"node",  "--expose-gc",      program,
                              peers[i], bench->plugin_path, bench->payload_path, NULL};
        struct side *side = bench_side_start(bench, peers[i], argv);
        if (side && bench_side_ask(side, "version", answer, sizeof answer) &&
            strncmp(answer, "missing", 7) != 0) {
            snprintf(side->name, sizeof side->name, "%.47s", answer);
            continue;
        }
        say("peers: %s is left out: %s", peers[i], side ? "it does not start here" : "no process");
        if (side) {
            bench_side_end(side);
            bench->nsides--;
        }
    }
    return bench->nsides > 0;
}

void bench_peers_sample(struct bench *bench, const char *what, unsigned count,
                        const char *series_name)
{
    for (unsigned i = 0; bench->want_peers && i < bench->nsides; i++) {
        struct side *side = &bench->sides[i];
        if (side->pid <= 0 || strcmp(side->name, "one process") == 0)
            continue;
        struct series *series =
            bench_series(bench, "µs", "%s: %s", side->name, series_name);
        series->peer = true;
        bench_side_samples(side, what, count, series);
    }
}

/* The same harm to a host of halter's: this process. What it says is what the call came to. */
static void own_survival(struct bench *bench, const char *const *kinds)
{
    static const char *const sources[BENCH_HARMS] = {
        "globalThis.transform = () => { while (true); };",
        "globalThis.transform = () => (new Array(5e7)).fill('x').join('y')"
        ".replaceAll('x', 'zz'.repeat(20)).length;",
        "globalThis.transform = () => { const all = [];"
        " for (;;) all.push(new Uint8Array(1 << 20).fill(1)); };",
        "globalThis.transform = () => 1;",
    };
    struct survival *survival = &bench->survivals[bench->nsurvivals++];
    struct halter_host *host = bench_host(bench, 1, NULL);
    snprintf(survival->name, sizeof survival->name, "halter %s", halter_version());
    for (int h = 0; h < BENCH_HARMS; h++) {
        struct halter_guest *guest = host ? bench_guest(host, sources[h], 500, NULL) : NULL;
        int status = HALTER_EINVAL;
        if (guest && bench_wait_ready(host, guest)) {
            /* No script can make a native crash here: a signal from outside stands for it. */
            if (strcmp(kinds[h], "crash") == 0)
                kill(halter_guest_pid(guest), SIGSEGV);
            status = bench_call(host, guest, "0", 1, NULL);
        }
        snprintf(survival->fate[h], sizeof survival->fate[h], "alive (%s)",
                 status ? halter_strerror(status) : "went through");
        halter_guest_destroy(guest);
    }
    halter_destroy(host);
}

void bench_peers_survival(struct bench *bench)
{
    static const char *const harms[BENCH_HARMS] = {"loop", "builtin", "memory", "crash"};
    own_survival(bench, harms);
    for (unsigned i = 0; bench->want_peers && i < bench->nsides; i++) {
        struct side *side = &bench->sides[i];
        if (side->pid <= 0 || bench->nsurvivals == BENCH_SIDES)
            continue;
        struct survival *survival = &bench->survivals[bench->nsurvivals++];
        snprintf(survival->name, sizeof survival->name, "%s", side->name);
        for (int h = 0; h < BENCH_HARMS; h++) {
            char command[32];
            snprintf(command, sizeof command, "harm %s", harms[h]);
            if (!bench_side_ask(side, command, survival->fate[h], sizeof survival->fate[h]))
                strcpy(survival->fate[h], "the host is gone");
        }
    }
}
