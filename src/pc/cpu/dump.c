/*
 * The processor's state as text, for reports of triple faults and for traces.
 */
#include "pc/cpu/internal.h"

#include "pc/text.h"

static void add_register(struct text *t, const char *name, uint32_t value)
{
    text_add(t, name);
    text_add_char(t, '=');
    text_add_hex(t, value, 8);
}

static void add_general(struct text *t, const struct cpu *cpu)
{
    static const char *const names[8] = {"eax",   " ecx", " edx", " ebx",
                                         "\nesp", " ebp", " esi", " edi"};
    for (unsigned i = 0; i < 8; i++)
        add_register(t, names[i], (uint32_t)cpu->reg[i]);
    add_register(t, "\neip", cpu->eip);
    add_register(t, " eflags", cpu_eflags(cpu));
    text_add(t, " cpl=");
    text_add_decimal(t, cpu->cpl);
    add_register(t, "\ncr0", cpu->cr0);
    add_register(t, " cr2", cpu->cr2);
    add_register(t, " cr3", cpu->cr3);
    add_register(t, " cr4", cpu->cr4);
    text_add_char(t, '\n');
}

static void add_segments(struct text *t, const struct cpu *cpu)
{
    static const char *const names[] = {"es", "cs", "ss", "ds", "fs", "gs", "ldt", "tr"};
    for (unsigned i = 0; i < SEG_COUNT + 2; i++) {
        const struct segment *s = &cpu->seg[i];
        text_add(t, names[i]);
        text_add_char(t, '=');
        text_add_hex(t, s->selector, 4);
        add_register(t, " base", s->base);
        add_register(t, " limit", s->limit);
        add_register(t, " attr", s->attr);
        text_add_char(t, '\n');
    }
    add_register(t, "gdt base", cpu->gdt_base);
    add_register(t, " limit", cpu->gdt_limit);
    add_register(t, "\nidt base", cpu->idt_base);
    add_register(t, " limit", cpu->idt_limit);
    text_add_char(t, '\n');
}

/* A byte of code without side effects: only what the TLB already knows, and plain RAM. */
static bool peek_code(const struct cpu *cpu, linear_t lin, uint8_t *byte)
{
    const struct tlb_entry *e = &cpu->tlb[lin >> 12 & (TLB_ENTRIES - 1)];
    phys_t at = lin + e->add;
    if (!(cpu->cr0 & CR0_PG))
        at = lin;
    else if (e->fetch != (lin & ~(uint32_t)PAGE_MASK))
        return false;
    if (at >= cpu->bus.ram_bytes)
        return false;
    *byte = cpu->ram[at];
    return true;
}

void cpu_text_code(const struct cpu *cpu, struct text *t)
{
    uint8_t bytes[INSN_MAX_BYTES];
    unsigned count = 0;
    linear_t lin = cpu->seg[SEG_CS].base + cpu->eip;
    while (count < sizeof bytes && peek_code(cpu, lin + count, &bytes[count]))
        count++;
    struct insn insn;
    char line[80];
    bool known = insn_decode(&cpu->isa, bytes, count, cpu->key & KEY_CODE32, &insn) == INSN_OK;
    for (unsigned i = 0; i < (known ? insn.length : count); i++) {
        text_add_hex(t, bytes[i], 2);
        text_add_char(t, ' ');
    }
    if (known)
        insn_text(&insn, cpu->eip, line, sizeof line);
    text_add(t, known ? line : count ? "(undefined)" : "(not mapped)");
}

static void add_history(struct text *t, const struct cpu *cpu)
{
    uint32_t first =
        cpu->exception_count < EXCEPTION_LOG ? 0 : cpu->exception_count - EXCEPTION_LOG;
    for (uint32_t i = first; i < cpu->exception_count; i++) {
        const struct fault *f = &cpu->exceptions[i % EXCEPTION_LOG];
        text_add(t, "exception ");
        text_add_decimal(t, f->vector);
        text_add(t, " error ");
        text_add_hex(t, f->error, 4);
        add_register(t, " eip", cpu->exception_eip[i % EXCEPTION_LOG]);
        if (f->vector == VEC_PF)
            add_register(t, " cr2", f->cr2);
        text_add_char(t, '\n');
    }
    first = cpu->branch_count < BRANCH_LOG ? 0 : cpu->branch_count - BRANCH_LOG;
    text_add(t, "blocks");
    for (uint32_t i = first; i < cpu->branch_count; i++) {
        text_add_char(t, ' ');
        text_add_hex(t, cpu->branches[i % BRANCH_LOG].from, 8);
    }
    text_add_char(t, '\n');
}

size_t cpu_dump(struct cpu *cpu, char *text, size_t bytes)
{
    struct text t = text_init(text, bytes);
    add_general(&t, cpu);
    add_segments(&t, cpu);
    text_add(&t, "code ");
    cpu_text_code(cpu, &t);
    text_add_char(&t, '\n');
    add_history(&t, cpu);
    return t.used;
}
