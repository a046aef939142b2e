/*
 * native.c: runs the cases in a shared memory on this machine's processor. Built for 32 bits. The
 * state goes in through sigreturn with the trap flag set, one instruction runs, and the SIGTRAP (or
 * the signal of its fault) brings the state back.
 *
 * Usage: oracle-native, with the memory on descriptor 3. A 32-bit count on standard input starts a
 * batch; a byte on standard output says that it is done.
 */
#include "oracle.h"

#include <asm/ldt.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static struct oracle_shared *shared;
static uint8_t *const code_page = (uint8_t *)ORACLE_CODE;
static uint8_t *const data_page = (uint8_t *)ORACLE_DATA;
static uint8_t filled[ORACLE_PAGE];
static uint32_t current, count;

static const int context_index[8] = {REG_EAX, REG_ECX, REG_EDX, REG_EBX,
                                     REG_ESP, REG_EBP, REG_ESI, REG_EDI};

static void put_in(ucontext_t *context, const struct oracle_case *c)
{
    greg_t *g = context->uc_mcontext.gregs;
    memcpy(code_page + (ORACLE_START - ORACLE_CODE), c->code, sizeof c->code);
    oracle_fill_page(c->page_seed, filled);
    memcpy(data_page, filled, ORACLE_PAGE);
    for (int i = 0; i < 8; i++)
        g[context_index[i]] = (greg_t)c->before.reg[i];
    g[REG_EIP] = ORACLE_START;
    g[REG_EFL] = (greg_t)c->before.eflags;
}

static void take_out(const ucontext_t *context, struct oracle_case *c, int signal)
{
    const greg_t *g = context->uc_mcontext.gregs;
    for (int i = 0; i < 8; i++)
        c->after.reg[i] = (uint32_t)g[context_index[i]];
    c->after.eip = (uint32_t)g[REG_EIP];
    c->after.eflags = (uint32_t)g[REG_EFL];
    c->after.trap = (uint32_t)g[REG_TRAPNO];
    c->after.error = (uint32_t)g[REG_ERR];
    if (signal == SIGTRAP && c->after.trap == 1)
        c->after.trap = ORACLE_STEPPED;
    if (c->after.trap == ORACLE_STEPPED)
        c->after.error = 0;
    c->after.cr2 = c->after.trap == 14 ? context->uc_mcontext.cr2 : 0;
    oracle_note_changes(c, filled, data_page);
}

static void next_batch(void)
{
    char done = 1;
    if (count && write(1, &done, 1) != 1)
        _exit(1);
    if (read(0, &count, sizeof count) != sizeof count)
        _exit(0);
    current = 0;
}

/* sigreturn leaves NT and ID as the handler has them, so an earlier POPF would shine through; and
 * with AC the handler's own unaligned accesses would fault. */
static void clear_sticky_flags(void)
{
    __asm__ volatile("pushfl\n\tandl $~0x244000, (%%esp)\n\tpopfl" ::: "cc", "memory");
}

static void on_signal(int signal, siginfo_t *info, void *opaque)
{
    ucontext_t *context = opaque;
    (void)info;
    clear_sticky_flags();
    if (count)
        take_out(context, &shared->cases[current++], signal);
    if (current == count)
        next_batch();
    put_in(context, &shared->cases[current]);
}

static int map_pages(void)
{
    void *code = mmap(code_page, ORACLE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    void *data = mmap(data_page, ORACLE_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
    if (code != code_page || data != data_page || shared == MAP_FAILED)
        return -1;
    memset(code_page, 0x90, ORACLE_PAGE);
    return 0;
}

/* FS, which no 32-bit program uses, becomes a segment with a small limit. */
static int make_small_segment(void)
{
    struct user_desc d = {
        .base_addr = ORACLE_SMALL, .limit = ORACLE_LIMIT, .seg_32bit = 1, .useable = 1};
    if (syscall(SYS_modify_ldt, 1, &d, sizeof d))
        return -1;
    __asm__ volatile("mov %0, %%fs" ::"r"(7));
    return 0;
}

static void note_selectors(void)
{
    uint32_t *s = shared->selector;
    __asm__ volatile("mov %%es, %0\n\tmov %%cs, %1\n\tmov %%ss, %2\n\tmov %%ds, %3\n\t"
                     "mov %%fs, %4\n\tmov %%gs, %5"
                     : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=m"(s[3]), "=m"(s[4]), "=m"(s[5]));
}

int main(void)
{
    static const int signals[] = {SIGTRAP, SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGUSR1};
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (map_pages() || make_small_segment() || sigaltstack(&alternate, NULL))
        return 1;
    memset(shared->selector, 0, sizeof shared->selector);
    note_selectors();
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++)
        sigaction(signals[i], &action, NULL);
    raise(SIGUSR1);
    return 1;
}
