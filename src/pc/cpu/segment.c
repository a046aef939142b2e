/*
 * Segmentation: descriptors read from the GDT and LDT, their checks and the loading of segment
 * registers, and the working out of segmented addresses for code that is not flat.
 */
#include "pc/cpu/internal.h"

/* ---- addresses ---------------------------------------------------------------------------- */

static bool type_allows(const struct segment *s, enum seg_access access)
{
    if (!(s->attr & DESC_P))
        return false; /* null */
    if (access == SEG_WRITE)
        return !(s->attr & DESC_CODE) && (s->attr & DESC_RW);
    return !(s->attr & DESC_CODE) || (s->attr & DESC_RW);
}

bool seg_allows(const struct cpu *cpu, const struct segment *s, uint32_t offset, unsigned size,
                enum seg_access access)
{
    (void)cpu;
    if (!type_allows(s, access))
        return false;
    uint32_t last = offset + size - 1;
    bool expand_down = !(s->attr & DESC_CODE) && (s->attr & DESC_EC);
    if (expand_down) { /* SDM 3A 5.3: valid above the limit */
        uint32_t top = s->attr & DESC_DB ? 0xffffffff : 0xffff;
        return offset > s->limit && last >= offset && last <= top;
    }
    return offset <= s->limit && size - 1 <= s->limit - offset;
}

/* Alignment is checked at CPL 3 with CR0.AM and EFLAGS.AC; the mode is then never flat, so that all
 * accesses come past here. */
static bool is_misaligned(const struct cpu *cpu, linear_t lin, unsigned size)
{
    return (cpu->eflags & FLAG_AC) && (cpu->cr0 & CR0_AM) && cpu->cpl == 3 &&
           !(size & (size - 1)) && size <= 8 && (lin & (size - 1));
}

bool seg_linear(struct cpu *cpu, unsigned seg, uint32_t offset, unsigned size,
                enum seg_access access, linear_t *lin)
{
    const struct segment *s = &cpu->seg[seg];
    if (unlikely(!seg_allows(cpu, s, offset, size, access)))
        return cpu_fault_code(cpu, seg == SEG_SS ? VEC_SS : VEC_GP, 0);
    *lin = s->base + offset;
    if (unlikely(is_misaligned(cpu, *lin, size)))
        return cpu_fault_code(cpu, VEC_AC, 0);
    return true;
}

uint32_t seg_offset(const struct cpu *cpu, const struct uop *u)
{
    uint32_t offset = (uint32_t)cpu->reg[u->base] +
                      ((uint32_t)cpu->reg[u->index] << (u->scale_seg & UOP_SCALE)) + u->disp;
    return u->scale_seg & UOP_A16 ? offset & 0xffff : offset;
}

bool seg_operand(struct cpu *cpu, const struct uop *u, unsigned size, enum seg_access access,
                 linear_t *lin)
{
    return seg_linear(cpu, u->scale_seg >> UOP_SEG_SHIFT & 7, seg_offset(cpu, u), size, access,
                      lin);
}

/* ---- descriptors -------------------------------------------------------------------------- */

bool seg_read_descriptor(struct cpu *cpu, uint16_t selector, enum vector vector,
                         struct descriptor *d)
{
    bool local = selector & 4;
    uint32_t base = local ? cpu->seg[SEG_LDT].base : cpu->gdt_base;
    uint32_t limit = local ? cpu->seg[SEG_LDT].limit : cpu->gdt_limit;
    if ((local && !(cpu->seg[SEG_LDT].attr & DESC_P)) || (selector | 7u) > limit)
        return cpu_fault_code(cpu, vector, selector & 0xfffc);
    uint32_t words[2];
    d->at = base + (selector & 0xfff8u);
    if (!mmu_read(cpu, d->at, words, sizeof words, false))
        return false;
    d->low = words[0];
    d->high = words[1];
    return true;
}

void seg_unpack(struct segment *segment, uint16_t selector, const struct descriptor *d)
{
    uint32_t limit = (d->low & 0xffff) | (d->high & 0xf0000);
    segment->selector = selector;
    segment->base = d->low >> 16 | (d->high & 0xff) << 16 | (d->high & 0xff000000);
    segment->limit = d->high & DESC_G ? limit << 12 | 0xfff : limit;
    segment->attr = d->high & 0x00f0ff00;
}

bool seg_set_accessed(struct cpu *cpu, struct descriptor *d)
{
    if (d->high & DESC_ACCESSED)
        return true;
    d->high |= DESC_ACCESSED;
    uint8_t byte = (uint8_t)(d->high >> 8);
    return mmu_write(cpu, d->at + 5, &byte, 1, false);
}

static unsigned dpl_of(uint32_t high)
{
    return high >> DESC_DPL_SHIFT & 3;
}

bool seg_check_stack(struct cpu *cpu, uint16_t selector, unsigned cpl, enum vector vector,
                     struct segment *ss, struct descriptor *d)
{
    uint16_t error = selector & 0xfffc;
    if (!error)
        return cpu_fault_code(cpu, vector, 0);
    if (!seg_read_descriptor(cpu, selector, vector, d))
        return false;
    bool writable_data = (d->high & DESC_S) && !(d->high & DESC_CODE) && (d->high & DESC_RW);
    if ((selector & 3u) != cpl || dpl_of(d->high) != cpl || !writable_data)
        return cpu_fault_code(cpu, vector, error);
    if (!(d->high & DESC_P))
        return cpu_fault_code(cpu, VEC_SS, error);
    seg_unpack(ss, selector, d);
    return true;
}

/* ---- loading ------------------------------------------------------------------------------ */

void seg_load_real(struct cpu *cpu, unsigned seg, uint16_t selector)
{
    struct segment *s = &cpu->seg[seg];
    s->selector = selector;
    s->base = (uint32_t)selector << 4;
    if (cpu_v86(cpu)) { /* SDM 3B 20.2.1 */
        s->limit = 0xffff;
        s->attr = DESC_P | DESC_S | DESC_RW | DESC_ACCESSED | 3u << DESC_DPL_SHIFT;
    } else {
        /* The limit stays: whatever protected mode left ("unreal mode"). */
        s->attr = (s->attr & DESC_DB) | DESC_P | DESC_S | DESC_RW | DESC_ACCESSED;
    }
    cpu_mode_changed(cpu);
}

void seg_set_cs_real(struct cpu *cpu, uint16_t selector)
{
    seg_load_real(cpu, SEG_CS, selector);
}

static bool load_data(struct cpu *cpu, uint16_t selector, enum vector vector, struct segment *out)
{
    struct descriptor d;
    uint16_t error = selector & 0xfffc;
    if (!error) {
        *out = (struct segment){.selector = selector};
        return true;
    }
    if (!seg_read_descriptor(cpu, selector, vector, &d))
        return false;
    bool code = d.high & DESC_CODE;
    bool readable = (d.high & DESC_S) && (!code || (d.high & DESC_RW));
    bool conforming = code && (d.high & DESC_EC);
    unsigned rpl = selector & 3, highest = rpl > cpu->cpl ? rpl : cpu->cpl;
    if (!readable || (!conforming && dpl_of(d.high) < highest))
        return cpu_fault_code(cpu, vector, error);
    if (!(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    if (!seg_set_accessed(cpu, &d))
        return false;
    seg_unpack(out, selector, &d);
    return true;
}

bool seg_load_data(struct cpu *cpu, unsigned seg, uint16_t selector, enum vector vector)
{
    struct segment segment;
    if (!load_data(cpu, selector, vector, &segment))
        return false;
    cpu->seg[seg] = segment;
    cpu_mode_changed(cpu);
    return true;
}

bool seg_load(struct cpu *cpu, unsigned seg, uint16_t selector)
{
    if (!cpu_protected(cpu) || cpu_v86(cpu)) {
        seg_load_real(cpu, seg, selector);
        return true;
    }
    struct segment segment;
    struct descriptor d;
    if (seg != SEG_SS)
        return seg_load_data(cpu, seg, selector, VEC_GP);
    if (!seg_check_stack(cpu, selector, cpu->cpl, VEC_GP, &segment, &d) ||
        !seg_set_accessed(cpu, &d))
        return false;
    segment.attr |= DESC_ACCESSED;
    cpu->seg[seg] = segment;
    cpu_mode_changed(cpu);
    return true;
}

void seg_set_cs(struct cpu *cpu, const struct segment *cs, unsigned cpl)
{
    cpu->seg[SEG_CS] = *cs;
    cpu->seg[SEG_CS].selector = (uint16_t)((cs->selector & 0xfffc) | cpl);
    cpu->cpl = (uint8_t)cpl;
    cpu_mode_changed(cpu);
}

void seg_drop_privileged(struct cpu *cpu)
{
    static const uint8_t data[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
    for (unsigned i = 0; i < sizeof data; i++) {
        struct segment *s = &cpu->seg[data[i]];
        bool conforming = (s->attr & DESC_CODE) && (s->attr & DESC_EC);
        if ((s->attr & DESC_P) && !conforming && dpl_of(s->attr) < cpu->cpl)
            *s = (struct segment){0};
    }
    cpu_mode_changed(cpu);
}

bool seg_stack_from_tss(struct cpu *cpu, unsigned level, uint16_t *ss, uint32_t *esp)
{
    const struct segment *tr = &cpu->seg[SEG_TR];
    bool wide = tr->attr >> DESC_TYPE_SHIFT & 8; /* types 9 and 11 against 1 and 3 */
    uint32_t at = wide ? 4 + level * 8 : 2 + level * 4;
    uint8_t bytes[6];
    unsigned size = wide ? 6 : 4;
    if (at + size - 1 > tr->limit)
        return cpu_fault_code(cpu, VEC_TS, tr->selector & 0xfffc);
    if (!mmu_read(cpu, tr->base + at, bytes, size, false))
        return false;
    *esp = 0;
    memcpy(esp, bytes, size - 2);
    memcpy(ss, bytes + size - 2, 2);
    return true;
}
