/*
 * What halter-services gives up: privileges, all of the file system but system files for reading
 * and the state's folder, listening, and every system call that its work does not need. Its work is
 * to parse what strangers send, so this is the second wall behind libcurl, OpenSSL and SQLite.
 *
 * Seccomp allows by name and answers everything else with ENOSYS, which libraries take for an older
 * kernel; sockets are internet sockets and the one to the kernel's routing table that the resolver
 * uses. The uid stays the application's, whose files the state is among.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "halter/halter.h"
#include "services/services.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- seccomp -------------------------------------------------------------------------------- */

static const char *const allowed_calls[] = {
    /* memory and threads */
    "brk", "mmap", "mprotect", "mremap", "munmap", "madvise", "futex", "futex_waitv",
    "set_robust_list", "rseq", "gettid", "getpid", "getppid", "exit", "exit_group", "sched_yield",
    "sched_getaffinity", "getcpu", "restart_syscall", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "sigaltstack", "membarrier", "getrlimit", "getrusage",
    /* time and chance */
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "getrandom",
    /* files: which ones is Landlock's business */
    "open", "openat", "close", "read", "readv", "pread64", "write", "writev", "pwrite64", "lseek",
    "fstat", "stat", "lstat", "newfstatat", "statx", "fstatfs", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "getdents64", "getcwd", "fsync", "fdatasync", "ftruncate",
    "fallocate", "unlink", "unlinkat", "fcntl", "dup", "fchmod", "fchown", "umask", "getuid",
    "geteuid", "getgid", "getegid", "uname", "sysinfo",
    /* the network */
    "connect", "bind", "getsockname", "getpeername", "getsockopt", "setsockopt", "sendto",
    "sendmsg", "sendmmsg", "recvfrom", "recvmsg", "recvmmsg", "shutdown", "poll", "ppoll", "select",
    "pselect6", "socketpair", "pipe", "pipe2", "eventfd2", "epoll_create1", "epoll_ctl",
    "epoll_wait", "epoll_pwait", "epoll_pwait2",
    /* what confine_files() still has to do */
    "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"};

static bool allow_some(scmp_filter_ctx filter)
{
    int socket_call = SCMP_SYS(socket), clone_call = SCMP_SYS(clone);
    int ioctl_call = SCMP_SYS(ioctl), prctl_call = SCMP_SYS(prctl);
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, socket_call, 1,
                            SCMP_A0(SCMP_CMP_EQ, AF_INET)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, socket_call, 1,
                            SCMP_A0(SCMP_CMP_EQ, AF_INET6)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, socket_call, 2,
                            SCMP_A0(SCMP_CMP_EQ, AF_NETLINK),
                            SCMP_A2(SCMP_CMP_EQ, NETLINK_ROUTE)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, clone_call, 1,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, ioctl_call, 1,
                            SCMP_A1(SCMP_CMP_EQ, 0x541b /* FIONREAD */)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, ioctl_call, 1,
                            SCMP_A1(SCMP_CMP_EQ, 0x5421 /* FIONBIO */)) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, prctl_call, 1,
                            SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)) == 0;
}

/* clone3 is not among them: its flags are behind a pointer, where a filter cannot look. */
static bool enter_seccomp(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (!filter)
        return false;
    bool ok = allow_some(filter);
    for (size_t i = 0; ok && i < COUNT(allowed_calls); i++) {
        int number = seccomp_syscall_resolve_name(allowed_calls[i]);
        /* Another architecture or an older libseccomp may not have a name: then it is not needed.
         */
        if (number >= 0)
            ok = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
    }
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    ok = ok && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return ok;
}

/* ---- the rest of the first step ------------------------------------------------------------- */

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* refused to whoever has none anyway */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &header, data) == 0;
}

static bool limit(int resource, rlim_t value)
{
    struct rlimit limits;
    if (getrlimit(resource, &limits) != 0)
        return false;
    if (limits.rlim_max < value)
        value = limits.rlim_max;
    limits = (struct rlimit){value, value};
    return setrlimit(resource, &limits) == 0;
}

uint32_t confine_first(void)
{
    uint32_t layers = 0;
    if (drop_capabilities())
        layers |= HALTER_LAYER_BIT(HALTER_LAYER_NO_CAPS);
    if (limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, 2048))
        layers |= HALTER_LAYER_BIT(HALTER_LAYER_RLIMITS);
    if (syscall(SYS_close_range, 4, ~0u, 0) == 0)
        layers |= HALTER_LAYER_BIT(HALTER_LAYER_CLOSED_FDS);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        layers |= HALTER_LAYER_BIT(HALTER_LAYER_NO_NEW_PRIVS);
    if (enter_seccomp())
        layers |= HALTER_LAYER_BIT(HALTER_LAYER_SECCOMP);
    uint32_t needed =
        HALTER_LAYER_BIT(HALTER_LAYER_NO_NEW_PRIVS) | HALTER_LAYER_BIT(HALTER_LAYER_SECCOMP);
    if ((layers & needed) != needed) {
        fprintf(stderr, "halter-services: no seccomp here: it does not run unconfined\n");
        exit(65);
    }
    return layers;
}

/* ---- Landlock ------------------------------------------------------------------------------- */

/* As the kernel has them (include/uapi/linux/landlock.h); older headers lack the later ones. */
struct ruleset {
    uint64_t files, network, scope;
};
struct beneath {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

#define WRITE_FILE  (1ull << 1)
#define READ_FILE   (1ull << 2)
#define READ_DIR    (1ull << 3)
#define REMOVE_FILE (1ull << 5)
#define MAKE_REG    (1ull << 8)
#define TRUNCATE    (1ull << 14)
#define BIND_TCP    (1ull << 0)

static long landlock_abi(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* tell the version */);
}

uint32_t confine_landlock_abi(void)
{
    long abi = landlock_abi();
    return abi > 0 ? (uint32_t)abi : 0;
}

static void add_rule(int rules, const char *path, uint64_t allowed)
{
    struct beneath rule = {allowed, open(path, O_PATH | O_CLOEXEC)};
    struct stat status;
    if (rule.folder < 0)
        return; /* not there, so nothing to be read in it */
    if (fstat(rule.folder, &status) == 0 && !S_ISDIR(status.st_mode))
        rule.allowed &= READ_FILE | WRITE_FILE | TRUNCATE;
    syscall(SYS_landlock_add_rule, rules, 1 /* a path and what is beneath it */, &rule, 0);
    close(rule.folder);
}

static void add_rules(int rules, const char *state_path, uint64_t handled)
{
    /* For the resolver, for certificates, and for the libraries that those load late. */
    static const char *const readable[] = {"/etc/resolv.conf",
                                           "/etc/hosts",
                                           "/etc/host.conf",
                                           "/etc/nsswitch.conf",
                                           "/etc/gai.conf",
                                           "/etc/services",
                                           "/etc/protocols",
                                           "/etc/localtime",
                                           "/etc/ssl",
                                           "/etc/pki",
                                           "/etc/ca-certificates",
                                           "/etc/ld.so.cache",
                                           "/etc/crypto-policies",
                                           "/usr/share/ca-certificates",
                                           "/usr/local/share/ca-certificates",
                                           "/usr/share/zoneinfo",
                                           "/usr/lib",
                                           "/usr/lib64",
                                           "/lib",
                                           "/lib64",
                                           "/run/systemd/resolve",
                                           "/run/resolvconf",
                                           "/run/NetworkManager",
                                           "/dev/urandom",
                                           "/dev/null"};
    for (size_t i = 0; i < COUNT(readable); i++)
        add_rule(rules, readable[i], READ_FILE | READ_DIR);
    char *copy = *state_path ? strdup(state_path) : NULL;
    if (copy)
        add_rule(rules, dirname(copy),
                 (READ_FILE | READ_DIR | WRITE_FILE | REMOVE_FILE | MAKE_REG | TRUNCATE) & handled);
    free(copy);
}

bool confine_files(const char *state_path)
{
    long abi = landlock_abi();
    if (abi < 1)
        return false;
    /* Rights by version: 13 in the first, one more in each of 2, 3 and 5 (Linux, userspace-api). */
    unsigned bits = abi >= 5 ? 16 : abi >= 3 ? 15 : abi >= 2 ? 14 : 13;
    struct ruleset wanted = {.files = (1ull << bits) - 1,
                             .network = abi >= 4 ? BIND_TCP : 0,
                             .scope = abi >= 6 ? 3 /* abstract sockets, signals */ : 0};
    size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    int rules = (int)syscall(SYS_landlock_create_ruleset, &wanted, size, 0);
    if (rules < 0)
        return false;
    add_rules(rules, state_path, wanted.files);
    bool entered = syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return entered;
}
