/*
 * Returns: RET far and IRET, to the same level, to an outer one with its stack, to virtual-8086 mode
 * and to the task that the present one is nested in (SDM 3A 5.8.6, 6.12, 7.4; 3B 20.2.5).
 */
#include "pc/cpu/ops.h"

/* ---- RET far -------------------------------------------------------------------------- */

/* Where a return goes: the code segment is checked, and for an outer level the stack too. */
struct far_return {
    struct segment cs, ss;
    uint32_t eip, esp;
    unsigned cpl;
    bool outer;
};

static bool check_return_cs(struct cpu *cpu, uint16_t selector, struct far_return *r)
{
    struct descriptor d;
    uint16_t error = selector & 0xfffc;
    if (!error)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!seg_read_descriptor(cpu, selector, VEC_GP, &d))
        return false;
    unsigned dpl = d.high >> DESC_DPL_SHIFT & 3, rpl = selector & 3;
    bool code = (d.high & DESC_S) && (d.high & DESC_CODE);
    bool allowed = d.high & DESC_EC ? dpl <= rpl : dpl == rpl;
    if (!code || rpl < cpu->cpl || !allowed)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    seg_unpack(&r->cs, selector, &d);
    r->cpl = rpl;
    r->outer = rpl > cpu->cpl;
    return seg_set_accessed(cpu, &d);
}

/* The outer stack, from `sp` on the present one. */
static bool check_return_stack(struct cpu *cpu, uint32_t sp, unsigned size, struct far_return *r)
{
    uint32_t words[2];
    struct descriptor d;
    if (!stack_peek(cpu, sp, words, 2, size))
        return false;
    r->esp = words[0];
    return seg_check_stack(cpu, (uint16_t)words[1], r->cpl, VEC_GP, &r->ss, &d) &&
           seg_set_accessed(cpu, &d);
}

/* The limit is checked last (SDM 2B "RET", 2A "IRET"). */
static bool check_return_limit(struct cpu *cpu, const struct far_return *r)
{
    return r->eip <= r->cs.limit || cpu_fault_code(cpu, VEC_GP, 0);
}

static void commit_return(struct cpu *cpu, const struct far_return *r, uint32_t sp, uint32_t drop)
{
    cpu->eip = r->eip;
    if (!r->outer) {
        stack_commit(cpu, sp + drop);
        seg_set_cs(cpu, &r->cs, r->cpl);
        return;
    }
    cpu->seg[SEG_SS] = r->ss;
    uint32_t mask = r->ss.attr & DESC_DB ? 0xffffffff : 0xffff;
    uint32_t esp = r->esp + drop;
    cpu->reg[CPU_ESP] = ((uint32_t)cpu->reg[CPU_ESP] & ~mask) | (esp & mask);
    seg_set_cs(cpu, &r->cs, r->cpl);
    seg_drop_privileged(cpu);
}

enum op_status h_ret_far(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[2];
    if (!stack_peek(cpu, sp, words, 2, size))
        return OP_FAULT;
    sp += 2 * size;
    if (!cpu_protected(cpu) || cpu_v86(cpu)) {
        if (words[0] > cpu->seg[SEG_CS].limit)
            return op_fault_code(cpu, VEC_GP, 0);
        cpu->eip = words[0];
        seg_set_cs_real(cpu, (uint16_t)words[1]);
        stack_commit(cpu, sp + u->imm);
        return OP_JUMPED;
    }
    struct far_return r = {.eip = words[0]};
    if (!check_return_cs(cpu, (uint16_t)words[1], &r) ||
        (r.outer && !check_return_stack(cpu, sp + u->imm, size, &r)) ||
        !check_return_limit(cpu, &r))
        return OP_FAULT;
    commit_return(cpu, &r, sp, u->imm);
    return OP_JUMPED;
}

/* ---- IRET (SDM 2A "IRET") ----------------------------------------------------------------- */

static uint32_t iret_mask(const struct cpu *cpu, unsigned size)
{
    uint32_t mask = FLAGS_STATUS | FLAG_TF | FLAG_DF | FLAG_NT;
    if (size == 4)
        mask |= FLAG_RF | FLAG_AC | FLAG_ID;
    if (cpu->cpl <= cpu_iopl(cpu))
        mask |= FLAG_IF;
    if (cpu->cpl == 0)
        mask |= FLAG_IOPL | (size == 4 ? FLAG_VIF | FLAG_VIP : 0);
    return mask;
}

static enum op_status iret_real(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[3];
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!stack_peek(cpu, sp, words, 3, size))
        return OP_FAULT;
    if (words[0] > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    uint32_t mask = iret_mask(cpu, size);
    if (cpu_v86(cpu))
        mask &= ~(uint32_t)(FLAG_IOPL | FLAG_VIF | FLAG_VIP);
    stack_commit(cpu, sp + 3 * size);
    cpu->eip = words[0];
    seg_set_cs_real(cpu, (uint16_t)words[1]);
    cpu_set_eflags(cpu, words[2], mask);
    return OP_JUMPED;
}

/* To virtual-8086 mode: nine words, all segments as in real mode (SDM 3B 20.2.5). */
static enum op_status iret_to_v86(struct cpu *cpu, uint32_t sp, const uint32_t words[3])
{
    static const uint8_t order[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
    uint32_t rest[6];
    if (!stack_peek(cpu, sp + 12, rest, 6, 4))
        return OP_FAULT;
    if (words[0] > 0xffff)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu_set_eflags(cpu, words[2], iret_mask(cpu, 4) | FLAG_VM);
    cpu->cpl = 3;
    cpu->eip = words[0];
    cpu->reg[CPU_ESP] = rest[0];
    seg_set_cs_real(cpu, (uint16_t)words[1]);
    seg_load_real(cpu, SEG_SS, (uint16_t)rest[1]);
    for (unsigned i = 0; i < sizeof order; i++)
        seg_load_real(cpu, order[i], (uint16_t)rest[2 + i]);
    return OP_JUMPED;
}

/* Within protected mode, or to virtual-8086 mode. */
static enum op_status iret_protected(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[3];
    if (!stack_peek(cpu, sp, words, 3, size))
        return OP_FAULT;
    if (size == 4 && (words[2] & FLAG_VM) && cpu->cpl == 0)
        return iret_to_v86(cpu, sp, words);
    struct far_return r = {.eip = words[0]};
    if (!check_return_cs(cpu, (uint16_t)words[1], &r) ||
        (r.outer && !check_return_stack(cpu, sp + 3 * size, size, &r)) ||
        !check_return_limit(cpu, &r))
        return OP_FAULT;
    uint32_t mask = iret_mask(cpu, size);
    commit_return(cpu, &r, sp + 3 * size, 0);
    cpu_set_eflags(cpu, words[2], mask);
    return OP_JUMPED;
}

static enum op_status iret_to_task(struct cpu *cpu, const struct uop *u)
{
    return task_return(cpu, uop_next_eip(cpu, u)) == ENTRY_REFUSED ? OP_FAULT : OP_JUMPED;
}

enum op_status h_iret(struct cpu *cpu, const struct uop *u)
{
    enum op_status status;
    if (!cpu_protected(cpu) || cpu_v86(cpu))
        status = iret_real(cpu, u);
    else
        status = cpu->eflags & FLAG_NT ? iret_to_task(cpu, u) : iret_protected(cpu, u);
    if (status == OP_JUMPED)
        cpu->nmi_blocked = false;
    return status;
}
