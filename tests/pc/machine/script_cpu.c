/* script_cpu.c: see script_cpu.h. */
#include "script_cpu.h"

#include "pc/cpu/save.h"

#include <string.h>

size_t cpu_struct_bytes(void)
{
    return sizeof(struct cpu);
}

size_t cpu_cache_bytes(uint32_t ram_bytes)
{
    (void)ram_bytes;
    return 64;
}

int cpu_init(struct cpu *cpu, const struct cpu_bus *bus, enum cpu_model model, void *cache,
             size_t cache_bytes)
{
    (void)model, (void)cache, (void)cache_bytes;
    memset(cpu, 0, sizeof *cpu);
    cpu->bus = *bus;
    cpu->vector = -1;
    return 0;
}

void cpu_reset(struct cpu *cpu)
{
    cpu->halted = cpu->interrupts_off = false;
}

static void take_interrupt(struct cpu *cpu)
{
    if (!cpu->intr || cpu->interrupts_off)
        return;
    cpu->vector = cpu->bus.acknowledge(cpu->bus.opaque);
    cpu->interrupts++;
    cpu->halted = false;
}

enum cpu_stop cpu_run(struct cpu *cpu, uint64_t insns)
{
    uint64_t end = cpu->insns + insns;

    while (cpu->insns < end) {
        if (cpu->exit_asked) {
            cpu->exit_asked = false;
            return CPU_STOP_REQUESTED;
        }
        take_interrupt(cpu);
        if (cpu->halted)
            return cpu->interrupts_off ? CPU_STOP_HALTED_IF : CPU_STOP_HALTED;
        if (!cpu->step) {
            cpu->insns = end;
            break;
        }
        enum cpu_stop stop = cpu->step(cpu, cpu->opaque);
        cpu->insns++;
        if (stop == CPU_STOP_HALTED)
            cpu->halted = true;
        else if (stop != CPU_STOP_BUDGET)
            return stop;
    }
    return CPU_STOP_BUDGET;
}

void cpu_set_intr(struct cpu *cpu, bool level)
{
    cpu->intr = level;
}

void cpu_set_nmi(struct cpu *cpu, bool level)
{
    (void)cpu, (void)level;
}

void cpu_set_trace(struct cpu *cpu, unsigned what)
{
    (void)cpu, (void)what;
}

void cpu_set_a20(struct cpu *cpu, bool enabled)
{
    cpu->a20 = enabled;
}

uint64_t cpu_insns(const struct cpu *cpu)
{
    return cpu->insns;
}

void cpu_request_exit(struct cpu *cpu)
{
    cpu->exit_asked = true;
}

void cpu_memory_written(struct cpu *cpu, uint32_t addr, uint32_t bytes)
{
    (void)addr;
    cpu->written_bytes = bytes;
}

uint32_t cpu_get_reg(const struct cpu *cpu, enum cpu_reg reg)
{
    return cpu->regs[reg];
}

void cpu_set_reg(struct cpu *cpu, enum cpu_reg reg, uint32_t value)
{
    cpu->regs[reg] = value;
}

void cpu_enter_flat32(struct cpu *cpu, uint32_t entry, uint32_t gdt, uint16_t gdt_limit)
{
    (void)gdt, (void)gdt_limit;
    cpu->entry = entry;
    cpu->interrupts_off = true;
}

size_t cpu_dump(struct cpu *cpu, char *text, size_t bytes)
{
    (void)cpu;
    if (bytes < 8)
        return 0;
    memcpy(text, "one\ntwo", 8);
    return 7;
}

/* ---- save.h ------------------------------------------------------------------------------- */

static const struct pc_field fields[] = {
    FIELD(struct cpu, insns),          FIELD(struct cpu, intr),
    FIELD(struct cpu, interrupts_off), FIELD(struct cpu, halted),
    FIELD(struct cpu, vector),         FIELD(struct cpu, interrupts),
    FIELD_ARRAY(struct cpu, regs),     FIELD_END,
};

uint64_t cpu_state_bytes(const struct cpu *cpu)
{
    (void)cpu;
    return fields_bytes(fields);
}

uint64_t cpu_state_shape(void)
{
    return fields_shape(fields);
}

bool cpu_save(const struct cpu *cpu, struct pc_writer out)
{
    return fields_save(fields, cpu, out);
}

bool cpu_load(struct cpu *cpu, struct pc_reader in)
{
    return fields_load(fields, cpu, in);
}

uint64_t cpu_hash(const struct cpu *cpu, uint64_t hash)
{
    return fields_hash(fields, cpu, hash);
}
