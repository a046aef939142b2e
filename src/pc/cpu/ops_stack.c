/*
 * The stack out of line: any stack and operand size, frames, segment registers; and BOUND and XLAT,
 * which read memory through fixed registers.
 */
#include "pc/cpu/ops.h"

static uint32_t stack_mask(const struct cpu *cpu)
{
    return cpu->seg[SEG_SS].attr & DESC_DB ? 0xffffffff : 0xffff;
}

uint32_t stack_top(const struct cpu *cpu)
{
    return (uint32_t)cpu->reg[CPU_ESP] & stack_mask(cpu);
}

void stack_commit(struct cpu *cpu, uint32_t sp)
{
    uint32_t mask = stack_mask(cpu);
    cpu->reg[CPU_ESP] = ((uint32_t)cpu->reg[CPU_ESP] & ~mask) | (sp & mask);
}

bool stack_push(struct cpu *cpu, uint32_t *sp, uint32_t value, unsigned size)
{
    linear_t lin;
    uint32_t at = (*sp - size) & stack_mask(cpu);
    if (!seg_linear(cpu, SEG_SS, at, size, SEG_WRITE, &lin) ||
        !mmu_write(cpu, lin, &value, size, cpu_user(cpu)))
        return false;
    *sp = at;
    return true;
}

bool stack_pop(struct cpu *cpu, uint32_t *sp, uint32_t *value, unsigned size)
{
    linear_t lin;
    *value = 0;
    if (!seg_linear(cpu, SEG_SS, *sp, size, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, value, size, cpu_user(cpu)))
        return false;
    *sp = (*sp + size) & stack_mask(cpu);
    return true;
}

bool stack_peek(struct cpu *cpu, uint32_t sp, uint32_t *values, unsigned count, unsigned size)
{
    for (unsigned i = 0; i < count; i++)
        if (!stack_pop(cpu, &sp, &values[i], size))
            return false;
    return true;
}

/* An immediate is REG_ZERO + imm. */
enum op_status h_push_v(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu), v;
    if (!rm_read(cpu, u, op_size(u), &v))
        return OP_FAULT;
    if (op_is_register(u) && u->base == REG_ZERO)
        v = u->imm;
    if (!stack_push(cpu, &sp, v, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    return OP_DONE;
}

enum op_status h_pop_v(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu), v;
    if (!stack_pop(cpu, &sp, &v, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    reg_set(cpu, u->dst, op_size(u), v);
    return OP_DONE;
}

/* An address through ESP is worked out after the pop (SDM 2B "POP"). */
enum op_status h_pop_rm(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu), v;
    uint64_t old = cpu->reg[CPU_ESP];
    if (!stack_pop(cpu, &sp, &v, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    if (rm_write(cpu, u, op_size(u), v))
        return OP_DONE;
    cpu->reg[CPU_ESP] = old;
    return OP_FAULT;
}

/* The manual allows a 32-bit push to leave the upper half of its place alone (SDM 2B "PUSH"); here
 * it becomes zero. */
enum op_status h_push_seg(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu);
    if (!stack_push(cpu, &sp, cpu->seg[u->dst].selector, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    return OP_DONE;
}

enum op_status h_pop_seg(struct cpu *cpu, const struct uop *u)
{
    uint32_t mask = stack_mask(cpu), sp = stack_top(cpu), v;
    linear_t lin;
    v = 0;
    if (!seg_linear(cpu, SEG_SS, sp, 2, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, &v, 2, cpu_user(cpu)))
        return OP_FAULT;
    if (!seg_load(cpu, u->dst, (uint16_t)v))
        return OP_FAULT;
    /* The stack pointer moves on the stack it was popped from. */
    uint32_t esp = (uint32_t)cpu->reg[CPU_ESP];
    cpu->reg[CPU_ESP] = (esp & ~mask) | ((sp + op_size(u)) & mask);
    if (u->dst == SEG_SS)
        cpu->shadow = SHADOW_STACK;
    return OP_LEAVE;
}

/* One after the other, as processors do: a fault leaves what is below ESP half-written, and ESP. */
enum op_status h_pusha(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu);
    for (unsigned i = 0; i < 8; i++)
        if (!stack_push(cpu, &sp, (uint32_t)cpu->reg[i], op_size(u)))
            return OP_FAULT;
    stack_commit(cpu, sp);
    return OP_DONE;
}

enum op_status h_popa(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), v[8];
    if (!stack_peek(cpu, sp, v, 8, size))
        return OP_FAULT;
    for (unsigned i = 0; i < 8; i++)
        if (7 - i != CPU_ESP)
            reg_set(cpu, 7 - i, size, v[i]);
    stack_commit(cpu, sp + 8 * size);
    return OP_DONE;
}

/* SDM 2A "ENTER": imm is the frame's size, disp the nesting level. */
enum op_status h_enter(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u), level = u->disp & 31;
    uint32_t sp = stack_top(cpu), mask = stack_mask(cpu);
    uint32_t ebp = (uint32_t)cpu->reg[CPU_EBP], v;
    if (!stack_push(cpu, &sp, ebp, size))
        return OP_FAULT;
    uint32_t frame = sp;
    for (unsigned i = 1; i < level; i++) {
        uint32_t at = (ebp - i * size) & mask;
        if (!stack_peek(cpu, at, &v, 1, size) || !stack_push(cpu, &sp, v, size))
            return OP_FAULT;
    }
    if (level && !stack_push(cpu, &sp, frame, size))
        return OP_FAULT;
    sp = (sp - u->imm) & mask;
    /* The new top must be writable, though nothing is written there. */
    linear_t lin;
    if (!seg_linear(cpu, SEG_SS, sp, size, SEG_WRITE, &lin) ||
        !mmu_probe(cpu, lin, size, MMU_WRITE, cpu_user(cpu)))
        return OP_FAULT;
    reg_set(cpu, CPU_EBP, size, frame);
    stack_commit(cpu, sp);
    return OP_DONE;
}

enum op_status h_leave_v(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = (uint32_t)cpu->reg[CPU_EBP] & stack_mask(cpu), v;
    if (!stack_pop(cpu, &sp, &v, op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    reg_set(cpu, CPU_EBP, op_size(u), v);
    return OP_DONE;
}

enum op_status h_bound(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t low = 0, high = 0;
    uint8_t bytes[8];
    linear_t lin;
    if (!seg_operand(cpu, u, 2 * size, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, 2 * size, cpu_user(cpu)))
        return OP_FAULT;
    memcpy(&low, bytes, size);
    memcpy(&high, bytes + size, size);
    uint32_t v = reg_get(cpu, u->dst, size);
    bool outside = size == 2 ? (int16_t)v < (int16_t)low || (int16_t)v > (int16_t)high
                             : (int32_t)v < (int32_t)low || (int32_t)v > (int32_t)high;
    return outside ? op_fault(cpu, VEC_BR) : OP_DONE;
}

enum op_status h_xlat(struct cpu *cpu, const struct uop *u)
{
    uint32_t offset = (uint32_t)cpu->reg[CPU_EBX] + reg_get(cpu, 0, 1);
    uint8_t v;
    linear_t lin;
    if (u->scale_seg & UOP_A16)
        offset &= 0xffff;
    if (!seg_linear(cpu, op_segment(u), offset, 1, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, &v, 1, cpu_user(cpu)))
        return OP_FAULT;
    reg_set(cpu, 0, 1, v);
    return OP_DONE;
}
