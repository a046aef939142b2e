/* simd.c: every line of simd.def agrees with the processor in every bit, with registers and with
 * memory, under random MXCSR: rounding, DAZ, FTZ, masks; #XM comes when it must and changes
 * nothing. RCP and RSQRT have tests of their own: the manual leaves their bits open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simd_case.h"

static struct values_plan plan;
static struct simd_case test_case;

static bool is_approximation(const struct simd_form *form)
{
    return form->opcode == 0x52 || form->opcode == 0x53;
}

static void check_immediate(struct simd_case *c, struct values *values, uint64_t cases)
{
    uint8_t bytes[16];
    unsigned count = simd_case_encode(c, bytes);
    struct native_code *code = native_compile(bytes, count);

    for (uint64_t n = 0; n < cases; n++) {
        simd_case_make(c, values);
        simd_case_run(c, code);
        const char *difference = simd_case_difference(c);
        if (difference) {
            simd_case_print(c, difference);
            fail_msg("%s differs in %s", c->form->name, difference);
        }
    }
    native_free(code);
}

/* All predicates and shifts of interest, and a few immediates of any kind. */
static void check_form(const struct simd_form *form, bool in_memory)
{
    struct simd_case *c = &test_case;
    struct values values = {plan.seed ^ (uint64_t)(form - simd_forms) << 32};
    unsigned immediates = form->imm ? 20 : 1;

    c->form = form;
    c->in_memory = in_memory;
    for (unsigned n = 0; n < immediates; n++) {
        c->imm = !form->imm ? 0 : n < 10 ? (uint8_t)n : (uint8_t)values_bits(&values);
        check_immediate(c, &values, (plan.cases + immediates - 1) / immediates);
    }
}

static void check_prefix(enum simd_prefix prefix, bool in_memory)
{
    for (unsigned n = 0; n < simd_form_count; n++) {
        const struct simd_form *form = &simd_forms[n];
        if (form->prefix != prefix || is_approximation(form))
            continue;
        if (in_memory ? simd_case_has_memory(form) : simd_case_has_registers(form))
            check_form(form, in_memory);
    }
}

#define PREFIX(name, prefix)                                                                       \
    static void registers_##name(void **state)                                                     \
    {                                                                                              \
        (void)state;                                                                               \
        check_prefix(prefix, false);                                                               \
    }                                                                                              \
    static void memory_##name(void **state)                                                        \
    {                                                                                              \
        (void)state;                                                                               \
        check_prefix(prefix, true);                                                                \
    }

PREFIX(without_prefix, SIMD_NP)
PREFIX(with_66, SIMD_66)
PREFIX(with_f3, SIMD_F3)
PREFIX(with_f2, SIMD_F2)

/* ---- approximations ----------------------------------------------------------------------- */

static double as_double(uint32_t bits)
{
    float v;

    memcpy(&v, &bits, sizeof(v));
    return (double)v;
}

static bool is_normal(uint32_t bits)
{
    return (bits >> 23 & 0xff) - 1u < 0xfe;
}

/* Where a result may be the smallest normal number or, tiny, zero. */
static bool at_the_edge(uint32_t a, uint32_t b)
{
    return (a & 0x7fffffff) <= 0x00801000 && (b & 0x7fffffff) <= 0x00801000 && (a ^ b) >> 31 == 0;
}

/* A relative error below 1.5 x 2^-12 where both sides are normal, the processor's bits where not
 * (zeros, infinities, NaNs, denormals that count as zeros). */
static void check_approximation(const struct simd_form *form)
{
    struct simd_case *c = &test_case;
    struct values values = {plan.seed};
    uint8_t bytes[16];

    c->form = form;
    c->in_memory = false;
    struct native_code *code = native_compile(bytes, simd_case_encode(c, bytes));
    for (uint64_t n = 0; n < 20 * plan.cases; n++) {
        simd_case_make(c, &values);
        simd_case_run(c, code);
        union xmm theirs;
        memcpy(&theirs, c->native.after + 160 + 16, 16);
        union xmm ours = c->fpu.xmm[1], source = c->before.xmm[2];
        for (unsigned i = 0; i < 4; i++) {
            double ratio = as_double(ours.u32[i]) / as_double(theirs.u32[i]) - 1;
            bool close = is_normal(ours.u32[i]) && is_normal(theirs.u32[i]) &&
                         ratio * ratio < 9.0 / 4096 / 4096; /* each 1.5 x 2^-12 from the truth */
            if (ours.u32[i] != theirs.u32[i] && !close && !at_the_edge(ours.u32[i], theirs.u32[i]))
                fail_msg("%s of %08x is %08x, ours %08x", form->name, source.u32[i], theirs.u32[i],
                         ours.u32[i]);
        }
        assert_int_equal(c->fpu.mxcsr, c->before.mxcsr);
        assert_false(c->fault);
    }
    native_free(code);
}

static void approximations_are_close(void **state)
{
    unsigned checked = 0;

    (void)state;
    for (unsigned n = 0; n < simd_form_count; n++)
        if (is_approximation(&simd_forms[n])) {
            check_approximation(&simd_forms[n]);
            checked++;
        }
    assert_int_equal(checked, 4);
}

/* ---- the table ---------------------------------------------------------------------------- */

/* What simd.def does not have among the opcodes of MMX to SSE2, the processor either refuses or
 * has from a later extension. */
static void table_has_each_form_once(void **state)
{
    (void)state;
    for (unsigned n = 0; n < simd_form_count; n++)
        for (unsigned m = n + 1; m < simd_form_count; m++) {
            const struct simd_form *a = &simd_forms[n], *b = &simd_forms[m];
            if (a->prefix != b->prefix || a->opcode != b->opcode || a->reg != b->reg)
                continue;
            bool split = simd_case_has_registers(a) != simd_case_has_registers(b) &&
                         simd_case_has_memory(a) != simd_case_has_memory(b);
            if (!split)
                fail_msg("%s and %s have one encoding", a->name, b->name);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_without_prefix), cmocka_unit_test(memory_without_prefix),
        cmocka_unit_test(registers_with_66),        cmocka_unit_test(memory_with_66),
        cmocka_unit_test(registers_with_f3),        cmocka_unit_test(memory_with_f3),
        cmocka_unit_test(registers_with_f2),        cmocka_unit_test(memory_with_f2),
        cmocka_unit_test(approximations_are_close), cmocka_unit_test(table_has_each_form_once),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    plan = values_plan(argc, argv, 1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
