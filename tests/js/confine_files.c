/*
 * What can be done with a passed descriptor, and around it: without a sandbox, under Landlock
 * alone, and under Landlock and the filter. SECURITY.md has this table.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define OK     0
#define KILLED -1
#define AS_HERE -2 /* what becomes of it here, where nothing is confined: many machines forbid it */

static int listener = -1;
static char directory[] = "/tmp/halter-files-XXXXXX", file[64];

static int make_files(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(file, sizeof(file), "%s/inside", directory);
    int fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ssize_t put = write(fd, "text\n", 5);
    if (close(fd) != 0 || put != 5)
        return -1;
    /* A helper of another uid has to reach it: what shuts it out is to be the layer, not the mode. */
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    snprintf(attack_socket_path, sizeof(attack_socket_path), "%s/socket", directory);
    memcpy(here.sun_path, attack_socket_path, sizeof(attack_socket_path));
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return listener >= 0 && bind(listener, (struct sockaddr *)&here, sizeof(here)) == 0 &&
                   listen(listener, 64) == 0 && chmod(attack_socket_path, 0777) == 0 &&
                   chmod(directory, 0755) == 0
               ? 0
               : -1;
}

static int remove_files(void **state)
{
    (void)state;
    close(listener);
    unlink(attack_socket_path);
    unlink(file);
    return rmdir(directory);
}

enum passes { PASSES_FILE, PASSES_DIRECTORY };

static const struct {
    const char *name;
    enum passes passes;
    int bare, landlock, both; /* OK, KILLED or an errno */
} table[] = {
    {"read_passed_file", PASSES_FILE, OK, OK, OK},
    {"open_by_path", PASSES_FILE, OK, EACCES, EACCES},
    {"list_passed_directory", PASSES_DIRECTORY, OK, OK, OK},
    {"open_below_passed_directory", PASSES_DIRECTORY, OK, EACCES, EACCES},
    {"open_above_passed_directory", PASSES_DIRECTORY, OK, EACCES, EACCES},
    {"reopen_passed_file_for_writing", PASSES_FILE, OK, EACCES, EACCES},
    {"stat_by_path", PASSES_FILE, OK, OK, EACCES},
    {"open_only_the_path", PASSES_FILE, OK, OK, EACCES},
    {"trace_parent", PASSES_FILE, OK, EPERM, KILLED},
    {"read_parents_memory", PASSES_FILE, OK, EPERM, KILLED},
    {"write_parents_memory", PASSES_FILE, OK, EPERM, KILLED},
    {"signal_parent", PASSES_FILE, OK, EPERM, KILLED},
    {"make_udp_socket", PASSES_FILE, OK, OK, KILLED},
    {"connect_to_socket_by_path", PASSES_FILE, OK, OK, KILLED},
    {"make_io_uring", PASSES_FILE, AS_HERE, AS_HERE, KILLED},
    {"fork_itself", PASSES_FILE, OK, OK, KILLED},
};

static int io_uring_here(void)
{
    struct io_uring_params parameters = {0};
    long fd = syscall(SYS_io_uring_setup, 4, &parameters);
    if (fd < 0)
        return errno;
    close((int)fd);
    return OK;
}

static void check(size_t row, const char *column, uint32_t without, int expected)
{
    struct guest_options options = {.skip_layers = without};
    bool is_file = table[row].passes == PASSES_FILE;
    int fd = open(is_file ? file : directory, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (expected == AS_HERE)
        expected = io_uring_here();
    struct attacked got = attack(table[row].name, &options, &fd, 1);
    close(fd);
    bool as_expected = expected == KILLED ? got.died && got.signal == SIGSYS
                       : expected == OK   ? !got.died && got.value == 0
                                          : !got.died && got.value == -1 && got.error == expected;
    if (!as_expected)
        fail_msg("%s, %s: died %d signal %d value %ld errno %d", table[row].name, column, got.died,
                 got.signal, got.value, got.error);
}

static void without_a_sandbox_all_gets_through(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++)
        check(row, "no sandbox", ALL_LAYERS, table[row].bare);
}

static void landlock_alone_stops_some(void **state)
{
    (void)state;
    uint32_t without = ALL_LAYERS & ~(ALL_LANDLOCK | BIT(HALTER_LAYER_NO_NEW_PRIVS));
    for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++)
        check(row, "Landlock", without, table[row].landlock);
}

static void landlock_and_the_filter_stop_the_rest(void **state)
{
    (void)state;
    for (size_t row = 0; row < sizeof(table) / sizeof(table[0]); row++)
        check(row, "Landlock and seccomp", 0, table[row].both);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_sandbox_all_gets_through),
        cmocka_unit_test(landlock_alone_stops_some),
        cmocka_unit_test(landlock_and_the_filter_stop_the_rest),
    };
    return cmocka_run_group_tests_name("confine_files", tests, make_files, remove_files);
}
