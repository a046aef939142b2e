/*
 * The processor as a whole: making and resetting it, the loop that runs blocks between events, the
 * lines, and the report of its state.
 */
#include "pc/cpu/internal.h"

/* ---- making and resetting ----------------------------------------------------------------- */

size_t cpu_struct_bytes(void)
{
    return sizeof(struct cpu);
}

size_t cpu_cache_bytes(uint32_t ram_bytes)
{
    return blocks_bytes(ram_bytes);
}

int cpu_init(struct cpu *cpu, const struct cpu_bus *bus, enum cpu_model model, void *cache,
             size_t cache_bytes)
{
    memset(cpu, 0, sizeof *cpu);
    cpu->bus = *bus;
    cpu->ram = bus->ram;
    cpu->model = model;
    cpu->a20_mask = 0xffffffff;
    isa_index_build(&cpu->isa, model);
    if (!blocks_init(cpu, cache, cache_bytes))
        return -1;
    cpu_reset(cpu);
    return 0;
}

/* The segment that RESET leaves (SDM 3A table 9-1). */
static struct segment reset_segment(void)
{
    return (struct segment){.limit = 0xffff, .attr = DESC_P | DESC_S | DESC_RW | DESC_ACCESSED};
}

static void reset_tables(struct cpu *cpu)
{
    for (unsigned i = 0; i < SEG_COUNT; i++)
        cpu->seg[i] = reset_segment();
    cpu->seg[SEG_CS].selector = 0xf000;
    cpu->seg[SEG_CS].base = 0xffff0000;
    cpu->seg[SEG_LDT] = (struct segment){.limit = 0xffff, .attr = DESC_P | 2u << 8};
    cpu->seg[SEG_TR] = (struct segment){.limit = 0xffff, .attr = DESC_P | 11u << 8};
    cpu->gdt_base = cpu->idt_base = 0;
    cpu->gdt_limit = cpu->idt_limit = 0xffff;
}

void cpu_reset(struct cpu *cpu)
{
    memset(cpu->reg, 0, sizeof cpu->reg);
    cpu->reg[CPU_EDX] = cpuid_signature(cpu);
    cpu->eip = 0xfff0;
    cpu->eflags = 0;
    flags_set_status(cpu, 0);
    cpu->cpl = 0;
    cpu->cr0 = CR0_CD | CR0_NW | CR0_ET;
    cpu->cr2 = cpu->cr3 = cpu->cr4 = 0;
    cpu->efer = 0;
    memset(cpu->dr, 0, sizeof cpu->dr);
    cpu->dr[6] = 0xffff0ff0;
    cpu->dr[7] = 0x400;
    cpu->pat = 0x0007040600070406;
    cpu->misc_enable = 1; /* fast strings */
    cpu->tsc_offset = 0;
    cpu->sysenter_cs = cpu->sysenter_eip = cpu->sysenter_esp = 0;
    cpu->halted = cpu->begun = cpu->nmi_blocked = false;
    cpu->shadow = SHADOW_NONE;
    cpu->fault.pending = false;
    cpu->debug_hits = 0;
    cpu->watching = 0;
    cpu->events = 0;
    reset_tables(cpu);
    fpu_reset(&cpu->fpu);
    mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
    if (cpu->block) { /* reset from a bus function: the rest of the block is the old program's */
        cpu_kick(cpu);
        blocks_leave_after(cpu);
    }
}

void cpu_enter_flat32(struct cpu *cpu, uint32_t entry, uint32_t gdt, uint16_t gdt_limit)
{
    struct segment flat = {.limit = 0xffffffff,
                           .attr = DESC_P | DESC_S | DESC_RW | DESC_ACCESSED | DESC_DB | DESC_G};
    cpu_reset(cpu);
    cpu->cr0 = CR0_PE | CR0_ET;
    cpu->gdt_base = gdt;
    cpu->gdt_limit = gdt_limit;
    for (unsigned i = 0; i < SEG_COUNT; i++) {
        cpu->seg[i] = flat;
        cpu->seg[i].selector = i == SEG_CS ? 0x10 : 0x18;
    }
    cpu->seg[SEG_CS].attr |= DESC_CODE;
    cpu->eip = entry;
    cpu_mode_changed(cpu);
}

/* ---- mode --------------------------------------------------------------------------------- */

static bool is_flat(const struct segment *s, uint32_t want)
{
    uint32_t mask = DESC_P | DESC_S | DESC_CODE;
    return s->base == 0 && s->limit == 0xffffffff && (s->attr & mask) == want;
}

static bool is_flat_data(const struct segment *s)
{
    return is_flat(s, DESC_P | DESC_S) && (s->attr & DESC_RW) && !(s->attr & DESC_EC);
}

void cpu_mode_changed(struct cpu *cpu)
{
    const struct segment *cs = &cpu->seg[SEG_CS], *ss = &cpu->seg[SEG_SS];
    bool checks_alignment = (cpu->cr0 & CR0_AM) && (cpu->eflags & FLAG_AC) && cpu->cpl == 3;
    bool flat = cpu_protected(cpu) && !cpu_v86(cpu) && is_flat(cs, DESC_P | DESC_S | DESC_CODE) &&
                (cs->attr & DESC_DB) && is_flat_data(ss) && is_flat_data(&cpu->seg[SEG_DS]) &&
                is_flat_data(&cpu->seg[SEG_ES]) && !checks_alignment;
    cpu->key = (cs->attr & DESC_DB ? KEY_CODE32 : 0) | (ss->attr & DESC_DB ? KEY_STACK32 : 0) |
               (flat ? KEY_FLAT : 0) | (cpu_v86(cpu) ? KEY_V86 : 0);
    struct tlb_entry *tlb = cpu->tlbs[cpu_user(cpu)];
    if (tlb != cpu->tlb)
        cpu->code_page = TLB_NONE;
    cpu->tlb = tlb;
}

uint32_t cpu_eflags(const struct cpu *cpu)
{
    return cpu->eflags | flags_status(cpu) | 2;
}

void cpu_set_eflags(struct cpu *cpu, uint32_t value, uint32_t mask)
{
    uint32_t flags = (cpu_eflags(cpu) & ~mask) | (value & mask);
    flags_set_status(cpu, flags);
    cpu->eflags = flags & ~(uint32_t)(FLAGS_STATUS | 2);
    if (mask & (FLAG_AC | FLAG_VM))
        cpu_mode_changed(cpu);
}

/* ---- counting and lines ------------------------------------------------------------------- */

uint64_t cpu_insns(const struct cpu *cpu)
{
    int64_t left = cpu->left + cpu->held;
    if (cpu->block && cpu->uop)
        left += cpu->block->insns - (cpu->uop - cpu->block->uops);
    return cpu->insns_start + (cpu->in_run ? cpu->insns_budget - (uint64_t)left : 0);
}

void cpu_kick(struct cpu *cpu)
{
    if (cpu->left <= 0)
        return;
    cpu->held += cpu->left;
    cpu->left = 0;
}

/* Something changed that the loop has to look at before the next instruction. */
static void attend(struct cpu *cpu)
{
    if (!cpu->in_run)
        return;
    cpu_kick(cpu);
    blocks_leave_after(cpu);
}

void cpu_set_intr(struct cpu *cpu, bool level)
{
    cpu->intr = level;
    if (level && (cpu->eflags & FLAG_IF))
        attend(cpu);
}

void cpu_set_nmi(struct cpu *cpu, bool level)
{
    if (level && !cpu->nmi_line) {
        cpu->events |= EVENT_NMI;
        attend(cpu);
    }
    cpu->nmi_line = level;
}

void cpu_set_a20(struct cpu *cpu, bool enabled)
{
    uint32_t mask = enabled ? 0xffffffff : ~(1u << 20);
    if (mask == cpu->a20_mask)
        return;
    cpu->a20_mask = mask;
    mmu_flush(cpu, true);
    attend(cpu);
}

void cpu_request_exit(struct cpu *cpu)
{
    cpu->events |= EVENT_EXIT;
    attend(cpu);
}

void cpu_memory_written(struct cpu *cpu, uint32_t addr, uint32_t bytes)
{
    blocks_written(cpu, addr, bytes);
}

void cpu_memory_map_changed(struct cpu *cpu)
{
    mmu_flush(cpu, true);
    attend(cpu);
}

void cpu_log(struct cpu *cpu, int level, const char *text)
{
    if (cpu->bus.log)
        cpu->bus.log(cpu->bus.opaque, level, text);
}

void cpu_set_trace(struct cpu *cpu, unsigned what)
{
    cpu->trace = (uint8_t)what;
    attend(cpu);
}

/* ---- the loop ----------------------------------------------------------------------------- */

/* NMI before INTR (SDM 3A table 6-2). True when a handler was entered or a fault noted. */
static bool take_interrupt(struct cpu *cpu)
{
    if (cpu->shadow)
        return false;
    if ((cpu->events & EVENT_NMI) && !cpu->nmi_blocked) {
        cpu->events &= (uint8_t)~EVENT_NMI;
        cpu->halted = false;
        cpu->nmi_blocked = true;
        return fault_enter(cpu, VEC_NMI, DELIVER_EXTERNAL, cpu->begun, false, 0), true;
    }
    if (!cpu->intr || !(cpu->eflags & FLAG_IF))
        return false;
    cpu->halted = false;
    int vector = cpu->bus.acknowledge(cpu->bus.opaque);
    if (vector < 0)
        return false;
    if (cpu->trace & CPU_TRACE_INSNS)
        trace_event(cpu, "interrupt", (unsigned)vector, NULL);
    fault_enter(cpu, (uint8_t)vector, DELIVER_EXTERNAL, cpu->begun, false, 0);
    return true;
}

void cpu_note_branch(struct cpu *cpu, uint32_t from, uint32_t to)
{
    cpu->branches[cpu->branch_count++ % BRANCH_LOG] = (struct branch_entry){from, to};
}

/* Runs from EIP: blocks as they chain, or exactly one instruction. */
static void run_blocks(struct cpu *cpu, bool single)
{
    cpu->begun = false;
    struct block *b = blocks_find(cpu, cpu->key | (single ? KEY_SINGLE : 0));
    struct block **link = cpu->link_from;
    cpu->link_from = NULL;
    if (!b)
        return;
    if (!single && b->insns > cpu->left) {
        single = true;
        b = blocks_find(cpu, cpu->key | KEY_SINGLE);
        if (!b)
            return;
    }
    if (single) { /* the block after it will find no budget */
        cpu->held += cpu->left - 1;
        cpu->left = 1;
    } else if (link && b->key == cpu->key) {
        *link = b;
    }
    cpu_note_branch(cpu, cpu->eip, b->phys);
    interp_run(cpu, b);
}

/* One instruction under a trap flag, a shadow or a breakpoint register, or traced. */
static void run_single(struct cpu *cpu)
{
    bool trap = cpu->eflags & FLAG_TF, resume = cpu->eflags & FLAG_RF;
    cpu->shadow = SHADOW_NONE;
    cpu->eflags &= ~(uint32_t)FLAG_RF;
    cpu->entered = false;
    if (unlikely(cpu->trace & CPU_TRACE_INSNS))
        trace_instruction(cpu);
    int64_t before = cpu->left + cpu->held;
    run_blocks(cpu, true);
    bool completed = cpu->left + cpu->held != before;
    if (cpu->begun && resume)
        cpu->eflags |= FLAG_RF;
    /* An interrupt by instruction has cleared TF and is not stepped (SDM 3B 17.3.1.4). */
    if (trap && completed && !cpu->entered && !cpu->fault.pending)
        cpu->debug_hits |= DR6_BS;
}

static bool runs_singly(const struct cpu *cpu)
{
    return cpu->shadow || (cpu->eflags & (FLAG_TF | FLAG_RF)) || (cpu->dr[7] & DR7_ARMED) ||
           (cpu->trace & CPU_TRACE_INSNS);
}

/* Exceptions come before all else; traps wait until a shadow is over. */
static void deliver_exceptions(struct cpu *cpu)
{
    if (!cpu->fault.pending && cpu->shadow != SHADOW_STACK)
        debug_report(cpu);
    if (cpu->fault.pending)
        fault_deliver(cpu);
}

static enum cpu_stop run(struct cpu *cpu)
{
    for (;;) {
        cpu->left += cpu->held;
        cpu->held = 0;
        if (unlikely(cpu->fault.pending || cpu->debug_hits))
            deliver_exceptions(cpu);
        if (unlikely(cpu->events & EVENT_SHUTDOWN))
            return CPU_STOP_SHUTDOWN;
        if (unlikely(cpu->events & EVENT_EXIT)) {
            cpu->events &= (uint8_t)~EVENT_EXIT;
            return CPU_STOP_REQUESTED;
        }
        if (cpu->left <= 0)
            return CPU_STOP_BUDGET;
        if ((cpu->intr || (cpu->events & EVENT_NMI)) && take_interrupt(cpu))
            continue;
        if (cpu->halted)
            return cpu->eflags & FLAG_IF ? CPU_STOP_HALTED : CPU_STOP_HALTED_IF;
        if (likely(!runs_singly(cpu)))
            run_blocks(cpu, false);
        else if (!debug_breaks_here(cpu))
            run_single(cpu);
    }
}

enum cpu_stop cpu_run(struct cpu *cpu, uint64_t insns)
{
    uint64_t most = (uint64_t)INT64_MAX / 2;
    cpu->insns_budget = insns < most ? insns : most;
    cpu->left = (int64_t)cpu->insns_budget;
    cpu->held = 0;
    cpu->in_run = true;
    cpu->link_from = NULL;
    enum cpu_stop stop = run(cpu);
    cpu->insns_start += cpu->insns_budget - (uint64_t)(cpu->left + cpu->held);
    cpu->in_run = false;
    cpu->left = cpu->held = 0;
    cpu->uop = NULL;
    return stop;
}

/* ---- registers from outside --------------------------------------------------------------- */

uint32_t cpu_get_reg(const struct cpu *cpu, enum cpu_reg reg)
{
    return (uint32_t)cpu->reg[reg];
}

void cpu_set_reg(struct cpu *cpu, enum cpu_reg reg, uint32_t value)
{
    cpu->reg[reg] = value;
}

uint32_t cpu_get_eip(const struct cpu *cpu)
{
    return cpu->eip;
}

uint32_t cpu_get_eflags(const struct cpu *cpu)
{
    return cpu_eflags(cpu);
}
