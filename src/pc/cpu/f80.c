/* f80.c: addition, multiplication, division, square root and comparison of double extended
 * numbers: which operands are special, and what x87 then answers (SDM 1 8.5, 4.8.3.5). */
#include "f80.h"

/* ---- rounding ----------------------------------------------------------------------------- */

static const struct real_range f80_ranges[4] = {
    {24, 1 - F80_BIAS, F80_BIAS, 24576},
    {64, 1 - F80_BIAS, F80_BIAS, 24576}, /* reserved; acts as extended */
    {53, 1 - F80_BIAS, F80_BIAS, 24576},
    {64, 1 - F80_BIAS, F80_BIAS, 24576},
};

static struct f80 f80_pack(struct f80_env *env, struct real r, const struct real_range *range)
{
    unsigned unmasked = ~(unsigned)env->control;
    struct rounded out = real_round(r, *range, f80_rc(env), unmasked);

    env->status |= out.flags;
    if (out.infinite)
        return f80_infinity(r.sign);
    if (!(out.hi & F80_TOP_BIT))
        return f80_make(r.sign, 0, out.hi);
    return f80_make(r.sign, (unsigned)(out.exp + F80_BIAS), out.hi);
}

/* The common case: 64 bits to nearest, far from both ends of the range. */
static inline bool f80_pack_fast(struct f80_env *env, struct real r, struct f80 *out)
{
    unsigned exp = (unsigned)(r.exp + F80_BIAS);

    if (f80_rc(env) != RC_NEAREST || exp - 2 > F80_EXP_MAX - 4)
        return false;
    if (r.lo) {
        bool up = r.lo > F80_TOP_BIT || (r.lo == F80_TOP_BIT && (r.hi & 1));

        env->status |= (uint16_t)(X87_PE | (up ? X87_C1 : 0));
        r.hi += up;
        if (r.hi == 0) {
            r.hi = F80_TOP_BIT;
            exp++;
        }
    }
    *out = f80_make(r.sign, exp, r.hi);
    return true;
}

struct f80 f80_round(struct f80_env *env, struct real r)
{
    struct f80 out;

    if ((env->control & 0x300) == 0x300 && f80_pack_fast(env, r, &out))
        return out;
    return f80_pack(env, r, &f80_ranges[env->control >> 8 & 3]);
}

struct f80 f80_round_extended(struct f80_env *env, struct real r)
{
    struct f80 out;

    if (f80_pack_fast(env, r, &out))
        return out;
    return f80_pack(env, r, &f80_ranges[3]);
}

/* ---- special operands --------------------------------------------------------------------- */

struct f80 f80_invalid(struct f80_env *env)
{
    env->status |= X87_IE;
    return f80_indefinite();
}

static struct f80 f80_quiet(struct f80 v)
{
    v.mantissa |= F80_QUIET_BIT;
    return v;
}

/* SDM 1 table 4-7, the column of x87: a quiet NaN beats a signaling one, then the larger
 * significand wins, then the positive sign. */
static struct f80 f80_choose_nan(struct f80_env *env, struct f80 a, struct f80 b)
{
    bool nan_a = f80_classify(a) == F80_NAN, nan_b = f80_classify(b) == F80_NAN;
    bool signaling_a = f80_is_signaling(a), signaling_b = f80_is_signaling(b);

    if (signaling_a || signaling_b)
        env->status |= X87_IE;
    if (!nan_b)
        return f80_quiet(a);
    if (!nan_a)
        return f80_quiet(b);
    if (signaling_a != signaling_b)
        return signaling_a ? b : a;
    if (a.mantissa != b.mantissa)
        return f80_quiet(a.mantissa > b.mantissa ? a : b);
    return f80_quiet(f80_sign(a) ? b : a);
}

bool f80_special(struct f80_env *env, struct f80 a, struct f80 *out)
{
    switch (f80_classify(a)) {
    case F80_UNSUPPORTED:
        *out = f80_invalid(env);
        return true;
    case F80_NAN:
        *out = f80_choose_nan(env, a, f80_zero(false));
        return true;
    case F80_DENORMAL:
        env->status |= X87_DE;
        return false;
    default:
        return false;
    }
}

bool f80_special2(struct f80_env *env, struct f80 a, struct f80 b, struct f80 *out)
{
    enum f80_class class_a = f80_classify(a), class_b = f80_classify(b);

    if (class_a == F80_UNSUPPORTED || class_b == F80_UNSUPPORTED) {
        *out = f80_invalid(env);
        return true;
    }
    if (class_a == F80_NAN || class_b == F80_NAN) {
        *out = f80_choose_nan(env, a, b);
        return true;
    }
    if (class_a == F80_DENORMAL || class_b == F80_DENORMAL)
        env->status |= X87_DE;
    return false;
}

/* ---- the four operations ------------------------------------------------------------------ */

static inline bool f80_both_normal(struct f80 a, struct f80 b)
{
    return f80_exp(a) - 1 < F80_EXP_MAX - 1 && f80_exp(b) - 1 < F80_EXP_MAX - 1 &&
           (a.mantissa & b.mantissa & F80_TOP_BIT);
}

/* Sums and differences: an infinity or a zero among the operands, b's sign already applied. */
static struct f80 f80_add_special(struct f80_env *env, struct f80 a, struct f80 b)
{
    enum f80_class class_a = f80_classify(a), class_b = f80_classify(b);

    if (class_a == F80_INFINITY && class_b == F80_INFINITY && f80_sign(a) != f80_sign(b)) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    if (class_a == F80_INFINITY)
        return a;
    if (class_b == F80_INFINITY)
        return b;
    if (class_a == F80_ZERO && class_b == F80_ZERO)
        return f80_zero(f80_sign(a) == f80_sign(b) ? f80_sign(a) : f80_rc(env) == RC_DOWN);
    return f80_round(env, f80_unpack(class_a == F80_ZERO ? b : a));
}

static struct f80 f80_add_signed(struct f80_env *env, struct f80 a, struct f80 b, bool negate)
{
    struct f80 out;

    if (!f80_both_normal(a, b)) {
        if (f80_special2(env, a, b, &out))
            return out;
        b.sign_exponent ^= (uint16_t)(negate << 15);
        enum f80_class class_a = f80_classify(a), class_b = f80_classify(b);
        if (class_a == F80_INFINITY || class_b == F80_INFINITY || class_a == F80_ZERO ||
            class_b == F80_ZERO)
            return f80_add_special(env, a, b);
    } else {
        b.sign_exponent ^= (uint16_t)(negate << 15);
    }
    struct real r = real_add(f80_unpack(a), f80_unpack(b));
    if (r.hi == 0)
        return f80_zero(f80_rc(env) == RC_DOWN);
    return f80_round(env, r);
}

struct f80 f80_add(struct f80_env *env, struct f80 a, struct f80 b)
{
    return f80_add_signed(env, a, b, false);
}

struct f80 f80_sub(struct f80_env *env, struct f80 a, struct f80 b)
{
    return f80_add_signed(env, a, b, true);
}

struct f80 f80_mul(struct f80_env *env, struct f80 a, struct f80 b)
{
    bool sign = f80_sign(a) != f80_sign(b);
    struct f80 out;

    if (!f80_both_normal(a, b)) {
        if (f80_special2(env, a, b, &out))
            return out;
        enum f80_class class_a = f80_classify(a), class_b = f80_classify(b);
        bool infinity = class_a == F80_INFINITY || class_b == F80_INFINITY;
        bool zero = class_a == F80_ZERO || class_b == F80_ZERO;
        if (infinity && zero)
            return f80_invalid(env);
        if (infinity)
            return f80_infinity(sign);
        if (zero)
            return f80_zero(sign);
    }
    return f80_round(env, real_mul(f80_unpack(a), f80_unpack(b)));
}

struct f80 f80_div(struct f80_env *env, struct f80 a, struct f80 b)
{
    bool sign = f80_sign(a) != f80_sign(b);
    struct f80 out;

    if (!f80_both_normal(a, b)) {
        if (f80_special2(env, a, b, &out))
            return out;
        enum f80_class class_a = f80_classify(a), class_b = f80_classify(b);
        if (class_a == class_b && (class_a == F80_INFINITY || class_a == F80_ZERO))
            return f80_invalid(env);
        if (class_a == F80_INFINITY)
            return f80_infinity(sign);
        if (class_b == F80_INFINITY || class_a == F80_ZERO)
            return f80_zero(sign);
        if (class_b == F80_ZERO) { /* of a denormal too: then this is all it raises */
            env->status = X87_ZE;
            return f80_infinity(sign);
        }
    }
    return f80_round(env, real_div(f80_unpack(a), f80_unpack(b)));
}

struct f80 f80_sqrt(struct f80_env *env, struct f80 a)
{
    struct f80 out;

    if (f80_special(env, a, &out))
        return out;
    enum f80_class class = f80_classify(a);
    if (class == F80_ZERO)
        return a;
    if (f80_sign(a)) {
        env->status &= (uint16_t)~X87_DE;
        return f80_invalid(env);
    }
    if (class == F80_INFINITY)
        return a;
    return f80_round(env, real_sqrt(f80_unpack(a)));
}

/* ---- comparison --------------------------------------------------------------------------- */

/* -1, 0, 1 for numbers and infinities. */
static int f80_order(struct f80 a, struct f80 b)
{
    bool zero_a = f80_classify(a) == F80_ZERO, zero_b = f80_classify(b) == F80_ZERO;

    if (zero_a && zero_b)
        return 0;
    if (f80_sign(a) != f80_sign(b))
        return f80_sign(a) ? -1 : 1;

    /* A pseudo-denormal has the value of exponent 1. */
    unsigned exp_a = f80_exp(a) ? f80_exp(a) : 1, exp_b = f80_exp(b) ? f80_exp(b) : 1;
    int order = exp_a != exp_b ? (exp_a < exp_b ? -1 : 1)
                               : (a.mantissa > b.mantissa) - (a.mantissa < b.mantissa);
    if (zero_a || zero_b)
        order = zero_a ? -1 : 1;
    return f80_sign(a) ? -order : order;
}

uint16_t f80_compare(struct f80_env *env, struct f80 a, struct f80 b, bool quiet)
{
    struct f80 ignored;

    if (f80_special2(env, a, b, &ignored)) {
        if (!quiet)
            env->status |= X87_IE;
        return X87_C3 | X87_C2 | X87_C0;
    }
    int order = f80_order(a, b);
    return order < 0 ? X87_C0 : order == 0 ? X87_C3 : 0;
}

uint16_t f80_examine(struct f80 a)
{
    static const uint16_t condition[] = {
        [F80_ZERO] = X87_C3,   [F80_DENORMAL] = X87_C3 | X87_C2,
        [F80_NORMAL] = X87_C2, [F80_INFINITY] = X87_C2 | X87_C0,
        [F80_NAN] = X87_C0,    [F80_UNSUPPORTED] = 0,
    };
    return (uint16_t)(condition[f80_classify(a)] | (f80_sign(a) ? X87_C1 : 0));
}
