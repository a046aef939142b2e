/*
 * flags.c: the lazy flags against the definitions of the manual: every 8-bit operand pair of every
 * operation that sets them, and every combination that SAHF and POPF can ask for.
 */
#include "rig.h"

static uint32_t expected(unsigned a, unsigned b, unsigned r, bool cf, bool subtract)
{
    bool of = (subtract ? (a ^ b) & (a ^ r) : ~(a ^ b) & (a ^ r)) & 0x80;
    unsigned ones = 0;
    for (unsigned i = 0; i < 8; i++)
        ones += r >> i & 1;
    return (cf ? FLAG_CF : 0) | (ones & 1 ? 0 : FLAG_PF) | ((a ^ b ^ r) & 0x10 ? FLAG_AF : 0) |
           (r & 0xff ? 0 : FLAG_ZF) | (r & 0x80 ? FLAG_SF : 0) | (of ? FLAG_OF : 0);
}

/* ADD, ADC, SBB, SUB, CMP of AL and BL with both carries in. */
static void test_bytes_exhaustively(void **state)
{
    struct rig *rig = *state;
    static const uint8_t opcodes[] = {0x00, 0x10, 0x18, 0x28, 0x38};
    for (unsigned n = 0; n < sizeof opcodes; n++) {
        uint8_t code[] = {opcodes[n], 0xd8}; /* op al, bl */
        rig_put(rig, RIG_CODE, code, 2);
        rig_start(rig);
        bool subtract = opcodes[n] >= 0x18, uses_carry = opcodes[n] == 0x10 || opcodes[n] == 0x18;
        for (unsigned i = 0; i < 0x20000; i++) {
            unsigned a = i & 0xff, b = i >> 8 & 0xff, carry = i >> 16;
            rig->cpu->eip = RIG_CODE;
            rig->cpu->reg[CPU_EAX] = a;
            rig->cpu->reg[CPU_EBX] = b;
            flags_set_status(rig->cpu, carry ? FLAG_CF : 0);
            cpu_run(rig->cpu, 1);
            unsigned c = uses_carry ? carry : 0;
            unsigned wide = subtract ? a - b - c : a + b + c, r = wide & 0xff;
            assert_int_equal(REG(rig, EAX), opcodes[n] == 0x38 ? a : r);
            assert_int_equal(flags_status(rig->cpu), expected(a, b, r, wide >> 8 & 1, subtract));
        }
    }
}

/* INC and DEC set all but CF. */
static void test_increments_keep_the_carry(void **state)
{
    struct rig *rig = *state;
    for (unsigned dec = 0; dec < 2; dec++) {
        uint8_t code[] = {0xfe, (uint8_t)(dec ? 0xc8 : 0xc0)};
        rig_put(rig, RIG_CODE, code, 2);
        rig_start(rig);
        for (unsigned i = 0; i < 0x400; i++) {
            unsigned a = i & 0xff, carry = i >> 8 & 1, overflow = i >> 9;
            rig->cpu->eip = RIG_CODE;
            rig->cpu->reg[CPU_EAX] = a;
            flags_set_status(rig->cpu, (carry ? FLAG_CF : 0) | (overflow ? FLAG_OF : 0));
            cpu_run(rig->cpu, 1);
            unsigned r = (dec ? a - 1 : a + 1) & 0xff;
            assert_int_equal(flags_status(rig->cpu), expected(a, 1, r, carry, dec));
        }
    }
}

static void test_every_combination_has_a_representation(void **state)
{
    struct rig *rig = *state;
    static const uint32_t bits[] = {FLAG_CF, FLAG_PF, FLAG_AF, FLAG_ZF, FLAG_SF, FLAG_OF};
    for (unsigned i = 0; i < 64; i++) {
        uint32_t flags = 0;
        for (unsigned k = 0; k < 6; k++)
            flags |= i >> k & 1 ? bits[k] : 0;
        flags_set_status(rig->cpu, flags);
        assert_int_equal(flags_status(rig->cpu), flags);
        for (unsigned cc = 0; cc < 16; cc++) {
            bool c = flags & FLAG_CF, z = flags & FLAG_ZF, s = flags & FLAG_SF, o = flags & FLAG_OF;
            const bool want[8] = {o, c, z, c || z, s, flags & FLAG_PF, s != o, z || s != o};
            assert_int_equal(flags_condition(rig->cpu, cc), want[cc >> 1] ^ (cc & 1));
        }
        flags_set_cf(rig->cpu, !(flags & FLAG_CF));
        assert_int_equal(flags_status(rig->cpu), flags ^ FLAG_CF);
        flags_set_zf(rig->cpu, !(flags & FLAG_ZF));
        assert_int_equal(flags_status(rig->cpu), flags ^ FLAG_CF ^ FLAG_ZF);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes_exhaustively, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_increments_keep_the_carry, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_every_combination_has_a_representation, rig_setup,
                                        rig_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
