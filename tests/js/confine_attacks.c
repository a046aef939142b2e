/*
 * Each attack on a helper in full confinement: killed with the right number, or denied. And
 * the numbers that are in no list: every one of them traps.
 */
#include "attack.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define LIVES -1

static const struct {
    const char *name;
    long killed_by; /* the number that is reported, or LIVES */
    int error;      /* when it lives */
} expected[] = {
    {"fork_itself", SYS_fork, 0},
    {"clone_itself", SYS_clone, 0},
    {"clone_thread_in_new_user_space", SYS_clone, 0},
    {"clone3_itself", LIVES, ENOSYS},
    {"execute", SYS_execve, 0},
    {"execute_from_memory", SYS_memfd_create, 0},
    {"trace_parent", SYS_ptrace, 0},
    {"write_parents_memory", SYS_process_vm_writev, 0},
    {"read_parents_memory", SYS_process_vm_readv, 0},
    {"signal_parent", SYS_kill, 0},
    {"signal_everyone", SYS_kill, 0},
    {"signal_parents_thread", SYS_tgkill, 0},
    {"queue_signal_to_parent", SYS_rt_sigqueueinfo, 0},
    {"open_pidfd_of_parent", SYS_pidfd_open, 0},
    {"limit_parent", LIVES, EPERM},
    {"raise_own_limit", SYS_setrlimit, 0},
    {"become_root", SYS_setuid, 0},
    {"change_root", SYS_chroot, 0},
    {"handle_trap_itself", SYS_rt_sigaction, 0},
    {"replace_filter", LIVES, EPERM},
    {"map_code", LIVES, EACCES},
    {"make_data_code", LIVES, EACCES},
    {"fork_by_x32_number", 0x40000000 | SYS_fork, 0},
    {"new_user_space", SYS_unshare, 0},
    {"mount_something", SYS_mount, 0},
    {"load_bpf", SYS_bpf, 0},
    {"make_io_uring", SYS_io_uring_setup, 0},
    {"handle_page_faults", SYS_userfaultfd, 0},
    {"use_keys", SYS_keyctl, 0},
    {"type_into_terminal", LIVES, EPERM},
    {"make_udp_socket", SYS_socket, 0},
    {"connect_by_tcp", SYS_socket, 0},
    {"connect_to_abstract_socket", SYS_socket, 0},
    {"connect_to_socket_by_path", SYS_socket, 0},
    {"send_descriptor_back", SYS_sendmsg, 0},
    {"open_by_path", LIVES, EACCES},
    {"open_by_path_openat2", LIVES, EACCES},
    {"stat_by_path", LIVES, EACCES},
    {"open_only_the_path", LIVES, EACCES},
};

static void each_attack_is_killed_or_denied(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct attacked got = attack(expected[i].name, NULL, NULL, 0);
        bool as_expected =
            expected[i].killed_by == LIVES
                ? !got.died && got.value == -1 && got.error == expected[i].error
                : got.died && got.signal == SIGSYS && got.number == expected[i].killed_by;
        if (!as_expected)
            fail_msg("%s: died %d signal %d number %d value %ld errno %d", expected[i].name,
                     got.died, got.signal, got.number, got.value, got.error);
    }
}

static void blocking_the_trap_does_not_survive_it(void **state)
{
    (void)state;
    /* The kernel then kills without asking the handler, so that no number is written down. */
    struct attacked got = attack("trap_while_blocked", NULL, NULL, 0);
    assert_true(got.died);
    assert_int_equal(got.signal, SIGSYS);
}

static void the_32_bit_gate_is_shut(void **state)
{
    (void)state;
    struct attacked got = attack("fork_by_32_bit_gate", NULL, NULL, 0);
    assert_true(got.died);
    /* Of the filter where the kernel runs 32-bit code, of the gate itself where it does not. */
    assert_true(got.signal == SIGSYS || got.signal == SIGSEGV);
}

/* uretprobe and uprobe: from Linux 6.14 on no filter sees them, and they die by themselves. */
static bool is_probe(long number)
{
    return number == 335 || number == 336;
}

static bool listed(long number)
{
    static const long numbers[] = {
#define SYSCALL_ALLOW(name)         SYS_##name,
#define SYSCALL_IF(name, condition) SYS_##name,
#define SYSCALL_ERRNO(name, error)  SYS_##name,
#include "helper/syscalls.def"
#undef SYSCALL_ALLOW
#undef SYSCALL_IF
#undef SYSCALL_ERRNO
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i] == number)
            return true;
    return false;
}

static void every_call_that_is_not_listed_traps(void **state)
{
    (void)state;
    for (long number = 0; number < 480; number++) {
        if (listed(number) || is_probe(number))
            continue;
        struct attacked got = attack_call(number, NULL);
        if (!got.died || got.signal != SIGSYS || got.number != number)
            fail_msg("system call %ld: died %d signal %d number %d", number, got.died, got.signal,
                     got.number);
    }
}

static void calls_that_fail_say_why(void **state)
{
    (void)state;
    static const struct {
        long number;
        int error;
    } numbers[] = {
#define SYSCALL_ALLOW(name)
#define SYSCALL_IF(name, condition)
#define SYSCALL_ERRNO(name, error) {SYS_##name, error},
#include "helper/syscalls.def"
#undef SYSCALL_ALLOW
#undef SYSCALL_IF
#undef SYSCALL_ERRNO
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct attacked got = attack_call(numbers[i].number, NULL);
        if (got.died || got.value != -1 || got.error != numbers[i].error)
            fail_msg("system call %ld: died %d value %ld errno %d", numbers[i].number, got.died,
                     got.value, got.error);
    }
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_attack_is_killed_or_denied),
        cmocka_unit_test(blocking_the_trap_does_not_survive_it),
        cmocka_unit_test(the_32_bit_gate_is_shut),
        cmocka_unit_test(every_call_that_is_not_listed_traps),
        cmocka_unit_test(calls_that_fail_say_why),
    };
    return cmocka_run_group_tests_name("confine_attacks", tests, NULL, NULL);
}
