/* f80_fast.h: the common case of the common operations, in 64-bit integers: normal operands and a
 * normal result, all 64 bits to nearest, PE masked. Then PE and C1 are all that can be raised, and
 * ES cannot change. Each returns false for anything else, and the general way is taken; both
 * give the same bits where both can be taken. */
#ifndef HALTER_PC_CPU_F80_FAST_H
#define HALTER_PC_CPU_F80_FAST_H

#include "f80.h"

#define F80_FAST static inline __attribute__((always_inline))

/* Out of line, so that the fast way saves no registers for it. */
#define F80_GENERAL __attribute__((noinline, cold))

/* Rounding and precision control and the mask of PE, as every program has them. */
static inline bool f80_fast_control(uint16_t control)
{
    return (control & (0x0f00 | X87_PE)) == (0x0300 | X87_PE);
}

/* Exponents 1-7FFEh with the integer bit. */
F80_FAST bool f80_fast_operand(struct f80 v)
{
    return f80_exp(v) - 1 < F80_EXP_MAX - 1 && (v.mantissa & F80_TOP_BIT);
}

/* hi.lo to nearest even; exponents at either end are left to the general way. */
F80_FAST bool f80_fast_round(bool sign, int32_t exp, uint64_t hi, uint64_t lo, struct f80 *out,
                             uint16_t *raised)
{
    uint64_t up = lo >> 63 & ((lo << 1 | (hi & 1)) != 0);

    hi += up;
    if (hi == 0) {
        hi = F80_TOP_BIT;
        exp++;
    }
    *raised = (uint16_t)((lo ? X87_PE : 0) | (up ? X87_C1 : 0));
    *out = f80_make(sign, (unsigned)exp & 0x7fff, hi);
    return (uint32_t)exp - 2 < F80_EXP_MAX - 4;
}

F80_FAST bool f80_fast_add(struct f80 a, struct f80 b, struct f80 *out, uint16_t *raised)
{
    if (!f80_fast_operand(a) || !f80_fast_operand(b))
        return false;
    if (f80_exp(a) < f80_exp(b) || (f80_exp(a) == f80_exp(b) && a.mantissa < b.mantissa)) {
        struct f80 t = a;
        a = b;
        b = t;
    }
    int32_t exp = (int32_t)f80_exp(a);
    uint32_t distance = (uint32_t)exp - f80_exp(b);
    if (distance > 63)
        return false;
    uint64_t hi = b.mantissa >> distance, lo = distance ? b.mantissa << (64 - distance) : 0;

    if (f80_sign(a) == f80_sign(b)) {
        hi += a.mantissa;
        if (hi < a.mantissa) {
            lo = hi << 63 | lo >> 1; /* loses nothing: bit 0 is clear, as distance < 64 */
            hi = F80_TOP_BIT | hi >> 1;
            exp++;
        }
        return f80_fast_round(f80_sign(a), exp, hi, lo, out, raised);
    }
    hi = a.mantissa - hi - (lo != 0);
    lo = 0 - lo;
    if (hi == 0) /* far below the operands, or zero */
        return false;
    unsigned shift = count_leading_zeros64(hi);
    if (shift) {
        hi = hi << shift | lo >> (64 - shift);
        lo <<= shift;
    }
    return f80_fast_round(f80_sign(a), exp - (int32_t)shift, hi, lo, out, raised);
}

F80_FAST bool f80_fast_sub(struct f80 a, struct f80 b, struct f80 *out, uint16_t *raised)
{
    b.sign_exponent ^= 0x8000;
    return f80_fast_add(a, b, out, raised);
}

F80_FAST bool f80_fast_mul(struct f80 a, struct f80 b, struct f80 *out, uint16_t *raised)
{
    if (!f80_fast_operand(a) || !f80_fast_operand(b))
        return false;
    u128 p = (u128)a.mantissa * b.mantissa;
    int32_t exp = (int32_t)(f80_exp(a) + f80_exp(b)) - F80_BIAS + 1;
    bool sign = (a.sign_exponent ^ b.sign_exponent) >> 15;

    if (!(p >> 127)) {
        p <<= 1;
        exp--;
    }
    return f80_fast_round(sign, exp, (uint64_t)(p >> 64), (uint64_t)p, out, raised);
}

F80_FAST bool f80_fast_div(struct f80 a, struct f80 b, struct f80 *out, uint16_t *raised)
{
    if (!f80_fast_operand(a) || !f80_fast_operand(b))
        return false;
    struct real r = real_div(f80_unpack(a), f80_unpack(b));
    return f80_fast_round(r.sign, r.exp + F80_BIAS, r.hi, r.lo, out, raised);
}

static inline bool f80_fast_sub_reversed(struct f80 a, struct f80 b, struct f80 *out,
                                         uint16_t *raised)
{
    return f80_fast_sub(b, a, out, raised);
}

static inline bool f80_fast_div_reversed(struct f80 a, struct f80 b, struct f80 *out,
                                         uint16_t *raised)
{
    return f80_fast_div(b, a, out, raised);
}

/* The condition bits of FCOM, for normal numbers: none is unordered, nothing is raised. */
static inline bool f80_fast_compare(struct f80 a, struct f80 b, uint16_t *condition)
{
    if (!f80_fast_operand(a) || !f80_fast_operand(b))
        return false;
    bool less = f80_exp(a) != f80_exp(b) ? f80_exp(a) < f80_exp(b) : a.mantissa < b.mantissa;
    bool equal = a.mantissa == b.mantissa && a.sign_exponent == b.sign_exponent;

    if (f80_sign(a) != f80_sign(b))
        less = f80_sign(a);
    else if (f80_sign(a))
        less = !less;
    *condition = equal ? X87_C3 : less ? X87_C0 : 0;
    return true;
}

/* Single and double, whose exponents are rebiased; denormals and NaNs are not normal. */
static inline bool f80_fast_from_f64(uint64_t v, struct f80 *out)
{
    unsigned exp = v >> 52 & 0x7ff;

    *out = f80_make(v >> 63, exp + F80_BIAS - 1023, F80_TOP_BIT | v << 11);
    return exp - 1 < 0x7fe;
}

static inline bool f80_fast_from_f32(uint32_t v, struct f80 *out)
{
    unsigned exp = v >> 23 & 0xff;

    *out = f80_make(v >> 31, exp + F80_BIAS - 127, F80_TOP_BIT | (uint64_t)v << 40);
    return exp - 1 < 0xfe;
}

/* The carry of rounding up goes through the fraction into the exponent. */
static inline bool f80_fast_to_f64(struct f80 v, uint64_t *out, uint16_t *raised)
{
    unsigned exp = f80_exp(v) - (F80_BIAS - 1023);
    uint64_t tail = v.mantissa << 53, kept = v.mantissa << 1 >> 12;
    uint64_t up = tail >> 63 & ((tail << 1 | (kept & 1)) != 0);

    *out = ((uint64_t)f80_sign(v) << 63 | (uint64_t)exp << 52 | kept) + up;
    *raised = (uint16_t)((tail ? X87_PE : 0) | (up ? X87_C1 : 0));
    return exp - 1 < 0x7fd && (v.mantissa & F80_TOP_BIT);
}

static inline bool f80_fast_to_f32(struct f80 v, uint32_t *out, uint16_t *raised)
{
    unsigned exp = f80_exp(v) - (F80_BIAS - 127);
    uint64_t tail = v.mantissa << 24, kept = v.mantissa << 1 >> 41;
    uint64_t up = tail >> 63 & ((tail << 1 | (kept & 1)) != 0);

    *out = ((uint32_t)f80_sign(v) << 31 | exp << 23 | (uint32_t)kept) + (uint32_t)up;
    *raised = (uint16_t)((tail ? X87_PE : 0) | (up ? X87_C1 : 0));
    return exp - 1 < 0xfd && (v.mantissa & F80_TOP_BIT);
}

/* To an integer of so many bits, rounded in any direction; PE has to be masked. */
static inline bool f80_fast_to_int(struct f80 v, unsigned bits, unsigned rc, uint64_t *out,
                                   uint16_t *raised)
{
    uint32_t shift = (uint32_t)(F80_BIAS + 63) - f80_exp(v); /* of the binary point */

    if (shift - 1 > 62 || !(v.mantissa & F80_TOP_BIT))
        return false;
    uint64_t whole = v.mantissa >> shift, tail = v.mantissa << (64 - shift);
    bool up = real_rounds_up(rc, f80_sign(v), whole & 1, (u128)tail << 64);
    whole += up;
    *raised = (uint16_t)((tail ? X87_PE : 0) | (up ? X87_C1 : 0));
    *out = f80_sign(v) ? 0 - whole : whole;
    return whole < (uint64_t)1 << (bits - 1);
}

#endif
