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

/* What is delivered. */
struct event {
    uint8_t vector;
    enum delivery how;
    bool has_error;
    uint16_t error;
    uint32_t eflags; /* to be pushed */
};

/* ---- real mode (SDM 3B 20.1.4) ------------------------------------------------------------ */

static bool enter_real(struct cpu *cpu, const struct event *e)
{
    uint16_t target[2];
    if (e->vector * 4u + 3 > cpu->idt_limit)
        return cpu_fault_code(cpu, VEC_GP, (uint16_t)(e->vector * 8 + 2));
    if (!mmu_read(cpu, cpu->idt_base + e->vector * 4u, target, 4, false))
        return false;
    const uint32_t frame[3] = {cpu->eip, cpu->seg[SEG_CS].selector, e->eflags};
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP];
    if (!frame_push(cpu, &cpu->seg[SEG_SS], &esp, frame, 3, 2, false, 0))
        return false;
    cpu->reg[CPU_ESP] = esp;
    cpu->eflags &= ~(uint32_t)(FLAG_IF | FLAG_TF | FLAG_AC | FLAG_RF);
    cpu->eip = target[0];
    seg_set_cs_real(cpu, target[1]);
    return true;
}

/* ---- protected mode (SDM 3A 6.12) --------------------------------------------------------- */

struct gate {
    uint16_t selector;
    uint32_t offset;
    bool wide, trap, task;
};

static bool read_gate(struct cpu *cpu, const struct event *e, struct gate *gate)
{
    uint16_t error = (uint16_t)(e->vector * 8 + 2);
    uint32_t words[2];
    if (e->vector * 8u + 7 > cpu->idt_limit)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!mmu_read(cpu, cpu->idt_base + e->vector * 8u, words, sizeof words, false))
        return false;
    unsigned type = words[1] >> 8 & 31;
    gate->task = type == GATE_TASK;
    if (!gate->task && type != GATE_INTERRUPT16 && type != GATE_TRAP16 &&
        type != GATE_INTERRUPT32 && type != GATE_TRAP32)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (e->how == DELIVER_SOFTWARE && (words[1] >> DESC_DPL_SHIFT & 3) < cpu->cpl)
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
    return true;
}

/* The frame, lowest address first. */
struct frame {
    uint32_t words[11];
    unsigned count;
};

static void build_frame(const struct cpu *cpu, const struct event *e, struct frame *f,
                        bool outer_stack)
{
    f->count = 0;
    if (e->has_error)
        f->words[f->count++] = e->error;
    f->words[f->count++] = cpu->eip;
    f->words[f->count++] = cpu->seg[SEG_CS].selector;
    f->words[f->count++] = e->eflags;
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

static bool enter_handler(struct cpu *cpu, const struct event *e, const struct gate *gate)
{
    struct segment cs, ss = cpu->seg[SEG_SS];
    unsigned cpl;
    if (!check_handler(cpu, gate, &cs, &cpl))
        return false;
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP];
    bool inner = cpl < cpu->cpl;
    if (inner && !find_stack(cpu, cpl, &ss, &esp))
        return false;
    if (gate->offset > cs.limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    struct frame frame;
    build_frame(cpu, e, &frame, inner);
    if (!frame_push(cpu, &ss, &esp, frame.words, frame.count, gate->wide ? 4 : 2, cpl == 3,
                    inner ? ss.selector & 0xfffc : 0))
        return false;
    cpu->reg[CPU_ESP] = esp;
    cpu->seg[SEG_SS] = ss;
    commit_handler(cpu, gate, &cs, cpl);
    return true;
}

/* Through a task gate; an error code goes to the new task's stack (SDM 3A 6.13). */
static enum entry enter_task(struct cpu *cpu, const struct event *e, const struct gate *gate)
{
    struct descriptor d;
    if (!task_find(cpu, gate->selector, false, &d))
        return ENTRY_REFUSED;
    enum entry entry = task_switch(cpu, gate->selector, &d, TASK_CALL, cpu->eip, e->eflags);
    if (entry != ENTRY_DONE || !e->has_error)
        return entry;
    bool wide = cpu->seg[SEG_TR].attr >> DESC_TYPE_SHIFT & 8;
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP], error = e->error;
    if (!frame_push(cpu, &cpu->seg[SEG_SS], &esp, &error, 1, wide ? 4 : 2, cpu_user(cpu), 0))
        return ENTRY_FAULTED;
    cpu->reg[CPU_ESP] = esp;
    return ENTRY_DONE;
}

static enum entry enter_protected(struct cpu *cpu, const struct event *e)
{
    struct gate gate;
    if (!read_gate(cpu, e, &gate))
        return ENTRY_REFUSED;
    if (gate.task)
        return enter_task(cpu, e, &gate);
    return enter_handler(cpu, e, &gate) ? ENTRY_DONE : ENTRY_REFUSED;
}

enum entry fault_enter(struct cpu *cpu, uint8_t vector, enum delivery how, bool sets_rf,
                       bool has_error, uint16_t error)
{
    struct event e = {vector, how, has_error, error, cpu_eflags(cpu) | (sets_rf ? FLAG_RF : 0)};
    /* INT n is not external, but an exception on its own account is (EXT, SDM 3A 6.13). */
    cpu->external = how != DELIVER_SOFTWARE;
    cpu->link_from = NULL; /* the next block is not where the last one meant to go */
    enum entry entry = cpu_protected(cpu) ? enter_protected(cpu, &e)
                       : enter_real(cpu, &e) ? ENTRY_DONE
                                             : ENTRY_REFUSED;
    cpu->external = false;
    if (entry == ENTRY_REFUSED)
        return entry;
    cpu->halted = cpu->begun = false;
    cpu->entered = true;
    return entry;
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
    if (cpu->trace & CPU_TRACE_INSNS || (cpu->trace && fault->vector == VEC_PF))
        trace_event(cpu, "exception", fault->vector, fault);
}

/* A trap keeps RF as it is; a fault pushes it set, so that its instruction's breakpoint does not hit
 * again, and so does what comes between two iterations of a string (SDM 3B 17.3.1.1). */
static enum entry enter_exception(struct cpu *cpu, const struct fault *fault)
{
    bool has_error = fault->has_error && cpu_protected(cpu);
    return fault_enter(cpu, fault->vector, DELIVER_EXCEPTION, !fault->keeps_rf || cpu->begun,
                       has_error, fault->error);
}

void fault_deliver(struct cpu *cpu)
{
    struct fault fault = cpu->fault;
    cpu->debug_hits = 0; /* an instruction that faulted has not hit */
    for (;;) {
        cpu->fault.pending = false;
        log_exception(cpu, &fault);
        if (fault.vector == VEC_PF)
            cpu->cr2 = fault.cr2;
        if (enter_exception(cpu, &fault) == ENTRY_DONE)
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
