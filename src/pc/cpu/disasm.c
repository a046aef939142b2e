/*
 * A decoded instruction as text, in the manual's syntax with the size of memory operands spelt out:
 * "mov dword [ebx+4], eax". Everything it knows comes from isa.def and simd.def.
 */
#include "pc/cpu/state.h"

#include "pc/text.h"

static const char *const names8[] = {"al", "cl", "dl", "bl", "ah", "ch", "dh", "bh"};
static const char *const names16[] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
static const char *const names32[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
static const char *const segments[] = {"es", "cs", "ss", "ds", "fs", "gs", "?", "?"};
static const char *const conditions[] = {"o", "no", "b", "nb", "z", "nz", "be", "nbe",
                                         "s", "ns", "p", "np", "l", "nl", "le", "nle"};

static const char *sized_name(unsigned n, unsigned size)
{
    return size == 1 ? names8[n] : size == 2 ? names16[n] : names32[n];
}

static void add_number(struct text *t, uint32_t value)
{
    text_add(t, "0x");
    text_add_hex(t, value, 1);
}

static void add_numbered(struct text *t, const char *name, unsigned n)
{
    text_add(t, name);
    text_add_decimal(t, n);
}

static void add_memory(struct text *t, const struct insn *i, const char *size)
{
    const char *const *names = i->addr16 ? names16 : names32;
    bool any = false;
    text_add(t, size);
    text_add(t, "[");
    if (i->segment != INSN_NO_SEG) {
        text_add(t, segments[i->segment]);
        text_add(t, ":");
    }
    if (i->base != INSN_NO_REG) {
        text_add(t, names[i->base]);
        any = true;
    }
    if (i->index != INSN_NO_REG) {
        text_add(t, any ? "+" : "");
        text_add(t, names[i->index]);
        if (i->scale)
            add_numbered(t, "*", 1u << i->scale);
        any = true;
    }
    if (!any) {
        add_number(t, i->disp);
    } else if (i->disp) {
        bool negative = i->disp >> 31;
        text_add(t, negative ? "-" : "+");
        add_number(t, negative ? 0 - i->disp : i->disp);
    }
    text_add(t, "]");
}

static const char *size_word(unsigned size)
{
    switch (size) {
    case 1:
        return "byte ";
    case 2:
        return "word ";
    case 4:
        return "dword ";
    case 8:
        return "qword ";
    default:
        return "";
    }
}

static void add_rm(struct text *t, const struct insn *i, unsigned register_size,
                   unsigned memory_size)
{
    if (insn_is_memory(i))
        add_memory(t, i, size_word(memory_size));
    else
        text_add(t, sized_name(insn_rm(i), register_size));
}

static void add_target(struct text *t, const struct insn *i, uint32_t eip)
{
    uint32_t target = eip + i->length + i->imm;
    add_number(t, i->op16 ? target & 0xffff : target);
}

/* Operands that name memory or a register through ModRM. */
static bool add_modrm_operand(struct text *t, const struct insn *i, uint8_t operand)
{
    unsigned v = i->op16 ? 2 : 4;
    switch (operand) {
    case ISA_Eb:
        add_rm(t, i, 1, 1);
        return true;
    case ISA_Ew:
        add_rm(t, i, 2, 2);
        return true;
    case ISA_Ev:
        add_rm(t, i, v, v);
        return true;
    case ISA_Esv:
        add_rm(t, i, v, 2);
        return true;
    case ISA_Gb:
        text_add(t, names8[insn_reg(i)]);
        return true;
    case ISA_Gw:
        text_add(t, names16[insn_reg(i)]);
        return true;
    case ISA_Gv:
        text_add(t, sized_name(insn_reg(i), v));
        return true;
    case ISA_Mx:
    case ISA_Mp:
    case ISA_Ma:
        add_memory(t, i, "");
        return true;
    case ISA_Mq:
        add_memory(t, i, "qword ");
        return true;
    case ISA_Sw:
        text_add(t, segments[insn_reg(i)]);
        return true;
    case ISA_Cd:
        add_numbered(t, "cr", insn_reg(i));
        return true;
    case ISA_Dd:
        add_numbered(t, "dr", insn_reg(i));
        return true;
    case ISA_Rd:
        text_add(t, names32[insn_rm(i)]);
        return true;
    default:
        return false;
    }
}

static void add_operand(struct text *t, const struct insn *i, uint8_t operand, uint32_t eip)
{
    unsigned v = i->op16 ? 2 : 4;
    if (add_modrm_operand(t, i, operand))
        return;
    switch (operand) {
    case ISA_Ib:
        add_number(t, i->entry->operand[0] == ISA_Iw ? i->imm2 : i->imm);
        break;
    case ISA_Ibs:
    case ISA_Iw:
    case ISA_Iz:
        add_number(t, i->op16 ? i->imm & 0xffff : i->imm);
        break;
    case ISA_I1:
        text_add(t, "1");
        break;
    case ISA_Jb:
    case ISA_Jz:
        add_target(t, i, eip);
        break;
    case ISA_Ap:
        add_number(t, i->imm2);
        text_add(t, ":");
        add_number(t, i->imm);
        break;
    case ISA_Ob:
        add_memory(t, i, "byte ");
        break;
    case ISA_Ov:
        add_memory(t, i, size_word(v));
        break;
    case ISA_Zb:
        text_add(t, names8[i->opcode & 7]);
        break;
    case ISA_Zv:
        text_add(t, sized_name(i->opcode & 7u, v));
        break;
    case ISA_rAL:
        text_add(t, "al");
        break;
    case ISA_rAX:
        text_add(t, sized_name(0, v));
        break;
    case ISA_rCL:
        text_add(t, "cl");
        break;
    case ISA_rDX:
        text_add(t, "dx");
        break;
    default:
        if (operand >= ISA_Ses && operand <= ISA_Sgs)
            text_add(t, segments[operand - ISA_Ses]);
        break;
    }
}

static void add_simd_operand(struct text *t, const struct insn *i, uint8_t shape)
{
    unsigned n = insn_rm(i);
    bool memory = insn_is_memory(i);
    switch (shape) {
    case SIMD_V:
        add_numbered(t, "xmm", insn_reg(i));
        break;
    case SIMD_P:
        add_numbered(t, "mm", insn_reg(i));
        break;
    case SIMD_G:
        text_add(t, names32[insn_reg(i)]);
        break;
    default:
        if (memory)
            add_memory(t, i, size_word(i->simd->bytes));
        else if (shape == SIMD_W || shape == SIMD_U)
            add_numbered(t, "xmm", n);
        else if (shape == SIMD_Q || shape == SIMD_N)
            add_numbered(t, "mm", n);
        else
            text_add(t, names32[n]);
        break;
    }
}

static void add_simd(struct text *t, const struct insn *i)
{
    const struct simd_form *f = i->simd;
    text_add(t, f->name);
    if (f->dst != SIMD_0) {
        text_add(t, " ");
        add_simd_operand(t, i, f->dst);
    }
    if (f->src != SIMD_0) {
        text_add(t, ", ");
        add_simd_operand(t, i, f->src);
    }
    if (f->imm) {
        text_add(t, ", ");
        add_number(t, i->imm);
    }
}

static void add_prefixes(struct text *t, const struct insn *i)
{
    if (i->lock)
        text_add(t, "lock ");
    bool compares =
        i->opcode == 0xa6 || i->opcode == 0xa7 || i->opcode == 0xae || i->opcode == 0xaf;
    if (i->entry && (i->entry->attr & ISA_REP) && i->rep)
        text_add(t, i->rep == 0xf2 ? "repne " : compares ? "repe " : "rep ");
}

/* Mnemonics of the operand-size twins are told apart by a suffix (pushf: pushfw, pushfd). */
static void add_mnemonic(struct text *t, const struct insn *i)
{
    text_add(t, i->entry->mnemonic);
    if (i->entry->attr & ISA_CC)
        text_add(t, conditions[i->opcode & 15]);
    if (i->entry->operand[0] == ISA_Vv)
        text_add(t, i->op16 ? "w" : "d");
    if (i->entry->emit == EMIT_X87) { /* escapes by their bytes: "x87 d9 e8" */
        text_add(t, " ");
        text_add_hex(t, i->opcode, 2);
        text_add(t, " ");
        text_add_hex(t, i->modrm, 2);
        if (insn_is_memory(i)) {
            text_add(t, " ");
            add_memory(t, i, "");
        }
    }
}

size_t insn_text(const struct insn *insn, uint32_t eip, char *text, size_t bytes)
{
    struct text t = text_init(text, bytes);
    add_prefixes(&t, insn);
    if (insn->simd) {
        add_simd(&t, insn);
        return t.used;
    }
    add_mnemonic(&t, insn);
    bool first = true;
    for (unsigned k = 0; k < 3; k++) {
        uint8_t operand = insn->entry->operand[k];
        if (operand == ISA_NO || operand == ISA_Vv || insn->entry->emit == EMIT_X87)
            continue;
        text_add(&t, first ? " " : ", ");
        add_operand(&t, insn, operand, eip);
        first = false;
    }
    return t.used;
}
