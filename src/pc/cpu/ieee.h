/* ieee.h: single and double precision as SSE does it, on bit patterns: operands taken apart with
 * DAZ, results rounded with FTZ, NaNs chosen (SDM 1 4.8.3.5, 10.2.3, app. E.4).
 *
 * One text for both formats: each function takes the format as a constant and is inlined. */
#ifndef HALTER_PC_CPU_IEEE_H
#define HALTER_PC_CPU_IEEE_H

#include "real.h"
#include "simd.h"

struct ieee_format {
    struct real_range range;
    unsigned fraction_bits, exp_max, bias, sign_bit;
};

static const struct ieee_format ieee_single = {{24, -126, 127, 0}, 23, 0xff, 127, 31};
static const struct ieee_format ieee_double = {{53, -1022, 1023, 0}, 52, 0x7ff, 1023, 63};

#define IEEE_INLINE static inline __attribute__((always_inline))

IEEE_INLINE bool ieee_sign(const struct ieee_format *f, uint64_t v)
{
    return v >> f->sign_bit & 1;
}

IEEE_INLINE uint64_t ieee_signed(const struct ieee_format *f, bool sign, uint64_t magnitude)
{
    return (uint64_t)sign << f->sign_bit | magnitude;
}

IEEE_INLINE uint64_t ieee_magnitude(const struct ieee_format *f, uint64_t v)
{
    return v & (((uint64_t)1 << f->sign_bit) - 1);
}

IEEE_INLINE uint64_t ieee_infinity(const struct ieee_format *f)
{
    return (uint64_t)f->exp_max << f->fraction_bits;
}

IEEE_INLINE uint64_t ieee_quiet_bit(const struct ieee_format *f)
{
    return (uint64_t)1 << (f->fraction_bits - 1);
}

/* The default NaN, "QNaN floating-point indefinite". */
IEEE_INLINE uint64_t ieee_indefinite(const struct ieee_format *f)
{
    return ieee_signed(f, true, ieee_infinity(f) | ieee_quiet_bit(f));
}

IEEE_INLINE bool ieee_is_nan(const struct ieee_format *f, uint64_t v)
{
    return ieee_magnitude(f, v) > ieee_infinity(f);
}

IEEE_INLINE bool ieee_is_signaling(const struct ieee_format *f, uint64_t v)
{
    return ieee_is_nan(f, v) && !(v & ieee_quiet_bit(f));
}

IEEE_INLINE bool ieee_is_infinity(const struct ieee_format *f, uint64_t v)
{
    return ieee_magnitude(f, v) == ieee_infinity(f);
}

IEEE_INLINE bool ieee_is_zero(const struct ieee_format *f, uint64_t v)
{
    return ieee_magnitude(f, v) == 0;
}

IEEE_INLINE bool ieee_is_denormal(const struct ieee_format *f, uint64_t v)
{
    return ieee_magnitude(f, v) - 1 < ((uint64_t)1 << f->fraction_bits) - 1;
}

IEEE_INLINE uint64_t ieee_invalid(const struct ieee_format *f, struct simd_env *env)
{
    env->flags |= REAL_IE;
    return ieee_indefinite(f);
}

/* A denormal operand is zero with DAZ; else it raises DE, once it is known to take part. */
IEEE_INLINE uint64_t ieee_operand(const struct ieee_format *f, const struct simd_env *env,
                                  uint64_t v)
{
    if ((env->mxcsr & MXCSR_DAZ) && ieee_is_denormal(f, v))
        return ieee_signed(f, ieee_sign(f, v), 0);
    return v;
}

IEEE_INLINE void ieee_note_denormal(const struct ieee_format *f, struct simd_env *env, uint64_t v)
{
    if (ieee_is_denormal(f, v))
        env->flags |= REAL_DE;
}

/* The first operand if it is a NaN, else the second, made quiet (SDM 1 table 4-7, SSE). */
IEEE_INLINE bool ieee_special2(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                               uint64_t b, uint64_t *out)
{
    if (!ieee_is_nan(f, a) && !ieee_is_nan(f, b))
        return false;
    if (ieee_is_signaling(f, a) || ieee_is_signaling(f, b))
        env->flags |= REAL_IE;
    *out = (ieee_is_nan(f, a) ? a : b) | ieee_quiet_bit(f);
    return true;
}

/* Of a finite number that is not zero. */
IEEE_INLINE struct real ieee_unpack(const struct ieee_format *f, uint64_t v)
{
    uint64_t fraction = v & (((uint64_t)1 << f->fraction_bits) - 1);
    int32_t exp = (int32_t)(v >> f->fraction_bits & f->exp_max);

    if (exp)
        return (struct real){(uint64_t)1 << 63 | fraction << (63 - f->fraction_bits), 0,
                             exp - (int32_t)f->bias, ieee_sign(f, v)};
    unsigned shift = count_leading_zeros64(fraction);
    return (struct real){fraction << shift, 0,
                         1 - (int32_t)f->bias + (63 - (int32_t)f->fraction_bits) - (int32_t)shift,
                         ieee_sign(f, v)};
}

IEEE_INLINE unsigned simd_rc(const struct simd_env *env)
{
    return env->mxcsr >> 13 & 3;
}

IEEE_INLINE uint64_t ieee_pack(const struct ieee_format *f, struct simd_env *env, struct real r)
{
    uint32_t unmasked = simd_unmasked(env);
    struct rounded out = real_round(r, f->range, simd_rc(env), unmasked);

    /* Flush to zero is for masked underflow; it flushes exact denormals too. */
    if ((env->mxcsr & MXCSR_FTZ) && !(unmasked & REAL_UE) && out.tiny) {
        env->flags |= REAL_UE | REAL_PE;
        return ieee_signed(f, r.sign, 0);
    }
    env->flags |= out.flags & MXCSR_FLAGS;
    if (out.infinite)
        return ieee_signed(f, r.sign, ieee_infinity(f));
    uint64_t exp = out.hi >> 63 ? (uint64_t)(uint32_t)(out.exp + (int32_t)f->bias) : 0;
    return ieee_signed(f, r.sign, exp << f->fraction_bits | out.hi << 1 >> (64 - f->fraction_bits));
}

#endif
