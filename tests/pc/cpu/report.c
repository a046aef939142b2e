/*
 * report.c: what the processor tells when it is asked to or must: traces of instructions and of
 * translations, undefined instructions, and the report of a triple fault. Tracing changes nothing.
 */
#include "rig.h"

#include <string.h>

static char told[16384];

static void keep(void *opaque, int level, const char *text)
{
    (void)opaque, (void)level;
    size_t used = strlen(told);
    if (used + strlen(text) + 2 < sizeof told) {
        strcat(told, text);
        strcat(told, "\n");
    }
}

static void listen(struct rig *rig)
{
    told[0] = 0;
    rig->cpu->bus.log = keep;
}

static void test_instructions_are_traced(void **state)
{
    struct rig *rig = *state;
    /* mov eax, 5; add eax, 2; int 40h */
    RIG_CODE_IS(rig, 0xb8, 5, 0, 0, 0, 0x83, 0xc0, 2, 0x0f, 0x0b);
    listen(rig);
    cpu_set_trace(rig->cpu, CPU_TRACE_INSNS);
    cpu_run(rig->cpu, 3);
    assert_non_null(strstr(told, "0010:00010000 b8 05 00 00 00 mov eax, 0x5 ; eax=00000000"));
    assert_non_null(strstr(told, "0010:00010005 83 c0 02 add eax, 0x2 ; eax=00000005"));
    assert_non_null(strstr(told, "0010:00010008 exception 06"));
    cpu_set_trace(rig->cpu, 0);
    told[0] = 0;
    rig_start(rig);
    cpu_run(rig->cpu, 2);
    assert_string_equal(told, "");
}

/* A loop that writes memory ends in the same registers and after as many instructions. */
static void test_a_trace_changes_nothing(void **state)
{
    struct rig *rig = *state;
    static const uint8_t loop[] = {0xb9, 100, 0, 0,    0,    0x89, 0x0c, 0x8d, 0,
                                   0,    3,   0, 0x01, 0xc8, 0xe2, 0xf5, 0xf4};
    uint64_t insns[2], result[2];
    for (unsigned traced = 0; traced < 2; traced++) {
        rig_put(rig, RIG_CODE, loop, sizeof loop);
        rig_start(rig);
        listen(rig);
        cpu_set_trace(rig->cpu, traced ? CPU_TRACE_INSNS | CPU_TRACE_MMU : 0);
        uint64_t before = cpu_insns(rig->cpu);
        assert_int_equal(cpu_run(rig->cpu, 10000), CPU_STOP_HALTED_IF);
        insns[traced] = cpu_insns(rig->cpu) - before;
        result[traced] = REG(rig, EAX);
    }
    assert_int_equal(insns[0], insns[1]);
    assert_int_equal(result[0], result[1]);
    assert_int_equal(result[1], 5050);
}

static void test_translations_are_traced(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xa1, 0, 0, 0x40, 0, 0xa1, 0, 0, 0x80, 0); /* mov eax, [400000h]; [800000h] */
    rig_put32(rig, 0x40000, 0x87);
    rig_put32(rig, 0x40004, 0x87); /* 4 MB is at 0 again */
    listen(rig);
    rig->cpu->cr3 = 0x40000;
    rig->cpu->cr4 = CR4_PSE;
    rig->cpu->cr0 |= CR0_PG;
    mmu_flush(rig->cpu, true);
    cpu_set_trace(rig->cpu, CPU_TRACE_MMU);
    cpu_run(rig->cpu, 2);
    assert_non_null(strstr(told, "tlb kernel linear=00400000 physical=00000000"));
    assert_non_null(strstr(told, "exception 0e error=00000000 cr2=00800000"));
    assert_null(strstr(told, "mov eax"));
}

static void test_undefined_instructions_are_told(void **state)
{
    struct rig *rig = *state;
    for (unsigned i = 0; i < 6; i++) {
        RIG_CODE_IS(rig, 0xeb, 0, 0x0f, 0x0a); /* jmp; 0f 0a */
        REG(rig, EBX) = 0x13572468;
        if (i == 0)
            listen(rig);
        cpu_run(rig->cpu, 2);
        assert_int_equal(rig_vector(rig), VEC_UD);
    }
    const char *first = strstr(told, "undefined instruction at ");
    assert_non_null(first);
    assert_non_null(strstr(first, "0010:00010002 0f 0a"));
    assert_non_null(strstr(first, "ebx=13572468"));
    assert_non_null(strstr(first, "blocks"));
    unsigned count = 0;
    for (const char *at = told; (at = strstr(at, "undefined instruction at")); at++)
        count++;
    assert_int_equal(count, 4);
}

/* UD2 is meant, and is told to nobody. */
static void test_ud2_is_not(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x0f, 0x0b);
    listen(rig);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_UD);
    assert_string_equal(told, "");
}

static void test_a_triple_fault_has_its_report(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xeb, 0x0e, [16] = 0x8e, 0xd8); /* jmp +16; mov ds, ax */
    REG(rig, EAX) = 0x1234;
    rig->cpu->idt_limit = 7;
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_SHUTDOWN);
    char report[2400];
    cpu_dump(rig->cpu, report, sizeof report);
    assert_non_null(strstr(report, "eax=00001234"));
    assert_non_null(strstr(report, "code 8e d8 mov ds, ax"));
    assert_non_null(strstr(report, "exception 13 error 1234 eip=00010010"));
    assert_non_null(strstr(report, "exception 8 error 0000"));
    assert_non_null(strstr(report, "blocks 00010000 00010010"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_instructions_are_traced),
        CASE(test_a_trace_changes_nothing),
        CASE(test_translations_are_traced),
        CASE(test_undefined_instructions_are_told),
        CASE(test_ud2_is_not),
        CASE(test_a_triple_fault_has_its_report),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
