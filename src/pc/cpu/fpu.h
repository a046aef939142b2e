/* fpu.h: the floating point and SIMD state of one processor, and everything that happens to it.
 *
 * The processor decodes, fetches operands, writes results to memory and raises exceptions; here
 * live x87, MMX, SSE and SSE2 themselves. No function touches memory other than its arguments, so
 * an operand that faults has changed nothing: loads take bytes already read, stores give bytes and
 * say what to commit once they are written. Rounded exactly as the manual says (Intel SDM vol. 1
 * ch. 4, 8, 10, 11 and app. E), in integers, hence with the same bits on every host. */
#ifndef HALTER_PC_CPU_FPU_H
#define HALTER_PC_CPU_FPU_H

#include <stdbool.h>
#include <stdint.h>

/* ---- state -------------------------------------------------------------------------------- */

/* An XMM register; an MMX register uses its low half. Lanes in memory order, little-endian. */
union xmm {
    uint8_t u8[16];
    uint16_t u16[8];
    uint32_t u32[4];
    uint64_t u64[2];
};

/* Double extended precision (SDM 1 4.2.2): the integer bit is explicit, bit 63 of the mantissa. */
struct f80 {
    uint64_t mantissa;
    uint16_t sign_exponent;
};

/* One of the eight physical registers R0-R7; MMn is the mantissa of Rn. */
union x87_slot {
    struct f80 f;
    union xmm mm;
};

/* x87 status word (SDM 1 8.1.3). */
enum {
    X87_IE = 0x0001,
    X87_DE = 0x0002,
    X87_ZE = 0x0004,
    X87_OE = 0x0008,
    X87_UE = 0x0010,
    X87_PE = 0x0020,
    X87_SF = 0x0040, /* stack fault; an IE that is one has C1 = 1 for overflow */
    X87_ES = 0x0080, /* an unmasked exception is pending: the next waiting instruction is #MF */
    X87_C0 = 0x0100,
    X87_C1 = 0x0200,
    X87_C2 = 0x0400,
    X87_TOP = 0x3800,
    X87_C3 = 0x4000,
    X87_B = 0x8000 /* always equal to ES */
};

struct fpu {
    union x87_slot st[8]; /* physical; ST(i) is st[(TOP + i) & 7] */
    union xmm xmm[16];
    uint16_t control;
    uint16_t status;
    uint8_t used;    /* bit n: Rn is not empty: the abridged tag byte of FXSAVE */
    bool simd_fault; /* set by a SIMD operation that changed nothing: raise #XM and clear it */
    uint16_t opcode; /* of the last non-control instruction: 11 bits */
    uint16_t instruction_selector;
    uint16_t operand_selector;
    uint32_t instruction; /* offsets of the last non-control instruction and of its operand */
    uint32_t operand;
    uint32_t mxcsr;
    uint32_t mxcsr_mask; /* the bits this model's MXCSR has: FFBFh without DAZ, FFFFh with it */
    uint32_t compare;    /* ZF, PF and CF as (U)COMISS/SD last left them, in EFLAGS positions */
};

/* Power-up (SDM 3A 9.1): not what FNINIT does; #INIT leaves all of this alone. */
void fpu_reset(struct fpu *fpu);

static inline bool x87_pending(const struct fpu *fpu)
{
    return (fpu->status & X87_ES) != 0;
}

/* ---- x87 ---------------------------------------------------------------------------------- */

enum x87_kind {
    X87_UNDEFINED,  /* #UD */
    X87_LOAD,       /* memory form that reads: x87_load() */
    X87_STORE,      /* memory form that writes: x87_store(), write, x87_store_commit() */
    X87_REGISTER,   /* x87_register() */
    X87_TO_FLAGS,   /* x87_register(), whose value replaces EFLAGS: FCOMI(P), FUCOMI(P) */
    X87_FROM_FLAGS, /* x87_register(), given EFLAGS: FCMOVcc */
    X87_TO_AX       /* FNSTSW AX: the processor copies fpu->status itself */
};

struct x87_form {
    uint8_t kind;  /* enum x87_kind */
    uint8_t bytes; /* of the memory operand: 2 4 8 10 14 28 94 108, or 0 */
    bool waits;    /* raises #MF first when x87_pending() */
    bool control;  /* leaves the last instruction and operand pointers alone */
};

/* esc is D8-DF. A memory form when modrm < C0h. operand32: the operand size attribute. */
struct x87_form x87_form(uint8_t esc, uint8_t modrm, bool operand32);

/* Bytes of a memory operand with the sign saying the direction: > 0 read, < 0 written, 0 #UD. */
int x87_memory_bytes(uint8_t esc, uint8_t reg, bool operand32);

/* The layouts of FNSTENV and FNSAVE images (SDM 1 8.1.10); REAL also for virtual-8086. */
enum x87_layout { X87_PROTECTED_16, X87_PROTECTED_32, X87_REAL_16, X87_REAL_32 };

/* Memory forms. Both return true when an unmasked exception is now pending. */
bool x87_load(struct fpu *fpu, uint8_t esc, uint8_t reg, const void *bytes, enum x87_layout layout);

/* What a store leaves behind once its bytes are in memory. */
struct x87_stored {
    uint16_t control;
    uint16_t status;
    uint8_t used;
    bool write; /* false: an unmasked exception; nothing is to be written, but do commit */
    bool init;  /* FNSAVE: as FNINIT */
};

/* Fills bytes and changes nothing; x87_store_commit() makes the stack and flag changes. */
struct x87_stored x87_store(const struct fpu *fpu, uint8_t esc, uint8_t reg, void *bytes,
                            enum x87_layout layout);
bool x87_store_commit(struct fpu *fpu, struct x87_stored stored);

/* Register forms (modrm >= C0h): takes EFLAGS and returns them, changed by X87_TO_FLAGS only.
 * Whether an exception is now pending is x87_pending(). Undefined forms do nothing. */
uint32_t x87_register(struct fpu *fpu, uint8_t esc, uint8_t modrm, uint32_t eflags);

/* The same as a function to keep in a decoded instruction: call it as op(fpu, modrm & 7, eflags).
 * NULL when the form is undefined or FNSTSW AX. */
typedef uint32_t x87_register_op(struct fpu *fpu, unsigned i, uint32_t eflags);
x87_register_op *x87_register_find(uint8_t esc, uint8_t modrm);

/* To be called for each x87 instruction whose form is not control, before it (SDM 1 8.1.8). */
static inline void x87_note(struct fpu *fpu, uint8_t esc, uint8_t modrm, uint16_t selector,
                            uint32_t offset)
{
    fpu->opcode = (uint16_t)((esc & 7) << 8 | modrm);
    fpu->instruction_selector = selector;
    fpu->instruction = offset;
}

static inline void x87_note_operand(struct fpu *fpu, uint16_t selector, uint32_t offset)
{
    fpu->operand_selector = selector;
    fpu->operand = offset;
}

void x87_fninit(struct fpu *fpu);

/* ---- FXSAVE, FXRSTOR, LDMXCSR ------------------------------------------------------------- */

/* 16 + 8 x 16 + 16 x (8 or 16 in long mode) bytes are written: the rest of the 512 is the guest's.
 * Without osfxsr (CR4.OSFXSR) XMM registers and MXCSR stay out of it. */
enum { FPU_FXSAVE_BYTES = 512 };
unsigned fpu_fxsave(const struct fpu *fpu, uint8_t bytes[512], bool long_mode, bool osfxsr);

/* False, with nothing changed, when MXCSR has a reserved bit set: #GP(0). */
bool fpu_fxrstor(struct fpu *fpu, const uint8_t bytes[512], bool long_mode, bool osfxsr);
bool fpu_ldmxcsr(struct fpu *fpu, uint32_t mxcsr);

/* ---- MMX, SSE, SSE2 ----------------------------------------------------------------------- */

/* One operation. src is a copy or a register and may be dst; dst holds the old destination.
 * Afterwards: simd_fault set means dst and everything but the MXCSR flags is as it was. */
typedef void simd_op(struct fpu *fpu, union xmm *dst, const union xmm *src, uint8_t imm);

/* Where an operand comes from; the letters are those of the SDM's opcode map (2D app. A). */
enum simd_shape {
    SIMD_0, /* none */
    SIMD_V, /* XMM register, ModRM.reg */
    SIMD_W, /* XMM register or memory, ModRM.rm */
    SIMD_U, /* XMM register, ModRM.rm: a memory form is another line or #UD */
    SIMD_P, /* MMX register, ModRM.reg */
    SIMD_Q, /* MMX register or memory */
    SIMD_N, /* MMX register, ModRM.rm */
    SIMD_G, /* general register, ModRM.reg: u32[0] */
    SIMD_E, /* general register or memory */
    SIMD_R, /* general register, ModRM.rm */
    SIMD_M  /* memory only */
};

enum simd_prefix { SIMD_NP, SIMD_66, SIMD_F3, SIMD_F2 };

/* A line of simd.def. reg is ModRM.reg for the opcode groups, else -1. bytes is the size of the
 * memory operand (or what is written of a destination in memory). */
struct simd_form {
    const char *name;
    simd_op *op;
    uint8_t prefix, opcode; /* opcode after 0F */
    int8_t reg;
    uint8_t dst, src; /* enum simd_shape */
    uint8_t bytes;
    bool aligned;  /* a memory operand off a 16-byte boundary is #GP(0) */
    bool imm;      /* an imm8 follows */
    uint8_t level; /* enum simd_level */
};

enum simd_level { SIMD_LEVEL_MMX, SIMD_LEVEL_SSE, SIMD_LEVEL_SSE2 };

extern const struct simd_form simd_forms[];
extern const unsigned simd_form_count;

/* Before an MMX instruction (a form with an operand P, N or Q; not CVTPI2PD and CVTPI2PS from
 * memory): TOP becomes 0 and all registers valid (SDM 1 9.5.1); MMn is &fpu->st[n].mm. This stays
 * so when the instruction then raises #XM. Not before EMMS, whose operation does its own. */
static inline void mmx_enter(struct fpu *fpu)
{
    fpu->status &= (uint16_t)~X87_TOP;
    fpu->used = 0xff;
}

/* After one that wrote MMn: its exponent becomes all ones. */
static inline void mmx_wrote(struct fpu *fpu, unsigned n)
{
    fpu->st[n].f.sign_exponent = 0xffff;
}

#endif
