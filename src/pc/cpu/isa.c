/*
 * isa.def as a constant table, and the index that the decoder looks opcodes up in.
 */
#include "pc/cpu/isa.h"

#include <string.h>

#include "pc/cpu/fpu.h"
#include "pc/cpu/state.h"
#include "pc/cpu/uops.h"

/* The vocabulary of isa.def. */
enum {
    EXT__ = ISA_EXT_ANY,
    EXT_M = ISA_EXT_ANY & ~1, /* any reg field, memory only; told apart below */
    EXT_R = ISA_EXT_ANY & ~2, /* registers only */
    EXT_0 = 0,
    EXT_1,
    EXT_2,
    EXT_3,
    EXT_4,
    EXT_5,
    EXT_6,
    EXT_7,
    EXT_0m = ISA_EXT_MEM,
    EXT_1m,
    EXT_2m,
    EXT_3m,
    EXT_4m,
    EXT_5m,
    EXT_6m,
    EXT_7m,
    MAP_P = 0,
    MAP_F = 1,
    LOCK = ISA_LOCK,
    ENDS = ISA_ENDS,
    REP = ISA_REP,
    PLUSR = ISA_PLUSR,
    CC = ISA_CC,
    PLUS8 = ISA_PLUS8,
    MEMAX = ISA_MEMAX,
    NP = ISA_NP,
    CF = FLAG_CF,
    PF = FLAG_PF,
    AF = FLAG_AF,
    ZF = FLAG_ZF,
    SF = FLAG_SF,
    OF = FLAG_OF,
    ALL = FLAGS_STATUS,
    INCF = FLAGS_STATUS & ~FLAG_CF,
    IRETF = FLAGS_STATUS,
    FIRST_P6 = CPU_MODEL_P6,
    FIRST_P3 = CPU_MODEL_PENTIUM3,
    FIRST_PM = CPU_MODEL_PENTIUM_M,
};

/* The family column, by the way of making a micro-op. */
#define UOP_FORM5(f)   OP_##f##_b_rr
#define UOP_UNARY(f)   OP_##f##_b_r
#define UOP_SHIFT(f)   SHIFT_##f
#define UOP_HELP(f)    OP_H_##f
#define UOP_STRING(f)  OP_H_##f
#define UOP_PUSH(f)    0
#define UOP_POP(f)     0
#define UOP_XCHG(f)    0
#define UOP_IMUL(f)    0
#define UOP_JCC(f)     0
#define UOP_JMP(f)     0
#define UOP_CALL(f)    0
#define UOP_RET(f)     0
#define UOP_JMPIND(f)  0
#define UOP_CALLIND(f) 0
#define UOP_LEA(f)     0
#define UOP_CONV(f)    OP_##f
#define UOP_LEAVE(f)   0
#define UOP_NOP(f)     OP_nop
#define UOP_CMOV(f)    0
#define UOP_SETCC(f)   0
#define UOP_MOVX(f)    OP_##f##_wb_r
#define UOP_BSWAP(f)   0
#define UOP_X87(f)     0

#define W(flags) (flags)
#define U(flags) (flags)
#define INSN(map, opcode, ext, mnemonic, op1, op2, op3, attr, writes, undefined, cpu, emit, uop)   \
    {mnemonic,   MAP_##map,   opcode,          EXT_##ext, {ISA_##op1, ISA_##op2, ISA_##op3},       \
     attr,       EMIT_##emit, UOP_##emit(uop), writes,    undefined,                               \
     FIRST_##cpu},
const struct isa_entry isa_entries[] = {
#include "pc/cpu/isa.def"
};
#undef INSN
const unsigned isa_entry_count = sizeof isa_entries / sizeof isa_entries[0];

static void index_opcode(struct isa_index *index, unsigned opcode, const struct isa_entry *entry,
                         uint16_t number)
{
    for (unsigned reg = 0; reg < 8; reg++) {
        bool any = entry->ext == EXT__ || entry->ext == EXT_M || entry->ext == EXT_R;
        if (!any && (entry->ext & 7) != reg)
            continue;
        uint16_t *slot = index->entry[entry->map][opcode][reg];
        if (entry->ext != EXT_R)
            slot[0] = number;
        bool memory_only = entry->ext == EXT_M || (!any && (entry->ext & ISA_EXT_MEM));
        if (!memory_only)
            slot[1] = number;
    }
    index->has_modrm[entry->map][opcode] = isa_has_modrm(entry);
}

/* Which lines of simd.def answer to a memory form and to a register form (SDM 2D A.2.1). */
static void index_simd(struct isa_index *index, const struct simd_form *form, uint16_t number)
{
    bool memory_only = form->dst == SIMD_M || form->src == SIMD_M;
    bool register_only = form->dst == SIMD_U || form->src == SIMD_U || form->dst == SIMD_N ||
                         form->src == SIMD_N || form->dst == SIMD_R || form->src == SIMD_R;
    for (int reg = 0; reg < 8; reg++) {
        if (form->reg >= 0 && form->reg != reg)
            continue;
        uint16_t *slot = index->simd[form->prefix][form->opcode][reg];
        if (!register_only)
            slot[0] = number;
        if (!memory_only)
            slot[1] = number;
    }
    index->has_modrm[MAP_F][form->opcode] = form->dst != SIMD_0 || form->src != SIMD_0;
}

static void index_all_simd(struct isa_index *index, enum cpu_model model)
{
    static const int highest[] = {-1, SIMD_LEVEL_SSE, SIMD_LEVEL_SSE2};
    for (unsigned i = 0; i < simd_form_count; i++)
        if ((int)simd_forms[i].level <= highest[model])
            index_simd(index, &simd_forms[i], (uint16_t)(i + 1));
}

void isa_index_build(struct isa_index *index, enum cpu_model model)
{
    memset(index, 0, sizeof *index);
    for (unsigned i = 0; i < isa_entry_count; i++) {
        const struct isa_entry *entry = &isa_entries[i];
        if (entry->model > model)
            continue;
        unsigned span = entry->attr & ISA_CC ? 16 : entry->attr & (ISA_PLUSR | ISA_PLUS8) ? 8 : 1;
        for (unsigned k = 0; k < span; k++)
            index_opcode(index, entry->opcode + k, entry, (uint16_t)(i + 1));
    }
    index_all_simd(index, model);
}

bool isa_has_modrm(const struct isa_entry *entry)
{
    if (entry->ext != ISA_EXT_ANY)
        return true;
    for (unsigned i = 0; i < 3; i++) {
        uint8_t o = entry->operand[i];
        if ((o >= ISA_Eb && o <= ISA_Gv) || (o >= ISA_Mx && o <= ISA_Mq) ||
            (o >= ISA_Sw && o <= ISA_Rd))
            return true;
    }
    return false;
}
