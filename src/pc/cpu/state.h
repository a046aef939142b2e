/*
 * What is inside a processor: registers, descriptor caches, the TLB, and the bookkeeping that keeps
 * counts exact. Included by the files of src/pc/cpu only; the machine uses cpu.h. The functions
 * that cross files are declared in internal.h.
 */
#ifndef PC_CPU_STATE_H
#define PC_CPU_STATE_H

#include <string.h>

#include "pc/cpu/cpu.h"
#include "pc/cpu/fpu.h"
#include "pc/cpu/isa.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Linear and physical addresses. PAE physical addresses above 4 GB hold nothing in this machine, so
 * 32 bits are enough for both; long mode would widen these two. */
typedef uint32_t linear_t;
typedef uint32_t phys_t;

/* EFLAGS (SDM 1 3.4.3). */
enum {
    FLAG_CF = 1u << 0,
    FLAG_PF = 1u << 2,
    FLAG_AF = 1u << 4,
    FLAG_ZF = 1u << 6,
    FLAG_SF = 1u << 7,
    FLAG_TF = 1u << 8,
    FLAG_IF = 1u << 9,
    FLAG_DF = 1u << 10,
    FLAG_OF = 1u << 11,
    FLAG_IOPL = 3u << 12,
    FLAG_NT = 1u << 14,
    FLAG_RF = 1u << 16,
    FLAG_VM = 1u << 17,
    FLAG_AC = 1u << 18,
    FLAG_VIF = 1u << 19,
    FLAG_VIP = 1u << 20,
    FLAG_ID = 1u << 21,
    FLAGS_STATUS = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF | FLAG_OF,
};

/* Control registers and EFER (SDM 3A 2.5, 4.1). */
enum {
    CR0_PE = 1u << 0,
    CR0_MP = 1u << 1,
    CR0_EM = 1u << 2,
    CR0_TS = 1u << 3,
    CR0_ET = 1u << 4,
    CR0_NE = 1u << 5,
    CR0_WP = 1u << 16,
    CR0_AM = 1u << 18,
    CR0_NW = 1u << 29,
    CR0_CD = 1u << 30,
    CR4_TSD = 1u << 2,
    CR4_DE = 1u << 3,
    CR4_PSE = 1u << 4,
    CR4_PAE = 1u << 5,
    CR4_MCE = 1u << 6,
    CR4_PGE = 1u << 7,
    CR4_PCE = 1u << 8,
    CR4_OSFXSR = 1u << 9,
    CR4_OSXMMEXCPT = 1u << 10,
    EFER_NXE = 1u << 11,
};

#define CR0_PG (1u << 31) /* not an enumerator: too large for ISO C */

enum vector {
    VEC_DE,
    VEC_DB,
    VEC_NMI,
    VEC_BP,
    VEC_OF,
    VEC_BR,
    VEC_UD,
    VEC_NM,
    VEC_DF,
    VEC_TS = 10,
    VEC_NP,
    VEC_SS,
    VEC_GP,
    VEC_PF,
    VEC_MF = 16,
    VEC_AC,
    VEC_MC,
    VEC_XM,
};

enum { SEG_ES, SEG_CS, SEG_SS, SEG_DS, SEG_FS, SEG_GS, SEG_COUNT, SEG_LDT = SEG_COUNT, SEG_TR };

/* Attributes of a segment, at the places of the descriptor's second word (SDM 3A 3.4.5). */
enum {
    DESC_ACCESSED = 1u << 8,
    DESC_RW = 1u << 9,  /* data: writable; code: readable */
    DESC_EC = 1u << 10, /* data: expand-down; code: conforming */
    DESC_CODE = 1u << 11,
    DESC_S = 1u << 12,
    DESC_P = 1u << 15,
    DESC_DB = 1u << 22,
    DESC_G = 1u << 23,
    DESC_TYPE_SHIFT = 8,
    DESC_DPL_SHIFT = 13,
};

struct segment {
    uint16_t selector;
    uint32_t base;
    uint32_t limit; /* in bytes, inclusive */
    uint32_t attr;  /* 0 in a null segment */
};

/*
 * A TLB entry. A tag is the linear page, and an access of `size` bytes at `va` is allowed on the
 * fast path when ((va + size - 1) & ~0xfff) equals it: one compare that also catches page
 * crossings. Low bits make a tag never match: TLB_NONE (nothing known), TLB_MMIO (ask the bus),
 * TLB_CODE (the page holds decoded code: look at the code map first). RAM is at ram + (uint32_t)(va
 * + add).
 */
struct tlb_entry {
    uint32_t read, write, fetch;
    uint32_t add;
};

enum {
    TLB_BITS = 10,
    TLB_ENTRIES = 1 << TLB_BITS,
    TLB_MMIO = 1,
    TLB_CODE = 2,
    TLB_WATCH = 4, /* a debug register watches this page */
    TLB_NONE = 0x800,
    PAGE_BYTES = 4096,
    PAGE_MASK = 0xfff,
};

/* A micro-op: one per instruction, so that its index in the block counts instructions. */
struct uop {
    uint16_t op;
    uint8_t dst, src; /* register numbers; byte registers as offsets into the register file */
    uint8_t base, index;
    uint8_t scale_seg; /* UOP_* below */
    uint8_t icnt;      /* where the instruction starts, in bytes from the block's start */
    uint32_t imm, disp;
};
_Static_assert(sizeof(struct uop) == 16, "a micro-op is 16 bytes");

enum {
    REG_ZERO = 16,  /* a register that is always zero: no base, no index */
    UOP_REG = 0xff, /* uop.index: the operand is the register uop.base, not memory */

    UOP_SCALE = 3,       /* bits 0-1 of scale_seg */
    UOP_SEG_SHIFT = 2,   /* bits 2-4 */
    UOP_A16 = 1 << 5,    /* 16-bit address size */
    UOP_O16 = 1 << 6,    /* 16-bit operand size, for operations out of line */
    UOP_SLOW_EA = 1 << 7 /* the segment is not known to be flat, or A16: work it out out of line */
};

/* What the decoding of a block depended on. */
enum {
    KEY_CODE32 = 1 << 0,
    KEY_STACK32 = 1 << 1,
    KEY_FLAT = 1 << 2,   /* CS, DS, ES, SS all have base 0 and limit 4 GB */
    KEY_SINGLE = 1 << 3, /* one instruction only */
    KEY_CROSS = 1 << 4,  /* one instruction, which continues on the next page */
    KEY_V86 = 1 << 5,
    KEY_DEAD = -1
};

struct block {
    uint32_t key;
    uint16_t insns;
    uint16_t bytes;
    phys_t phys;
    phys_t phys2; /* KEY_CROSS: the page of the rest */
    struct block *link[2];
    struct block *hash_next;
    struct block *page_next, *page2_next; /* others on its page, on its second page */
    struct uop uops[];
};

enum {
    BLOCK_MAX_INSNS = 32,
    BLOCK_HASH_BITS = 15,
    BLOCK_MAX_BYTES = 224, /* so that uop.icnt is enough for the end of the last one */
    CODE_GRAIN_BITS = 6,   /* the code map has a bit for 64 bytes */
    BRANCH_LOG = 16,
    EXCEPTION_LOG = 8,
};

/* What an operation out of line says about how it ended. */
enum op_status {
    OP_DONE,   /* go on with the next micro-op */
    OP_FAULT,  /* cpu->fault is set and nothing was changed */
    OP_JUMPED, /* cpu->eip was set; the block ends here */
    OP_LEAVE,  /* done; the next instruction starts a new block, past all checks */
    OP_AGAIN,  /* a repeated instruction was interrupted: EIP stays on it */
};

struct fault {
    bool pending;
    bool has_error;
    bool keeps_rf; /* a trap, or an instruction breakpoint: RF is not set in what is pushed */
    uint8_t vector;
    uint16_t error;
    uint32_t cr2; /* for #PF: goes to CR2 when delivered */
};

/* After an instruction that keeps interrupts away from the next one (SDM 3A 6.8.1, 6.8.3): STI keeps
 * INTR away, a load of SS all interrupts, breakpoints and traps. */
enum shadow { SHADOW_NONE, SHADOW_STI, SHADOW_STACK };

/* Debug registers (SDM 3B 17.2). */
enum {
    DR6_BD = 1 << 13,
    DR6_BS = 1 << 14,
    DR6_BT = 1 << 15,
    DR6_HITS = 15 | DR6_BS | DR6_BT,
    DR7_ARMED = 0xff,
    DR7_LOCAL = 0x155, /* L0 to L3, LE */
    DR7_ONES = 1 << 10,
    DR7_GD = 1 << 13,
};

/* Reasons to stop at the next instruction boundary. */
enum { EVENT_EXIT = 1, EVENT_NMI = 2, EVENT_SHUTDOWN = 4 };

struct branch_entry {
    uint32_t from, to;
};

struct cpu {
    /* The hot part. */
    uint64_t reg[REG_ZERO + 1];
    uint64_t flags_result; /* see flags.h */
    uint32_t flags_carry;
    uint32_t eip; /* of the current block's start while it runs */
    int64_t left; /* instructions left, the current block already taken off */
    int64_t held; /* part of the budget put aside by cpu_kick() */
    uint8_t *ram;
    struct tlb_entry *tlb; /* tlbs[user] */
    struct block *block;   /* running now, or NULL */
    const struct uop *uop; /* running now, known on cold paths only */
    uint32_t key;          /* the KEY_* of the current mode */
    linear_t code_page;    /* the page that code is fetched from now, or TLB_NONE */
    uint32_t code_add;     /* its physical address minus its linear one */
    struct block **hash;
    struct segment seg[SEG_COUNT + 2];

    /* Flags that are not lazy, and the rest of the registers. */
    uint32_t eflags;
    uint8_t cpl;
    bool halted;
    uint8_t shadow; /* enum shadow */
    bool begun;     /* the instruction at EIP is a repeated one between two iterations */
    uint8_t events;
    bool intr, nmi_line, nmi_blocked;
    bool entered;  /* a handler was entered since the step began */
    bool external; /* an external event is being delivered: error codes get their EXT bit */
    struct fault fault;
    uint32_t cr0, cr2, cr3, cr4;
    uint32_t dr[8];
    uint16_t debug_hits; /* bits that go to DR6 with a #DB once this instruction has ended */
    uint8_t watching;    /* the breakpoint registers armed for data */
    uint8_t trace;       /* enum cpu_trace bits */
    uint8_t reported;    /* undefined instructions told so far */
    uint32_t gdt_base, idt_base;
    uint16_t gdt_limit, idt_limit;
    uint64_t efer;
    uint64_t pdpte[4]; /* loaded with CR3 when PAE is on (SDM 3A 4.4.1) */
    uint32_t a20_mask;
    uint32_t sysenter_cs, sysenter_esp, sysenter_eip;
    uint64_t pat, misc_enable, tsc_offset;
    uint64_t insns_start,
        insns_budget; /* the counter when cpu_run() began, and what it was given */

    /* A read-modify-write that could not use a pointer into RAM (internal.h). */
    struct {
        uint8_t bytes[16];
        linear_t lin;
        unsigned size;
    } rmw;

    struct uop *patched; /* a micro-op overwritten with OP_leave, and what it was */
    uint16_t patched_op;

    struct cpu_bus bus;
    enum cpu_model model;
    struct isa_index isa;
    struct fpu fpu;

    /* The block cache, in the memory that cpu_init() was given. */
    struct block **page_blocks; /* by physical page: its blocks */
    uint64_t *code_map;         /* by physical page, a bit per 64 bytes: holds decoded code */
    uint8_t *arena, *arena_end, *arena_next;
    struct block *none;       /* what links and hash slots point to when there is nothing */
    struct block *scratch;    /* an instruction that cannot be cached (fetched from MMIO) */
    struct block **link_from; /* a chain that the next block found may be linked into */
    uint32_t ram_pages;
    bool in_run;

    struct tlb_entry tlbs[2][TLB_ENTRIES];   /* supervisor, user */
    uint64_t tlb_local[2][TLB_ENTRIES / 64]; /* bit: valid and not global */
    linear_t large_low, large_high; /* where large pages were cached since the last full flush */
    struct branch_entry branches[BRANCH_LOG]; /* the last ones that left a block's chain */
    struct fault exceptions[EXCEPTION_LOG];
    uint32_t exception_eip[EXCEPTION_LOG];
    uint32_t branch_count, exception_count;
};

#endif
