/*
 * Instructions on EFLAGS: single bits, SAHF and LAHF, PUSHF and POPF with what privilege allows
 * (SDM 1 3.4.3, 2B "POPF").
 */
#include "pc/cpu/ops.h"

#define AH 1 /* as a byte register's offset */

enum op_status h_cmc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    flags_set_cf(cpu, !flag_cf(cpu));
    return OP_DONE;
}
enum op_status h_clc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    flags_set_cf(cpu, false);
    return OP_DONE;
}
enum op_status h_stc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    flags_set_cf(cpu, true);
    return OP_DONE;
}
enum op_status h_cld(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    cpu->eflags &= ~(uint32_t)FLAG_DF;
    return OP_DONE;
}
enum op_status h_std(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    cpu->eflags |= FLAG_DF;
    return OP_DONE;
}

static bool may_change_if(struct cpu *cpu)
{
    return !cpu_protected(cpu) || cpu->cpl <= cpu_iopl(cpu) || cpu_fault_code(cpu, VEC_GP, 0);
}

enum op_status h_cli(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!may_change_if(cpu))
        return OP_FAULT;
    cpu->eflags &= ~(uint32_t)FLAG_IF;
    return OP_DONE;
}

/* The instruction after an STI that set IF is still not interrupted. */
enum op_status h_sti(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!may_change_if(cpu))
        return OP_FAULT;
    if (cpu->eflags & FLAG_IF)
        return OP_LEAVE;
    cpu->eflags |= FLAG_IF;
    cpu->shadow = SHADOW_STI;
    return OP_LEAVE;
}

enum op_status h_sahf(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    uint32_t mask = FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF | FLAG_CF;
    flags_set_status(cpu, (flags_status(cpu) & ~mask) | (reg_get(cpu, AH, 1) & mask));
    return OP_DONE;
}
enum op_status h_lahf(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    reg_set(cpu, AH, 1, cpu_eflags(cpu) & 0xff);
    return OP_DONE;
}

enum op_status h_pushf(struct cpu *cpu, const struct uop *u)
{
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    uint32_t sp = stack_top(cpu);
    uint32_t image = cpu_eflags(cpu) & ~(uint32_t)(FLAG_VM | FLAG_RF);
    if (!stack_push(cpu, &sp, image, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    return OP_DONE;
}

/* IF changes at CPL <= IOPL, IOPL at CPL 0; RF becomes 0; VM, VIF and VIP stay. */
enum op_status h_popf(struct cpu *cpu, const struct uop *u)
{
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    uint32_t sp = stack_top(cpu), value, mask = FLAGS_STATUS | FLAG_TF | FLAG_DF | FLAG_NT;
    if (!stack_pop(cpu, &sp, &value, op_size(u)))
        return OP_FAULT;
    if (op_size(u) == 4)
        mask |= FLAG_AC | FLAG_ID | FLAG_RF;
    if (cpu->cpl <= cpu_iopl(cpu))
        mask |= FLAG_IF;
    if (cpu->cpl == 0 && !cpu_v86(cpu))
        mask |= FLAG_IOPL;
    stack_commit(cpu, sp);
    uint32_t before = cpu->eflags;
    cpu_set_eflags(cpu, value & ~(uint32_t)FLAG_RF, mask);
    bool look = (cpu->eflags ^ before) & (FLAG_TF | FLAG_IF | FLAG_AC);
    return look ? OP_LEAVE : OP_DONE;
}
