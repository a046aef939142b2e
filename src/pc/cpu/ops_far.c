/*
 * Far jumps and calls (SDM 3A 5.8, 2A "CALL" and "JMP"): to code segments, through call gates with
 * their change of stack and copied parameters, and to tasks.
 */
#include "pc/cpu/ops.h"

enum { TSS16 = 1, GATE_CALL16 = 4, GATE_TASK = 5, TSS32 = 9, GATE_CALL32 = 12 };

struct far_target {
    uint16_t selector;
    uint32_t offset;
};

/* A transfer being checked: where it goes, and what a call pushes there. */
struct transfer {
    const struct uop *u;
    struct far_target to;
    unsigned size; /* of what is pushed, and of the gate */
    bool call;
    struct segment cs;
};

static unsigned dpl_of(const struct descriptor *d)
{
    return d->high >> DESC_DPL_SHIFT & 3;
}

/* ---- at the same level -------------------------------------------------------------------- */

/* The return address goes on the present stack; then nothing can fault any more. */
static bool push_return(struct cpu *cpu, const struct transfer *t)
{
    const uint32_t frame[2] = {uop_next_eip(cpu, t->u), cpu->seg[SEG_CS].selector};
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP];
    if (t->to.offset > t->cs.limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!t->call)
        return true;
    if (!frame_push(cpu, &cpu->seg[SEG_SS], &esp, frame, 2, t->size, cpu_user(cpu), 0))
        return false;
    cpu->reg[CPU_ESP] = esp;
    return true;
}

static enum op_status go_same_level(struct cpu *cpu, const struct transfer *t)
{
    if (!push_return(cpu, t))
        return OP_FAULT;
    cpu->eip = t->to.offset;
    seg_set_cs(cpu, &t->cs, cpu->cpl);
    return OP_JUMPED;
}

static enum op_status go_real(struct cpu *cpu, struct transfer *t)
{
    t->cs = cpu->seg[SEG_CS]; /* for its limit */
    if (!push_return(cpu, t))
        return OP_FAULT;
    cpu->eip = t->to.offset;
    seg_set_cs_real(cpu, t->to.selector);
    return OP_JUMPED;
}

static enum op_status go_code(struct cpu *cpu, struct transfer *t, struct descriptor *d)
{
    uint16_t error = t->to.selector & 0xfffc;
    unsigned rpl = t->to.selector & 3;
    bool allowed =
        d->high & DESC_EC ? dpl_of(d) <= cpu->cpl : rpl <= cpu->cpl && dpl_of(d) == cpu->cpl;
    if (!(d->high & DESC_CODE) || !allowed)
        return op_fault_code(cpu, VEC_GP, error);
    if (!(d->high & DESC_P))
        return op_fault_code(cpu, VEC_NP, error);
    if (!seg_set_accessed(cpu, d))
        return OP_FAULT;
    seg_unpack(&t->cs, t->to.selector, d);
    return go_same_level(cpu, t);
}

/* ---- through a call gate (SDM 3A 5.8.3 to 5.8.5) ------------------------------------------ */

/* The frame of an inner stack: EIP, CS, the parameters, ESP, SS. */
static bool gather_inner(struct cpu *cpu, const struct transfer *t, unsigned parameters,
                         uint32_t frame[36])
{
    frame[0] = uop_next_eip(cpu, t->u);
    frame[1] = cpu->seg[SEG_CS].selector;
    if (!stack_peek(cpu, stack_top(cpu), frame + 2, parameters, t->size))
        return false;
    frame[2 + parameters] = (uint32_t)cpu->reg[CPU_ESP];
    frame[3 + parameters] = cpu->seg[SEG_SS].selector;
    return true;
}

static enum op_status go_inner(struct cpu *cpu, struct transfer *t, unsigned cpl,
                               unsigned parameters)
{
    uint16_t selector;
    uint32_t esp, frame[36];
    struct segment ss;
    struct descriptor d;
    if (!seg_stack_from_tss(cpu, cpl, &selector, &esp) ||
        !seg_check_stack(cpu, selector, cpl, VEC_TS, &ss, &d) || !seg_set_accessed(cpu, &d) ||
        !gather_inner(cpu, t, parameters, frame))
        return OP_FAULT;
    if (t->to.offset > t->cs.limit)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!frame_push(cpu, &ss, &esp, frame, parameters + 4, t->size, false, selector & 0xfffc))
        return OP_FAULT;
    cpu->reg[CPU_ESP] = esp;
    cpu->seg[SEG_SS] = ss;
    cpu->eip = t->to.offset;
    seg_set_cs(cpu, &t->cs, cpl);
    return OP_JUMPED;
}

static enum op_status go_gate(struct cpu *cpu, struct transfer *t, const struct descriptor *gate)
{
    struct descriptor d;
    bool wide = (gate->high >> DESC_TYPE_SHIFT & 15) == GATE_CALL32;
    uint16_t selector = (uint16_t)(gate->low >> 16), error = selector & 0xfffc;
    if (!(gate->high & DESC_P))
        return op_fault_code(cpu, VEC_NP, t->to.selector & 0xfffc);
    if (!error)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!seg_read_descriptor(cpu, selector, VEC_GP, &d))
        return OP_FAULT;
    bool code = (d.high & DESC_S) && (d.high & DESC_CODE), conforming = d.high & DESC_EC;
    bool inward = !conforming && dpl_of(&d) < cpu->cpl;
    if (!code || dpl_of(&d) > cpu->cpl || (inward && !t->call))
        return op_fault_code(cpu, VEC_GP, error);
    if (!(d.high & DESC_P))
        return op_fault_code(cpu, VEC_NP, error);
    if (!seg_set_accessed(cpu, &d))
        return OP_FAULT;
    seg_unpack(&t->cs, selector, &d);
    t->size = wide ? 4 : 2;
    t->to.offset = (gate->low & 0xffff) | (wide ? gate->high & 0xffff0000 : 0);
    if (inward)
        return go_inner(cpu, t, dpl_of(&d), gate->high & 31);
    return go_same_level(cpu, t);
}

/* ---- to a task (SDM 3A 7.3) --------------------------------------------------------------- */

static enum op_status go_task(struct cpu *cpu, const struct transfer *t, uint16_t selector)
{
    struct descriptor d;
    if (!task_find(cpu, selector, false, &d))
        return OP_FAULT;
    enum entry entry = task_switch(cpu, selector, &d, t->call ? TASK_CALL : TASK_JUMP,
                                   uop_next_eip(cpu, t->u), cpu_eflags(cpu));
    return entry == ENTRY_REFUSED ? OP_FAULT : OP_JUMPED;
}

static enum op_status go_system(struct cpu *cpu, struct transfer *t, const struct descriptor *d)
{
    uint16_t error = t->to.selector & 0xfffc;
    unsigned type = d->high >> DESC_TYPE_SHIFT & 15, rpl = t->to.selector & 3;
    bool known = type == TSS16 || type == TSS32 || type == GATE_TASK || type == GATE_CALL16 ||
                 type == GATE_CALL32;
    if (!known || dpl_of(d) < cpu->cpl || dpl_of(d) < rpl)
        return op_fault_code(cpu, VEC_GP, error);
    if (type == GATE_CALL16 || type == GATE_CALL32)
        return go_gate(cpu, t, d);
    if (type != GATE_TASK)
        return go_task(cpu, t, t->to.selector);
    if (!(d->high & DESC_P))
        return op_fault_code(cpu, VEC_NP, error);
    return go_task(cpu, t, (uint16_t)(d->low >> 16));
}

/* ---- instructions ------------------------------------------------------------------------- */

static enum op_status far_transfer(struct cpu *cpu, const struct uop *u, struct far_target to,
                                   bool call)
{
    struct transfer t = {.u = u, .to = to, .size = op_size(u), .call = call};
    struct descriptor d;
    if (!cpu_protected(cpu) || cpu_v86(cpu))
        return go_real(cpu, &t);
    if (!(to.selector & 0xfffc))
        return op_fault_code(cpu, VEC_GP, 0);
    if (!seg_read_descriptor(cpu, to.selector, VEC_GP, &d))
        return OP_FAULT;
    return d.high & DESC_S ? go_code(cpu, &t, &d) : go_system(cpu, &t, &d);
}

static bool read_far(struct cpu *cpu, const struct uop *u, struct far_target *t)
{
    unsigned size = op_size(u);
    uint8_t bytes[6];
    linear_t lin;
    if (!seg_operand(cpu, u, size + 2, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, size + 2, cpu_user(cpu)))
        return false;
    t->offset = 0;
    memcpy(&t->offset, bytes, size);
    memcpy(&t->selector, bytes + size, 2);
    return true;
}

enum op_status h_call_far(struct cpu *cpu, const struct uop *u)
{
    struct far_target t = {(uint16_t)u->disp, u->imm & size_mask(op_size(u))};
    return far_transfer(cpu, u, t, true);
}
enum op_status h_jmp_far(struct cpu *cpu, const struct uop *u)
{
    struct far_target t = {(uint16_t)u->disp, u->imm & size_mask(op_size(u))};
    return far_transfer(cpu, u, t, false);
}
enum op_status h_call_far_m(struct cpu *cpu, const struct uop *u)
{
    struct far_target t;
    return read_far(cpu, u, &t) ? far_transfer(cpu, u, t, true) : OP_FAULT;
}
enum op_status h_jmp_far_m(struct cpu *cpu, const struct uop *u)
{
    struct far_target t;
    return read_far(cpu, u, &t) ? far_transfer(cpu, u, t, false) : OP_FAULT;
}
