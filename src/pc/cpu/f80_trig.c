/* f80_trig.c: FSIN, FCOS and FPTAN.
 *
 * The argument is reduced exactly, by multiples of the 66-bit pi that x87 has inside (SDM 1 8.3.8):
 * that pi is an integer over 2^64, so reduction is a remainder of integers and loses nothing. Then
 * a Taylor series in 128 bits on [0, pi/4]. The result is within 0.51 units in the last place of
 * the function reduced with that pi. */
#include "f80.h"
#include "wide.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- reduction ---------------------------------------------------------------------------- */

/* 66 bits of pi; a quarter of pi is this over 2^66. */
static const u128 pi_66 = WIDE(0x3, 0x243f6a8885a308d3);

/* |a| = octant x pi/4 + a rest in (0, pi/4); of an odd octant it is pi/4 minus the rest. */
struct reduced {
    unsigned octant; /* mod 8 */
    struct real rest;
};

/* |a| < 2^63. */
static struct reduced reduce(struct real a)
{
    if (a.exp < -2) {
        a.sign = false;
        return (struct reduced){0, a};
    }
    /* |a| = n / 2^66: in two steps, as n has up to 129 bits. */
    unsigned shift = (unsigned)(a.exp + 3), first = shift > 61 ? 61 : shift;
    u128 n = (u128)a.hi << first;
    u128 quotient = n / pi_66 << (shift - first);
    n = n % pi_66 << (shift - first);
    quotient += n / pi_66;
    n %= pi_66;

    struct reduced out = {(unsigned)quotient & 7, {0}};
    if (out.octant & 1)
        n = pi_66 - n;
    out.rest = real_normalize(false, 127 - 66, n);
    return out;
}

/* ---- series ------------------------------------------------------------------------------- */

/* 1 / (2n + 1)! and 1 / (2n)!, in Q1.127. */
static const u128 sine_terms[] = {
    WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x1555555555555555, 0x5555555555555555),
    WIDE(0x0111111111111111, 0x1111111111111111), WIDE(0x0006806806806806, 0x8068068068068068),
    WIDE(0x0000171de3a556c7, 0x338faac1c88e5001), WIDE(0x00000035cc8acfea, 0x89c71fce8fc97070),
    WIDE(0x000000005849184e, 0xa1b425f28e0cc749), WIDE(0x00000000006b9fcf, 0x9ccee07c476195ac),
    WIDE(0x000000000000654b, 0x1dc0c2b529ac9814), WIDE(0x000000000000004b, 0xd26d1a05055c9328),
    WIDE(0x0000000000000000, 0x2e371dedb9eae318), WIDE(0x0000000000000000, 0x001761b41316381a),
    WIDE(0x0000000000000000, 0x000009f9e66e8b30),
};

static const u128 cosine_terms[] = {
    WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x4000000000000000, 0x0000000000000000),
    WIDE(0x0555555555555555, 0x5555555555555555), WIDE(0x002d82d82d82d82d, 0x82d82d82d82d82d8),
    WIDE(0x0000d00d00d00d00, 0xd00d00d00d00d00d), WIDE(0x0000024fc9f6ef13, 0xeb8e5de02da7d4cd),
    WIDE(0x000000047bb63bfe, 0x3625ed5136a61eb4), WIDE(0x00000000064e5d2a, 0x301f27482eb7c517),
    WIDE(0x000000000006b9fc, 0xf9ccee07c476195b), WIDE(0x00000000000005a0, 0x9e18ee5f65deec01),
    WIDE(0x0000000000000003, 0xca8574804044a0f5), WIDE(0x0000000000000000, 0x0219c72db6ff0a53),
    WIDE(0x0000000000000000, 0x0000f96780cb97ac), WIDE(0x0000000000000000, 0x000000623a17f1a9),
};

/* Of a number in (0, pi/4). Where the square vanishes, the sticky bit and the last place of the
 * factor still say on which side of the argument the sine lies. */
static struct real sine(struct real a)
{
    u128 factor = wide_series(sine_terms, COUNT(sine_terms), wide_square(a), true);

    return wide_scale(a, factor == WIDE_ONE ? WIDE_ONE - 1 : factor);
}

static struct real cosine(struct real a)
{
    u128 value = wide_series(cosine_terms, COUNT(cosine_terms), wide_square(a), true);
    struct real r = real_normalize(false, 0, value == WIDE_ONE ? WIDE_ONE - 1 : value);

    r.lo |= 1;
    return r;
}

/* By octant: sin r, cos r', cos r, sin r', then the same negative. */
static struct real sine_of(struct reduced x)
{
    bool co = ((x.octant + 1) >> 1) & 1;
    struct real r = co ? cosine(x.rest) : sine(x.rest);

    r.sign = x.octant >= 4;
    return r;
}

static struct real cosine_of(struct reduced x)
{
    bool co = !(((x.octant + 1) >> 1) & 1);
    struct real r = co ? cosine(x.rest) : sine(x.rest);

    r.sign = ((x.octant + 2) >> 2) & 1;
    return r;
}

/* ---- instructions ------------------------------------------------------------------------- */

/* Arguments without a series: true with both results, or with *in_range false. */
static bool trivial(struct f80_env *env, struct f80 a, struct f80 *sin, struct f80 *cos,
                    bool *in_range)
{
    *in_range = true;
    if (f80_special(env, a, sin)) {
        *cos = *sin;
        return true;
    }
    if (f80_classify(a) == F80_INFINITY) {
        *sin = *cos = f80_invalid(env);
        return true;
    }
    if (f80_classify(a) == F80_ZERO) {
        *sin = a;
        *cos = f80_make(false, F80_BIAS, F80_TOP_BIT);
        return true;
    }
    if (f80_exp(a) >= F80_BIAS + 63) {
        env->status |= X87_C2;
        *in_range = false;
        return true;
    }
    return false;
}

bool f80_sin_cos(struct f80_env *env, struct f80 a, struct f80 *sin, struct f80 *cos)
{
    struct f80 s, c;
    bool in_range;

    if (!trivial(env, a, &s, &c, &in_range)) {
        struct reduced x = reduce(f80_unpack(a));
        struct real r = sine_of(x);
        r.sign ^= f80_sign(a);
        if (cos)
            c = f80_round_extended(env, cosine_of(x));
        if (sin) { /* C1 tells of this one */
            env->status &= (uint16_t)~X87_C1;
            s = f80_round_extended(env, r);
        }
    }
    if (sin && in_range)
        *sin = s;
    if (cos && in_range)
        *cos = c;
    return in_range;
}

bool f80_tan(struct f80_env *env, struct f80 a, struct f80 *tan)
{
    struct f80 ignored;
    bool in_range;

    if (trivial(env, a, tan, &ignored, &in_range))
        return in_range;
    struct real r = f80_unpack(a);
    if (r.exp < -50) { /* a trifle more than itself */
        r.lo = 1;
        *tan = f80_round_extended(env, r);
        return true;
    }
    struct reduced x = reduce(r);
    r = wide_div(sine_of(x), cosine_of(x));
    r.sign ^= f80_sign(a);
    r.lo |= 1;
    *tan = f80_round_extended(env, r);
    return true;
}
