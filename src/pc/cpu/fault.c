/*
 * Exceptions and interrupts: noting one, and entering its handler through the interrupt table of
 * real mode or the gates of protected mode. A delivery checks everything and writes its frame in
 * one piece before it changes a register, so a fault on the way leaves the old state to report.
 */
#include "pc/cpu/internal.h"

enum {
    GATE_TASK = 5,
    GATE_INTERRUPT16 = 6,
    GATE_TRAP16 = 7,
    GATE_INTERRUPT32 = 14,
    GATE_TRAP32 = 15,
};

bool cpu_fault(struct cpu *cpu, enum vector vector)
{
    cpu->fault = (struct fault){.pending = true, .vector = (uint8_t)vector};
    return false;
}

bool cpu_fault_code(struct cpu *cpu, enum vector vector, uint16_t error)
{
    bool ext = cpu->external && vector >= VEC_TS && vector <= VEC_GP;
    cpu->fault = (struct fault){.pending = true,
                                .has_error = true,
                                .vector = (uint8_t)vector,
                                .error = (uint16_t)(error | ext)};
    return false;
}

/* ---- real mode (SDM 3B 20.1.4) ------------------------------------------------------------ */

static bool enter_real(struct cpu *cpu, uint8_t vector)
{
    uint16_t target[2];
    if (vector * 4u + 3 > cpu->idt_limit)
        return cpu_fault_code(cpu, VEC_GP, (uint16_t)(vector * 8 + 2));
    if (!mmu_read(cpu, cpu->idt_base + vector * 4u, target, 4, false))
        return false;
    uint16_t frame[3] = {(uint16_t)cpu->eip, cpu->seg[SEG_CS].selector, (uint16_t)cpu_eflags(cpu)};
    uint16_t sp = (uint16_t)(cpu->reg[CPU_ESP] - 6);
    linear_t lin;
    if (!seg_linear(cpu, SEG_SS, sp, 6, SEG_WRITE, &lin) || !mmu_write(cpu, lin, frame, 6, false))
        return false;
    cpu->reg[CPU_ESP] = (cpu->reg[CPU_ESP] & 0xffff0000) | sp;
    cpu->eflags &= ~(uint32_t)(FLAG_IF | FLAG_TF | FLAG_AC | FLAG_RF);
    cpu->eip = target[0];
    seg_set_cs_real(cpu, target[1]);
    return true;
}

/* ---- protected mode (SDM 3A 6.12) --------------------------------------------------------- */

struct gate {
    uint16_t selector;
    uint32_t offset;
    bool wide, trap;
};

static bool read_gate(struct cpu *cpu, uint8_t vector, enum delivery how, struct gate *gate)
{
    uint16_t error = (uint16_t)(vector * 8 + 2);
    uint32_t words[2];
    if (vector * 8u + 7 > cpu->idt_limit)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!mmu_read(cpu, cpu->idt_base + vector * 8u, words, sizeof words, false))
        return false;
    unsigned type = words[1] >> 8 & 31;
    if (type == GATE_TASK)
        cpu_log(cpu, CPU_LOG_ERROR, "task gates are not implemented");
    if (type != GATE_INTERRUPT16 && type != GATE_TRAP16 && type != GATE_INTERRUPT32 &&
        type != GATE_TRAP32)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (how == DELIVER_SOFTWARE && (words[1] >> DESC_DPL_SHIFT & 3) < cpu->cpl)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!(words[1] & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    gate->wide = type & 8;
    gate->trap = type & 1;
    gate->selector = (uint16_t)(words[0] >> 16);
    gate->offset = (words[0] & 0xffff) | (gate->wide ? words[1] & 0xffff0000 : 0);
    return true;
}

/* The handler's code segment; *cpl becomes the handler's privilege. */
static bool check_handler(struct cpu *cpu, const struct gate *gate, struct segment *cs,
                          unsigned *cpl)
{
    struct descriptor d;
    uint16_t error = gate->selector & 0xfffc;
    if (!error)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!seg_read_descriptor(cpu, gate->selector, VEC_GP, &d))
        return false;
    unsigned dpl = d.high >> DESC_DPL_SHIFT & 3;
    bool code = (d.high & DESC_S) && (d.high & DESC_CODE);
    if (!code || dpl > cpu->cpl)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    *cpl = d.high & DESC_EC ? cpu->cpl : dpl;
    if (cpu_v86(cpu) && *cpl != 0)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!seg_set_accessed(cpu, &d))
        return false;
    seg_unpack(cs, gate->selector, &d);
    if (gate->offset > cs->limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    return true;
}

/* The frame, lowest address first. */
struct frame {
    uint32_t words[11];
    unsigned count;
};

static void build_frame(const struct cpu *cpu, struct frame *f, bool outer_stack, bool has_error,
                        uint16_t error, uint32_t eflags)
{
    f->count = 0;
    if (has_error)
        f->words[f->count++] = error;
    f->words[f->count++] = cpu->eip;
    f->words[f->count++] = cpu->seg[SEG_CS].selector;
    f->words[f->count++] = eflags;
    if (!outer_stack)
        return;
    f->words[f->count++] = (uint32_t)cpu->reg[CPU_ESP];
    f->words[f->count++] = cpu->seg[SEG_SS].selector;
    if (cpu_v86(cpu)) {
        static const uint8_t order[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
        for (unsigned i = 0; i < sizeof order; i++)
            f->words[f->count++] = cpu->seg[order[i]].selector;
    }
}

/* Writes the frame below `esp` on `ss`, at the handler's privilege; returns the new ESP in place.
 */
static bool push_frame(struct cpu *cpu, const struct frame *f, bool wide, const struct segment *ss,
                       uint32_t *esp, bool user)
{
    uint8_t bytes[sizeof f->words];
    unsigned each = wide ? 4 : 2, size = f->count * each;
    for (unsigned i = 0; i < f->count; i++)
        memcpy(bytes + i * each, &f->words[i], each);
    uint32_t mask = ss->attr & DESC_DB ? 0xffffffff : 0xffff;
    uint32_t at = (*esp - size) & mask;
    if (!seg_allows(cpu, ss, at, size, SEG_WRITE)) {
        bool same = ss == &cpu->seg[SEG_SS];
        return cpu_fault_code(cpu, VEC_SS, same ? 0 : ss->selector & 0xfffc);
    }
    if (!mmu_write(cpu, ss->base + at, bytes, size, user))
        return false;
    *esp = (*esp & ~mask) | at;
    return true;
}

static bool find_stack(struct cpu *cpu, unsigned cpl, struct segment *ss, uint32_t *esp)
{
    uint16_t selector;
    struct descriptor d;
    return seg_stack_from_tss(cpu, cpl, &selector, esp) &&
           seg_check_stack(cpu, selector, cpl, VEC_TS, ss, &d) && seg_set_accessed(cpu, &d);
}

static void commit_handler(struct cpu *cpu, const struct gate *gate, const struct segment *cs,
                           unsigned cpl)
{
    if (cpu_v86(cpu)) {
        static const uint8_t data[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
        for (unsigned i = 0; i < sizeof data; i++)
            cpu->seg[data[i]] = (struct segment){0};
    }
    cpu->eflags &= ~(uint32_t)(FLAG_TF | FLAG_NT | FLAG_RF | FLAG_VM);
    if (!gate->trap)
        cpu->eflags &= ~(uint32_t)FLAG_IF;
    cpu->eip = gate->offset;
    seg_set_cs(cpu, cs, cpl);
}

static bool enter_protected(struct cpu *cpu, uint8_t vector, enum delivery how, bool has_error,
                            uint16_t error)
{
    struct gate gate;
    struct segment cs, ss = cpu->seg[SEG_SS];
    unsigned cpl;
    if (!read_gate(cpu, vector, how, &gate) || !check_handler(cpu, &gate, &cs, &cpl))
        return false;
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP];
    bool inner = cpl < cpu->cpl;
    if (inner && !find_stack(cpu, cpl, &ss, &esp))
        return false;
    /* Faults push RF set, so that their instruction's breakpoint does not hit again (17.3.1.1). */
    bool is_fault = how == DELIVER_EXCEPTION && vector != VEC_DB;
    struct frame frame;
    build_frame(cpu, &frame, inner, has_error, error, cpu_eflags(cpu) | (is_fault ? FLAG_RF : 0));
    if (!push_frame(cpu, &frame, gate.wide, inner ? &ss : &cpu->seg[SEG_SS], &esp, cpl == 3))
        return false;
    cpu->reg[CPU_ESP] = esp;
    if (inner)
        cpu->seg[SEG_SS] = ss;
    commit_handler(cpu, &gate, &cs, cpl);
    return true;
}

bool fault_enter(struct cpu *cpu, uint8_t vector, enum delivery how, bool has_error, uint16_t error)
{
    /* INT n is not external, but an exception on its own account is (EXT, SDM 3A 6.13). */
    cpu->external = how != DELIVER_SOFTWARE;
    cpu->link_from = NULL; /* the next block is not where the last one meant to go */
    bool entered = cpu_protected(cpu) ? enter_protected(cpu, vector, how, has_error, error)
                                      : enter_real(cpu, vector);
    cpu->external = false;
    cpu->entered |= entered;
    return entered;
}

/* ---- double faults (SDM 3A table 6-5) ----------------------------------------------------- */

static bool is_contributory(unsigned vector)
{
    return vector == VEC_DE || (vector >= VEC_TS && vector <= VEC_GP);
}

static bool makes_double_fault(unsigned first, unsigned second)
{
    if (first == VEC_PF)
        return second == VEC_PF || is_contributory(second);
    return is_contributory(first) && is_contributory(second);
}

static void log_exception(struct cpu *cpu, const struct fault *fault)
{
    unsigned slot = cpu->exception_count++ % EXCEPTION_LOG;
    cpu->exceptions[slot] = *fault;
    cpu->exception_eip[slot] = cpu->eip;
}

void fault_deliver(struct cpu *cpu)
{
    struct fault fault = cpu->fault;
    for (;;) {
        cpu->fault.pending = false;
        log_exception(cpu, &fault);
        if (fault.vector == VEC_PF)
            cpu->cr2 = fault.cr2;
        bool has_error = fault.has_error && cpu_protected(cpu);
        if (fault_enter(cpu, fault.vector, DELIVER_EXCEPTION, has_error, fault.error))
            return;
        if (fault.vector == VEC_DF) {
            cpu->fault.pending = false;
            cpu->events |= EVENT_SHUTDOWN;
            return;
        }
        unsigned first = fault.vector;
        fault = cpu->fault;
        if (makes_double_fault(first, fault.vector))
            fault = (struct fault){.pending = true, .has_error = true, .vector = VEC_DF};
    }
}
