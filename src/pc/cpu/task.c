/*
 * Hardware task switches (SDM 3A 7): JMP, CALL, interrupts and IRET to a task state segment of 32
 * or 16 bits. What can be refused in the old task is checked before anything changes; what is wrong
 * with the new task's segments is reported in the new task (7.3, steps 11 to 13).
 */
#include "pc/cpu/internal.h"

enum { BUSY = 2 << DESC_TYPE_SHIFT, WIDE = 8 << DESC_TYPE_SHIFT };

/* Where things are in a task state segment (SDM 3A figures 7-2 and 7-10). */
struct tss_layout {
    uint8_t bytes; /* the least limit is one less */
    uint8_t size;  /* of a register's place */
    uint8_t eip, eflags, reg, seg, ldt;
    uint8_t segs; /* ES CS SS DS, and FS GS where there is room for them */
};

static const struct tss_layout layout16 = {44, 2, 0x0e, 0x10, 0x12, 0x22, 0x2a, 4};
static const struct tss_layout layout32 = {104, 4, 0x20, 0x24, 0x28, 0x48, 0x60, 6};

enum { AT_LINK = 0, AT_CR3 = 0x1c, AT_TRAP = 0x64 };

static const struct tss_layout *layout_of(uint32_t attr)
{
    return attr & WIDE ? &layout32 : &layout16;
}

static bool is_task(uint32_t high, bool busy)
{
    uint32_t type = high >> DESC_TYPE_SHIFT & 0x17; /* with S, without the width */
    return type == (busy ? 3u : 1u);
}

bool task_find(struct cpu *cpu, uint16_t selector, bool returning, struct descriptor *d)
{
    enum vector vector = returning ? VEC_TS : VEC_GP;
    if ((selector & 4) || !(selector & 0xfffc))
        return cpu_fault_code(cpu, vector, selector & 0xfffc);
    if (!seg_read_descriptor(cpu, selector, vector, d))
        return false;
    if (!is_task(d->high, returning))
        return cpu_fault_code(cpu, vector, selector & 0xfffc);
    if (!(d->high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, selector & 0xfffc);
    return true;
}

/* ---- the old task ------------------------------------------------------------------------- */

static linear_t descriptor_of_old(const struct cpu *cpu)
{
    return cpu->gdt_base + (cpu->seg[SEG_TR].selector & 0xfff8u);
}

/* All pages that the switch reads and writes in the old address space, before it does (step 5). */
static bool probe(struct cpu *cpu, const struct segment *next, const struct descriptor *d)
{
    const struct segment *old = &cpu->seg[SEG_TR];
    const struct tss_layout *from = layout_of(old->attr), *to = layout_of(next->attr);
    if (old->limit < from->bytes - 1u)
        return cpu_fault_code(cpu, VEC_TS, old->selector & 0xfffc);
    return mmu_probe(cpu, old->base + from->eip, from->ldt - from->eip, MMU_WRITE, false) &&
           mmu_probe(cpu, next->base, to->bytes, MMU_READ, false) &&
           mmu_probe(cpu, next->base + AT_LINK, 2, MMU_WRITE, false) &&
           mmu_probe(cpu, descriptor_of_old(cpu) + 5, 1, MMU_WRITE, false) &&
           mmu_probe(cpu, d->at + 5, 1, MMU_WRITE, false);
}

static void save_old(struct cpu *cpu, uint32_t eip, uint32_t eflags)
{
    const struct segment *tr = &cpu->seg[SEG_TR];
    const struct tss_layout *l = layout_of(tr->attr);
    mmu_write(cpu, tr->base + l->eip, &eip, l->size, false);
    mmu_write(cpu, tr->base + l->eflags, &eflags, l->size, false);
    for (unsigned i = 0; i < 8; i++)
        mmu_write(cpu, tr->base + l->reg + i * l->size, &cpu->reg[i], l->size, false);
    for (unsigned i = 0; i < l->segs; i++)
        mmu_write(cpu, tr->base + l->seg + i * l->size, &cpu->seg[i].selector, 2, false);
}

static void set_busy(struct cpu *cpu, linear_t descriptor, bool busy)
{
    uint8_t byte;
    mmu_read(cpu, descriptor + 5, &byte, 1, false);
    byte = (uint8_t)(busy ? byte | BUSY >> 8 : byte & ~(BUSY >> 8));
    mmu_write(cpu, descriptor + 5, &byte, 1, false);
}

/* ---- the new task ------------------------------------------------------------------------- */

static uint32_t field(const uint8_t *image, unsigned at, unsigned size)
{
    uint32_t value = 0;
    memcpy(&value, image + at, size);
    return value;
}

static bool load_cr3(struct cpu *cpu, uint32_t value)
{
    if (!(cpu->cr0 & CR0_PG))
        return true;
    if ((cpu->cr4 & CR4_PAE) && !mmu_load_pdptes(cpu, value))
        return false;
    cpu->cr3 = value;
    mmu_flush(cpu, false);
    return true;
}

static bool load_ldt(struct cpu *cpu, uint16_t selector)
{
    struct descriptor d;
    uint16_t error = selector & 0xfffc;
    if (!error)
        return true;
    if (selector & 4)
        return cpu_fault_code(cpu, VEC_TS, error);
    if (!seg_read_descriptor(cpu, selector, VEC_TS, &d))
        return false;
    bool is_table = (d.high >> DESC_TYPE_SHIFT & 31) == 2;
    if (!is_table || !(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_TS, error);
    seg_unpack(&cpu->seg[SEG_LDT], selector, &d);
    return true;
}

static bool load_code(struct cpu *cpu, uint16_t selector)
{
    struct descriptor d;
    struct segment cs;
    uint16_t error = selector & 0xfffc;
    if (!error)
        return cpu_fault_code(cpu, VEC_TS, 0);
    if (!seg_read_descriptor(cpu, selector, VEC_TS, &d))
        return false;
    unsigned dpl = d.high >> DESC_DPL_SHIFT & 3, rpl = selector & 3;
    bool code = (d.high & DESC_S) && (d.high & DESC_CODE);
    if (!code || (d.high & DESC_EC ? dpl > rpl : dpl != rpl))
        return cpu_fault_code(cpu, VEC_TS, error);
    if (!(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    if (!seg_set_accessed(cpu, &d))
        return false;
    seg_unpack(&cs, selector, &d);
    seg_set_cs(cpu, &cs, rpl);
    return true;
}

static bool load_stack(struct cpu *cpu, uint16_t selector)
{
    struct descriptor d;
    struct segment ss;
    if (!seg_check_stack(cpu, selector, cpu->cpl, VEC_TS, &ss, &d) || !seg_set_accessed(cpu, &d))
        return false;
    ss.attr |= DESC_ACCESSED;
    cpu->seg[SEG_SS] = ss;
    cpu_mode_changed(cpu);
    return true;
}

/* The segments, whose selectors are in place already (step 13). */
static bool load_segments(struct cpu *cpu)
{
    static const uint8_t data[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
    if (cpu_v86(cpu)) {
        for (unsigned i = 0; i < SEG_COUNT; i++)
            seg_load_real(cpu, i, cpu->seg[i].selector);
        return true;
    }
    if (!load_code(cpu, cpu->seg[SEG_CS].selector) || !load_stack(cpu, cpu->seg[SEG_SS].selector))
        return false;
    for (unsigned i = 0; i < sizeof data; i++)
        if (!seg_load_data(cpu, data[i], cpu->seg[data[i]].selector, VEC_TS))
            return false;
    return true;
}

/* The registers of the new task; no descriptor has been looked at when it returns. */
static void load_registers(struct cpu *cpu, const struct tss_layout *l, const uint8_t *image,
                           bool nested)
{
    enum { DEFINED = 0x3f7fd5 };
    uint32_t eflags = field(image, l->eflags, l->size);
    for (unsigned i = 0; i < 8; i++)
        cpu->reg[i] = field(image, l->reg + i * l->size, l->size);
    for (unsigned i = 0; i < SEG_COUNT; i++) {
        uint32_t selector = i < l->segs ? field(image, l->seg + i * l->size, 2) : 0;
        cpu->seg[i] = (struct segment){.selector = (uint16_t)selector};
    }
    cpu->seg[SEG_LDT] = (struct segment){.selector = (uint16_t)field(image, l->ldt, 2)};
    cpu->eip = field(image, l->eip, l->size);
    cpu->cpl = eflags & FLAG_VM ? 3 : cpu->seg[SEG_CS].selector & 3;
    cpu_set_eflags(cpu, eflags | (nested ? FLAG_NT : 0), DEFINED);
}

enum entry task_switch(struct cpu *cpu, uint16_t selector, const struct descriptor *d,
                       enum task_way way, uint32_t eip, uint32_t eflags)
{
    struct segment next;
    uint8_t image[104];
    bool nests = way == TASK_CALL, back = way == TASK_RETURN;
    seg_unpack(&next, selector, d);
    const struct tss_layout *l = layout_of(next.attr);
    if (next.limit < l->bytes - 1u) {
        cpu_fault_code(cpu, VEC_TS, selector & 0xfffc);
        return ENTRY_REFUSED;
    }
    if (!probe(cpu, &next, d) || !mmu_read(cpu, next.base, image, l->bytes, false))
        return ENTRY_REFUSED;

    uint16_t old = cpu->seg[SEG_TR].selector;
    save_old(cpu, eip, back ? eflags & ~(uint32_t)FLAG_NT : eflags);
    if (!nests)
        set_busy(cpu, descriptor_of_old(cpu), false);
    else
        mmu_write(cpu, next.base + AT_LINK, &old, 2, false);
    if (!back)
        set_busy(cpu, d->at, true);
    next.attr |= BUSY;
    cpu->seg[SEG_TR] = next;
    cpu->cr0 |= CR0_TS;
    cpu->link_from = NULL;
    cpu->shadow = SHADOW_NONE;
    debug_task_switched(cpu, l == &layout32 && (image[AT_TRAP] & 1));

    load_registers(cpu, l, image, nests);
    bool good = (l != &layout32 || load_cr3(cpu, field(image, AT_CR3, 4))) &&
                load_ldt(cpu, cpu->seg[SEG_LDT].selector) && load_segments(cpu);
    cpu_mode_changed(cpu);
    return good ? ENTRY_DONE : ENTRY_FAULTED;
}

enum entry task_return(struct cpu *cpu, uint32_t eip)
{
    const struct segment *tr = &cpu->seg[SEG_TR];
    uint16_t link;
    struct descriptor d;
    if (!mmu_read(cpu, tr->base + AT_LINK, &link, 2, false) || !task_find(cpu, link, true, &d))
        return ENTRY_REFUSED;
    return task_switch(cpu, link, &d, TASK_RETURN, eip, cpu_eflags(cpu));
}
