/*
 * The seccomp filter, made from syscalls.def without a library: a chain of comparisons, each with
 * its verdict behind it. A filter that kills says SIGSYS but not which call it was, so it traps,
 * and a handler writes the number down and dies.
 */
#include "helper/confine_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if !defined(__x86_64__)
#    error "the filter is written and tested for x86-64: add the architecture with its tests"
#endif

#define X32_BIT 0x40000000u /* the x32 ABI's numbers; same architecture, other entry points */

/* What a call that makes a thread has, and what it must not have. */
#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define NEW_SPACES                                                                                 \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET | CLONE_PTRACE | CLONE_VFORK)

struct program {
    struct sock_filter *code;
    unsigned length;
};

static void emit(struct program *program, struct sock_filter instruction)
{
    program->code[program->length++] = instruction;
}

static void load(struct program *program, size_t offset)
{
    emit(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* Loads the low half of an argument: all that these calls look at fits in it. */
static void load_argument(struct program *program, unsigned index)
{
    load(program, offsetof(struct seccomp_data, args) + 8 * index);
}

static void verdict(struct program *program, uint32_t action)
{
    emit(program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* A comparison that goes on behind `skip` instructions when it does not hold. */
static void when(struct program *program, uint16_t test, uint32_t value, uint8_t skip)
{
    emit(program, (struct sock_filter)BPF_JUMP(BPF_JMP | test | BPF_K, value, 0, skip));
}

static uint32_t denied(int error)
{
    return SECCOMP_RET_ERRNO | (uint32_t)error;
}

static void allow(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 1);
    verdict(program, SECCOMP_RET_ALLOW);
}

static void refuse(struct program *program, uint32_t number, int error)
{
    when(program, BPF_JEQ, number, 1);
    verdict(program, denied(error));
}

/* Memory that can be executed is what the engine mapped before; a JIT writes into that. */
static void if_no_exec(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 4);
    load_argument(program, 2);
    when(program, BPF_JSET, PROT_EXEC, 1);
    verdict(program, denied(EACCES));
    verdict(program, SECCOMP_RET_ALLOW);
}

/* The collector stops the engine's threads with a signal; abort() raises one. */
static void if_own_process(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 4);
    load_argument(program, 0);
    when(program, BPF_JEQ, (uint32_t)getpid(), 1);
    verdict(program, SECCOMP_RET_ALLOW);
    verdict(program, SECCOMP_RET_TRAP);
}

/*
 * The engine handles SIGSEGV and SIGBUS, and for one that is not its own puts the default back and
 * lets it come again: without this a crash would be reported as a forbidden system call.
 */
static void if_crash_signal(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 6);
    load_argument(program, 0);
    when(program, BPF_JEQ, SIGSEGV, 1);
    verdict(program, SECCOMP_RET_ALLOW);
    when(program, BPF_JEQ, SIGBUS, 1);
    verdict(program, SECCOMP_RET_ALLOW);
    verdict(program, SECCOMP_RET_TRAP);
}

static void if_thread(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 7);
    load_argument(program, 0);
    when(program, BPF_JSET, NEW_SPACES, 1);
    verdict(program, SECCOMP_RET_TRAP);
    emit(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, THREAD_FLAGS));
    when(program, BPF_JEQ, THREAD_FLAGS, 1);
    verdict(program, SECCOMP_RET_ALLOW);
    verdict(program, SECCOMP_RET_TRAP);
}

static void if_set_name(struct program *program, uint32_t number)
{
    when(program, BPF_JEQ, number, 4);
    load_argument(program, 0);
    when(program, BPF_JEQ, PR_SET_NAME, 1);
    verdict(program, SECCOMP_RET_ALLOW);
    verdict(program, denied(EPERM));
}

unsigned confine_filter_build(struct sock_filter out[CONFINE_FILTER_MAX])
{
    struct program program = {out, 0};
    load(&program, offsetof(struct seccomp_data, arch));
    emit(&program,
         (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    verdict(&program, SECCOMP_RET_KILL_PROCESS);
    load(&program, offsetof(struct seccomp_data, nr));
    when(&program, BPF_JGE, X32_BIT, 1);
    verdict(&program, SECCOMP_RET_TRAP);
#define SYSCALL_ALLOW(name)         allow(&program, SYS_##name);
#define SYSCALL_IF(name, condition) if_##condition(&program, SYS_##name);
#define SYSCALL_ERRNO(name, error)  refuse(&program, SYS_##name, error);
#include "helper/syscalls.def"
#undef SYSCALL_ALLOW
#undef SYSCALL_IF
#undef SYSCALL_ERRNO
    verdict(&program, SECCOMP_RET_TRAP);
    return program.length;
}

static struct control_status *trap_status; /* for the handler, which is given nothing */

/* Runs once (SA_RESETHAND): the second SIGSYS, its own, ends the process. */
static void on_trap(int number, siginfo_t *info, void *unused)
{
    (void)unused;
    if (trap_status)
        trap_status->syscall_number = info->si_syscall;
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

bool confine_filter_install(struct control_status *status)
{
    struct sock_filter code[CONFINE_FILTER_MAX];
    struct sock_fprog program = {.len = (unsigned short)confine_filter_build(code), .filter = code};
    struct sigaction action = {
        .sa_sigaction = on_trap,
        .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER,
    };
    trap_status = status;
    if (sigaction(SIGSYS, &action, NULL) < 0)
        return false;
    long got = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (got > 0)
        errno = ESRCH; /* a thread that could not be taken along */
    return got == 0;
}
