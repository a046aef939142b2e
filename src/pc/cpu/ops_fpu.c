/*
 * The glue between decoded x87, MMX and SSE instructions and the floating point (fpu.h): whether
 * they may run at all (SDM 3A table 2-2), their operands in memory, and their exceptions.
 */
#include "pc/cpu/ops.h"

/* ---- x87 ---------------------------------------------------------------------------------- */

/* #NM for the lazy switching of contexts, then #MF for an exception still waiting. */
static bool x87_ready(struct cpu *cpu, const struct uop *u)
{
    bool waits = u->imm >> 24 & 1;
    if (cpu->cr0 & (CR0_EM | CR0_TS))
        return cpu_fault(cpu, VEC_NM);
    if (waits && x87_pending(&cpu->fpu))
        return cpu_fault(cpu, VEC_MF);
    return true;
}

static void x87_note_instruction(struct cpu *cpu, const struct uop *u)
{
    bool control = u->imm >> 25 & 1;
    if (control)
        return;
    x87_note(&cpu->fpu, (uint8_t)u->imm, (uint8_t)(u->imm >> 8), cpu->seg[SEG_CS].selector,
             uop_eip(cpu, u));
    if (!op_is_register(u))
        x87_note_operand(&cpu->fpu, cpu->seg[op_segment(u)].selector, seg_offset(cpu, u));
}

static enum x87_layout x87_layout_now(const struct cpu *cpu, const struct uop *u)
{
    bool real = !cpu_protected(cpu) || cpu_v86(cpu);
    bool wide = op_size(u) == 4;
    return real ? (wide ? X87_REAL_32 : X87_REAL_16) : (wide ? X87_PROTECTED_32 : X87_PROTECTED_16);
}

enum op_status h_x87_load(struct cpu *cpu, const struct uop *u)
{
    uint8_t bytes[108];
    unsigned size = u->imm >> 16 & 0xff;
    linear_t lin;
    if (!x87_ready(cpu, u) || !seg_operand(cpu, u, size, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, size, cpu_user(cpu)))
        return OP_FAULT;
    x87_note_instruction(cpu, u);
    x87_load(&cpu->fpu, (uint8_t)u->imm, u->imm >> 11 & 7, bytes, x87_layout_now(cpu, u));
    return OP_DONE;
}

enum op_status h_x87_store(struct cpu *cpu, const struct uop *u)
{
    uint8_t bytes[108];
    unsigned size = u->imm >> 16 & 0xff;
    linear_t lin;
    if (!x87_ready(cpu, u) || !seg_operand(cpu, u, size, SEG_WRITE, &lin) ||
        !mmu_probe(cpu, lin, size, MMU_WRITE, cpu_user(cpu)))
        return OP_FAULT;
    x87_note_instruction(cpu, u);
    struct x87_stored stored =
        x87_store(&cpu->fpu, (uint8_t)u->imm, u->imm >> 11 & 7, bytes, x87_layout_now(cpu, u));
    if (stored.write)
        mmu_write(cpu, lin, bytes, size, cpu_user(cpu));
    x87_store_commit(&cpu->fpu, stored);
    return OP_DONE;
}

enum op_status h_x87_register(struct cpu *cpu, const struct uop *u)
{
    if (!x87_ready(cpu, u))
        return OP_FAULT;
    x87_note_instruction(cpu, u);
    if (u->dst == X87_TO_AX) {
        reg_set(cpu, CPU_EAX, 2, cpu->fpu.status);
        return OP_DONE;
    }
    bool uses_flags = u->dst == X87_TO_FLAGS || u->dst == X87_FROM_FLAGS;
    uint32_t flags = uses_flags ? cpu_eflags(cpu) : 0;
    flags = x87_register(&cpu->fpu, (uint8_t)u->imm, (uint8_t)(u->imm >> 8), flags);
    if (u->dst == X87_TO_FLAGS)
        flags_set_status(cpu, flags);
    return OP_DONE;
}

/* FWAIT heeds TS only together with MP. */
enum op_status h_fwait(struct cpu *cpu, const struct uop *u)
{
    (void)u;
    if ((cpu->cr0 & (CR0_MP | CR0_TS)) == (CR0_MP | CR0_TS))
        return op_fault(cpu, VEC_NM);
    return x87_pending(&cpu->fpu) ? op_fault(cpu, VEC_MF) : OP_DONE;
}

/* ---- FXSAVE's group ----------------------------------------------------------------------- */

static bool fx_operand(struct cpu *cpu, const struct uop *u, enum seg_access access, linear_t *lin)
{
    if (cpu->cr0 & (CR0_EM | CR0_TS))
        return cpu_fault(cpu, VEC_NM);
    if (!seg_operand(cpu, u, FPU_FXSAVE_BYTES, access, lin))
        return false;
    return !(*lin & 15) || cpu_fault_code(cpu, VEC_GP, 0);
}

enum op_status h_fxsave(struct cpu *cpu, const struct uop *u)
{
    uint8_t bytes[FPU_FXSAVE_BYTES];
    linear_t lin;
    if (!fx_operand(cpu, u, SEG_WRITE, &lin))
        return OP_FAULT;
    unsigned count = fpu_fxsave(&cpu->fpu, bytes, false, cpu->cr4 & CR4_OSFXSR);
    return mmu_write(cpu, lin, bytes, count, cpu_user(cpu)) ? OP_DONE : OP_FAULT;
}

enum op_status h_fxrstor(struct cpu *cpu, const struct uop *u)
{
    uint8_t bytes[FPU_FXSAVE_BYTES];
    linear_t lin;
    if (!fx_operand(cpu, u, SEG_READ, &lin) ||
        !mmu_read(cpu, lin, bytes, sizeof bytes, cpu_user(cpu)))
        return OP_FAULT;
    if (!fpu_fxrstor(&cpu->fpu, bytes, false, cpu->cr4 & CR4_OSFXSR))
        return op_fault_code(cpu, VEC_GP, 0);
    return OP_DONE;
}

static bool sse_ready(struct cpu *cpu)
{
    if ((cpu->cr0 & CR0_EM) || !(cpu->cr4 & CR4_OSFXSR))
        return cpu_fault(cpu, VEC_UD);
    return !(cpu->cr0 & CR0_TS) || cpu_fault(cpu, VEC_NM);
}

enum op_status h_ldmxcsr(struct cpu *cpu, const struct uop *u)
{
    uint32_t value;
    if (!sse_ready(cpu) || !rm_read(cpu, u, 4, &value))
        return OP_FAULT;
    return fpu_ldmxcsr(&cpu->fpu, value) ? OP_DONE : op_fault_code(cpu, VEC_GP, 0);
}

enum op_status h_stmxcsr(struct cpu *cpu, const struct uop *u)
{
    return sse_ready(cpu) && rm_write(cpu, u, 4, cpu->fpu.mxcsr) ? OP_DONE : OP_FAULT;
}

/* ---- MMX and SSE -------------------------------------------------------------------------- */

static bool is_mmx(uint8_t shape)
{
    return shape == SIMD_P || shape == SIMD_Q || shape == SIMD_N;
}

static bool is_xmm(uint8_t shape)
{
    return shape == SIMD_V || shape == SIMD_W || shape == SIMD_U;
}

/* CVTPI2PS and CVTPI2PD from memory leave the x87 state alone. */
static bool touches_mmx(const struct simd_form *form, const struct uop *u)
{
    if (is_mmx(form->dst) || form->op == NULL)
        return true;
    return is_mmx(form->src) && !(form->src == SIMD_Q && !op_is_register(u) && is_xmm(form->dst));
}

static bool simd_ready(struct cpu *cpu, const struct simd_form *form, bool mmx)
{
    bool xmm = is_xmm(form->dst) || is_xmm(form->src);
    if ((cpu->cr0 & CR0_EM) || (xmm && !(cpu->cr4 & CR4_OSFXSR)))
        return cpu_fault(cpu, VEC_UD);
    if (cpu->cr0 & CR0_TS)
        return cpu_fault(cpu, VEC_NM);
    bool emms = form->dst == SIMD_0 && form->src == SIMD_0;
    if ((mmx || emms) && x87_pending(&cpu->fpu))
        return cpu_fault(cpu, VEC_MF);
    return true;
}

static bool is_rm(uint8_t shape)
{
    return shape != SIMD_0 && shape != SIMD_V && shape != SIMD_P && shape != SIMD_G;
}

/* The register that a shape names; a general register is copied to `copy`. */
static union xmm *simd_register(struct cpu *cpu, const struct uop *u, uint8_t shape,
                                union xmm *copy)
{
    unsigned n = is_rm(shape) ? u->base : u->dst;
    if (is_xmm(shape))
        return &cpu->fpu.xmm[n];
    if (is_mmx(shape))
        return &cpu->fpu.st[n].mm;
    if (shape != SIMD_0)
        copy->u32[0] = (uint32_t)cpu->reg[n];
    return copy;
}

static bool simd_memory(struct cpu *cpu, const struct uop *u, const struct simd_form *form,
                        enum seg_access access, linear_t *lin)
{
    if (!seg_operand(cpu, u, form->bytes, access, lin))
        return false;
    return !form->aligned || !(*lin & 15) || cpu_fault_code(cpu, VEC_GP, 0);
}

/* After the operation: an exception, or what it leaves in flags and registers. */
static enum op_status simd_finish(struct cpu *cpu, const struct uop *u,
                                  const struct simd_form *form, const union xmm *dst)
{
    if (cpu->fpu.simd_fault) {
        cpu->fpu.simd_fault = false;
        return op_fault(cpu, cpu->cr4 & CR4_OSXMMEXCPT ? VEC_XM : VEC_UD);
    }
    if (form->opcode == 0x2e || form->opcode == 0x2f) /* (U)COMISS, (U)COMISD */
        flags_set_status(cpu, cpu->fpu.compare);
    if (form->dst == SIMD_G || form->dst == SIMD_E || form->dst == SIMD_R)
        cpu->reg[is_rm(form->dst) ? u->base : u->dst] = dst->u32[0];
    if (is_mmx(form->dst))
        mmx_wrote(&cpu->fpu, is_rm(form->dst) ? u->base : u->dst);
    return OP_DONE;
}

static enum op_status simd_to_memory(struct cpu *cpu, const struct uop *u,
                                     const struct simd_form *form)
{
    union xmm copy, result;
    linear_t lin;
    memset(&copy, 0, sizeof copy);
    memset(&result, 0, sizeof result);
    if (!simd_memory(cpu, u, form, SEG_WRITE, &lin) ||
        !mmu_probe(cpu, lin, form->bytes, MMU_WRITE, cpu_user(cpu)))
        return OP_FAULT;
    if (touches_mmx(form, u))
        mmx_enter(&cpu->fpu);
    form->op(&cpu->fpu, &result, simd_register(cpu, u, form->src, &copy), (uint8_t)(u->imm >> 16));
    mmu_write(cpu, lin, &result, form->bytes, cpu_user(cpu));
    return OP_DONE;
}

enum op_status h_simd(struct cpu *cpu, const struct uop *u)
{
    const struct simd_form *form = &simd_forms[u->imm & 0xffff];
    bool mmx = touches_mmx(form, u), memory = !op_is_register(u);
    if (!simd_ready(cpu, form, mmx))
        return OP_FAULT;
    if (memory && is_rm(form->dst))
        return simd_to_memory(cpu, u, form);
    union xmm from, to;
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    const union xmm *src;
    if (memory && is_rm(form->src)) {
        linear_t lin;
        if (!simd_memory(cpu, u, form, SEG_READ, &lin) ||
            !mmu_read(cpu, lin, &from, form->bytes, cpu_user(cpu)))
            return OP_FAULT;
        src = &from;
    } else {
        src = simd_register(cpu, u, form->src, &from);
    }
    if (mmx)
        mmx_enter(&cpu->fpu);
    union xmm *dst = simd_register(cpu, u, form->dst, &to);
    form->op(&cpu->fpu, dst, src, (uint8_t)(u->imm >> 16));
    return simd_finish(cpu, u, form, dst);
}

/* MASKMOVQ and MASKMOVDQU: the bytes whose mask has its top bit set, to [EDI]. */
enum op_status h_maskmov(struct cpu *cpu, const struct uop *u)
{
    bool wide = u->src;
    unsigned size = wide ? 16 : 8;
    uint8_t bytes[16];
    linear_t lin;
    if (wide ? !sse_ready(cpu) : false)
        return OP_FAULT;
    if (!wide && (cpu->cr0 & CR0_EM))
        return op_fault(cpu, VEC_UD);
    if (!wide && (cpu->cr0 & CR0_TS))
        return op_fault(cpu, VEC_NM);
    if (!wide && x87_pending(&cpu->fpu))
        return op_fault(cpu, VEC_MF);
    const union xmm *data = wide ? &cpu->fpu.xmm[u->dst] : &cpu->fpu.st[u->dst].mm;
    const union xmm *mask = wide ? &cpu->fpu.xmm[u->base] : &cpu->fpu.st[u->base].mm;
    uint32_t edi = reg_get(cpu, CPU_EDI, u->scale_seg & UOP_A16 ? 2 : 4);
    bool user = cpu_user(cpu);
    if (!seg_linear(cpu, op_segment(u), edi, size, SEG_WRITE, &lin) ||
        !mmu_probe(cpu, lin, size, MMU_WRITE, user) || !mmu_read(cpu, lin, bytes, size, user))
        return OP_FAULT;
    for (unsigned i = 0; i < size; i++)
        if (mask->u8[i] & 0x80)
            bytes[i] = data->u8[i];
    if (!wide)
        mmx_enter(&cpu->fpu);
    mmu_write(cpu, lin, bytes, size, user);
    return OP_DONE;
}
