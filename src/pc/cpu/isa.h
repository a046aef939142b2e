/*
 * The instruction set as data: what isa.def says, made usable. An index per processor model leads
 * from an opcode to its entry; insn_decode() turns bytes into a struct insn, and reads nothing
 * else. The block maker, the disassembler and the tests all start from these.
 */
#ifndef PC_CPU_ISA_H
#define PC_CPU_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pc/cpu/cpu.h"

struct simd_form;

/* The operands of isa.def. */
enum isa_operand {
    ISA_NO,
    ISA_Eb,
    ISA_Ew,
    ISA_Ev,
    ISA_Esv, /* a register of the operand's size, but 16 bits of memory */
    ISA_Gb,
    ISA_Gw,
    ISA_Gv,
    ISA_Ib,
    ISA_Ibs,
    ISA_Iw,
    ISA_Iz,
    ISA_I1,
    ISA_Jb,
    ISA_Jz,
    ISA_Ap,
    ISA_Mx, /* memory of no particular size */
    ISA_Mp,
    ISA_Ma,
    ISA_Mq,
    ISA_Ob,
    ISA_Ov,
    ISA_Sw,
    ISA_Cd,
    ISA_Dd,
    ISA_Rd,
    ISA_Zb,
    ISA_Zv,
    ISA_rAL,
    ISA_rAX,
    ISA_rCL,
    ISA_rDX,
    ISA_Vv,
    ISA_Ses,
    ISA_Scs,
    ISA_Sss,
    ISA_Sds,
    ISA_Sfs,
    ISA_Sgs,
};

enum isa_attr {
    ISA_LOCK = 1,
    ISA_ENDS = 2,
    ISA_REP = 4,
    ISA_PLUSR = 8,
    ISA_CC = 16,
    ISA_PLUS8 = 32,
    ISA_NP = 128,
    ISA_MEMAX = 64, /* memory through a fixed register, with the segment of a prefix */
};

/* How an instruction becomes a micro-op: emit.c has a function for each. */
enum isa_emit {
    EMIT_FORM5,
    EMIT_UNARY,
    EMIT_SHIFT,
    EMIT_HELP,
    EMIT_STRING,
    EMIT_PUSH,
    EMIT_POP,
    EMIT_XCHG,
    EMIT_IMUL,
    EMIT_JCC,
    EMIT_JMP,
    EMIT_CALL,
    EMIT_RET,
    EMIT_JMPIND,
    EMIT_CALLIND,
    EMIT_LEA,
    EMIT_CONV,
    EMIT_LEAVE,
    EMIT_NOP,
    EMIT_CMOV,
    EMIT_SETCC,
    EMIT_MOVX,
    EMIT_BSWAP,
    EMIT_X87,
};

/* ModRM.reg and the kind of ModRM.rm that an entry asks for. */
enum isa_ext { ISA_EXT_ANY = 0xff, ISA_EXT_MEM = 0x80 /* or-ed: memory only */ };

struct isa_entry {
    const char *mnemonic;
    uint8_t map; /* 0: one-byte opcodes, 1: after 0F */
    uint8_t opcode;
    uint8_t ext;
    uint8_t operand[3];         /* enum isa_operand */
    uint8_t attr;               /* enum isa_attr */
    uint8_t emit;               /* enum isa_emit */
    uint16_t uop;               /* the first micro-op of its family, or the operation out of line */
    uint16_t writes, undefined; /* flags */
    uint8_t model;              /* the first enum cpu_model that has it */
};

extern const struct isa_entry isa_entries[];
extern const unsigned isa_entry_count;

/* From (map, opcode, ModRM.reg, ModRM.mod == 3) to an entry number plus one; 0 is undefined. */
struct isa_index {
    uint16_t entry[2][256][8][2];
    uint16_t simd[4][256][8][2]; /* the same for simd.def, by enum simd_prefix */
    bool has_modrm[2][256];
};
void isa_index_build(struct isa_index *index, enum cpu_model model);

/* Whether opcodes of this entry are followed by a ModRM byte. */
bool isa_has_modrm(const struct isa_entry *entry);

enum insn_status {
    INSN_OK,
    INSN_UNDEFINED, /* #UD */
    INSN_TOO_LONG,  /* more than 15 bytes: #GP(0) */
    INSN_MORE,      /* the bytes given do not hold all of it */
};

enum { INSN_MAX_BYTES = 15, INSN_NO_SEG = 0xff, INSN_NO_REG = 16 };

/* One instruction, taken apart. */
struct insn {
    const struct isa_entry *entry;
    const struct simd_form *simd; /* instead of entry: an MMX or SSE instruction */
    uint8_t length;
    uint8_t opcode; /* the last opcode byte */
    uint8_t map;
    uint8_t segment; /* of a prefix, or INSN_NO_SEG */
    uint8_t rep;     /* 0, F2 or F3 */
    bool lock;
    bool opsize_prefix;
    bool op16, addr16; /* the sizes in force */
    bool has_modrm;
    uint8_t modrm;
    uint8_t base, index, scale; /* of a memory operand; INSN_NO_REG is none */
    uint32_t disp;
    uint32_t imm;
    uint16_t imm2; /* the selector of Ap, the level of ENTER */
};

static inline uint8_t insn_mod(const struct insn *i)
{
    return i->modrm >> 6;
}
static inline uint8_t insn_reg(const struct insn *i)
{
    return (i->modrm >> 3) & 7;
}
static inline uint8_t insn_rm(const struct insn *i)
{
    return i->modrm & 7;
}
static inline bool insn_is_memory(const struct insn *i)
{
    return i->has_modrm && i->modrm < 0xc0;
}
/* The segment of the memory operand when no prefix says otherwise: SS for EBP and ESP bases. */
uint8_t insn_default_segment(const struct insn *i);

enum insn_status insn_decode(const struct isa_index *index, const uint8_t *bytes, size_t available,
                             bool code32, struct insn *insn);

/* Text in the manual's syntax, e.g. "add dword [ebx+4], eax"; `eip` is for branch targets. Returns
 * its length. */
size_t insn_text(const struct insn *insn, uint32_t eip, char *text, size_t bytes);

#endif
