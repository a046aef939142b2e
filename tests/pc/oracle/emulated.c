/*
 * emulated.c: see emulated.h. The state comes back the way a kernel would get it: from the frame
 * that the fault, or the trap of the step, pushed on the stack of ring 0.
 */
#include "emulated.h"

#include <stdlib.h>
#include <string.h>

#include "pc/cpu/internal.h"

enum {
    RAM_BYTES = 2 << 20,
    AT_DIRECTORY = ORACLE_OURS,
    AT_TABLE = ORACLE_OURS + 0x1000,
    AT_GDT = ORACLE_OURS + 0x2000,
    AT_IDT = ORACLE_OURS + 0x3000,
    AT_TSS = ORACLE_OURS + 0x4000,
    AT_STACK = ORACLE_OURS + 0x6000, /* its top */
    AT_HANDLERS = ORACLE_OURS + 0x6000,
    KERNEL_CS = 8,
    KERNEL_SS = 16,
};

struct emulated {
    struct cpu *cpu;
    void *cache;
    uint8_t *ram;
    uint16_t selector[6];
};

/* ---- a bus with nothing on it ------------------------------------------------------------- */

static bool no_mmio(void *opaque, uint32_t page)
{
    (void)opaque, (void)page;
    return false;
}
static uint32_t no_read(void *opaque, uint32_t at, unsigned size)
{
    (void)opaque, (void)at, (void)size;
    return 0xffffffff;
}
static void no_write(void *opaque, uint32_t at, unsigned size, uint32_t value)
{
    (void)opaque, (void)at, (void)size, (void)value;
}
static uint32_t no_in(void *opaque, uint16_t port, unsigned size)
{
    (void)opaque, (void)port, (void)size;
    return 0xffffffff;
}
static void no_out(void *opaque, uint16_t port, unsigned size, uint32_t value)
{
    (void)opaque, (void)port, (void)size, (void)value;
}
static int no_interrupt(void *opaque)
{
    (void)opaque;
    return -1;
}
static uint64_t no_time(void *opaque)
{
    (void)opaque;
    return 0;
}

/* ---- surroundings ------------------------------------------------------------------------- */

static void put32(struct emulated *e, uint32_t at, uint32_t value)
{
    memcpy(e->ram + at, &value, 4);
}

static void make_tables(struct emulated *e)
{
    enum { PRESENT = 1, WRITABLE = 2, USER = 4 };
    put32(e, AT_DIRECTORY, AT_TABLE | PRESENT | WRITABLE | USER);
    for (uint32_t page = AT_DIRECTORY; page < AT_HANDLERS + 0x1000; page += 0x1000)
        put32(e, AT_TABLE + (page >> 12) * 4, page | PRESENT | WRITABLE);
    put32(e, AT_TABLE + (ORACLE_CODE >> 12) * 4, ORACLE_CODE | PRESENT | WRITABLE | USER);
    put32(e, AT_TABLE + (ORACLE_DATA >> 12) * 4, ORACLE_DATA | PRESENT | WRITABLE | USER);

    static const uint32_t gdt[] = {0, 0, 0x0000ffff, 0x00cf9b00, 0x0000ffff, 0x00cf9300};
    memcpy(e->ram + AT_GDT, gdt, sizeof gdt);
    for (uint32_t v = 0; v < 256; v++) {
        bool from_user = v == 3 || v == 4; /* as Linux has them */
        put32(e, AT_IDT + v * 8, KERNEL_CS << 16 | ((AT_HANDLERS + v) & 0xffff));
        put32(e, AT_IDT + v * 8 + 4, (AT_HANDLERS & 0xffff0000) | (from_user ? 0xee00 : 0x8e00));
    }
    put32(e, AT_TSS + 4, AT_STACK);
    put32(e, AT_TSS + 8, KERNEL_SS);
    put32(e, AT_TSS + 100, 104u << 16); /* no I/O map */
}

struct emulated *emulated_create(void)
{
    struct emulated *e = calloc(1, sizeof *e);
    e->ram = aligned_alloc(4096, RAM_BYTES);
    memset(e->ram, 0, RAM_BYTES);
    e->cpu = aligned_alloc(64, (cpu_struct_bytes() + 63) & ~(size_t)63);
    size_t bytes = cpu_cache_bytes(RAM_BYTES);
    e->cache = malloc(bytes);
    struct cpu_bus bus = {.opaque = e,
                          .ram = e->ram,
                          .ram_bytes = RAM_BYTES,
                          .is_mmio = no_mmio,
                          .in = no_in,
                          .out = no_out,
                          .mmio_read = no_read,
                          .mmio_write = no_write,
                          .acknowledge = no_interrupt,
                          .tsc = no_time};
    cpu_init(e->cpu, &bus, CPU_MODEL_PENTIUM_M, e->cache, bytes);
    make_tables(e);
    memset(e->ram + ORACLE_CODE, 0x90, ORACLE_PAGE);
    memset(e->ram + AT_HANDLERS, 0xf4, 256); /* HLT: the address tells the vector */
    static const uint32_t usual[6] = {0x2b, 0x23, 0x2b, 0x2b, 0, 0x63};
    emulated_set_selectors(e, usual);
    return e;
}

void emulated_destroy(struct emulated *e)
{
    if (!e)
        return;
    free(e->cpu);
    free(e->cache);
    free(e->ram);
    free(e);
}

void emulated_set_selectors(struct emulated *e, const uint32_t selector[6])
{
    for (unsigned i = 0; i < 6; i++)
        e->selector[i] = (uint16_t)selector[i];
}

/* ---- a case ------------------------------------------------------------------------------- */

static void enter_user(struct emulated *e, const struct oracle_case *c)
{
    struct cpu *cpu = e->cpu;
    cpu_enter_flat32(cpu, ORACLE_START, AT_GDT, 23);
    cpu->idt_base = AT_IDT;
    cpu->idt_limit = 0x7ff;
    cpu->seg[SEG_TR] = (struct segment){
        .selector = 0x18, .base = AT_TSS, .limit = 103, .attr = DESC_P | 11u << DESC_TYPE_SHIFT};
    cpu->cr3 = AT_DIRECTORY;
    cpu->cr0 |= CR0_PG | CR0_WP | CR0_NE | CR0_AM;
    for (unsigned i = 0; i < SEG_COUNT; i++) {
        cpu->seg[i].selector = e->selector[i];
        cpu->seg[i].attr |= 3u << DESC_DPL_SHIFT;
        if (i >= SEG_FS && !(e->selector[i] & ~3))
            cpu->seg[i] = (struct segment){.selector = e->selector[i]};
        if (i == SEG_FS && (e->selector[i] & 4)) {
            cpu->seg[i].base = ORACLE_SMALL;
            cpu->seg[i].limit = ORACLE_LIMIT;
        }
    }
    cpu->cpl = 3;
    for (unsigned i = 0; i < 8; i++)
        cpu->reg[i] = c->before.reg[i];
    cpu_set_eflags(cpu, c->before.eflags, ~(uint32_t)FLAG_VM);
    mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
}

static uint32_t from_stack(const struct emulated *e, uint32_t *at)
{
    uint32_t value;
    memcpy(&value, e->ram + *at, 4);
    *at += 4;
    return value;
}

void emulated_run(struct emulated *e, struct oracle_case *c)
{
    struct cpu *cpu = e->cpu;
    uint8_t filled[ORACLE_PAGE];
    memcpy(e->ram + ORACLE_START, c->code, sizeof c->code);
    cpu_memory_written(cpu, ORACLE_START, sizeof c->code);
    oracle_fill_page(c->page_seed, filled);
    memcpy(e->ram + ORACLE_DATA, filled, ORACLE_PAGE);
    enter_user(e, c);
    cpu_run(cpu, 1);

    /* A fault has not used up the one instruction, and ran the handler's HLT. */
    uint32_t vector = cpu->eip - AT_HANDLERS - cpu->halted, at = (uint32_t)cpu->reg[CPU_ESP];
    struct oracle_state *after = &c->after;
    for (unsigned i = 0; i < 8; i++)
        after->reg[i] = (uint32_t)cpu->reg[i];
    bool has_error = AT_STACK - at == 24;
    after->error = has_error ? from_stack(e, &at) : 0;
    after->eip = from_stack(e, &at);
    at += 4;
    after->eflags = from_stack(e, &at);
    after->reg[CPU_ESP] = from_stack(e, &at);
    after->trap = vector == VEC_DB ? ORACLE_STEPPED : vector;
    after->cr2 = vector == VEC_PF ? cpu->cr2 : 0;
    oracle_note_changes(c, filled, e->ram + ORACLE_DATA);
}
