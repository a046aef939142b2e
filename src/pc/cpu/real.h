/* real.h: finite numbers that are not zero, as one wide significand and an exponent.
 *
 * The arithmetic under both x87 and SSE: exact up to a sticky bit, rounded once, to any precision
 * and exponent range, in any of the four directions (SDM 1 4.8.4). It knows no zeros, infinities,
 * NaNs or encodings: f80.c and ieee.h sort those out first. */
#ifndef HALTER_PC_CPU_REAL_H
#define HALTER_PC_CPU_REAL_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

/* hi.lo / 2^63 x 2^exp; bit 63 of hi is set; bit 0 of lo stands for anything below it too. */
struct real {
    uint64_t hi, lo;
    int32_t exp;
    bool sign;
};

/* The exception flags, the same bits in the x87 status word and in MXCSR. */
enum {
    REAL_IE = 0x01,
    REAL_DE = 0x02,
    REAL_ZE = 0x04,
    REAL_OE = 0x08,
    REAL_UE = 0x10,
    REAL_PE = 0x20,
    REAL_UP = 0x200 /* rounded away from zero: C1 of the status word */
};

/* Rounding control, as in both control registers. */
enum { RC_NEAREST, RC_DOWN, RC_UP, RC_ZERO };

static inline unsigned count_leading_zeros64(uint64_t v)
{
    return (unsigned)__builtin_clzll(v);
}

static inline u128 shift_right_sticky(u128 v, uint32_t n)
{
    if (n == 0)
        return v;
    if (n > 127)
        return v != 0;
    return v >> n | ((v << (128 - n)) != 0);
}

static inline u128 real_significand(struct real r)
{
    return (u128)r.hi << 64 | r.lo;
}

/* v is not zero; exp is the exponent its bit 127 stands for. */
static inline struct real real_normalize(bool sign, int32_t exp, u128 v)
{
    uint64_t hi = (uint64_t)(v >> 64);
    unsigned shift = hi ? count_leading_zeros64(hi) : 64 + count_leading_zeros64((uint64_t)v);

    v <<= shift;
    return (struct real){(uint64_t)(v >> 64), (uint64_t)v, exp - (int32_t)shift, sign};
}

static inline struct real real_from_u64(bool sign, uint64_t v)
{
    return real_normalize(sign, 63, (u128)v << 64);
}

/* The sum of two numbers whose lo is 0. A difference of exactly zero comes back with hi = 0. */
static inline struct real real_add(struct real a, struct real b)
{
    if (a.exp < b.exp || (a.exp == b.exp && a.hi < b.hi)) {
        struct real t = a;
        a = b;
        b = t;
    }
    u128 x = real_significand(a);
    u128 y = shift_right_sticky(real_significand(b), (uint32_t)(a.exp - b.exp));

    if (a.sign != b.sign) {
        x -= y;
        if (x == 0)
            return (struct real){0, 0, 0, false};
        return real_normalize(a.sign, a.exp, x);
    }
    x += y;
    if (x < y) {
        x = (u128)1 << 127 | x >> 1 | (x & 1);
        a.exp++;
    }
    return (struct real){(uint64_t)(x >> 64), (uint64_t)x, a.exp, a.sign};
}

static inline struct real real_mul(struct real a, struct real b)
{
    u128 p = (u128)a.hi * b.hi;
    int32_t exp = a.exp + b.exp + 1;

    if (!(p >> 127)) {
        p <<= 1;
        exp--;
    }
    return (struct real){(uint64_t)(p >> 64), (uint64_t)p, exp, a.sign != b.sign};
}

/* (hi:lo) / d for hi < d and bit 63 of d set, in two steps of 32 bits (Knuth 4.3.1 D). */
static inline uint64_t divide_128_by_64(uint64_t hi, uint64_t lo, uint64_t d, uint64_t *rest)
{
    const uint64_t d1 = d >> 32, d0 = (uint32_t)d;
    uint64_t q = 0;

    for (int step = 0; step < 2; step++) {
        uint64_t digit = hi / d1;
        uint64_t r = hi % d1;

        while (digit >> 32 || digit * d0 > (r << 32 | lo >> 32)) {
            digit--;
            r += d1;
            if (r >> 32)
                break;
        }
        hi = (hi << 32 | lo >> 32) - digit * d;
        lo <<= 32;
        q = q << 32 | digit;
    }
    *rest = hi;
    return q;
}

static inline struct real real_div(struct real a, struct real b)
{
    bool shift = a.hi >= b.hi;
    uint64_t rest;
    uint64_t q = shift ? divide_128_by_64(a.hi >> 1, a.hi << 63, b.hi, &rest)
                       : divide_128_by_64(a.hi, 0, b.hi, &rest);
    uint64_t lo = 0;

    /* What the next bit is, and whether anything follows it. */
    if (rest)
        lo = rest >= b.hi - rest ? (uint64_t)1 << 63 | 1 : 1;
    return (struct real){q, lo, a.exp - b.exp - !shift, a.sign != b.sign};
}

/* Square roots with remainder, halving the size (Zimmermann, Karatsuba Square Root). */
static inline uint32_t sqrt_rem_32(uint32_t v, uint32_t *rest)
{
    uint32_t root = 0;

    for (uint32_t bit = 1u << 30; bit; bit >>= 2) {
        if (v >= root + bit) {
            v -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    *rest = v;
    return root;
}

/* v >= 2^62. The remainder can need 33 bits. */
static inline uint32_t sqrt_rem_64(uint64_t v, uint64_t *rest)
{
    uint32_t r1;
    uint64_t s = sqrt_rem_32((uint32_t)(v >> 32), &r1);
    uint64_t n = (uint64_t)r1 << 16 | (uint16_t)(v >> 16);
    uint64_t q = n / (2 * s);
    uint64_t u = n % (2 * s);
    int64_t r = (int64_t)(u << 16 | (uint16_t)v) - (int64_t)(q * q);

    s = (s << 16) + q;
    if (r < 0) {
        r += (int64_t)(2 * s - 1);
        s--;
    }
    *rest = (uint64_t)r;
    return (uint32_t)s;
}

/* A positive number whose lo is 0. */
static inline struct real real_sqrt(struct real a)
{
    bool odd = a.exp & 1;
    u128 v = odd ? (u128)a.hi << 64 : (u128)a.hi << 63; /* in [2^126, 2^128) */
    uint64_t r1;
    uint64_t s = sqrt_rem_64((uint64_t)(v >> 64), &r1);
    uint64_t half = r1 << 31 | (uint64_t)(v >> 33 & 0x7fffffff); /* of 65 bits, to divide by 2 s */
    uint64_t q = half / s;
    uint64_t u = half % s << 1 | (uint64_t)(v >> 32 & 1);
    s128 r = (s128)((u128)u << 32 | (uint32_t)v) - (s128)((u128)q * q);
    u128 root = ((u128)s << 32) + q;

    if (r < 0) {
        r += (s128)(2 * root - 1);
        root--;
    }
    /* The root is 64 bits; it lies above root + 1/2 when the remainder exceeds the root. */
    uint64_t lo = r == 0 ? 0 : (u128)r > root ? (uint64_t)1 << 63 | 1 : 1;
    return (struct real){(uint64_t)root, lo, (a.exp - odd) / 2, false};
}

/* Where a result has to fit. adjust is the bias added to the exponent of a result that overflows
 * or underflows with the exception unmasked (SDM 1 8.5.4); 0 where there is no such result. */
struct real_range {
    uint8_t precision;
    int32_t min, max; /* exponents of the smallest and the largest normal numbers */
    int32_t adjust;
};

/* hi has its leading bit clear only for a denormal (or zero), whose exp is then min. */
struct rounded {
    uint64_t hi;
    int32_t exp;
    uint16_t flags;
    bool infinite;
    bool tiny; /* also when denormalizing rounded it back up to the smallest normal number */
};

/* Whether to round away from zero, the part cut off being tail / 2^128 of the last place. */
static inline bool real_rounds_up(unsigned rc, bool sign, bool odd, u128 tail)
{
    const u128 half = (u128)1 << 127;

    switch (rc) {
    case RC_NEAREST:
        return tail > half || (tail == half && odd);
    case RC_DOWN:
        return sign && tail != 0;
    case RC_UP:
        return !sign && tail != 0;
    default:
        return false;
    }
}

/* The leading `precision` bits of v, rounded; *carry when that gave 2^128, then v is 2^127. */
static inline u128 real_cut(u128 v, unsigned precision, unsigned rc, bool sign, uint16_t *flags,
                            bool *carry)
{
    u128 tail = v << precision;
    u128 unit = (u128)1 << (128 - precision);
    u128 kept = v & ~(unit - 1);

    *carry = false;
    *flags = 0;
    if (tail == 0)
        return kept;
    *flags = REAL_PE;
    if (real_rounds_up(rc, sign, (kept & unit) != 0, tail)) {
        *flags |= REAL_UP;
        kept += unit;
        if (kept == 0) {
            *carry = true;
            kept = (u128)1 << 127;
        }
    }
    return kept;
}

static inline struct rounded real_round_tiny(struct real r, struct real_range range, unsigned rc,
                                             unsigned unmasked, struct rounded normal)
{
    bool carry;

    normal.tiny = true;
    if (unmasked & REAL_UE) {
        normal.exp += range.adjust;
        normal.flags |= REAL_UE;
        return normal;
    }
    u128 v = shift_right_sticky(real_significand(r), (uint32_t)(range.min - r.exp));
    v = real_cut(v, range.precision, rc, r.sign, &normal.flags, &carry);
    normal.hi = (uint64_t)(v >> 64);
    normal.exp = range.min;
    if (normal.flags & REAL_PE)
        normal.flags |= REAL_UE;
    return normal;
}

static inline struct rounded real_round_huge(struct real r, struct real_range range, unsigned rc,
                                             unsigned unmasked, struct rounded normal)
{
    if (unmasked & REAL_OE) {
        normal.exp -= range.adjust;
        normal.flags |= REAL_OE;
        return normal;
    }
    normal.infinite = rc == RC_NEAREST || rc == (r.sign ? RC_DOWN : RC_UP);
    normal.flags = REAL_OE | REAL_PE | (normal.infinite ? REAL_UP : 0);
    normal.hi = normal.infinite ? (uint64_t)1 << 63 : ~(uint64_t)0 << (64 - range.precision);
    normal.exp = range.max;
    return normal;
}

/* Rounds to the range. Tininess is detected after rounding (SDM 1 4.9.1.5). */
static inline struct rounded real_round(struct real r, struct real_range range, unsigned rc,
                                        unsigned unmasked)
{
    struct rounded out = {.exp = r.exp};
    bool carry;
    u128 v = real_cut(real_significand(r), range.precision, rc, r.sign, &out.flags, &carry);

    out.hi = (uint64_t)(v >> 64);
    out.exp += carry;
    if (out.exp < range.min)
        return real_round_tiny(r, range, rc, unmasked, out);
    if (out.exp > range.max)
        return real_round_huge(r, range, rc, unmasked, out);
    return out;
}

#endif
