/*
 * Bits and exchanges out of line: BT and its kin, BSF, BSR, double shifts, CMPXCHG, XADD, and the
 * rarer forms of SETcc, CMOVcc and BSWAP.
 */
#include "pc/cpu/ops.h"

/* ---- bit tests ---------------------------------------------------------------------------- */

enum bit_kind { BIT_TEST, BIT_SET, BIT_RESET, BIT_COMPLEMENT };

static uint32_t change_bit(uint32_t value, uint32_t bit, enum bit_kind kind)
{
    return kind == BIT_SET ? value | bit : kind == BIT_RESET ? value & ~bit : value ^ bit;
}

/* A bit offset in a register may lie outside a memory operand: it moves the address (SDM 2A "BT").
 */
static enum op_status test_bit(struct cpu *cpu, const struct uop *u, uint32_t offset,
                               bool moves_address, enum bit_kind kind)
{
    unsigned size = op_size(u), bits = size * 8;
    struct uop moved = *u;
    if (moves_address && !op_is_register(u)) {
        int32_t index = size == 2 ? (int16_t)offset : (int32_t)offset;
        moved.disp += (uint32_t)((index >> (size == 2 ? 4 : 5)) * (int32_t)size);
    }
    uint32_t bit = 1u << (offset & (bits - 1));
    if (kind == BIT_TEST) {
        uint32_t value;
        if (!rm_read(cpu, &moved, size, &value))
            return OP_FAULT;
        flags_set_cf(cpu, value & bit);
        return OP_DONE;
    }
    struct rm rm;
    if (!rm_begin(cpu, &moved, size, &rm))
        return OP_FAULT;
    flags_set_cf(cpu, rm.value & bit);
    rm_end(cpu, &moved, size, &rm, change_bit(rm.value, bit, kind));
    return OP_DONE;
}

#define BIT_OPERATION(name, kind)                                                                  \
    enum op_status h_##name##_r(struct cpu *cpu, const struct uop *u)                              \
    {                                                                                              \
        return test_bit(cpu, u, (uint32_t)cpu->reg[u->dst], true, kind);                           \
    }                                                                                              \
    enum op_status h_##name##_i(struct cpu *cpu, const struct uop *u)                              \
    {                                                                                              \
        return test_bit(cpu, u, u->imm, false, kind);                                              \
    }
BIT_OPERATION(bt, BIT_TEST)
BIT_OPERATION(bts, BIT_SET)
BIT_OPERATION(btr, BIT_RESET)
BIT_OPERATION(btc, BIT_COMPLEMENT)

/* A zero source leaves the destination alone, as processors do though the manual leaves it open. */
static enum op_status scan(struct cpu *cpu, const struct uop *u, bool forward)
{
    unsigned size = op_size(u);
    uint32_t v;
    if (!rm_read(cpu, u, size, &v))
        return OP_FAULT;
    if (v)
        reg_set(cpu, u->dst, size, (uint32_t)(forward ? __builtin_ctz(v) : 31 - __builtin_clz(v)));
    cpu->flags_carry = 0;
    flags_result_l(cpu, v);
    return OP_DONE;
}

enum op_status h_bsf(struct cpu *cpu, const struct uop *u)
{
    return scan(cpu, u, true);
}
enum op_status h_bsr(struct cpu *cpu, const struct uop *u)
{
    return scan(cpu, u, false);
}

/* ---- double shifts ------------------------------------------------------------------------ */

/* Counts above 16 for 16-bit operands are undefined; here, as on processors, the pattern repeats.
 */
static enum op_status double_shift(struct cpu *cpu, const struct uop *u, unsigned count, bool left)
{
    unsigned size = op_size(u), bits = size * 8;
    struct rm rm;
    count &= 31;
    if (!rm_begin(cpu, u, size, &rm))
        return OP_FAULT;
    if (!count) {
        rm_end(cpu, u, size, &rm, rm.value);
        return OP_DONE;
    }
    uint64_t a = rm.value, b = reg_get(cpu, u->dst, size);
    uint64_t r, out;
    if (left) {
        uint64_t wide = bits == 16 ? a << 32 | b << 16 | a : a << 32 | b;
        r = wide << count >> 32;
        out = (bits == 16 ? a << 48 | b << 32 | a << 16 : a << 32 | b) << (count - 1) >> 63;
        r &= size_mask(size);
    } else {
        uint64_t wide = bits == 16 ? a << 32 | b << 16 | a : b << 32 | a;
        r = wide >> count & size_mask(size);
        out = wide >> (count - 1) & 1;
    }
    bool of = top_bit((uint32_t)r, size) ^ top_bit((uint32_t)a, size);
    cpu->flags_carry = carry_make(out, of, false);
    flags_result(cpu, (uint32_t)r, size);
    rm_end(cpu, u, size, &rm, (uint32_t)r);
    return OP_DONE;
}

enum op_status h_shld_i(struct cpu *cpu, const struct uop *u)
{
    return double_shift(cpu, u, u->imm, true);
}
enum op_status h_shld_cl(struct cpu *cpu, const struct uop *u)
{
    return double_shift(cpu, u, (unsigned)cpu->reg[CPU_ECX], true);
}
enum op_status h_shrd_i(struct cpu *cpu, const struct uop *u)
{
    return double_shift(cpu, u, u->imm, false);
}
enum op_status h_shrd_cl(struct cpu *cpu, const struct uop *u)
{
    return double_shift(cpu, u, (unsigned)cpu->reg[CPU_ECX], false);
}

/* ---- exchanges ---------------------------------------------------------------------------- */

/* The destination is written in any case, also with its own value (SDM 2A "CMPXCHG"). */
static enum op_status compare_exchange(struct cpu *cpu, const struct uop *u, unsigned size)
{
    struct rm rm;
    if (!rm_begin(cpu, u, size, &rm))
        return OP_FAULT;
    uint32_t a = reg_get(cpu, CPU_EAX, size);
    bool equal = a == rm.value;
    flags_of_sub(cpu, a, rm.value, size);
    rm_end(cpu, u, size, &rm, equal ? reg_get(cpu, u->dst, size) : rm.value);
    if (!equal)
        reg_set(cpu, CPU_EAX, size, rm.value);
    return OP_DONE;
}

enum op_status h_cmpxchg_b(struct cpu *cpu, const struct uop *u)
{
    return compare_exchange(cpu, u, 1);
}
enum op_status h_cmpxchg_v(struct cpu *cpu, const struct uop *u)
{
    return compare_exchange(cpu, u, op_size(u));
}

enum op_status h_cmpxchg8b(struct cpu *cpu, const struct uop *u)
{
    linear_t lin;
    uint32_t v[2];
    if (!seg_operand(cpu, u, 8, SEG_WRITE, &lin))
        return OP_FAULT;
    void *p = mmu_rmw_begin(cpu, u, lin, 8);
    if (!p)
        return OP_FAULT;
    memcpy(v, p, 8);
    bool equal = v[0] == (uint32_t)cpu->reg[CPU_EAX] && v[1] == (uint32_t)cpu->reg[CPU_EDX];
    flags_set_zf(cpu, equal);
    if (equal) {
        v[0] = (uint32_t)cpu->reg[CPU_EBX];
        v[1] = (uint32_t)cpu->reg[CPU_ECX];
        memcpy(p, v, 8);
    } else {
        cpu->reg[CPU_EAX] = v[0];
        cpu->reg[CPU_EDX] = v[1];
    }
    if (p == (void *)cpu->rmw.bytes)
        mmu_rmw_end(cpu);
    return OP_DONE;
}

static enum op_status exchange_add(struct cpu *cpu, const struct uop *u, unsigned size)
{
    struct rm rm;
    if (!rm_begin(cpu, u, size, &rm))
        return OP_FAULT;
    uint32_t v = reg_get(cpu, u->dst, size);
    flags_of_add(cpu, rm.value, v, size);
    /* The sum last: XADD r, r of one register keeps it. */
    reg_set(cpu, u->dst, size, rm.value);
    rm_end(cpu, u, size, &rm, rm.value + v);
    return OP_DONE;
}

enum op_status h_xadd_b(struct cpu *cpu, const struct uop *u)
{
    return exchange_add(cpu, u, 1);
}
enum op_status h_xadd_v(struct cpu *cpu, const struct uop *u)
{
    return exchange_add(cpu, u, op_size(u));
}

/* ---- conditional, 16-bit ------------------------------------------------------------------ */

enum op_status h_setcc_m(struct cpu *cpu, const struct uop *u)
{
    return rm_write(cpu, u, 1, flags_condition(cpu, u->src)) ? OP_DONE : OP_FAULT;
}

enum op_status h_cmov_w(struct cpu *cpu, const struct uop *u)
{
    uint32_t v;
    if (!rm_read(cpu, u, 2, &v))
        return OP_FAULT;
    if (flags_condition(cpu, u->src))
        reg_set(cpu, u->dst, 2, v);
    return OP_DONE;
}

/* Undefined by the manual; processors clear the register. */
enum op_status h_bswap_w(struct cpu *cpu, const struct uop *u)
{
    reg_set(cpu, u->dst, 2, 0);
    return OP_DONE;
}
