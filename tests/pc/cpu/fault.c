/*
 * fault.c: exceptions, interrupts and privilege (SDM 3A 5, 6): what is pushed where, which error
 * code, what a fault leaves alone, double and triple faults, and the ways in and out of ring 3.
 */
#include "rig.h"

/* Each fault: its code, its vector and error code, in ring 0 or ring 3. */
static void test_vectors_and_error_codes(void **state)
{
    static const struct {
        uint8_t code[8];
        bool user;
        int vector;
        int error; /* -1: none is pushed */
    } cases[] = {
        {{0xf7, 0xf1}, false, VEC_DE, -1},                  /* div ecx, ECX = 0 */
        {{0x0f, 0x0b}, false, VEC_UD, -1},                  /* ud2 */
        {{0xf0, 0x90}, false, VEC_UD, -1},                  /* lock nop */
        {{0xcc}, true, VEC_BP, -1},                         /* int3 */
        {{0xcd, 0x33}, true, VEC_GP, 0x33 * 8 + 2},         /* int 33h: DPL 0 */
        {{0xcd, 0x80}, true, 0x80, -1},                     /* int 80h: DPL 3 */
        {{0xfa}, true, VEC_GP, 0},                          /* cli */
        {{0xe4, 0x80}, true, VEC_GP, 0},                    /* in al, 80h */
        {{0x0f, 0x20, 0xc0}, true, VEC_GP, 0},              /* mov eax, cr0 */
        {{0x0f, 0x22, 0xe0}, false, VEC_GP, 0},             /* mov cr4, eax: reserved */
        {{0x0f, 0x32}, false, VEC_GP, 0},                   /* rdmsr of none */
        {{0x8e, 0xd8}, false, VEC_GP, 0xfffc},              /* mov ds, ax: no such */
        {{0x8e, 0xd1}, false, VEC_GP, 0},                   /* mov ss, cx: null */
        {{0x8e, 0xca}, false, VEC_UD, -1},                  /* mov cs, dx */
        {{0x8e, 0xd3}, true, VEC_GP, 0x18},                 /* mov ss, bx: ring 0's */
        {{0x8e, 0xdb}, true, VEC_GP, 0x18},                 /* mov ds, bx */
        {{0xea, 0, 0, 0, 0, 0x18, 0}, false, VEC_GP, 0x18}, /* jmp 18h:0: data */
        {{0xcf}, true, VEC_GP, 0},                          /* iret with a null CS */
        {{0x9b}, false, -1, -1},                            /* fwait: nothing waits */
    };
    struct rig *rig = *state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const uint8_t hlt[] = {0xf4};
        rig_put(rig, RIG_CODE, cases[i].code, 8);
        rig_put(rig, RIG_CODE + 8, hlt, 1);
        if (cases[i].user)
            rig_start_user(rig);
        else
            rig_start(rig);
        REG(rig, EAX) = 0xffffffff;
        REG(rig, EBX) = 0x18;
        if (cases[i].code[1] == 0x32)
            REG(rig, ECX) = 0x12345;
        cpu_run(rig->cpu, 1);
        if (cases[i].vector < 0) {
            assert_int_equal(rig_vector(rig), -1);
            continue;
        }
        assert_int_equal(rig_vector(rig), cases[i].vector);
        unsigned at = cases[i].error >= 0;
        if (at)
            assert_int_equal(rig_pushed(rig, 0), cases[i].error);
        bool software = cases[i].code[0] == 0xcc || cases[i].vector == 0x80;
        uint32_t length = cases[i].code[0] == 0xcc ? 1 : 2;
        assert_int_equal(rig_pushed(rig, at), RIG_CODE + (software ? length : 0));
        if (cases[i].user) {
            assert_int_equal(rig_pushed(rig, at + 1), 0x23);
            assert_int_equal(rig_pushed(rig, at + 3), RIG_STACK);
            assert_int_equal(rig_pushed(rig, at + 4), 0x2b);
            assert_int_equal(rig->cpu->cpl, 0);
            assert_int_equal(rig->cpu->seg[SEG_SS].selector, 0x18);
        }
    }
}

/* An instruction that faults has changed nothing: pop [bad] keeps ESP, xadd its register. */
static void test_faults_change_nothing(void **state)
{
    static const uint8_t codes[][8] = {
        {0x8f, 0x05, 0, 0, 0, 0x80},       /* pop dword [80000000h] */
        {0x0f, 0xc1, 0x05, 0, 0, 0, 0x80}, /* xadd [80000000h], eax */
        {0x0f, 0xb1, 0x05, 0, 0, 0, 0x80}, /* cmpxchg */
        {0x87, 0x05, 0, 0, 0, 0x80},       /* xchg */
        {0x11, 0x05, 0, 0, 0, 0x80},       /* adc */
        {0xff, 0x05, 0, 0, 0, 0x80},       /* inc */
        {0xff, 0x15, 0, 0, 0, 0x80},       /* call [80000000h] */
        {0xff, 0x35, 0, 0, 0, 0x80},       /* push */
        {0xc1, 0x05, 0, 0, 0, 0x80, 3},    /* rol */
        {0x0f, 0xc7, 0x0d, 0, 0, 0, 0x80}, /* cmpxchg8b */
        {0x0f, 0xab, 0x05, 0, 0, 0, 0x80}, /* bts */
        {0xa5},                            /* movsd, EDI = 80000000h */
    };
    struct rig *rig = *state;
    rig_put32(rig, 0x40000, 0x87); /* only the lowest 4 MB exist */
    for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        rig_put(rig, RIG_CODE, codes[i], 8);
        rig_start(rig);
        struct cpu *cpu = rig->cpu;
        cpu->cr3 = 0x40000;
        cpu->cr4 = CR4_PSE;
        cpu->cr0 |= CR0_PG;
        mmu_flush(cpu, true);
        for (unsigned r = 0; r < 8; r++)
            cpu->reg[r] = 0x1000 * (r + 3);
        cpu->reg[CPU_ESP] = RIG_STACK;
        cpu->reg[CPU_EDI] = 0x80000000;
        flags_set_status(cpu, FLAG_CF | FLAG_OF | FLAG_PF);
        cpu_run(cpu, 1);
        assert_int_equal(rig_vector(rig), VEC_PF);
        assert_int_equal(rig_pushed(rig, 1), RIG_CODE);
        assert_int_equal(rig_pushed(rig, 3) & FLAGS_STATUS, FLAG_CF | FLAG_OF | FLAG_PF);
        assert_int_equal(REG(rig, ESP), RIG_STACK - 16);
        for (unsigned r = 0; r < 8; r++)
            if (r != CPU_ESP && r != CPU_EDI)
                assert_int_equal(cpu->reg[r], 0x1000 * (r + 3));
    }
}

static void test_double_and_triple_faults(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x8e, 0xd8); /* mov ds, ax: #GP, whose gate is not present: #DF */
    REG(rig, EAX) = 0x1234;
    rig_put32(rig, RIG_IDT + VEC_GP * 8 + 4, 0);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_DF);
    assert_int_equal(rig_pushed(rig, 0), 0);
    rig_start(rig);
    REG(rig, EAX) = 0x1234;
    rig->cpu->idt_limit = 7;
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_SHUTDOWN);
    assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_SHUTDOWN);
    char report[2000];
    assert_true(cpu_dump(rig->cpu, report, sizeof report) > 200);
    assert_non_null(strstr(report, "mov ds, ax"));
}

/* #UD is benign: a fault while it is delivered is delivered in its place. */
static void test_a_benign_fault_does_not_double(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x0f, 0x0b);
    rig_put32(rig, RIG_IDT + VEC_UD * 8 + 4, 0x0e00); /* not present */
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_NP);
    assert_int_equal(rig_pushed(rig, 0), VEC_UD * 8 + 2 + 1);
}

static void test_iret_to_ring_3_and_back(void **state)
{
    struct rig *rig = *state;
    /* push 2bh; push 18000h; push 202h; push 23h; push user; iret;  user: int 80h */
    RIG_CODE_IS(rig, 0x6a, 0x2b, 0x68, 0x00, 0x80, 0x01, 0x00, 0x68, 0x02, 0x02, 0x00, 0x00, 0x6a,
                0x23, 0x68, 0x14, 0x00, 0x01, 0x00, 0xcf, 0xcd, 0x80);
    assert_int_equal(cpu_run(rig->cpu, 6), CPU_STOP_BUDGET);
    assert_int_equal(rig->cpu->cpl, 3);
    assert_int_equal(REG(rig, ESP), 0x18000);
    assert_int_equal(rig->cpu->seg[SEG_DS].attr, 0); /* ring 0's DS may not stay */
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), 0x80);
    assert_int_equal(REG(rig, ESP), RIG_RING0_STACK - 20);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 22);
    assert_int_equal(rig_pushed(rig, 3), 0x18000);
}

static void test_sysenter_and_sysexit(void **state)
{
    struct rig *rig = *state;
    static const uint8_t exit[] = {0x0f, 0x35};
    RIG_CODE_IS(rig, 0x0f, 0x34); /* sysenter */
    rig_start_user(rig);
    rig->cpu->sysenter_cs = 0x10;
    rig->cpu->sysenter_esp = 0x7000;
    rig->cpu->sysenter_eip = 0x12000;
    rig_put(rig, 0x12000, exit, 2);
    REG(rig, EDX) = 0x13000;
    REG(rig, ECX) = 0x14000;
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig->cpu->eip, 0x12000);
    assert_int_equal(REG(rig, ESP), 0x7000);
    assert_int_equal(rig->cpu->cpl, 0);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig->cpu->eip, 0x13000);
    assert_int_equal(REG(rig, ESP), 0x14000);
    assert_int_equal(rig->cpu->seg[SEG_CS].selector, 0x23);
    assert_int_equal(rig->cpu->seg[SEG_SS].selector, 0x2b);
    assert_int_equal(rig->cpu->cpl, 3);
}

static void test_the_io_map(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xe4, 0x80, 0xe5, 0x87, 0xe4, 0x81); /* in al, 80h; in eax, 87h; in al, 81h */
    rig_put32(rig, RIG_GDT + 0x30, 0x2067 | RIG_TSS << 16);
    rig_put32(rig, RIG_TSS + 100, 104u << 16);
    rig_put32(rig, RIG_TSS + 104 + 0x10, 0xfffff802); /* 80h and 82h-8Ah are free, 81h is not */
    rig_start_user(rig);
    rig->cpu->seg[SEG_TR].limit = 0x2067;
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig->event_count, 2);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_GP);
    assert_int_equal(rig->event_count, 2);
}

static void test_single_steps(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0x40, 0x40);
    rig->cpu->eflags |= FLAG_TF;
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_DB);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 1);
    assert_int_equal(rig_pushed(rig, 2) & FLAG_TF, FLAG_TF);
    assert_int_equal(rig->cpu->dr[6] & 1u << 14, 1u << 14);
    assert_int_equal(rig->cpu->eflags & FLAG_TF, 0);
}

static void test_instruction_breakpoints(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0x40, 0x40, 0x40, 0xf4);
    rig->cpu->dr[2] = RIG_CODE + 2;
    rig->cpu->dr[7] |= 1u << 5;
    cpu_run(rig->cpu, 3);
    assert_int_equal(rig_vector(rig), VEC_DB);
    assert_int_equal(rig_pushed(rig, 0), RIG_CODE + 2);
    assert_int_equal(REG(rig, EAX), 2);
    assert_int_equal(rig->cpu->dr[6] & 15, 4);
}

static void test_an_nmi_waits_for_iret(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x40, 0x40, 0x40, 0xf4);
    static const uint8_t handler[] = {0x43, 0xcf}; /* inc ebx; iret */
    rig_put(rig, 0x15000, handler, 2);
    rig_put32(rig, RIG_IDT + 16, 0x10 << 16 | 0x5000);
    rig_put32(rig, RIG_IDT + 20, 0x00018e00);
    cpu_set_nmi(rig->cpu, true);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig->cpu->eip, 0x15001);
    cpu_set_nmi(rig->cpu, false);
    cpu_set_nmi(rig->cpu, true); /* while the first is handled */
    cpu_run(rig->cpu, 2);
    assert_int_equal(REG(rig, EBX), 2);
    cpu_run(rig->cpu, 100);
    assert_int_equal(REG(rig, EAX), 3);
    assert_int_equal(REG(rig, EBX), 2);
}

static void test_lazy_state_of_the_coprocessor(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xd9, 0xe8, 0xf4); /* fld1 */
    rig->cpu->cr0 |= CR0_TS;
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_NM);
    RIG_CODE_IS(rig, 0x0f, 0x58, 0xc1); /* addps xmm0, xmm1: no OSFXSR */
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_UD);
    rig_start(rig);
    rig->cpu->cr4 |= CR4_OSFXSR;
    rig->cpu->cr0 |= CR0_TS;
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_NM);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_vectors_and_error_codes),
        CASE(test_faults_change_nothing),
        CASE(test_double_and_triple_faults),
        CASE(test_a_benign_fault_does_not_double),
        CASE(test_iret_to_ring_3_and_back),
        CASE(test_sysenter_and_sysexit),
        CASE(test_the_io_map),
        CASE(test_single_steps),
        CASE(test_instruction_breakpoints),
        CASE(test_an_nmi_waits_for_iret),
        CASE(test_lazy_state_of_the_coprocessor),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
