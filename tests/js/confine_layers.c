/*
 * Each layer taken away in turn: what it stops then gets through, or meets the layer behind it.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SECCOMP BIT(HALTER_LAYER_SECCOMP)
#define FS      BIT(HALTER_LAYER_LANDLOCK_FS)
#define NET     BIT(HALTER_LAYER_LANDLOCK_NET)
#define SCOPE   BIT(HALTER_LAYER_LANDLOCK_SCOPE)
#define MDWE    BIT(HALTER_LAYER_MDWE)
#define UID     BIT(HALTER_LAYER_UNPRIVILEGED_UID)
#define CAPS    BIT(HALTER_LAYER_NO_CAPS)

static void check(const char *name, uint32_t without, int error)
{
    struct guest_options options = {.skip_layers = without};
    struct attacked got = attack(name, &options, NULL, 0);
    bool as_expected =
        !got.died && (error ? got.value == -1 && got.error == error : got.value == 0);
    if (!as_expected)
        fail_msg("%s without %x: died %d signal %d number %d value %ld errno %d", name, without,
                 got.died, got.signal, got.number, got.value, got.error);
}

/* Landlock has it from some version on; the report says so, and then there is nothing to try. */
static bool in_force(uint32_t layer)
{
    struct guest guest;
    guest_start(&guest, NULL);
    uint32_t layers = guest.hello.layers;
    guest_finish(&guest);
    return layers & layer;
}

static void without_the_filter_processes_and_sockets_can_be_made(void **state)
{
    (void)state;
    check("fork_itself", SECCOMP, 0);
    check("make_udp_socket", SECCOMP, 0);
    check("handle_trap_itself", SECCOMP, 0);
}

static void files_are_shut_by_two_layers(void **state)
{
    (void)state;
    check("open_by_path", FS, EACCES);
    check("open_by_path", SECCOMP, EACCES);
    check("open_by_path", SECCOMP | FS, 0);
}

static void executable_memory_is_shut_by_two_layers(void **state)
{
    (void)state;
    static const char *const names[] = {"map_code", "make_data_code"};
    for (size_t i = 0; i < 2; i++) {
        check(names[i], MDWE, EACCES);
        if (in_force(MDWE))
            check(names[i], SECCOMP, EACCES);
        check(names[i], SECCOMP | MDWE, 0);
    }
}

static int listening(const void *address, socklen_t length, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, address, length), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void tcp_is_shut_by_two_layers(void **state)
{
    (void)state;
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    int fd = listening(&here, length, AF_INET);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &length), 0);
    attack_tcp_port = ntohs(here.sin_port);
    if (in_force(NET))
        check("connect_by_tcp", SECCOMP, EACCES);
    check("connect_by_tcp", SECCOMP | NET, 0);
    close(fd);
}

static void abstract_sockets_are_shut_by_two_layers(void **state)
{
    (void)state;
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    snprintf(attack_abstract_name, sizeof(attack_abstract_name), "halter-test-%d", getpid());
    size_t length = strlen(attack_abstract_name);
    memcpy(here.sun_path + 1, attack_abstract_name, length);
    int fd =
        listening(&here, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length), AF_UNIX);
    if (in_force(SCOPE))
        check("connect_to_abstract_socket", SECCOMP, EPERM);
    check("connect_to_abstract_socket", SECCOMP | SCOPE, 0);
    close(fd);
}

static void signals_are_shut_by_scope_and_under_root_by_uid(void **state)
{
    (void)state;
    if (in_force(SCOPE))
        check("signal_parent", SECCOMP | UID, EPERM);
    if (geteuid() == 0)
        check("signal_parent", SECCOMP | SCOPE, EPERM);
    check("signal_parent", SECCOMP | SCOPE | UID, 0);
}

static void the_parents_memory_is_shut_by_landlock(void **state)
{
    (void)state;
    check("write_parents_memory", SECCOMP | UID | CAPS, EPERM);
    check("trace_parent", SECCOMP | UID | CAPS, EPERM);
    attack_victim = 1;
    check("write_parents_memory", SECCOMP | UID | CAPS | ALL_LANDLOCK, 0);
    assert_int_equal(attack_victim, 666);
}

static void roots_rights_are_gone(void **state)
{
    (void)state;
    check("become_root", SECCOMP, EPERM);
    check("change_root", SECCOMP, EPERM);
    if (geteuid() != 0)
        return; /* it never had any */
    check("become_root", SECCOMP | UID, 0);
    check("change_root", SECCOMP | UID, EPERM);
    check("change_root", SECCOMP | UID | CAPS | FS, 0);
}

static void descriptors_of_the_parent_are_closed(void **state)
{
    (void)state;
    struct guest_options options = {.leave_open = true};
    int fd = open("/dev/null", O_RDONLY);
    assert_int_equal(dup2(fd, 50), 50);
    struct attacked got = attack("use_descriptor_of_parent", &options, NULL, 0);
    assert_false(got.died);
    assert_int_equal(got.error, EBADF);
    options.skip_layers = BIT(HALTER_LAYER_CLOSED_FDS);
    got = attack("use_descriptor_of_parent", &options, NULL, 0);
    assert_false(got.died);
    assert_int_equal(got.value, 0);
    close(50);
    close(fd);
}

static void the_environment_of_the_parent_is_gone(void **state)
{
    (void)state;
    struct guest_options options = {.leave_environment = true};
    setenv("HALTER_TEST_SECRET", "1", 1);
    struct attacked got = attack("read_environment_of_parent", &options, NULL, 0);
    assert_int_equal(got.value, -1);
    options.skip_layers = BIT(HALTER_LAYER_EMPTY_ENV);
    got = attack("read_environment_of_parent", &options, NULL, 0);
    assert_int_equal(got.value, 0);
}

static void cpu_time_is_limited(void **state)
{
    (void)state;
    struct guest_options options = {.cpu_seconds = 1};
    struct attacked got = attack("burn_time", &options, NULL, 0);
    assert_true(got.died);
    assert_int_equal(got.signal, SIGXCPU);
    assert_int_equal(got.number, -1);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_filter_processes_and_sockets_can_be_made),
        cmocka_unit_test(files_are_shut_by_two_layers),
        cmocka_unit_test(executable_memory_is_shut_by_two_layers),
        cmocka_unit_test(tcp_is_shut_by_two_layers),
        cmocka_unit_test(abstract_sockets_are_shut_by_two_layers),
        cmocka_unit_test(signals_are_shut_by_scope_and_under_root_by_uid),
        cmocka_unit_test(the_parents_memory_is_shut_by_landlock),
        cmocka_unit_test(roots_rights_are_gone),
        cmocka_unit_test(descriptors_of_the_parent_are_closed),
        cmocka_unit_test(the_environment_of_the_parent_is_gone),
        cmocka_unit_test(cpu_time_is_limited),
    };
    return cmocka_run_group_tests_name("confine_layers", tests, NULL, NULL);
}
