/*
 * segment.c: segmented memory (SDM 3A 3, 5.3) and the modes around it: limits, expand-down data,
 * null segments, real mode and the ways into and out of protected mode, virtual-8086.
 */
#include "rig.h"

static void test_limits(void **state)
{
    struct rig *rig = *state;
    /* mov eax, fs:[edi] with a limit of 0fffh: the last byte of four must be inside */
    RIG_CODE_IS(rig, 0x64, 0x8b, 0x07, 0xf4);
    for (uint32_t offset = 0xff0; offset < 0x1010; offset++)
        for (unsigned down = 0; down < 2; down++) {
            rig_start(rig);
            struct segment *fs = &rig->cpu->seg[SEG_FS];
            fs->base = 0x30000;
            fs->limit = 0xfff;
            if (down)
                fs->attr |= DESC_EC;
            REG(rig, EDI) = offset;
            bool inside = down ? offset > 0xfff : offset + 3 <= 0xfff;
            cpu_run(rig->cpu, 2);
            assert_int_equal(rig_vector(rig), inside ? -1 : VEC_GP);
        }
}

static void test_types(void **state)
{
    static const struct {
        uint32_t attr;
        bool reads, writes;
    } types[] = {
        {0, false, false},                                    /* null */
        {DESC_P | DESC_S, true, false},                       /* read-only data */
        {DESC_P | DESC_S | DESC_RW, true, true},              /* data */
        {DESC_P | DESC_S | DESC_CODE, false, false},          /* execute-only code */
        {DESC_P | DESC_S | DESC_CODE | DESC_RW, true, false}, /* readable code */
    };
    struct rig *rig = *state;
    for (unsigned i = 0; i < 10; i++) {
        uint8_t code[] = {0x64, i & 1 ? 0x89 : 0x8b, 0x07, 0xf4}; /* mov fs:[edi], eax and back */
        rig_put(rig, RIG_CODE, code, sizeof code);
        rig_start(rig);
        rig->cpu->seg[SEG_FS].attr = types[i / 2].attr;
        REG(rig, EDI) = 0x30000;
        cpu_run(rig->cpu, 2);
        bool allowed = i & 1 ? types[i / 2].writes : types[i / 2].reads;
        assert_int_equal(rig_vector(rig), allowed ? -1 : VEC_GP);
    }
}

/* A stack whose limit is hit raises #SS, and a null DS stays harmless until it is used. */
static void test_stack_and_null(void **state)
{
    struct rig *rig = *state;
    RIG_CODE_IS(rig, 0x31, 0xc0, 0x8e, 0xd8, 0x40, 0xa1, 0, 0, 3,
                0); /* xor; mov ds, ax; inc; mov */
    cpu_run(rig->cpu, 3);
    assert_int_equal(REG(rig, EAX), 1);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_GP);
    assert_int_equal(rig_pushed(rig, 1), RIG_CODE + 5);

    RIG_CODE_IS(rig, 0x8b, 0x45, 0x00); /* mov eax, [ebp] */
    rig->cpu->seg[SEG_SS].limit = 0x2ffff;
    REG(rig, EBP) = 0x2fffe;
    cpu_mode_changed(rig->cpu);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_SS);
    assert_int_equal(rig_pushed(rig, 0), 0);
}

/* The descriptor's accessed bit is set by the load. */
static void test_loads_set_accessed(void **state)
{
    struct rig *rig = *state;
    rig_put32(rig, RIG_GDT + 0x1c, 0x00cf9200); /* 18h: not accessed */
    RIG_CODE_IS(rig, 0x8e, 0xe0, 0xf4);         /* mov fs, ax */
    REG(rig, EAX) = 0x18;
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig_get32(rig, RIG_GDT + 0x1c), 0x00cf9300);
    assert_int_equal(rig->cpu->seg[SEG_FS].limit, 0xffffffff);
}

/* From real mode to flat protected mode and back, as a boot loader does. */
static void test_into_protected_mode_and_back(void **state)
{
    struct rig *rig = *state;
    static const uint8_t real[] = {
        0xb8, 0x00, 0x10,                               /* mov ax, 1000h */
        0x8e, 0xd8,                                     /* mov ds, ax */
        0x66, 0xb8, 0x44, 0x33, 0x22, 0x11,             /* mov eax, 11223344h */
        0x66, 0xa3, 0x00, 0x20,                         /* mov [2000h], eax */
        0x0f, 0x20, 0xc0, 0x0c, 0x01,                   /* mov eax, cr0; or al, 1 */
        0x0f, 0x22, 0xc0,                               /* mov cr0, eax */
        0x66, 0xea, 0x00, 0x60, 0x00, 0x00, 0x10, 0x00, /* jmp 10h:6000h */
    };
    static const uint8_t flat[] = {
        0x66, 0xb8, 0x18, 0x00, 0x8e, 0xd8, /* mov ax, 18h; mov ds, ax */
        0x8b, 0x1d, 0x00, 0x20, 0x01, 0x00, /* mov ebx, [12000h] */
        0x0f, 0x20, 0xc0, 0x24, 0xfe,       /* mov eax, cr0; and al, feh */
        0x0f, 0x22, 0xc0,                   /* mov cr0, eax */
        0xf4,
    };
    rig_put(rig, 0x7c00, real, sizeof real);
    rig_put(rig, 0x6000, flat, sizeof flat);
    struct cpu *cpu = rig->cpu;
    cpu_reset(cpu);
    seg_load_real(cpu, SEG_CS, 0);
    cpu->eip = 0x7c00;
    cpu->gdt_base = RIG_GDT;
    cpu->gdt_limit = 0x37;
    assert_int_equal(cpu_run(cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(rig_get32(rig, 0x12000), 0x11223344);
    assert_int_equal(REG(rig, EBX), 0x11223344);
    assert_int_equal(cpu->cr0 & CR0_PE, 0);
}

static void test_real_mode_interrupts(void **state)
{
    struct rig *rig = *state;
    static const uint8_t code[] = {0xcd, 0x21, 0x40, 0xf4}, handler[] = {0x43, 0xcf};
    struct cpu *cpu = rig->cpu;
    cpu_reset(cpu);
    rig_put(rig, 0x7c00, code, sizeof code);
    rig_put(rig, 0x5300, handler, sizeof handler);
    rig_put32(rig, 0x21 * 4, 0x05000300); /* 0500:0300 */
    seg_load_real(cpu, SEG_CS, 0);
    cpu->eip = 0x7c00;
    cpu->reg[CPU_ESP] = 0x7000;
    assert_int_equal(cpu_run(cpu, 100), CPU_STOP_HALTED_IF);
    assert_int_equal(REG(rig, EAX), 1);
    assert_int_equal(REG(rig, EBX), 1);
    assert_int_equal(REG(rig, ESP), 0x7000);
}

/* IRET with VM set; a CLI that IOPL forbids comes back through #GP with all segments pushed. */
static void test_virtual_8086(void **state)
{
    struct rig *rig = *state;
    static const uint8_t guest[] = {0x40, 0xfa}; /* inc ax; cli */
    static const uint32_t frame[] = {0x10,   0x1000, FLAG_VM | 2, 0x700, 0x2000,
                                     0x3000, 0x4000, 0x5000,      0x6000};
    RIG_CODE_IS(rig, 0xcf);
    rig_put(rig, 0x10010, guest, sizeof guest);
    rig_put(rig, RIG_STACK, frame, sizeof frame);
    cpu_run(rig->cpu, 2);
    assert_int_equal(rig->cpu->eflags & FLAG_VM, FLAG_VM);
    assert_int_equal(rig->cpu->seg[SEG_DS].base, 0x40000);
    assert_int_equal(REG(rig, EAX), 1);
    cpu_run(rig->cpu, 1);
    assert_int_equal(rig_vector(rig), VEC_GP);
    assert_int_equal(rig->cpu->eflags & FLAG_VM, 0);
    assert_int_equal(rig->cpu->seg[SEG_DS].attr, 0);
    assert_int_equal(rig_pushed(rig, 1), 0x11);
    for (unsigned i = 1; i < 9; i++)
        if (i != 2)
            assert_int_equal(rig_pushed(rig, i + 1), frame[i]);
    assert_int_equal(REG(rig, ESP), RIG_RING0_STACK - 40);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_limits),
        CASE(test_types),
        CASE(test_stack_and_null),
        CASE(test_loads_set_accessed),
        CASE(test_into_protected_mode_and_back),
        CASE(test_real_mode_interrupts),
        CASE(test_virtual_8086),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
