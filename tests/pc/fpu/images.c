/* images.c: the floating point state in memory: what the manual says of FNSTENV in its four
 * layouts, of FXSAVE and of reset, where the processor running the tests cannot be asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pc/cpu/fpu.h"

enum { FNSTENV = 6, FLDENV = 4 };

/* ST(0) a zero, ST(1) one, ST(2) infinity, the rest empty; CS:IP and DS:operand that show. */
static struct fpu sample(void)
{
    struct fpu fpu;

    fpu_reset(&fpu);
    x87_fninit(&fpu);
    fpu.status = 5 << 11 | X87_C3 | X87_PE;
    fpu.used = 0xe0;
    fpu.st[6].f = (struct f80){(uint64_t)1 << 63, 0x3fff};
    fpu.st[7].f = (struct f80){(uint64_t)1 << 63, 0x7fff};
    x87_note(&fpu, 0xdd, 0x5d, 0x1234, 0x8765);
    x87_note_operand(&fpu, 0x2345, 0x9abc);
    return fpu;
}

static uint32_t field32(const uint8_t *bytes, unsigned n)
{
    uint32_t v;

    memcpy(&v, bytes + 4 * n, sizeof(v));
    return v;
}

static uint16_t field16(const uint8_t *bytes, unsigned n)
{
    uint16_t v;

    memcpy(&v, bytes + 2 * n, sizeof(v));
    return v;
}

static void protected_32(void **state)
{
    static const uint32_t expected[] = {0xffff037f, 0xffff6820, 0xffff87ff, 0x00008765,
                                        0x055d1234, 0x00009abc, 0xffff2345};
    struct fpu fpu = sample();
    uint8_t bytes[28];

    (void)state;
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_PROTECTED_32);
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(field32(bytes, n), expected[n]);
}

static void protected_16(void **state)
{
    static const uint16_t expected[] = {0x037f, 0x6820, 0x87ff, 0x8765, 0x1234, 0x9abc, 0x2345};
    struct fpu fpu = sample();
    uint8_t bytes[14];

    (void)state;
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_PROTECTED_16);
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(field16(bytes, n), expected[n]);
}

/* 1234:8765 is 1AAA5h, 2345:9ABC is 2CF0Ch. */
static void real_32(void **state)
{
    static const uint32_t expected[] = {0xffff037f, 0xffff6820, 0xffff87ff, 0xffffaaa5,
                                        0x0000155d, 0xffffcf0c, 0x00002000};
    struct fpu fpu = sample();
    uint8_t bytes[28];

    (void)state;
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_REAL_32);
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(field32(bytes, n), expected[n]);
}

static void real_16(void **state)
{
    static const uint16_t expected[] = {0x037f, 0x6820, 0x87ff, 0xaaa5, 0x155d, 0xcf0c, 0x2000};
    struct fpu fpu = sample();
    uint8_t bytes[14];

    (void)state;
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_REAL_16);
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(field16(bytes, n), expected[n]);
}

static void environments_come_back(void **state)
{
    (void)state;
    for (int layout = X87_PROTECTED_16; layout <= X87_REAL_32; layout++) {
        struct fpu fpu = sample(), other;
        uint8_t bytes[28], again[28];
        unsigned size = layout == X87_PROTECTED_32 || layout == X87_REAL_32 ? 28 : 14;

        fpu_reset(&other);
        memcpy(other.st, fpu.st, sizeof(fpu.st));
        x87_store(&fpu, 0xd9, FNSTENV, bytes, (enum x87_layout)layout);
        x87_load(&other, 0xd9, FLDENV, bytes, (enum x87_layout)layout);
        x87_store(&other, 0xd9, FNSTENV, again, (enum x87_layout)layout);
        assert_memory_equal(bytes, again, size);
    }
}

/* A store that faults in memory must have changed nothing. */
static void stores_change_nothing_before_commit(void **state)
{
    (void)state;
    for (unsigned esc = 0xd8; esc <= 0xdf; esc++)
        for (unsigned reg = 0; reg < 8; reg++) {
            struct fpu fpu = sample(), before = fpu;
            uint8_t bytes[108];

            if (x87_memory_bytes((uint8_t)esc, (uint8_t)reg, true) >= 0)
                continue;
            struct x87_stored stored =
                x87_store(&fpu, (uint8_t)esc, (uint8_t)reg, bytes, X87_PROTECTED_32);
            assert_memory_equal(&fpu, &before, sizeof(fpu));
            x87_store_commit(&fpu, stored);
            x87_store_commit(&before, stored);
            assert_memory_equal(&fpu, &before, sizeof(fpu));
        }
}

static void fxsave_writes_what_the_mode_has(void **state)
{
    struct fpu fpu = sample();
    uint8_t bytes[512];

    (void)state;
    assert_int_equal(fpu_fxsave(&fpu, bytes, false, false), 160);
    assert_int_equal(fpu_fxsave(&fpu, bytes, false, true), 288);
    assert_int_equal(fpu_fxsave(&fpu, bytes, true, true), 416);
}

static void reserved_mxcsr_bits_are_refused(void **state)
{
    struct fpu fpu = sample(), before;
    uint8_t bytes[512] = {0};

    (void)state;
    fpu_fxsave(&fpu, bytes, false, true);
    fpu.mxcsr_mask = 0xffbf;
    before = fpu;
    for (unsigned bit = 0; bit < 32; bit++) {
        uint32_t mxcsr = (uint32_t)1 << bit;
        bool allowed = 0xffbf >> bit & 1;
        memcpy(bytes + 24, &mxcsr, sizeof(mxcsr));
        assert_int_equal(fpu_ldmxcsr(&fpu, mxcsr), allowed);
        fpu = before;
        assert_int_equal(fpu_fxrstor(&fpu, bytes, false, true), allowed);
        if (!allowed)
            assert_memory_equal(&fpu, &before, sizeof(fpu));
        fpu = before;
        assert_true(fpu_fxrstor(&fpu, bytes, false, false));
        assert_int_equal(fpu.mxcsr, before.mxcsr);
        fpu = before;
    }
}

/* SDM 3A table 9-1. */
static void reset_and_fninit_differ(void **state)
{
    struct fpu fpu;
    uint8_t bytes[28];

    (void)state;
    fpu_reset(&fpu);
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_PROTECTED_32);
    assert_int_equal(field32(bytes, 0) & 0xffff, 0x0040);
    assert_int_equal(field32(bytes, 1) & 0xffff, 0x0000);
    assert_int_equal(field32(bytes, 2) & 0xffff, 0x5555);
    assert_int_equal(fpu.mxcsr, 0x1f80);
    x87_fninit(&fpu);
    x87_store(&fpu, 0xd9, FNSTENV, bytes, X87_PROTECTED_32);
    assert_int_equal(field32(bytes, 0) & 0xffff, 0x037f);
    assert_int_equal(field32(bytes, 2) & 0xffff, 0xffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protected_32),
        cmocka_unit_test(protected_16),
        cmocka_unit_test(real_32),
        cmocka_unit_test(real_16),
        cmocka_unit_test(environments_come_back),
        cmocka_unit_test(stores_change_nothing_before_commit),
        cmocka_unit_test(fxsave_writes_what_the_mode_has),
        cmocka_unit_test(reserved_mxcsr_bits_are_refused),
        cmocka_unit_test(reset_and_fninit_differ),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
