/*
 * From a decoded instruction to its micro-op. Common forms go to the micro-ops of ops.inc, all
 * others to an operation out of line, which finds:
 *
 *   base index scale_seg disp   the ModRM.rm operand; a register is `base` with index UOP_REG
 *   dst, src                    ModRM.reg (dst as byte register where the operand is one)
 *   imm                         the immediate; for branches the target from the block's start
 */
#include "pc/cpu/internal.h"

/* A byte register as an offset into the register file: AL CL DL BL, then AH CH DH BH. */
static uint8_t byte_reg(unsigned n)
{
    return (uint8_t)(n < 4 ? n * 8 : (n - 4) * 8 + 1);
}

static bool is_byte(uint8_t operand)
{
    return operand == ISA_Eb || operand == ISA_Gb || operand == ISA_Zb || operand == ISA_rAL ||
           operand == ISA_Ob;
}

static uint8_t sized_reg(unsigned n, bool byte)
{
    return byte ? byte_reg(n) : (uint8_t)n;
}

static bool flat32(const struct insn *insn, uint32_t key)
{
    uint32_t need = KEY_FLAT | KEY_STACK32;
    return (key & need) == need && !insn->op16;
}

/* FS and GS are never known to be flat, and CS cannot be written. */
static void set_memory(const struct insn *insn, uint32_t key, struct uop *u)
{
    uint8_t seg = insn->segment != INSN_NO_SEG ? insn->segment : insn_default_segment(insn);
    bool flat = (key & KEY_FLAT) && (seg == SEG_DS || seg == SEG_ES || seg == SEG_SS);
    u->base = insn->base;
    u->index = insn->index;
    u->disp = insn->disp;
    u->scale_seg |= (uint8_t)(insn->scale | seg << UOP_SEG_SHIFT);
    if (insn->addr16)
        u->scale_seg |= UOP_A16;
    if (insn->addr16 || !flat)
        u->scale_seg |= UOP_SLOW_EA;
}

/* ModRM.rm, either kind, for operations out of line. */
static void set_rm(const struct insn *insn, uint32_t key, bool byte, struct uop *u)
{
    if (insn_is_memory(insn)) {
        set_memory(insn, key, u);
    } else {
        u->base = sized_reg(insn_rm(insn), byte);
        u->index = UOP_REG;
    }
}

static void emit_form5(const struct insn *insn, uint32_t key, struct uop *u)
{
    enum { RR, RI, RM, MR, MI } form;
    uint8_t first = insn->entry->operand[0], second = insn->entry->operand[1];
    bool byte = is_byte(first);
    bool memory = insn_is_memory(insn);
    bool immediate = second == ISA_Ib || second == ISA_Ibs || second == ISA_Iz;
    u->imm = insn->imm;
    if (first == ISA_Ob || first == ISA_Ov || second == ISA_Ob || second == ISA_Ov) {
        set_memory(insn, key, u);
        form = first == ISA_Ob || first == ISA_Ov ? MR : RM;
    } else if (first == ISA_rAL || first == ISA_rAX) {
        form = RI;
    } else if (first == ISA_Zb || first == ISA_Zv) {
        u->dst = sized_reg(insn->opcode & 7, byte);
        form = RI;
    } else if (first == ISA_Gb || first == ISA_Gv) {
        u->dst = sized_reg(insn_reg(insn), byte);
        u->src = memory ? 0 : sized_reg(insn_rm(insn), byte);
        form = memory ? RM : RR;
    } else {
        u->dst = memory ? 0 : sized_reg(insn_rm(insn), byte);
        u->src = immediate ? 0 : sized_reg(insn_reg(insn), byte);
        form = memory ? (immediate ? MI : MR) : (immediate ? RI : RR);
    }
    if (memory)
        set_memory(insn, key, u);
    unsigned size = byte ? 0 : insn->op16 ? 1 : 2;
    u->op = (uint16_t)(insn->entry->uop + size * 5 + (unsigned)form);
}

static void emit_unary(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool byte = is_byte(insn->entry->operand[0]);
    unsigned size = byte ? 0 : insn->op16 ? 1 : 2;
    unsigned memory = insn_is_memory(insn);
    if (memory)
        set_memory(insn, key, u);
    else
        u->dst = sized_reg(insn->has_modrm ? insn_rm(insn) : insn->opcode & 7u, byte);
    u->op = (uint16_t)(insn->entry->uop + size * 2 + memory);
}

/* The micro-op for a shift of a long register by a constant or by CL, or 0. */
static uint16_t long_shift(unsigned kind, bool by_cl)
{
    switch (kind) {
    case SHIFT_shl:
        return by_cl ? OP_shl_l_rc : OP_shl_l_ri;
    case SHIFT_shr:
        return by_cl ? OP_shr_l_rc : OP_shr_l_ri;
    case SHIFT_sar:
        return by_cl ? OP_sar_l_rc : OP_sar_l_ri;
    case SHIFT_rol:
        return by_cl ? 0 : OP_rol_l_ri;
    case SHIFT_ror:
        return by_cl ? 0 : OP_ror_l_ri;
    default:
        return 0;
    }
}

enum { SHIFT_BY_CL = 0x80 };

static void emit_shift(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool byte = is_byte(insn->entry->operand[0]);
    bool by_cl = insn->entry->operand[1] == ISA_rCL;
    unsigned kind = insn->entry->uop;
    u->imm = insn->entry->operand[1] == ISA_I1 ? 1 : insn->imm & 31;
    if (!insn_is_memory(insn) && !by_cl && u->imm == 0) {
        u->op = OP_nop;
        return;
    }
    uint16_t op = long_shift(kind, by_cl);
    if (!insn_is_memory(insn) && !byte && !insn->op16 && op) {
        u->op = op;
        u->dst = insn_rm(insn);
        return;
    }
    set_rm(insn, key, byte, u);
    u->src = (uint8_t)(kind | (by_cl ? SHIFT_BY_CL : 0));
    u->op = byte ? OP_H_shift_b : OP_H_shift_v;
}

static void emit_help(const struct insn *insn, uint32_t key, struct uop *u)
{
    const uint8_t *operand = insn->entry->operand;
    u->op = insn->entry->uop;
    u->imm = insn->imm;
    if (insn->has_modrm) {
        set_rm(insn, key, operand[0] == ISA_Eb, u);
        u->src = insn_reg(insn);
        u->dst = sized_reg(insn_reg(insn), operand[1] == ISA_Gb);
    }
    switch (operand[0]) {
    case ISA_Jb:
        u->imm += u->icnt + insn->length;
        if (insn->addr16) /* LOOP and JCXZ count in CX */
            u->scale_seg |= UOP_A16;
        break;
    case ISA_Ap:
        u->disp = insn->imm2;
        break;
    case ISA_Iw: /* ENTER, RET far */
        u->disp = insn->imm2;
        break;
    case ISA_Ses:
    case ISA_Scs:
    case ISA_Sss:
    case ISA_Sds:
    case ISA_Sfs:
    case ISA_Sgs:
        u->dst = (uint8_t)(operand[0] - ISA_Ses + SEG_ES);
        break;
    default:
        break;
    }
    if (operand[0] == ISA_rDX || operand[1] == ISA_rDX)
        u->src = 1;
    if (insn->entry->attr & ISA_MEMAX) {
        u->scale_seg |=
            (uint8_t)((insn->segment != INSN_NO_SEG ? insn->segment : SEG_DS) << UOP_SEG_SHIFT);
        if (insn->addr16)
            u->scale_seg |= UOP_A16;
        if (insn->map == 1) /* MASKMOVDQU, not MASKMOVQ */
            u->src = insn->opsize_prefix;
    }
}

static void emit_string(const struct insn *insn, struct uop *u)
{
    u->op = insn->entry->uop;
    u->dst = insn->rep;
    u->scale_seg |=
        (uint8_t)((insn->segment != INSN_NO_SEG ? insn->segment : SEG_DS) << UOP_SEG_SHIFT);
    if (insn->addr16)
        u->scale_seg |= UOP_A16;
}

static void emit_push(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool fast = flat32(insn, key);
    u->imm = insn->imm;
    if (insn_is_memory(insn)) {
        set_memory(insn, key, u);
        u->op = fast ? OP_push_l_m : OP_H_push_v;
        return;
    }
    bool immediate = insn->entry->operand[0] == ISA_Iz || insn->entry->operand[0] == ISA_Ibs;
    u->src = insn->has_modrm ? insn_rm(insn) : insn->opcode & 7;
    u->op = immediate ? OP_push_l_i : OP_push_l_r;
    if (fast)
        return;
    u->base = immediate ? REG_ZERO : u->src;
    u->index = UOP_REG;
    u->op = OP_H_push_v;
}

static void emit_xchg(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool byte = is_byte(insn->entry->operand[0]);
    unsigned size = byte ? 0 : insn->op16 ? 1 : 2;
    if (!insn->has_modrm) {
        u->dst = insn->opcode & 7;
        u->src = CPU_EAX;
        u->op = u->dst == CPU_EAX ? OP_nop : (uint16_t)(OP_xchg_b_rr + size);
        return;
    }
    u->src = sized_reg(insn_reg(insn), byte);
    if (insn_is_memory(insn)) {
        set_memory(insn, key, u);
        u->op = (uint16_t)(OP_xchg_b_mr + size);
    } else {
        u->dst = sized_reg(insn_rm(insn), byte);
        u->op = (uint16_t)(OP_xchg_b_rr + size);
    }
}

static void emit_imul(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool immediate = insn->entry->operand[2] != ISA_NO;
    u->dst = insn_reg(insn);
    u->imm = insn->imm;
    set_rm(insn, key, false, u);
    if (insn->op16) {
        u->src = immediate;
        u->op = OP_H_imul2_w;
        return;
    }
    if (!insn_is_memory(insn))
        u->src = insn_rm(insn);
    u->op = (uint16_t)(insn_is_memory(insn) ? (immediate ? OP_imul_l_rmi : OP_imul_l_rm)
                                            : (immediate ? OP_imul_l_rri : OP_imul_l_rr));
}

static void emit_branch(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool fast = (key & KEY_FLAT) && !insn->op16;
    u->imm = insn->imm + u->icnt + insn->length;
    switch (insn->entry->emit) {
    case EMIT_JCC:
        u->op = (uint16_t)((fast ? OP_jcc32_o : OP_jcc_o) + (insn->opcode & 15));
        break;
    case EMIT_JMP:
        u->op = fast ? OP_jmp32 : OP_jmp;
        break;
    default:
        u->op = flat32(insn, key) ? OP_call32 : OP_call;
        break;
    }
}

static void emit_indirect(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool call = insn->entry->emit == EMIT_CALLIND;
    set_rm(insn, key, false, u);
    if (!flat32(insn, key)) {
        u->op = call ? OP_H_call_near_rm : OP_H_jmp_near_rm;
        return;
    }
    if (insn_is_memory(insn)) {
        u->op = call ? OP_call32_m : OP_jmp32_m;
    } else {
        u->src = insn_rm(insn);
        u->op = call ? OP_call32_r : OP_jmp32_r;
    }
}

static void emit_lea(const struct insn *insn, uint32_t key, struct uop *u)
{
    set_memory(insn, key, u);
    u->dst = insn_reg(insn);
    u->op = insn->op16 ? OP_lea_w : OP_lea_l;
}

static void emit_conditional(const struct insn *insn, uint32_t key, struct uop *u)
{
    unsigned cc = insn->opcode & 15;
    bool memory = insn_is_memory(insn);
    if (insn->entry->emit == EMIT_SETCC) {
        set_rm(insn, key, true, u);
        u->src = (uint8_t)cc;
        u->dst = u->base;
        u->op = (uint16_t)(memory ? OP_H_setcc_m : OP_setcc_r_o + cc);
        return;
    }
    set_rm(insn, key, false, u);
    u->dst = insn_reg(insn);
    u->src = (uint8_t)(insn->op16 ? cc : insn_rm(insn));
    u->op = (uint16_t)(insn->op16 ? OP_H_cmov_w : (memory ? OP_cmov_l_rm_o : OP_cmov_l_rr_o) + cc);
}

static void emit_movx(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool byte = is_byte(insn->entry->operand[1]);
    unsigned memory = insn_is_memory(insn);
    u->dst = insn_reg(insn);
    if (memory)
        set_memory(insn, key, u);
    else
        u->src = sized_reg(insn_rm(insn), byte);
    u->op = (uint16_t)(insn->entry->uop + (byte ? 0 : 4) + (insn->op16 ? 0 : 2) + memory);
}

static void emit_x87(const struct insn *insn, uint32_t key, struct uop *u)
{
    struct x87_form form = x87_form(insn->opcode, insn->modrm, !insn->op16);
    set_rm(insn, key, false, u);
    u->imm = insn->opcode | (uint32_t)insn->modrm << 8 | (uint32_t)form.bytes << 16 |
             (uint32_t)form.waits << 24 | (uint32_t)form.control << 25;
    u->dst = form.kind;
    switch (form.kind) {
    case X87_UNDEFINED:
        u->op = OP_H_ud;
        break;
    case X87_LOAD:
        u->op = OP_H_x87_load;
        break;
    case X87_STORE:
        u->op = OP_H_x87_store;
        break;
    default:
        u->op = OP_H_x87_register;
        break;
    }
}

static void emit_simd(const struct insn *insn, uint32_t key, struct uop *u)
{
    u->op = OP_H_simd;
    u->imm = (uint32_t)(insn->simd - simd_forms) | insn->imm << 16;
    u->dst = insn_reg(insn);
    set_rm(insn, key, false, u);
}

static void emit_rest(const struct insn *insn, uint32_t key, struct uop *u)
{
    bool fast = flat32(insn, key);
    switch (insn->entry->emit) {
    case EMIT_POP:
        u->dst = insn->opcode & 7;
        u->op = fast ? OP_pop_l_r : OP_H_pop_v;
        break;
    case EMIT_RET:
        u->imm = insn->imm;
        u->op = !fast ? OP_H_ret_near : insn->imm ? OP_ret32_i : OP_ret32;
        break;
    case EMIT_CONV:
        u->op = (uint16_t)(insn->entry->uop + insn->op16);
        break;
    case EMIT_LEAVE:
        u->op = fast ? OP_leave_l : OP_H_leave_v;
        break;
    case EMIT_BSWAP:
        u->dst = insn->opcode & 7;
        u->op = insn->op16 ? OP_H_bswap_w : OP_bswap_l;
        break;
    case EMIT_X87:
        emit_x87(insn, key, u);
        break;
    default:
        u->op = OP_nop;
        break;
    }
}

static void emit_entry(const struct insn *insn, uint32_t key, struct uop *u)
{
    switch (insn->entry->emit) {
    case EMIT_FORM5:
        emit_form5(insn, key, u);
        break;
    case EMIT_UNARY:
        emit_unary(insn, key, u);
        break;
    case EMIT_SHIFT:
        emit_shift(insn, key, u);
        break;
    case EMIT_HELP:
        emit_help(insn, key, u);
        break;
    case EMIT_STRING:
        emit_string(insn, u);
        break;
    case EMIT_PUSH:
        emit_push(insn, key, u);
        break;
    case EMIT_XCHG:
        emit_xchg(insn, key, u);
        break;
    case EMIT_IMUL:
        emit_imul(insn, key, u);
        break;
    case EMIT_JCC:
    case EMIT_JMP:
    case EMIT_CALL:
        emit_branch(insn, key, u);
        break;
    case EMIT_JMPIND:
    case EMIT_CALLIND:
        emit_indirect(insn, key, u);
        break;
    case EMIT_LEA:
        emit_lea(insn, key, u);
        break;
    case EMIT_CMOV:
    case EMIT_SETCC:
        emit_conditional(insn, key, u);
        break;
    case EMIT_MOVX:
        emit_movx(insn, key, u);
        break;
    default:
        emit_rest(insn, key, u);
        break;
    }
}

static struct uop blank_uop(uint8_t at)
{
    return (struct uop){.base = REG_ZERO, .index = REG_ZERO, .icnt = at};
}

bool emit_uop(const struct insn *insn, uint32_t key, uint8_t at, struct uop *u)
{
    *u = blank_uop(at);
    if (insn->op16)
        u->scale_seg |= UOP_O16;
    if (insn->simd) {
        emit_simd(insn, key, u);
        return false;
    }
    emit_entry(insn, key, u);
    return (insn->entry->attr & ISA_ENDS) || ((insn->entry->attr & ISA_REP) && insn->rep);
}

void emit_undefined(enum insn_status status, uint8_t at, struct uop *u)
{
    *u = blank_uop(at);
    u->op = status == INSN_TOO_LONG ? OP_H_too_long : OP_H_undefined;
}
