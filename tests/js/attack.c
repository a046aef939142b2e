/*
 * The attacks, one function each. They use system calls directly where libc would add others.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

volatile long attack_victim;
static pid_t parent; /* asking who that is would be an attack of its own */
int attack_tcp_port;
char attack_abstract_name[32], attack_socket_path[96];

#define ATTACK(name) static long name(const int *fds, unsigned nfds)
#define NO_FDS       (void)fds, (void)nfds

/* ---- processes ------------------------------------------------------------------------------ */

static long reap(long pid)
{
    if (pid == 0)
        _exit(0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return pid > 0 ? 0 : pid;
}

ATTACK(fork_itself)
{
    NO_FDS;
    return reap(syscall(SYS_fork));
}

ATTACK(clone_itself)
{
    NO_FDS;
    return reap(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
}

ATTACK(clone_thread_in_new_user_space)
{
    NO_FDS;
    return syscall(SYS_clone,
                   CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_NEWUSER,
                   NULL, NULL, NULL, NULL);
}

ATTACK(clone3_itself)
{
    NO_FDS;
    uint64_t arguments[8] = {[4] = SIGCHLD};
    return reap(syscall(SYS_clone3, arguments, sizeof(arguments)));
}

ATTACK(execute)
{
    NO_FDS;
    char *argv[] = {(char *)(uintptr_t) "true", NULL}, *environment[] = {NULL};
    return syscall(SYS_execve, "/bin/true", argv, environment);
}

ATTACK(execute_from_memory)
{
    NO_FDS;
    long fd = syscall(SYS_memfd_create, "code", 0);
    if (fd < 0)
        return -1;
    return syscall(SYS_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH);
}

ATTACK(execute_passed_file)
{
    (void)nfds;
    return syscall(SYS_execveat, fds[0], "", NULL, NULL, AT_EMPTY_PATH);
}

/* ---- the parent ----------------------------------------------------------------------------- */

ATTACK(trace_parent)
{
    NO_FDS;
    return syscall(SYS_ptrace, PTRACE_SEIZE, parent, NULL, NULL);
}

static long parents_memory(long call)
{
    long mine = 666;
    struct iovec here = {&mine, sizeof(mine)},
                 there = {(void *)(uintptr_t)&attack_victim, sizeof(attack_victim)};
    return syscall(call, parent, &here, 1ul, &there, 1ul, 0ul) == sizeof(mine) ? 0 : -1;
}

ATTACK(write_parents_memory)
{
    NO_FDS;
    return parents_memory(SYS_process_vm_writev);
}

ATTACK(read_parents_memory)
{
    NO_FDS;
    return parents_memory(SYS_process_vm_readv);
}

ATTACK(signal_parent)
{
    NO_FDS;
    return syscall(SYS_kill, parent, 0);
}

ATTACK(signal_everyone)
{
    NO_FDS;
    return syscall(SYS_kill, -1, 0);
}

ATTACK(signal_parents_thread)
{
    NO_FDS;
    return syscall(SYS_tgkill, parent, parent, 0);
}

ATTACK(queue_signal_to_parent)
{
    NO_FDS;
    siginfo_t info = {.si_code = SI_QUEUE};
    return syscall(SYS_rt_sigqueueinfo, parent, SIGUSR1, &info);
}

ATTACK(open_pidfd_of_parent)
{
    NO_FDS;
    return syscall(SYS_pidfd_open, parent, 0) < 0 ? -1 : 0;
}

ATTACK(limit_parent)
{
    NO_FDS;
    struct rlimit now;
    return syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, NULL, &now);
}

/* ---- itself --------------------------------------------------------------------------------- */

ATTACK(raise_own_limit)
{
    NO_FDS;
    struct rlimit much = {4096, 4096};
    return syscall(SYS_setrlimit, RLIMIT_NOFILE, &much);
}

ATTACK(become_root)
{
    NO_FDS;
    return syscall(SYS_setuid, 0);
}

ATTACK(change_root)
{
    NO_FDS;
    return syscall(SYS_chroot, "/");
}

ATTACK(handle_trap_itself)
{
    NO_FDS;
    return signal(SIGSYS, SIG_IGN) == SIG_ERR ? -1 : 0;
}

ATTACK(trap_while_blocked)
{
    NO_FDS;
    uint64_t all = ~0ull;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
    return syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
}

ATTACK(replace_filter)
{
    NO_FDS;
    return syscall(SYS_prctl, PR_SET_SECCOMP, 1, 0, 0, 0);
}

ATTACK(map_code)
{
    NO_FDS;
    void *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? -1 : 0;
}

ATTACK(make_data_code)
{
    NO_FDS;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mprotect(page, 4096, PROT_READ | PROT_EXEC);
}

/* Two doors that a filter for one architecture's numbers forgets. */
ATTACK(fork_by_x32_number)
{
    NO_FDS;
    return reap(syscall(0x40000000 | SYS_fork));
}

ATTACK(fork_by_32_bit_gate)
{
    NO_FDS;
    long result = 2; /* fork, as 32-bit code numbers it */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    return reap(result < 0 ? -1 : result);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

ATTACK(new_user_space)
{
    NO_FDS;
    return syscall(SYS_unshare, CLONE_NEWUSER);
}

ATTACK(mount_something)
{
    NO_FDS;
    return syscall(SYS_mount, "none", "/", "tmpfs", 0, NULL);
}

ATTACK(load_bpf)
{
    NO_FDS;
    union bpf_attr attributes = {
        .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    return syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes)) < 0 ? -1 : 0;
}

ATTACK(make_io_uring)
{
    NO_FDS;
    struct io_uring_params parameters = {0};
    return syscall(SYS_io_uring_setup, 1, &parameters) < 0 ? -1 : 0;
}

ATTACK(handle_page_faults)
{
    NO_FDS;
    return syscall(SYS_userfaultfd, 1 /* user mode only */) < 0 ? -1 : 0;
}

ATTACK(use_keys)
{
    NO_FDS;
    return syscall(SYS_keyctl, 0, -3, 0, 0, 0) < 0 ? -1 : 0;
}

ATTACK(type_into_terminal)
{
    NO_FDS;
    char letter = 'x';
    return syscall(SYS_ioctl, 2, TIOCSTI, &letter);
}

/* ---- the network ---------------------------------------------------------------------------- */

ATTACK(make_udp_socket)
{
    NO_FDS;
    return syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0) < 0 ? -1 : 0;
}

ATTACK(connect_by_tcp)
{
    NO_FDS;
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)attack_tcp_port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

ATTACK(connect_to_abstract_socket)
{
    NO_FDS;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t length = strlen(attack_abstract_name);
    memcpy(to.sun_path + 1, attack_abstract_name, length);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? -1
                  : connect(fd, (struct sockaddr *)&to,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length));
}

ATTACK(connect_to_socket_by_path)
{
    NO_FDS;
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    memcpy(to.sun_path, attack_socket_path, sizeof(attack_socket_path));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

ATTACK(send_descriptor_back)
{
    NO_FDS;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    int zero = 0;
    memcpy(CMSG_DATA(&control.header), &zero, sizeof(zero));
    char byte = 0;
    struct iovec part = {&byte, 0};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    return sendmsg(3, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* ---- files ---------------------------------------------------------------------------------- */

static long opened(long fd)
{
    return fd < 0 ? -1 : 0;
}

ATTACK(open_by_path)
{
    NO_FDS;
    return opened(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY));
}

ATTACK(open_by_path_openat2)
{
    NO_FDS;
    uint64_t how[3] = {O_RDONLY, 0, 0};
    return opened(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof(how)));
}

ATTACK(read_passed_file)
{
    (void)nfds;
    char byte;
    return pread(fds[0], &byte, 1, 0) == 1 ? 0 : -1;
}

ATTACK(list_passed_directory)
{
    (void)nfds;
    char block[4096];
    return syscall(SYS_getdents64, fds[0], block, sizeof(block)) > 0 ? 0 : -1;
}

ATTACK(open_below_passed_directory)
{
    (void)nfds;
    return opened(syscall(SYS_openat, fds[0], "inside", O_RDONLY));
}

ATTACK(open_above_passed_directory)
{
    (void)nfds;
    return opened(syscall(SYS_openat, fds[0], "../../../../../../etc/passwd", O_RDONLY));
}

ATTACK(reopen_passed_file_for_writing)
{
    (void)nfds;
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
    return opened(syscall(SYS_openat, AT_FDCWD, path, O_RDWR));
}

ATTACK(stat_by_path)
{
    NO_FDS;
    struct stat status;
    return syscall(SYS_stat, "/etc/passwd", &status);
}

ATTACK(open_only_the_path)
{
    NO_FDS;
    return opened(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_PATH));
}

/* ---- what is left over from the parent ------------------------------------------------------ */

#define LEFT_OPEN 50

ATTACK(use_descriptor_of_parent)
{
    NO_FDS;
    return opened(syscall(SYS_dup, LEFT_OPEN));
}

ATTACK(read_environment_of_parent)
{
    NO_FDS;
    return getenv("HALTER_TEST_SECRET") ? 0 : -1;
}

ATTACK(burn_time)
{
    NO_FDS;
    for (volatile uint64_t i = 0; i < UINT64_MAX; i++)
        ;
    return 0;
}

const struct attack attacks[] = {
#define ONE(name)                                                                                  \
    {                                                                                              \
#        name, name                                                                                \
    }
    ONE(fork_itself),
    ONE(clone_itself),
    ONE(clone_thread_in_new_user_space),
    ONE(clone3_itself),
    ONE(execute),
    ONE(execute_from_memory),
    ONE(execute_passed_file),
    ONE(trace_parent),
    ONE(write_parents_memory),
    ONE(read_parents_memory),
    ONE(signal_parent),
    ONE(signal_everyone),
    ONE(signal_parents_thread),
    ONE(queue_signal_to_parent),
    ONE(open_pidfd_of_parent),
    ONE(limit_parent),
    ONE(raise_own_limit),
    ONE(become_root),
    ONE(change_root),
    ONE(handle_trap_itself),
    ONE(trap_while_blocked),
    ONE(replace_filter),
    ONE(map_code),
    ONE(make_data_code),
    ONE(fork_by_x32_number),
    ONE(fork_by_32_bit_gate),
    ONE(new_user_space),
    ONE(mount_something),
    ONE(load_bpf),
    ONE(make_io_uring),
    ONE(handle_page_faults),
    ONE(use_keys),
    ONE(type_into_terminal),
    ONE(make_udp_socket),
    ONE(connect_by_tcp),
    ONE(connect_to_abstract_socket),
    ONE(connect_to_socket_by_path),
    ONE(send_descriptor_back),
    ONE(open_by_path),
    ONE(open_by_path_openat2),
    ONE(read_passed_file),
    ONE(list_passed_directory),
    ONE(open_below_passed_directory),
    ONE(open_above_passed_directory),
    ONE(reopen_passed_file_for_writing),
    ONE(stat_by_path),
    ONE(open_only_the_path),
    ONE(use_descriptor_of_parent),
    ONE(read_environment_of_parent),
    ONE(burn_time),
};
const size_t attack_count = sizeof(attacks) / sizeof(attacks[0]);

/* ---- the engine ----------------------------------------------------------------------------- */

static const char *name_of_engine(void)
{
    return "attack";
}

static struct engine *create(struct helper *helper, const struct helper_start *start)
{
    (void)start;
    return (struct engine *)helper; /* it has nothing of its own, and is never looked into */
}

static enum engine_state load(struct engine *engine, const struct wire_load *load_frame,
                              struct engine_outcome *outcome)
{
    (void)engine, (void)load_frame;
    outcome->type = WIRE_LOADED;
    return ENGINE_DONE;
}

static enum engine_state call(struct engine *engine, const struct wire_call *call_frame,
                              const int *fds, unsigned nfds, struct engine_outcome *outcome)
{
    (void)engine;
    static char json[64];
    long value = -1, number;
    char name[64] = "";
    memcpy(name, call_frame->json.bytes + 1, call_frame->json.length - 2); /* without its quotes */
    errno = 0;
    if (sscanf(name, "call %ld", &number) == 1)
        value = syscall(number, 0, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < attack_count; i++)
        if (strcmp(name, attacks[i].name) == 0)
            value = attacks[i].run(fds, nfds);
    outcome->json = json;
    outcome->json_bytes = (size_t)sprintf(json, "[%ld,%d]", value, errno);
    outcome->type = WIRE_VALUE;
    return ENGINE_DONE;
}

static const struct engine_type engine_attack = {
    .name = name_of_engine,
    .create = create,
    .load = load,
    .call = call,
};

/* ---- running one ---------------------------------------------------------------------------- */

static struct attacked run(const char *name, const struct guest_options *options, const int *fds,
                           unsigned nfds)
{
    static const struct guest_options none;
    struct guest_options with = options ? *options : none;
    struct guest guest;
    struct attacked attacked = {.number = -1};
    with.engine = &engine_attack;
    parent = getpid();
    guest_load(&guest, &with, "");
    uint8_t body[WIRE_CALL_FIXED + 128];
    size_t length = wire_call_encode(&(struct wire_call){0}, body);
    length += (size_t)sprintf((char *)body + length, "\"%s\"", name);
    guest_send(&guest, WIRE_CALL, guest.last_id += 2, body, length, fds, nfds);
    uint8_t type = guest_receive(&guest);
    if (type == WIRE_VALUE) {
        char text[64] = "";
        memcpy(text, guest.frame.body, guest.frame.length);
        assert_int_equal(sscanf(text, "[%ld,%d]", &attacked.value, &attacked.error), 2);
    } else {
        assert_int_equal(type, 0);
        int status = guest_wait(&guest);
        assert_true(WIFSIGNALED(status));
        attacked.died = true;
        attacked.signal = WTERMSIG(status);
        attacked.number = guest.status->syscall_number;
    }
    if (with.leave_open && !guest.dead)
        guest_kill(&guest); /* it holds our end of its socket, and so never sees it closed */
    guest_finish(&guest);
    return attacked;
}

struct attacked attack(const char *name, const struct guest_options *options, const int *fds,
                       unsigned nfds)
{
    for (size_t i = 0; i < attack_count; i++)
        if (strcmp(name, attacks[i].name) == 0)
            return run(name, options, fds, nfds);
    fail_msg("there is no attack called %s", name);
    return (struct attacked){0};
}

struct attacked attack_call(long number, const struct guest_options *options)
{
    char name[64];
    snprintf(name, sizeof(name), "call %ld", number);
    return run(name, options, NULL, 0);
}
