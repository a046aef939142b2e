/* x87_functions.c: the register forms of D9 E0-FF that are functions of ST(0), or of ST(0) and
 * ST(1), and the constants: the operands checked and the results put back; the functions are
 * f80*.c's. */
#include "x87.h"

#include <stddef.h>

/* ---- constants ---------------------------------------------------------------------------- */

/* The 64 bits below the constant and whether the rest is more than half of the last place. */
struct constant {
    uint64_t mantissa;
    uint16_t exp;
    bool high;
};

static uint32_t load_constant(struct fpu *fpu, struct constant c, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    unsigned rc = f80_rc(&env);

    if (rc == RC_UP || (rc == RC_NEAREST && c.high))
        c.mantissa++;
    x87_finish_push(fpu, &env, f80_make(false, c.exp, c.mantissa));
    return eflags;
}

#define X87_CONSTANT(name, exp, mantissa, high)                                                    \
    uint32_t name(struct fpu *fpu, unsigned i, uint32_t eflags)                                    \
    {                                                                                              \
        (void)i;                                                                                   \
        return load_constant(fpu, (struct constant){mantissa, exp, high}, eflags);                 \
    }

X87_CONSTANT(x87_fldl2t, 0x4000, 0xd49a784bcd1b8afe, false)
X87_CONSTANT(x87_fldl2e, 0x3fff, 0xb8aa3b295c17f0bb, true)
X87_CONSTANT(x87_fldpi, 0x4000, 0xc90fdaa22168c234, true)
X87_CONSTANT(x87_fldlg2, 0x3ffd, 0x9a209a84fbcff798, true)
X87_CONSTANT(x87_fldln2, 0x3ffe, 0xb17217f7d1cf79ab, true)

uint32_t x87_fld1(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);

    (void)i;
    x87_finish_push(fpu, &env, f80_make(false, F80_BIAS, F80_TOP_BIT));
    return eflags;
}

uint32_t x87_fldz(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);

    (void)i;
    x87_finish_push(fpu, &env, f80_zero(false));
    return eflags;
}

/* ---- one operand, in ST(0) ---------------------------------------------------------------- */

static struct f80 change_sign(struct f80_env *env, struct f80 v)
{
    (void)env;
    v.sign_exponent ^= 0x8000;
    return v;
}

static struct f80 absolute(struct f80_env *env, struct f80 v)
{
    (void)env;
    v.sign_exponent &= 0x7fff;
    return v;
}

#define X87_UNARY(name, op)                                                                        \
    uint32_t name(struct fpu *fpu, unsigned i, uint32_t eflags)                                    \
    {                                                                                              \
        struct f80_env env = x87_begin(fpu);                                                       \
        struct f80 v = x87_is_empty(fpu, 0) ? x87_underflow(&env) : op(&env, x87_get(fpu, 0));     \
                                                                                                   \
        (void)i;                                                                                   \
        if (!f80_blocked(&env))                                                                    \
            x87_set(fpu, 0, v);                                                                    \
        x87_finish(fpu, &env, X87_C1);                                                             \
        return eflags;                                                                             \
    }

X87_UNARY(x87_fchs, change_sign)
X87_UNARY(x87_fabs, absolute)
X87_UNARY(x87_fsqrt, f80_sqrt)
X87_UNARY(x87_frndint, f80_round_to_integer)
X87_UNARY(x87_f2xm1, f80_2xm1)

/* ---- two operands, in ST(0) and ST(1) ----------------------------------------------------- */

static struct f80 atan_of(struct f80_env *env, struct f80 st0, struct f80 st1)
{
    return f80_atan(env, st1, st0);
}

#define X87_BINARY_POP(name, op)                                                                   \
    uint32_t name(struct fpu *fpu, unsigned i, uint32_t eflags)                                    \
    {                                                                                              \
        (void)i;                                                                                   \
        x87_binary(fpu, op, 1, 1, true);                                                           \
        return eflags;                                                                             \
    }

X87_BINARY_POP(x87_fyl2x, f80_yl2x)
X87_BINARY_POP(x87_fyl2xp1, f80_yl2xp1)
X87_BINARY_POP(x87_fpatan, atan_of)

uint32_t x87_fscale(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    x87_binary(fpu, f80_scale, 1, 0, false);
    return eflags;
}

static void remainder_of(struct fpu *fpu, bool nearest)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v;

    if (x87_is_empty(fpu, 0) || x87_is_empty(fpu, 1))
        v = x87_underflow(&env);
    else
        v = f80_remainder(&env, x87_get(fpu, 0), x87_get(fpu, 1), nearest);
    if (!f80_blocked(&env))
        x87_set(fpu, 0, v);
    /* C0 and C3 are bits of a quotient: where there is none they stay. */
    bool quotient = !f80_blocked(&env) && f80_classify(v) != F80_NAN;
    if (!quotient)
        env.status &= (uint16_t) ~(X87_C0 | X87_C2 | X87_C3);
    x87_finish(fpu, &env, quotient ? X87_CONDITION : X87_C1 | X87_C2);
}

uint32_t x87_fprem(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    remainder_of(fpu, false);
    return eflags;
}

uint32_t x87_fprem1(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    remainder_of(fpu, true);
    return eflags;
}

/* ---- one operand, two results ------------------------------------------------------------- */

/* Replaces ST(0) and pushes, unless the stack was empty or full. */
static void finish_two(struct fpu *fpu, struct f80_env *env, struct f80 first, struct f80 second)
{
    if (!f80_blocked(env)) {
        x87_set(fpu, 0, first);
        x87_push(fpu, second);
    }
    x87_finish(fpu, env, X87_C1 | X87_C2);
}

/* The two faults of the stack, for which both results are indefinite. */
static bool two_results_fault(struct fpu *fpu, struct f80_env *env)
{
    if (x87_is_empty(fpu, 0))
        x87_underflow(env);
    else if (!x87_is_empty(fpu, 7))
        x87_overflow(env);
    return env->status != 0;
}

uint32_t x87_fxtract(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 exponent = f80_indefinite(), mantissa = f80_indefinite();

    (void)i;
    if (!two_results_fault(fpu, &env))
        mantissa = f80_extract(&env, x87_get(fpu, 0), &exponent);
    if (!f80_blocked(&env)) {
        x87_set(fpu, 0, exponent);
        x87_push(fpu, mantissa);
    }
    x87_finish(fpu, &env, X87_C1);
    return eflags;
}

uint32_t x87_fptan(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 tangent = f80_indefinite(), one = f80_indefinite();

    (void)i;
    if (!two_results_fault(fpu, &env)) {
        one = f80_make(false, F80_BIAS, F80_TOP_BIT);
        if (!f80_tan(&env, x87_get(fpu, 0), &tangent)) {
            x87_finish(fpu, &env, X87_C1 | X87_C2);
            return eflags;
        }
        if (f80_classify(tangent) == F80_NAN)
            one = tangent;
    }
    finish_two(fpu, &env, tangent, one);
    return eflags;
}

uint32_t x87_fsincos(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 sine = f80_indefinite(), cosine = f80_indefinite();

    (void)i;
    if (!two_results_fault(fpu, &env) && !f80_sin_cos(&env, x87_get(fpu, 0), &sine, &cosine)) {
        x87_finish(fpu, &env, X87_C1 | X87_C2);
        return eflags;
    }
    finish_two(fpu, &env, sine, cosine);
    return eflags;
}

static void one_of_sin_cos(struct fpu *fpu, bool want_cosine)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v, *sine = want_cosine ? NULL : &v, *cosine = want_cosine ? &v : NULL;
    bool reduced = true;

    if (x87_is_empty(fpu, 0))
        v = x87_underflow(&env);
    else
        reduced = f80_sin_cos(&env, x87_get(fpu, 0), sine, cosine);
    if (reduced && !f80_blocked(&env))
        x87_set(fpu, 0, v);
    x87_finish(fpu, &env, X87_C1 | X87_C2);
}

uint32_t x87_fsin(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    one_of_sin_cos(fpu, false);
    return eflags;
}

uint32_t x87_fcos(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    one_of_sin_cos(fpu, true);
    return eflags;
}
