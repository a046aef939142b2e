/* sse_compare.c: comparisons to masks (CMPPS and its kin) and to EFLAGS (COMISS, UCOMISS). */
#include "ieee.h"

enum relation { LESS, EQUAL, GREATER, UNORDERED };

/* quiet: only a signaling NaN is invalid. */
IEEE_INLINE enum relation ieee_compare(const struct ieee_format *f, struct simd_env *env,
                                       uint64_t a, uint64_t b, bool quiet)
{
    a = ieee_operand(f, env, a);
    b = ieee_operand(f, env, b);
    if (ieee_is_nan(f, a) || ieee_is_nan(f, b)) {
        if (!quiet || ieee_is_signaling(f, a) || ieee_is_signaling(f, b))
            env->flags |= REAL_IE;
        return UNORDERED;
    }
    ieee_note_denormal(f, env, a);
    ieee_note_denormal(f, env, b);

    int64_t x = (int64_t)ieee_magnitude(f, a), y = (int64_t)ieee_magnitude(f, b);
    x = ieee_sign(f, a) ? -x : x;
    y = ieee_sign(f, b) ? -y : y;
    return x < y ? LESS : x == y ? EQUAL : GREATER;
}

/* ---- to masks ----------------------------------------------------------------------------- */

/* The predicates EQ LT LE UNORD, and with bit 2 their opposites (SDM 2A CMPPS, table 3-1). */
IEEE_INLINE bool ieee_predicate(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                                uint64_t b, uint8_t imm)
{
    static const uint8_t holds[4] = {1 << EQUAL, 1 << LESS, 1 << LESS | 1 << EQUAL, 1 << UNORDERED};
    bool quiet = (imm & 3) == 0 || (imm & 3) == 3;
    enum relation relation = ieee_compare(f, env, a, b, quiet);

    return (holds[imm & 3] >> relation & 1) != (imm >> 2 & 1);
}

#define SSE_COMPARE(suffix, bits, format, count)                                                   \
    void sse_cmp##suffix(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)       \
    {                                                                                              \
        struct simd_env env = simd_begin(fpu);                                                     \
        union xmm out = *dst;                                                                      \
                                                                                                   \
        for (unsigned i = 0; i < (count); i++)                                                     \
            out.u##bits[i] =                                                                       \
                (uint##bits##_t) - (int##bits##_t)ieee_predicate(&format, &env, dst->u##bits[i],   \
                                                                 src->u##bits[i], imm);            \
        if (simd_finish(fpu, &env))                                                                \
            *dst = out;                                                                            \
    }

SSE_COMPARE(ps, 32, ieee_single, 4)
SSE_COMPARE(pd, 64, ieee_double, 2)
SSE_COMPARE(ss, 32, ieee_single, 1)
SSE_COMPARE(sd, 64, ieee_double, 1)

/* ---- to EFLAGS ---------------------------------------------------------------------------- */

/* ZF, PF and CF; the processor also clears OF, SF and AF. */
static const uint8_t eflags_of[] = {
    [LESS] = 0x01, [EQUAL] = 0x40, [GREATER] = 0x00, [UNORDERED] = 0x45};

#define SSE_COMPARE_FLAGS(name, bits, format, quiet)                                               \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        struct simd_env env = simd_begin(fpu);                                                     \
        enum relation relation =                                                                   \
            ieee_compare(&format, &env, dst->u##bits[0], src->u##bits[0], quiet);                  \
                                                                                                   \
        (void)imm;                                                                                 \
        if (simd_finish(fpu, &env))                                                                \
            fpu->compare = eflags_of[relation];                                                    \
    }

SSE_COMPARE_FLAGS(ucomiss, 32, ieee_single, true)
SSE_COMPARE_FLAGS(ucomisd, 64, ieee_double, true)
SSE_COMPARE_FLAGS(comiss, 32, ieee_single, false)
SSE_COMPARE_FLAGS(comisd, 64, ieee_double, false)
