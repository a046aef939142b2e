/*
 * Arithmetic out of line: multiplication and division, the shifts and rotates that ops.inc does not
 * hold, and decimal adjustment. SDM 2A and 2B have the operations; flags they call undefined are
 * left as whatever is simplest, and isa.def says which.
 */
#include "pc/cpu/ops.h"

#define AL 0 /* offsets of byte registers in the file */
#define AH 1

/* ---- shifts and rotates ------------------------------------------------------------------- */

struct shifted {
    uint32_t value;
    bool cf, of;
};

static struct shifted rotate(unsigned kind, uint32_t a, unsigned count, unsigned size)
{
    unsigned bits = size * 8, c = count & (bits - 1);
    uint32_t r = a;
    if (c && kind == SHIFT_rol)
        r = a << c | a >> (bits - c);
    else if (c)
        r = a >> c | a << (bits - c);
    r &= size_mask(size);
    bool top = top_bit(r, size), next = r >> (bits - 2) & 1;
    return kind == SHIFT_rol ? (struct shifted){r, r & 1, top ^ (r & 1)}
                             : (struct shifted){r, top, top ^ next};
}

/* Through carry: a rotation of size * 8 + 1 bits. */
static struct shifted rotate_carry(unsigned kind, uint32_t a, unsigned count, unsigned size,
                                   bool cf)
{
    unsigned bits = size * 8 + 1, c = count % bits;
    uint64_t wide = a | (uint64_t)cf << (bits - 1), mask = (1ull << bits) - 1;
    if (c && kind == SHIFT_rcl)
        wide = (wide << c | wide >> (bits - c)) & mask;
    else if (c)
        wide = (wide >> c | wide << (bits - c)) & mask;
    uint32_t r = (uint32_t)wide & size_mask(size);
    bool out = wide >> (bits - 1) & 1, top = top_bit(r, size), next = r >> (bits - 3) & 1;
    return (struct shifted){r, out, kind == SHIFT_rcl ? top ^ out : top ^ next};
}

static struct shifted shift(unsigned kind, uint32_t a, unsigned count, unsigned size)
{
    unsigned bits = size * 8;
    if (kind == SHIFT_shl) {
        uint64_t wide = (uint64_t)a << count;
        uint32_t r = (uint32_t)wide & size_mask(size);
        bool cf = wide >> bits & 1;
        return (struct shifted){r, cf, top_bit(r, size) ^ cf};
    }
    if (kind == SHIFT_shr)
        return (struct shifted){a >> count, a >> (count - 1) & 1, count == 1 && top_bit(a, size)};
    int64_t s = size == 1 ? (int8_t)a : size == 2 ? (int16_t)a : (int32_t)a;
    return (struct shifted){(uint32_t)(s >> count) & size_mask(size), s >> (count - 1) & 1, false};
}

static enum op_status do_shift(struct cpu *cpu, const struct uop *u, unsigned size)
{
    unsigned kind = u->src & 7;
    unsigned count = u->src & 0x80 ? (unsigned)cpu->reg[CPU_ECX] & 31 : u->imm;
    struct rm rm;
    if (!rm_begin(cpu, u, size, &rm))
        return OP_FAULT;
    if (count == 0) { /* nothing changes, but memory must have been writable */
        rm_end(cpu, u, size, &rm, rm.value);
        return OP_DONE;
    }
    struct shifted s;
    if (kind >= SHIFT_shl) {
        s = shift(kind, rm.value, count, size);
        cpu->flags_carry = carry_make(s.cf, s.of, false);
        flags_result(cpu, s.value, size);
    } else {
        s = kind <= SHIFT_ror ? rotate(kind, rm.value, count, size)
                              : rotate_carry(kind, rm.value, count, size, flag_cf(cpu));
        flags_set_cf_of(cpu, s.cf, s.of);
    }
    rm_end(cpu, u, size, &rm, s.value);
    return OP_DONE;
}

enum op_status h_shift_b(struct cpu *cpu, const struct uop *u)
{
    return do_shift(cpu, u, 1);
}
enum op_status h_shift_v(struct cpu *cpu, const struct uop *u)
{
    return do_shift(cpu, u, op_size(u));
}

/* ---- multiplication ----------------------------------------------------------------------- */

static int64_t sign_extended(uint32_t value, unsigned size)
{
    return size == 1 ? (int8_t)value : size == 2 ? (int16_t)value : (int32_t)value;
}

/* The double-width product goes to AX, DX:AX or EDX:EAX; CF and OF when its top half matters. */
static void set_product(struct cpu *cpu, uint64_t product, bool overflow, unsigned size)
{
    uint32_t low = (uint32_t)product & size_mask(size);
    if (size == 1) {
        reg_set(cpu, CPU_EAX, 2, (uint32_t)product);
    } else {
        reg_set(cpu, CPU_EAX, size, low);
        reg_set(cpu, CPU_EDX, size, (uint32_t)(product >> (8 * size)));
    }
    cpu->flags_carry = carry_make(overflow, overflow, false);
    flags_result(cpu, low, size);
}

static enum op_status multiply(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint32_t v;
    if (!rm_read(cpu, u, size, &v))
        return OP_FAULT;
    uint64_t product = (uint64_t)v * reg_get(cpu, CPU_EAX, size);
    set_product(cpu, product, product >> (8 * size), size);
    return OP_DONE;
}

static enum op_status multiply_signed(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint32_t v;
    if (!rm_read(cpu, u, size, &v))
        return OP_FAULT;
    int64_t product = sign_extended(v, size) * sign_extended(reg_get(cpu, CPU_EAX, size), size);
    set_product(cpu, (uint64_t)product, product != sign_extended((uint32_t)product, size), size);
    return OP_DONE;
}

enum op_status h_mul_b(struct cpu *cpu, const struct uop *u)
{
    return multiply(cpu, u, 1);
}
enum op_status h_mul_v(struct cpu *cpu, const struct uop *u)
{
    return multiply(cpu, u, op_size(u));
}
enum op_status h_imul_b(struct cpu *cpu, const struct uop *u)
{
    return multiply_signed(cpu, u, 1);
}
enum op_status h_imul_v(struct cpu *cpu, const struct uop *u)
{
    return multiply_signed(cpu, u, op_size(u));
}

/* IMUL r16, r/m16 and r16, r/m16, imm (src: with an immediate). */
enum op_status h_imul2_w(struct cpu *cpu, const struct uop *u)
{
    uint32_t v;
    if (!rm_read(cpu, u, 2, &v))
        return OP_FAULT;
    int32_t product = (int16_t)v * (int16_t)(u->src ? u->imm : (uint32_t)cpu->reg[u->dst]);
    bool overflow = product != (int16_t)product;
    cpu->flags_carry = carry_make(overflow, overflow, false);
    flags_result_w(cpu, (uint16_t)product);
    reg_set(cpu, u->dst, 2, (uint32_t)product);
    return OP_DONE;
}

/* ---- division: #DE when the quotient does not fit ----------------------------------------- */

static uint64_t dividend(const struct cpu *cpu, unsigned size)
{
    if (size == 1)
        return reg_get(cpu, CPU_EAX, 2);
    return (uint64_t)reg_get(cpu, CPU_EDX, size) << (8 * size) | reg_get(cpu, CPU_EAX, size);
}

static void set_quotient(struct cpu *cpu, uint32_t quotient, uint32_t remainder, unsigned size)
{
    if (size == 1) {
        reg_set(cpu, AL, 1, quotient);
        reg_set(cpu, AH, 1, remainder);
    } else {
        reg_set(cpu, CPU_EAX, size, quotient);
        reg_set(cpu, CPU_EDX, size, remainder);
    }
}

static enum op_status divide(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint32_t v;
    if (!rm_read(cpu, u, size, &v))
        return OP_FAULT;
    uint64_t n = dividend(cpu, size);
    if (v == 0 || n / v > size_mask(size))
        return op_fault(cpu, VEC_DE);
    set_quotient(cpu, (uint32_t)(n / v), (uint32_t)(n % v), size);
    return OP_DONE;
}

static enum op_status divide_signed(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint32_t v;
    if (!rm_read(cpu, u, size, &v))
        return OP_FAULT;
    uint64_t n = dividend(cpu, size);
    int64_t dividend_s = size == 4 ? (int64_t)n : size == 2 ? (int32_t)n : (int16_t)n;
    int64_t divisor = sign_extended(v, size);
    /* INT64_MIN / -1 does not fit either, and would trap here. */
    if (divisor == 0 || (divisor == -1 && dividend_s == INT64_MIN))
        return op_fault(cpu, VEC_DE);
    int64_t quotient = dividend_s / divisor;
    if (quotient != sign_extended((uint32_t)quotient, size))
        return op_fault(cpu, VEC_DE);
    set_quotient(cpu, (uint32_t)quotient, (uint32_t)(dividend_s % divisor), size);
    return OP_DONE;
}

enum op_status h_div_b(struct cpu *cpu, const struct uop *u)
{
    return divide(cpu, u, 1);
}
enum op_status h_div_v(struct cpu *cpu, const struct uop *u)
{
    return divide(cpu, u, op_size(u));
}
enum op_status h_idiv_b(struct cpu *cpu, const struct uop *u)
{
    return divide_signed(cpu, u, 1);
}
enum op_status h_idiv_v(struct cpu *cpu, const struct uop *u)
{
    return divide_signed(cpu, u, op_size(u));
}

/* ---- decimal adjustment ------------------------------------------------------------------- */

static enum op_status decimal_adjust(struct cpu *cpu, bool subtract)
{
    uint8_t old = (uint8_t)reg_get(cpu, AL, 1), al = old;
    bool old_cf = flag_cf(cpu), cf = false, af = false;
    if ((al & 15) > 9 || flag_af(cpu)) {
        cf = old_cf || (subtract ? al < 6 : al > 0xf9);
        al = (uint8_t)(subtract ? al - 6 : al + 6);
        af = true;
    }
    if (old > 0x99 || old_cf) {
        al = (uint8_t)(subtract ? al - 0x60 : al + 0x60);
        cf = true;
    }
    reg_set(cpu, AL, 1, al);
    cpu->flags_carry = carry_make(cf, false, af);
    flags_result_b(cpu, al);
    return OP_DONE;
}

enum op_status h_daa(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return decimal_adjust(cpu, false);
}
enum op_status h_das(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return decimal_adjust(cpu, true);
}

/* AX changes as a whole: since the 80286 a carry out of AL goes into AH. */
static enum op_status ascii_adjust(struct cpu *cpu, bool subtract)
{
    uint32_t ax = reg_get(cpu, CPU_EAX, 2);
    bool adjust = (ax & 15) > 9 || flag_af(cpu);
    if (adjust)
        ax = subtract ? ax - 0x106 : ax + 0x106;
    reg_set(cpu, CPU_EAX, 2, ax & 0xff0f);
    flags_result_b(cpu, (uint8_t)(ax & 15));
    cpu->flags_carry = carry_make(adjust, false, adjust);
    return OP_DONE;
}

enum op_status h_aaa(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return ascii_adjust(cpu, false);
}
enum op_status h_aas(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return ascii_adjust(cpu, true);
}

enum op_status h_aam(struct cpu *cpu, const struct uop *u)
{
    uint8_t al = (uint8_t)reg_get(cpu, AL, 1), base = (uint8_t)u->imm;
    if (base == 0)
        return op_fault(cpu, VEC_DE);
    reg_set(cpu, AH, 1, al / base);
    reg_set(cpu, AL, 1, al % base);
    cpu->flags_carry = 0;
    flags_result_b(cpu, al % base);
    return OP_DONE;
}

enum op_status h_aad(struct cpu *cpu, const struct uop *u)
{
    uint8_t al = (uint8_t)(reg_get(cpu, AL, 1) + reg_get(cpu, AH, 1) * (uint8_t)u->imm);
    reg_set(cpu, CPU_EAX, 2, al);
    cpu->flags_carry = 0;
    flags_result_b(cpu, al);
    return OP_DONE;
}

/* Undocumented, but every IA-32 processor has it: AL = CF ? FFh : 0. */
enum op_status h_salc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    reg_set(cpu, AL, 1, flag_cf(cpu) ? 0xff : 0);
    return OP_DONE;
}
