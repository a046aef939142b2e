/* f80_atan.c: FPATAN, the angle of (x, y) in all four quadrants (SDM 2A FPATAN).
 *
 * The smaller of |x| and |y| over the larger is z in [0, 1]; with c the eighth below z,
 * atan z = atan c + atan((z - c) / (1 + z c)), where the last is below 1/8 and a Taylor series in
 * 128 bits. The result is within 0.51 units in the last place. */
#include "f80.h"
#include "wide.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* 1 / (2n + 1), in Q1.127. */
static const u128 odd_reciprocals[] = {
    WIDE(0x8000000000000000, 0x0000000000000000), WIDE(0x2aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaab),
    WIDE(0x1999999999999999, 0x999999999999999a), WIDE(0x1249249249249249, 0x2492492492492492),
    WIDE(0x0e38e38e38e38e38, 0xe38e38e38e38e38e), WIDE(0x0ba2e8ba2e8ba2e8, 0xba2e8ba2e8ba2e8c),
    WIDE(0x09d89d89d89d89d8, 0x9d89d89d89d89d8a), WIDE(0x0888888888888888, 0x8888888888888889),
    WIDE(0x0787878787878787, 0x8787878787878788), WIDE(0x06bca1af286bca1a, 0xf286bca1af286bca),
    WIDE(0x0618618618618618, 0x6186186186186186), WIDE(0x0590b21642c8590b, 0x21642c8590b21643),
    WIDE(0x051eb851eb851eb8, 0x51eb851eb851eb85), WIDE(0x04bda12f684bda12, 0xf684bda12f684bda),
    WIDE(0x0469ee58469ee584, 0x69ee58469ee5846a), WIDE(0x0421084210842108, 0x4210842108421084),
    WIDE(0x03e0f83e0f83e0f8, 0x3e0f83e0f83e0f84), WIDE(0x03a83a83a83a83a8, 0x3a83a83a83a83a84),
    WIDE(0x03759f22983759f2, 0x2983759f2298375a),
};

/* atan(n / 8), in Q1.127. */
static const u128 atan_eighths[] = {
    WIDE(0x0000000000000000, 0x0000000000000000), WIDE(0x0feadd4d5617b6e3, 0x2c897989f3e888ef),
    WIDE(0x1f5b75f92c80dd62, 0xadb8f3debef442fd), WIDE(0x2dec3283c9bde11c, 0xe2a8c848b73f9121),
    WIDE(0x3b58ce0ac3769ed1, 0x5bf9117b2f0ea341), WIDE(0x47802eaf7bfacfcd, 0xae41af0b32e21ba4),
    WIDE(0x525e3e8c9a7b8492, 0x0cd43f9522bed64f), WIDE(0x5c029f15e118cf39, 0xe596d2a90852221f),
    WIDE(0x6487ed5110b4611a, 0x62633145c06e0e69),
};

/* pi in Q2.126. */
static const u128 pi_wide = WIDE(0xc90fdaa22168c234, 0xc4c6628b80dc1cd1);

/* Of a number below 1/8. */
static struct real atan_small(struct real z)
{
    u128 factor = wide_series(odd_reciprocals, COUNT(odd_reciprocals), wide_square(z), true);

    return wide_scale(z, factor == WIDE_ONE ? WIDE_ONE - 1 : factor);
}

/* atan(small / large), 0 < small <= large. */
static struct real atan_ratio(struct real small, struct real large)
{
    int32_t distance = large.exp - small.exp;

    if (distance > 4)
        return atan_small(wide_div(small, large));

    /* With both as integers: (8 small - n large) / (8 large + n small), n = 8 small / large. */
    u128 x = (u128)large.hi << distance, y = small.hi;
    unsigned n = (unsigned)(8 * y / x);
    if (n == 0)
        return atan_small(wide_div(small, large));
    u128 top = 8 * y - n * x, bottom = 8 * x + n * y;
    u128 sum = atan_eighths[n];
    if (top) {
        struct real rest = atan_small(
            wide_div(real_normalize(false, 127, top), real_normalize(false, 127, bottom)));
        sum += wide_fraction(rest) >> 1;
    }
    struct real r = real_normalize(false, 0, sum);
    r.lo |= 1;
    return r;
}

/* quarters x pi/2 - angle, or + angle. */
static struct real turned(unsigned quarters, struct real angle, bool plus)
{
    u128 a = wide_fraction(angle) >> 2; /* in Q2.126, as pi */
    u128 base = quarters == 2 ? pi_wide : pi_wide >> 1;
    struct real r = real_normalize(false, 1, plus ? base + a : base - a);

    r.lo |= 1;
    return r;
}

/* A multiple of pi/4, from 1 to 4. */
static struct f80 quarter_turns(struct f80_env *env, bool sign, unsigned quarters)
{
    /* pi/4 x 3 needs two bits more than pi. */
    struct real r = real_normalize(sign, 1, quarters == 3 ? pi_wide / 4 * 3 : pi_wide);

    r.exp -= quarters == 1 ? 2 : quarters == 2 ? 1 : 0;
    r.lo |= 1;
    return f80_round_extended(env, r);
}

/* An axis or an infinity. */
static struct f80 atan_axis(struct f80_env *env, struct f80 y, struct f80 x)
{
    bool infinite_y = f80_classify(y) == F80_INFINITY, infinite_x = f80_classify(x) == F80_INFINITY;

    if (infinite_y && infinite_x)
        return quarter_turns(env, f80_sign(y), f80_sign(x) ? 3 : 1);
    if (infinite_y || (f80_classify(x) == F80_ZERO && f80_classify(y) != F80_ZERO))
        return quarter_turns(env, f80_sign(y), 2);
    if (f80_sign(x))
        return quarter_turns(env, f80_sign(y), 4);
    return f80_zero(f80_sign(y));
}

struct f80 f80_atan(struct f80_env *env, struct f80 y, struct f80 x)
{
    struct f80 out;

    if (f80_special2(env, y, x, &out))
        return out;
    if (f80_classify(y) == F80_ZERO || f80_classify(y) == F80_INFINITY ||
        f80_classify(x) == F80_ZERO || f80_classify(x) == F80_INFINITY)
        return atan_axis(env, y, x);

    struct real ry = f80_unpack(y), rx = f80_unpack(x), r;
    bool steep = ry.exp > rx.exp || (ry.exp == rx.exp && ry.hi > rx.hi);
    bool left = rx.sign;
    ry.sign = rx.sign = false;
    if (steep)
        r = turned(1, atan_ratio(rx, ry), left);
    else if (left)
        r = turned(2, atan_ratio(ry, rx), false);
    else
        r = atan_ratio(ry, rx);
    r.sign = f80_sign(y);
    return f80_round_extended(env, r);
}
