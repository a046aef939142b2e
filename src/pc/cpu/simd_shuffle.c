/* simd_shuffle.c: SIMD operations that put lanes elsewhere: interleaving, packing with saturation,
 * shuffles by an immediate, single words in and out. */
#include "simd.h"

/* ---- interleaving ------------------------------------------------------------------------- */

/* Lanes of dst and src in turn, from the low or the high half of each. */
#define SIMD_UNPACK(name, lane, type, high)                                                        \
    static inline void unpack_##name(union xmm *dst, const union xmm *src, unsigned bytes)         \
    {                                                                                              \
        union xmm a = *dst, b = *src;                                                              \
        unsigned half = bytes / sizeof(type) / 2, from = (high) ? half : 0;                        \
                                                                                                   \
        for (unsigned i = 0; i < half; i++) {                                                      \
            dst->lane[2 * i] = a.lane[from + i];                                                   \
            dst->lane[2 * i + 1] = b.lane[from + i];                                               \
        }                                                                                          \
    }                                                                                              \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        unpack_##name(dst, src, 16);                                                               \
    }

#define SIMD_UNPACK_BOTH(name, lane, type, high)                                                   \
    SIMD_UNPACK(name, lane, type, high)                                                            \
    void mmx_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        unpack_##name(dst, src, 8);                                                                \
    }

SIMD_UNPACK_BOTH(punpcklbw, u8, uint8_t, false)
SIMD_UNPACK_BOTH(punpcklwd, u16, uint16_t, false)
SIMD_UNPACK_BOTH(punpckldq, u32, uint32_t, false)
SIMD_UNPACK_BOTH(punpckhbw, u8, uint8_t, true)
SIMD_UNPACK_BOTH(punpckhwd, u16, uint16_t, true)
SIMD_UNPACK_BOTH(punpckhdq, u32, uint32_t, true)
SIMD_UNPACK(punpcklqdq, u64, uint64_t, false)
SIMD_UNPACK(punpckhqdq, u64, uint64_t, true)

/* ---- packing ------------------------------------------------------------------------------ */

static inline int saturate(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

/* The lanes of dst, then those of src, each saturated to half its size. */
#define SIMD_PACK(name, from, from_type, to, to_type, low, high)                                   \
    static inline void pack_##name(union xmm *dst, const union xmm *src, unsigned bytes)           \
    {                                                                                              \
        union xmm a = *dst, b = *src;                                                              \
        unsigned count = bytes / sizeof(from_type);                                                \
                                                                                                   \
        for (unsigned i = 0; i < count; i++) {                                                     \
            dst->to[i] = (to_type)saturate((from_type)a.from[i], low, high);                       \
            dst->to[count + i] = (to_type)saturate((from_type)b.from[i], low, high);               \
        }                                                                                          \
    }                                                                                              \
    void mmx_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        pack_##name(dst, src, 8);                                                                  \
    }                                                                                              \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        pack_##name(dst, src, 16);                                                                 \
    }

SIMD_PACK(packsswb, u16, int16_t, u8, uint8_t, INT8_MIN, INT8_MAX)
SIMD_PACK(packuswb, u16, int16_t, u8, uint8_t, 0, UINT8_MAX)
SIMD_PACK(packssdw, u32, int32_t, u16, uint16_t, INT16_MIN, INT16_MAX)

/* ---- shuffles ----------------------------------------------------------------------------- */

static inline uint64_t shuffle_words(uint64_t v, uint8_t imm)
{
    uint64_t out = 0;

    for (unsigned i = 0; i < 4; i++)
        out |= (v >> (imm >> (2 * i) & 3) * 16 & 0xffff) << (16 * i);
    return out;
}

void mmx_pshufw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u64[0] = shuffle_words(src->u64[0], imm);
}

void sse_pshuflw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u64[1] = src->u64[1];
    dst->u64[0] = shuffle_words(src->u64[0], imm);
}

void sse_pshufhw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u64[0] = src->u64[0];
    dst->u64[1] = shuffle_words(src->u64[1], imm);
}

void sse_pshufd(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    union xmm v = *src;

    (void)fpu;
    for (unsigned i = 0; i < 4; i++)
        dst->u32[i] = v.u32[imm >> (2 * i) & 3];
}

void sse_shufps(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    union xmm a = *dst, b = *src;

    (void)fpu;
    dst->u32[0] = a.u32[imm & 3];
    dst->u32[1] = a.u32[imm >> 2 & 3];
    dst->u32[2] = b.u32[imm >> 4 & 3];
    dst->u32[3] = b.u32[imm >> 6];
}

void sse_shufpd(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    union xmm a = *dst, b = *src;

    (void)fpu;
    dst->u64[0] = a.u64[imm & 1];
    dst->u64[1] = b.u64[imm >> 1 & 1];
}

/* ---- single words ------------------------------------------------------------------------- */

void mmx_pinsrw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u16[imm & 3] = src->u16[0];
}

void sse_pinsrw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u16[imm & 7] = src->u16[0];
}

void mmx_pextrw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u32[0] = src->u16[imm & 3];
}

void sse_pextrw(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    (void)fpu;
    dst->u32[0] = src->u16[imm & 7];
}
