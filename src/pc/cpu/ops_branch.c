/*
 * Branches out of line: near ones of code that is not flat, loops, far transfers with their
 * privilege checks, software interrupts and returns from them, and SYSENTER with SYSEXIT.
 */
#include "pc/cpu/ops.h"

/* ---- near --------------------------------------------------------------------------------- */

static enum op_status jump_to(struct cpu *cpu, uint32_t target)
{
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eip = target;
    return OP_JUMPED;
}

static enum op_status call_to(struct cpu *cpu, const struct uop *u, uint32_t target)
{
    uint32_t sp = stack_top(cpu);
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!stack_push(cpu, &sp, uop_next_eip(cpu, u), op_size(u)))
        return OP_FAULT;
    stack_commit(cpu, sp);
    cpu->eip = target;
    return OP_JUMPED;
}

static uint32_t relative_target(const struct cpu *cpu, const struct uop *u)
{
    return (cpu->eip + u->imm) & size_mask(op_size(u));
}

enum op_status branch_call_relative(struct cpu *cpu, const struct uop *u)
{
    return call_to(cpu, u, relative_target(cpu, u));
}

enum op_status h_call_near_rm(struct cpu *cpu, const struct uop *u)
{
    uint32_t target;
    return rm_read(cpu, u, op_size(u), &target) ? call_to(cpu, u, target) : OP_FAULT;
}

enum op_status h_jmp_near_rm(struct cpu *cpu, const struct uop *u)
{
    uint32_t target;
    return rm_read(cpu, u, op_size(u), &target) ? jump_to(cpu, target) : OP_FAULT;
}

enum op_status h_ret_near(struct cpu *cpu, const struct uop *u)
{
    uint32_t sp = stack_top(cpu), target;
    if (!stack_pop(cpu, &sp, &target, op_size(u)))
        return OP_FAULT;
    if (target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    stack_commit(cpu, sp + u->imm);
    cpu->eip = target;
    return OP_JUMPED;
}

/* CX or ECX, by the address size. */
static enum op_status loop(struct cpu *cpu, const struct uop *u, bool wanted)
{
    unsigned size = u->scale_seg & UOP_A16 ? 2 : 4;
    uint32_t count = (reg_get(cpu, CPU_ECX, size) - 1) & size_mask(size);
    bool taken = count != 0 && wanted;
    uint32_t target = taken ? relative_target(cpu, u) : uop_next_eip(cpu, u);
    if (taken && target > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    reg_set(cpu, CPU_ECX, size, count);
    cpu->eip = target;
    return OP_JUMPED;
}

enum op_status h_loop(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, true);
}
enum op_status h_loope(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, flag_zf(cpu));
}
enum op_status h_loopne(struct cpu *cpu, const struct uop *u)
{
    return loop(cpu, u, !flag_zf(cpu));
}
enum op_status h_jcxz(struct cpu *cpu, const struct uop *u)
{
    if (reg_get(cpu, CPU_ECX, u->scale_seg & UOP_A16 ? 2 : 4))
        return OP_DONE;
    return jump_to(cpu, relative_target(cpu, u));
}

/* ---- far: JMP and CALL (SDM 3A 5.8) ------------------------------------------------------- */

struct far_target {
    uint16_t selector;
    uint32_t offset;
};

static enum op_status far_real(struct cpu *cpu, struct far_target t)
{
    if (t.offset > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eip = t.offset;
    seg_set_cs_real(cpu, t.selector);
    return OP_JUMPED;
}

/* A code segment as target of a transfer that keeps CPL. */
static bool check_same_level(struct cpu *cpu, struct far_target t, struct descriptor *d,
                             struct segment *cs)
{
    uint16_t error = t.selector & 0xfffc;
    unsigned dpl = d->high >> DESC_DPL_SHIFT & 3, rpl = t.selector & 3;
    bool allowed = d->high & DESC_EC ? dpl <= cpu->cpl : rpl <= cpu->cpl && dpl == cpu->cpl;
    if (!(d->high & DESC_CODE) || !allowed)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!(d->high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    seg_unpack(cs, t.selector, d);
    if (t.offset > cs->limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    return seg_set_accessed(cpu, d);
}

/* Calls through gates and task switches have no place in a modern kernel and are not implemented.
 */
static enum op_status far_system(struct cpu *cpu, struct far_target t)
{
    cpu_log(cpu, CPU_LOG_ERROR, "far transfer through a gate or a TSS is not implemented");
    return op_fault_code(cpu, VEC_GP, t.selector & 0xfffc);
}

static enum op_status far_transfer(struct cpu *cpu, const struct uop *u, struct far_target t,
                                   bool call)
{
    bool is_real = !cpu_protected(cpu) || cpu_v86(cpu);
    unsigned size = op_size(u);
    struct descriptor d;
    struct segment cs;
    if (!is_real) {
        if (!(t.selector & 0xfffc))
            return op_fault_code(cpu, VEC_GP, 0);
        if (!seg_read_descriptor(cpu, t.selector, VEC_GP, &d))
            return OP_FAULT;
        if (!(d.high & DESC_S))
            return far_system(cpu, t);
        if (!check_same_level(cpu, t, &d, &cs))
            return OP_FAULT;
    }
    if (call) {
        uint32_t sp = stack_top(cpu);
        if (!stack_push(cpu, &sp, cpu->seg[SEG_CS].selector, size) ||
            !stack_push(cpu, &sp, uop_next_eip(cpu, u), size))
            return OP_FAULT;
        stack_commit(cpu, sp);
    }
    if (is_real)
        return far_real(cpu, t);
    cpu->eip = t.offset;
    seg_set_cs(cpu, &cs, cpu->cpl);
    return OP_JUMPED;
}

static bool read_far(struct cpu *cpu, const struct uop *u, struct far_target *t)
{
    unsigned size = op_size(u);
    uint8_t bytes[6];
    linear_t lin;
    if (!seg_operand(cpu, u, size + 2, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, size + 2, cpu_user(cpu)))
        return false;
    t->offset = 0;
    memcpy(&t->offset, bytes, size);
    memcpy(&t->selector, bytes + size, 2);
    return true;
}

enum op_status h_call_far(struct cpu *cpu, const struct uop *u)
{
    struct far_target t = {(uint16_t)u->disp, u->imm & size_mask(op_size(u))};
    return far_transfer(cpu, u, t, true);
}
enum op_status h_jmp_far(struct cpu *cpu, const struct uop *u)
{
    struct far_target t = {(uint16_t)u->disp, u->imm & size_mask(op_size(u))};
    return far_transfer(cpu, u, t, false);
}
enum op_status h_call_far_m(struct cpu *cpu, const struct uop *u)
{
    struct far_target t;
    return read_far(cpu, u, &t) ? far_transfer(cpu, u, t, true) : OP_FAULT;
}
enum op_status h_jmp_far_m(struct cpu *cpu, const struct uop *u)
{
    struct far_target t;
    return read_far(cpu, u, &t) ? far_transfer(cpu, u, t, false) : OP_FAULT;
}

/* ---- far returns -------------------------------------------------------------------------- */

/* Where a return goes: the code segment is checked, and for an outer level the stack too. */
struct far_return {
    struct segment cs, ss;
    uint32_t eip, esp;
    unsigned cpl;
    bool outer;
};

static bool check_return_cs(struct cpu *cpu, uint16_t selector, struct far_return *r)
{
    struct descriptor d;
    uint16_t error = selector & 0xfffc;
    if (!error)
        return cpu_fault_code(cpu, VEC_GP, 0);
    if (!seg_read_descriptor(cpu, selector, VEC_GP, &d))
        return false;
    unsigned dpl = d.high >> DESC_DPL_SHIFT & 3, rpl = selector & 3;
    bool code = (d.high & DESC_S) && (d.high & DESC_CODE);
    bool allowed = d.high & DESC_EC ? dpl <= rpl : dpl == rpl;
    if (!code || rpl < cpu->cpl || !allowed)
        return cpu_fault_code(cpu, VEC_GP, error);
    if (!(d.high & DESC_P))
        return cpu_fault_code(cpu, VEC_NP, error);
    seg_unpack(&r->cs, selector, &d);
    if (r->eip > r->cs.limit)
        return cpu_fault_code(cpu, VEC_GP, 0);
    r->cpl = rpl;
    r->outer = rpl > cpu->cpl;
    return seg_set_accessed(cpu, &d);
}

/* The outer stack, from `sp` on the present one. */
static bool check_return_stack(struct cpu *cpu, uint32_t sp, unsigned size, struct far_return *r)
{
    uint32_t words[2];
    struct descriptor d;
    if (!stack_peek(cpu, sp, words, 2, size))
        return false;
    r->esp = words[0];
    return seg_check_stack(cpu, (uint16_t)words[1], r->cpl, VEC_GP, &r->ss, &d) &&
           seg_set_accessed(cpu, &d);
}

static void commit_return(struct cpu *cpu, const struct far_return *r, uint32_t sp, uint32_t drop)
{
    cpu->eip = r->eip;
    if (!r->outer) {
        stack_commit(cpu, sp + drop);
        seg_set_cs(cpu, &r->cs, r->cpl);
        return;
    }
    cpu->seg[SEG_SS] = r->ss;
    uint32_t mask = r->ss.attr & DESC_DB ? 0xffffffff : 0xffff;
    uint32_t esp = r->esp + drop;
    cpu->reg[CPU_ESP] = ((uint32_t)cpu->reg[CPU_ESP] & ~mask) | (esp & mask);
    seg_set_cs(cpu, &r->cs, r->cpl);
    seg_drop_privileged(cpu);
}

enum op_status h_ret_far(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[2];
    if (!stack_peek(cpu, sp, words, 2, size))
        return OP_FAULT;
    sp += 2 * size;
    if (!cpu_protected(cpu) || cpu_v86(cpu)) {
        enum op_status status = far_real(cpu, (struct far_target){(uint16_t)words[1], words[0]});
        if (status == OP_JUMPED)
            stack_commit(cpu, sp + u->imm);
        return status;
    }
    struct far_return r = {.eip = words[0]};
    if (!check_return_cs(cpu, (uint16_t)words[1], &r) ||
        (r.outer && !check_return_stack(cpu, sp + u->imm, size, &r)))
        return OP_FAULT;
    commit_return(cpu, &r, sp, u->imm);
    return OP_JUMPED;
}

/* ---- interrupts --------------------------------------------------------------------------- */

static enum op_status software_interrupt(struct cpu *cpu, const struct uop *u, uint8_t vector,
                                         enum delivery how)
{
    uint32_t start = cpu->eip;
    cpu->eip = uop_next_eip(cpu, u);
    if (fault_enter(cpu, vector, how, false, 0))
        return OP_JUMPED;
    cpu->eip = start;
    return OP_FAULT;
}

enum op_status h_int3(struct cpu *cpu, const struct uop *u)
{
    return software_interrupt(cpu, u, VEC_BP, DELIVER_SOFTWARE);
}

/* INT1 is not subject to the gate's DPL (SDM 2A "INT n"). */
enum op_status h_int1(struct cpu *cpu, const struct uop *u)
{
    return software_interrupt(cpu, u, VEC_DB, DELIVER_EXTERNAL);
}

enum op_status h_int_n(struct cpu *cpu, const struct uop *u)
{
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    return software_interrupt(cpu, u, (uint8_t)u->imm, DELIVER_SOFTWARE);
}

enum op_status h_into(struct cpu *cpu, const struct uop *u)
{
    return flag_of(cpu) ? software_interrupt(cpu, u, VEC_OF, DELIVER_SOFTWARE) : OP_DONE;
}

enum op_status h_ud(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return op_fault(cpu, VEC_UD);
}
enum op_status h_too_long(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return op_fault_code(cpu, VEC_GP, 0);
}

/* ---- IRET (SDM 2A "IRET") ----------------------------------------------------------------- */

static uint32_t iret_mask(const struct cpu *cpu, unsigned size)
{
    uint32_t mask = FLAGS_STATUS | FLAG_TF | FLAG_DF | FLAG_NT;
    if (size == 4)
        mask |= FLAG_RF | FLAG_AC | FLAG_ID;
    if (cpu->cpl <= cpu_iopl(cpu))
        mask |= FLAG_IF;
    if (cpu->cpl == 0)
        mask |= FLAG_IOPL | (size == 4 ? FLAG_VIF | FLAG_VIP : 0);
    return mask;
}

static enum op_status iret_real(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[3];
    if (cpu_v86(cpu) && cpu_iopl(cpu) < 3)
        return op_fault_code(cpu, VEC_GP, 0);
    if (!stack_peek(cpu, sp, words, 3, size))
        return OP_FAULT;
    if (words[0] > cpu->seg[SEG_CS].limit)
        return op_fault_code(cpu, VEC_GP, 0);
    uint32_t mask = iret_mask(cpu, size);
    if (cpu_v86(cpu))
        mask &= ~(uint32_t)(FLAG_IOPL | FLAG_VIF | FLAG_VIP);
    stack_commit(cpu, sp + 3 * size);
    cpu->eip = words[0];
    seg_set_cs_real(cpu, (uint16_t)words[1]);
    cpu_set_eflags(cpu, words[2], mask);
    return OP_JUMPED;
}

/* To virtual-8086 mode: nine words, all segments as in real mode (SDM 3B 20.2.5). */
static enum op_status iret_to_v86(struct cpu *cpu, uint32_t sp, const uint32_t words[3])
{
    static const uint8_t order[] = {SEG_ES, SEG_DS, SEG_FS, SEG_GS};
    uint32_t rest[6];
    if (!stack_peek(cpu, sp + 12, rest, 6, 4))
        return OP_FAULT;
    if (words[0] > 0xffff)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu_set_eflags(cpu, words[2], iret_mask(cpu, 4) | FLAG_VM);
    cpu->cpl = 3;
    cpu->eip = words[0];
    cpu->reg[CPU_ESP] = rest[0];
    seg_set_cs_real(cpu, (uint16_t)words[1]);
    seg_load_real(cpu, SEG_SS, (uint16_t)rest[1]);
    for (unsigned i = 0; i < sizeof order; i++)
        seg_load_real(cpu, order[i], (uint16_t)rest[2 + i]);
    return OP_JUMPED;
}

enum op_status h_iret(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_size(u);
    uint32_t sp = stack_top(cpu), words[3];
    if (!cpu_protected(cpu) || cpu_v86(cpu)) {
        enum op_status status = iret_real(cpu, u);
        if (status == OP_JUMPED)
            cpu->nmi_blocked = false;
        return status;
    }
    if (cpu->eflags & FLAG_NT) {
        cpu_log(cpu, CPU_LOG_ERROR, "return to a task is not implemented");
        return op_fault_code(cpu, VEC_TS, cpu->seg[SEG_TR].selector & 0xfffc);
    }
    if (!stack_peek(cpu, sp, words, 3, size))
        return OP_FAULT;
    if (size == 4 && (words[2] & FLAG_VM) && cpu->cpl == 0) {
        enum op_status status = iret_to_v86(cpu, sp, words);
        if (status == OP_JUMPED)
            cpu->nmi_blocked = false;
        return status;
    }
    struct far_return r = {.eip = words[0]};
    if (!check_return_cs(cpu, (uint16_t)words[1], &r) ||
        (r.outer && !check_return_stack(cpu, sp + 3 * size, size, &r)))
        return OP_FAULT;
    cpu->nmi_blocked = false;
    uint32_t mask = iret_mask(cpu, size);
    commit_return(cpu, &r, sp + 3 * size, 0);
    cpu_set_eflags(cpu, words[2], mask);
    return OP_JUMPED;
}

/* ---- SYSENTER, SYSEXIT (SDM 3A 5.8.7) ----------------------------------------------------- */

static struct segment fast_segment(uint16_t selector, uint32_t type, unsigned dpl)
{
    return (struct segment){.selector = selector,
                            .limit = 0xffffffff,
                            .attr = DESC_P | DESC_S | DESC_RW | DESC_ACCESSED | DESC_DB | DESC_G |
                                    type | dpl << DESC_DPL_SHIFT};
}

static void enter_fast(struct cpu *cpu, uint16_t cs, unsigned cpl)
{
    struct segment code = fast_segment(cs, DESC_CODE, cpl);
    cpu->seg[SEG_SS] = fast_segment((uint16_t)((cs + 8) | cpl), 0, cpl);
    seg_set_cs(cpu, &code, cpl);
}

enum op_status h_sysenter(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!cpu_protected(cpu) || !(cpu->sysenter_cs & 0xfffc))
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eflags &= ~(uint32_t)(FLAG_VM | FLAG_IF | FLAG_RF);
    cpu->eip = cpu->sysenter_eip;
    cpu->reg[CPU_ESP] = cpu->sysenter_esp;
    enter_fast(cpu, (uint16_t)(cpu->sysenter_cs & 0xfffc), 0);
    return OP_JUMPED;
}

enum op_status h_sysexit(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!cpu_protected(cpu) || !(cpu->sysenter_cs & 0xfffc) || cpu->cpl != 0)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->eip = (uint32_t)cpu->reg[CPU_EDX];
    cpu->reg[CPU_ESP] = (uint32_t)cpu->reg[CPU_ECX];
    enter_fast(cpu, (uint16_t)((cpu->sysenter_cs & 0xfffc) + 16), 3);
    return OP_JUMPED;
}
