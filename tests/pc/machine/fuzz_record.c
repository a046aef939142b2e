/* fuzz_record.c: any bytes as a recording. With an even first byte they are the whole file, with an
 * odd one they are what comes behind a good first state, where slices and inputs are. Whatever they
 * say, the reader comes back and the machine stays whole. */
#include "machine_rig.h"

#include "pc/machine.h"

#include <stdlib.h>
#include <string.h>

#define RAM   (2u << 20)
#define ROOM  (2u << 20)
#define TURNS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *at;
    size_t left;
};

static uint8_t beginning[ROOM];
static size_t beginning_bytes;

static bool collect(void *opaque, const void *bytes, size_t count)
{
    (void)opaque;
    if (count > ROOM - beginning_bytes)
        return false;
    memcpy(beginning + beginning_bytes, bytes, count);
    beginning_bytes += count;
    return true;
}

static bool read_from(void *opaque, void *bytes, size_t count)
{
    struct bytes *from = opaque;

    if (count > from->left)
        return false;
    memcpy(bytes, from->at, count);
    from->at += count;
    from->left -= count;
    return true;
}

/* It counts, prints, reads, halts: enough to have effects and to sleep. Long slices end by
 * themselves. */
static enum cpu_stop step(struct cpu *cpu, void *opaque)
{
    (void)opaque;
    if (cpu->insns % 3 == 0)
        script_out(cpu, 0x3f8, (uint8_t)cpu->insns);
    if (cpu->insns % 5 == 0)
        cpu->regs[0] += script_in(cpu, 0x3f8);
    return cpu->insns % 64 ? CPU_STOP_BUDGET : CPU_STOP_HALTED_IF;
}

static struct pc *machine(void *memory, uint8_t *ram)
{
    struct pc_config config = {0};
    struct pc_ports ports = {.ram = ram, .ram_bytes = RAM};
    struct pc *pc = pc_init(memory, &config, &ports);

    if (!pc)
        abort();
    pc->cpu->step = step;
    return pc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t *memory, *ram, *input;
    static struct pc_replay replay;
    enum pc_model model;
    uint32_t ram_bytes;

    if (!memory) {
        memory = aligned_alloc(64, (pc_bytes(RAM) + 63) & ~(size_t)63);
        ram = calloc(1, RAM);
        input = malloc(ROOM);
        if (!memory || !ram || !input ||
            !pc_record_begin(machine(memory, ram), (struct pc_writer){collect, NULL}))
            abort();
    }
    if (size < 1 || size > ROOM - beginning_bytes)
        return 0;
    size_t begun = data[0] & 1 ? beginning_bytes : 0;
    memcpy(input, beginning, begun);
    memcpy(input + begun, data + 1, size - 1);
    struct bytes from = {input, begun + size - 1};
    struct pc_reader in = {read_from, &from};
    if (pc_replay_open(in, &model, &ram_bytes) || ram_bytes != RAM)
        return 0;
    struct pc *pc = machine(memory, ram);
    pc->ram_used = true; /* by the input before */
    if (!pc_replay_begin(&replay, pc, in))
        for (unsigned i = 0; i < TURNS && pc_replay_run(&replay, 1 << 20) == REPLAY_GOES_ON; i++)
            continue;
    pc_replay_end(&replay);
    return 0;
}
