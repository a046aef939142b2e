/* x87.c: every x87 form agrees with the processor in every bit: registers, status, tags, memory,
 * EFLAGS; under all rounding and precision modes and masks, with empty and full stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "x87_case.h"

static struct values_plan plan;
static struct x87_case test_case;

static struct native_code *compile(uint8_t esc, uint8_t modrm, bool operand16)
{
    const uint8_t bytes[] = {0x66, esc, modrm};

    return operand16 ? native_compile(bytes, 3) : native_compile(bytes + 1, 2);
}

static void check_form(uint8_t esc, uint8_t modrm, bool operand16)
{
    struct native_code *code = compile(esc, modrm, operand16);
    struct values values = {plan.seed ^ (uint64_t)(esc << 8 | modrm) << 32};
    struct x87_case *c = &test_case;

    c->esc = esc;
    c->modrm = modrm;
    c->operand16 = operand16;
    /* Memory forms are few, and have the ends of their formats besides. */
    uint64_t cases = modrm < 0xc0 ? 8 * plan.cases : plan.cases;
    for (uint64_t n = 0; n < cases; n++) {
        x87_case_make(c, &values);
        x87_case_run(c, code);
        const char *difference = x87_case_difference(c);
        if (difference) {
            x87_case_print(c, difference);
            fail_msg("%02x %02x differs in %s", esc, modrm, difference);
        }
    }
    native_free(code);
}

/* The next of the 64 register forms and 8 memory forms of an escape, all of them defined. */
static void check_escape(uint8_t esc)
{
    for (unsigned modrm = 6; modrm < 0x100; modrm += modrm < 0x3e ? 8 : 1) {
        if (modrm == 0x3f)
            modrm = 0xc0;
        if (x87_form(esc, (uint8_t)modrm, true).kind != X87_UNDEFINED)
            check_form(esc, (uint8_t)modrm, false);
    }
}

#define ESCAPE(name, esc)                                                                          \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        check_escape(esc);                                                                         \
    }

ESCAPE(forms_of_d8, 0xd8)
ESCAPE(forms_of_d9, 0xd9)
ESCAPE(forms_of_da, 0xda)
ESCAPE(forms_of_db, 0xdb)
ESCAPE(forms_of_dc, 0xdc)
ESCAPE(forms_of_dd, 0xdd)
ESCAPE(forms_of_de, 0xde)
ESCAPE(forms_of_df, 0xdf)

static void environments_of_16_bits(void **state)
{
    (void)state;
    check_form(0xd9, 0x26, true); /* FLDENV */
    check_form(0xd9, 0x36, true); /* FNSTENV */
    check_form(0xdd, 0x26, true); /* FRSTOR */
    check_form(0xdd, 0x36, true); /* FNSAVE */
}

/* SSE3's, which no model has. */
static bool is_fisttp(unsigned esc, unsigned modrm)
{
    return modrm == 0x0e && (esc == 0xdb || esc == 0xdd || esc == 0xdf);
}

static void undefined_forms_are_undefined(void **state)
{
    struct x87_case *c = &test_case;
    unsigned checked = 0;

    (void)state;
    for (unsigned esc = 0xd8; esc <= 0xdf; esc++) {
        for (unsigned modrm = 6; modrm < 0x100; modrm += modrm < 0x3e ? 8 : 1) {
            if (modrm == 0x3f)
                modrm = 0xc0;
            struct native_code *code = compile((uint8_t)esc, (uint8_t)modrm, false);
            struct values values = {plan.seed};
            c->esc = (uint8_t)esc;
            c->modrm = (uint8_t)modrm;
            c->operand16 = false;
            x87_case_make(c, &values);
            x87_case_run(c, code);
            native_free(code);
            bool undefined = x87_form((uint8_t)esc, (uint8_t)modrm, true).kind == X87_UNDEFINED;
            if (undefined != c->native.undefined && !is_fisttp(esc, modrm))
                fail_msg("%02x %02x: %s", esc, modrm, undefined ? "defined" : "undefined");
            checked++;
        }
    }
    assert_int_equal(checked, 8 * (64 + 8));
}

/* Whether an exception that waits is reported by this instruction, or outwaited. */
static void waiting_forms_wait(void **state)
{
    struct x87_case *c = &test_case;

    (void)state;
    for (unsigned esc = 0xd8; esc <= 0xdf; esc++) {
        for (unsigned modrm = 6; modrm < 0x100; modrm += modrm < 0x3e ? 8 : 1) {
            if (modrm == 0x3f)
                modrm = 0xc0;
            struct x87_form form = x87_form((uint8_t)esc, (uint8_t)modrm, true);
            if (form.kind == X87_UNDEFINED)
                continue;
            struct native_code *code = compile((uint8_t)esc, (uint8_t)modrm, false);
            struct values values = {plan.seed};
            c->esc = (uint8_t)esc;
            c->modrm = (uint8_t)modrm;
            c->operand16 = false;
            x87_case_make(c, &values);
            c->before.control = 0x0340;
            c->before.status = X87_ES | X87_B | X87_ZE;
            x87_case_run(c, code);
            native_free(code);
            if (c->native.trapped != form.waits)
                fail_msg("%02x %02x: %s", esc, modrm, form.waits ? "does not wait" : "waits");
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_of_d8),
        cmocka_unit_test(forms_of_d9),
        cmocka_unit_test(forms_of_da),
        cmocka_unit_test(forms_of_db),
        cmocka_unit_test(forms_of_dc),
        cmocka_unit_test(forms_of_dd),
        cmocka_unit_test(forms_of_de),
        cmocka_unit_test(forms_of_df),
        cmocka_unit_test(environments_of_16_bits),
        cmocka_unit_test(undefined_forms_are_undefined),
        cmocka_unit_test(waiting_forms_wait),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    plan = values_plan(argc, argv, 1000);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
