/* values.c: random operands, weighted towards the cases that differ. */
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

struct values_plan values_plan(int argc, char **argv, uint64_t usual_cases)
{
    struct values_plan plan = {0, usual_cases};
    const char *given = getenv("HALTER_SEED");

    if (argc > 1)
        plan.cases = strtoull(argv[1], NULL, 0);
    if (given)
        plan.seed = strtoull(given, NULL, 0);
    else if (getrandom(&plan.seed, sizeof(plan.seed), 0) != sizeof(plan.seed))
        abort();
    printf("# HALTER_SEED=%#llx, %llu cases a form\n", (unsigned long long)plan.seed,
           (unsigned long long)plan.cases);
    return plan;
}

/* splitmix64: any seed will do. */
uint64_t values_bits(struct values *v)
{
    uint64_t z = v->state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

unsigned values_below(struct values *v, unsigned n)
{
    return (unsigned)((values_bits(v) >> 32) * n >> 32);
}

/* Significands without the integer bit: random, sparse, dense, and runs of ones. */
static uint64_t fraction(struct values *v, unsigned bits)
{
    uint64_t mask = bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1;
    uint64_t r = values_bits(v);

    switch (values_below(v, 8)) {
    case 0:
        return 0;
    case 1:
        return mask;
    case 2:
        return (uint64_t)1 << (r % bits);
    case 3:
        return mask - ((uint64_t)1 << (r % bits));
    case 4:
        return mask & (mask << (r % bits)); /* short numbers: exact results */
    case 5:
        return r & mask & (mask << (bits - 1 - (r >> 40) % (bits / 2)));
    default:
        return r & mask;
    }
}

/* Next to multiples of pi/4, sqrt(1/2), ln 2 and 1: where series and reductions are at stake. */
static struct f80 landmark(struct values *v)
{
    static const uint64_t mantissas[] = {0xc90fdaa22168c235, 0x96cbe3f9990e91a8,
                                         0xb504f333f9de6484, 0xb17217f7d1cf79ac,
                                         0x8000000000000000, 0xffffffffffffffff};
    uint64_t m = mantissas[values_below(v, 6)] + values_below(v, 5) - 2;

    return (struct f80){m | (uint64_t)1 << 63,
                        (uint16_t)((values_bits(v) & 0x8000) | (0x3fff - 3 + values_below(v, 8)))};
}

struct f80 values_f80(struct values *v)
{
    uint64_t top = (uint64_t)1 << 63, m = fraction(v, 63);
    uint16_t sign = (uint16_t)(values_bits(v) & 0x8000);
    unsigned exp;

    switch (values_below(v, 21)) {
    case 0:
        return (struct f80){0, sign};
    case 1:
        return (struct f80){top, (uint16_t)(sign | 0x7fff)};
    case 2:
        return (struct f80){top | (uint64_t)1 << 62 | m, (uint16_t)(sign | 0x7fff)};
    case 3:
        return (struct f80){top | (m & ~((uint64_t)1 << 62)), (uint16_t)(sign | 0x7fff)};
    case 4:
        return (struct f80){m, sign};
    case 5:
        return (struct f80){top | m, sign}; /* pseudo-denormal */
    case 6:
        return (struct f80){m, (uint16_t)(sign | (1 + values_below(v, 0x7fff)))}; /* unsupported */
    case 7:
        exp = 1 + values_below(v, 70);
        break;
    case 8:
        exp = 0x7ffe - values_below(v, 70);
        break;
    case 9: /* where double and single end */
        exp = 0x3fff - 1090 + values_below(v, 80);
        if (values_bits(v) & 1) {
            static const unsigned ends[] = {0x3fff - 1023, 0x3fff + 1023, 0x3fff - 127,
                                            0x3fff + 127};
            exp = ends[values_below(v, 4)];
        }
        break;
    case 10:
        exp = 0x3fff + 1000 + values_below(v, 40);
        break;
    case 11:
        exp = 0x3fff - 155 + values_below(v, 40);
        break;
    case 12:
        exp = 0x3fff + 110 + values_below(v, 30);
        break;
    case 13:
        exp = values_below(v, 0x7fff);
        break;
    case 14:
        return landmark(v);
    default:
        exp = 0x3fff - 66 + values_below(v, 132);
        break;
    }
    return (struct f80){top | m, (uint16_t)(sign | exp)};
}

struct f80 values_f80_near(struct values *v, struct f80 other)
{
    unsigned exp = other.sign_exponent & 0x7fff;

    switch (values_below(v, 8)) {
    case 0: /* the same, or its negative */
        other.sign_exponent ^= (uint16_t)(values_bits(v) & 0x8000);
        return other;
    case 1: /* a neighbour */
        other.mantissa += (uint64_t)values_below(v, 5) - 2;
        return other;
    case 2: /* something that overlaps or just does not */
    case 3:
        exp = (exp + values_below(v, 140) - 70) & 0x7fff;
        return (struct f80){(uint64_t)1 << 63 | fraction(v, 63),
                            (uint16_t)((values_bits(v) & 0x8000) | exp)};
    default:
        return values_f80(v);
    }
}

static uint64_t ieee(struct values *v, unsigned exp_bits, unsigned fraction_bits)
{
    unsigned exp_max = (1u << exp_bits) - 1, bias = exp_max >> 1, exp;
    uint64_t sign = values_bits(v) & 1, m = fraction(v, fraction_bits);
    uint64_t quiet = (uint64_t)1 << (fraction_bits - 1);

    switch (values_below(v, 16)) {
    case 0:
        exp = 0;
        m = 0;
        break;
    case 1:
        exp = exp_max;
        m = 0;
        break;
    case 2:
        exp = exp_max;
        m |= quiet;
        break;
    case 3:
        exp = exp_max;
        m = (m & ~quiet) | 1;
        break;
    case 4:
        exp = 0;
        break;
    case 5:
        exp = 1 + values_below(v, 2 * fraction_bits);
        break;
    case 6:
        exp = exp_max - 1 - values_below(v, 2 * fraction_bits);
        break;
    case 7:
        exp = values_below(v, exp_max);
        break;
    case 8:
        exp = bias / 2 - 4 + values_below(v, 8);
        break;
    default:
        exp = bias - fraction_bits - 2 + values_below(v, 2 * fraction_bits + 15);
        break;
    }
    return (sign << exp_bits | exp) << fraction_bits | m;
}

uint64_t values_f64(struct values *v)
{
    return ieee(v, 11, 52);
}

uint32_t values_f32(struct values *v)
{
    return (uint32_t)ieee(v, 8, 23);
}

/* Biased exponents and fractions of `bits` bits. */
struct parts {
    unsigned exp;
    uint64_t fraction;
};

static void edge_pair(struct values *v, unsigned exp_max, unsigned bits, struct parts *a,
                      struct parts *b)
{
    uint64_t mask = ((uint64_t)1 << bits) - 1, r = values_bits(v);
    unsigned bias = exp_max >> 1, length = (unsigned)(r >> 8) % bits;

    a->exp = 1 + (unsigned)(r >> 32) % (bias - 1);
    switch (r & 3) {
    case 0: /* a trifle below the smallest normal number: all ones times a power of two */
        b->exp = bias - a->exp;
        a->fraction = mask - values_below(v, 3);
        b->fraction = values_below(v, 2);
        break;
    case 1: /* about the largest number */
        a->exp += bias;
        b->exp = exp_max - 1 + bias - a->exp;
        a->fraction = mask - values_below(v, 3);
        b->fraction = values_below(v, 3);
        break;
    default: /* odd significands that together have one bit more or less than fits */
        a->exp = b->exp = bias;
        a->fraction =
            (mask & mask << (bits - length)) | (length ? (uint64_t)1 << (bits - length) : 0);
        length = bits - length + (unsigned)(r & 1);
        length = length > bits ? bits : length;
        b->fraction = (values_bits(v) & mask & mask << (bits - length)) |
                      (length ? (uint64_t)1 << (bits - length) : 0);
        break;
    }
}

void values_pair_f80(struct values *v, struct f80 *a, struct f80 *b)
{
    uint64_t top = (uint64_t)1 << 63;
    struct parts x, y;

    edge_pair(v, 0x7fff, 63, &x, &y);
    *a = (struct f80){top | x.fraction, (uint16_t)((values_bits(v) & 0x8000) | x.exp)};
    *b = (struct f80){top | y.fraction, (uint16_t)((values_bits(v) & 0x8000) | y.exp)};
}

void values_pair_f64(struct values *v, uint64_t *a, uint64_t *b)
{
    struct parts x, y;

    edge_pair(v, 0x7ff, 52, &x, &y);
    *a = values_bits(v) << 63 | (uint64_t)x.exp << 52 | x.fraction;
    *b = values_bits(v) << 63 | (uint64_t)y.exp << 52 | y.fraction;
}

void values_pair_f32(struct values *v, uint32_t *a, uint32_t *b)
{
    struct parts x, y;

    edge_pair(v, 0xff, 23, &x, &y);
    *a = (uint32_t)values_bits(v) << 31 | x.exp << 23 | (uint32_t)x.fraction;
    *b = (uint32_t)values_bits(v) << 31 | y.exp << 23 | (uint32_t)y.fraction;
}

uint64_t values_integer(struct values *v, unsigned bits)
{
    uint64_t r = values_bits(v), top = (uint64_t)1 << (bits - 1);

    switch (values_below(v, 6)) {
    case 0:
        return values_below(v, 5) - 2u + (uint64_t)0;
    case 1:
        return top + values_below(v, 5) - 2;
    case 2:
        return (uint64_t)1 << (r % bits);
    default:
        return r >> values_below(v, bits);
    }
}

void values_bcd(struct values *v, uint8_t bytes[10])
{
    unsigned digits = values_below(v, 19);

    for (unsigned i = 0; i < 9; i++) {
        unsigned low = 2 * i < digits ? values_below(v, 10) : 0;
        unsigned high = 2 * i + 1 < digits ? values_below(v, 10) : 0;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    bytes[9] = (uint8_t)values_bits(v);
}
