/*
 * rig.c: see rig.h.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

static void note(struct rig *rig, char kind, uint32_t at, uint32_t value, unsigned size)
{
    if (rig->event_count < RIG_EVENTS)
        rig->events[rig->event_count++] =
            (struct rig_event){kind, at, value, size, cpu_insns(rig->cpu)};
}

static bool is_mmio(void *opaque, uint32_t page)
{
    (void)opaque;
    return page == RIG_MMIO;
}

static uint32_t bus_in(void *opaque, uint16_t port, unsigned size)
{
    struct rig *rig = opaque;
    note(rig, 'i', port, rig->in_value, size);
    return rig->in_value;
}

static void bus_out(void *opaque, uint16_t port, unsigned size, uint32_t value)
{
    struct rig *rig = opaque;
    note(rig, 'o', port, value, size);
    if (rig->on_out)
        rig->on_out(rig, port, value);
}

static uint32_t mmio_read(void *opaque, uint32_t addr, unsigned size)
{
    struct rig *rig = opaque;
    note(rig, 'r', addr, rig->in_value, size);
    return rig->in_value;
}

static void mmio_write(void *opaque, uint32_t addr, unsigned size, uint32_t value)
{
    struct rig *rig = opaque;
    note(rig, 'w', addr, value, size);
    if (rig->on_out)
        rig->on_out(rig, (uint16_t)addr, value);
}

static int acknowledge(void *opaque)
{
    struct rig *rig = opaque;
    cpu_set_intr(rig->cpu, false);
    return rig->vector;
}

static uint64_t tsc(void *opaque)
{
    struct rig *rig = opaque;
    return cpu_insns(rig->cpu) * 10;
}

/* ---- */

void rig_put(struct rig *rig, uint32_t at, const void *bytes, size_t count)
{
    memcpy(rig->ram + at, bytes, count);
    cpu_memory_written(rig->cpu, at, (uint32_t)count);
}

void rig_put32(struct rig *rig, uint32_t at, uint32_t value)
{
    rig_put(rig, at, &value, 4);
}

uint32_t rig_get32(const struct rig *rig, uint32_t at)
{
    uint32_t value;
    memcpy(&value, rig->ram + at, 4);
    return value;
}

static void make_tables(struct rig *rig)
{
    static const uint32_t gdt[] = {
        0,          0,      0,          0,      0xffff,     0x00cf9b00,          0xffff,
        0x00cf9300, 0xffff, 0x00cffb00, 0xffff, 0x00cff300, 103 | RIG_TSS << 16, 0x00008900,
    };
    rig_put(rig, RIG_GDT, gdt, sizeof gdt);
    for (uint32_t v = 0; v < 256; v++) {
        rig_put32(rig, RIG_IDT + v * 8, 0x10 << 16 | (RIG_HANDLERS + v));
        rig_put32(rig, RIG_IDT + v * 8 + 4, 0x8e00 | (v == 3 || v == 4 || v == 0x80 ? 0x6000 : 0));
    }
    memset(rig->ram + RIG_HANDLERS, 0xf4, 256);
    rig_put32(rig, RIG_TSS + 4, RIG_RING0_STACK);
    rig_put32(rig, RIG_TSS + 8, 0x18);
    rig_put32(rig, RIG_TSS + 100, 104u << 16);
}

struct rig *rig_create(enum cpu_model model)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig->ram = aligned_alloc(4096, RIG_RAM);
    memset(rig->ram, 0, RIG_RAM);
    rig->cpu = aligned_alloc(64, (cpu_struct_bytes() + 63) & ~(size_t)63);
    size_t bytes = cpu_cache_bytes(RIG_RAM);
    rig->cache = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    struct cpu_bus bus = {.opaque = rig,
                          .ram = rig->ram,
                          .ram_bytes = RIG_RAM,
                          .is_mmio = is_mmio,
                          .in = bus_in,
                          .out = bus_out,
                          .mmio_read = mmio_read,
                          .mmio_write = mmio_write,
                          .acknowledge = acknowledge,
                          .tsc = tsc};
    if (cpu_init(rig->cpu, &bus, model, rig->cache, bytes))
        abort();
    make_tables(rig);
    return rig;
}

void rig_destroy(struct rig *rig)
{
    if (!rig)
        return;
    free(rig->cpu);
    free(rig->cache);
    free(rig->ram);
    free(rig);
}

int rig_setup(void **state)
{
    *state = rig_create(CPU_MODEL_PENTIUM_M);
    return 0;
}

int rig_teardown(void **state)
{
    rig_destroy(*state);
    return 0;
}

void rig_start(struct rig *rig)
{
    struct cpu *cpu = rig->cpu;
    cpu_enter_flat32(cpu, RIG_CODE, RIG_GDT, 0x37);
    cpu->idt_base = RIG_IDT;
    cpu->idt_limit = 0x7ff;
    cpu->seg[SEG_TR] = (struct segment){
        .selector = 0x30, .base = RIG_TSS, .limit = 103, .attr = DESC_P | 11u << DESC_TYPE_SHIFT};
    cpu->reg[CPU_EDX] = 0; /* RESET leaves the model there */
    cpu->reg[CPU_ESP] = RIG_STACK;
}

void rig_start_user(struct rig *rig)
{
    struct cpu *cpu = rig->cpu;
    rig_start(rig);
    for (unsigned i = 0; i < SEG_COUNT; i++) {
        cpu->seg[i].selector = i == SEG_CS ? 0x23 : 0x2b;
        cpu->seg[i].attr |= 3u << DESC_DPL_SHIFT;
    }
    cpu->cpl = 3;
    cpu_mode_changed(cpu);
}

int rig_vector(const struct rig *rig)
{
    uint32_t eip = rig->cpu->eip - RIG_HANDLERS - rig->cpu->halted;
    return eip < 256 ? (int)eip : -1;
}

uint32_t rig_pushed(const struct rig *rig, unsigned word)
{
    return rig_get32(rig, (uint32_t)rig->cpu->reg[CPU_ESP] + word * 4);
}
