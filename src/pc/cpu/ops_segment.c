/*
 * Instructions on segment registers and descriptor tables: moves and far pointer loads, LAR, LSL,
 * VERR, VERW, ARPL, and the loading and storing of GDTR, IDTR, LDTR and TR.
 */
#include "pc/cpu/ops.h"

/* A register gets the selector zero-extended to the operand size, memory its 16 bits. */
static enum op_status store_selector(struct cpu *cpu, const struct uop *u, uint32_t value)
{
    unsigned size = op_is_register(u) ? op_size(u) : 2;
    return rm_write(cpu, u, size, value) ? OP_DONE : OP_FAULT;
}

enum op_status h_mov_from_seg(struct cpu *cpu, const struct uop *u)
{
    return store_selector(cpu, u, cpu->seg[u->src].selector);
}

enum op_status h_mov_to_seg(struct cpu *cpu, const struct uop *u)
{
    uint32_t selector;
    if (!rm_read(cpu, u, 2, &selector) || !seg_load(cpu, u->src, (uint16_t)selector))
        return OP_FAULT;
    if (u->src == SEG_SS)
        cpu->shadow = SHADOW_STACK;
    return OP_LEAVE;
}

static enum op_status load_pointer(struct cpu *cpu, const struct uop *u, unsigned seg)
{
    unsigned size = op_size(u);
    uint8_t bytes[6];
    uint32_t offset = 0;
    uint16_t selector;
    linear_t lin;
    if (!seg_operand(cpu, u, size + 2, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, size + 2, cpu_user(cpu)))
        return OP_FAULT;
    memcpy(&offset, bytes, size);
    memcpy(&selector, bytes + size, 2);
    if (!seg_load(cpu, seg, selector))
        return OP_FAULT;
    reg_set(cpu, u->dst, size, offset);
    return OP_LEAVE;
}

enum op_status h_les(struct cpu *cpu, const struct uop *u)
{
    return load_pointer(cpu, u, SEG_ES);
}
enum op_status h_lds(struct cpu *cpu, const struct uop *u)
{
    return load_pointer(cpu, u, SEG_DS);
}
enum op_status h_lss(struct cpu *cpu, const struct uop *u)
{
    return load_pointer(cpu, u, SEG_SS);
}
enum op_status h_lfs(struct cpu *cpu, const struct uop *u)
{
    return load_pointer(cpu, u, SEG_FS);
}
enum op_status h_lgs(struct cpu *cpu, const struct uop *u)
{
    return load_pointer(cpu, u, SEG_GS);
}

/* ---- looking at descriptors --------------------------------------------------------------- */

static bool segments_exist(struct cpu *cpu)
{
    return (cpu_protected(cpu) && !cpu_v86(cpu)) || cpu_fault(cpu, VEC_UD);
}

enum op_status h_arpl(struct cpu *cpu, const struct uop *u)
{
    uint32_t value, rpl = (uint32_t)cpu->reg[u->dst] & 3;
    if (!segments_exist(cpu) || !rm_read(cpu, u, 2, &value))
        return OP_FAULT;
    bool raise = (value & 3) < rpl;
    if (raise && !rm_write(cpu, u, 2, (value & ~3u) | rpl))
        return OP_FAULT;
    flags_set_zf(cpu, raise);
    return OP_DONE;
}

/* What the selector names, for LAR, LSL, VERR and VERW: these answer in ZF what would otherwise be
 * a #GP, while page faults stay faults. */
enum look { LOOK_NONE, LOOK_FOUND, LOOK_FAULT };

static enum look look_up(struct cpu *cpu, uint16_t selector, struct descriptor *d)
{
    if (!(selector & 0xfffc))
        return LOOK_NONE;
    if (seg_read_descriptor(cpu, selector, VEC_GP, d))
        return LOOK_FOUND;
    if (cpu->fault.vector != VEC_GP)
        return LOOK_FAULT;
    cpu->fault.pending = false;
    return LOOK_NONE;
}

static bool privilege_allows(const struct cpu *cpu, uint16_t selector, const struct descriptor *d)
{
    unsigned dpl = d->high >> DESC_DPL_SHIFT & 3, rpl = selector & 3;
    bool conforming = (d->high & DESC_S) && (d->high & DESC_CODE) && (d->high & DESC_EC);
    return conforming || (dpl >= cpu->cpl && dpl >= rpl);
}

/* System types that LAR and LSL accept (SDM 2A tables 3-53 and 3-57). */
static bool system_type_is_in(uint32_t high, unsigned types)
{
    return types >> (high >> DESC_TYPE_SHIFT & 15) & 1;
}

static enum op_status look_at(struct cpu *cpu, const struct uop *u, unsigned system_types,
                              bool limit)
{
    uint32_t selector;
    struct descriptor d;
    if (!segments_exist(cpu) || !rm_read(cpu, u, 2, &selector))
        return OP_FAULT;
    enum look look = look_up(cpu, (uint16_t)selector, &d);
    if (look == LOOK_FAULT)
        return OP_FAULT;
    bool good = look == LOOK_FOUND && privilege_allows(cpu, (uint16_t)selector, &d) &&
                ((d.high & DESC_S) || system_type_is_in(d.high, system_types));
    flags_set_zf(cpu, good);
    if (good) {
        struct segment segment;
        seg_unpack(&segment, (uint16_t)selector, &d);
        reg_set(cpu, u->dst, op_size(u), limit ? segment.limit : d.high & 0x00ffff00);
    }
    return OP_DONE;
}

enum op_status h_lar(struct cpu *cpu, const struct uop *u)
{
    return look_at(cpu, u, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 9 | 1 << 11 | 1 << 12,
                   false);
}
enum op_status h_lsl(struct cpu *cpu, const struct uop *u)
{
    return look_at(cpu, u, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 11, true);
}

static enum op_status verify(struct cpu *cpu, const struct uop *u, bool write)
{
    uint32_t selector;
    struct descriptor d;
    if (!segments_exist(cpu) || !rm_read(cpu, u, 2, &selector))
        return OP_FAULT;
    enum look look = look_up(cpu, (uint16_t)selector, &d);
    if (look == LOOK_FAULT)
        return OP_FAULT;
    bool good =
        look == LOOK_FOUND && (d.high & DESC_S) && privilege_allows(cpu, (uint16_t)selector, &d);
    if (good && (d.high & DESC_CODE))
        good = !write && (d.high & DESC_RW);
    else if (good)
        good = !write || (d.high & DESC_RW);
    flags_set_zf(cpu, good);
    return OP_DONE;
}

enum op_status h_verr(struct cpu *cpu, const struct uop *u)
{
    return verify(cpu, u, false);
}
enum op_status h_verw(struct cpu *cpu, const struct uop *u)
{
    return verify(cpu, u, true);
}

/* ---- LDTR and TR -------------------------------------------------------------------------- */

enum op_status h_sldt(struct cpu *cpu, const struct uop *u)
{
    return segments_exist(cpu) ? store_selector(cpu, u, cpu->seg[SEG_LDT].selector) : OP_FAULT;
}
enum op_status h_str(struct cpu *cpu, const struct uop *u)
{
    return segments_exist(cpu) ? store_selector(cpu, u, cpu->seg[SEG_TR].selector) : OP_FAULT;
}

/* A descriptor of the GDT with one of these system types. */
static bool read_system(struct cpu *cpu, uint16_t selector, unsigned types, struct descriptor *d)
{
    if (selector & 4)
        return cpu_fault_code(cpu, VEC_GP, selector & 0xfffc);
    if (!seg_read_descriptor(cpu, selector, VEC_GP, d))
        return false;
    if ((d->high & DESC_S) || !system_type_is_in(d->high, types))
        return cpu_fault_code(cpu, VEC_GP, selector & 0xfffc);
    if (!(d->high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, selector & 0xfffc);
    return true;
}

enum op_status h_lldt(struct cpu *cpu, const struct uop *u)
{
    uint32_t selector;
    struct descriptor d;
    if (!segments_exist(cpu) || !check_ring0(cpu) || !rm_read(cpu, u, 2, &selector))
        return OP_FAULT;
    if (!(selector & 0xfffc)) {
        cpu->seg[SEG_LDT] = (struct segment){.selector = (uint16_t)selector};
        return OP_DONE;
    }
    if (!read_system(cpu, (uint16_t)selector, 1 << 2, &d))
        return OP_FAULT;
    seg_unpack(&cpu->seg[SEG_LDT], (uint16_t)selector, &d);
    return OP_DONE;
}

enum op_status h_ltr(struct cpu *cpu, const struct uop *u)
{
    enum { BUSY = 2 << DESC_TYPE_SHIFT };
    uint32_t selector;
    struct descriptor d;
    if (!segments_exist(cpu) || !check_ring0(cpu) || !rm_read(cpu, u, 2, &selector))
        return OP_FAULT;
    if (!(selector & 0xfffc))
        return op_fault_code(cpu, VEC_GP, 0);
    if (!read_system(cpu, (uint16_t)selector, 1 << 1 | 1 << 9, &d))
        return OP_FAULT;
    d.high |= BUSY;
    uint8_t byte = (uint8_t)(d.high >> 8);
    if (!mmu_write(cpu, d.at + 5, &byte, 1, false))
        return OP_FAULT;
    seg_unpack(&cpu->seg[SEG_TR], (uint16_t)selector, &d);
    return OP_DONE;
}

/* ---- GDTR and IDTR ------------------------------------------------------------------------ */

static enum op_status store_table(struct cpu *cpu, const struct uop *u, uint16_t limit,
                                  uint32_t base)
{
    uint8_t bytes[6];
    linear_t lin;
    memcpy(bytes, &limit, 2);
    memcpy(bytes + 2, &base, 4);
    return seg_operand(cpu, u, 6, SEG_WRITE, &lin) && mmu_write(cpu, lin, bytes, 6, cpu_user(cpu))
               ? OP_DONE
               : OP_FAULT;
}

static bool load_table(struct cpu *cpu, const struct uop *u, uint16_t *limit, uint32_t *base)
{
    uint8_t bytes[6];
    linear_t lin;
    if (!check_ring0(cpu) || !seg_operand(cpu, u, 6, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, 6, false))
        return false;
    memcpy(limit, bytes, 2);
    memcpy(base, bytes + 2, 4);
    if (u->scale_seg & UOP_O16)
        *base &= 0xffffff;
    return true;
}

enum op_status h_sgdt(struct cpu *cpu, const struct uop *u)
{
    return store_table(cpu, u, cpu->gdt_limit, cpu->gdt_base);
}
enum op_status h_sidt(struct cpu *cpu, const struct uop *u)
{
    return store_table(cpu, u, cpu->idt_limit, cpu->idt_base);
}
enum op_status h_lgdt(struct cpu *cpu, const struct uop *u)
{
    return load_table(cpu, u, &cpu->gdt_limit, &cpu->gdt_base) ? OP_DONE : OP_FAULT;
}
enum op_status h_lidt(struct cpu *cpu, const struct uop *u)
{
    return load_table(cpu, u, &cpu->idt_limit, &cpu->idt_base) ? OP_DONE : OP_FAULT;
}
