/* record.c: a run that is written down runs again to the same end, with inputs between slices and
 * in the middle of them; it stops where it is to; and what is no recording of it is found out. */
#include "machine_rig.h"

#include "pc/machine.h"

#include <stdlib.h>
#include <string.h>

struct tape {
    uint8_t *bytes;
    size_t used, room, read, refuse_at;
};

static bool tape_write(void *opaque, const void *bytes, size_t count)
{
    struct tape *tape = opaque;

    if (tape->refuse_at && tape->used + count > tape->refuse_at)
        return false;
    if (tape->used + count > tape->room) {
        tape->room = 2 * (tape->used + count);
        tape->bytes = realloc(tape->bytes, tape->room);
        assert_non_null(tape->bytes);
    }
    memcpy(tape->bytes + tape->used, bytes, count);
    tape->used += count;
    return true;
}

static bool tape_read(void *opaque, void *bytes, size_t count)
{
    struct tape *tape = opaque;

    if (count > tape->used - tape->read)
        return false;
    memcpy(bytes, tape->bytes + tape->read, count);
    tape->read += count;
    return true;
}

static struct pc_reader reader(struct tape *tape)
{
    tape->read = 0;
    return (struct pc_reader){tape_read, tape};
}

/* A guest that prints what it reads, looks at every clock, and halts now and then. */
static enum cpu_stop busy_step(struct cpu *cpu, void *opaque)
{
    static const uint16_t program[][2] = {
        {0x20, 0x11}, {0x21, 0x20},  {0x21, 0x04},  {0x21, 0x03},  {0x21, 0x00}, {0xa0, 0x11},
        {0xa1, 0x28}, {0xa1, 0x02},  {0xa1, 0x03},  {0xa1, 0x00},  {0x43, 0x34}, {0x40, 0x10},
        {0x40, 0x01}, {0x3fa, 0x81}, {0x3fc, 0x0b}, {0x3f9, 0x03}, {0x61, 0x01},
    };
    struct machine_rig *rig = opaque;
    uint64_t i = cpu->insns;

    if (i < sizeof program / sizeof program[0]) {
        script_out(cpu, program[i][0], (uint8_t)program[i][1]);
        return CPU_STOP_BUDGET;
    }
    switch (i % 7) {
    case 0:
        script_out(cpu, 0x3f8, (uint8_t)('a' + i % 26));
        break;
    case 1:
        if (script_in(cpu, 0x3fd) & 1)
            cpu->regs[0] = cpu->regs[0] * 31 + script_in(cpu, 0x3f8);
        break;
    case 2:
        script_out(cpu, 0x20, 0x20);
        break;
    case 3:
        cpu->regs[1] = cpu->regs[1] * 31 + script_in(cpu, 0x40) + script_in(cpu, 0x60);
        break;
    case 4:
        rig->ram[i * 7919 % rig->ram_bytes] = (uint8_t)(i + cpu->regs[0]);
        break;
    default:
        return i % 5 ? CPU_STOP_BUDGET : CPU_STOP_HALTED;
    }
    return CPU_STOP_BUDGET;
}

static struct machine_rig *listening; /* whose console_out brings something in */
static unsigned heard;
static void (*rig_console)(void *opaque, unsigned uart, uint8_t byte);

/* In the middle of a slice: keys go out at the letter that asked for them, or it pauses. */
static void answer(void *opaque, unsigned uart, uint8_t byte)
{
    if (rig_console)
        rig_console(opaque, uart, byte);
    if (!listening)
        return;
    heard++;
    if (heard % 97 == 0)
        pc_console_in(listening->pc, 0, (const uint8_t *)"in the middle", 13);
    if (heard % 301 == 0)
        pc_pause(listening->pc);
}

static void start(struct machine_rig *rig)
{
    machine_rig_init_ram(rig, 2 << 20);
    rig->cpu->step = busy_step;
    rig->cpu->opaque = rig;
    rig_console = rig->pc->ports.console_out;
    rig->pc->ports.console_out = answer;
}

/* As a host in real time does: slices of any length, at any rate, with an end in time or without.
 */
static void live(struct machine_rig *rig, unsigned slices)
{
    uint32_t seed = 5;

    listening = rig;
    heard = 0;
    for (unsigned i = 0; i < slices; i++) {
        seed = seed * 1664525 + 1013904223;
        struct pc_budget budget = {
            .max_insns = 1 + (seed >> 8) % 3000,
            .until_ns = i % 3 ? pc_now_ns(rig->pc) + (seed >> 12) % 2000000 : UINT64_MAX,
            .ns_per_insn_q16 = 1 + (seed >> 4) % (900 << 16),
        };
        if (i % 10 < 3)
            budget = (struct pc_budget){500, UINT64_MAX, 700 << 16};
        pc_run(rig->pc, budget);
        if (i % 5 == 0)
            pc_console_in(rig->pc, i % 2, (const uint8_t *)"from outside", 12);
        if (i % 11 == 0)
            pc_key_in(rig->pc, (const uint8_t *)"\x1c\xf0\x1c", 3);
        if (i % 13 == 0)
            pc_mouse_in(rig->pc, (int)i - 100, 3, i % 8);
    }
    listening = NULL;
}

static void record(struct tape *tape, uint64_t *hash)
{
    struct machine_rig rig;

    start(&rig);
    live(&rig, 20); /* it has a past */
    assert_true(pc_record_begin(rig.pc, (struct pc_writer){tape_write, tape}));
    live(&rig, 400);
    *hash = pc_hash(rig.pc);
    assert_true(pc_record_end(rig.pc));
    live(&rig, 10); /* of which nothing is recorded any more */
    machine_rig_finish(&rig);
}

static enum replay_result play(struct pc_replay *replay, uint64_t stop_at)
{
    enum replay_result result;

    while ((result = pc_replay_run(replay, stop_at)) == REPLAY_GOES_ON)
        continue;
    return result;
}

static void a_run_runs_again(void **state)
{
    (void)state;
    struct tape tape = {0};
    struct machine_rig rig;
    static struct pc_replay replay;
    enum pc_model model;
    uint32_t ram_bytes;
    uint64_t hash;

    record(&tape, &hash);
    assert_null(pc_replay_open(reader(&tape), &model, &ram_bytes));
    assert_int_equal(ram_bytes, 2 << 20);
    start(&rig);
    assert_null(pc_replay_begin(&replay, rig.pc, (struct pc_reader){tape_read, &tape}));
    assert_int_equal(play(&replay, UINT64_MAX), REPLAY_ENDED);
    assert_true(pc_hash(rig.pc) == hash);
    assert_int_equal(tape.read, tape.used);
    pc_replay_end(&replay);
    machine_rig_finish(&rig);
    free(tape.bytes);
}

/* Stopped anywhere, it is the machine that went there by itself. */
static void it_stops_where_it_is_to(void **state)
{
    (void)state;
    struct tape tape = {0};
    static struct pc_replay replay;
    enum pc_model model;
    uint32_t ram_bytes;
    uint64_t hash, first = 0;

    record(&tape, &hash);
    for (unsigned i = 0; i < 12; i++) {
        struct machine_rig rig;

        assert_null(pc_replay_open(reader(&tape), &model, &ram_bytes));
        start(&rig);
        assert_null(pc_replay_begin(&replay, rig.pc, (struct pc_reader){tape_read, &tape}));
        first = first ? first : pc_insns(rig.pc);
        uint64_t stop_at = first + 1 + i * 3001;
        assert_int_equal(play(&replay, stop_at), REPLAY_STOPPED);
        assert_true(pc_insns(rig.pc) == stop_at);
        assert_int_equal(pc_replay_run(&replay, stop_at), REPLAY_STOPPED);
        pc_replay_end(&replay);
        machine_rig_finish(&rig);
    }
    free(tape.bytes);
}

static void a_writer_that_is_full_is_told_to_the_caller(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct tape tape = {.refuse_at = 10};

    start(&rig);
    assert_false(pc_record_begin(rig.pc, (struct pc_writer){tape_write, &tape}));
    free(tape.bytes);
    tape = (struct tape){0};
    assert_true(pc_record_begin(rig.pc, (struct pc_writer){tape_write, &tape}));
    tape.refuse_at = tape.used + 100;
    live(&rig, 100);
    assert_false(pc_record_end(rig.pc));
    free(tape.bytes);
    machine_rig_finish(&rig);
}

/* Every byte behind the first state changed, and cut off anywhere: it is said, and harms nothing.
 * One that differs only where nobody can see it, in a key that is not read, may pass. */
static void a_recording_that_lies_is_found_out(void **state)
{
    (void)state;
    struct tape tape = {0};
    struct machine_rig rig;
    static struct pc_replay replay;
    enum pc_model model;
    uint32_t ram_bytes;
    uint64_t hash;
    unsigned passed = 0, tried = 0;

    record(&tape, &hash);
    start(&rig);
    size_t whole = tape.used;
    for (size_t at = 0; at < whole; at += at < 24 ? 1 : at < whole - 12000 ? 9973 : 101) {
        for (unsigned lie = 0; lie < 3; lie++) {
            tape.bytes[at] ^= lie == 0 ? 0x01 : lie == 1 ? 0x80 : 0;
            tape.used = lie == 2 ? at : whole;
            const char *wrong = pc_replay_open(reader(&tape), &model, &ram_bytes);
            if (!wrong && ram_bytes == 2 << 20) {
                wrong = pc_replay_begin(&replay, rig.pc, (struct pc_reader){tape_read, &tape});
                if (!wrong && play(&replay, UINT64_MAX) == REPLAY_WRONG)
                    wrong = replay.wrong;
                pc_replay_end(&replay);
                tried++;
                passed += !wrong;
                assert_true(lie < 2 || wrong);
            }
            tape.used = whole;
            tape.bytes[at] ^= lie == 0 ? 0x01 : lie == 1 ? 0x80 : 0;
        }
    }
    assert_true(tried > 300);
    assert_true(passed < tried / 10);
    machine_rig_finish(&rig);
    free(tape.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_runs_again),
        cmocka_unit_test(it_stops_where_it_is_to),
        cmocka_unit_test(a_writer_that_is_full_is_told_to_the_caller),
        cmocka_unit_test(a_recording_that_lies_is_found_out),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
