/*
 * The six status flags, kept lazily as {result, carry vector}. Whatever sets flags leaves its
 * result and, in bit i of the carry vector, the carry (or borrow) out of bit i, moved up so that
 * the operand's top bit is bit 31:
 *
 *      CF = carry[31]    OF = carry[31] ^ carry[30]    AF = carry[3]
 *      ZF = result[31:0] == 0    SF = result[63]    PF = parity(result[7:0] ^ result[39:32])
 *
 * The result is sign-extended to 64 bits, whose bits 39:32 then have even parity: so PF needs no
 * case of its own, and every combination of flags (POPF) still has a representation. INC, DEC and
 * rotates, which keep some flags, stay exact without working all of them out.
 */
#ifndef PC_CPU_FLAGS_H
#define PC_CPU_FLAGS_H

#include "pc/cpu/state.h"

static inline bool flag_cf(const struct cpu *cpu)
{
    return cpu->flags_carry >> 31;
}
static inline bool flag_of(const struct cpu *cpu)
{
    return (cpu->flags_carry ^ cpu->flags_carry << 1) >> 31;
}
static inline bool flag_af(const struct cpu *cpu)
{
    return cpu->flags_carry >> 3 & 1;
}
static inline bool flag_zf(const struct cpu *cpu)
{
    return (uint32_t)cpu->flags_result == 0;
}
static inline bool flag_sf(const struct cpu *cpu)
{
    return cpu->flags_result >> 63;
}
static inline bool flag_pf(const struct cpu *cpu)
{
    unsigned byte = (unsigned)(cpu->flags_result ^ cpu->flags_result >> 32) & 0xff;
    byte ^= byte >> 4;
    return 0x9669 >> (byte & 15) & 1;
}

/* Condition `cc` of Jcc, SETcc and CMOVcc (SDM 1 B.1). A constant cc folds away. */
static inline bool flags_condition(const struct cpu *cpu, unsigned cc)
{
    bool value;
    switch (cc >> 1) {
    case 0:
        value = flag_of(cpu);
        break;
    case 1:
        value = flag_cf(cpu);
        break;
    case 2:
        value = flag_zf(cpu);
        break;
    case 3:
        value = flag_cf(cpu) || flag_zf(cpu);
        break;
    case 4:
        value = flag_sf(cpu);
        break;
    case 5:
        value = flag_pf(cpu);
        break;
    case 6:
        value = flag_sf(cpu) != flag_of(cpu);
        break;
    default:
        value = flag_zf(cpu) || flag_sf(cpu) != flag_of(cpu);
        break;
    }
    return value ^ (cc & 1);
}

static inline void flags_result_l(struct cpu *cpu, uint32_t r)
{
    cpu->flags_result = (uint64_t)(int64_t)(int32_t)r;
}
static inline void flags_result_w(struct cpu *cpu, uint16_t r)
{
    cpu->flags_result = (uint64_t)(int64_t)(int16_t)r;
}
static inline void flags_result_b(struct cpu *cpu, uint8_t r)
{
    cpu->flags_result = (uint64_t)(int64_t)(int8_t)r;
}

/* The carry vector of a narrower operation, moved to the top; AF stays in bit 3. */
static inline uint32_t carry_l(uint32_t c)
{
    return c;
}
static inline uint32_t carry_w(uint32_t c)
{
    return c << 16 | (c & 8);
}
static inline uint32_t carry_b(uint32_t c)
{
    return c << 24 | (c & 8);
}

/* Carries of r = a + b (+ carry in), borrows of r = a - b (- borrow in). */
static inline uint32_t carries_of_add(uint32_t a, uint32_t b, uint32_t r)
{
    return (a & b) | ((a | b) & ~r);
}
static inline uint32_t borrows_of_sub(uint32_t a, uint32_t b, uint32_t r)
{
    return (~a & b) | (~(a ^ b) & r);
}

/* A carry vector with these flags. */
static inline uint32_t carry_make(bool cf, bool of, bool af)
{
    return (uint32_t)cf << 31 | (uint32_t)(cf ^ of) << 30 | (uint32_t)af << 3;
}
/* `carry` as it is but with another CF; OF stays. INC and DEC use it. */
static inline uint32_t carry_with_cf(uint32_t carry, bool cf)
{
    return carry_make(cf, (carry ^ carry << 1) >> 31, carry >> 3 & 1);
}
static inline void flags_set_cf(struct cpu *cpu, bool cf)
{
    cpu->flags_carry = carry_with_cf(cpu->flags_carry, cf);
}
static inline void flags_set_cf_of(struct cpu *cpu, bool cf, bool of)
{
    cpu->flags_carry = carry_make(cf, of, flag_af(cpu));
}

static inline uint32_t flags_status(const struct cpu *cpu)
{
    return (flag_cf(cpu) ? FLAG_CF : 0) | (flag_pf(cpu) ? FLAG_PF : 0) |
           (flag_af(cpu) ? FLAG_AF : 0) | (flag_zf(cpu) ? FLAG_ZF : 0) |
           (flag_sf(cpu) ? FLAG_SF : 0) | (flag_of(cpu) ? FLAG_OF : 0);
}

static inline void flags_set_status(struct cpu *cpu, uint32_t flags)
{
    /* Bit 32 makes PF what it should be: bits 7:0 are 0 (ZF, even) or 1 (odd). */
    uint64_t result = flags & FLAG_ZF ? 0 : 1;
    bool even = result == 0;
    if (even != !!(flags & FLAG_PF))
        result |= 1ull << 32;
    if (flags & FLAG_SF)
        result |= 1ull << 63;
    cpu->flags_result = result;
    cpu->flags_carry = carry_make(flags & FLAG_CF, flags & FLAG_OF, flags & FLAG_AF);
}

static inline void flags_set_zf(struct cpu *cpu, bool zf)
{
    flags_set_status(cpu, (flags_status(cpu) & ~(uint32_t)FLAG_ZF) | (zf ? FLAG_ZF : 0));
}

#endif
