/* wide.h: arithmetic to 128 bits, for the transcendental functions: far more than the 64 that
 * remain, so that what is lost here moves a result by less than 2^-40 of its last place.
 *
 * A struct real uses all of hi:lo; series are sums in Q1.127, 128 bits of which 127 are fraction.
 */
#ifndef HALTER_PC_CPU_WIDE_H
#define HALTER_PC_CPU_WIDE_H

#include "real.h"

#define WIDE(hi, lo) ((u128)(hi) << 64 | (lo))
#define WIDE_ONE     ((u128)1 << 127) /* in Q1.127 */

/* The upper half of a product. */
static inline u128 wide_mul_high(u128 a, u128 b)
{
    uint64_t a1 = (uint64_t)(a >> 64), a0 = (uint64_t)a;
    uint64_t b1 = (uint64_t)(b >> 64), b0 = (uint64_t)b;
    u128 low = (u128)a0 * b0, cross1 = (u128)a1 * b0, cross0 = (u128)a0 * b1;
    u128 middle = (low >> 64) + (uint64_t)cross1 + (uint64_t)cross0;

    return (u128)a1 * b1 + (cross1 >> 64) + (cross0 >> 64) + (middle >> 64);
}

/* One digit of 64 bits of a / b, a < b, bit 127 of b set; *a becomes the remainder. */
static inline uint64_t wide_digit(u128 *a, u128 b)
{
    uint64_t b1 = (uint64_t)(b >> 64), b0 = (uint64_t)b, a1 = (uint64_t)(*a >> 64), rest;
    uint64_t q = a1 >= b1 ? ~(uint64_t)0 : divide_128_by_64(a1, (uint64_t)*a, b1, &rest);
    u128 p0 = (u128)q * b0;
    u128 p1 = (u128)q * b1 + (p0 >> 64);
    uint64_t low = 0 - (uint64_t)p0;
    u128 top = *a - p1 - ((uint64_t)p0 != 0);

    while (top >> 127) { /* one or two too many */
        u128 sum = (u128)low + b0;
        low = (uint64_t)sum;
        top += b1 + (sum >> 64);
        q--;
    }
    *a = top << 64 | low;
    return q;
}

static inline struct real wide_div(struct real a, struct real b)
{
    u128 x = real_significand(a), y = real_significand(b);
    bool above = x >= y;

    if (above)
        x -= y;
    u128 q = (u128)wide_digit(&x, y) << 64;
    q |= wide_digit(&x, y);
    if (above)
        q = WIDE_ONE | q >> 1 | (q & 1);
    q |= x != 0;
    return (struct real){(uint64_t)(q >> 64), (uint64_t)q, a.exp - b.exp - !above,
                         a.sign != b.sign};
}

static inline struct real wide_mul(struct real a, struct real b)
{
    u128 p = wide_mul_high(real_significand(a), real_significand(b));

    return real_normalize(a.sign != b.sign, a.exp + b.exp + 1, p);
}

/* a times a factor in Q1.127. What is transcendental is never exact: the sticky bit says so. */
static inline struct real wide_scale(struct real a, u128 factor)
{
    struct real r = wide_mul(a, real_normalize(false, 0, factor));

    r.lo |= 1;
    return r;
}

/* |a| < 1 as a fraction of 2^128. */
static inline u128 wide_fraction(struct real a)
{
    uint32_t shift = (uint32_t)(-1 - a.exp);

    return shift > 127 ? 0 : real_significand(a) >> shift;
}

/* a squared, |a| < 1, as a fraction of 2^128. */
static inline u128 wide_square(struct real a)
{
    u128 p = wide_mul_high(real_significand(a), real_significand(a));
    uint32_t shift = (uint32_t)(-2 - 2 * a.exp);

    return shift > 127 ? 0 : p >> shift;
}

/* c[0] - c[1] x + c[2] x^2 - ..., or with all signs +; c in Q1.127, x a fraction of 2^128. */
static inline u128 wide_series(const u128 *c, unsigned count, u128 x, bool alternate)
{
    u128 sum = c[count - 1];

    for (unsigned n = count - 1; n-- > 0;) {
        u128 term = wide_mul_high(sum, x);
        sum = alternate ? c[n] - term : c[n] + term;
    }
    return sum;
}

#endif
