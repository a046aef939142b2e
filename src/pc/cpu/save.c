/*
 * The processor's state as tables: what a snapshot keeps and the hash covers. Flags are worked out
 * and TLB tags stripped of what belongs to this host's block cache, so that two hosts agree. The
 * TLB itself is state: a kernel may clear accessed bits without flushing, so its content shows.
 */
#include "pc/cpu/save.h"

#include "pc/cpu/internal.h"

/* What is saved, gathered from struct cpu in the form that all hosts share. */
struct image {
    uint32_t reg[8];
    uint32_t eip, eflags, cr0, cr2, cr3, cr4;
    uint32_t dr[8];
    uint16_t debug_hits;
    uint32_t gdt_base, idt_base;
    uint16_t gdt_limit, idt_limit;
    uint64_t efer, pdpte[4];
    uint32_t sysenter[3];
    uint64_t misc_enable, tsc_offset, insns;
    uint32_t a20_mask;
    uint8_t cpl, events, shadow;
    bool halted, begun, intr, nmi_line, nmi_blocked;
    uint32_t code_page, code_add, large_low, large_high, tlb_entries;
    struct segment seg[SEG_COUNT + 2];
    struct fpu fpu;
};

/* A valid entry of the TLB; `index` counts both sides. */
struct tlb_image {
    uint32_t index, read, write, fetch, add;
    bool global;
};

#define S struct segment
static const struct pc_field segment_fields[] = {FIELD(S, selector), FIELD(S, base),
                                                 FIELD(S, limit), FIELD(S, attr), FIELD_END};
#undef S

#define F struct f80
static const struct pc_field f80_fields[] = {FIELD(F, mantissa), FIELD(F, sign_exponent),
                                             FIELD_END};
#undef F
#define S union x87_slot
static const struct pc_field slot_fields[] = {FIELD_STRUCT_OF(S, f, f80_fields), FIELD_END};
#undef S
#define X union xmm
static const struct pc_field xmm_fields[] = {FIELD_ARRAY(X, u64), FIELD_END};
#undef X

#define F struct fpu
static const struct pc_field fpu_fields[] = {
    FIELD_STRUCTS_OF(F, st, slot_fields),
    FIELD_STRUCTS_OF(F, xmm, xmm_fields),
    FIELD(F, control),
    FIELD(F, status),
    FIELD(F, used),
    FIELD(F, simd_fault),
    FIELD(F, opcode),
    FIELD(F, instruction_selector),
    FIELD(F, operand_selector),
    FIELD(F, instruction),
    FIELD(F, operand),
    FIELD(F, mxcsr),
    FIELD(F, mxcsr_mask),
    FIELD(F, compare),
    FIELD_END,
};
#undef F

#define I struct image
static const struct pc_field image_fields[] = {
    FIELD_ARRAY(I, reg),
    FIELD(I, eip),
    FIELD(I, eflags),
    FIELD(I, cr0),
    FIELD(I, cr2),
    FIELD(I, cr3),
    FIELD(I, cr4),
    FIELD_ARRAY(I, dr),
    FIELD(I, debug_hits),
    FIELD(I, gdt_base),
    FIELD(I, idt_base),
    FIELD(I, gdt_limit),
    FIELD(I, idt_limit),
    FIELD(I, efer),
    FIELD_ARRAY(I, pdpte),
    FIELD_ARRAY(I, sysenter),
    FIELD(I, misc_enable),
    FIELD(I, tsc_offset),
    FIELD(I, insns),
    FIELD(I, a20_mask),
    FIELD(I, cpl),
    FIELD(I, events),
    FIELD(I, halted),
    FIELD(I, shadow),
    FIELD(I, begun),
    FIELD(I, intr),
    FIELD(I, nmi_line),
    FIELD(I, nmi_blocked),
    FIELD(I, code_page),
    FIELD(I, code_add),
    FIELD(I, large_low),
    FIELD(I, large_high),
    FIELD(I, tlb_entries),
    FIELD_STRUCTS_OF(I, seg, segment_fields),
    FIELD_STRUCT_OF(I, fpu, fpu_fields),
    FIELD_END,
};
#undef I

#define T struct tlb_image
static const struct pc_field tlb_fields[] = {FIELD(T, index), FIELD(T, read), FIELD(T, write),
                                             FIELD(T, fetch), FIELD(T, add),  FIELD(T, global),
                                             FIELD_END};
#undef T

/* ---- gathering ---------------------------------------------------------------------------- */

static bool entry_is_valid(const struct tlb_entry *e)
{
    return !(e->read & e->write & e->fetch & TLB_NONE);
}

static uint32_t count_entries(const struct cpu *cpu)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < 2 * TLB_ENTRIES; i++)
        count += entry_is_valid(&cpu->tlbs[i / TLB_ENTRIES][i % TLB_ENTRIES]);
    return count;
}

static struct tlb_image gather_entry(const struct cpu *cpu, unsigned index)
{
    unsigned side = index / TLB_ENTRIES, slot = index % TLB_ENTRIES;
    const struct tlb_entry *e = &cpu->tlbs[side][slot];
    return (struct tlb_image){.index = index,
                              .read = e->read & ~(uint32_t)TLB_WATCH,
                              .write = e->write & ~(uint32_t)(TLB_CODE | TLB_WATCH),
                              .fetch = e->fetch,
                              .add = e->add,
                              .global = !(cpu->tlb_local[side][slot >> 6] >> (slot & 63) & 1)};
}

static void gather(const struct cpu *cpu, struct image *image)
{
    memset(image, 0, sizeof *image);
    for (unsigned i = 0; i < 8; i++) {
        image->reg[i] = (uint32_t)cpu->reg[i];
        image->dr[i] = cpu->dr[i];
    }
    image->eip = cpu->eip;
    image->eflags = cpu_eflags(cpu);
    image->cr0 = cpu->cr0;
    image->cr2 = cpu->cr2;
    image->cr3 = cpu->cr3;
    image->cr4 = cpu->cr4;
    image->debug_hits = cpu->debug_hits;
    image->gdt_base = cpu->gdt_base;
    image->idt_base = cpu->idt_base;
    image->gdt_limit = cpu->gdt_limit;
    image->idt_limit = cpu->idt_limit;
    image->efer = cpu->efer;
    memcpy(image->pdpte, cpu->pdpte, sizeof image->pdpte);
    image->sysenter[0] = cpu->sysenter_cs;
    image->sysenter[1] = cpu->sysenter_esp;
    image->sysenter[2] = cpu->sysenter_eip;
    image->misc_enable = cpu->misc_enable;
    image->tsc_offset = cpu->tsc_offset;
    image->insns = cpu_insns(cpu);
    image->a20_mask = cpu->a20_mask;
    image->cpl = cpu->cpl;
    image->events = cpu->events;
    image->halted = cpu->halted;
    image->shadow = cpu->shadow;
    image->begun = cpu->begun;
    image->intr = cpu->intr;
    image->nmi_line = cpu->nmi_line;
    image->nmi_blocked = cpu->nmi_blocked;
    image->code_page = cpu->code_page;
    image->code_add = cpu->code_page == TLB_NONE ? 0 : cpu->code_add;
    image->large_low = cpu->large_low;
    image->large_high = cpu->large_high;
    image->tlb_entries = count_entries(cpu);
    memcpy(image->seg, cpu->seg, sizeof image->seg);
    image->fpu = cpu->fpu;
}

/* ---- scattering --------------------------------------------------------------------------- */

/* Whether RAM accesses through a loaded entry stay inside RAM. */
static bool entry_is_sound(const struct cpu *cpu, const struct tlb_image *t)
{
    const uint32_t tags[3] = {t->read, t->write, t->fetch};
    if (t->index >= 2 * TLB_ENTRIES || (t->add & PAGE_MASK))
        return false;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t low = tags[i] & PAGE_MASK, page = tags[i] & ~(uint32_t)PAGE_MASK;
        if (tags[i] == TLB_NONE)
            continue;
        if ((low & ~(uint32_t)TLB_MMIO) || (page >> 12) % TLB_ENTRIES != t->index % TLB_ENTRIES)
            return false;
        if (!(low & TLB_MMIO) && page + t->add >= cpu->bus.ram_bytes)
            return false;
    }
    return true;
}

static bool image_is_sound(const struct cpu *cpu, const struct image *image)
{
    bool code = image->code_page == TLB_NONE ||
                (!(image->code_page & PAGE_MASK) && !(image->code_add & PAGE_MASK) &&
                 image->code_page + image->code_add < cpu->bus.ram_bytes);
    bool privilege = image->cpl == 0 || (image->cpl <= 3 && (image->cr0 & CR0_PE));
    bool pending = image->shadow <= SHADOW_STACK && !(image->debug_hits & ~DR6_HITS);
    return code && privilege && pending && (image->a20_mask | 1u << 20) == 0xffffffff;
}

static void scatter(struct cpu *cpu, const struct image *image)
{
    for (unsigned i = 0; i < 8; i++) {
        cpu->reg[i] = image->reg[i];
        cpu->dr[i] = image->dr[i];
    }
    cpu->eip = image->eip;
    flags_set_status(cpu, image->eflags);
    cpu->eflags = image->eflags & ~(uint32_t)(FLAGS_STATUS | 2);
    cpu->cr0 = image->cr0;
    cpu->cr2 = image->cr2;
    cpu->cr3 = image->cr3;
    cpu->cr4 = image->cr4;
    cpu->debug_hits = image->debug_hits;
    cpu->gdt_base = image->gdt_base;
    cpu->idt_base = image->idt_base;
    cpu->gdt_limit = image->gdt_limit;
    cpu->idt_limit = image->idt_limit;
    cpu->efer = image->efer;
    memcpy(cpu->pdpte, image->pdpte, sizeof cpu->pdpte);
    cpu->sysenter_cs = image->sysenter[0];
    cpu->sysenter_esp = image->sysenter[1];
    cpu->sysenter_eip = image->sysenter[2];
    cpu->misc_enable = image->misc_enable;
    cpu->tsc_offset = image->tsc_offset;
    cpu->insns_start = image->insns;
    cpu->a20_mask = image->a20_mask;
    cpu->cpl = image->cpl;
    cpu->events = image->events;
    cpu->halted = image->halted;
    cpu->shadow = image->shadow;
    cpu->begun = image->begun;
    cpu->intr = image->intr;
    cpu->nmi_line = image->nmi_line;
    cpu->nmi_blocked = image->nmi_blocked;
    memcpy(cpu->seg, image->seg, sizeof cpu->seg);
    cpu->fpu = image->fpu;
}

static bool load_entries(struct cpu *cpu, uint32_t count, struct pc_reader in)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tlb_image t;
        if (!fields_load(tlb_fields, &t, in) || !entry_is_sound(cpu, &t))
            return false;
        unsigned side = t.index / TLB_ENTRIES, slot = t.index % TLB_ENTRIES;
        cpu->tlbs[side][slot] = (struct tlb_entry){t.read, t.write, t.fetch, t.add};
        if (!t.global)
            cpu->tlb_local[side][slot >> 6] |= 1ull << (slot & 63);
    }
    return true;
}

/* ---- the interface ------------------------------------------------------------------------ */

uint64_t cpu_state_bytes(const struct cpu *cpu)
{
    return fields_bytes(image_fields) + count_entries(cpu) * fields_bytes(tlb_fields);
}

uint64_t cpu_state_shape(void)
{
    return hash_u64(fields_shape(image_fields), fields_shape(tlb_fields));
}

bool cpu_save(const struct cpu *cpu, struct pc_writer out)
{
    struct image image;
    gather(cpu, &image);
    bool good = fields_save(image_fields, &image, out);
    for (unsigned i = 0; good && i < 2 * TLB_ENTRIES; i++) {
        struct tlb_image t = gather_entry(cpu, i);
        if (entry_is_valid(&cpu->tlbs[i / TLB_ENTRIES][i % TLB_ENTRIES]))
            good = fields_save(tlb_fields, &t, out);
    }
    return good;
}

bool cpu_load(struct cpu *cpu, struct pc_reader in)
{
    struct image image;
    if (!fields_load(image_fields, &image, in) || !image_is_sound(cpu, &image))
        return false;
    blocks_flush(cpu);
    scatter(cpu, &image);
    mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
    cpu->fault.pending = false;
    cpu->code_page = image.code_page;
    cpu->code_add = image.code_add;
    cpu->large_low = image.large_low;
    cpu->large_high = image.large_high;
    cpu->watching = 0;
    if (!load_entries(cpu, image.tlb_entries, in))
        return false;
    debug_changed(cpu);
    return true;
}

uint64_t cpu_hash(const struct cpu *cpu, uint64_t hash)
{
    struct image image;
    gather(cpu, &image);
    hash = fields_hash(image_fields, &image, hash);
    for (unsigned i = 0; i < 2 * TLB_ENTRIES; i++) {
        struct tlb_image t = gather_entry(cpu, i);
        if (entry_is_valid(&cpu->tlbs[i / TLB_ENTRIES][i % TLB_ENTRIES]))
            hash = fields_hash(tlb_fields, &t, hash);
    }
    return hash;
}
