/* simd_case.c: random states for SIMD instructions, run on both sides and compared. What a
 * processor does around an operation (operands, stores, MMX state) is done here as fpu.h says. */
#include "simd_case.h"

#include <stdio.h>
#include <string.h>

enum { STATUS = 2, TAGS = 4, MXCSR = 24, REGISTERS = 32, XMM = 160 };
enum { REG = 1, RM = 2 };

static bool may_be_memory(uint8_t shape)
{
    return shape == SIMD_W || shape == SIMD_Q || shape == SIMD_E || shape == SIMD_M;
}

static bool is_mmx(uint8_t shape)
{
    return shape == SIMD_P || shape == SIMD_Q || shape == SIMD_N;
}

static bool is_general(uint8_t shape)
{
    return shape == SIMD_G || shape == SIMD_E || shape == SIMD_R;
}

/* In ModRM.rm rather than in ModRM.reg. */
static bool is_rm(uint8_t shape)
{
    return may_be_memory(shape) || shape == SIMD_U || shape == SIMD_N || shape == SIMD_R;
}

bool simd_case_has_registers(const struct simd_form *form)
{
    return form->dst != SIMD_M && form->src != SIMD_M;
}

bool simd_case_has_memory(const struct simd_form *form)
{
    return may_be_memory(form->dst) || may_be_memory(form->src);
}

unsigned simd_case_encode(const struct simd_case *c, uint8_t bytes[16])
{
    static const uint8_t prefixes[] = {[SIMD_66] = 0x66, [SIMD_F3] = 0xf3, [SIMD_F2] = 0xf2};
    const struct simd_form *form = c->form;
    uint8_t rm_shape = is_rm(form->dst) ? form->dst : form->src;
    uint8_t reg_shape = is_rm(form->dst) ? form->src : form->dst;
    unsigned reg = form->reg >= 0 ? (unsigned)form->reg : is_general(reg_shape) ? 0 : REG;
    unsigned rm = is_general(rm_shape) ? 0 : RM;
    unsigned n = 0;

    if (form->prefix != SIMD_NP)
        bytes[n++] = prefixes[form->prefix];
    bytes[n++] = 0x0f;
    bytes[n++] = form->opcode;
    if (form->dst != SIMD_0)
        bytes[n++] = (uint8_t)(c->in_memory ? reg << 3 | 6 : 0xc0 | reg << 3 | rm);
    if (form->imm)
        bytes[n++] = c->imm;
    return n;
}

/* ---- states ------------------------------------------------------------------------------- */

/* Lanes that suit the operation: half of them floats or doubles, the rest bits. */
static void fill(struct values *v, union xmm *x, bool singles)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t bits = values_bits(v);
        switch (values_below(v, 4)) {
        case 0:
            x->u64[i] = bits;
            break;
        case 1:
            x->u64[i] = values_integer(v, 32) | values_integer(v, 32) << 32;
            break;
        default:
            x->u64[i] = singles ? values_f32(v) | (uint64_t)values_f32(v) << 32 : values_f64(v);
            break;
        }
    }
}

static void fill_pair(struct values *v, union xmm *a, union xmm *b, bool singles)
{
    for (unsigned i = 0; i < 4; i++)
        if (singles)
            values_pair_f32(v, &a->u32[i], &b->u32[i]);
        else if (i < 2)
            values_pair_f64(v, &a->u64[i], &b->u64[i]);
}

/* The second operand often lies near the first. */
static void fill_near(struct values *v, union xmm *x, const union xmm *other, bool singles)
{
    fill(v, x, singles);
    for (unsigned i = 0; i < 4; i++)
        if (values_below(v, 4) == 0) {
            if (singles)
                x->u32[i] = (other->u32[i] + values_below(v, 3) - 1) ^
                            (uint32_t)(values_bits(v) & 0x80000000);
            else
                x->u64[i / 2] = (other->u64[i / 2] + values_below(v, 3) - 1) ^
                                (values_bits(v) & (uint64_t)1 << 63);
        }
}

static uint32_t some_mxcsr(struct values *v)
{
    uint64_t r = values_bits(v);

    switch (r & 7) {
    case 0:
        return r & 8 ? 0x1fa0 : 0x1f80;
    case 1:
    case 2:
        return 0x1f80 | (uint32_t)(r >> 8 & 0xe07f);
    case 3:
    case 4:
        return (uint32_t)(r >> 8 & 0xffff);
    default:
        return 0x1f80 | (uint32_t)(r >> 8 & 0xe03f);
    }
}

void simd_case_make(struct simd_case *c, struct values *v)
{
    struct fpu *fpu = &c->before;
    bool singles = values_bits(v) & 1;
    union xmm operand;

    fpu_reset(fpu);
    fpu->control = 0x037f;
    fpu->status = (uint16_t)(values_bits(v) & 0x7f7f);
    fpu->used = (uint8_t)values_bits(v);
    fpu->mxcsr = some_mxcsr(v);
    for (unsigned i = 0; i < 8; i++) {
        fpu->st[i].f = values_f80(v);
        fill(v, &operand, singles);
        fpu->st[i].f.mantissa = operand.u64[0];
        if (values_below(v, 4) == 0)
            fpu->st[i].f.mantissa = values_below(v, 80); /* a shift count */
    }
    for (unsigned i = 0; i < 16; i++)
        fill(v, &fpu->xmm[i], singles);
    fill_near(v, &fpu->xmm[RM], &fpu->xmm[REG], singles);
    if (values_below(v, 8) == 0)
        fpu->xmm[RM].u64[0] = values_below(v, 80);
    for (unsigned i = 0; i < sizeof(c->memory); i += 16) {
        fill_near(v, &operand, &fpu->xmm[REG], singles);
        memcpy(c->memory + i, &operand, 16);
    }
    if (values_below(v, 8) == 0) {
        fill_pair(v, &fpu->xmm[REG], &fpu->xmm[RM], singles);
        memcpy(c->memory, &fpu->xmm[RM], 16);
    }
    c->eflags = (uint32_t)(values_bits(v) & SIMD_CASE_EFLAGS) | 0x202;
    c->rax = values_integer(v, 64);
}

/* ---- ours --------------------------------------------------------------------------------- */

static union xmm read_operand(const struct simd_case *c, uint8_t shape)
{
    unsigned n = is_rm(shape) ? RM : REG;
    union xmm v = {.u64 = {0, 0}};

    if (c->in_memory && may_be_memory(shape))
        memcpy(&v, c->memory, c->form->bytes);
    else if (is_general(shape))
        v.u64[0] = (uint32_t)c->rax;
    else if (is_mmx(shape))
        v.u64[0] = c->fpu.st[n].f.mantissa;
    else
        v = c->fpu.xmm[n];
    return v;
}

static void write_operand(struct simd_case *c, uint8_t shape, const union xmm *v)
{
    unsigned n = is_rm(shape) ? RM : REG;

    if (c->in_memory && may_be_memory(shape)) {
        memcpy(c->memory, v, c->form->bytes);
    } else if (is_general(shape)) {
        c->rax = v->u32[0];
    } else if (is_mmx(shape)) {
        c->fpu.st[n].f.mantissa = v->u64[0];
        mmx_wrote(&c->fpu, n);
    } else {
        c->fpu.xmm[n] = *v;
    }
}

static bool enters_mmx(const struct simd_case *c)
{
    const struct simd_form *form = c->form;

    if (is_mmx(form->dst) || (is_mmx(form->src) && !(form->src == SIMD_Q && c->in_memory)))
        return true;
    return form->src == SIMD_Q && c->in_memory && form->dst == SIMD_P;
}

static bool sets_flags(const struct simd_form *form)
{
    return form->opcode == 0x2e || form->opcode == 0x2f;
}

void simd_case_run_here(struct simd_case *c)
{
    const struct simd_form *form = c->form;
    bool mmx = enters_mmx(c);

    c->fpu = c->before;
    c->fault = false;

    /* Before anything, and for good: also when the conversion then raises #XM. */
    if (mmx)
        mmx_enter(&c->fpu);
    if (form->dst == SIMD_0) {
        form->op(&c->fpu, NULL, NULL, 0);
        return;
    }
    union xmm dst = read_operand(c, form->dst), src = read_operand(c, form->src);
    form->op(&c->fpu, &dst, &src, c->imm);
    c->fault = c->fpu.simd_fault;
    c->fpu.simd_fault = false;
    if (c->fault)
        return;
    if (sets_flags(form))
        c->eflags = (c->eflags & ~(uint32_t)SIMD_CASE_EFLAGS) | c->fpu.compare;
    else
        write_operand(c, form->dst, &dst);
}

/* ---- comparison --------------------------------------------------------------------------- */

const char *simd_case_difference(struct simd_case *c)
{
    uint8_t image[512];

    fpu_fxsave(&c->fpu, image, true, true);
    if (c->native.trapped != c->fault || c->native.undefined)
        return "trap";
    if (memcmp(image + MXCSR, c->native.after + MXCSR, 4) != 0)
        return "mxcsr";
    if (memcmp(image + XMM, c->native.after + XMM, 256) != 0)
        return "xmm";
    if (memcmp(image + STATUS, c->native.after + STATUS, 2) != 0)
        return "status";
    if (image[TAGS] != c->native.after[TAGS])
        return "tags";
    if (memcmp(image + REGISTERS, c->native.after + REGISTERS, 128) != 0)
        return "registers";
    if (memcmp(c->memory, c->native.memory, sizeof(c->memory)) != 0)
        return "memory";
    if ((c->eflags ^ c->native.eflags) & SIMD_CASE_EFLAGS)
        return "eflags";
    if (c->rax != c->native.rax)
        return "rax";
    return NULL;
}

static void print_image(const char *title, const uint8_t *image)
{
    uint32_t mxcsr;

    memcpy(&mxcsr, image + MXCSR, 4);
    printf("#   %s: mxcsr %04x status %02x%02x used %02x\n", title, mxcsr, image[3], image[2],
           image[4]);
    for (unsigned i = 1; i <= 2; i++) {
        union xmm v;
        memcpy(&v, image + XMM + 16 * i, 16);
        printf("#     xmm%u %016llx %016llx", i, (unsigned long long)v.u64[1],
               (unsigned long long)v.u64[0]);
        memcpy(&v, image + REGISTERS + 16 * i, 16);
        printf("  st%u %04x %016llx\n", i, v.u16[4], (unsigned long long)v.u64[0]);
    }
}

void simd_case_print(struct simd_case *c, const char *why)
{
    uint8_t image[512];
    union xmm v;

    printf("# %s (%u 0f %02x, imm %02x, %s) differs in %s\n", c->form->name, c->form->prefix,
           c->form->opcode, c->imm, c->in_memory ? "memory" : "registers", why);
    print_image("before", c->native.before);
    print_image("processor", c->native.after);
    fpu_fxsave(&c->fpu, image, true, true);
    print_image("ours", image);
    memcpy(&v, c->memory, 16);
    printf("#   memory %016llx %016llx trap %d, ours %d, rax %llx, ours %llx eflags %x %x\n",
           (unsigned long long)v.u64[1], (unsigned long long)v.u64[0], c->native.trapped, c->fault,
           (unsigned long long)c->native.rax, (unsigned long long)c->rax,
           (unsigned)c->native.eflags, c->eflags);
}
