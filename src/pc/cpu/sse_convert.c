/* sse_convert.c: conversions between single, double and 32-bit integers, in XMM, MMX and general
 * registers (SDM 1 11.4.1.6). */
#include "ieee.h"

/* ---- single values ------------------------------------------------------------------------ */

/* Rounded to an integer of 32 bits; what has none is the integer indefinite, and invalid. */
IEEE_INLINE uint32_t ieee_to_i32(const struct ieee_format *f, struct simd_env *env, uint64_t v,
                                 bool truncate)
{
    v = ieee_operand(f, env, v);
    if (ieee_is_zero(f, v))
        return 0;
    uint32_t exp = (uint32_t)(v >> f->fraction_bits & f->exp_max);
    if (exp > f->bias + 31) {
        env->flags |= REAL_IE;
        return 0x80000000;
    }
    struct real r = ieee_unpack(f, v);
    u128 shifted = shift_right_sticky((u128)r.hi << 64, (uint32_t)(63 - r.exp));
    u128 tail = shifted << 64;
    uint64_t whole = (uint64_t)(shifted >> 64);
    whole += real_rounds_up(truncate ? RC_ZERO : simd_rc(env), r.sign, whole & 1, tail);
    if (whole > (r.sign ? 0x80000000u : 0x7fffffffu)) {
        env->flags |= REAL_IE;
        return 0x80000000;
    }
    if (tail)
        env->flags |= REAL_PE;
    return (uint32_t)(r.sign ? 0 - whole : whole);
}

/* A double has room for all of them. */
static uint64_t double_of_i32(uint32_t v)
{
    bool sign = v >> 31;
    uint64_t magnitude = sign ? 0u - v : v;

    if (!v)
        return 0;
    unsigned shift = count_leading_zeros64(magnitude);
    return (uint64_t)sign << 63 | (uint64_t)(1023 + 63 - shift) << 52 |
           magnitude << shift << 1 >> 12;
}

IEEE_INLINE uint64_t ieee_from_i32(const struct ieee_format *f, struct simd_env *env, uint32_t v)
{
    bool sign = v >> 31;

    if (!v)
        return 0;
    return ieee_pack(f, env, real_from_u64(sign, sign ? 0u - v : v));
}

/* NaNs keep their leading fraction bits and become quiet. */
IEEE_INLINE uint64_t ieee_resize(const struct ieee_format *from, const struct ieee_format *to,
                                 struct simd_env *env, uint64_t v)
{
    v = ieee_operand(from, env, v);
    bool sign = ieee_sign(from, v);
    if (ieee_is_nan(from, v)) {
        uint64_t fraction = v << (63 - from->fraction_bits) << 1;
        if (ieee_is_signaling(from, v))
            env->flags |= REAL_IE;
        return ieee_signed(to, sign,
                           ieee_infinity(to) | ieee_quiet_bit(to) |
                               fraction >> (64 - to->fraction_bits));
    }
    if (ieee_is_infinity(from, v))
        return ieee_signed(to, sign, ieee_infinity(to));
    if (ieee_is_zero(from, v))
        return ieee_signed(to, sign, 0);
    ieee_note_denormal(from, env, v);
    return ieee_pack(to, env, ieee_unpack(from, v));
}

static bool is_normal_single(uint32_t v)
{
    return (v >> 23 & 0xff) - 1u < 0xfe;
}

/* Exact, and nothing to raise. */
static uint64_t double_of_normal(uint32_t v)
{
    return (uint64_t)(v >> 31) << 63 |
           (((uint64_t)(v & 0x7fffffff) << 29) + ((uint64_t)(1023 - 127) << 52));
}

#define CONVERTER(name, result, argument, expression)                                              \
    static result name(struct simd_env *env, argument v)                                           \
    {                                                                                              \
        return (result)(expression);                                                               \
    }

CONVERTER(single_to_i32, uint32_t, uint32_t, ieee_to_i32(&ieee_single, env, v, false))
CONVERTER(single_cut_i32, uint32_t, uint32_t, ieee_to_i32(&ieee_single, env, v, true))
CONVERTER(double_to_i32, uint32_t, uint64_t, ieee_to_i32(&ieee_double, env, v, false))
CONVERTER(double_cut_i32, uint32_t, uint64_t, ieee_to_i32(&ieee_double, env, v, true))
CONVERTER(single_from_i32, uint32_t, uint32_t, ieee_from_i32(&ieee_single, env, v))
CONVERTER(double_from_i32, uint64_t, uint32_t, ((void)env, double_of_i32(v)))
CONVERTER(single_to_double_general, uint64_t, uint32_t,
          ieee_resize(&ieee_single, &ieee_double, env, v))
CONVERTER(single_to_double, uint64_t, uint32_t,
          is_normal_single(v) ? double_of_normal(v) : single_to_double_general(env, v))
CONVERTER(double_to_single, uint32_t, uint64_t, ieee_resize(&ieee_double, &ieee_single, env, v))

/* ---- instructions ------------------------------------------------------------------------- */

/* `count` lanes of src become lanes of dst; what is left of dst is as `rest` says. */
#define SSE_CONVERT(name, to, from, count, rest, converter)                                        \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        struct simd_env env = simd_begin(fpu);                                                     \
        union xmm out = rest;                                                                      \
                                                                                                   \
        (void)imm;                                                                                 \
        for (unsigned i = 0; i < (count); i++)                                                     \
            out.to[i] = converter(&env, src->from[i]);                                             \
        if (simd_finish(fpu, &env))                                                                \
            *dst = out;                                                                            \
    }

#define KEEP (*dst)
#define ZERO ((union xmm){.u64 = {0, 0}})

SSE_CONVERT(cvtdq2ps, u32, u32, 4, KEEP, single_from_i32)
SSE_CONVERT(cvtps2dq, u32, u32, 4, KEEP, single_to_i32)
SSE_CONVERT(cvttps2dq, u32, u32, 4, KEEP, single_cut_i32)
SSE_CONVERT(cvtdq2pd, u64, u32, 2, KEEP, double_from_i32)
SSE_CONVERT(cvtpd2dq, u32, u64, 2, ZERO, double_to_i32)
SSE_CONVERT(cvttpd2dq, u32, u64, 2, ZERO, double_cut_i32)
SSE_CONVERT(cvtps2pd, u64, u32, 2, KEEP, single_to_double)
SSE_CONVERT(cvtpd2ps, u32, u64, 2, ZERO, double_to_single)
SSE_CONVERT(cvtss2sd, u64, u32, 1, KEEP, single_to_double)
SSE_CONVERT(cvtsd2ss, u32, u64, 1, KEEP, double_to_single)

SSE_CONVERT(cvtsi2ss, u32, u32, 1, KEEP, single_from_i32)
SSE_CONVERT(cvtsi2sd, u64, u32, 1, KEEP, double_from_i32)
SSE_CONVERT(cvtss2si, u32, u32, 1, KEEP, single_to_i32)
SSE_CONVERT(cvttss2si, u32, u32, 1, KEEP, single_cut_i32)
SSE_CONVERT(cvtsd2si, u32, u64, 1, KEEP, double_to_i32)
SSE_CONVERT(cvttsd2si, u32, u64, 1, KEEP, double_cut_i32)

SSE_CONVERT(cvtpi2ps, u32, u32, 2, KEEP, single_from_i32)
SSE_CONVERT(cvtpi2pd, u64, u32, 2, KEEP, double_from_i32)
SSE_CONVERT(cvtps2pi, u32, u32, 2, KEEP, single_to_i32)
SSE_CONVERT(cvttps2pi, u32, u32, 2, KEEP, single_cut_i32)
SSE_CONVERT(cvtpd2pi, u32, u64, 2, KEEP, double_to_i32)
SSE_CONVERT(cvttpd2pi, u32, u64, 2, KEEP, double_cut_i32)
