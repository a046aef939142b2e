/* native.c: running one instruction on the processor itself. */
#include "native.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

struct native_code {
    uint8_t *page;
    unsigned resume; /* offset of what follows the instruction */
};

static const struct native_code *running;
static volatile sig_atomic_t trapped, undefined;

/* An exception: carry on behind the instruction, with the state as the trap found it. */
static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;

    (void)info;
    if (!running)
        abort();
    if (signal_number == SIGILL)
        undefined = 1;
    else
        trapped = 1;
    uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)(running->page + running->resume);
}

static void catch_traps(void)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGFPE, &action, NULL) != 0 || sigaction(SIGILL, &action, NULL) != 0)
        abort();
}

struct native_code *native_compile(const uint8_t *bytes, unsigned count)
{
    /* (rdi = before, rsi = memory, rdx = after, rcx = &eflags) */
    static const uint8_t enter[] = {
        0x0f, 0xae, 0x0f,       /* fxrstor (%rdi) */
        0xff, 0x31, 0x9d,       /* pushq (%rcx); popfq */
        0x48, 0x8b, 0x41, 0x08, /* mov 8(%rcx), %rax */
    };
    static const uint8_t leave[] = {
        0x0f, 0xae, 0x02,       /* fxsave (%rdx) */
        0x48, 0x89, 0x41, 0x08, /* mov %rax, 8(%rcx) */
        0x9c, 0x8f, 0x01,       /* pushfq; popq (%rcx) */
        0xdb, 0xe3,             /* fninit */
        0x0f, 0xae, 0x51, 0x10, /* ldmxcsr 16(%rcx) */
        0xc3,
    };
    struct native_code *code = malloc(sizeof(*code));

    catch_traps(); /* again and again: cmocka takes these signals at the start of each test */
    if (!code)
        abort();
    code->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code->page == MAP_FAILED)
        abort();
    code->resume = (unsigned)sizeof(enter) + count;
    memcpy(code->page, enter, sizeof(enter));
    memcpy(code->page + sizeof(enter), bytes, count);
    memcpy(code->page + code->resume, leave, sizeof(leave));
    if (mprotect(code->page, 4096, PROT_READ | PROT_EXEC) != 0)
        abort();
    return code;
}

void native_free(struct native_code *code)
{
    munmap(code->page, 4096);
    free(code);
}

void native_run(const struct native_code *code, struct native_case *c)
{
    typedef void stub(const uint8_t *, uint8_t *, uint8_t *, uint64_t *);
    stub *run;

    memcpy(&run, &code->page, sizeof(run));
    running = code;
    trapped = undefined = 0;
    c->host_mxcsr = 0x1f80;
    run(c->before, c->memory, c->after, &c->eflags);
    running = NULL;
    c->trapped = trapped != 0;
    c->undefined = undefined != 0;
}
