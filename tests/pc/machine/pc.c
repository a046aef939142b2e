/* pc.c: what a slice is, why it comes back, and that an event comes after the same instruction
 * however the run is cut. The processor follows a script. */
#include "machine_rig.h"

#include <string.h>

/* Programs channel 0 of the timer for a tick every 1193 counts (about a millisecond), unmasks IRQ
 * 0 at vector 20h, then goes round in idle instructions, acknowledging interrupts. */
static enum cpu_stop tick_step(struct cpu *cpu, void *opaque)
{
    struct trail *trail = opaque;
    static const uint16_t program[][2] = {
        {0x20, 0x11}, {0x21, 0x20}, {0x21, 0x04}, {0x21, 0x01},
        {0x21, 0xfe}, {0x43, 0x34}, {0x40, 0xa9}, {0x40, 0x04},
    };

    if (cpu->insns < sizeof program / sizeof program[0]) {
        script_out(cpu, program[cpu->insns][0], (uint8_t)program[cpu->insns][1]);
    } else if (cpu->interrupts > trail->count) {
        if (trail->count < TRAIL)
            trail->insns[trail->count] = cpu->insns;
        trail->count = cpu->interrupts;
        script_out(cpu, 0x20, 0x20); /* end of interrupt */
    } else if (trail->halts) {
        return CPU_STOP_HALTED;
    }
    return CPU_STOP_BUDGET;
}

static void events_come_after_the_same_instruction_however_the_run_is_cut(void **state)
{
    (void)state;
    struct trail first = {0};

    for (unsigned cut = 0; cut < 5; cut++) {
        static const uint64_t slices[] = {1000000, 1, 7, 333, 99999};
        struct machine_rig rig;
        struct trail trail = {0};

        machine_rig_init(&rig);
        rig.cpu->step = tick_step;
        rig.cpu->opaque = cut == 0 ? &first : &trail;
        while (pc_insns(rig.pc) < 1000000) {
            uint64_t left = 1000000 - pc_insns(rig.pc);
            struct pc_budget budget = {slices[cut] < left ? slices[cut] : left, UINT64_MAX,
                                       10 << 16 | 0x1234};
            assert_int_equal(pc_run(rig.pc, budget), PC_BUDGET);
        }
        if (cut == 0) {
            /* 10 ms and a little, and the rise of the output when its mode was set. */
            assert_int_equal(first.count, 11);
            rig.result = pc_hash(rig.pc);
        } else {
            assert_memory_equal(trail.insns, first.insns, sizeof first.insns);
        }
        machine_rig_finish(&rig);
    }
}

static void a_halted_guest_sleeps_from_event_to_event(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct trail trail = {.halts = true};
    struct pc_budget budget = {UINT64_MAX, 1000000000, 10 << 16};

    machine_rig_init(&rig);
    rig.cpu->step = tick_step;
    rig.cpu->opaque = &trail;
    assert_int_equal(pc_run(rig.pc, budget), PC_IDLE);
    assert_int_equal(pc_now_ns(rig.pc), 1000000000);
    assert_in_range(trail.count, 999, 1001); /* a thousand ticks in a second */
    assert_true(pc_insns(rig.pc) < 4000);
    assert_in_range(pc_next_event_ns(rig.pc), 1000000000, 1001000000);
    machine_rig_finish(&rig);
}

static enum cpu_stop halt_step(struct cpu *cpu, void *opaque)
{
    cpu->interrupts_off = opaque != NULL;
    return CPU_STOP_HALTED;
}

static void a_halt_with_interrupts_off_is_the_end(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_budget budget = {1000, UINT64_MAX, 1 << 16};

    machine_rig_init(&rig);
    rig.cpu->step = halt_step;
    rig.cpu->opaque = &rig;
    assert_int_equal(pc_run(rig.pc, budget), PC_OFF);
    assert_int_equal(pc_run(rig.pc, budget), PC_OFF); /* and stays it */
    assert_int_equal(pc_insns(rig.pc), 1);
    pc_reset(rig.pc);
    rig.cpu->opaque = NULL;
    assert_int_equal(pc_run(rig.pc, budget), PC_IDLE); /* nothing is armed: until input */
    machine_rig_finish(&rig);
}

/* The timer ticks, but every interrupt is masked: nothing will ever wake this guest, and nothing
 * is executed either. The slice must come back all the same. */
static enum cpu_stop sleep_masked_step(struct cpu *cpu, void *opaque)
{
    (void)opaque;
    static const uint16_t program[][2] = {{0x43, 0x34}, {0x40, 2}, {0x40, 0}};

    if (cpu->insns >= 3)
        return CPU_STOP_HALTED;
    script_out(cpu, program[cpu->insns][0], (uint8_t)program[cpu->insns][1]);
    return CPU_STOP_BUDGET;
}

static void a_sleeper_that_nothing_wakes_does_not_keep_the_host(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_budget budget = {1000, UINT64_MAX, 1 << 16};

    machine_rig_init(&rig);
    rig.cpu->step = sleep_masked_step;
    for (int i = 0; i < 10; i++)
        assert_int_equal(pc_run(rig.pc, budget), PC_BUDGET);
    machine_rig_finish(&rig);
}

static enum cpu_stop write_step(struct cpu *cpu, void *opaque)
{
    const uint16_t *write = opaque;

    if (cpu->insns == 5)
        script_out(cpu, write[0], (uint8_t)write[1]);
    return CPU_STOP_BUDGET;
}

static void every_reset_ends_the_slice_at_its_instruction(void **state)
{
    (void)state;
    static uint16_t ways[][2] = {{0x64, 0xfe}, {0x92, 0x03}, {0xcf9, 0x06}};

    for (unsigned i = 0; i < 3; i++) {
        struct machine_rig rig;
        struct pc_budget budget = {1000, UINT64_MAX, 1 << 16};

        machine_rig_init(&rig);
        rig.cpu->step = write_step;
        rig.cpu->opaque = ways[i];
        assert_int_equal(pc_run(rig.pc, budget), PC_RESET);
        assert_int_equal(pc_insns(rig.pc), 6);
        assert_int_equal(pc_run(rig.pc, budget), PC_RESET);
        rig.cpu->step = NULL;
        pc_reset(rig.pc);
        assert_int_equal(pc_run(rig.pc, budget), PC_BUDGET);
        machine_rig_finish(&rig);
    }
}

/* A kernel looks for a PCI bus by writing all of CF8h-CFBh at once: FFFFFFFFh must not reset. */
static enum cpu_stop probe_pci_step(struct cpu *cpu, void *opaque)
{
    (void)opaque;
    if (cpu->insns == 5)
        cpu->bus.out(cpu->bus.opaque, 0xcf8, 4, UINT32_MAX);
    if (cpu->insns == 6)
        assert_int_equal(cpu->bus.in(cpu->bus.opaque, 0xcf8, 4), 0x80fffffc);
    return CPU_STOP_BUDGET;
}

static void looking_for_pci_does_not_reset(void **state)
{
    (void)state;
    struct machine_rig rig;

    machine_rig_init(&rig);
    rig.cpu->step = probe_pci_step;
    assert_int_equal(pc_run(rig.pc, (struct pc_budget){10, UINT64_MAX, 1 << 16}), PC_BUDGET);
    machine_rig_finish(&rig);
}

static void a20_follows_either_of_its_masters(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct cpu *cpu;

    machine_rig_init(&rig);
    cpu = rig.cpu;
    assert_true(cpu->a20);
    script_out(cpu, 0x92, 0x00);
    assert_true(cpu->a20); /* the keyboard controller holds it still */
    script_out(cpu, 0x64, 0xd1);
    script_out(cpu, 0x60, 0xdd);
    assert_false(cpu->a20);
    script_out(cpu, 0x92, 0x02);
    assert_true(cpu->a20);
    script_out(cpu, 0x92, 0x00);
    script_out(cpu, 0x64, 0xd1);
    script_out(cpu, 0x60, 0xdf);
    assert_true(cpu->a20);
    machine_rig_finish(&rig);
}

static enum cpu_stop print_step(struct cpu *cpu, void *opaque)
{
    (void)opaque;
    if (cpu->insns % 5000 == 0)
        script_out(cpu, 0x3f8, (uint8_t)('a' + cpu->insns / 5000));
    return CPU_STOP_BUDGET;
}

static void a_pause_from_a_port_comes_back_at_that_instruction(void **state)
{
    (void)state;
    struct machine_rig rig;
    uint64_t at = 0;

    for (int cut = 0; cut < 2; cut++) {
        machine_rig_init(&rig);
        rig.pause_at = 'c';
        rig.cpu->step = print_step;
        while (pc_run(rig.pc, (struct pc_budget){cut ? 17 : 1000000, UINT64_MAX, 1 << 16}) !=
               PC_PAUSED)
            assert_true(pc_insns(rig.pc) < 1000000);
        assert_string_equal(rig.console, "abc");
        if (cut == 0)
            at = pc_insns(rig.pc);
        assert_int_equal(pc_insns(rig.pc), at);
        machine_rig_finish(&rig);
    }
}

static void an_unclaimed_port_is_told_of_once(void **state)
{
    (void)state;
    struct machine_rig rig;

    machine_rig_init(&rig);
    for (int i = 0; i < 3; i++) {
        script_out(rig.cpu, 0x2e8, 0x12);
        rig.cpu->bus.in(rig.cpu->bus.opaque, 0x2e9, 1);
    }
    assert_string_equal(rig.log, "port 02e8 written (12), where there is no device\n"
                                 "port 02e9 read, where there is no device\n");
    machine_rig_finish(&rig);
}

static void the_time_stamp_counter_is_guest_nanoseconds(void **state)
{
    (void)state;
    struct machine_rig rig;

    machine_rig_init(&rig);
    pc_run(rig.pc, (struct pc_budget){1000, UINT64_MAX, 5 << 16});
    assert_int_equal(rig.cpu->bus.tsc(rig.cpu->bus.opaque), 5000);
    assert_int_equal(pc_now_ns(rig.pc), 5000);
    machine_rig_finish(&rig);
}

static void odd_amounts_of_ram_are_refused(void **state)
{
    (void)state;
    struct pc_config config = {0};
    struct pc_ports ports = {.ram = (uint8_t *)4096, .ram_bytes = 4 << 20};
    char memory[64];

    ports.ram_bytes = 1 << 20;
    assert_null(pc_init(memory, &config, &ports));
    ports.ram_bytes = (4 << 20) + 1;
    assert_null(pc_init(memory, &config, &ports));
    ports.ram_bytes = 0xc0001000;
    assert_null(pc_init(memory, &config, &ports));
    ports.ram = NULL;
    ports.ram_bytes = 4 << 20;
    assert_null(pc_init(memory, &config, &ports));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_after_the_same_instruction_however_the_run_is_cut),
        cmocka_unit_test(a_halted_guest_sleeps_from_event_to_event),
        cmocka_unit_test(a_halt_with_interrupts_off_is_the_end),
        cmocka_unit_test(a_sleeper_that_nothing_wakes_does_not_keep_the_host),
        cmocka_unit_test(every_reset_ends_the_slice_at_its_instruction),
        cmocka_unit_test(looking_for_pci_does_not_reset),
        cmocka_unit_test(a20_follows_either_of_its_masters),
        cmocka_unit_test(a_pause_from_a_port_comes_back_at_that_instruction),
        cmocka_unit_test(an_unclaimed_port_is_told_of_once),
        cmocka_unit_test(the_time_stamp_counter_is_guest_nanoseconds),
        cmocka_unit_test(odd_amounts_of_ram_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pc", tests, NULL, NULL);
}
