/*
 * What the hello reports is true: the kernel is asked about the living helper, and with a layer
 * left out its bit is missing. And a helper that cannot have a layer of the floor does not serve.
 */
#include "attack.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* The value of a line of /proc/<pid>/status. */
static char *status_line(pid_t pid, const char *key)
{
    static char line[256];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    FILE *status = fopen(path, "re");
    assert_non_null(status);
    while (fgets(line, sizeof(line), status))
        if (strncmp(line, key, strlen(key)) == 0) {
            fclose(status);
            char *value = line + strlen(key);
            return value + strspn(value, "\t ");
        }
    fail_msg("no %s in %s", key, path);
    return NULL;
}

static uint64_t status_number(pid_t pid, const char *key, int base)
{
    return strtoull(status_line(pid, key), NULL, base);
}

/* The hard limit that a line of /proc/<pid>/limits shows. */
static uint64_t hard_limit(pid_t pid, const char *name)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/limits", pid);
    FILE *limits = fopen(path, "re");
    assert_non_null(limits);
    while (fgets(line, sizeof(line), limits)) {
        unsigned long soft, hard;
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        fclose(limits);
        if (sscanf(line + strlen(name), "%lu %lu", &soft, &hard) == 2)
            return hard;
        fail_msg("%s is not limited", name);
    }
    fail_msg("no %s in %s", name, path);
    return 0;
}

/* Those of the kernel that this runs on. */
static uint32_t expected_layers(uint32_t abi)
{
    uint32_t layers = (1u << HALTER_LAYER_COUNT) - 1;
    layers &= ~(BIT(HALTER_LAYER_CGROUP_MEMORY) | BIT(HALTER_LAYER_NAMESPACES));
    if (abi < 4)
        layers &= ~BIT(HALTER_LAYER_LANDLOCK_NET);
    if (abi < 6)
        layers &= ~BIT(HALTER_LAYER_LANDLOCK_SCOPE);
    if (prctl(66 /* PR_GET_MDWE */, 0, 0, 0, 0) < 0)
        layers &= ~BIT(HALTER_LAYER_MDWE);
    return layers;
}

static void all_layers_of_this_kernel_are_in_force(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
    assert_int_equal(guest.hello.landlock_abi, abi);
    assert_int_equal(guest.hello.layers, expected_layers(guest.hello.landlock_abi));
    assert_int_equal(guest.hello.layers & HALTER_LAYER_FLOOR, HALTER_LAYER_FLOOR);
    assert_int_equal(guest.hello.version, WIRE_VERSION);
    assert_int_equal(guest.hello.kind, WIRE_HELPER_JS);
    assert_int_equal(guest.hello.cap, WIRE_DEFAULT_CAP);
    assert_memory_equal(guest.hello.engine, "JavaScriptCore ", 15);
    guest_finish(&guest);
}

static void the_kernel_says_the_same(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    assert_int_equal(status_number(guest.pid, "NoNewPrivs:", 10), 1);
    assert_int_equal(status_number(guest.pid, "Seccomp:", 10), 2);
    assert_int_equal(status_number(guest.pid, "CapInh:", 16), 0);
    assert_int_equal(status_number(guest.pid, "CapPrm:", 16), 0);
    assert_int_equal(status_number(guest.pid, "CapEff:", 16), 0);
    assert_int_equal(status_number(guest.pid, "CapAmb:", 16), 0);
    assert_int_not_equal(status_number(guest.pid, "Uid:", 10), 0);
    if (geteuid() == 0) {
        assert_int_equal(status_number(guest.pid, "CapBnd:", 16), 0);
        assert_int_equal(status_line(guest.pid, "Groups:")[0], '\n');
    }
    assert_true(hard_limit(guest.pid, "Max core file size") <= 1);
    assert_int_equal(hard_limit(guest.pid, "Max open files"), 64 + HELPER_OWN_FILES);
    assert_int_equal(hard_limit(guest.pid, "Max locked memory"), 0);
    assert_int_equal(hard_limit(guest.pid, "Max msgqueue size"), 0);
    guest_finish(&guest);
}

/* The filter is on every thread, not only on the one that asked for it. */
static void the_filter_is_on_every_thread(void **state)
{
    (void)state;
    struct guest guest;
    char command[128];
    guest_load(&guest, NULL,
               "transform = (n) => { let a = []; for (let i = 0; i < n; i++) a.push({i}); return "
               "a.length }");
    assert_string_equal(guest_call(&guest, "1000000"), "1000000");
    snprintf(command, sizeof(command), "cat /proc/%d/task/*/status", guest.pid);
    FILE *all = popen(command, "re");
    char line[256];
    unsigned threads = 0, filtered = 0;
    while (fgets(line, sizeof(line), all)) {
        threads += strncmp(line, "NoNewPrivs:\t1", 13) == 0;
        filtered += strncmp(line, "Seccomp:\t2", 10) == 0;
    }
    pclose(all);
    assert_true(threads > 1);
    assert_int_equal(threads, filtered);
    guest_finish(&guest);
}

static void a_layer_left_out_is_not_reported(void **state)
{
    (void)state;
    struct guest guest;
    guest_start(&guest, NULL);
    uint32_t all = guest.hello.layers;
    guest_finish(&guest);
    for (unsigned layer = 0; layer < HALTER_LAYER_COUNT; layer++) {
        if (layer == HALTER_LAYER_NO_NEW_PRIVS)
            continue; /* the floor's others need it: see below */
        struct guest_options options = {.skip_layers = BIT(layer)};
        guest_start(&guest, &options);
        uint32_t expected = all & ~BIT(layer);
        if (layer == HALTER_LAYER_UNPRIVILEGED_UID && geteuid() != 0)
            expected = all & ~BIT(layer);
        if (guest.hello.layers != expected)
            fail_msg("without layer %u: %x, expected %x", layer, guest.hello.layers, expected);
        guest_finish(&guest);
    }
}

static void below_the_floor_it_does_not_serve(void **state)
{
    (void)state;
    struct guest guest;
    struct guest_options options = {.skip_layers = BIT(HALTER_LAYER_NO_NEW_PRIVS)};
    guest_fork(&guest, &options);
    int status = guest_wait(&guest);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), HELPER_EXIT_CONFINE);
    assert_non_null(strstr(guest_stderr(&guest), "halter: cannot confine the helper: Landlock"));
    guest_finish(&guest);
}

/* Executable mappings without a file behind them: their number and the bytes of the largest. */
static unsigned code_mappings(pid_t pid, uint64_t *largest)
{
    char path[64], line[512], rights[8], name[256];
    unsigned count = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "re");
    assert_non_null(maps);
    *largest = 0;
    while (fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        name[0] = 0;
        assert_true(sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &from, &to, rights, name) >= 3);
        if (rights[2] != 'x' || name[0])
            continue;
        count++;
        if (to - from > *largest)
            *largest = to - from;
    }
    fclose(maps);
    return count;
}

static void with_the_jit_there_is_one_region_for_code(void **state)
{
    (void)state;
    struct guest guest;
    uint64_t largest;
    guest_load(
        &guest, NULL,
        "transform = (n) => { let s = 0; for (let i = 0; i < n; i++) s = s + i | 0; return s }");
    assert_string_equal(guest_call(&guest, "1000000"), "1783293664");
    assert_true(guest.hello.jit);
    assert_int_equal(code_mappings(guest.pid, &largest), 1);
    assert_true(largest >= 900ull << 20);
    guest_finish(&guest);
}

static void without_the_jit_there_is_none(void **state)
{
    (void)state;
    struct guest guest;
    struct guest_options options = {.flags = CONTROL_NO_JIT};
    uint64_t largest;
    guest_load(
        &guest, &options,
        "transform = (n) => { let s = 0; for (let i = 0; i < n; i++) s = s + i | 0; return s }");
    assert_string_equal(guest_call(&guest, "1000000"), "1783293664");
    assert_false(guest.hello.jit);
    assert_int_equal(code_mappings(guest.pid, &largest), 0);
    guest_finish(&guest);
}

/* A change of uid makes the kernel forget the signal that the launcher set. */
static void it_dies_with_its_parent(void **state)
{
    (void)state;
    int report[2];
    assert_int_equal(pipe(report), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t middle = fork();
    if (middle == 0) {
        struct guest guest;
        guest_load(&guest, NULL, "transform = () => { for (;;); }");
        guest_send_call(&guest, "1", 1, 1000);
        ssize_t put = write(report[1], &guest.pid, sizeof(guest.pid));
        sleep(put == sizeof(guest.pid) ? 60 : 0);
        _exit(1);
    }
    pid_t helper = 0;
    assert_int_equal(read(report[0], &helper, sizeof(helper)), sizeof(helper));
    kill(middle, SIGKILL);
    waitpid(middle, NULL, 0);
    struct guest guest = {.pid = helper};
    int status = guest_wait(&guest);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    close(report[0]);
    close(report[1]);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_layers_of_this_kernel_are_in_force),
        cmocka_unit_test(the_kernel_says_the_same),
        cmocka_unit_test(the_filter_is_on_every_thread),
        cmocka_unit_test(a_layer_left_out_is_not_reported),
        cmocka_unit_test(below_the_floor_it_does_not_serve),
        cmocka_unit_test(with_the_jit_there_is_one_region_for_code),
        cmocka_unit_test(without_the_jit_there_is_none),
        cmocka_unit_test(it_dies_with_its_parent),
    };
    return cmocka_run_group_tests_name("confine_report", tests, NULL, NULL);
}
