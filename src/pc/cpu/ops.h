/*
 * What the operations out of line share: their ModRM.rm operand, registers of any size, the stack,
 * and flags of any size. Sizes are in bytes: 1, 2 or 4.
 */
#ifndef PC_CPU_OPS_H
#define PC_CPU_OPS_H

#include "pc/cpu/internal.h"

static inline unsigned op_size(const struct uop *u)
{
    return u->scale_seg & UOP_O16 ? 2 : 4;
}
static inline unsigned op_segment(const struct uop *u)
{
    return u->scale_seg >> UOP_SEG_SHIFT & 7;
}
static inline bool op_is_register(const struct uop *u)
{
    return u->index == UOP_REG;
}
static inline uint32_t size_mask(unsigned size)
{
    return 0xffffffffu >> (32 - 8 * size);
}
static inline bool top_bit(uint32_t value, unsigned size)
{
    return value >> (8 * size - 1) & 1;
}

/* A register; for size 1 its number is an offset into the register file. */
static inline uint32_t reg_get(const struct cpu *cpu, unsigned reg, unsigned size)
{
    if (size == 1)
        return ((const uint8_t *)cpu->reg)[reg];
    return (uint32_t)cpu->reg[reg] & size_mask(size);
}
static inline void reg_set(struct cpu *cpu, unsigned reg, unsigned size, uint32_t value)
{
    if (size == 1)
        ((uint8_t *)cpu->reg)[reg] = (uint8_t)value;
    else if (size == 2)
        cpu->reg[reg] = (cpu->reg[reg] & ~0xffffull) | (uint16_t)value;
    else
        cpu->reg[reg] = value;
}

/* The ModRM.rm operand. */
static inline bool rm_read(struct cpu *cpu, const struct uop *u, unsigned size, uint32_t *value)
{
    linear_t lin;
    if (op_is_register(u)) {
        *value = reg_get(cpu, u->base, size);
        return true;
    }
    *value = 0;
    return seg_operand(cpu, u, size, SEG_READ, &lin) &&
           mmu_read(cpu, lin, value, size, cpu_user(cpu));
}
static inline bool rm_write(struct cpu *cpu, const struct uop *u, unsigned size, uint32_t value)
{
    linear_t lin;
    if (op_is_register(u)) {
        reg_set(cpu, u->base, size, value);
        return true;
    }
    return seg_operand(cpu, u, size, SEG_WRITE, &lin) &&
           mmu_write(cpu, lin, &value, size, cpu_user(cpu));
}

/* The same to read and then write: nothing faults after rm_begin(). */
struct rm {
    void *memory; /* NULL: a register */
    uint32_t value;
};
static inline bool rm_begin(struct cpu *cpu, const struct uop *u, unsigned size, struct rm *rm)
{
    linear_t lin;
    *rm = (struct rm){NULL, 0};
    if (op_is_register(u)) {
        rm->value = reg_get(cpu, u->base, size);
        return true;
    }
    if (!seg_operand(cpu, u, size, SEG_WRITE, &lin))
        return false;
    rm->memory = mmu_rmw_begin(cpu, cpu->uop, lin, size);
    if (!rm->memory)
        return false;
    memcpy(&rm->value, rm->memory, size);
    return true;
}
static inline void rm_end(struct cpu *cpu, const struct uop *u, unsigned size, struct rm *rm,
                          uint32_t value)
{
    if (!rm->memory) {
        reg_set(cpu, u->base, size, value);
        return;
    }
    memcpy(rm->memory, &value, size);
    if (rm->memory == (void *)cpu->rmw.bytes)
        mmu_rmw_end(cpu);
}

/* Flags of an operation of any size. */
static inline uint32_t sized_carry(uint32_t carry, unsigned size)
{
    return size == 1 ? carry_b(carry) : size == 2 ? carry_w(carry) : carry_l(carry);
}
static inline void flags_result(struct cpu *cpu, uint32_t result, unsigned size)
{
    if (size == 1)
        flags_result_b(cpu, (uint8_t)result);
    else if (size == 2)
        flags_result_w(cpu, (uint16_t)result);
    else
        flags_result_l(cpu, result);
}
static inline void flags_of_sub(struct cpu *cpu, uint32_t a, uint32_t b, unsigned size)
{
    uint32_t r = (a - b) & size_mask(size);
    cpu->flags_carry = sized_carry(borrows_of_sub(a, b, r), size);
    flags_result(cpu, r, size);
}
static inline void flags_of_add(struct cpu *cpu, uint32_t a, uint32_t b, unsigned size)
{
    uint32_t r = (a + b) & size_mask(size);
    cpu->flags_carry = sized_carry(carries_of_add(a, b, r), size);
    flags_result(cpu, r, size);
}

/* The stack (ops_stack.c). `sp` is a working copy of ESP: cut to SP where the stack is 16-bit, and
 * stored by stack_commit() once nothing can fault any more. */
uint32_t stack_top(const struct cpu *cpu);
bool stack_push(struct cpu *cpu, uint32_t *sp, uint32_t value, unsigned size);
bool stack_pop(struct cpu *cpu, uint32_t *sp, uint32_t *value, unsigned size);
/* Reads `count` values from the top without moving it. */
bool stack_peek(struct cpu *cpu, uint32_t sp, uint32_t *values, unsigned count, unsigned size);
void stack_commit(struct cpu *cpu, uint32_t sp);

/* Whether this is a legal place for an instruction of ring 0: #GP(0) otherwise. */
static inline bool check_ring0(struct cpu *cpu)
{
    return cpu->cpl == 0 || cpu_fault_code(cpu, VEC_GP, 0);
}

#endif
