/*
 * generate.c: see generate.h.
 */
#include "generate.h"

#include <string.h>

#include "pc/cpu/state.h"
#include "pc/cpu/uops.h"

/* ---- what is left out, and why ------------------------------------------------------------ */

static const struct {
    uint16_t uop;
    const char *why;
} excluded_operations[] = {
    {OP_H_sgdt, "the kernel emulates it in ring 3 (UMIP)"},
    {OP_H_sidt, "the kernel emulates it in ring 3 (UMIP)"},
    {OP_H_sldt, "the kernel emulates it in ring 3 (UMIP)"},
    {OP_H_str, "the kernel emulates it in ring 3 (UMIP)"},
    {OP_H_smsw, "the kernel emulates it in ring 3 (UMIP)"},
    {OP_H_mov_to_seg, "its result depends on the kernel's descriptor tables"},
    {OP_H_pop_seg, "its result depends on the kernel's descriptor tables"},
    {OP_H_les, "its result depends on the kernel's descriptor tables"},
    {OP_H_lds, "its result depends on the kernel's descriptor tables"},
    {OP_H_lss, "its result depends on the kernel's descriptor tables"},
    {OP_H_lfs, "its result depends on the kernel's descriptor tables"},
    {OP_H_lgs, "its result depends on the kernel's descriptor tables"},
    {OP_H_lar, "its result depends on the kernel's descriptor tables"},
    {OP_H_lsl, "its result depends on the kernel's descriptor tables"},
    {OP_H_verr, "its result depends on the kernel's descriptor tables"},
    {OP_H_verw, "its result depends on the kernel's descriptor tables"},
    {OP_H_call_far, "its result depends on the kernel's descriptor tables"},
    {OP_H_jmp_far, "its result depends on the kernel's descriptor tables"},
    {OP_H_call_far_m, "its result depends on the kernel's descriptor tables"},
    {OP_H_jmp_far_m, "its result depends on the kernel's descriptor tables"},
    {OP_H_ret_far, "its result depends on the kernel's descriptor tables"},
    {OP_H_iret, "its result depends on the kernel's descriptor tables"},
    {OP_H_cpuid, "its answer names another processor"},
    {OP_H_rdtsc, "time differs"},
    {OP_H_rdpmc, "the host may allow it in ring 3"},
    {OP_H_sysenter, "undefined in the compatibility mode of AMD processors"},
    {OP_H_sysexit, "undefined in the compatibility mode of AMD processors"},
    {OP_H_int1, "its trap cannot be told from the step's"},
    {OP_H_fwait, "floating point has tests of its own"},
    {OP_H_fxsave, "floating point has tests of its own"},
    {OP_H_fxrstor, "floating point has tests of its own"},
    {OP_H_ldmxcsr, "floating point has tests of its own"},
    {OP_H_stmxcsr, "floating point has tests of its own"},
    {OP_H_maskmov, "floating point has tests of its own"},
};

const char *oracle_excluded(const struct isa_entry *entry)
{
    if (entry->emit == EMIT_X87)
        return "floating point has tests of its own";
    if (entry->emit != EMIT_HELP)
        return NULL;
    for (unsigned i = 0; i < sizeof excluded_operations / sizeof excluded_operations[0]; i++)
        if (excluded_operations[i].uop == entry->uop)
            return excluded_operations[i].why;
    return NULL;
}

/* ---- dice --------------------------------------------------------------------------------- */

static uint32_t below(uint32_t *random, uint32_t limit)
{
    return (oracle_random(random) >> 8) % limit;
}

static bool one_in(uint32_t *random, uint32_t n)
{
    return below(random, n) == 0;
}

/* Values around the edges of the operand sizes, small ones, and any. */
static uint32_t value(uint32_t *random)
{
    static const uint32_t edges[] = {0,          1,          2,          0x7f,       0x80,
                                     0xff,       0x100,      0x7fff,     0x8000,     0xffff,
                                     0x10000,    0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe,
                                     0x55555555, 0xaaaaaaaa, 31,         32,         33};
    switch (below(random, 4)) {
    case 0:
        return edges[below(random, sizeof edges / sizeof edges[0])];
    case 1:
        return oracle_random(random) & 0xff;
    default:
        return oracle_random(random);
    }
}

/* An address within the data page, now and then over its end or anywhere. */
static uint32_t address(uint32_t *random)
{
    if (one_in(random, 30))
        return ORACLE_DATA + ORACLE_PAGE - below(random, 8);
    if (one_in(random, 60))
        return oracle_random(random);
    return ORACLE_DATA + 0x200 + below(random, 0x400);
}

/* ---- encodings ---------------------------------------------------------------------------- */

struct writer {
    struct oracle_case *c;
    uint32_t *random;
    bool addr16, op16;
};

static void put(struct writer *w, uint32_t value_, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        w->c->code[w->c->length++] = (uint8_t)(value_ >> (8 * i));
}

static void put_prefixes(struct writer *w, const struct isa_entry *entry)
{
    static const uint8_t flat_segments[] = {0x26, 0x2e, 0x36, 0x3e};
    if (one_in(w->random, 12))
        put(w, flat_segments[below(w->random, 4)], 1);
    if (one_in(w->random, 20))
        put(w, 0x64, 1); /* FS has a limit of its own (see oracle.h) */
    if (!(entry->attr & ISA_NP) && below(w->random, 5) < 2) {
        put(w, 0x66, 1);
        w->op16 = true;
    }
    if (one_in(w->random, 25)) {
        put(w, 0x67, 1);
        w->addr16 = true;
    }
    /* With a prefix, what is undefined here may be a newer instruction there; and F2 and F3 before
     * LOOPcc, which the manual reserves, change its condition on AMD processors. */
    bool string = entry->attr & ISA_REP;
    bool reserved = entry->map == 1 || (entry->opcode >= 0xe0 && entry->opcode <= 0xe2);
    if (reserved)
        ;
    else if (string ? below(w->random, 3) != 0 : one_in(w->random, 40))
        put(w, 0xf2 + below(w->random, 2), 1);
    /* LOCK MOV CRn is another register on AMD processors. */
    bool moves_control = entry->map == 1 && entry->opcode >= 0x20 && entry->opcode <= 0x23;
    if (!moves_control && one_in(w->random, entry->attr & ISA_LOCK ? 6 : 80))
        put(w, 0xf0, 1);
}

/* Registers that addresses are made of: EBX and ESI (and EDI for strings) point into the data. */
static void put_memory32(struct writer *w, unsigned reg)
{
    uint32_t *random = w->random;
    unsigned mod = below(random, 3), rm = below(random, 8);
    if (below(random, 4))
        rm = one_in(random, 2) ? CPU_EBX : CPU_ESI;
    put(w, mod << 6 | reg << 3 | rm, 1);
    unsigned base = rm;
    if (rm == CPU_ESP) {
        unsigned index = below(random, 3) ? 4 : 7, scale = below(random, 4);
        base = below(random, 4) ? CPU_EBX : below(random, 8);
        put(w, scale << 6 | index << 3 | base, 1);
        if (index == 7)
            w->c->before.reg[CPU_EDI] = below(random, 8);
    }
    if (mod == 0 && base == CPU_EBP)
        put(w, address(random), 4);
    else if (mod == 1)
        put(w, below(random, 32), 1);
    else if (mod == 2)
        put(w, below(random, 64), 4);
}

/* 16-bit addresses cannot reach the data page: they fault, and that is compared. */
static void put_memory16(struct writer *w, unsigned reg)
{
    unsigned mod = below(w->random, 3), rm = below(w->random, 8);
    put(w, mod << 6 | reg << 3 | rm, 1);
    if (mod == 0 && rm == 6)
        put(w, oracle_random(w->random), 2);
    else if (mod)
        put(w, oracle_random(w->random), mod);
}

static void put_modrm(struct writer *w, const struct isa_entry *entry)
{
    bool any = entry->ext >= 0xfd;
    unsigned reg = any ? below(w->random, 8) : entry->ext & 7;
    bool register_only = entry->ext == 0xfd || entry->operand[0] == ISA_Rd;
    bool memory_only = entry->ext == 0xfe || (!any && (entry->ext & ISA_EXT_MEM));
    bool memory = memory_only || (!register_only && one_in(w->random, 2));
    if (!memory)
        put(w, 0xc0 | reg << 3 | below(w->random, 8), 1);
    else if (w->addr16)
        put_memory16(w, reg);
    else
        put_memory32(w, reg);
}

static void put_immediate(struct writer *w, const struct isa_entry *entry, uint8_t operand)
{
    switch (operand) {
    case ISA_Ib:
    case ISA_Ibs:
    case ISA_Jb:
        put(w, value(w->random), 1);
        break;
    case ISA_Iw:
        put(w, entry->emit == EMIT_RET ? below(w->random, 64) : below(w->random, 512), 2);
        break;
    case ISA_Iz:
    case ISA_Jz:
        put(w, value(w->random), w->op16 ? 2 : 4);
        break;
    case ISA_Ob:
    case ISA_Ov:
        put(w, address(w->random), w->addr16 ? 2 : 4);
        break;
    default:
        break;
    }
}

/* ---- registers ---------------------------------------------------------------------------- */

static void set_registers(struct oracle_case *c, const struct isa_entry *entry, uint32_t *random)
{
    uint32_t *reg = c->before.reg;
    for (unsigned i = 0; i < 8; i++)
        reg[i] = value(random);
    reg[CPU_EBX] = address(random);
    reg[CPU_ESI] = address(random);
    reg[CPU_ESP] = one_in(random, 40) ? ORACLE_DATA + below(random, 40)
                                      : ORACLE_DATA + 0x800 + below(random, 64);
    bool frame =
        entry->emit == EMIT_LEAVE || (entry->emit == EMIT_HELP && entry->uop == OP_H_enter);
    if (frame || one_in(random, 8))
        reg[CPU_EBP] = ORACLE_DATA + 0x900 + below(random, 64);
    if (entry->attr & ISA_REP) {
        reg[CPU_EDI] = address(random);
        if (one_in(random, 2))
            reg[CPU_ECX] &= 7;
    }
    c->before.eflags = (oracle_random(random) & FLAGS_STATUS) | FLAG_TF | FLAG_IF | 2;
    if (one_in(random, 2))
        c->before.eflags |= FLAG_DF;
}

/* Whether memory at `at` is the data page or surely nobody's: the native program itself lives
 * higher up, and what an earlier case did to the code page would be seen. */
static bool is_safe(uint32_t at)
{
    return at < 0x40000000 && (at < ORACLE_CODE - 64 || at >= ORACLE_CODE + ORACLE_PAGE);
}

static bool is_data(uint32_t at)
{
    return at >= ORACLE_DATA && at < ORACLE_DATA + ORACLE_PAGE - 8;
}

static bool touches_only_safe(const struct oracle_case *c, const struct insn *insn)
{
    const uint32_t *reg = c->before.reg;
    uint32_t at = insn->disp;
    if (insn->base != INSN_NO_REG)
        at += reg[insn->base];
    if (insn->index != INSN_NO_REG)
        at += reg[insn->index] << insn->scale;
    bool by_offset = !insn_is_memory(insn) && insn->entry->map == 0 && (insn->opcode & ~3) == 0xa0;
    if (by_offset && !is_safe(insn->disp))
        return false;
    /* Through FS nothing but the data page is reached. */
    if (insn_is_memory(insn) && !insn->addr16 && insn->segment != SEG_FS && !is_safe(at))
        return false;
    bool strings = insn->entry->attr & ISA_REP;
    /* When both operands of CMPS fault, which comes first differs even between its own forms. */
    bool compares = strings && (insn->opcode & ~1) == 0xa6;
    bool null_source = insn->segment == SEG_FS || insn->segment == SEG_GS; /* of a 32-bit process */
    bool source_faults = null_source || !is_data(reg[CPU_ESI]);
    if (compares && (insn->addr16 || (source_faults && !is_data(reg[CPU_EDI]))))
        return false;
    return (!strings || (is_safe(reg[CPU_ESI]) && is_safe(reg[CPU_EDI]))) &&
           (insn->entry->emit != EMIT_LEAVE || is_safe(reg[CPU_EBP])) &&
           (insn->entry->operand[1] != ISA_Ib || insn->entry->operand[0] != ISA_Iw ||
            is_safe(reg[CPU_EBP])) &&
           (!(insn->entry->attr & ISA_MEMAX) || is_safe(reg[CPU_EBX]));
}

/* Around the limit of FS, or anywhere below it. */
static void aim_at_small_segment(struct oracle_case *c, const struct insn *insn, uint32_t *random)
{
    if (insn->segment != SEG_FS || !insn_is_memory(insn) || insn->base == INSN_NO_REG ||
        insn->base == CPU_ESP || insn->base == insn->index)
        return;
    uint32_t target =
        one_in(random, 3) ? ORACLE_LIMIT - 12 + below(random, 16) : below(random, ORACLE_LIMIT);
    if (insn->index != INSN_NO_REG)
        target -= c->before.reg[insn->index] << insn->scale;
    c->before.reg[insn->base] = target - insn->disp;
}

/* Operations whose dice need loading. */
static bool adjust(struct oracle_case *c, const struct isa_entry *entry, uint32_t *random,
                   const struct insn *insn)
{
    if (entry->emit != EMIT_HELP)
        return true;
    if (entry->uop == OP_H_int_n) /* INT 80h is a system call, and 3 and 4 have their own lines */
        return insn->imm != 0x80 && insn->imm != 3 && insn->imm != 4;
    bool bit_string = entry->uop >= OP_H_bt_r && entry->uop <= OP_H_btc_r;
    if (bit_string && insn_is_memory(insn) && below(random, 8)) {
        unsigned reg = insn_reg(insn);
        bool addresses = reg == insn->base || reg == insn->index;
        if (!addresses && reg != CPU_ESP)
            c->before.reg[reg] = (uint32_t)((int32_t)below(random, 4096) - 2048);
    }
    /* A bit's offset in a register moves the address by up to 256 MB. */
    if (bit_string && insn_is_memory(insn) && c->before.reg[insn_reg(insn)] + 2048 > 4096)
        return false;
    return true;
}

bool oracle_generate(const struct isa_entry *entry, uint32_t *random, struct oracle_case *c)
{
    struct writer w = {.c = c, .random = random};
    static struct isa_index index;
    static bool built;
    if (!built) {
        isa_index_build(&index, CPU_MODEL_PENTIUM_M);
        built = true;
    }
    memset(c, 0, sizeof *c);
    c->page_seed = oracle_random(random);
    c->before.eip = ORACLE_START;
    set_registers(c, entry, random);
    put_prefixes(&w, entry);
    if (entry->map)
        put(&w, 0x0f, 1);
    unsigned span = entry->attr & ISA_CC ? 16 : entry->attr & (ISA_PLUSR | ISA_PLUS8) ? 8 : 1;
    put(&w, entry->opcode + below(random, span), 1);
    if (isa_has_modrm(entry))
        put_modrm(&w, entry);
    for (unsigned i = 0; i < 3; i++)
        put_immediate(&w, entry, entry->operand[i]);
    if (entry->operand[0] == ISA_Iw && entry->operand[1] == ISA_Ib)
        c->code[c->length - 1] &= 7; /* ENTER: few levels */
    memset(c->code + c->length, 0x90, sizeof c->code - c->length);

    struct insn insn;
    if (insn_decode(&index, c->code, c->length, true, &insn) != INSN_OK)
        return one_in(random, 4); /* undefined forms too, but not too many */
    if (insn.entry != entry)      /* REP NOP and the like */
        return false;
    if (entry->emit == EMIT_BSWAP && insn.op16) /* the manual leaves its result open */
        return false;
    aim_at_small_segment(c, &insn, random);
    return adjust(c, entry, random, &insn) && touches_only_safe(c, &insn);
}

/* ---- flags -------------------------------------------------------------------------------- */

static uint32_t undefined_after_shift(unsigned count, unsigned bits, bool rotates, bool plain)
{
    count &= 31;
    if (count == 0)
        return 0;
    uint32_t undefined = rotates ? 0 : FLAG_AF;
    if (count != 1)
        undefined |= FLAG_OF;
    if (plain && count >= bits) /* SHL and SHR by more than there is (SDM 2B "SAL/SAR/SHL/SHR") */
        undefined |= FLAG_CF;
    return undefined;
}

uint32_t oracle_undefined(const struct oracle_case *c, const struct insn *insn)
{
    const struct isa_entry *entry = insn->entry;
    unsigned cl = c->before.reg[CPU_ECX];
    unsigned size = insn->op16 ? 16 : 32;
    if (entry->emit == EMIT_SHIFT) {
        uint8_t by = entry->operand[1];
        unsigned count = by == ISA_rCL ? cl : by == ISA_I1 ? 1 : insn->imm;
        unsigned kind = entry->uop;
        return undefined_after_shift(count, entry->operand[0] == ISA_Eb ? 8 : size,
                                     kind < SHIFT_shl, kind == SHIFT_shl || kind == SHIFT_shr);
    }
    bool doubled =
        entry->emit == EMIT_HELP && entry->uop >= OP_H_shld_i && entry->uop <= OP_H_shrd_cl;
    if (doubled) {
        unsigned count = (entry->operand[2] == ISA_rCL ? cl : insn->imm) & 31;
        if (count > size)
            return 0xffffffff;
        return undefined_after_shift(count, size, false, false);
    }
    return entry->undefined;
}
