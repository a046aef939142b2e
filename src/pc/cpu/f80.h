/* f80.h: arithmetic on double extended numbers, as x87 does it, without the register stack.
 *
 * Each operation takes the control word in its environment and adds to it the status bits it
 * raised: exceptions and C1. What an unmasked exception forbids to store is the caller's to
 * drop: f80_blocked() says. */
#ifndef HALTER_PC_CPU_F80_H
#define HALTER_PC_CPU_F80_H

#include "fpu.h"
#include "real.h"

struct f80_env {
    uint16_t control;
    uint16_t status; /* bits to be or-ed into the status word; C1 is part of it */
};

enum {
    X87_EXCEPTIONS = 0x3f,
    X87_BEFORE = X87_IE | X87_DE | X87_ZE, /* detected before the operation: it is not done */
    X87_CONDITION = X87_C0 | X87_C1 | X87_C2 | X87_C3
};

enum { F80_BIAS = 16383, F80_EXP_MAX = 0x7fff };
#define F80_TOP_BIT   ((uint64_t)1 << 63)
#define F80_QUIET_BIT ((uint64_t)1 << 62)

/* Unsupported: what the 8087 once accepted (unnormals, pseudo-NaNs, pseudo-infinities). */
enum f80_class {
    F80_ZERO,
    F80_DENORMAL, /* and pseudo-denormals: an integer bit at the lowest exponent */
    F80_NORMAL,
    F80_INFINITY,
    F80_NAN,
    F80_UNSUPPORTED
};

static inline unsigned f80_exp(struct f80 v)
{
    return v.sign_exponent & 0x7fffu;
}

static inline bool f80_sign(struct f80 v)
{
    return v.sign_exponent >> 15;
}

static inline struct f80 f80_make(bool sign, unsigned exp, uint64_t mantissa)
{
    return (struct f80){mantissa, (uint16_t)((unsigned)sign << 15 | exp)};
}

static inline struct f80 f80_zero(bool sign)
{
    return f80_make(sign, 0, 0);
}

static inline struct f80 f80_infinity(bool sign)
{
    return f80_make(sign, F80_EXP_MAX, F80_TOP_BIT);
}

/* The default NaN, "real indefinite" (SDM 1 4.8.3.7). */
static inline struct f80 f80_indefinite(void)
{
    return f80_make(true, F80_EXP_MAX, F80_TOP_BIT | F80_QUIET_BIT);
}

static inline enum f80_class f80_classify(struct f80 v)
{
    unsigned exp = f80_exp(v);

    if (exp == 0)
        return v.mantissa ? F80_DENORMAL : F80_ZERO;
    if (!(v.mantissa & F80_TOP_BIT))
        return F80_UNSUPPORTED;
    if (exp < F80_EXP_MAX)
        return F80_NORMAL;
    return v.mantissa << 1 ? F80_NAN : F80_INFINITY;
}

static inline bool f80_is_signaling(struct f80 v)
{
    return f80_classify(v) == F80_NAN && !(v.mantissa & F80_QUIET_BIT);
}

/* Of a normal or denormal number. */
static inline struct real f80_unpack(struct f80 v)
{
    int32_t exp = (int32_t)f80_exp(v);
    unsigned shift = count_leading_zeros64(v.mantissa);

    return (struct real){v.mantissa << shift, 0, (exp ? exp : 1) - F80_BIAS - (int32_t)shift,
                         f80_sign(v)};
}

/* An exception that is detected before the operation and unmasked: nothing may change. */
static inline bool f80_blocked(const struct f80_env *env)
{
    return (env->status & ~env->control & X87_BEFORE) != 0;
}

static inline unsigned f80_rc(const struct f80_env *env)
{
    return env->control >> 10 & 3;
}

/* Rounds to the precision the control word asks for, or to all 64 bits. */
struct f80 f80_round(struct f80_env *env, struct real r);
struct f80 f80_round_extended(struct f80_env *env, struct real r);

/* For operations on one or two values: when one of them is a NaN or unsupported, true, with the
 * result in *out; else a denormal raises DE. */
bool f80_special(struct f80_env *env, struct f80 a, struct f80 *out);
bool f80_special2(struct f80_env *env, struct f80 a, struct f80 b, struct f80 *out);
struct f80 f80_invalid(struct f80_env *env);

struct f80 f80_add(struct f80_env *env, struct f80 a, struct f80 b);
struct f80 f80_sub(struct f80_env *env, struct f80 a, struct f80 b);
struct f80 f80_mul(struct f80_env *env, struct f80 a, struct f80 b);
struct f80 f80_div(struct f80_env *env, struct f80 a, struct f80 b);
struct f80 f80_sqrt(struct f80_env *env, struct f80 a);

/* The condition bits of FCOM: 0 for a > b, C0 for <, C3 for =, all three when unordered. */
uint16_t f80_compare(struct f80_env *env, struct f80 a, struct f80 b, bool quiet);
uint16_t f80_examine(struct f80 a); /* C3 C2 C1 C0 of FXAM for a register in use */

/* f80_special.c. The remainders add C0 C2 C3 C1 to the status. */
struct f80 f80_remainder(struct f80_env *env, struct f80 a, struct f80 b, bool nearest);
struct f80 f80_scale(struct f80_env *env, struct f80 a, struct f80 b);
struct f80 f80_round_to_integer(struct f80_env *env, struct f80 a);
struct f80 f80_extract(struct f80_env *env, struct f80 a, struct f80 *exponent);

/* f80_convert.c. To memory: false when an unmasked exception says not to write. */
struct f80 f80_from_f32(struct f80_env *env, uint32_t v);
struct f80 f80_from_f64(struct f80_env *env, uint64_t v);
struct f80 f80_from_i64(int64_t v);
struct f80 f80_from_bcd(const uint8_t bytes[10]);
uint32_t f80_to_f32(struct f80_env *env, struct f80 v);
uint64_t f80_to_f64(struct f80_env *env, struct f80 v);
int64_t f80_to_int(struct f80_env *env, struct f80 v, unsigned bits);
void f80_to_bcd(struct f80_env *env, struct f80 v, uint8_t bytes[10]);

/* f80_trig.c, f80_log.c: within 1 ulp, see docs/fidelity.md. */
struct f80 f80_2xm1(struct f80_env *env, struct f80 a);
struct f80 f80_yl2x(struct f80_env *env, struct f80 x, struct f80 y);
struct f80 f80_yl2xp1(struct f80_env *env, struct f80 x, struct f80 y);
struct f80 f80_atan(struct f80_env *env, struct f80 y, struct f80 x);

/* False, with C2 set, when |a| >= 2^63: the caller leaves the stack alone. */
bool f80_sin_cos(struct f80_env *env, struct f80 a, struct f80 *sin, struct f80 *cos);
bool f80_tan(struct f80_env *env, struct f80 a, struct f80 *tan);

#endif
