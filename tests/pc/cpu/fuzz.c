/*
 * fuzz.c: random code in a small guest. Nothing it does may crash the processor (run it under the
 * sanitizers), stop it from counting, or make its state depend on how the run was sliced: every
 * program runs twice, in one go and in slices, and must end alike.
 *
 * Usage: test-pc-cpu-fuzz [SECONDS [SEED]]
 */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "pc/cpu/save.h"
#include "pc/cpu/uops.h"

enum { INSNS = 3000, PAGES_FIRST = 0x100, AT_DIRECTORY = 0x40000, AT_TABLE = 0x41000 };

static double seconds = 5;
static uint32_t seed;

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Bytes that are more often instructions than not: an opcode of the table, a likely ModRM. */
static void put_random_code(uint8_t *to, size_t count, uint32_t *random)
{
    for (size_t i = 0; i + 8 < count;) {
        const struct isa_entry *e = &isa_entries[next_random(random) % isa_entry_count];
        uint32_t r = next_random(random);
        if (r % 7 == 0)
            to[i++] = (uint8_t[]){0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x65, 0xf0}[r / 7 % 7];
        if (e->map || r % 11 == 0)
            to[i++] = 0x0f;
        to[i++] = r % 11 == 0 ? (uint8_t)(r >> 16) : e->opcode;
        for (unsigned n = r >> 8 & 3; n-- > 0;)
            to[i++] = (uint8_t)next_random(random);
    }
}

/* Page tables that map low memory onto itself, with holes and read-only pages. */
static void put_tables(struct rig *rig, uint32_t *random)
{
    rig_put32(rig, AT_DIRECTORY, AT_TABLE | 7);
    rig_put32(rig, AT_DIRECTORY + 4, 0x000087); /* 4 MB again, as one large page */
    for (uint32_t i = 0; i < 1024; i++) {
        uint32_t flags = next_random(random) % 16 ? 7 : next_random(random) & 7;
        rig_put32(rig, AT_TABLE + i * 4, i << 12 | (i < 16 ? 3 : flags));
    }
}

static void make_program(struct rig *rig, uint32_t program)
{
    uint32_t random = program | 1;
    memset(rig->ram + 0x10000, 0, RIG_RAM - 0x10000);
    put_random_code(rig->ram + RIG_CODE, 0x4000, &random);
    cpu_memory_written(rig->cpu, 0, RIG_RAM);
    put_tables(rig, &random);
    struct cpu *cpu = rig->cpu;
    if (next_random(&random) & 1)
        rig_start_user(rig);
    else
        rig_start(rig);
    for (unsigned i = 0; i < 8; i++)
        cpu->reg[i] = next_random(&random) % 3 ? 0x10000 + next_random(&random) % 0x30000
                                               : next_random(&random);
    cpu->reg[CPU_ESP] = RIG_STACK;
    if (next_random(&random) & 1) {
        cpu->cr3 = AT_DIRECTORY;
        cpu->cr4 = CR4_PSE | CR4_PGE | CR4_OSFXSR;
        cpu->cr0 |= CR0_PG | (next_random(&random) & CR0_WP);
        mmu_flush(cpu, true);
    }
    if (next_random(&random) % 4 == 0)
        cpu->eflags |= FLAG_IF;
    if (next_random(&random) % 8 == 0) { /* a 16-bit world */
        cpu->seg[SEG_CS].attr &= ~(uint32_t)DESC_DB;
        cpu->seg[SEG_SS].attr &= ~(uint32_t)DESC_DB;
        cpu->seg[SEG_SS].limit = 0xffff;
    }
    cpu_mode_changed(cpu);
}

/* Handlers return, so that a program goes on after its faults: a few bytes past the fault. */
static void put_handlers(struct rig *rig)
{
    static const uint8_t plain[] = {0x83, 0x04, 0x24, 0x03, 0xcf}; /* add dword [esp], 3; iret */
    static const uint8_t coded[] = {0x83, 0xc4, 0x04, 0x83, 0x04, 0x24, 0x03, 0xcf};
    static const uint8_t has_code[] = {8, 10, 11, 12, 13, 14, 17};
    rig_put(rig, 0x5000, plain, sizeof plain);
    rig_put(rig, 0x5100, coded, sizeof coded);
    for (uint32_t v = 0; v < 256; v++)
        rig_put32(rig, RIG_IDT + v * 8, 0x10 << 16 | 0x5000);
    for (unsigned i = 0; i < sizeof has_code; i++)
        rig_put32(rig, RIG_IDT + has_code[i] * 8, 0x10 << 16 | 0x5100);
}

struct end {
    uint64_t hash, insns;
    enum cpu_stop stop;
    unsigned exceptions;
};

static struct end run_program(uint32_t program, uint64_t slice)
{
    struct rig *rig = rig_create(CPU_MODEL_PENTIUM_M);
    put_handlers(rig);
    make_program(rig, program);
    rig->in_value = program;
    rig->vector = 0x20;
    enum cpu_stop stop = CPU_STOP_BUDGET;
    for (uint64_t done; (done = cpu_insns(rig->cpu)) < INSNS && stop == CPU_STOP_BUDGET;) {
        uint64_t most = slice < INSNS - done ? slice : INSNS - done;
        stop = cpu_run(rig->cpu, most);
        uint64_t ran = cpu_insns(rig->cpu) - done;
        assert_true(stop == CPU_STOP_BUDGET ? ran == most : ran <= most);
    }
    struct end end = {cpu_hash(rig->cpu, 0), cpu_insns(rig->cpu), stop, rig->cpu->exception_count};
    end.hash = hash_bytes(end.hash, rig->ram, RIG_RAM);
    rig_destroy(rig);
    return end;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_random_programs_end_alike(void **state)
{
    (void)state;
    static const uint64_t slices[] = {1, 2, 7, 33, 250};
    double end = now() + seconds;
    unsigned programs = 0, exceptions = 0;
    uint64_t insns = 0;
    uint32_t random = seed | 1;
    do {
        uint32_t program = next_random(&random);
        uint64_t slice = slices[program % 5];
        struct end whole = run_program(program, INSNS), sliced = run_program(program, slice);
        if (whole.hash != sliced.hash || whole.insns != sliced.insns || whole.stop != sliced.stop) {
            printf("# program %#x: slices of %llu end elsewhere: %llu instructions, stop %d; whole "
                   "%llu, %d\n",
                   program, (unsigned long long)slice, (unsigned long long)sliced.insns,
                   (int)sliced.stop, (unsigned long long)whole.insns, (int)whole.stop);
            fail();
        }
        programs++;
        insns += whole.insns;
        exceptions += whole.exceptions;
    } while (now() < end);
    printf("# seed %u: %u programs, %llu instructions, %u exceptions\n", seed, programs,
           (unsigned long long)insns, exceptions);
    /* They must get somewhere: past their first faults. */
    assert_true(programs > 10 && insns / programs > 200 && exceptions / programs > 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs_end_alike)};
    if (argc > 1)
        seconds = atof(argv[1]);
    seed = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0)
                    : (uint32_t)time(NULL) * 2654435761u ^ (uint32_t)getpid();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
