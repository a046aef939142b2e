/*
 * Helpers come and go five hundred times, in every way, and nothing has grown: no descriptor, no
 * process, no memory, no cgroup; neither here nor in the launcher.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"
#include "launcher/cgroup_files.h"

#define CYCLES 500

static unsigned count_cgroups(const struct rig *rig)
{
    bool v2;
    unsigned count = 0;
    int home = cgroup_home(&v2), place = cgroup_place(home, v2);
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "halter-%d-", (int)rig->pid);
    DIR *dir = place >= 0 ? fdopendir(place) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)))
            continue;
        int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *base = fdopendir(fd);
        while (base && (entry = readdir(base)))
            count += entry->d_type == DT_DIR && entry->d_name[0] != '.';
        closedir(base);
        break;
    }
    if (dir)
        closedir(dir);
    if (home >= 0)
        close(home);
    return count;
}

static void one(struct rig *rig, unsigned turn)
{
    static const char *const scripts[] = {"call exit 0", "call signal 11", "call hang",
                                          "call echo"};
    struct guest guest;
    struct control_profile profile = {
        .kind = WIRE_HELPER_JS,
        .cap = 65536,
        .memory_bytes = turn % 3 ? 256u << 20 : 0,
        .flags = turn % 16 == 7 ? CONTROL_EXEC : 0,
    };
    guest_spawn(rig, &guest, turn % CONTROL_SLOTS, &profile);
    guest_load(&guest, scripts[turn % 4]);
    guest_send(&guest, "1");
    if (turn % 4 >= 2)
        assert_int_equal(pidfd_send_signal(guest.pidfd, SIGKILL, NULL, 0), 0);
    guest_exited(rig, &guest);
}

static void test_nothing_grows(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig);
    for (unsigned turn = 0; turn < 20; turn++)
        one(&rig, turn);
    usleep(100000);
    unsigned own_fds = count_fds(getpid()), fds = count_fds(rig.pid);
    uint64_t resident = resident_bytes(rig.pid);
    for (unsigned turn = 0; turn < CYCLES; turn++)
        one(&rig, turn);
    usleep(100000); /* it may be on its way to a fresh cgroup */
    assert_int_equal(count_fds(getpid()), own_fds);
    assert_int_equal(count_fds(rig.pid), fds);
    assert_int_equal(count_children(rig.pid), 0);
    assert_in_range(resident_bytes(rig.pid), 0, resident + (256u << 10));
    assert_in_range(count_cgroups(&rig), 0, 1);
    assert_int_equal(rig_stop(&rig), 0);
}

/* Many at one time, to the host's own limit of descriptors. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { MANY = 100 };
    static struct guest guests[MANY];
    struct rig rig;
    rig_start(&rig);
    unsigned fds = count_fds(rig.pid);
    for (uint32_t i = 0; i < MANY; i++)
        guest_spawn(&rig, &guests[i], i, NULL);
    for (uint32_t i = 0; i < MANY; i++)
        pidfd_send_signal(guests[i].pidfd, SIGKILL, NULL, 0);
    for (uint32_t i = 0; i < MANY; i++) {
        struct control_message message;
        rig_expect(&rig, CONTROL_EXITED, &message, NULL);
        assert_int_equal(message.exited.status, SIGKILL);
        guest_close(&guests[i]);
    }
    usleep(100000);
    assert_in_range(count_fds(rig.pid), 0, fds); /* less, if it was still preparing at first */
    assert_int_equal(rig_stop(&rig), 0);
}

/* A host that asks and never looks: the launcher waits for it without losing a word. */
static void test_host_that_does_not_read(void **state)
{
    (void)state;
    enum { MANY = 300 };
    static struct guest guests[MANY];
    struct control_message message;
    struct rig rig;
    unsigned spawned = 0, exited = 0;
    int small = 4096, fd;
    rig_start(&rig);
    setsockopt(rig.control, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    for (uint32_t i = 0; i < MANY; i++) {
        guest_ask(&rig, &guests[i], i, NULL);
        guest_close(&guests[i]); /* and shutdown() is what a helper hears; SIGKILL comes below */
    }
    while (exited < MANY) {
        assert_true(rig_receive(&rig, WAIT_MS, &message, &fd));
        if (message.type == CONTROL_SPAWNED) {
            assert_int_equal(message.spawned.error, 0);
            spawned++;
            assert_int_equal(pidfd_send_signal(fd, SIGKILL, NULL, 0), 0);
            close(fd);
        } else {
            assert_int_equal(message.type, CONTROL_EXITED);
            exited++;
        }
    }
    assert_int_equal(spawned, MANY);
    assert_int_equal(rig_stop(&rig), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_grows),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_host_that_does_not_read),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("cycles", tests, NULL, NULL);
}
