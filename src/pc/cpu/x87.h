/* x87.h: the register stack, shared by the register forms (x87.c) and the memory forms
 * (x87_memory.c). ST(i) counts from TOP; slots are the physical registers. */
#ifndef HALTER_PC_CPU_X87_H
#define HALTER_PC_CPU_X87_H

#include "f80_fast.h"

static inline unsigned x87_slot_of(const struct fpu *fpu, unsigned i)
{
    return (((unsigned)fpu->status >> 11) + i) & 7;
}

static inline struct f80 x87_get(const struct fpu *fpu, unsigned i)
{
    return fpu->st[x87_slot_of(fpu, i)].f;
}

static inline bool x87_is_empty(const struct fpu *fpu, unsigned i)
{
    return !(fpu->used >> x87_slot_of(fpu, i) & 1);
}

static inline void x87_set(struct fpu *fpu, unsigned i, struct f80 v)
{
    unsigned slot = x87_slot_of(fpu, i);

    fpu->st[slot].f = v;
    fpu->used |= (uint8_t)(1u << slot);
}

static inline uint16_t x87_turn(uint16_t status, unsigned by)
{
    return (uint16_t)((status & ~X87_TOP) | ((status + (by << 11)) & X87_TOP));
}

static inline void x87_pop(struct fpu *fpu)
{
    fpu->used &= (uint8_t) ~(1u << x87_slot_of(fpu, 0));
    fpu->status = x87_turn(fpu->status, 1);
}

static inline void x87_push(struct fpu *fpu, struct f80 v)
{
    fpu->status = x87_turn(fpu->status, 7);
    x87_set(fpu, 0, v);
}

static inline struct f80_env x87_begin(const struct fpu *fpu)
{
    return (struct f80_env){fpu->control, 0};
}

/* ES and B follow from the flags and their masks (SDM 1 8.1.3.3). */
static inline uint16_t x87_summarize(uint16_t status, uint16_t control)
{
    status &= (uint16_t) ~(X87_ES | X87_B);
    if (status & ~control & X87_EXCEPTIONS)
        status |= X87_ES | X87_B;
    return status;
}

/* Adds what an operation raised; the condition bits named in `written` are replaced. What was
 * blocked has not been computed, hence raises nothing that its result would have. */
static inline void x87_finish(struct fpu *fpu, const struct f80_env *env, uint16_t written)
{
    uint16_t raised = env->status;

    if (f80_blocked(env))
        raised &= (uint16_t) ~(X87_OE | X87_UE | X87_PE | (raised & X87_SF ? 0 : X87_C1));
    fpu->status = x87_summarize((uint16_t)((fpu->status & ~written) | raised), fpu->control);
}

/* A source register that is empty. */
static inline struct f80 x87_underflow(struct f80_env *env)
{
    env->status = X87_IE | X87_SF;
    return f80_indefinite();
}

/* A push onto a register in use. */
static inline struct f80 x87_overflow(struct f80_env *env)
{
    env->status = X87_IE | X87_SF | X87_C1;
    return f80_indefinite();
}

/* Ends an instruction that pushes: v unless the stack is full or the operation was invalid. A
 * denormal is loaded even when DE is unmasked. */
static inline void x87_finish_push(struct fpu *fpu, struct f80_env *env, struct f80 v)
{
    if (!x87_is_empty(fpu, 7) && !(env->status & X87_SF))
        v = x87_overflow(env);
    if (!(env->status & ~env->control & X87_IE))
        x87_push(fpu, v);
    x87_finish(fpu, env, X87_C1);
}

/* Ends an instruction that took a fast way: C1 anew, and perhaps PE, which is masked. */
static inline void x87_finish_fast(struct fpu *fpu, uint16_t raised)
{
    fpu->status = (uint16_t)((fpu->status & ~X87_C1) | raised);
}

/* ST(0) and ST(i) are there, and precision, rounding and PE are as nearly always. */
static inline bool x87_may_hurry(const struct fpu *fpu, unsigned i)
{
    unsigned used = fpu->used;

    return (used >> x87_slot_of(fpu, 0) & used >> x87_slot_of(fpu, i) & 1) &&
           f80_fast_control(fpu->control);
}

/* The eight operations of D8, DC, DA and DE, by ModRM.reg; 2 and 3 are the comparisons. */
typedef struct f80 f80_binary_op(struct f80_env *env, struct f80 a, struct f80 b);
typedef bool f80_fast_op(struct f80 a, struct f80 b, struct f80 *out, uint16_t *raised);
extern f80_binary_op *const x87_binary_ops[8];

/* ST(dst) = ST(0) op ST(i), in general. */
void x87_binary(struct fpu *fpu, f80_binary_op *op, unsigned i, unsigned dst, bool pop);

/* x87_functions.c: named as in the manual. */
x87_register_op x87_fldl2t, x87_fldl2e, x87_fldpi, x87_fldlg2, x87_fldln2, x87_fld1, x87_fldz;
x87_register_op x87_fchs, x87_fabs, x87_fsqrt, x87_frndint, x87_fscale, x87_fxtract, x87_fprem;
x87_register_op x87_fprem1, x87_f2xm1, x87_fyl2x, x87_fyl2xp1, x87_fpatan, x87_fptan;
x87_register_op x87_fsin, x87_fcos, x87_fsincos;

#endif
