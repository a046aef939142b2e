/*
 * native_test.c: fresh random cases, on this machine's processor and on ours: every defined bit of
 * the outcome must be the same.
 *
 * Usage: test-pc-oracle-native PATH-OF-ORACLE-NATIVE [CASES [SEED [VECTORS.TXT]]]
 * With a file, the cases and their native outcomes are kept in it too (see vectors.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compare.h"
#include "emulated.h"
#include "generate.h"
#include "vectors.h"

enum { DEFAULT_CASES = 500000, SHOWN = 12 };

static const char *native_path;
static uint64_t cases = DEFAULT_CASES;
static uint32_t seed;
static FILE *keep;

struct native {
    struct oracle_shared *shared;
    pid_t pid;
    int to, from;
};

static void run_native(int shared, int in, int out)
{
    dup2(in, 0);
    dup2(out, 1);
    dup2(shared, 3);
    execl(native_path, native_path, (char *)NULL);
    _exit(127);
}

static void native_start(struct native *n)
{
    int in[2], out[2], fd = memfd_create("oracle", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof *n->shared), 0);
    n->shared = mmap(NULL, sizeof *n->shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(n->shared != MAP_FAILED);
    assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
    n->pid = fork();
    if (n->pid == 0)
        run_native(fd, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    close(fd);
    n->to = in[1];
    n->from = out[0];
}

static void native_stop(struct native *n)
{
    int status;
    close(n->to);
    close(n->from);
    waitpid(n->pid, &status, 0);
    munmap(n->shared, sizeof *n->shared);
}

static void native_run(struct native *n, uint32_t count)
{
    char done;
    assert_int_equal(write(n->to, &count, sizeof count), sizeof count);
    assert_int_equal(read(n->from, &done, 1), 1);
}

/* ---- */

struct tally {
    uint64_t run, wrong;
    unsigned shown;
};

static const struct isa_entry *next_entry(void)
{
    static unsigned at;
    const struct isa_entry *entry;
    do
        entry = &isa_entries[at++ % isa_entry_count];
    while (oracle_excluded(entry));
    return entry;
}

static uint32_t fill_batch(struct oracle_shared *shared, uint32_t *random, uint64_t most)
{
    uint32_t count = 0;
    while (count < ORACLE_BATCH && count < most)
        if (oracle_generate(next_entry(), random, &shared->cases[count]))
            count++;
    return count;
}

static void compare_batch(const struct oracle_shared *shared, uint32_t count, struct emulated *e,
                          struct tally *tally)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct oracle_case *want = &shared->cases[i];
        struct oracle_case got = *want;
        emulated_run(e, &got);
        tally->run++;
        if (keep)
            vector_write(keep, want);
        if (oracle_agree(want, &got))
            continue;
        tally->wrong++;
        if (tally->shown++ < SHOWN)
            oracle_print(stdout, want, &got);
    }
}

static void test_fresh_cases_agree(void **state)
{
    (void)state;
    struct native native;
    struct emulated *e = emulated_create();
    struct tally tally = {0};
    uint32_t random = seed | 1;
    native_start(&native);
    while (tally.run < cases) {
        uint32_t count = fill_batch(native.shared, &random, cases - tally.run);
        native_run(&native, count);
        emulated_set_selectors(e, native.shared->selector);
        compare_batch(native.shared, count, e, &tally);
    }
    native_stop(&native);
    emulated_destroy(e);
    printf("# seed %u: %llu cases, %llu differ\n", seed, (unsigned long long)tally.run,
           (unsigned long long)tally.wrong);
    assert_true(tally.run >= cases);
    assert_true(tally.wrong == 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fresh_cases_agree)};
    if (argc < 2)
        return 2;
    native_path = argv[1];
    if (argc > 2)
        cases = strtoull(argv[2], NULL, 0);
    seed = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0)
                    : (uint32_t)time(NULL) * 2654435761u ^ (uint32_t)getpid();
    if (argc > 4 && !(keep = fopen(argv[4], "w")))
        return 2;
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (keep)
        fclose(keep);
    return failed;
}
