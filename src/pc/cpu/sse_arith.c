/* sse_arith.c: ADD, SUB, MUL, DIV, SQRT, MIN and MAX of SSE and SSE2, packed and scalar.
 *
 * In integers (real.h); the host's own arithmetic only where it gives the same bits and flags,
 * see host_may(). */
#include <string.h>

#include "ieee.h"

/* ---- in integers -------------------------------------------------------------------------- */

IEEE_INLINE uint64_t ieee_add(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                              uint64_t b, bool negate)
{
    uint64_t out;

    a = ieee_operand(f, env, a);
    b = ieee_operand(f, env, b);
    if (ieee_special2(f, env, a, b, &out))
        return out;
    b ^= (uint64_t)negate << f->sign_bit;
    if (ieee_is_infinity(f, a) && ieee_is_infinity(f, b) && a != b)
        return ieee_invalid(f, env);
    ieee_note_denormal(f, env, a);
    ieee_note_denormal(f, env, b);
    if (ieee_is_infinity(f, a) || ieee_is_infinity(f, b))
        return ieee_is_infinity(f, a) ? a : b;
    if (ieee_is_zero(f, a) && ieee_is_zero(f, b))
        return a == b ? a : ieee_signed(f, simd_rc(env) == RC_DOWN, 0);
    if (ieee_is_zero(f, a) || ieee_is_zero(f, b))
        return ieee_pack(f, env, ieee_unpack(f, ieee_is_zero(f, a) ? b : a));
    struct real r = real_add(ieee_unpack(f, a), ieee_unpack(f, b));
    if (r.hi == 0)
        return ieee_signed(f, simd_rc(env) == RC_DOWN, 0);
    return ieee_pack(f, env, r);
}

IEEE_INLINE uint64_t ieee_mul(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                              uint64_t b)
{
    uint64_t out;

    a = ieee_operand(f, env, a);
    b = ieee_operand(f, env, b);
    if (ieee_special2(f, env, a, b, &out))
        return out;
    bool sign = ieee_sign(f, a) != ieee_sign(f, b);
    bool infinity = ieee_is_infinity(f, a) || ieee_is_infinity(f, b);
    bool zero = ieee_is_zero(f, a) || ieee_is_zero(f, b);
    if (infinity && zero)
        return ieee_invalid(f, env);
    ieee_note_denormal(f, env, a);
    ieee_note_denormal(f, env, b);
    if (infinity || zero)
        return ieee_signed(f, sign, infinity ? ieee_infinity(f) : 0);
    return ieee_pack(f, env, real_mul(ieee_unpack(f, a), ieee_unpack(f, b)));
}

IEEE_INLINE uint64_t ieee_div(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                              uint64_t b)
{
    uint64_t out;

    a = ieee_operand(f, env, a);
    b = ieee_operand(f, env, b);
    if (ieee_special2(f, env, a, b, &out))
        return out;
    bool sign = ieee_sign(f, a) != ieee_sign(f, b);
    if ((ieee_is_infinity(f, a) && ieee_is_infinity(f, b)) ||
        (ieee_is_zero(f, a) && ieee_is_zero(f, b)))
        return ieee_invalid(f, env);
    if (ieee_is_zero(f, b) && !ieee_is_infinity(f, a)) {
        env->flags |= REAL_ZE;
        return ieee_signed(f, sign, ieee_infinity(f));
    }
    ieee_note_denormal(f, env, a);
    ieee_note_denormal(f, env, b);
    if (ieee_is_infinity(f, a))
        return ieee_signed(f, sign, ieee_infinity(f));
    if (ieee_is_infinity(f, b) || ieee_is_zero(f, a))
        return ieee_signed(f, sign, 0);
    return ieee_pack(f, env, real_div(ieee_unpack(f, a), ieee_unpack(f, b)));
}

IEEE_INLINE uint64_t ieee_sqrt(const struct ieee_format *f, struct simd_env *env, uint64_t a)
{
    uint64_t out;

    a = ieee_operand(f, env, a);
    if (ieee_special2(f, env, a, 0, &out))
        return out;
    if (ieee_is_zero(f, a))
        return a;
    if (ieee_sign(f, a))
        return ieee_invalid(f, env);
    if (ieee_is_infinity(f, a))
        return a;
    ieee_note_denormal(f, env, a);
    return ieee_pack(f, env, real_sqrt(ieee_unpack(f, a)));
}

/* -1, 0 or 1 for numbers and infinities: their patterns are in order but for the sign. */
IEEE_INLINE int ieee_order(const struct ieee_format *f, uint64_t a, uint64_t b)
{
    int64_t x = (int64_t)ieee_magnitude(f, a), y = (int64_t)ieee_magnitude(f, b);

    x = ieee_sign(f, a) ? -x : x;
    y = ieee_sign(f, b) ? -y : y;
    return (x > y) - (x < y);
}

/* The second operand, as it is, when there is a NaN or both are zeros (SDM 2B MINPS). */
IEEE_INLINE uint64_t ieee_extreme(const struct ieee_format *f, struct simd_env *env, uint64_t a,
                                  uint64_t b, int wanted)
{
    a = ieee_operand(f, env, a);
    b = ieee_operand(f, env, b);
    if (ieee_is_nan(f, a) || ieee_is_nan(f, b)) {
        env->flags |= REAL_IE;
        return b;
    }
    ieee_note_denormal(f, env, a);
    ieee_note_denormal(f, env, b);
    return ieee_order(f, a, b) == wanted ? a : b;
}

/* ---- by the host -------------------------------------------------------------------------- */

/* The host's arithmetic is IEEE 754's, rounds to nearest and keeps its flags to itself. So it may
 * be used when the guest rounds to nearest with everything masked, without DAZ and FTZ: as long as
 * operands and result are normal, PE is all that can be raised (the smallest normal number is left
 * out: it may have been tiny before rounding). If PE is not set already the result has to be
 * exact, which is shown by arithmetic that is exact itself. A host that evaluates in a wider format
 * is out. */
enum host_use { HOST_NEVER, HOST_EXACT, HOST_ALWAYS };

static inline enum host_use host_may(uint32_t mxcsr)
{
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ == 0
    if ((mxcsr & (0xe000 | MXCSR_MASKS | MXCSR_DAZ)) == MXCSR_MASKS)
        return mxcsr & REAL_PE ? HOST_ALWAYS : HOST_EXACT;
#endif
    (void)mxcsr;
    return HOST_NEVER;
}

static inline bool normal32(uint32_t v)
{
    return (v >> 23 & 0xff) - 1u < 0xfe;
}

static inline bool normal64(uint64_t v)
{
    return (v >> 52 & 0x7ff) - 1u < 0x7fe;
}

static inline bool safe32(uint32_t v)
{
    return (v >> 23 & 0xff) - 2u < 0xfd;
}

static inline bool safe64(uint64_t v)
{
    return (v >> 52 & 0x7ff) - 2u < 0x7fd;
}

/* What rounding took from a sum (Knuth 4.2.2 B): s - a and the rest are exact. */
static inline bool exact_sum64(double a, double b, double s)
{
    double part = s - a;

    return (a - (s - part)) + (b - part) == 0;
}

static inline bool exact_sum32(float a, float b, float s)
{
    float part = s - a;

    return (a - (s - part)) + (b - part) == 0;
}

/* Two significands of together 53 bits at most have a product of 53. */
static inline bool exact_product64(double a, double b, double p)
{
    uint64_t x, y;

    (void)p;
    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    x |= (uint64_t)1 << 52;
    y |= (uint64_t)1 << 52;
    return __builtin_ctzll(x) + __builtin_ctzll(y) >= 53;
}

static inline bool exact_product32(float a, float b, float p)
{
    return (double)a * (double)b == (double)p;
}

#define HOST_BINARY(name, bits, type, operator, exact)                                             \
    static inline bool host_##name##bits(enum host_use use, uint##bits##_t a, uint##bits##_t b,    \
                                         uint##bits##_t *out)                                      \
    {                                                                                              \
        type x, y, z;                                                                              \
                                                                                                   \
        memcpy(&x, &a, sizeof(x));                                                                 \
        memcpy(&y, &b, sizeof(y));                                                                 \
        z = x operator y;                                                                          \
        memcpy(out, &z, sizeof(z));                                                                \
        return normal##bits(a) && normal##bits(b) && safe##bits(*out) &&                           \
               (use == HOST_ALWAYS || (exact));                                                    \
    }

HOST_BINARY(add, 32, float, +, exact_sum32(x, y, z))
HOST_BINARY(sub, 32, float, -, exact_sum32(x, -y, z))
HOST_BINARY(mul, 32, float, *, exact_product32(x, y, z))
HOST_BINARY(div, 32, float, /, false)
HOST_BINARY(add, 64, double, +, exact_sum64(x, y, z))
HOST_BINARY(sub, 64, double, -, exact_sum64(x, -y, z))
HOST_BINARY(mul, 64, double, *, exact_product64(x, y, z))
HOST_BINARY(div, 64, double, /, false)

/* ---- lanes -------------------------------------------------------------------------------- */

/* Out of line, so that the fast path does not carry them along. */
#define IEEE_OUT_OF_LINE(name, expression32, expression64)                                         \
    static __attribute__((noinline))                                                               \
    uint32_t soft_##name##32(struct simd_env * env, uint32_t a, uint32_t b)                        \
    {                                                                                              \
        const struct ieee_format *f = &ieee_single;                                                \
        (void)a;                                                                                   \
        return (uint32_t)(expression32);                                                           \
    }                                                                                              \
    static __attribute__((noinline))                                                               \
    uint64_t soft_##name##64(struct simd_env * env, uint64_t a, uint64_t b)                        \
    {                                                                                              \
        const struct ieee_format *f = &ieee_double;                                                \
        (void)a;                                                                                   \
        return expression64;                                                                       \
    }

#define IEEE_SOFT(name, expression) IEEE_OUT_OF_LINE(name, expression, expression)

IEEE_SOFT(add, ieee_add(f, env, a, b, false))
IEEE_SOFT(sub, ieee_add(f, env, a, b, true))
IEEE_SOFT(mul, ieee_mul(f, env, a, b))
IEEE_SOFT(div, ieee_div(f, env, a, b))
IEEE_SOFT(sqrt, ieee_sqrt(f, env, b))
IEEE_SOFT(min, ieee_extreme(f, env, a, b, -1))
IEEE_SOFT(max, ieee_extreme(f, env, a, b, 1))

static inline bool host_none32(enum host_use use, uint32_t a, uint32_t b, uint32_t *out)
{
    (void)use;
    (void)a;
    (void)b;
    (void)out;
    return false;
}

static inline bool host_none64(enum host_use use, uint64_t a, uint64_t b, uint64_t *out)
{
    (void)use;
    (void)a;
    (void)b;
    (void)out;
    return false;
}

/* One operation on `count` lanes; the others of dst stay. */
#define SSE_LANES(name, suffix, bits, count, host, soft)                                           \
    void sse_##name##suffix(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)    \
    {                                                                                              \
        struct simd_env env = simd_begin(fpu);                                                     \
        enum host_use use = host_may(env.mxcsr);                                                   \
        union xmm out = *dst;                                                                      \
                                                                                                   \
        (void)imm;                                                                                 \
        for (unsigned i = 0; i < (count); i++)                                                     \
            if (!use || !host##bits(use, dst->u##bits[i], src->u##bits[i], &out.u##bits[i]))       \
                out.u##bits[i] = soft##bits(&env, dst->u##bits[i], src->u##bits[i]);               \
        if (env.flags == 0 || simd_finish(fpu, &env))                                              \
            *dst = out;                                                                            \
    }

#define SSE_OPERATION(name, host, soft)                                                            \
    SSE_LANES(name, ps, 32, 4, host, soft)                                                         \
    SSE_LANES(name, pd, 64, 2, host, soft)                                                         \
    SSE_LANES(name, ss, 32, 1, host, soft)                                                         \
    SSE_LANES(name, sd, 64, 1, host, soft)

SSE_OPERATION(add, host_add, soft_add)
SSE_OPERATION(sub, host_sub, soft_sub)
SSE_OPERATION(mul, host_mul, soft_mul)
SSE_OPERATION(div, host_div, soft_div)
SSE_OPERATION(sqrt, host_none, soft_sqrt)
SSE_OPERATION(min, host_none, soft_min)
SSE_OPERATION(max, host_none, soft_max)
