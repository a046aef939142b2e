/* f80_convert.c: between double extended and the formats of memory: single, double, integers of
 * 16, 32 and 64 bits, and packed decimal (SDM 1 8.2, 4.8). */
#include <string.h>

#include "f80.h"

/* ---- from memory -------------------------------------------------------------------------- */

/* A binary format narrower than double extended, its fraction moved to the top of 63 bits. What
 * denormals raise is raised here, since they are none afterwards; NaNs stay as they are. */
static struct f80 f80_widen(struct f80_env *env, bool sign, unsigned exp, unsigned exp_max,
                            uint64_t fraction)
{
    unsigned bias = exp_max >> 1;

    if (exp == exp_max)
        return f80_make(sign, F80_EXP_MAX, F80_TOP_BIT | fraction);
    if (exp)
        return f80_make(sign, exp + F80_BIAS - bias, F80_TOP_BIT | fraction);
    if (!fraction)
        return f80_zero(sign);
    env->status |= X87_DE;
    unsigned shift = count_leading_zeros64(fraction);
    return f80_make(sign, 1 + F80_BIAS - bias - shift, fraction << shift);
}

struct f80 f80_from_f32(struct f80_env *env, uint32_t v)
{
    return f80_widen(env, v >> 31, v >> 23 & 0xff, 0xff, (uint64_t)(v & 0x7fffff) << 40);
}

struct f80 f80_from_f64(struct f80_env *env, uint64_t v)
{
    return f80_widen(env, v >> 63, v >> 52 & 0x7ff, 0x7ff, (v & 0xfffffffffffff) << 11);
}

struct f80 f80_from_i64(int64_t v)
{
    uint64_t magnitude = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    if (!v)
        return f80_zero(false);
    unsigned shift = count_leading_zeros64(magnitude);
    return f80_make(v < 0, F80_BIAS + 63 - shift, magnitude << shift);
}

/* Digits above 9 are undefined; here they count as the numbers they look like. */
struct f80 f80_from_bcd(const uint8_t bytes[10])
{
    uint64_t v = 0;
    struct f80 out;

    for (int i = 8; i >= 0; i--)
        v = v * 100 + (bytes[i] >> 4) * 10u + (bytes[i] & 15);
    out = f80_from_i64((int64_t)v);
    out.sign_exponent |= (uint16_t)((bytes[9] & 0x80) << 8);
    return out;
}

/* ---- to single and double ----------------------------------------------------------------- */

struct narrow {
    struct real_range range;
    unsigned fraction_bits, exp_max;
};

static const struct narrow single = {{24, -126, 127, 0}, 23, 0xff};
static const struct narrow double_ = {{53, -1022, 1023, 0}, 52, 0x7ff};

static uint64_t narrow_make(const struct narrow *to, bool sign, unsigned exp, uint64_t mantissa)
{
    unsigned exp_bits = to->exp_max == 0xff ? 8 : 11;
    uint64_t fraction = mantissa << 1 >> (64 - to->fraction_bits);

    return ((uint64_t)sign << exp_bits | exp) << to->fraction_bits | fraction;
}

static uint64_t f80_narrow(struct f80_env *env, struct f80 v, const struct narrow *to)
{
    bool sign = f80_sign(v);

    switch (f80_classify(v)) {
    case F80_ZERO:
        return narrow_make(to, sign, 0, 0);
    case F80_INFINITY:
        return narrow_make(to, sign, to->exp_max, 0);
    case F80_UNSUPPORTED:
        v = f80_invalid(env);
        return narrow_make(to, true, to->exp_max, v.mantissa);
    case F80_NAN:
        if (f80_is_signaling(v))
            env->status |= X87_IE;
        return narrow_make(to, sign, to->exp_max, v.mantissa | F80_QUIET_BIT);
    default:
        break;
    }
    struct rounded out = real_round(f80_unpack(v), to->range, f80_rc(env), ~(unsigned)env->control);
    env->status |= out.flags;
    if (out.infinite)
        return narrow_make(to, sign, to->exp_max, 0);
    unsigned exp = out.hi & F80_TOP_BIT ? (unsigned)(out.exp + (int)(to->exp_max >> 1)) : 0;
    return narrow_make(to, sign, exp, out.hi);
}

uint32_t f80_to_f32(struct f80_env *env, struct f80 v)
{
    return (uint32_t)f80_narrow(env, v, &single);
}

uint64_t f80_to_f64(struct f80_env *env, struct f80 v)
{
    return f80_narrow(env, v, &double_);
}

/* ---- to integers -------------------------------------------------------------------------- */

/* |v| as an integer, rounded; false for what has no integer of 64 bits. */
static bool f80_whole(struct f80_env *env, struct f80 v, uint64_t *whole)
{
    switch (f80_classify(v)) {
    case F80_ZERO:
        *whole = 0;
        return true;
    case F80_NORMAL:
    case F80_DENORMAL:
        break;
    default:
        return false;
    }
    struct real r = f80_unpack(v);
    if (r.exp > 63)
        return false;

    /* Below 1/2 any fraction does that is below the half. */
    uint32_t shift = (uint32_t)(63 - r.exp);
    uint64_t tail = shift == 0 ? 0 : shift < 64 ? r.hi << (64 - shift) : shift == 64 ? r.hi : 1;
    *whole = shift < 64 ? r.hi >> shift : 0;
    if (tail) {
        bool up = real_rounds_up(f80_rc(env), r.sign, *whole & 1, (u128)tail << 64);
        env->status |= (uint16_t)(X87_PE | (up ? X87_C1 : 0));
        *whole += up; /* cannot wrap: with a fraction there are less than 64 bits of it */
    }
    return true;
}

int64_t f80_to_int(struct f80_env *env, struct f80 v, unsigned bits)
{
    uint64_t whole, limit = (uint64_t)1 << (bits - 1);
    bool sign = f80_sign(v);

    if (!f80_whole(env, v, &whole) || whole > limit - !sign) {
        env->status = (uint16_t)((env->status & ~(X87_PE | X87_C1)) | X87_IE);
        return (int64_t)(0 - limit); /* the integer indefinite */
    }
    return (int64_t)(sign ? 0 - whole : whole);
}

void f80_to_bcd(struct f80_env *env, struct f80 v, uint8_t bytes[10])
{
    static const uint8_t indefinite[10] = {0, 0, 0, 0, 0, 0, 0, 0xc0, 0xff, 0xff};
    uint64_t whole;

    if (!f80_whole(env, v, &whole) || whole > 999999999999999999) {
        env->status = (uint16_t)((env->status & ~(X87_PE | X87_C1)) | X87_IE);
        memcpy(bytes, indefinite, sizeof(indefinite));
        return;
    }
    for (int i = 0; i < 9; i++) {
        unsigned pair = (unsigned)(whole % 100);
        bytes[i] = (uint8_t)(pair / 10 << 4 | pair % 10);
        whole /= 100;
    }
    bytes[9] = f80_sign(v) ? 0x80 : 0;
}
