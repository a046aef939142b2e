/* f80_log.c: F2XM1, FYL2X and FYL2XP1.
 *
 * Logarithms by the series of the inverse hyperbolic tangent, which keeps its relative precision
 * next to 1; the exponential by its Taylor series, which does so next to 0. In 128 bits: the result
 * is within 0.51 units in the last place. */
#include "f80.h"
#include "wide.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct real ln_2 = {0xb17217f7d1cf79ab, 0xc9e3b39803f2f6af, -1, false};
static const struct real two_over_ln_2 = {0xb8aa3b295c17f0bb, 0xbe87fed0691d3e89, 1, false};

/* ---- exponential -------------------------------------------------------------------------- */

/* 1 / (n + 1)!, in Q1.127. */
static const u128 exponential_terms[] = {
    WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x4000000000000000, 0x0000000000000000),
    WIDE(0x1555555555555555, 0x5555555555555555), WIDE(0x0555555555555555, 0x5555555555555555),
    WIDE(0x0111111111111111, 0x1111111111111111), WIDE(0x002d82d82d82d82d, 0x82d82d82d82d82d8),
    WIDE(0x0006806806806806, 0x8068068068068068), WIDE(0x0000d00d00d00d00, 0xd00d00d00d00d00d),
    WIDE(0x0000171de3a556c7, 0x338faac1c88e5001), WIDE(0x0000024fc9f6ef13, 0xeb8e5de02da7d4cd),
    WIDE(0x00000035cc8acfea, 0x89c71fce8fc97070), WIDE(0x000000047bb63bfe, 0x3625ed5136a61eb4),
    WIDE(0x000000005849184e, 0xa1b425f28e0cc749), WIDE(0x00000000064e5d2a, 0x301f27482eb7c517),
    WIDE(0x00000000006b9fcf, 0x9ccee07c476195ac), WIDE(0x000000000006b9fc, 0xf9ccee07c476195b),
    WIDE(0x000000000000654b, 0x1dc0c2b529ac9814), WIDE(0x00000000000005a0, 0x9e18ee5f65deec01),
    WIDE(0x000000000000004b, 0xd26d1a05055c9328), WIDE(0x0000000000000003, 0xca8574804044a0f5),
    WIDE(0x0000000000000000, 0x2e371dedb9eae318), WIDE(0x0000000000000000, 0x0219c72db6ff0a53),
    WIDE(0x0000000000000000, 0x001761b41316381a), WIDE(0x0000000000000000, 0x0000f96780cb97ac),
    WIDE(0x0000000000000000, 0x000009f9e66e8b30),
};

struct f80 f80_2xm1(struct f80_env *env, struct f80 a)
{
    struct f80 out;

    if (f80_special(env, a, &out))
        return out;
    if (f80_classify(a) == F80_ZERO)
        return a;
    if (f80_classify(a) == F80_INFINITY)
        return f80_sign(a) ? f80_make(true, F80_BIAS, F80_TOP_BIT) : a;
    struct real x = f80_unpack(a);
    env->status |= X87_PE; /* the processor says so of exact results too */
    if (x.exp > 0 || (x.exp == 0 && x.hi != F80_TOP_BIT))
        return a; /* beyond 1 the result is undefined, and this is what it gives */
    if (x.exp == 0)
        return x.sign ? f80_make(true, F80_BIAS - 1, F80_TOP_BIT) : a;

    struct real t = wide_mul(x, ln_2);
    u128 factor =
        wide_series(exponential_terms, COUNT(exponential_terms), wide_fraction(t), x.sign);
    return f80_round_extended(env, wide_scale(t, factor));
}

/* ---- logarithms --------------------------------------------------------------------------- */

/* 1 / (2n + 1), in Q1.127. */
static const u128 odd_reciprocals[] = {
    WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x2aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaab),
    WIDE(0x1999999999999999, 0x999999999999999a), WIDE(0x1249249249249249, 0x2492492492492492),
    WIDE(0x0e38e38e38e38e38, 0xe38e38e38e38e38e), WIDE(0x0ba2e8ba2e8ba2e8, 0xba2e8ba2e8ba2e8c),
    WIDE(0x09d89d89d89d89d8, 0x9d89d89d89d89d8a), WIDE(0x0888888888888888, 0x8888888888888889),
    WIDE(0x0787878787878787, 0x8787878787878788), WIDE(0x06bca1af286bca1a, 0xf286bca1af286bca),
    WIDE(0x0618618618618618, 0x6186186186186186), WIDE(0x0590b21642c8590b, 0x21642c8590b21643),
    WIDE(0x051eb851eb851eb8, 0x51eb851eb851eb85), WIDE(0x04bda12f684bda12, 0xf684bda12f684bda),
    WIDE(0x0469ee58469ee584, 0x69ee58469ee5846a), WIDE(0x0421084210842108, 0x4210842108421084),
    WIDE(0x03e0f83e0f83e0f8, 0x3e0f83e0f83e0f84), WIDE(0x03a83a83a83a83a8, 0x3a83a83a83a83a84),
    WIDE(0x03759f22983759f2, 0x2983759f2298375a),
};

/* log2((1 + s) / (1 - s)), |s| < 0.172. */
static struct real log2_of_ratio(struct real s)
{
    u128 factor = wide_series(odd_reciprocals, COUNT(odd_reciprocals), wide_square(s), false);

    return wide_mul(wide_scale(s, factor), two_over_ln_2);
}

/* Of a positive number other than a power of two. */
static struct real log2_of(struct real x)
{
    /* x = m 2^exp with m from 0.7 to 1.4, and s = (m - 1) / (m + 1). */
    bool upper = x.hi > 0xb504f333f9de6484;
    int32_t exp = x.exp + upper;
    u128 m = real_significand(x) >> (upper ? 3 : 2), unit = (u128)1 << 125;
    bool below = m < unit;
    struct real s = wide_div(real_normalize(below, 127, below ? unit - m : m - unit),
                             real_normalize(false, 127, m + unit));
    struct real r = log2_of_ratio(s);
    if (exp == 0)
        return r;

    /* In Q15.113; the sum is at least 1/2. */
    u128 fraction = wide_fraction(r) >> 15;
    u128 whole = (u128)(uint32_t)(exp < 0 ? -exp : exp) << 113;
    whole = (exp < 0) == r.sign ? whole + fraction : whole - fraction;
    return real_normalize(exp < 0, 14, whole);
}

/* 1 + x for 1/4 <= |x|, x > -1. Above 2^60 what is lost does not matter. */
static struct real one_plus(struct real x)
{
    if (x.exp > 60)
        return x;
    u128 v = (u128)x.hi << (x.exp + 2), one = (u128)1 << 65;
    return real_normalize(false, 127 - 65, x.sign ? one - v : one + v);
}

/* y times a logarithm that is not exact. */
static struct f80 times(struct f80_env *env, struct f80 y, struct real log)
{
    struct real r = wide_mul(f80_unpack(y), log);

    r.lo |= 1;
    return f80_round_extended(env, r);
}

/* y log2(x); of a power of two it is exact, but for the rounding of the product. PE all the same.
 */
static struct f80 log_product(struct f80_env *env, struct f80 y, struct real x)
{
    struct f80 out;

    if (x.hi != F80_TOP_BIT || x.lo)
        return times(env, y, log2_of(x));
    env->status |= X87_PE;
    out = f80_round_extended(env, real_mul(f80_unpack(y), f80_unpack(f80_from_i64(x.exp))));
    if (f80_exp(out) == 0)
        env->status |= X87_UE;
    return out;
}

/* y times an infinite or zero logarithm, or an infinite y. */
static struct f80 times_special(struct f80_env *env, struct f80 y, struct f80 log)
{
    bool sign = f80_sign(y) != f80_sign(log);
    bool zero = f80_classify(y) == F80_ZERO || f80_classify(log) == F80_ZERO;
    bool infinite = f80_classify(y) == F80_INFINITY || f80_classify(log) == F80_INFINITY;

    if (zero && infinite) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    return infinite ? f80_infinity(sign) : f80_zero(sign);
}

struct f80 f80_yl2x(struct f80_env *env, struct f80 x, struct f80 y)
{
    struct f80 out;

    if (f80_special2(env, x, y, &out))
        return out;
    if (f80_classify(x) == F80_ZERO) {
        if (f80_classify(y) != F80_ZERO && f80_classify(y) != F80_INFINITY)
            env->status = X87_ZE;
        return times_special(env, y, f80_infinity(true));
    }
    if (f80_sign(x)) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    if (f80_classify(x) == F80_INFINITY)
        return times_special(env, y, x);

    struct real r = f80_unpack(x);
    if (r.hi == F80_TOP_BIT && r.exp == 0)
        return times_special(env, y, f80_zero(false));
    if (f80_classify(y) == F80_ZERO || f80_classify(y) == F80_INFINITY)
        return times_special(env, y, f80_make(r.exp < 0, F80_BIAS, F80_TOP_BIT));
    return log_product(env, y, r);
}

struct f80 f80_yl2xp1(struct f80_env *env, struct f80 x, struct f80 y)
{
    struct f80 out;

    if (f80_special2(env, x, y, &out))
        return out;
    if (f80_classify(x) == F80_INFINITY && f80_sign(x)) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    if (f80_classify(x) == F80_ZERO || f80_classify(x) == F80_INFINITY ||
        f80_classify(y) == F80_ZERO || f80_classify(y) == F80_INFINITY)
        return times_special(env, y, x);

    struct real r = f80_unpack(x);
    if (r.exp >= 0 && r.sign) {
        env->status |= X87_PE; /* the logarithm of a negative number: undefined, as F2XM1 above */
        return x;
    }
    if (r.exp >= -2) /* 1 + x is exact in 128 bits */
        return log_product(env, y, one_plus(r));

    /* s = x / (2 + x); the divisor in Q3.125 */
    u128 small = wide_fraction(r) >> 3, base = (u128)1 << 126;
    struct real s = wide_div(r, real_normalize(false, 2, r.sign ? base - small : base + small));
    return times(env, y, log2_of_ratio(s));
}
