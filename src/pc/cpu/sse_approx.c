/* sse_approx.c: RCPPS and RSQRTPS. The manual promises a relative error below 1.5 x 2^-12 and no
 * particular bits (SDM 2B RCPPS), and processors differ; here the result is the exact value rounded
 * to a 12-bit significand, everywhere. No exceptions, and MXCSR has no say. */
#include "ieee.h"

enum { APPROXIMATE_BITS = 12 };

/* Denormal operands count as zeros and denormal results become zeros. */
static uint32_t approximate_pack(struct real r)
{
    const struct ieee_format *f = &ieee_single;
    struct real_range range = f->range;
    uint32_t sign = (uint32_t)r.sign << 31;

    range.precision = APPROXIMATE_BITS;
    struct rounded out = real_round(r, range, RC_NEAREST, 0);
    if (!(out.hi >> 63))
        return sign;
    return sign | (uint32_t)(out.exp + (int32_t)f->bias) << 23 | (uint32_t)(out.hi << 1 >> 41);
}

static uint32_t reciprocal(uint32_t v)
{
    const struct ieee_format *f = &ieee_single;
    const struct real one = {(uint64_t)1 << 63, 0, 0, false};

    if (ieee_is_nan(f, v))
        return v | (uint32_t)ieee_quiet_bit(f);
    if (ieee_is_infinity(f, v))
        return v & 0x80000000;
    if (ieee_is_zero(f, v) || ieee_is_denormal(f, v))
        return (v & 0x80000000) | (uint32_t)ieee_infinity(f);
    return approximate_pack(real_div(one, ieee_unpack(f, v)));
}

static uint32_t reciprocal_sqrt(uint32_t v)
{
    const struct ieee_format *f = &ieee_single;
    const struct real one = {(uint64_t)1 << 63, 0, 0, false};

    if (ieee_is_nan(f, v))
        return v | (uint32_t)ieee_quiet_bit(f);
    if (ieee_is_zero(f, v) || ieee_is_denormal(f, v))
        return (v & 0x80000000) | (uint32_t)ieee_infinity(f);
    if (ieee_sign(f, v))
        return (uint32_t)ieee_indefinite(f);
    if (ieee_is_infinity(f, v))
        return 0;
    struct real root = real_sqrt(ieee_unpack(f, v));
    root.lo = 0; /* far below the twelve bits */
    return approximate_pack(real_div(one, root));
}

#define SSE_APPROXIMATE(name, count, function)                                                     \
    void sse_##name(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm)            \
    {                                                                                              \
        (void)fpu;                                                                                 \
        (void)imm;                                                                                 \
        for (unsigned i = 0; i < (count); i++)                                                     \
            dst->u32[i] = function(src->u32[i]);                                                   \
    }

SSE_APPROXIMATE(rcpps, 4, reciprocal)
SSE_APPROXIMATE(rcpss, 1, reciprocal)
SSE_APPROXIMATE(rsqrtps, 4, reciprocal_sqrt)
SSE_APPROXIMATE(rsqrtss, 1, reciprocal_sqrt)
