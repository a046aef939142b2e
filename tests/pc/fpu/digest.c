/* digest.c: the same bits on every host and from every compiler: a digest of many operations with
 * one seed is what it was when all of them had been compared with a processor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "simd_case.h"
#include "x87_case.h"

/* To be renewed when operands are made differently (values.c), never for another reason: the
 * failing test prints what it found. */
enum { CASES = 200 };
static const uint64_t x87_digest = 0xaa8a2cee2387f5b7;
static const uint64_t simd_digest = 0x45bacd7389087baa;

static struct x87_case x87;
static struct simd_case simd;

/* FNV-1a. */
static uint64_t add_bytes(uint64_t digest, const void *bytes, size_t count)
{
    const uint8_t *byte = bytes;

    while (count--)
        digest = (digest ^ *byte++) * 0x100000001b3;
    return digest;
}

static uint64_t add_state(uint64_t digest, const struct fpu *fpu, const uint8_t memory[128])
{
    uint8_t image[512];

    digest = add_bytes(digest, image, fpu_fxsave(fpu, image, true, true));
    return add_bytes(digest, memory, 128);
}

static uint64_t digest_x87_form(uint64_t digest, uint8_t esc, uint8_t modrm)
{
    struct values values = {(uint64_t)esc << 8 | modrm};

    x87.esc = esc;
    x87.modrm = modrm;
    x87.operand16 = false;
    for (unsigned n = 0; n < CASES; n++) {
        x87_case_make(&x87, &values);
        x87_case_run_here(&x87);
        digest = add_state(digest, &x87.fpu, x87.memory);
        digest = add_bytes(digest, &x87.eflags, sizeof(x87.eflags));
    }
    return digest;
}

static void x87_is_the_same_everywhere(void **state)
{
    uint64_t digest = 0xcbf29ce484222325;

    (void)state;
    for (unsigned esc = 0xd8; esc <= 0xdf; esc++)
        for (unsigned modrm = 0; modrm < 0x100; modrm++) {
            bool form = modrm >= 0xc0 || (modrm < 0x40 && (modrm & 7) == 6);
            if (form && x87_form((uint8_t)esc, (uint8_t)modrm, true).kind != X87_UNDEFINED)
                digest = digest_x87_form(digest, (uint8_t)esc, (uint8_t)modrm);
        }
    printf("# x87 %#018llx\n", (unsigned long long)digest);
    assert_true(digest == x87_digest);
}

static void simd_is_the_same_everywhere(void **state)
{
    uint64_t digest = 0xcbf29ce484222325;

    (void)state;
    for (unsigned form = 0; form < simd_form_count; form++) {
        struct values values = {form};
        simd.form = &simd_forms[form];
        simd.in_memory = !simd_case_has_registers(simd.form);
        for (unsigned n = 0; n < CASES; n++) {
            simd.imm = simd.form->imm ? (uint8_t)n : 0;
            simd_case_make(&simd, &values);
            simd_case_run_here(&simd);
            digest = add_state(digest, &simd.fpu, simd.memory);
            digest = add_bytes(digest, &simd.eflags, sizeof(simd.eflags));
            digest = add_bytes(digest, &simd.rax, sizeof(simd.rax));
        }
    }
    printf("# simd %#018llx\n", (unsigned long long)digest);
    assert_true(digest == simd_digest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(x87_is_the_same_everywhere),
        cmocka_unit_test(simd_is_the_same_everywhere),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
