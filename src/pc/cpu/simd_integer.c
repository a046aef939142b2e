/* simd_integer.c: integer operations lane by lane, each for 64-bit MMX and 128-bit XMM registers,
 * and the shifts. None of them raises anything. */
#include "simd.h"

/* dst.lane[i] = expression in a (the old destination) and b, for 64 and for 128 bits. */
#define SIMD_LANES(name, lane, type, expression)                                                   \
    static inline void lanes_##name(union xmm *dst, const union xmm *src, unsigned bytes)          \
    {                                                                                              \
        for (unsigned i = 0; i < bytes / sizeof(type); i++) {                                      \
            type a = (type)dst->lane[i], b = (type)src->lane[i];                                   \
            dst->lane[i] = (__typeof__(dst->lane[0]))(expression);                                 \
        }                                                                                          \
    }                                                                                              \
    void mmx_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        lanes_##name(dst, src, 8);                                                                 \
    }                                                                                              \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        lanes_##name(dst, src, 16);                                                                \
    }

/* ---- sums and differences ----------------------------------------------------------------- */

SIMD_LANES(paddb, u8, uint8_t, a + b)
SIMD_LANES(paddw, u16, uint16_t, a + b)
SIMD_LANES(paddd, u32, uint32_t, a + b)
SIMD_LANES(paddq, u64, uint64_t, a + b)
SIMD_LANES(psubb, u8, uint8_t, a - b)
SIMD_LANES(psubw, u16, uint16_t, a - b)
SIMD_LANES(psubd, u32, uint32_t, a - b)
SIMD_LANES(psubq, u64, uint64_t, a - b)

static inline int saturate(int v, int low, int high)
{
    return v < low ? low : v > high ? high : v;
}

SIMD_LANES(paddsb, u8, int8_t, saturate(a + b, INT8_MIN, INT8_MAX))
SIMD_LANES(paddsw, u16, int16_t, saturate(a + b, INT16_MIN, INT16_MAX))
SIMD_LANES(paddusb, u8, uint8_t, saturate(a + b, 0, UINT8_MAX))
SIMD_LANES(paddusw, u16, uint16_t, saturate(a + b, 0, UINT16_MAX))
SIMD_LANES(psubsb, u8, int8_t, saturate(a - b, INT8_MIN, INT8_MAX))
SIMD_LANES(psubsw, u16, int16_t, saturate(a - b, INT16_MIN, INT16_MAX))
SIMD_LANES(psubusb, u8, uint8_t, saturate(a - b, 0, UINT8_MAX))
SIMD_LANES(psubusw, u16, uint16_t, saturate(a - b, 0, UINT16_MAX))

/* ---- comparisons, minima, means ----------------------------------------------------------- */

SIMD_LANES(pcmpeqb, u8, uint8_t, a == b ? UINT8_MAX : 0)
SIMD_LANES(pcmpeqw, u16, uint16_t, a == b ? UINT16_MAX : 0)
SIMD_LANES(pcmpeqd, u32, uint32_t, a == b ? UINT32_MAX : 0)
SIMD_LANES(pcmpgtb, u8, int8_t, a > b ? UINT8_MAX : 0)
SIMD_LANES(pcmpgtw, u16, int16_t, a > b ? UINT16_MAX : 0)
SIMD_LANES(pcmpgtd, u32, int32_t, a > b ? UINT32_MAX : 0)
SIMD_LANES(pminub, u8, uint8_t, a < b ? a : b)
SIMD_LANES(pmaxub, u8, uint8_t, a > b ? a : b)
SIMD_LANES(pminsw, u16, int16_t, a < b ? a : b)
SIMD_LANES(pmaxsw, u16, int16_t, a > b ? a : b)
SIMD_LANES(pavgb, u8, uint8_t, (a + b + 1) >> 1)
SIMD_LANES(pavgw, u16, uint16_t, (a + b + 1) >> 1)

/* ---- bits --------------------------------------------------------------------------------- */

SIMD_LANES(pand, u64, uint64_t, a &b)
SIMD_LANES(pandn, u64, uint64_t, ~a &b)
SIMD_LANES(por, u64, uint64_t, a | b)
SIMD_LANES(pxor, u64, uint64_t, a ^ b)

/* ---- products ----------------------------------------------------------------------------- */

SIMD_LANES(pmullw, u16, uint16_t, (uint32_t)a *b)
SIMD_LANES(pmulhw, u16, int16_t, a *b >> 16)
SIMD_LANES(pmulhuw, u16, uint16_t, (uint32_t)a *b >> 16)
SIMD_LANES(pmuludq, u64, uint64_t, (a & UINT32_MAX) * (b & UINT32_MAX))

/* Two products of words added: wraps only when all four are 8000h. */
static inline uint32_t multiply_add(uint32_t a, uint32_t b)
{
    int32_t low = (int16_t)a * (int16_t)b;
    int32_t high = (int16_t)(a >> 16) * (int16_t)(b >> 16);

    return (uint32_t)low + (uint32_t)high;
}

SIMD_LANES(pmaddwd, u32, uint32_t, multiply_add(a, b))

static inline uint64_t sum_of_differences(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < 64; i += 8) {
        int difference = (int)(a >> i & 0xff) - (int)(b >> i & 0xff);
        sum += (uint64_t)(difference < 0 ? -difference : difference);
    }
    return sum;
}

SIMD_LANES(psadbw, u64, uint64_t, sum_of_differences(a, b))

/* ---- shifts ------------------------------------------------------------------------------- */

/* All lanes by one count, from 64 bits of a register or an immediate; too much of it gives zeros,
 * or for arithmetic shifts as many signs (SDM 2B PSRAW). */
#define SIMD_SHIFT(name, lane, type, operator, beyond)                                             \
    static inline void shift_##name(union xmm *dst, uint64_t count, unsigned bytes)                \
    {                                                                                              \
        for (unsigned i = 0; i < bytes / sizeof(type); i++) {                                      \
            type a = (type)dst->lane[i];                                                           \
            type shifted = count < 8 * sizeof(type) ? (type)(a operator count) : (type)(beyond);   \
            dst->lane[i] = (__typeof__(dst->lane[0]))shifted;                                      \
        }                                                                                          \
    }                                                                                              \
    void mmx_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        shift_##name(dst, src->u64[0], 8);                                                         \
    }                                                                                              \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        shift_##name(dst, src->u64[0], 16);                                                        \
    }                                                                                              \
    void mmx_##name##_imm(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)      \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)src;                                                                                 \
        shift_##name(dst, imm, 8);                                                                 \
    }                                                                                              \
    void sse_##name##_imm(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)      \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)src;                                                                                 \
        shift_##name(dst, imm, 16);                                                                \
    }

SIMD_SHIFT(psllw, u16, uint16_t, <<, 0)
SIMD_SHIFT(pslld, u32, uint32_t, <<, 0)
SIMD_SHIFT(psllq, u64, uint64_t, <<, 0)
SIMD_SHIFT(psrlw, u16, uint16_t, >>, 0)
SIMD_SHIFT(psrld, u32, uint32_t, >>, 0)
SIMD_SHIFT(psrlq, u64, uint64_t, >>, 0)
SIMD_SHIFT(psraw, u16, int16_t, >>, a < 0 ? -1 : 0)
SIMD_SHIFT(psrad, u32, int32_t, >>, a < 0 ? -1 : 0)

/* The whole register, by bytes. */
void sse_pslldq(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    union xmm v = *dst;

    (void)fpu;
    (void)src;
    for (unsigned i = 0; i < 16; i++)
        dst->u8[i] = i >= imm ? v.u8[i - imm] : 0;
}

void sse_psrldq(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)
{
    union xmm v = *dst;

    (void)fpu;
    (void)src;
    for (unsigned i = 0; i < 16; i++)
        dst->u8[i] = i + imm < 16u ? v.u8[i + imm] : 0;
}
