/*
 * save.c: a saved processor goes on exactly where it was, TLB and all; and what is no state a
 * processor can be in is refused, whatever bytes come.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "pc/cpu/save.h"

struct buffer {
    uint8_t bytes[200000];
    size_t used, at;
};

static bool write_bytes(void *opaque, const void *bytes, size_t count)
{
    struct buffer *b = opaque;
    if (count > sizeof b->bytes - b->used)
        return false;
    memcpy(b->bytes + b->used, bytes, count);
    b->used += count;
    return true;
}

static bool read_bytes(void *opaque, void *bytes, size_t count)
{
    struct buffer *b = opaque;
    if (count > b->used - b->at)
        return false;
    memcpy(bytes, b->bytes + b->at, count);
    b->at += count;
    return true;
}

/* A program that walks memory under paging, with flags, strings, x87 and code that changes. */
static void start_program(struct rig *rig)
{
    enum { AT_DIR = 0x40000, AT_TAB = 0x41000 };
    /* fninit; l: fld1; inc byte [l2]; l2: mov al, 0; add [ebx], al; adc edx, eax; add ebx, 4093;
     * and ebx, 3fffffh; or ebx, 200000h; rol edx, 3; fstp st0; jmp l */
    RIG_CODE_IS(rig, 0xdb, 0xe3, 0xd9, 0xe8, 0xfe, 0x05, 0x0b, 0x00, 0x01, 0x00, 0xb0, 0x00, 0x00,
                0x03, 0x11, 0xc2, 0x81, 0xc3, 0xfd, 0x0f, 0x00, 0x00, 0x81, 0xe3, 0xff, 0xff, 0x3f,
                0x00, 0x81, 0xcb, 0x00, 0x00, 0x20, 0x00, 0xc1, 0xc2, 0x03, 0xdd, 0xd8, 0xeb, 0xd9);
    rig_put32(rig, AT_DIR, AT_TAB | 7);
    for (uint32_t i = 0; i < 1024; i++)
        rig_put32(rig, AT_TAB + i * 4, i << 12 | 7 | (i & 1 ? 0x100 : 0));
    rig->cpu->cr3 = AT_DIR;
    rig->cpu->cr4 = CR4_PGE;
    rig->cpu->cr0 |= CR0_PG;
    mmu_flush(rig->cpu, true);
}

static void test_goes_on_exactly(void **state)
{
    struct rig *rig = *state, *copy = rig_create(CPU_MODEL_PENTIUM_M);
    struct buffer *b = calloc(1, sizeof *b);
    start_program(rig);
    for (unsigned round = 0; round < 20; round++) {
        cpu_run(rig->cpu, 137);
        b->used = b->at = 0;
        assert_true(cpu_save(rig->cpu, (struct pc_writer){write_bytes, b}));
        assert_int_equal(b->used, cpu_state_bytes(rig->cpu));
        memcpy(copy->ram, rig->ram, RIG_RAM);
        assert_true(cpu_load(copy->cpu, (struct pc_reader){read_bytes, b}));
        cpu_memory_written(copy->cpu, 0, RIG_RAM);
        assert_int_equal(b->at, b->used);
        assert_true(cpu_hash(rig->cpu, 0) == cpu_hash(copy->cpu, 0));
        cpu_run(rig->cpu, 1000);
        cpu_run(copy->cpu, 1000);
        assert_int_equal(rig->cpu->eip, copy->cpu->eip);
        assert_true(cpu_hash(rig->cpu, 0) == cpu_hash(copy->cpu, 0));
        assert_memory_equal(rig->ram, copy->ram, RIG_RAM);
    }
    assert_int_equal(rig_vector(rig), -1);
    free(b);
    rig_destroy(copy);
}

/* Bytes turned around at random: refused, or a state that runs without harm. */
static void test_hostile_bytes(void **state)
{
    struct rig *rig = *state;
    struct buffer *b = calloc(1, sizeof *b), *bad = calloc(1, sizeof *b);
    uint32_t random = 1, refused = 0;
    start_program(rig);
    cpu_run(rig->cpu, 5000);
    assert_true(cpu_save(rig->cpu, (struct pc_writer){write_bytes, b}));
    for (unsigned i = 0; i < 2000; i++) {
        *bad = *b;
        for (unsigned k = 0; k < 1 + i % 4; k++) {
            random = random * 1664525 + 1013904223;
            bad->bytes[(random >> 8) % bad->used] ^= (uint8_t)(1u << (random >> 29));
        }
        if (i % 16 == 0)
            bad->used = random % bad->used;
        if (cpu_load(rig->cpu, (struct pc_reader){read_bytes, bad}))
            cpu_run(rig->cpu, 200);
        else
            refused++;
        cpu_reset(rig->cpu);
    }
    assert_true(refused > 100);
    free(b);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_goes_on_exactly, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_hostile_bytes, rig_setup, rig_teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
