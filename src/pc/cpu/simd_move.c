/* simd_move.c: SIMD operations that only move: loads, stores, halves, masks of signs. A store is
 * a move whose destination is memory: the caller writes as many bytes as the form has. */
#include "simd.h"

/* A simd_op that needs neither the state nor an immediate. */
#define SIMD_MOVE(name, body)                                                                      \
    void name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)                  \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        body;                                                                                      \
    }

/* ---- whole registers and parts of them ---------------------------------------------------- */

SIMD_MOVE(sse_move128, *dst = *src)
SIMD_MOVE(sse_move64, dst->u64[0] = src->u64[0])
SIMD_MOVE(sse_move32, dst->u32[0] = src->u32[0])
SIMD_MOVE(mmx_move, dst->u64[0] = src->u64[0])

/* The rest of the register becomes zero. */
SIMD_MOVE(sse_load64, *dst = (union xmm){.u64 = {src->u64[0]}})
SIMD_MOVE(sse_load32, *dst = (union xmm){.u32 = {src->u32[0]}})

SIMD_MOVE(sse_load_high64, dst->u64[1] = src->u64[0])
SIMD_MOVE(sse_store_high64, dst->u64[0] = src->u64[1])
SIMD_MOVE(sse_movhlps, dst->u64[0] = src->u64[1])

/* ---- to and from general registers -------------------------------------------------------- */

SIMD_MOVE(mmx_load_gpr, dst->u64[0] = src->u32[0])
SIMD_MOVE(simd_store_gpr, dst->u32[0] = src->u32[0])

static uint32_t sign_mask8(const union xmm *v, unsigned count)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < count; i++)
        mask |= (uint32_t)(v->u8[i] >> 7) << i;
    return mask;
}

SIMD_MOVE(mmx_pmovmskb, dst->u32[0] = sign_mask8(src, 8))
SIMD_MOVE(sse_pmovmskb, dst->u32[0] = sign_mask8(src, 16))

void sse_movmskps(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    (void)imm;
    dst->u32[0] = src->u32[0] >> 31 | src->u32[1] >> 31 << 1 | src->u32[2] >> 31 << 2 |
                  src->u32[3] >> 31 << 3;
}

void sse_movmskpd(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    (void)imm;
    dst->u32[0] = src->u32[1] >> 31 | src->u32[3] >> 31 << 1;
}

/* The end of MMX code: all x87 registers empty again. */
void mmx_emms(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)dst;
    (void)src;
    (void)imm;
    fpu->status &= (uint16_t)~X87_TOP;
    fpu->used = 0;
}
