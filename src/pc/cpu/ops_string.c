/*
 * Strings and ports. An iteration of a repeated instruction counts as one instruction: the first is
 * paid for by the block, the others here, and when the budget or an event ends them in between, EIP
 * stays on the instruction with the registers as they then are (SDM 2B "REP").
 */
#include "pc/cpu/ops.h"

/* ---- ports (SDM 1 18.5) ------------------------------------------------------------------- */

static bool port_allowed(struct cpu *cpu, uint16_t port, unsigned size)
{
    if (!cpu_protected(cpu) || (cpu->cpl <= cpu_iopl(cpu) && !cpu_v86(cpu)))
        return true;
    const struct segment *tr = &cpu->seg[SEG_TR];
    uint16_t map, bits;
    bool wide = tr->attr >> DESC_TYPE_SHIFT & 8;
    if (!wide || tr->limit < 103)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!mmu_read(cpu, tr->base + 102, &map, 2, false))
        return false;
    uint32_t at = map + port / 8u;
    if (at + 1 > tr->limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!mmu_read(cpu, tr->base + at, &bits, 2, false))
        return false;
    if (bits >> (port & 7) & ((1u << size) - 1))
        return cpu_fault_code(cpu, VEC_GP, 0);
    return true;
}

static uint16_t port_of(const struct cpu *cpu, const struct uop *u)
{
    return (uint16_t)(u->src ? cpu->reg[CPU_EDX] : u->imm);
}

static enum op_status port_in(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint16_t port = port_of(cpu, u);
    if (!port_allowed(cpu, port, size))
        return OP_FAULT;
    debug_port(cpu, port, size);
    reg_set(cpu, CPU_EAX, size, cpu->bus.in(cpu->bus.opaque, port, size) & size_mask(size));
    return OP_DONE;
}

static enum op_status port_out(struct cpu *cpu, const struct uop *u, unsigned size)
{
    uint16_t port = port_of(cpu, u);
    if (!port_allowed(cpu, port, size))
        return OP_FAULT;
    debug_port(cpu, port, size);
    cpu->bus.out(cpu->bus.opaque, port, size, reg_get(cpu, CPU_EAX, size));
    return OP_DONE;
}

enum op_status h_in_b(struct cpu *cpu, const struct uop *u)
{
    return port_in(cpu, u, 1);
}
enum op_status h_in_v(struct cpu *cpu, const struct uop *u)
{
    return port_in(cpu, u, op_size(u));
}
enum op_status h_out_b(struct cpu *cpu, const struct uop *u)
{
    return port_out(cpu, u, 1);
}
enum op_status h_out_v(struct cpu *cpu, const struct uop *u)
{
    return port_out(cpu, u, op_size(u));
}

/* ---- one element -------------------------------------------------------------------------- */

struct string {
    unsigned size;    /* of an element */
    unsigned address; /* size of ESI, EDI and ECX */
    unsigned source;  /* segment of ESI */
    int32_t step;
};

static bool read_source(struct cpu *cpu, const struct string *s, uint32_t *value)
{
    linear_t lin;
    *value = 0;
    return seg_linear(cpu, s->source, reg_get(cpu, CPU_ESI, s->address), s->size, SEG_READ, &lin) &&
           mmu_read(cpu, lin, value, s->size, cpu_user(cpu));
}

static bool destination(struct cpu *cpu, const struct string *s, enum seg_access access,
                        linear_t *lin)
{
    return seg_linear(cpu, SEG_ES, reg_get(cpu, CPU_EDI, s->address), s->size, access, lin);
}

static bool write_destination(struct cpu *cpu, const struct string *s, uint32_t value)
{
    linear_t lin;
    return destination(cpu, s, SEG_WRITE, &lin) &&
           mmu_write(cpu, lin, &value, s->size, cpu_user(cpu));
}

static bool read_destination(struct cpu *cpu, const struct string *s, uint32_t *value)
{
    linear_t lin;
    *value = 0;
    return destination(cpu, s, SEG_READ, &lin) && mmu_read(cpu, lin, value, s->size, cpu_user(cpu));
}

static void advance(struct cpu *cpu, const struct string *s, enum cpu_reg reg, uint32_t count)
{
    uint32_t moved = reg_get(cpu, reg, s->address) + (uint32_t)s->step * count;
    reg_set(cpu, reg, s->address, moved);
}

typedef bool element(struct cpu *cpu, const struct string *s);

static bool one_movs(struct cpu *cpu, const struct string *s)
{
    uint32_t v;
    if (!read_source(cpu, s, &v) || !write_destination(cpu, s, v))
        return false;
    advance(cpu, s, CPU_ESI, 1);
    advance(cpu, s, CPU_EDI, 1);
    return true;
}

static bool one_stos(struct cpu *cpu, const struct string *s)
{
    if (!write_destination(cpu, s, reg_get(cpu, CPU_EAX, s->size)))
        return false;
    advance(cpu, s, CPU_EDI, 1);
    return true;
}

static bool one_lods(struct cpu *cpu, const struct string *s)
{
    uint32_t v;
    if (!read_source(cpu, s, &v))
        return false;
    reg_set(cpu, CPU_EAX, s->size, v);
    advance(cpu, s, CPU_ESI, 1);
    return true;
}

static bool one_cmps(struct cpu *cpu, const struct string *s)
{
    uint32_t a, b;
    if (!read_destination(cpu, s, &b) || !read_source(cpu, s, &a))
        return false;
    flags_of_sub(cpu, a, b, s->size);
    advance(cpu, s, CPU_ESI, 1);
    advance(cpu, s, CPU_EDI, 1);
    return true;
}

static bool one_scas(struct cpu *cpu, const struct string *s)
{
    uint32_t v;
    if (!read_destination(cpu, s, &v))
        return false;
    flags_of_sub(cpu, reg_get(cpu, CPU_EAX, s->size), v, s->size);
    advance(cpu, s, CPU_EDI, 1);
    return true;
}

/* The destination is checked before the port is read: reading it cannot be undone. */
static bool one_ins(struct cpu *cpu, const struct string *s)
{
    linear_t lin;
    uint16_t port = (uint16_t)cpu->reg[CPU_EDX];
    if (!port_allowed(cpu, port, s->size) || !destination(cpu, s, SEG_WRITE, &lin) ||
        !mmu_probe(cpu, lin, s->size, MMU_WRITE, cpu_user(cpu)))
        return false;
    debug_port(cpu, port, s->size);
    uint32_t v = cpu->bus.in(cpu->bus.opaque, port, s->size);
    mmu_write(cpu, lin, &v, s->size, cpu_user(cpu));
    advance(cpu, s, CPU_EDI, 1);
    return true;
}

static bool one_outs(struct cpu *cpu, const struct string *s)
{
    uint32_t v;
    uint16_t port = (uint16_t)cpu->reg[CPU_EDX];
    if (!port_allowed(cpu, port, s->size) || !read_source(cpu, s, &v))
        return false;
    debug_port(cpu, port, s->size);
    cpu->bus.out(cpu->bus.opaque, port, s->size, v);
    advance(cpu, s, CPU_ESI, 1);
    return true;
}

/* ---- runs of elements within a page ------------------------------------------------------- */

/* How many elements from `lin` on stay in its page. */
static uint32_t page_run(linear_t lin, const struct string *s)
{
    return (PAGE_BYTES - (lin & PAGE_MASK)) / s->size;
}

/* Plain RAM for a run upwards in a flat segment, or NULL. */
static uint8_t *plain(struct cpu *cpu, unsigned seg, uint32_t offset, uint32_t bytes,
                      enum seg_access access)
{
    const struct segment *s = &cpu->seg[seg];
    if (!seg_allows(cpu, s, offset, bytes, access))
        return NULL;
    linear_t lin = s->base + offset;
    const struct tlb_entry *e = &cpu->tlb[lin >> 12 & (TLB_ENTRIES - 1)];
    uint32_t tag = access == SEG_WRITE ? e->write : e->read;
    return tag == (lin & ~(uint32_t)PAGE_MASK) ? cpu->ram + (phys_t)(lin + e->add) : NULL;
}

/* The number of elements moved at once, 0 to go one by one. Upwards only; alignment checks are
 * left to the slow way. */
static uint32_t run_stos(struct cpu *cpu, const struct string *s, uint32_t most)
{
    uint32_t edi = reg_get(cpu, CPU_EDI, s->address), value = reg_get(cpu, CPU_EAX, s->size);
    uint32_t room = page_run(cpu->seg[SEG_ES].base + edi, s);
    uint32_t count = most < room ? most : room;
    uint8_t *to = count ? plain(cpu, SEG_ES, edi, count * s->size, SEG_WRITE) : NULL;
    if (!to)
        return 0;
    if (s->size == 1 || value == (value & 0xff) * (0x01010101u & size_mask(s->size)))
        memset(to, (int)(value & 0xff), count * s->size);
    else
        for (uint32_t i = 0; i < count; i++)
            memcpy(to + i * s->size, &value, s->size);
    advance(cpu, s, CPU_EDI, count);
    return count;
}

static uint32_t run_movs(struct cpu *cpu, const struct string *s, uint32_t most)
{
    uint32_t esi = reg_get(cpu, CPU_ESI, s->address), edi = reg_get(cpu, CPU_EDI, s->address);
    uint32_t from_room = page_run(cpu->seg[s->source].base + esi, s);
    uint32_t to_room = page_run(cpu->seg[SEG_ES].base + edi, s);
    uint32_t count = from_room < to_room ? from_room : to_room;
    count = most < count ? most : count;
    if (!count)
        return 0;
    uint32_t bytes = count * s->size;
    const uint8_t *from = plain(cpu, s->source, esi, bytes, SEG_READ);
    uint8_t *to = plain(cpu, SEG_ES, edi, bytes, SEG_WRITE);
    if (!from || !to)
        return 0;
    /* A destination just above its source repeats it, element by element. */
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        memmove(to, from, bytes);
    else
        for (uint32_t i = 0; i < bytes; i += s->size)
            memmove(to + i, from + i, s->size);
    advance(cpu, s, CPU_ESI, count);
    advance(cpu, s, CPU_EDI, count);
    return count;
}

typedef uint32_t element_run(struct cpu *cpu, const struct string *s, uint32_t most);

/* ---- repetition --------------------------------------------------------------------------- */

/* Whether the instruction has to pause between two iterations. */
static bool must_pause(const struct cpu *cpu)
{
    return cpu->left <= 0 || cpu->patched || (cpu->eflags & FLAG_TF) || cpu->debug_hits;
}

static bool can_run(const struct cpu *cpu, const struct string *s)
{
    return s->step > 0 && (cpu->key & KEY_FLAT) && s->address == 4 && !(cpu->eflags & FLAG_TF);
}

/* `until`: repetition also ends when ZF differs from the prefix's (SDM 2B "REP"). */
static enum op_status repeat(struct cpu *cpu, const struct uop *u, const struct string *s,
                             element *one, element_run *run, bool until)
{
    bool first = true;
    uint32_t count = reg_get(cpu, CPU_ECX, s->address);
    while (count) {
        if (!first) {
            if (must_pause(cpu))
                return OP_AGAIN;
            cpu->left--;
        }
        uint32_t done = 0;
        if (run && can_run(cpu, s)) {
            uint64_t most = (uint64_t)cpu->left + 1;
            done = run(cpu, s, count < most ? count : (uint32_t)most);
        }
        if (done)
            cpu->left -= done - 1;
        else if (one(cpu, s))
            done = 1;
        else
            return OP_FAULT;
        first = false;
        count -= done;
        reg_set(cpu, CPU_ECX, s->address, count);
        if (until && flag_zf(cpu) != (u->dst == 0xf3))
            break;
    }
    return OP_DONE;
}

static enum op_status string_op(struct cpu *cpu, const struct uop *u, unsigned size, element *one,
                                element_run *run, bool until)
{
    struct string s = {.size = size,
                       .address = u->scale_seg & UOP_A16 ? 2 : 4,
                       .source = op_segment(u),
                       .step = cpu->eflags & FLAG_DF ? -(int32_t)size : (int32_t)size};
    if (!u->dst)
        return one(cpu, &s) ? OP_DONE : OP_FAULT;
    /* The port's permission comes before the count, which may be zero. */
    bool port = one == one_ins || one == one_outs;
    if (port && !port_allowed(cpu, (uint16_t)cpu->reg[CPU_EDX], size))
        return OP_FAULT;
    return repeat(cpu, u, &s, one, run, until);
}

#define STRING_OPERATION(name, run, until)                                                         \
    enum op_status h_##name##_b(struct cpu *cpu, const struct uop *u)                              \
    {                                                                                              \
        return string_op(cpu, u, 1, one_##name, run, until);                                       \
    }                                                                                              \
    enum op_status h_##name##_v(struct cpu *cpu, const struct uop *u)                              \
    {                                                                                              \
        return string_op(cpu, u, op_size(u), one_##name, run, until);                              \
    }
STRING_OPERATION(movs, run_movs, false)
STRING_OPERATION(stos, run_stos, false)
STRING_OPERATION(lods, NULL, false)
STRING_OPERATION(cmps, NULL, true)
STRING_OPERATION(scas, NULL, true)
STRING_OPERATION(ins, NULL, false)
STRING_OPERATION(outs, NULL, false)
