/* snapshot.c: a machine that was put away in the middle goes on as if it had not been, and what is
 * no snapshot of this machine is refused with a reason. */
#include "machine_rig.h"

#include "pc/machine.h"

#include <stdlib.h>
#include <string.h>

struct store {
    uint8_t *bytes;
    size_t used, room, read, refuse_at;
};

static bool store_write(void *opaque, const void *bytes, size_t count)
{
    struct store *store = opaque;

    if (store->refuse_at && store->used + count > store->refuse_at)
        return false;
    if (store->used + count > store->room) {
        store->room = 2 * (store->used + count);
        store->bytes = realloc(store->bytes, store->room);
        assert_non_null(store->bytes);
    }
    memcpy(store->bytes + store->used, bytes, count);
    store->used += count;
    return true;
}

static bool store_read(void *opaque, void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > store->used - store->read)
        return false;
    memcpy(bytes, store->bytes + store->read, count);
    store->read += count;
    return true;
}

static const char *load(struct machine_rig *rig, struct store *store)
{
    store->read = 0;
    return pc_load(rig->pc, (struct pc_reader){store_read, store});
}

/* A guest that keeps every device busy: timer and clock interrupts, characters both ways, the
 * keyboard, the screen, and words strewn over the RAM. */
static enum cpu_stop busy_step(struct cpu *cpu, void *opaque)
{
    /* Interrupts end themselves (ICW4 03h), or a halt inside a handler would be for ever. */
    static const uint16_t program[][2] = {
        {0x20, 0x11}, {0x21, 0x20}, {0x21, 0x04}, {0x21, 0x03},  {0x21, 0x00},  {0xa0, 0x11},
        {0xa1, 0x28}, {0xa1, 0x02}, {0xa1, 0x03}, {0xa1, 0x00},  {0x43, 0x34},  {0x40, 0x10},
        {0x40, 0x01}, {0x70, 0x0b}, {0x71, 0x42}, {0x3fa, 0x81}, {0x3fc, 0x0b}, {0x3f9, 0x03},
        {0x61, 0x01}, {0x43, 0xb6}, {0x42, 0x33}, {0x42, 0x00},  {0x3d4, 0x0f}, {0x3d5, 0x21},
    };
    struct machine_rig *rig = opaque;
    uint64_t i = cpu->insns;

    if (i < sizeof program / sizeof program[0]) {
        script_out(cpu, program[i][0], (uint8_t)program[i][1]);
        return CPU_STOP_BUDGET;
    }
    switch (i % 7) {
    case 0:
        script_out(cpu, 0x3f8, (uint8_t)i);
        break;
    case 1:
        cpu->regs[0] = cpu->regs[0] * 31 + script_in(cpu, 0x3f8);
        script_out(cpu, 0x70, 0x0c);
        cpu->regs[1] = cpu->regs[1] * 31 + script_in(cpu, 0x71);
        break;
    case 2:
        script_out(cpu, 0x20, 0x20);
        script_out(cpu, 0xa0, 0x20);
        break;
    case 3:
        cpu->bus.mmio_write(cpu->bus.opaque, 0xb8000 + (uint32_t)(i % 2000) * 2, 2, (uint32_t)i);
        break;
    case 4:
        rig->ram[i * 7919 % rig->ram_bytes] = (uint8_t)i;
        break;
    case 5:
        cpu->regs[2] = cpu->regs[2] * 31 + script_in(cpu, 0x61) + script_in(cpu, 0x60);
        break;
    default:
        return i % 5 ? CPU_STOP_BUDGET : CPU_STOP_HALTED;
    }
    return CPU_STOP_BUDGET;
}

static void start_busy_ram(struct machine_rig *rig, uint32_t ram_bytes)
{
    machine_rig_init_ram(rig, ram_bytes);
    rig->cpu->step = busy_step;
    rig->cpu->opaque = rig;
}

static void start_busy(struct machine_rig *rig)
{
    start_busy_ram(rig, MACHINE_RIG_RAM);
}

static void run_to(struct machine_rig *rig, uint64_t insns)
{
    while (pc_insns(rig->pc) < insns) {
        uint64_t before = pc_insns(rig->pc);
        struct pc_budget budget = {insns - before, UINT64_MAX, 700 << 16};

        pc_run(rig->pc, budget);
        assert_true(pc_insns(rig->pc) > before); /* it has not gone to sleep for good */
    }
}

static void type(struct machine_rig *rig)
{
    pc_console_in(rig->pc, 0, (const uint8_t *)"some characters on the wire", 27);
    pc_key_in(rig->pc, (const uint8_t *)"\x1c\xf0\x1c", 3);
}

static void a_machine_goes_on_where_it_was_put_away(void **state)
{
    (void)state;
    struct machine_rig whole, first, second;
    struct store store = {0};

    start_busy(&whole);
    run_to(&whole, 50000);
    type(&whole);
    run_to(&whole, 120000);

    start_busy(&first);
    run_to(&first, 50000);
    type(&first);
    run_to(&first, 50100); /* characters and keys are on their way */
    assert_true(pc_save(first.pc, (struct pc_writer){store_write, &store}));

    start_busy(&second);
    run_to(&second, 3000); /* something else was in it */
    second.ram[12345678] = 77;
    assert_null(load(&second, &store));
    assert_true(pc_hash(second.pc) == pc_hash(first.pc));
    assert_int_equal(second.cpu->written_bytes, MACHINE_RIG_RAM);
    run_to(&second, 120000);
    assert_true(pc_hash(second.pc) == pc_hash(whole.pc));
    assert_int_equal(second.cpu->regs[0], whole.cpu->regs[0]);
    assert_true(second.cpu->interrupts > 100);
    assert_true(pc_now_ns(second.pc) == pc_now_ns(whole.pc));

    machine_rig_finish(&whole);
    machine_rig_finish(&first);
    machine_rig_finish(&second);
    free(store.bytes);
}

/* The same run in slices of other lengths: the whole machine agrees, not only its interrupts. */
static void slices_do_not_show_in_the_state(void **state)
{
    (void)state;
    uint64_t hash = 0;

    for (unsigned piece = 50000; piece > 10; piece /= 17) {
        struct machine_rig rig;

        start_busy(&rig);
        for (uint64_t at = piece; at < 50000; at += piece)
            run_to(&rig, at);
        run_to(&rig, 50000);
        if (!hash)
            hash = pc_hash(rig.pc);
        assert_true(pc_hash(rig.pc) == hash);
        machine_rig_finish(&rig);
    }
}

static void every_device_is_in_the_hash(void **state)
{
    (void)state;
    struct machine_rig rig;
    uint64_t hash;

    start_busy(&rig);
    run_to(&rig, 1000);
    hash = pc_hash(rig.pc);
    for (unsigned i = 0; i < rig.pc->chips; i++) {
        uint8_t *device = rig.pc->chip[i].device;
        const struct pc_field *first = rig.pc->chip[i].chip->fields;

        while (first->kind == FIELD_STRUCT) {
            device += first->offset;
            first = first->inner;
        }
        device[first->offset] ^= 1;
        assert_false(pc_hash(rig.pc) == hash);
        device[first->offset] ^= 1;
    }
    rig.ram[4097]++;
    assert_false(pc_hash(rig.pc) == hash);
    rig.ram[4097]--;
    assert_true(pc_hash(rig.pc) == hash);
    machine_rig_finish(&rig);
}

static void empty_ram_takes_no_room(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct store store = {0};

    start_busy(&rig);
    rig.ram[MACHINE_RIG_RAM - 1] = 1;
    assert_true(pc_save(rig.pc, (struct pc_writer){store_write, &store}));
    assert_true(store.used < 300000); /* the screen's 256 KB, a page, and little else */
    assert_null(load(&rig, &store));
    assert_int_equal(rig.ram[MACHINE_RIG_RAM - 1], 1);
    free(store.bytes);
    machine_rig_finish(&rig);
}

static void another_machine_s_snapshot_is_refused(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct store store = {0};
    static const struct {
        unsigned at;
        const char *says;
    } wrongs[] = {
        {0, "this is not a snapshot"},
        {8, "the snapshot is of another format than this build's"},
        {12, "the snapshot is of a machine with another processor"},
        {16, "the snapshot is of a machine with another amount of RAM"},
        {24, "the snapshot is of a machine that has a disk 0 as well"},
        {92, "the snapshot has another section where \"cpu\" belongs"},
        {108, "the snapshot's section \"cpu\" is of another version"},
        {110, "the snapshot's section \"cpu\" is of another version"},
        {118, "the snapshot's section \"cpu\" is damaged"},
    };

    start_busy_ram(&rig, 2 << 20);
    run_to(&rig, 5000);
    assert_true(pc_save(rig.pc, (struct pc_writer){store_write, &store}));
    for (unsigned i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        store.bytes[wrongs[i].at] ^= 1;
        assert_string_equal(load(&rig, &store), wrongs[i].says);
        store.bytes[wrongs[i].at] ^= 1;
    }
    assert_null(load(&rig, &store));

    for (size_t used = store.used; used > 0; used -= used > 4096 ? 1999 : 1) {
        size_t whole = store.used;

        store.used = used - 1;
        assert_non_null(load(&rig, &store));
        store.used = whole;
    }
    free(store.bytes);
    machine_rig_finish(&rig);
}

/* Bytes of all the devices' sections, changed: refused, or a state that runs on without harm. */
static void a_snapshot_that_lies_does_no_harm(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct store store = {0};
    unsigned refused = 0;

    start_busy_ram(&rig, 2 << 20);
    run_to(&rig, 3000);
    type(&rig);
    memset(rig.ram, 0, rig.ram_bytes);
    assert_true(pc_save(rig.pc, (struct pc_writer){store_write, &store}));
    for (size_t at = 0, step; at < store.used; at += step) {
        static const uint8_t lies[] = {0xff, 0x80};

        step = at < 400 ? 1 : at < 14000 || at + 2000 > store.used ? 7 : 4999; /* the screen */

        for (unsigned i = 0; i < 2; i++) {
            store.bytes[at] ^= lies[i];
            const char *wrong = load(&rig, &store);
            refused += wrong != NULL;
            /* A hash that does not match comes last: the state has been taken then. */
            if (!wrong || strstr(wrong, "hash"))
                for (int slice = 0; slice < 3; slice++)
                    pc_run(rig.pc, (struct pc_budget){50, UINT64_MAX, 1000 << 16});
            store.bytes[at] ^= lies[i];
        }
    }
    assert_true(refused > 2000);
    free(store.bytes);
    machine_rig_finish(&rig);
}

static void a_writer_that_is_full_is_told_to_the_caller(void **state)
{
    (void)state;
    struct machine_rig rig;

    start_busy(&rig);
    for (size_t limit = 1; limit < 280000; limit += 30011) {
        struct store store = {.refuse_at = limit};

        assert_false(pc_save(rig.pc, (struct pc_writer){store_write, &store}));
        free(store.bytes);
    }
    machine_rig_finish(&rig);
}

static unsigned lines;

static void count_line(void *opaque, const char *text)
{
    (void)opaque, (void)text;
    lines++;
}

static void a_report_names_every_device(void **state)
{
    (void)state;
    struct machine_rig rig;

    start_busy(&rig);
    run_to(&rig, 1000);
    lines = 0;
    pc_report(rig.pc, count_line, NULL);
    assert_in_range(lines, 2 + 11 + 20, 300);
    machine_rig_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_goes_on_where_it_was_put_away),
        cmocka_unit_test(slices_do_not_show_in_the_state),
        cmocka_unit_test(every_device_is_in_the_hash),
        cmocka_unit_test(empty_ram_takes_no_room),
        cmocka_unit_test(another_machine_s_snapshot_is_refused),
        cmocka_unit_test(a_snapshot_that_lies_does_no_harm),
        cmocka_unit_test(a_writer_that_is_full_is_told_to_the_caller),
        cmocka_unit_test(a_report_names_every_device),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("snapshot", tests, NULL, NULL);
}
