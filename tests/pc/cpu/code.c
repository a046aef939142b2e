/*
 * code.c: code that changes is run as it then is, whoever changed it: the program itself up to the
 * very next instruction, or another writer. And it is cheap: nothing but the blocks hit is lost.
 */
#include "rig.h"

#include <string.h>

static void test_a_store_changes_the_next_instruction(void **state)
{
    struct rig *rig = *state;
    /* mov byte [next], 43h (inc ebx); inc eax; hlt */
    RIG_CODE_IS(rig, 0xc6, 0x05, 0x07, 0x00, 0x01, 0x00, 0x43, 0x40, 0xf4);
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(REG(rig, EAX), 0);
    assert_int_equal(REG(rig, EBX), 1);
    assert_int_equal(cpu_insns(rig->cpu), 3);
}

/* A push, a string, a locked exchange, an x87 store: every kind of store goes past the code map. */
static void test_every_kind_of_store_counts(void **state)
{
    static const struct {
        uint8_t bytes[8];
        unsigned length;
    } stores[] = {
        {{0xaa}, 1},             /* stosb */
        {{0xf3, 0xaa}, 2},       /* rep stosb */
        {{0x86, 0x07}, 2},       /* xchg [edi], al */
        {{0xf0, 0x00, 0x07}, 3}, /* lock add [edi], al */
        {{0x0f, 0xc0, 0x07}, 3}, /* xadd [edi], al */
        {{0x88, 0x07}, 2},       /* mov [edi], al */
        {{0xdb, 0x1f}, 2},       /* fistp dword [edi] */
        {{0x8f, 0x07}, 2},       /* pop dword [edi] */
    };
    struct rig *rig = *state;
    for (unsigned i = 0; i < sizeof stores / sizeof stores[0]; i++) {
        uint8_t code[32];
        unsigned n = stores[i].length;
        memcpy(code, stores[i].bytes, n);
        memset(code + n, 0x90, 16); /* where the store goes: NOPs become something else */
        code[n + 16] = 0xf4;
        for (int round = 0; round < 2; round++) {
            rig_put(rig, RIG_CODE, code, n + 17);
            rig_start(rig);
            REG(rig, EDI) = RIG_CODE + n;
            REG(rig, EAX) = i == 3 || i == 4 ? (uint8_t)(0x43 - 0x90) : 0x43; /* inc ebx */
            REG(rig, EBX) = 0;
            REG(rig, ECX) = 1;
            rig_put32(rig, RIG_STACK, 0x90909043);
            if (i == 6) { /* ST(0) = 90909043h as a negative number */
                rig_put32(rig, 0x30000, 0x90909043);
                /* fninit; fild dword [30000h] */
                static const uint8_t fild[] = {0xdb, 0xe3, 0xdb, 0x05, 0, 0, 3, 0};
                rig_put(rig, RIG_CODE - 8, fild, 8);
                rig->cpu->eip -= 8;
            }
            assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
            assert_int_equal(rig_vector(rig), -1);
            assert_int_equal(REG(rig, EBX), 1);
        }
    }
}

static void test_a_loop_may_rewrite_itself(void **state)
{
    struct rig *rig = *state;
    /* l: mov eax, 0; add [l+1], 1; add ebx, eax; cmp eax, 99; jne l; hlt */
    RIG_CODE_IS(rig, 0xb8, 0, 0, 0, 0, 0x83, 0x05, 0x01, 0x00, 0x01, 0x00, 0x01, 0x01, 0xc3, 0x83,
                0xf8, 99, 0x75, 0xed, 0xf4);
    assert_int_equal(cpu_run(rig->cpu, 10000), CPU_STOP_HALTED_IF);
    assert_int_equal(REG(rig, EBX), 99 * 100 / 2);
    assert_int_equal(cpu_insns(rig->cpu), 501);
}

static void test_another_writer_is_noticed(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0xf4);
    cpu_run(rig->cpu, 100);
    static const uint8_t other[] = {0x43, 0xf4};
    memcpy(rig->ram + RIG_CODE, other, 2);
    cpu_memory_written(rig->cpu, RIG_CODE, 2);
    rig_start(rig);
    cpu_run(rig->cpu, 100);
    assert_int_equal(REG(rig, EBX), 1);
}

/* An instruction over a page's end depends on both pages. */
static void test_both_pages_of_a_crossing_instruction_count(void **state)
{
    struct rig *rig = *state;
    static const uint8_t code[] = {0xb8, 1, 2, 3, 4, 0xf4}; /* mov eax, 4030201h; hlt */
    rig_put(rig, 0x10ffd, code, sizeof code);
    for (uint32_t i = 0; i < 6; i++) {
        rig_start(rig);
        rig->cpu->eip = 0x10ffd;
        uint8_t byte = (uint8_t)(0x10 + i);
        if (i && i < 5)
            rig_put(rig, 0x10ffd + i, &byte, 1);
        cpu_run(rig->cpu, 100);
        assert_int_equal(REG(rig, EAX), rig_get32(rig, 0x10ffe));
    }
}

/* Data in the same page as code, even in the same 64 bytes, costs no block that it does not hit. */
static void test_only_what_is_hit_is_lost(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xfe, 0x05, 0x20, 0x00, 0x01, 0x00, 0xe2, 0xf8, 0xf4); /* l: inc byte [l+20h];
                                                                              loop l; hlt */
    REG(rig, ECX) = 1000;
    assert_int_equal(cpu_run(rig->cpu, 1), CPU_STOP_BUDGET);
    cpu_run(rig->cpu, 20);
    uint8_t *arena = rig->cpu->arena_next;
    assert_int_equal(cpu_run(rig->cpu, 100000), CPU_STOP_HALTED_IF);
    assert_int_equal(rig->ram[RIG_CODE + 0x20], 1000 & 0xff);
    assert_true(rig->cpu->arena_next - arena < 4096);
}

/* The arena fills up and starts again, and nothing else happens. */
static void test_the_cache_may_overflow(void **state)
{
    struct rig *rig = *state;
    /* l: add [m+1], 1; jmp m; m: mov eax, 0; loop l; hlt: a new block each turn */
    RIG_CODE_IS(rig, 0x83, 0x05, 0x0a, 0x00, 0x01, 0x00, 0x01, 0xeb, 0x00, 0xb8, 0, 0, 0, 0, 0xe2,
                0xf0, 0xf4);
    REG(rig, ECX) = 400000;
    assert_int_equal(cpu_run(rig->cpu, 10000000), CPU_STOP_HALTED_IF);
    assert_int_equal(REG(rig, EAX), 400000);
}

static void test_code_in_device_memory_runs(void **state)
{
    struct rig *rig = *state;
    rig_start(rig);
    rig->in_value = 0x90; /* NOP wherever it looks */
    rig->cpu->eip = RIG_MMIO;
    cpu_run(rig->cpu, 5);
    assert_int_equal(rig->cpu->eip, RIG_MMIO + 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_store_changes_the_next_instruction, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_every_kind_of_store_counts, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_loop_may_rewrite_itself, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_another_writer_is_noticed, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_both_pages_of_a_crossing_instruction_count, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_only_what_is_hit_is_lost, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_the_cache_may_overflow, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_code_in_device_memory_runs, rig_setup, rig_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
