/*
 * paging.c: page tables (SDM 3A 4): rights and their error codes, accessed and dirty bits, write
 * protection, large and global pages, PAE and NX, and what the TLB may and may not remember.
 */
#include "rig.h"

enum {
    AT_DIR = 0x40000,
    AT_TAB = 0x41000,
    P = 1,
    W = 2,
    U = 4,
    A = 0x20,
    D = 0x40,
    PS = 0x80,
    G = 0x100,
    PAGE = 0x00200000, /* the page under test, at AT_TAB's end and mapped to FRAME */
    FRAME = 0x00300000,
};
#define PTE (AT_TAB + (PAGE >> 12) * 4)

/* The first 4 MB onto themselves for the kernel and user alike; the test's page as `flags` say. */
static void map(struct rig *rig, uint32_t flags)
{
    struct cpu *cpu = rig->cpu;
    rig_put32(rig, AT_DIR, AT_TAB | P | W | U);
    for (uint32_t i = 0; i < 1024; i++)
        rig_put32(rig, AT_TAB + i * 4, i << 12 | P | W | U | A | D);
    rig_put32(rig, PTE, FRAME | flags);
    cpu->cr3 = AT_DIR;
    cpu->cr4 = CR4_PSE | CR4_PGE;
    cpu->cr0 |= CR0_PG | CR0_WP;
    mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
}

#define READ  0xa1, 0x00, 0x00, 0x20, 0x00, 0xf4 /* mov eax, [200000h]; hlt */
#define WRITE 0xa3, 0x00, 0x00, 0x20, 0x00, 0xf4 /* mov [200000h], eax; hlt */

static void run_at(struct rig *rig, bool user, bool write, uint32_t flags)
{
    static const uint8_t code[2][6] = {{READ}, {WRITE}};
    rig_put(rig, RIG_CODE, code[write], 6);
    if (user)
        rig_start_user(rig);
    else
        rig_start(rig);
    map(rig, flags);
    cpu_run(rig->cpu, 2);
}

/* All combinations of present, writable and user against all kinds of access. */
static void test_rights_and_error_codes(void **state)
{
    struct rig *rig = *state;
    for (uint32_t flags = 0; flags < 8; flags++)
        for (unsigned how = 0; how < 8; how++) {
            bool user = how & 1, write = how & 2, wp = how & 4;
            static const uint8_t code[2][6] = {{READ}, {WRITE}};
            rig_put(rig, RIG_CODE, code[write], 6);
            if (user)
                rig_start_user(rig);
            else
                rig_start(rig);
            map(rig, flags);
            if (!wp)
                rig->cpu->cr0 &= ~(uint32_t)CR0_WP;
            bool allowed =
                (flags & P) && (!user || (flags & U)) && (!write || (flags & W) || (!user && !wp));
            cpu_run(rig->cpu, 2);
            if (allowed) {
                assert_int_equal(rig_vector(rig), user ? VEC_GP : -1); /* HLT in ring 3 */
                continue;
            }
            assert_int_equal(rig_vector(rig), VEC_PF);
            assert_int_equal(rig->cpu->cr2, PAGE);
            assert_int_equal(rig_pushed(rig, 0),
                             (flags & P ? 1u : 0) | (write ? 2u : 0) | (user ? 4u : 0));
            assert_int_equal(rig_pushed(rig, 1), RIG_CODE);
        }
}

static void test_accessed_and_dirty(void **state)
{
    struct rig *rig = *state;
    run_at(rig, false, false, P | W);
    assert_int_equal(rig_get32(rig, PTE) & (A | D), A);
    assert_int_equal(rig_get32(rig, AT_DIR) & A, A);
    run_at(rig, false, true, P | W);
    assert_int_equal(rig_get32(rig, PTE) & (A | D), A | D);
    run_at(rig, false, true, P); /* refused: nothing is set */
    assert_int_equal(rig_get32(rig, PTE) & (A | D), 0);
}

/* A page that was read first is still clean: the first store sets D. */
static void test_a_store_after_a_load_sets_dirty(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xa1, 0x00, 0x00, 0x20, 0x00, 0xa3, 0x00, 0x00, 0x20, 0x00, 0xf4);
    map(rig, P | W);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_get32(rig, PTE) & D, 0);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_get32(rig, PTE) & D, D);
}

/* The TLB may keep a translation until it is flushed, and does; INVLPG and CR3 drop it. */
static void test_flushing(void **state)
{
    struct rig *rig = *state;
    static const uint8_t flushes[3][8] = {
        {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, /* none */
        {0x0f, 0x01, 0x3d, 0x00, 0x00, 0x20, 0x00}, /* invlpg [200000h] */
        {0x0f, 0x20, 0xd8, 0x0f, 0x22, 0xd8, 0x90}, /* mov eax, cr3; mov cr3, eax */
    };
    for (unsigned i = 0; i < 6; i++) {
        bool global = i >= 3;
        /* mov ebx, [200000h]; mov dword [PTE], ecx; (flush); mov edx, [200000h]; hlt */
        static const uint8_t head[] = {0x8b, 0x1d, 0x00, 0x00, 0x20, 0x00,
                                       0x89, 0x0d, 0x00, 0x18, 0x04, 0x00};
        static const uint8_t tail[] = {0x8b, 0x15, 0x00, 0x00, 0x20, 0x00, 0xf4};
        _Static_assert(PTE == 0x41800, "the address in the code above");
        rig_put(rig, RIG_CODE, head, sizeof head);
        rig_put(rig, RIG_CODE + 12, flushes[i % 3], 7);
        rig_put(rig, RIG_CODE + 19, tail, sizeof tail);
        rig_start(rig);
        map(rig, P | W | A | D | (global ? G : 0));
        rig_put32(rig, FRAME, 0x11111111);
        rig_put32(rig, FRAME + 0x1000, 0x22222222);
        REG(rig, ECX) = (FRAME + 0x1000) | P | W | A | D;
        assert_int_equal(cpu_run(rig->cpu, 100), CPU_STOP_HALTED_IF);
        bool flushed = i % 3 == 1 || (i % 3 == 2 && !global);
        assert_int_equal(REG(rig, EBX), 0x11111111);
        assert_int_equal(REG(rig, EDX), flushed ? 0x22222222 : 0x11111111);
    }
}

/* A large page is one translation: INVLPG anywhere in it drops all of it. */
static void test_large_pages(void **state)
{
    struct rig *rig = *state;
    /* mov eax, [800000h]; mov dword [AT_DIR+8], ecx; invlpg [bff000h]; mov edx, [800000h]; hlt */
    RIG_CODE_IS(rig, 0xa1, 0, 0, 0x80, 0, 0x89, 0x0d, 0x08, 0x00, 0x04, 0x00, 0x0f, 0x01, 0x3d, 0,
                0xf0, 0xbf, 0, 0x8b, 0x15, 0, 0, 0x80, 0, 0xf4);
    map(rig, P | W);
    rig_put32(rig, 0, 0x12345678);
    rig_put32(rig, AT_DIR + 8, 0 | P | W | PS);
    REG(rig, ECX) = 0; /* gone */
    cpu_run(rig->cpu, 100);
    assert_int_equal(REG(rig, EAX), 0x12345678);
    assert_int_equal(rig_vector(rig), VEC_PF);
    assert_int_equal(rig->cpu->cr2, 0x800000);
    /* Reserved address bits. */
    rig_start(rig);
    map(rig, P | W);
    rig_put32(rig, AT_DIR + 8, 0x2000 | P | W | PS);
    cpu_run(rig->cpu, 100);
    assert_int_equal(rig_vector(rig), VEC_PF);
    assert_int_equal(rig_pushed(rig, 0), 9);
}

/* A fault on the second page of an access names that page, and nothing was written to the first. */
static void test_an_access_over_a_page_is_all_or_nothing(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xa3, 0xfe, 0xff, 0x1f, 0x00); /* mov [1ffffeh], eax */
    map(rig, P);                                    /* read-only */
    REG(rig, EAX) = 0xffffffff;
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig_vector(rig), VEC_PF);
    assert_int_equal(rig->cpu->cr2, PAGE);
    assert_int_equal(rig_get32(rig, 0x1ffffc), 0);
}

static void test_an_instruction_over_a_page_faults_on_the_second(void **state)
{
    struct rig *rig = *state;
    static const uint8_t code[] = {0xb8, 1}; /* mov eax, imm32 */
    rig_put(rig, PAGE - 2, code, 2);
    rig_start(rig);
    map(rig, 0);
    rig->cpu->eip = PAGE - 2;
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig_vector(rig), VEC_PF);
    assert_int_equal(rig->cpu->cr2, PAGE);
    assert_int_equal(rig_pushed(rig, 0), 0);
    assert_int_equal(rig_pushed(rig, 1), PAGE - 2);
}

/* ---- PAE ---------------------------------------------------------------------------------- */

enum { AT_PDPT = 0x42000, AT_PD = 0x43000, AT_PT = 0x44000 };

static void put64(struct rig *rig, uint32_t at, uint64_t value)
{
    rig_put32(rig, at, (uint32_t)value);
    rig_put32(rig, at + 4, (uint32_t)(value >> 32));
}

/* 2 MB pages for the lowest 2 MB, a table for the next, with the test's page in it. */
static void map_pae(struct rig *rig, uint64_t pte)
{
    struct cpu *cpu = rig->cpu;
    for (uint32_t i = 0; i < 4; i++)
        put64(rig, AT_PDPT + i * 8, i ? 0 : AT_PD | P);
    put64(rig, AT_PD, 0 | P | W | U | PS);
    put64(rig, AT_PD + 8, AT_PT | P | W | U);
    put64(rig, AT_PT, pte);
    cpu->cr4 = CR4_PAE | CR4_PGE;
    cpu->cr3 = AT_PDPT;
    cpu->cr0 |= CR0_PG | CR0_WP;
    cpu->efer = EFER_NXE;
    assert_true(mmu_load_pdptes(cpu, AT_PDPT));
    mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
}

static void test_pae(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, READ);
    rig_put32(rig, FRAME, 0x55667788);
    map_pae(rig, FRAME | P | W);
    cpu_run(rig->cpu, 2);
    assert_int_equal(REG(rig, EAX), 0x55667788);
    assert_int_equal(rig_get32(rig, AT_PT) & (A | D), A);
    assert_int_equal(rig_get32(rig, AT_PD) & A, A);
    rig_start(rig);
    map_pae(rig, (1ull << 40) | FRAME | P | W); /* beyond 36 bits */
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig_vector(rig), VEC_PF);
    assert_int_equal(rig_pushed(rig, 0), 9);
}

static void test_no_execute(void **state)
{
    struct rig *rig = *state;
    static const uint8_t code[] = {0x40, 0xf4};
    rig_put(rig, FRAME, code, 2);
    for (unsigned nxe = 0; nxe < 2; nxe++) {
        rig_start(rig);
        map_pae(rig, 1ull << 63 | FRAME | P | W);
        if (!nxe)
            rig->cpu->efer = 0;
        rig->cpu->eip = PAGE;
        cpu_run(rig->cpu, 2);
        assert_int_equal(rig_vector(rig), VEC_PF);
        assert_int_equal(rig_pushed(rig, 0), nxe ? 0x11 : 9); /* or a reserved bit */
        assert_int_equal(rig->cpu->cr2, PAGE);
    }
}

static void test_pdptes_are_checked_when_loaded(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x0f, 0x22, 0xd8, 0xf4); /* mov cr3, eax */
    map_pae(rig, 0);
    put64(rig, 0x45000, 2 | P); /* bit 1 is reserved */
    REG(rig, EAX) = 0x45000;
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig_vector(rig), VEC_GP);
    assert_int_equal(rig->cpu->cr3, AT_PDPT);
}

static void test_the_a20_gate(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0xa1, 0x00, 0x00, 0x10, 0x00, 0xf4); /* mov eax, [100000h] */
    rig_put32(rig, 0, 0xaaaaaaaa);
    rig_put32(rig, 0x100000, 0xbbbbbbbb);
    cpu_set_a20(rig->cpu, false);
    cpu_run(rig->cpu, 2);
    assert_int_equal(REG(rig, EAX), 0xaaaaaaaa);
    cpu_set_a20(rig->cpu, true);
    rig_start(rig);
    cpu_run(rig->cpu, 2);
    assert_int_equal(REG(rig, EAX), 0xbbbbbbbb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rights_and_error_codes, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_accessed_and_dirty, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_store_after_a_load_sets_dirty, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_flushing, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_large_pages, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_an_access_over_a_page_is_all_or_nothing, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_an_instruction_over_a_page_faults_on_the_second,
                                        rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_pae, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_no_execute, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_pdptes_are_checked_when_loaded, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_the_a20_gate, rig_setup, rig_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
