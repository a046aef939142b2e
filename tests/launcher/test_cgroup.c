/*
 * Memory cgroups. Where the system lets the launcher make them (root, a delegated place) helpers
 * are born in one with their limit, the kill by the kernel is counted, and none is ever left. Where
 * it does not, the launcher says so, and helpers live without.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "launcher/cgroup_files.h"
#include "wire/json.h"

#define LIMIT (48u << 20)

static bool can_make;

static int place(void)
{
    bool v2;
    int home = cgroup_home(&v2), found = cgroup_place(home, v2);
    if (home >= 0)
        close(home);
    return found;
}

/* Tried by hand, independently of the launcher. */
static int find_out(void **state)
{
    (void)state;
    bool v2;
    int home = cgroup_home(&v2), above = place();
    can_make = above >= 0 && mkdirat(above, "try", 0755) == 0;
    if (can_make)
        unlinkat(above, "try", AT_REMOVEDIR);
    if (above >= 0)
        close(above);
    if (home >= 0)
        close(home);
    return 0;
}

static bool place_has(const char *name)
{
    int above = place();
    bool there = above >= 0 && faccessat(above, name, F_OK, 0) == 0;
    if (above >= 0)
        close(above);
    return there;
}

static void base_name(const struct rig *rig, char out[64])
{
    snprintf(out, 64, "halter-%d-%llu", (int)rig->pid, cgroup_start_time(rig->pid));
}

static struct control_message run(struct rig *rig, const char *script, uint64_t memory)
{
    struct guest guest;
    struct control_profile profile = {
        .kind = WIRE_HELPER_JS,
        .cap = 65536,
        .memory_bytes = memory,
    };
    guest_spawn(rig, &guest, 0, &profile);
    assert_int_equal(!!(guest.features & CONTROL_HAS_CGROUP), can_make);
    guest_load(&guest, script);
    guest_send(&guest, "1");
    return guest_exited(rig, &guest);
}

static void test_launcher_knows(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig);
    assert_int_equal(!!(rig.features & CONTROL_HAS_CGROUP), can_make);
    assert_int_equal(rig_stop(&rig), 0);
}

static void test_over_the_limit(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig);
    /* Pages that a helper shares with the launcher count in its peak, and not against its limit. */
    uint64_t idle = run(&rig, "call exit 0", LIMIT).exited.peak_bytes;
    for (int i = 0; i < 3; i++) {
        struct control_message message = run(&rig, "call allocate 80M\ncall exit 5", LIMIT);
        if (can_make) {
            assert_int_equal(message.exited.status, SIGKILL);
            assert_int_equal(message.exited.oom_kills, 1);
            assert_true(message.exited.peak_bytes <= LIMIT + idle);
        } else {
            assert_int_equal(message.exited.status, 5);
            assert_int_equal(message.exited.oom_kills, 0);
        }
        assert_int_equal(message.exited.cause, CONTROL_CAUSE_NONE);
    }
    assert_int_equal(rig_stop(&rig), 0);
}

/* A limit is that helper's alone, and killing one is not counted against the next. */
static void test_under_the_limit(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig);
    run(&rig, "call allocate 80M\ncall exit 5", LIMIT);
    struct control_message message = run(&rig, "call allocate 24M\ncall exit 5", LIMIT);
    assert_int_equal(message.exited.code, CLD_EXITED);
    assert_int_equal(message.exited.status, 5);
    assert_int_equal(message.exited.oom_kills, 0);
    message = run(&rig, "call allocate 80M\ncall exit 6", 0);
    assert_int_equal(message.exited.status, 6);
    assert_int_equal(rig_stop(&rig), 0);
}

static void test_each_has_its_own(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guests[2];
    struct json_value value;
    char *seen[2];
    rig_start(&rig);
    for (uint32_t i = 0; i < 2; i++) {
        guest_spawn(&rig, &guests[i], i, NULL);
        guest_load(&guests[i], "call report");
        char *json = guest_call(&guests[i], "1");
        assert_true(json_member(json_root(json, strlen(json)), "cgroup", &value));
        seen[i] = strndup(value.text, value.length);
        free(json);
    }
    assert_int_equal(strcmp(seen[0], seen[1]) != 0, can_make);
    for (int i = 0; i < 2; i++) {
        free(seen[i]);
        pidfd_send_signal(guests[i].pidfd, SIGKILL, NULL, 0);
        guest_exited(&rig, &guests[i]);
    }
    assert_int_equal(rig_stop(&rig), 0);
}

static void test_none_is_left(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guest;
    char name[64];
    rig_start(&rig);
    base_name(&rig, name);
    assert_int_equal(place_has(name), can_make);
    guest_spawn(&rig, &guest, 0, NULL);
    assert_int_equal(rig_stop(&rig), 0);
    assert_false(place_has(name));
    guest_close(&guest);
}

/* A launcher that is killed cannot tidy up; the next one does it. */
static void test_stale_ones_are_cleared(void **state)
{
    (void)state;
    struct rig rig;
    struct guest guest;
    char name[64];
    rig_start(&rig);
    base_name(&rig, name);
    guest_spawn(&rig, &guest, 0, NULL);
    kill(rig.pid, SIGKILL);
    rig_stop(&rig);
    assert_true(gone_within(guest.pid, 30000));
    guest_close(&guest);
    assert_int_equal(place_has(name), can_make);
    rig_start(&rig);
    assert_false(place_has(name));
    assert_int_equal(rig_stop(&rig), 0);
}

static void test_living_ones_are_not(void **state)
{
    (void)state;
    struct rig first, second;
    char name[64];
    rig_start(&first);
    base_name(&first, name);
    rig_start(&second);
    assert_int_equal(place_has(name), can_make);
    assert_int_equal(rig_stop(&second), 0);
    assert_int_equal(rig_stop(&first), 0);
}

/* The rule for version 2, on directories that only look like it. */
static void put(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_place_in_version_2(void **state)
{
    (void)state;
    char path[] = "/tmp/halter-cgroup-XXXXXX", home_path[64], text[8] = "";
    assert_non_null(mkdtemp(path));
    snprintf(home_path, sizeof(home_path), "%s/app", path);
    assert_int_equal(mkdir(home_path, 0700), 0);
    int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int home = open(home_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(cgroup_place(-1, true), -1);
    assert_int_equal(cgroup_place(home, true), -1); /* it passes nothing on, and nor may we */
    put(parent, "cgroup.subtree_control", "cpu memory pids\n");
    assert_int_equal(cgroup_place(home, true), -1); /* it could, but was not delegated to us */
    put(home, "cgroup.subtree_control", "cpu memory_x\n");
    int found = cgroup_place(home, true); /* not on yet, but may be turned on */
    assert_true(found >= 0);
    close(found);
    int fd = openat(home, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, 7), 7);
    assert_string_equal(text, "+memory");
    close(fd);
    unlinkat(home, "cgroup.subtree_control", 0);
    unlinkat(parent, "cgroup.subtree_control", 0);
    unlinkat(parent, "app", AT_REMOVEDIR);
    rmdir(path);
    close(home);
    close(parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launcher_knows),      cmocka_unit_test(test_over_the_limit),
        cmocka_unit_test(test_under_the_limit),     cmocka_unit_test(test_each_has_its_own),
        cmocka_unit_test(test_none_is_left),        cmocka_unit_test(test_stale_ones_are_cleared),
        cmocka_unit_test(test_living_ones_are_not), cmocka_unit_test(test_place_in_version_2),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cgroup", tests, find_out, NULL);
}
