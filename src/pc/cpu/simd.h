/* simd.h: what the files of SIMD operations share: their prototypes, from simd.def, and the end of
 * an operation that can raise exceptions. */
#ifndef HALTER_PC_CPU_SIMD_H
#define HALTER_PC_CPU_SIMD_H

#include "fpu.h"

#define SIMD(prefix, opcode, reg, name, dst, src, bytes, aligned, imm, level, function)            \
    simd_op function;
#include "simd.def"
#undef SIMD

/* MXCSR (SDM 1 10.2.3). The flags are bits 0-5, as everywhere; their masks 7 bits further up. */
enum {
    MXCSR_FLAGS = 0x003f,
    MXCSR_BEFORE = 0x0007, /* IE, DE, ZE: found before anything is computed */
    MXCSR_DAZ = 0x0040,
    MXCSR_MASKS = 0x1f80,
    MXCSR_FTZ = 0x8000
};

struct simd_env {
    uint32_t mxcsr;
    uint32_t flags; /* raised by any lane so far */
};

static inline struct simd_env simd_begin(const struct fpu *fpu)
{
    return (struct simd_env){fpu->mxcsr, 0};
}

static inline uint32_t simd_unmasked(const struct simd_env *env)
{
    return ~env->mxcsr >> 7 & MXCSR_FLAGS;
}

/* True when the result is to be stored. What one lane raises unmasked before computing keeps all
 * of them from computing (SDM 1 11.5.2). */
static inline bool simd_finish(struct fpu *fpu, struct simd_env *env)
{
    uint32_t unmasked = simd_unmasked(env);

    if (env->flags & unmasked & MXCSR_BEFORE)
        env->flags &= MXCSR_BEFORE;
    fpu->mxcsr |= env->flags;
    fpu->simd_fault = (env->flags & unmasked) != 0;
    return !fpu->simd_fault;
}

#endif
