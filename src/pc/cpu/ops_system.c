/*
 * Control, debug and model-specific registers, time stamps, and the other instructions of ring 0
 * (SDM 2A-2C, 3A 2.5, volume 4 for the MSRs). What is written is checked first; changes that a TLB
 * or the current mode depend on flush it and end the block.
 */
#include "pc/cpu/ops.h"

/* ---- control registers -------------------------------------------------------------------- */

static bool set_cr0(struct cpu *cpu, uint32_t value)
{
    enum { KNOWN = 0x3f };
    uint32_t mask = KNOWN | CR0_WP | CR0_AM | CR0_NW | CR0_CD | CR0_PG;
    uint32_t changed;
    value = (value & mask) | CR0_ET;
    if (((value & CR0_PG) && !(value & CR0_PE)) || ((value & CR0_NW) && !(value & CR0_CD)))
        return cpu_fault_code(cpu, VEC_GP, 0);
    changed = value ^ cpu->cr0;
    if ((changed & value & CR0_PG) && (cpu->cr4 & CR4_PAE) && !mmu_load_pdptes(cpu, cpu->cr3))
        return false;
    cpu->cr0 = value;
    if (changed & (CR0_PG | CR0_WP | CR0_PE))
        mmu_flush(cpu, true);
    cpu_mode_changed(cpu);
    return true;
}

static bool set_cr3(struct cpu *cpu, uint32_t value)
{
    bool pae = (cpu->cr0 & CR0_PG) && (cpu->cr4 & CR4_PAE);
    if (pae && !mmu_load_pdptes(cpu, value))
        return false;
    cpu->cr3 = value;
    mmu_flush(cpu, false);
    if (cpu->trace & CPU_TRACE_MMU)
        trace_paging(cpu, "cr3", value);
    return true;
}

static uint32_t cr4_allowed(const struct cpu *cpu)
{
    uint32_t all = CR4_TSD | CR4_DE | CR4_PSE | CR4_PAE | CR4_PGE | CR4_PCE;
    if (cpu->model >= CPU_MODEL_PENTIUM3)
        all |= CR4_OSFXSR | CR4_OSXMMEXCPT;
    return all;
}

static bool set_cr4(struct cpu *cpu, uint32_t value)
{
    if (value & ~cr4_allowed(cpu))
        return cpu_fault_code(cpu, VEC_GP, 0);
    uint32_t changed = value ^ cpu->cr4;
    bool loads =
        (cpu->cr0 & CR0_PG) && (value & CR4_PAE) && (changed & (CR4_PAE | CR4_PGE | CR4_PSE));
    if (loads && !mmu_load_pdptes(cpu, cpu->cr3))
        return false;
    cpu->cr4 = value;
    if (changed & (CR4_PSE | CR4_PAE | CR4_PGE))
        mmu_flush(cpu, true);
    return true;
}

enum op_status h_mov_from_cr(struct cpu *cpu, const struct uop *u)
{
    if (!check_ring0(cpu))
        return OP_FAULT;
    const uint32_t values[5] = {cpu->cr0, 0, cpu->cr2, cpu->cr3, cpu->cr4};
    cpu->reg[u->base] = values[u->src];
    return OP_DONE;
}

enum op_status h_mov_to_cr(struct cpu *cpu, const struct uop *u)
{
    uint32_t value = (uint32_t)cpu->reg[u->base];
    if (!check_ring0(cpu))
        return OP_FAULT;
    bool good = true;
    switch (u->src) {
    case 0:
        good = set_cr0(cpu, value);
        break;
    case 2:
        cpu->cr2 = value;
        break;
    case 3:
        good = set_cr3(cpu, value);
        break;
    default:
        good = set_cr4(cpu, value);
        break;
    }
    return good ? OP_LEAVE : OP_FAULT;
}

enum op_status h_smsw(struct cpu *cpu, const struct uop *u)
{
    unsigned size = op_is_register(u) ? op_size(u) : 2;
    return rm_write(cpu, u, size, cpu->cr0) ? OP_DONE : OP_FAULT;
}

/* PE, MP, EM and TS only; PE cannot be cleared. */
enum op_status h_lmsw(struct cpu *cpu, const struct uop *u)
{
    uint32_t value;
    if (!check_ring0(cpu) || !rm_read(cpu, u, 2, &value))
        return OP_FAULT;
    uint32_t mask = CR0_MP | CR0_EM | CR0_TS;
    uint32_t next = (cpu->cr0 & ~mask) | (value & mask) | (value & CR0_PE);
    return set_cr0(cpu, next) ? OP_LEAVE : OP_FAULT;
}

enum op_status h_clts(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!check_ring0(cpu))
        return OP_FAULT;
    cpu->cr0 &= ~(uint32_t)CR0_TS;
    return OP_DONE;
}

/* The segment's limit is not checked; only its base counts. */
enum op_status h_invlpg(struct cpu *cpu, const struct uop *u)
{
    if (!check_ring0(cpu))
        return OP_FAULT;
    mmu_flush_page(cpu, cpu->seg[op_segment(u)].base + seg_offset(cpu, u));
    return OP_LEAVE;
}

/* There are no caches to write back, but it stays an instruction of ring 0. */
enum op_status h_wbinvd(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    return check_ring0(cpu) ? OP_DONE : OP_FAULT;
}

/* A load as far as faults go (SDM 2A "CLFLUSH"). */
enum op_status h_clflush(struct cpu *cpu, const struct uop *u)
{
    linear_t lin;
    return seg_operand(cpu, u, 1, SEG_READ, &lin) && mmu_probe(cpu, lin, 1, MMU_READ, cpu_user(cpu))
               ? OP_DONE
               : OP_FAULT;
}

enum op_status h_hlt(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if (!check_ring0(cpu))
        return OP_FAULT;
    cpu->halted = true;
    return OP_LEAVE;
}

/* ---- debug registers (SDM 3B 17.2) -------------------------------------------------------- */

/* DR4 and DR5 are names of DR6 and DR7 unless CR4.DE is set; 8 is #UD. */
static unsigned debug_number(const struct cpu *cpu, unsigned n)
{
    if (n != 4 && n != 5)
        return n;
    return cpu->cr4 & CR4_DE ? 8 : n + 2;
}

static bool debug_register_allowed(struct cpu *cpu, unsigned n)
{
    if (n == 8)
        return cpu_fault(cpu, VEC_UD);
    if (!check_ring0(cpu))
        return false;
    if (cpu->dr[7] & DR7_GD) {
        cpu->dr[6] |= DR6_BD;
        cpu->dr[7] &= ~(uint32_t)DR7_GD;
        return cpu_fault(cpu, VEC_DB);
    }
    return true;
}

enum op_status h_mov_from_dr(struct cpu *cpu, const struct uop *u)
{
    unsigned n = debug_number(cpu, u->src);
    if (!debug_register_allowed(cpu, n))
        return OP_FAULT;
    cpu->reg[u->base] = cpu->dr[n];
    return OP_DONE;
}

enum op_status h_mov_to_dr(struct cpu *cpu, const struct uop *u)
{
    unsigned n = debug_number(cpu, u->src);
    uint32_t value = (uint32_t)cpu->reg[u->base];
    if (!debug_register_allowed(cpu, n))
        return OP_FAULT;
    if (n == 6)
        value = (value & 0xe00f) | 0xffff0ff0;
    if (n == 7)
        value = (value & 0xffff23ff) | DR7_ONES;
    cpu->dr[n] = value;
    debug_changed(cpu);
    return OP_LEAVE;
}

/* ---- model-specific registers ------------------------------------------------------------- */

enum {
    MSR_TSC = 0x10,
    MSR_PLATFORM_ID = 0x17,
    MSR_UPDATE = 0x79,
    MSR_UPDATE_REVISION = 0x8b,
    MSR_SYSENTER_CS = 0x174,
    MSR_SYSENTER_ESP = 0x175,
    MSR_SYSENTER_EIP = 0x176,
    MSR_MISC_ENABLE = 0x1a0,
};
#define MSR_EFER 0xc0000080u

static uint64_t read_tsc(struct cpu *cpu)
{
    return cpu->bus.tsc(cpu->bus.opaque) + cpu->tsc_offset;
}

static bool read_msr(struct cpu *cpu, uint32_t number, uint64_t *value)
{
    *value = 0;
    switch (number) {
    case MSR_TSC:
        *value = read_tsc(cpu);
        return true;
    case MSR_PLATFORM_ID:
    case MSR_UPDATE_REVISION:
        return true;
    case MSR_SYSENTER_CS:
        *value = cpu->sysenter_cs;
        return true;
    case MSR_SYSENTER_ESP:
        *value = cpu->sysenter_esp;
        return true;
    case MSR_SYSENTER_EIP:
        *value = cpu->sysenter_eip;
        return true;
    case MSR_MISC_ENABLE:
        *value = cpu->misc_enable;
        return cpu->model >= CPU_MODEL_PENTIUM_M;
    case MSR_EFER:
        *value = cpu->efer;
        return cpu->model >= CPU_MODEL_PENTIUM_M;
    default:
        return false;
    }
}

static bool write_efer(struct cpu *cpu, uint64_t value)
{
    if (cpu->model < CPU_MODEL_PENTIUM_M || (value & ~(uint64_t)EFER_NXE))
        return false;
    cpu->efer = value;
    mmu_flush(cpu, true);
    return true;
}

static bool write_msr(struct cpu *cpu, uint32_t number, uint64_t value)
{
    switch (number) {
    case MSR_TSC:
        cpu->tsc_offset = 0;
        cpu->tsc_offset = value - read_tsc(cpu);
        return true;
    case MSR_UPDATE:
    case MSR_UPDATE_REVISION:
        return true;
    case MSR_SYSENTER_CS:
        cpu->sysenter_cs = (uint32_t)value;
        return true;
    case MSR_SYSENTER_ESP:
        cpu->sysenter_esp = (uint32_t)value;
        return true;
    case MSR_SYSENTER_EIP:
        cpu->sysenter_eip = (uint32_t)value;
        return true;
    case MSR_MISC_ENABLE:
        cpu->misc_enable = value;
        return cpu->model >= CPU_MODEL_PENTIUM_M;
    case MSR_EFER:
        return write_efer(cpu, value);
    default:
        return false;
    }
}

/* Kernels probe for MSRs and expect the #GP, so an unknown one is no error. */
static enum op_status unknown_msr(struct cpu *cpu)
{
    cpu_log(cpu, CPU_LOG_INFO, "access to an MSR this model does not have");
    return op_fault_code(cpu, VEC_GP, 0);
}

enum op_status h_rdmsr(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    uint64_t value;
    if (!check_ring0(cpu))
        return OP_FAULT;
    if (!read_msr(cpu, (uint32_t)cpu->reg[CPU_ECX], &value))
        return unknown_msr(cpu);
    cpu->reg[CPU_EAX] = (uint32_t)value;
    cpu->reg[CPU_EDX] = (uint32_t)(value >> 32);
    return OP_DONE;
}

enum op_status h_wrmsr(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    uint64_t value = (uint32_t)cpu->reg[CPU_EAX] | cpu->reg[CPU_EDX] << 32;
    if (!check_ring0(cpu))
        return OP_FAULT;
    return write_msr(cpu, (uint32_t)cpu->reg[CPU_ECX], value) ? OP_LEAVE : unknown_msr(cpu);
}

enum op_status h_rdtsc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if ((cpu->cr4 & CR4_TSD) && cpu->cpl != 0)
        return op_fault_code(cpu, VEC_GP, 0);
    uint64_t tsc = read_tsc(cpu);
    cpu->reg[CPU_EAX] = (uint32_t)tsc;
    cpu->reg[CPU_EDX] = (uint32_t)(tsc >> 32);
    return OP_DONE;
}

/* The two counters of a P6 exist and never count. */
enum op_status h_rdpmc(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    bool allowed = cpu->cpl == 0 || (cpu->cr4 & CR4_PCE);
    if (!allowed || (uint32_t)cpu->reg[CPU_ECX] > 1)
        return op_fault_code(cpu, VEC_GP, 0);
    cpu->reg[CPU_EAX] = cpu->reg[CPU_EDX] = 0;
    return OP_DONE;
}

enum op_status h_cpuid(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    uint32_t out[4];
    cpuid_answer(cpu, (uint32_t)cpu->reg[CPU_EAX], out);
    cpu->reg[CPU_EAX] = out[0];
    cpu->reg[CPU_EBX] = out[1];
    cpu->reg[CPU_ECX] = out[2];
    cpu->reg[CPU_EDX] = out[3];
    return OP_DONE;
}
