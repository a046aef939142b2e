/* x87.c: the register forms of D8-DF, one small function each, found by opcode; those that are
 * functions of ST(0) are in x87_functions.c.
 *
 * Each checks the register stack first (an empty source, a full stack), then operates, then lets
 * what is unmasked decide whether the result goes in (SDM 1 8.5). */
#include "x87.h"

#include <stddef.h>

/* ---- arithmetic --------------------------------------------------------------------------- */

static struct f80 f80_sub_reversed(struct f80_env *env, struct f80 a, struct f80 b)
{
    return f80_sub(env, b, a);
}

static struct f80 f80_div_reversed(struct f80_env *env, struct f80 a, struct f80 b)
{
    return f80_div(env, b, a);
}

f80_binary_op *const x87_binary_ops[8] = {f80_add, f80_mul,          NULL,    NULL,
                                          f80_sub, f80_sub_reversed, f80_div, f80_div_reversed};

/* ST(dst) = ST(0) op ST(i), where that is all there is to it. */
static inline __attribute__((always_inline)) bool binary_fast(struct fpu *fpu, f80_fast_op *op,
                                                              unsigned i, unsigned dst)
{
    struct f80 v;
    uint16_t raised;

    if (!x87_may_hurry(fpu, i) || !op(x87_get(fpu, 0), x87_get(fpu, i), &v, &raised))
        return false;
    fpu->st[x87_slot_of(fpu, dst)].f = v;
    x87_finish_fast(fpu, raised);
    return true;
}

/* ST(dst) = ST(0) op ST(i). */
F80_GENERAL void x87_binary(struct fpu *fpu, f80_binary_op *op, unsigned i, unsigned dst, bool pop)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v;

    if (x87_is_empty(fpu, 0) || x87_is_empty(fpu, i))
        v = x87_underflow(&env);
    else
        v = op(&env, x87_get(fpu, 0), x87_get(fpu, i));
    if (!f80_blocked(&env)) {
        x87_set(fpu, dst, v);
        if (pop)
            x87_pop(fpu);
    }
    x87_finish(fpu, &env, X87_C1);
}

/* D8: ST(0) = ST(0) op ST(i). DC, DE: ST(i) = ST(0) op ST(i), where subtraction and division have
 * exchanged encodings, so that /4 is the reversed one (SDM 2A FSUBR). */
#define X87_BINARY(name, op, fast)                                                                 \
    static uint32_t name##_st0(struct fpu *fpu, unsigned i, uint32_t eflags)                       \
    {                                                                                              \
        if (!binary_fast(fpu, fast, i, 0))                                                         \
            x87_binary(fpu, op, i, 0, false);                                                      \
        return eflags;                                                                             \
    }                                                                                              \
    static uint32_t name##_sti(struct fpu *fpu, unsigned i, uint32_t eflags)                       \
    {                                                                                              \
        if (!binary_fast(fpu, fast, i, i))                                                         \
            x87_binary(fpu, op, i, i, false);                                                      \
        return eflags;                                                                             \
    }                                                                                              \
    static uint32_t name##_pop(struct fpu *fpu, unsigned i, uint32_t eflags)                       \
    {                                                                                              \
        if (binary_fast(fpu, fast, i, i))                                                          \
            x87_pop(fpu);                                                                          \
        else                                                                                       \
            x87_binary(fpu, op, i, i, true);                                                       \
        return eflags;                                                                             \
    }

X87_BINARY(add, f80_add, f80_fast_add)
X87_BINARY(mul, f80_mul, f80_fast_mul)
X87_BINARY(sub, f80_sub, f80_fast_sub)
X87_BINARY(subr, f80_sub_reversed, f80_fast_sub_reversed)
X87_BINARY(div, f80_div, f80_fast_div)
X87_BINARY(divr, f80_div_reversed, f80_fast_div_reversed)

/* ---- comparisons -------------------------------------------------------------------------- */

static F80_GENERAL void compare_general(struct fpu *fpu, unsigned i, bool quiet, unsigned pops)
{
    struct f80_env env = x87_begin(fpu);
    uint16_t condition = X87_C3 | X87_C2 | X87_C0;

    if (x87_is_empty(fpu, 0) || x87_is_empty(fpu, i))
        x87_underflow(&env);
    else
        condition = f80_compare(&env, x87_get(fpu, 0), x87_get(fpu, i), quiet);
    for (bool blocked = f80_blocked(&env); pops && !blocked; pops--)
        x87_pop(fpu);
    env.status |= condition; /* also when an exception is unmasked */
    x87_finish(fpu, &env, X87_CONDITION);
}

static inline void compare(struct fpu *fpu, unsigned i, bool quiet, unsigned pops)
{
    uint16_t condition;

    if (!x87_may_hurry(fpu, i) || !f80_fast_compare(x87_get(fpu, 0), x87_get(fpu, i), &condition)) {
        compare_general(fpu, i, quiet, pops);
        return;
    }
    while (pops--)
        x87_pop(fpu);
    fpu->status = (uint16_t)((fpu->status & ~X87_CONDITION) | condition);
}

static uint32_t fcom(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    compare(fpu, i, false, 0);
    return eflags;
}

static uint32_t fcomp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    compare(fpu, i, false, 1);
    return eflags;
}

static uint32_t fcompp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    compare(fpu, 1, false, 2);
    return eflags;
}

static uint32_t fucom(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    compare(fpu, i, true, 0);
    return eflags;
}

static uint32_t fucomp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    compare(fpu, i, true, 1);
    return eflags;
}

static uint32_t fucompp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    compare(fpu, 1, true, 2);
    return eflags;
}

static uint32_t ftst(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    uint16_t condition = X87_C3 | X87_C2 | X87_C0;

    (void)i;
    if (x87_is_empty(fpu, 0))
        x87_underflow(&env);
    else
        condition = f80_compare(&env, x87_get(fpu, 0), f80_zero(false), false);
    env.status |= condition;
    x87_finish(fpu, &env, X87_CONDITION);
    return eflags;
}

static uint32_t fxam(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v = x87_get(fpu, 0);

    (void)i;
    if (x87_is_empty(fpu, 0))
        env.status = (uint16_t)(X87_C3 | X87_C0 | (f80_sign(v) ? X87_C1 : 0));
    else
        env.status = f80_examine(v);
    x87_finish(fpu, &env, X87_CONDITION);
    return eflags;
}

/* ---- comparisons and moves by EFLAGS ------------------------------------------------------ */

enum { EFLAGS_CF = 0x001, EFLAGS_PF = 0x004, EFLAGS_AF = 0x010, EFLAGS_ZF = 0x040 };
enum { EFLAGS_SF = 0x080, EFLAGS_OF = 0x800 };

/* The condition code as EFLAGS has it: C3, C2 and C0 are ZF, PF and CF; OF, SF and AF go. */
static uint32_t condition_to_flags(uint32_t eflags, uint16_t condition)
{
    eflags &= ~(uint32_t)(EFLAGS_OF | EFLAGS_SF | EFLAGS_AF | EFLAGS_ZF | EFLAGS_PF | EFLAGS_CF);
    return eflags | (condition & (X87_C3 | X87_C2 | X87_C0)) >> 8;
}

static F80_GENERAL uint32_t compare_to_flags_general(struct fpu *fpu, unsigned i, uint32_t eflags,
                                                     bool quiet, bool pop)
{
    struct f80_env env = x87_begin(fpu);
    uint16_t condition = X87_C3 | X87_C2 | X87_C0;

    if (x87_is_empty(fpu, 0) || x87_is_empty(fpu, i))
        x87_underflow(&env);
    else
        condition = f80_compare(&env, x87_get(fpu, 0), x87_get(fpu, i), quiet);
    /* Like the condition code, the flags are set also when an exception is unmasked. */
    if (pop && !f80_blocked(&env))
        x87_pop(fpu);
    x87_finish(fpu, &env, env.status & X87_SF ? X87_C1 : 0);
    return condition_to_flags(eflags, condition);
}

static inline uint32_t compare_to_flags(struct fpu *fpu, unsigned i, uint32_t eflags, bool quiet,
                                        bool pop)
{
    uint16_t condition;

    if (!x87_may_hurry(fpu, i) || !f80_fast_compare(x87_get(fpu, 0), x87_get(fpu, i), &condition))
        return compare_to_flags_general(fpu, i, eflags, quiet, pop);
    if (pop)
        x87_pop(fpu);
    return condition_to_flags(eflags, condition);
}

static uint32_t fcomi(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    return compare_to_flags(fpu, i, eflags, false, false);
}

static uint32_t fcomip(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    return compare_to_flags(fpu, i, eflags, false, true);
}

static uint32_t fucomi(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    return compare_to_flags(fpu, i, eflags, true, false);
}

static uint32_t fucomip(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    return compare_to_flags(fpu, i, eflags, true, true);
}

static void move_if(struct fpu *fpu, unsigned i, bool condition)
{
    struct f80_env env = x87_begin(fpu);

    if (x87_is_empty(fpu, 0) || x87_is_empty(fpu, i)) {
        struct f80 v = x87_underflow(&env);
        if (!f80_blocked(&env))
            x87_set(fpu, 0, v);
    } else if (condition) {
        x87_set(fpu, 0, x87_get(fpu, i));
    }
    x87_finish(fpu, &env, env.status & X87_SF ? X87_C1 : 0);
}

#define X87_CMOV(name, flags)                                                                      \
    static uint32_t fcmov##name(struct fpu *fpu, unsigned i, uint32_t eflags)                      \
    {                                                                                              \
        move_if(fpu, i, (eflags & (flags)) != 0);                                                  \
        return eflags;                                                                             \
    }                                                                                              \
    static uint32_t fcmovn##name(struct fpu *fpu, unsigned i, uint32_t eflags)                     \
    {                                                                                              \
        move_if(fpu, i, (eflags & (flags)) == 0);                                                  \
        return eflags;                                                                             \
    }

X87_CMOV(b, EFLAGS_CF)
X87_CMOV(e, EFLAGS_ZF)
X87_CMOV(be, EFLAGS_CF | EFLAGS_ZF)
X87_CMOV(u, EFLAGS_PF)

/* ---- moves and the stack ------------------------------------------------------------------ */

static F80_GENERAL void load_general(struct fpu *fpu, unsigned i)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v = x87_get(fpu, i);

    if (x87_is_empty(fpu, i))
        v = x87_underflow(&env);
    x87_finish_push(fpu, &env, v);
}

static uint32_t fld(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    if (x87_is_empty(fpu, i) || !x87_is_empty(fpu, 7)) {
        load_general(fpu, i);
        return eflags;
    }
    x87_push(fpu, x87_get(fpu, i));
    x87_finish_fast(fpu, 0);
    return eflags;
}

static F80_GENERAL void store_empty(struct fpu *fpu, unsigned i, bool pop)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v = x87_underflow(&env);

    if (!f80_blocked(&env)) {
        x87_set(fpu, i, v);
        if (pop)
            x87_pop(fpu);
    }
    x87_finish(fpu, &env, X87_C1);
}

static inline void store(struct fpu *fpu, unsigned i, bool pop)
{
    if (x87_is_empty(fpu, 0)) {
        store_empty(fpu, i, pop);
        return;
    }
    x87_set(fpu, i, x87_get(fpu, 0));
    if (pop)
        x87_pop(fpu);
    x87_finish_fast(fpu, 0);
}

static uint32_t fst(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    store(fpu, i, false);
    return eflags;
}

static uint32_t fstp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    store(fpu, i, true);
    return eflags;
}

/* An undocumented FSTP that does not mind an empty register: then it only pops. */
static uint32_t fstp1(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    if (!x87_is_empty(fpu, 0))
        return fstp(fpu, i, eflags);
    x87_pop(fpu);
    fpu->status &= (uint16_t)~X87_C1;
    return eflags;
}

static F80_GENERAL void exchange_general(struct fpu *fpu, unsigned i)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 a = x87_get(fpu, 0), b = x87_get(fpu, i);

    if (x87_is_empty(fpu, 0))
        a = x87_underflow(&env);
    if (x87_is_empty(fpu, i))
        b = x87_underflow(&env);
    if (!f80_blocked(&env)) {
        x87_set(fpu, 0, b);
        x87_set(fpu, i, a);
    }
    x87_finish(fpu, &env, X87_C1);
}

static uint32_t fxch(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    if (!x87_may_hurry(fpu, i)) {
        exchange_general(fpu, i);
        return eflags;
    }
    struct f80 *a = &fpu->st[x87_slot_of(fpu, 0)].f, *b = &fpu->st[x87_slot_of(fpu, i)].f, t = *a;
    *a = *b;
    *b = t;
    x87_finish_fast(fpu, 0);
    return eflags;
}

static uint32_t ffree(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    fpu->used &= (uint8_t) ~(1u << x87_slot_of(fpu, i));
    fpu->status &= (uint16_t)~X87_C1;
    return eflags;
}

static uint32_t ffreep(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    ffree(fpu, i, eflags);
    x87_pop(fpu);
    return eflags;
}

static uint32_t fdecstp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    fpu->status = (uint16_t)(x87_turn(fpu->status, 7) & ~X87_C1);
    return eflags;
}

static uint32_t fincstp(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    fpu->status = (uint16_t)(x87_turn(fpu->status, 1) & ~X87_C1);
    return eflags;
}

static uint32_t fnop(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)fpu;
    (void)i;
    return eflags;
}

static uint32_t fnclex(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    fpu->status &= X87_TOP | X87_CONDITION;
    return eflags;
}

static uint32_t fninit(struct fpu *fpu, unsigned i, uint32_t eflags)
{
    (void)i;
    x87_fninit(fpu);
    return eflags;
}

/* ---- by opcode ---------------------------------------------------------------------------- */

#define ALL(op) op, op, op, op, op, op, op, op /* ModRM.rm */
#define NONE    ALL(NULL)

/* By esc & 7 and the lower six bits of ModRM. FENI, FDISI and FSETPM (DB E0, E1, E4), which the
 * 8087 and the 287 needed, do nothing; DF E0 is FNSTSW AX, the processor's to do. */
/* clang-format off */
static x87_register_op *const by_opcode[8][64] = {
    /* D8 */ {ALL(add_st0), ALL(mul_st0), ALL(fcom), ALL(fcomp), ALL(sub_st0), ALL(subr_st0),
              ALL(div_st0), ALL(divr_st0)},
    /* D9 */ {ALL(fld), ALL(fxch), fnop, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ALL(fstp1),
              x87_fchs, x87_fabs, NULL, NULL, ftst, fxam, NULL, NULL,
              x87_fld1, x87_fldl2t, x87_fldl2e, x87_fldpi, x87_fldlg2, x87_fldln2, x87_fldz, NULL,
              x87_f2xm1, x87_fyl2x, x87_fptan, x87_fpatan, x87_fxtract, x87_fprem1, fdecstp,
              fincstp, x87_fprem, x87_fyl2xp1, x87_fsqrt, x87_fsincos, x87_frndint, x87_fscale,
              x87_fsin, x87_fcos},
    /* DA */ {ALL(fcmovb), ALL(fcmove), ALL(fcmovbe), ALL(fcmovu), NONE,
              NULL, fucompp, NULL, NULL, NULL, NULL, NULL, NULL, NONE, NONE},
    /* DB */ {ALL(fcmovnb), ALL(fcmovne), ALL(fcmovnbe), ALL(fcmovnu),
              fnop, fnop, fnclex, fninit, fnop, NULL, NULL, NULL, ALL(fucomi), ALL(fcomi), NONE},
    /* DC */ {ALL(add_sti), ALL(mul_sti), ALL(fcom), ALL(fcomp), ALL(sub_sti), ALL(subr_sti),
              ALL(div_sti), ALL(divr_sti)},
    /* DD */ {ALL(ffree), ALL(fxch), ALL(fst), ALL(fstp), ALL(fucom), ALL(fucomp), NONE, NONE},
    /* DE */ {ALL(add_pop), ALL(mul_pop), ALL(fcomp), NULL, fcompp, NULL, NULL, NULL, NULL, NULL,
              NULL, ALL(sub_pop), ALL(subr_pop), ALL(div_pop), ALL(divr_pop)},
    /* DF */ {ALL(ffreep), ALL(fxch), ALL(fstp), ALL(fstp), NONE, ALL(fucomip), ALL(fcomip), NONE},
};
/* clang-format on */

x87_register_op *x87_register_find(uint8_t esc, uint8_t modrm)
{
    return by_opcode[esc & 7][modrm & 63];
}

uint32_t x87_register(struct fpu *fpu, uint8_t esc, uint8_t modrm, uint32_t eflags)
{
    x87_register_op *op = x87_register_find(esc, modrm);

    return op ? op(fpu, modrm & 7, eflags) : eflags;
}

static struct x87_form register_form(uint8_t esc, uint8_t modrm)
{
    struct x87_form form = {X87_REGISTER, 0, true, false};
    x87_register_op *op = x87_register_find(esc, modrm);

    if ((esc & 7) == 7 && modrm == 0xe0)
        return (struct x87_form){X87_TO_AX, 0, false, true};
    if (!op)
        return (struct x87_form){X87_UNDEFINED, 0, false, false};
    if (op == fnclex || op == fninit || ((esc & 7) == 3 && op == fnop))
        return (struct x87_form){X87_REGISTER, 0, false, true};
    if (op == fcomi || op == fcomip || op == fucomi || op == fucomip)
        form.kind = X87_TO_FLAGS;
    else if (((esc & 7) == 2 || (esc & 7) == 3) && modrm < 0xe0)
        form.kind = X87_FROM_FLAGS;
    return form;
}

struct x87_form x87_form(uint8_t esc, uint8_t modrm, bool operand32)
{
    struct x87_form form = {X87_UNDEFINED, 0, true, false};
    uint8_t reg = modrm >> 3 & 7, n = esc & 7;

    if (modrm >= 0xc0)
        return register_form(esc, modrm);
    int bytes = x87_memory_bytes(esc, reg, operand32);
    if (bytes) {
        form.kind = bytes > 0 ? X87_LOAD : X87_STORE;
        form.bytes = (uint8_t)(bytes > 0 ? bytes : -bytes);
    }
    /* Environments, control and status words. Of them only the loads wait. */
    form.control = (n == 1 && reg >= 4) || (n == 5 && reg >= 4);
    form.waits = !form.control || form.kind == X87_LOAD;
    return form;
}
