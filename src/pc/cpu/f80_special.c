/* f80_special.c: the operations that take numbers apart or shift them: remainders, scaling,
 * rounding to an integer, extraction of exponent and significand. None of them is subject to
 * precision control. */
#include "f80.h"

/* ---- FPREM, FPREM1 ------------------------------------------------------------------------ */

/* u x 2^shift mod b, both significands; shift < 64. Only the low bits of *quotient are right. */
static uint64_t remainder_step(uint64_t u, unsigned shift, uint64_t b, uint64_t *quotient)
{
    uint64_t rest, q = u >= b;

    u -= q ? b : 0;
    *quotient = q;
    if (shift == 0)
        return u;
    *quotient = (q << shift) + divide_128_by_64(u >> (64 - shift), u << shift, b, &rest);
    return rest;
}

static struct f80 remainder_pack(struct f80_env *env, bool sign, int32_t exp, u128 rest)
{
    if (rest == 0)
        return f80_zero(sign);
    return f80_round_extended(env, real_normalize(sign, exp, rest));
}

/* The three lowest bits of the quotient go to C0 C3 C1 (SDM 2A FPREM). */
static uint16_t remainder_condition(uint64_t quotient)
{
    return (uint16_t)((quotient & 4 ? X87_C0 : 0) | (quotient & 2 ? X87_C3 : 0) |
                      (quotient & 1 ? X87_C1 : 0));
}

static struct f80 remainder_finite(struct f80_env *env, struct f80 a, struct f80 b, bool nearest)
{
    struct real x = f80_unpack(a), y = f80_unpack(b);
    int32_t distance = x.exp - y.exp;
    uint64_t quotient;

    if (distance < -1 || (distance == -1 && (!nearest || x.hi <= y.hi)))
        return f80_round_extended(env, x);
    if (distance == -1) { /* more than half: the quotient is 1 */
        env->status |= X87_C1;
        return remainder_pack(env, !x.sign, y.exp, ((u128)y.hi << 64) - ((u128)x.hi << 63));
    }
    if (distance >= 64) { /* a step that takes off 32 to 63 bits */
        unsigned bits = ((unsigned)distance & 31) | 32;
        uint64_t rest = remainder_step(x.hi, bits, y.hi, &quotient);
        env->status |= X87_C2;
        return remainder_pack(env, x.sign, x.exp - (int32_t)bits, (u128)rest << 64);
    }
    uint64_t rest = remainder_step(x.hi, (unsigned)distance, y.hi, &quotient);
    if (nearest && (rest > y.hi - rest || (rest == y.hi - rest && (quotient & 1)))) {
        rest = y.hi - rest;
        x.sign = !x.sign;
        quotient++;
    }
    env->status |= remainder_condition(quotient);
    return remainder_pack(env, rest ? x.sign : f80_sign(a), y.exp, (u128)rest << 64);
}

struct f80 f80_remainder(struct f80_env *env, struct f80 a, struct f80 b, bool nearest)
{
    struct f80 out;

    if (f80_special2(env, a, b, &out))
        return out;
    if (f80_classify(a) == F80_INFINITY || f80_classify(b) == F80_ZERO) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    if (f80_classify(a) == F80_ZERO)
        return a;
    if (f80_classify(b) == F80_INFINITY)
        return f80_round_extended(env, f80_unpack(a));
    return remainder_finite(env, a, b, nearest);
}

/* ---- FSCALE ------------------------------------------------------------------------------- */

/* b cut to an integer, at most 2^16 either way: past any exponent there is. */
static int32_t scale_distance(struct f80 b)
{
    struct real r;

    if (f80_classify(b) == F80_ZERO)
        return 0;
    r = f80_unpack(b);
    if (r.exp < 0)
        return 0;
    int32_t distance = r.exp >= 16 ? 1 << 16 : (int32_t)(r.hi >> (63 - r.exp));
    return r.sign ? -distance : distance;
}

static struct f80 scale_infinite(struct f80_env *env, struct f80 a, struct f80 b)
{
    if (f80_classify(b) != F80_INFINITY)
        return a;
    if (f80_sign(b)) {
        if (f80_classify(a) == F80_INFINITY)
            return f80_invalid(env);
        return f80_zero(f80_sign(a));
    }
    if (f80_classify(a) == F80_ZERO)
        return f80_invalid(env);
    return f80_infinity(f80_sign(a));
}

struct f80 f80_scale(struct f80_env *env, struct f80 a, struct f80 b)
{
    struct f80 out;

    if (f80_special2(env, a, b, &out))
        return out;
    if (f80_classify(a) == F80_INFINITY || f80_classify(b) == F80_INFINITY)
        return scale_infinite(env, a, b);
    if (f80_classify(a) == F80_ZERO)
        return a;
    struct real r = f80_unpack(a);
    r.exp += scale_distance(b);

    /* So far out that the exponent of an unmasked exception cannot hold it (SDM 1 8.5.4, 8.5.5). */
    if (r.exp > F80_BIAS + 24576 && !(env->control & X87_OE)) {
        env->status |= X87_OE | X87_PE | X87_C1;
        return f80_infinity(r.sign);
    }
    if (r.exp < 1 - F80_BIAS - 24576 && !(env->control & X87_UE)) {
        env->status |= X87_UE | X87_PE;
        return f80_zero(r.sign);
    }
    return f80_round_extended(env, r);
}

/* ---- FRNDINT, FXTRACT --------------------------------------------------------------------- */

struct f80 f80_round_to_integer(struct f80_env *env, struct f80 a)
{
    struct f80 out;

    if (f80_special(env, a, &out))
        return out;
    if (f80_classify(a) == F80_ZERO || f80_classify(a) == F80_INFINITY)
        return a;
    struct real r = f80_unpack(a);
    if (r.exp >= 63)
        return a;

    u128 v = shift_right_sticky((u128)r.hi << 64, (uint32_t)(63 - r.exp));
    uint64_t whole = (uint64_t)(v >> 64);
    u128 tail = v << 64;
    if (tail) {
        bool up = real_rounds_up(f80_rc(env), r.sign, whole & 1, tail);
        env->status |= (uint16_t)(X87_PE | (up ? X87_C1 : 0));
        whole += up;
    }
    if (whole == 0)
        return f80_zero(r.sign);
    return f80_round_extended(env, real_from_u64(r.sign, whole));
}

struct f80 f80_extract(struct f80_env *env, struct f80 a, struct f80 *exponent)
{
    struct f80 out;

    if (f80_special(env, a, &out)) {
        *exponent = out;
        return out;
    }
    if (f80_classify(a) == F80_ZERO) {
        env->status |= X87_ZE;
        *exponent = f80_infinity(true);
        return a;
    }
    if (f80_classify(a) == F80_INFINITY) {
        *exponent = f80_infinity(false);
        return a;
    }
    struct real r = f80_unpack(a);
    *exponent = f80_from_i64(r.exp);
    return f80_make(r.sign, F80_BIAS, r.hi);
}
