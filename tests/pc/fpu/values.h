/* values.h: operands that find faults: each class of number, extremes, neighbours, halves, and
 * plain random bits, from a seed that is printed. */
#ifndef HALTER_TESTS_VALUES_H
#define HALTER_TESTS_VALUES_H

#include <stdint.h>

#include "pc/cpu/fpu.h"

struct values {
    uint64_t state;
};

/* What a run does: its first argument is the number of cases a form, $HALTER_SEED its seed. Prints
 * both, so that a failure can be had again. */
struct values_plan {
    uint64_t seed;
    uint64_t cases;
};
struct values_plan values_plan(int argc, char **argv, uint64_t usual_cases);

uint64_t values_bits(struct values *v);
unsigned values_below(struct values *v, unsigned n);

struct f80 values_f80(struct values *v);
struct f80 values_f80_near(struct values *v, struct f80 other); /* close enough to interact */
uint64_t values_f64(struct values *v);
uint32_t values_f32(struct values *v);

/* Two factors whose product lies at an edge: of tiny, of too large, of exact. */
void values_pair_f80(struct values *v, struct f80 *a, struct f80 *b);
void values_pair_f64(struct values *v, uint64_t *a, uint64_t *b);
void values_pair_f32(struct values *v, uint32_t *a, uint32_t *b);

uint64_t values_integer(struct values *v, unsigned bits);
void values_bcd(struct values *v, uint8_t bytes[10]);

#endif
