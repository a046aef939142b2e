/*
 * Bytes to struct insn: prefixes, opcode, ModRM and its addressing, immediates. A pure function of
 * the bytes, the code size and the index; it knows nothing of pages, privilege or micro-ops.
 */
#include "pc/cpu/fpu.h"
#include "pc/cpu/state.h"

struct reader {
    const uint8_t *bytes;
    size_t available, at;
    bool more, too_long;
};

static uint32_t read_bytes(struct reader *r, unsigned count)
{
    if (r->at + count > INSN_MAX_BYTES) {
        r->too_long = true;
        /* The bytes up to the limit have to be there before the length can be judged. */
        if (r->available < INSN_MAX_BYTES && r->available < r->at + count)
            r->more = true;
        return 0;
    }
    if (r->at + count > r->available) {
        r->more = true;
        return 0;
    }
    uint32_t value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (uint32_t)r->bytes[r->at + i] << (8 * i);
    r->at += count;
    return value;
}

static uint32_t sign_extend(uint32_t value, unsigned bytes)
{
    return bytes == 1 ? (uint32_t)(int8_t)value : bytes == 2 ? (uint32_t)(int16_t)value : value;
}

/* The prefixes (SDM 2A 2.1.1). Of several in one group, the last counts. */
static void read_prefixes(struct reader *r, struct insn *insn, bool code32)
{
    bool opsize = false, addrsize = false;
    for (;;) {
        if (r->at >= r->available || r->at >= INSN_MAX_BYTES)
            break;
        switch (r->bytes[r->at]) {
        case 0x26:
            insn->segment = SEG_ES;
            break;
        case 0x2e:
            insn->segment = SEG_CS;
            break;
        case 0x36:
            insn->segment = SEG_SS;
            break;
        case 0x3e:
            insn->segment = SEG_DS;
            break;
        case 0x64:
            insn->segment = SEG_FS;
            break;
        case 0x65:
            insn->segment = SEG_GS;
            break;
        case 0x66:
            opsize = true;
            break;
        case 0x67:
            addrsize = true;
            break;
        case 0xf0:
            insn->lock = true;
            break;
        case 0xf2:
        case 0xf3:
            insn->rep = r->bytes[r->at];
            break;
        default:
            insn->opsize_prefix = opsize;
            insn->op16 = code32 ? opsize : !opsize;
            insn->addr16 = code32 ? addrsize : !addrsize;
            return;
        }
        r->at++;
    }
    if (r->at >= INSN_MAX_BYTES)
        r->too_long = true;
    else
        r->more = true;
}

/* 16-bit addressing forms (SDM 2A table 2-1). */
static void read_memory16(struct reader *r, struct insn *insn)
{
    static const uint8_t bases[8] = {CPU_EBX,     CPU_EBX,     CPU_EBP, CPU_EBP,
                                     INSN_NO_REG, INSN_NO_REG, CPU_EBP, CPU_EBX};
    static const uint8_t indexes[8] = {CPU_ESI, CPU_EDI, CPU_ESI,     CPU_EDI,
                                       CPU_ESI, CPU_EDI, INSN_NO_REG, INSN_NO_REG};
    unsigned mod = insn_mod(insn), rm = insn_rm(insn);
    insn->base = bases[rm];
    insn->index = indexes[rm];
    if (mod == 0 && rm == 6) {
        insn->base = INSN_NO_REG;
        insn->disp = read_bytes(r, 2);
    } else if (mod == 1) {
        insn->disp = sign_extend(read_bytes(r, 1), 1);
    } else if (mod == 2) {
        insn->disp = sign_extend(read_bytes(r, 2), 2);
    }
}

/* 32-bit addressing forms (SDM 2A tables 2-2 and 2-3). */
static void read_memory32(struct reader *r, struct insn *insn)
{
    unsigned mod = insn_mod(insn);
    insn->base = insn_rm(insn);
    insn->index = INSN_NO_REG;
    if (insn->base == CPU_ESP) {
        uint8_t sib = (uint8_t)read_bytes(r, 1);
        insn->base = sib & 7;
        insn->scale = sib >> 6;
        insn->index = (sib >> 3) & 7;
        if (insn->index == CPU_ESP)
            insn->index = INSN_NO_REG;
    }
    if (mod == 0 && insn->base == CPU_EBP) {
        insn->base = INSN_NO_REG;
        insn->disp = read_bytes(r, 4);
    } else if (mod == 1) {
        insn->disp = sign_extend(read_bytes(r, 1), 1);
    } else if (mod == 2) {
        insn->disp = read_bytes(r, 4);
    }
}

static void read_modrm(struct reader *r, struct insn *insn)
{
    insn->has_modrm = true;
    insn->modrm = (uint8_t)read_bytes(r, 1);
    /* MOV from and to CRn and DRn takes any mod for a register (SDM 2B "MOV"). */
    if (insn->map == 1 && insn->opcode >= 0x20 && insn->opcode <= 0x23)
        insn->modrm |= 0xc0;
    if (insn->modrm >= 0xc0 || r->more || r->too_long)
        return;
    if (insn->addr16)
        read_memory16(r, insn);
    else
        read_memory32(r, insn);
}

static void read_operand(struct reader *r, struct insn *insn, uint8_t operand)
{
    unsigned size = insn->op16 ? 2 : 4;
    switch (operand) {
    case ISA_Ib:
        if (insn->entry->operand[0] == ISA_Iw) /* ENTER */
            insn->imm2 = (uint16_t)read_bytes(r, 1);
        else
            insn->imm = read_bytes(r, 1);
        break;
    case ISA_Ibs:
    case ISA_Jb:
        insn->imm = sign_extend(read_bytes(r, 1), 1);
        break;
    case ISA_Iw:
        insn->imm = read_bytes(r, 2);
        break;
    case ISA_Iz:
    case ISA_Jz:
        insn->imm = sign_extend(read_bytes(r, size), size);
        break;
    case ISA_Ap:
        insn->imm = read_bytes(r, size);
        insn->imm2 = (uint16_t)read_bytes(r, 2);
        break;
    case ISA_Ob:
    case ISA_Ov:
        insn->base = insn->index = INSN_NO_REG;
        insn->disp = read_bytes(r, insn->addr16 ? 2 : 4);
        break;
    default:
        break;
    }
}

static unsigned simd_prefix(const struct insn *insn)
{
    return insn->rep == 0xf3     ? SIMD_F3
           : insn->rep == 0xf2   ? SIMD_F2
           : insn->opsize_prefix ? SIMD_66
                                 : SIMD_NP;
}

static enum insn_status find_entry(const struct isa_index *index, struct insn *insn)
{
    unsigned reg = insn_reg(insn), is_reg = !insn->has_modrm || insn->modrm >= 0xc0;
    uint16_t number = index->entry[insn->map][insn->opcode][reg][is_reg];
    if (number) {
        insn->entry = &isa_entries[number - 1];
        return INSN_OK;
    }
    if (insn->map == 1) {
        number = index->simd[simd_prefix(insn)][insn->opcode][reg][is_reg];
        if (number) {
            insn->simd = &simd_forms[number - 1];
            return INSN_OK;
        }
    }
    return INSN_UNDEFINED;
}

/* LOCK is allowed for a read-modify-write of memory only (SDM 2A "LOCK"). */
static bool lock_is_wrong(const struct insn *insn)
{
    return insn->lock && !(insn->entry && (insn->entry->attr & ISA_LOCK) && insn_is_memory(insn));
}

/* Forms that the table's shape cannot tell apart. */
static bool is_undefined_form(const struct insn *insn)
{
    if ((insn->entry->attr & ISA_NP) && (insn->rep || insn->opsize_prefix))
        return true;
    switch (insn->map << 8 | insn->opcode) {
    case 0x8e: /* MOV to CS is not a jump */
        return insn_reg(insn) == SEG_CS || insn_reg(insn) >= SEG_COUNT;
    case 0x8c:
        return insn_reg(insn) >= SEG_COUNT;
    case 0x120:
    case 0x122: /* CR0, CR2, CR3, CR4 */
        return insn_reg(insn) == 1 || insn_reg(insn) > 4;
    case 0x1f7: /* MASKMOVQ, or after 66 MASKMOVDQU */
        return insn->rep;
    default:
        return false;
    }
}

uint8_t insn_default_segment(const struct insn *insn)
{
    return insn->base == CPU_EBP || (insn->base == CPU_ESP && !insn->addr16) ? SEG_SS : SEG_DS;
}

static enum insn_status decode(const struct isa_index *index, struct reader *r, bool code32,
                               struct insn *insn)
{
    read_prefixes(r, insn, code32);
    insn->opcode = (uint8_t)read_bytes(r, 1);
    if (insn->opcode == 0x0f && !r->more && !r->too_long) {
        insn->map = 1;
        insn->opcode = (uint8_t)read_bytes(r, 1);
    }
    if (r->more || r->too_long)
        return INSN_OK;
    if (index->has_modrm[insn->map][insn->opcode])
        read_modrm(r, insn);
    if (r->more || r->too_long)
        return INSN_OK;
    enum insn_status status = find_entry(index, insn);
    if (status != INSN_OK)
        return status;
    if (insn->simd) {
        if (insn->simd->imm)
            insn->imm = read_bytes(r, 1);
        return INSN_OK;
    }
    for (unsigned i = 0; i < 3; i++)
        read_operand(r, insn, insn->entry->operand[i]);
    return is_undefined_form(insn) ? INSN_UNDEFINED : INSN_OK;
}

enum insn_status insn_decode(const struct isa_index *index, const uint8_t *bytes, size_t available,
                             bool code32, struct insn *insn)
{
    struct reader r = {.bytes = bytes, .available = available};
    memset(insn, 0, sizeof *insn);
    insn->segment = INSN_NO_SEG;
    insn->base = insn->index = INSN_NO_REG;
    enum insn_status status = decode(index, &r, code32, insn);
    insn->length = (uint8_t)r.at;
    if (r.more)
        return INSN_MORE;
    if (r.too_long)
        return INSN_TOO_LONG;
    if (status == INSN_OK && lock_is_wrong(insn))
        return INSN_UNDEFINED;
    return status;
}
