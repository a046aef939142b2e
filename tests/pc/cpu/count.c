/*
 * count.c: exact counts. An event lands after exactly N instructions however the run was sliced,
 * bus functions see the exact count, a fault gives back what did not happen, a REP iteration counts
 * one.
 */
#include "rig.h"

/* Four increments, then a jump back: five instructions a turn. */
#define LOOP 0x40, 0x43, 0x41, 0x42, 0xeb, 0xfa /* inc eax, ebx, ecx, edx; jmp -6 */

static void test_every_budget_is_exact(void **state)
{
    struct rig *rig = *state;
    for (uint64_t n = 1; n < 200; n++) {
        RIG_CODE_IS(rig, LOOP);
        uint64_t before = cpu_insns(rig->cpu);
        assert_int_equal(cpu_run(rig->cpu, n), CPU_STOP_BUDGET);
        assert_int_equal(cpu_insns(rig->cpu) - before, n);
        assert_int_equal(REG(rig, EAX), (n + 4) / 5);
        assert_int_equal(REG(rig, EDX), (n + 1) / 5);
        assert_int_equal(rig->cpu->eip, RIG_CODE + n % 5);
    }
}

static void test_bus_functions_see_the_count(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0xe6, 0x80, 0x40, 0x40, 0xe4, 0x81, 0xa2, 0, 0x80, 0x0b, 0,
                0xf4); /* inc; out 80h, al; inc; inc; in al, 81h; mov [b8000h], al; hlt */
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(rig->event_count, 3);
    assert_int_equal(rig->events[0].insns, 1);
    assert_int_equal(rig->events[1].insns, 4);
    assert_int_equal(rig->events[2].insns, 5);
    assert_int_equal(rig->events[2].kind, 'w');
    assert_int_equal(cpu_insns(rig->cpu), 7);
}

static void ask_exit(struct rig *rig, uint16_t port, uint32_t value)
{
    (void)port, (void)value;
    cpu_request_exit(rig->cpu);
}

/* Also when the access that asked was in the middle of a block, by plain MOV. */
static void test_a_requested_exit_is_after_the_instruction(void **state)
{
    struct rig *rig = *state;
    rig->on_out = ask_exit;
    RIG_CODE_IS(rig, 0x40, 0xe6, 0x80, 0x40, 0xa2, 0, 0x80, 0x0b, 0, 0x40, 0x40,
                0xf4);                        /* inc; out; inc; mov [b8000h], al; inc; inc; hlt */
    for (int round = 0; round < 2; round++) { /* the second time the block is known */
        rig_start(rig);
        REG(rig, EAX) = 0;
        assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_REQUESTED);
        assert_int_equal(rig->cpu->eip, RIG_CODE + 3);
        assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_REQUESTED);
        assert_int_equal(rig->cpu->eip, RIG_CODE + 9);
        assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
        assert_int_equal(REG(rig, EAX), 4);
    }
    assert_int_equal(cpu_insns(rig->cpu), 14);
}

static void test_a_fault_gives_back_its_instruction(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0x40, 0x0f, 0x0b, 0x40, 0x40, 0x40); /* inc; inc; ud2; inc... */
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(rig_vector(rig), VEC_UD);
    assert_int_equal(cpu_insns(rig->cpu), 3); /* two INCs and the handler's HLT */
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 2);
}

static void test_an_iteration_counts_one(void **state)
{
    struct rig *rig = *state;
    for (uint64_t n = 1; n <= 60; n++) {
        RIG_CODE_IS(rig, 0xf3, 0xaa, 0x90, 0x90); /* rep stosb; nop; nop */
        REG(rig, EDI) = 0x30ff0;                  /* over a page's end */
        REG(rig, ECX) = 50;
        cpu_run(rig->cpu, n);
        uint32_t iterations = n < 50 ? (uint32_t)n : 50;
        assert_int_equal(REG(rig, ECX), 50 - iterations);
        assert_int_equal(REG(rig, EDI), 0x30ff0 + iterations);
        assert_int_equal(rig->cpu->eip >= RIG_CODE + 2, n >= 50);
    }
    RIG_CODE_IS(rig, 0xf3, 0xaa, 0x40, 0xf4);
    uint64_t before = cpu_insns(rig->cpu);
    REG(rig, ECX) = 0;
    cpu_run(rig->cpu, 100);
    assert_int_equal(cpu_insns(rig->cpu) - before, 3); /* none still counts one */
}

static void raise_line(struct rig *rig, uint16_t port, uint32_t value)
{
    (void)port, (void)value;
    cpu_set_intr(rig->cpu, true);
}

static void test_an_interrupt_follows_the_instruction(void **state)
{
    struct rig *rig = *state;
    rig->on_out = raise_line;
    rig->vector = 0x33;
    RIG_CODE_IS(rig, 0xa2, 0, 0x80, 0x0b, 0, 0x40, 0x40, 0xf4); /* mov [b8000h], al; inc; inc */
    rig->cpu->eflags |= FLAG_IF;
    cpu_run(rig->cpu, 100);
    assert_int_equal(rig_vector(rig), 0x33);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 5);
    assert_int_equal(rig_pushed(rig, 2) & FLAG_IF, FLAG_IF);
    assert_int_equal(rig->cpu->eflags & FLAG_IF, 0);
    assert_int_equal(cpu_insns(rig->cpu), 2);
}

/* The instruction after STI and MOV SS is run before a waiting interrupt is taken. */
static void test_the_shadow_covers_one_instruction(void **state)
{
    struct rig *rig = *state;
    rig->vector = 0x33;
    RIG_CODE_IS(rig, 0xfb, 0x40, 0x40, 0xf4); /* sti; inc; inc; hlt */
    cpu_set_intr(rig->cpu, true);
    cpu_run(rig->cpu, 100);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 2);
    RIG_CODE_IS(rig, 0xfb, 0x8e, 0xd2, 0x40, 0xf4); /* sti; mov ss, dx; inc; hlt */
    REG(rig, EDX) = 0x18;
    cpu_set_intr(rig->cpu, true);
    cpu_run(rig->cpu, 100);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 4);
    /* Whichever way the run is sliced. */
    rig_start(rig);
    REG(rig, EDX) = 0x18;
    cpu_set_intr(rig->cpu, true);
    for (int i = 0; i < 4; i++)
        cpu_run(rig->cpu, 1);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 4);
}

static void test_halting_says_whether_it_can_end(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xfb, 0xf4, 0x40, 0xfa, 0xf4); /* sti; hlt; inc; cli; hlt */
    rig->vector = 0x33;
    static const uint8_t iret[] = {0xcf};
    rig_put(rig, RIG_HANDLERS + 0x33, iret, 1);
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED);
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED);
    cpu_set_intr(rig->cpu, true);
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(REG(rig, EAX), 1);
}

static void test_time_stamps_follow_the_count(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x90, 0x90, 0x0f, 0x31, 0x89, 0xc3, 0x90, 0x0f, 0x31,
                0xf4); /* nop; nop; rdtsc; mov ebx, eax; nop; rdtsc; hlt */
    cpu_run(rig->cpu, 100);
    assert_int_equal(REG(rig, EBX), 20);
    assert_int_equal(REG(rig, EAX), 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_budget_is_exact, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_bus_functions_see_the_count, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_requested_exit_is_after_the_instruction, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_fault_gives_back_its_instruction, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_an_iteration_counts_one, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_an_interrupt_follows_the_instruction, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_the_shadow_covers_one_instruction, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_halting_says_whether_it_can_end, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_time_stamps_follow_the_count, rig_setup, rig_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
