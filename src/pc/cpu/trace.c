/*
 * What a processor logs when it is asked to: each instruction with the registers before it, each
 * exception and interrupt, each translation that the TLB takes up. Nothing here is called from the
 * interpreter: instructions are traced from the loop in cpu.c, which then runs them one by one.
 */
#include "pc/cpu/internal.h"

#include "pc/text.h"

static void add_place(struct text *t, const struct cpu *cpu)
{
    text_add_decimal(t, cpu_insns(cpu));
    text_add_char(t, ' ');
    text_add_hex(t, cpu->seg[SEG_CS].selector, 4);
    text_add_char(t, ':');
    text_add_hex(t, cpu->eip, 8);
    text_add_char(t, ' ');
}

static void add_pair(struct text *t, const char *name, uint32_t value)
{
    text_add_char(t, ' ');
    text_add(t, name);
    text_add_char(t, '=');
    text_add_hex(t, value, 8);
}

void trace_instruction(struct cpu *cpu)
{
    static const char *const names[8] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
    char buffer[320];
    struct text t = TEXT(buffer);
    add_place(&t, cpu);
    cpu_text_code(cpu, &t);
    text_add(&t, " ;");
    for (unsigned i = 0; i < 8; i++)
        add_pair(&t, names[i], (uint32_t)cpu->reg[i]);
    add_pair(&t, "eflags", cpu_eflags(cpu));
    cpu_log(cpu, CPU_LOG_TRACE, buffer);
}

void trace_event(struct cpu *cpu, const char *kind, unsigned vector, const struct fault *fault)
{
    char buffer[120];
    struct text t = TEXT(buffer);
    add_place(&t, cpu);
    text_add(&t, kind);
    text_add_char(&t, ' ');
    text_add_hex(&t, vector, 2);
    if (fault && fault->has_error)
        add_pair(&t, "error", fault->error);
    if (fault && fault->vector == VEC_PF)
        add_pair(&t, "cr2", fault->cr2);
    cpu_log(cpu, CPU_LOG_TRACE, buffer);
}

void trace_translation(struct cpu *cpu, linear_t lin, const struct tlb_entry *e, bool user)
{
    char buffer[120];
    struct text t = TEXT(buffer);
    add_place(&t, cpu);
    text_add(&t, user ? "tlb user" : "tlb kernel");
    add_pair(&t, "linear", lin & ~0xfffu);
    add_pair(&t, "physical", (lin & ~0xfffu) + e->add);
    text_add(&t, e->write & TLB_NONE ? " r-" : " rw");
    text_add(&t, e->fetch & TLB_NONE ? "-" : "x");
    text_add(&t, e->read & TLB_MMIO ? " device" : "");
    cpu_log(cpu, CPU_LOG_TRACE, buffer);
}

void trace_paging(struct cpu *cpu, const char *what, uint32_t value)
{
    char buffer[80];
    struct text t = TEXT(buffer);
    add_place(&t, cpu);
    add_pair(&t, what, value);
    cpu_log(cpu, CPU_LOG_TRACE, buffer);
}
