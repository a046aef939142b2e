/* transcendental.c: the functions of x87 that no finite sum gives: correctly rounded on vectors
 * computed elsewhere with hundreds of bits, and within one unit in the last place of the processor
 * on random operands, with everything else equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "x87_case.h"

/* ModRM after D9. */
enum function {
    EXP2M1 = 0xf0,
    YL2X = 0xf1,
    TAN = 0xf2,
    ATAN = 0xf3,
    YL2XP1 = 0xf9,
    SINCOS = 0xfb,
    SIN = 0xfe,
    COS = 0xff
};

static struct values_plan plan;
static struct x87_case test_case;

/* ---- vectors ------------------------------------------------------------------------------ */

struct vector {
    uint8_t function;
    struct f80 st0, st1, result;
};

static const struct vector vectors[] = {
#include "transcendental.inc"
};

static struct f80 run(const struct vector *v)
{
    struct fpu fpu;

    fpu_reset(&fpu);
    x87_fninit(&fpu);
    fpu.status = 6 << 11;
    fpu.used = 0xc0;
    fpu.st[6].f = v->st0;
    fpu.st[7].f = v->st1;
    x87_register(&fpu, 0xd9, v->function, 0);
    assert_int_equal(fpu.status & (X87_IE | X87_SF), 0);
    if (v->function == TAN || v->function == SIN || v->function == COS || v->function == EXP2M1)
        return fpu.st[6].f;
    return fpu.st[7].f;
}

static void vectors_are_correctly_rounded(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(vectors) / sizeof(vectors[0]); n++) {
        const struct vector *v = &vectors[n];
        struct f80 result = run(v);
        if (result.mantissa != v->result.mantissa ||
            result.sign_exponent != v->result.sign_exponent)
            fail_msg("vector %zu (%02x): %04x %016llx", n, v->function, result.sign_exponent,
                     (unsigned long long)result.mantissa);
    }
}

/* ---- the processor ------------------------------------------------------------------------ */

#if defined(__x86_64__)
static void check(enum function function)
{
    const uint8_t bytes[] = {0xd9, (uint8_t)function};
    struct native_code *code = native_compile(bytes, 2);
    struct values values = {plan.seed ^ (uint64_t)function << 32};
    struct x87_case *c = &test_case;
    uint64_t last_place = 0, direction = 0;

    c->esc = 0xd9;
    c->modrm = (uint8_t)function;
    for (uint64_t n = 0; n < plan.cases; n++) {
        x87_case_make(c, &values);
        x87_case_run(c, code);
        const char *difference = x87_case_difference(c);
        if (difference) {
            x87_case_print(c, difference);
            fail_msg("d9 %02x differs in %s", function, difference);
        }
        last_place += x87_case_last_place_differs(c);
        direction += ((c->fpu.status ^ c->native.after[2] ^ c->native.after[3] << 8) & X87_C1) != 0;
    }
    native_free(code);
    printf("# d9 %02x: of %llu cases %llu are 1 unit in the last place apart, none more; C1 of "
           "%llu\n",
           function, (unsigned long long)plan.cases, (unsigned long long)last_place,
           (unsigned long long)direction);
}

static void within_a_unit_of_the_processor(void **state)
{
    static const enum function functions[] = {EXP2M1, YL2X, TAN, ATAN, YL2XP1, SINCOS, SIN, COS};

    (void)state;
    for (size_t n = 0; n < sizeof(functions) / sizeof(functions[0]); n++)
        check(functions[n]);
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_correctly_rounded),
#if defined(__x86_64__)
        cmocka_unit_test(within_a_unit_of_the_processor),
#endif
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    plan = values_plan(argc, argv, 10000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
