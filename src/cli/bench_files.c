/*
 * E7: what descriptors that were passed give, in three tiers: no sandbox, Landlock, Landlock and
 * the filter of system calls. halter-bench-engine takes the place of a guest that has broken its
 * engine: it confines itself with the helper's own code, then attacks.
 *
 * A line of its output:  OPERATION NONE LANDLOCK BOTH   where each is ok, killed or an errno's name
 */
#include <string.h>

#include "cli/bench.h"
#include "cli/say.h"

static const struct {
    const char *operation, *none, *landlock, *both;
} expected[] = {
    /* What is granted works in every tier; everything else must end at the second or the third. */
    {"read-file", "ok", "ok", "ok"},
    {"write-read-only", "EBADF", "EBADF", "EBADF"},
    {"list-folder", "ok", "ok", "ok"},
    {"open-path", "ok", "EACCES", "EACCES"},
    {"openat-below", "ok", "EACCES", "EACCES"},
    {"openat-above", "ok", "EACCES", "EACCES"},
    {"reopen-write", "ok", "EACCES", "EACCES"},
    {"stat-below", "ok", "ok", "EACCES"},
    {"signal-parent", "ok", "EPERM", "killed"},
    {"udp-socket", "ok", "ok", "killed"},
};
#define ROWS (sizeof expected / sizeof *expected)

static void compare_row(struct bench *bench, const char *line, unsigned *right)
{
    char operation[32], none[16], landlock[16], both[16];
    if (sscanf(line, "%31s %15s %15s %15s", operation, none, landlock, both) != 4)
        return;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(expected[i].operation, operation) != 0)
            continue;
        bool holds = strcmp(none, expected[i].none) == 0 &&
                     strcmp(landlock, expected[i].landlock) == 0 &&
                     strcmp(both, expected[i].both) == 0;
        *right += holds;
        bench_verdict(bench, VERDICT_AT_LEAST, holds,
                      "%s: %s without a sandbox, %s under Landlock, %s with the filter", operation,
                      none, landlock, both);
    }
}

bool bench_files(struct bench *bench)
{
    const char *argv[] = {bench->engine, "files", bench->folder, NULL};
    struct side *engine = bench_side_start(bench, "one process", argv);
    char answer[256];
    unsigned right = 0, rows = 0;
    if (!engine)
        return false;
    for (size_t i = 0; i < ROWS; i++) {
        bench_progress(bench, "%s", expected[i].operation);
        if (!bench_side_ask(engine, expected[i].operation, answer, sizeof answer))
            break;
        compare_row(bench, answer, &right);
        rows++;
    }
    bench_side_end(engine);
    if (rows < ROWS) {
        say("halter-bench-engine ended early");
        return false;
    }
    bench_verdict(bench, VERDICT_CONTROL, right > 0,
                  "the attacks work where nothing stops them (the first column)");
    return true;
}
