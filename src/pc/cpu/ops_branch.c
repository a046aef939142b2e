/*
 * Branches out of line: near ones of code that is not flat, loops, software interrupts, and SYSENTER
 * with SYSEXIT. Far transfers are in ops_far.c, returns in ops_return.c.
 */
#include "pc/cpu/ops.h"

/* ---- near --------------------------------------------------------------------------------- */

static enum op_status jump_to(struct cpu *cpu, uint32_t target)
{
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eip = target;
    return OP_JUMPED;
}

static enum op_status call_to(struct cpu *cpu, const struct uop *u, uint32_t target)
{
    uint32_t sp = stack_top(cpu);
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!stack_push(cpu, &sp, uop_next_eip(cpu, u), op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    cpu->eip = target;
    return OP_JUMPED;
}

static uint32_t relative_target(const struct cpu *cpu, const struct uop *u)
{
    return (cpu->eip + u->imm) & size_mask(op_size(u));
}

enum op_status branch_call_relative(struct cpu *cpu, const struct uop *u)
{
    return call_to(cpu, u, relative_target(cpu, u));
}

enum op_status h_call_near_rm(struct cpu *cpu, const struct uop *u)
{
    uint32_t target;
    return rm_read(cpu, u, op_size(u), &target) ? call_to(cpu, u, target) : OP_FAULT;
}

enum op_status h_jmp_near_rm(struct cpu *cpu, const struct uop *u)
{
    uint32_t target;
    return rm_read(cpu, u, op_size(u), &target) ? jump_to(cpu, target) : OP_FAULT;
}

enum op_status h_ret_near(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu), target;
    if (!stack_pop(cpu, &sp, &target, op_size(u)))
        return OP_FAULT;
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    stack_commit(cpu, sp + u->imm);
    cpu->eip = target;
    return OP_JUMPED;
}

/* CX or ECX, by the address size. */
static enum op_status loop(struct cpu *cpu, const struct uop *u, bool wanted)
{
    unsigned size = u->scale_seg & UOP_A16 ? 2 : 4;
    uint32_t count = (reg_get(cpu, CPU_ECX, size) - 1) & size_mask(size);
    bool taken = count != 0 && wanted;
    uint32_t target = taken ? relative_target(cpu, u) : uop_next_eip(cpu, u);
    if (taken && target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    reg_set(cpu, CPU_ECX, size, count);
    cpu->eip = target;
    return OP_JUMPED;
}

enum op_status h_loop(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, true);
}
enum op_status h_loope(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, flag_zf(cpu));
}
enum op_status h_loopne(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, !flag_zf(cpu));
}
enum op_status h_jcxz(struct cpu *cpu, const struct uop *u)
{
    if (reg_get(cpu, CPU_ECX, u->scale_seg & UOP_A16 ? 2 : 4))
        return OP_DONE;
    return jump_to(cpu, relative_target(cpu, u));
}

/* ---- interrupts --------------------------------------------------------------------------- */

static enum op_status software_interrupt(struct cpu *cpu, const struct uop *u, uint8_t vector,
                                         enum delivery how)
{
    uint32_t start = cpu->eip;
    cpu->eip = uop_next_eip(cpu, u);
    if (fault_enter(cpu, vector, how, false, false, 0) != ENTRY_REFUSED)
        return OP_JUMPED; /* what a new task complains of is delivered there */
    cpu->eip = start;
    return OP_FAULT;
}

enum op_status h_int3(struct cpu *cpu, const struct uop *u)
{
    return software_interrupt(cpu, u, VEC_BP, DELIVER_SOFTWARE);
}

/* INT1 is not subject to the gate's DPL (SDM 2A "INT n"). */
enum op_status h_int1(struct cpu *cpu, const struct uop *u)
{
    return software_interrupt(cpu, u, VEC_DB, DELIVER_EXTERNAL);
}

enum op_status h_int_n(struct cpu *cpu, const struct uop *u)
{
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    return software_interrupt(cpu, u, (uint8_t)u->imm, DELIVER_SOFTWARE);
}

enum op_status h_into(struct cpu *cpu, const struct uop *u)
{
    return flag_of(cpu) ? software_interrupt(cpu, u, VEC_OF, DELIVER_SOFTWARE) : OP_DONE;
}

enum op_status h_ud(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return op_fault(cpu, VEC_UD);
}
enum op_status h_too_long(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return op_fault_code(cpu, VEC_GP, 0);
}

/* ---- SYSENTER, SYSEXIT (SDM 3A 5.8.7) ----------------------------------------------------- */

static struct segment fast_segment(uint16_t selector, uint32_t type, unsigned dpl)
{
    return (struct segment){.selector = selector,
                            .limit = 0xffffffff,
                            .attr = DESC_P | DESC_S | DESC_RW | DESC_ACCESSED | DESC_DB | DESC_G |
                                    type | dpl << DESC_DPL_SHIFT};
}

static void enter_fast(struct cpu *cpu, uint16_t cs, unsigned cpl)
{
    struct segment code = fast_segment(cs, DESC_CODE, cpl);
    cpu->seg[SEG_SS] = fast_segment((uint16_t)((cs + 8) | cpl), 0, cpl);
    seg_set_cs(cpu, &code, cpl);
}

enum op_status h_sysenter(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!cpu_protected(cpu) || !(cpu->sysenter_cs & 0xfffc))
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eflags &= ~(uint32_t)(FLAG_VM | FLAG_IF | FLAG_RF);
    cpu->eip = cpu->sysenter_eip;
    cpu->reg[CPU_ESP] = cpu->sysenter_esp;
    enter_fast(cpu, (uint16_t)(cpu->sysenter_cs & 0xfffc), 0);
    return OP_JUMPED;
}

enum op_status h_sysexit(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!cpu_protected(cpu) || !(cpu->sysenter_cs & 0xfffc) || cpu->cpl != 0)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eip = (uint32_t)cpu->reg[CPU_EDX];
    cpu->reg[CPU_ESP] = (uint32_t)cpu->reg[CPU_ECX];
    enter_fast(cpu, (uint16_t)((cpu->sysenter_cs & 0xfffc) + 16), 3);
    return OP_JUMPED;
}
