/* x87_case.c: random states for x87 instructions, run on both sides and compared. */
#include "x87_case.h"

#include <stdio.h>
#include <string.h>

#include "pc/cpu/real.h"

enum { CONTROL = 0, STATUS = 2, TAGS = 4, REGISTERS = 32, XMM = 160, MXCSR = 24 };

static void fill_registers(struct fpu *fpu, struct values *v)
{
    if (values_below(v, 16) == 0) {
        for (unsigned n = 0; n < 8; n += 2)
            values_pair_f80(v, &fpu->st[n].f, &fpu->st[n + 1].f);
        return;
    }
    for (unsigned n = 0; n < 8; n++) {
        struct f80 other = fpu->st[(n + 7) & 7].f;
        fpu->st[n].f = n && values_below(v, 2) ? values_f80_near(v, other) : values_f80(v);
    }
}

static void fill_memory(struct x87_case *c, struct values *v)
{
    static const uint8_t integer_bits[8] = {[2] = 32, [3] = 32, [6] = 16, [7] = 16};
    unsigned n = c->esc & 7, reg = c->modrm >> 3 & 7;
    struct f80 extended = values_f80(v);
    uint64_t q = integer_bits[n] ? values_integer(v, integer_bits[n])
                 : n < 4         ? values_f32(v)
                                 : values_f64(v);

    for (unsigned i = 0; i < sizeof(c->memory); i += 8) {
        uint64_t bits = values_bits(v);
        memcpy(c->memory + i, &bits, 8);
    }
    if (n == 7 && reg == 5)
        q = values_integer(v, 64);
    memcpy(c->memory, &q, 8);
    if (n == 3 && reg == 5) {
        memcpy(c->memory, &extended.mantissa, 8);
        memcpy(c->memory + 8, &extended.sign_exponent, 2);
    }
    if (n == 7 && reg == 4)
        values_bcd(v, c->memory);
}

void x87_case_make(struct x87_case *c, struct values *v)
{
    uint64_t r = values_bits(v);
    struct fpu *fpu = &c->before;

    fpu_reset(fpu);
    fpu->control = (uint16_t)((values_bits(v) & 0xf3f) | 0x40);
    if (r & 1)
        fpu->control |= 0x3f; /* everything masked: half of the cases */
    if (r & 2)
        fpu->control = (uint16_t)(fpu->control | 0x300);
    /* Sticky flags only where they are masked: else the instruction would be #MF before. */
    fpu->status = (uint16_t)(values_bits(v) & 0x7f7f);
    fpu->status &= (uint16_t)(fpu->control | ~0x3fu);
    fpu->used = r & 0xc ? 0xff : (uint8_t)(r >> 8);
    unsigned top = fpu->status >> 11 & 7;
    if (r & 0x10)
        fpu->used &= (uint8_t) ~(1u << ((top + 7) & 7)); /* room for a push */
    fill_registers(fpu, v);
    fill_memory(c, v);
    memcpy(c->memory_before, c->memory, sizeof(c->memory));
    c->eflags = (uint32_t)(values_bits(v) & X87_CASE_EFLAGS) | 0x202;
    c->rax = values_bits(v);
}

void x87_case_run_here(struct x87_case *c)
{
    struct x87_form form = x87_form(c->esc, c->modrm, !c->operand16);
    enum x87_layout layout = c->operand16 ? X87_PROTECTED_16 : X87_PROTECTED_32;
    uint8_t bytes[128];
    uint8_t reg = c->modrm >> 3 & 7;

    c->fpu = c->before;
    switch (form.kind) {
    case X87_LOAD:
        x87_load(&c->fpu, c->esc, reg, c->memory, layout);
        break;
    case X87_STORE: {
        struct x87_stored stored = x87_store(&c->fpu, c->esc, reg, bytes, layout);
        if (stored.write)
            memcpy(c->memory, bytes, form.bytes);
        x87_store_commit(&c->fpu, stored);
        break;
    }
    case X87_TO_AX:
        c->rax = (c->rax & ~(uint64_t)0xffff) | c->fpu.status;
        break;
    default:
        c->eflags = x87_register(&c->fpu, c->esc, c->modrm, c->eflags);
        break;
    }
}

bool x87_case_transcendental(const struct x87_case *c)
{
    static const uint8_t modrm[] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf9, 0xfb, 0xfe, 0xff};

    return c->esc == 0xd9 && memchr(modrm, c->modrm, sizeof(modrm));
}

/* Numbers in order of size, without a gap between exponents. */
static s128 ordinal(const uint8_t *bytes)
{
    uint64_t m;
    uint16_t e;

    memcpy(&m, bytes, 8);
    memcpy(&e, bytes + 8, 2);
    s128 n = (s128)((u128)(e & 0x7fff) << 63) + (s128)(m & ((uint64_t)1 << 63) ? m << 1 >> 1 : m);
    return e & 0x8000 ? -n : n;
}

/* Takes over the processor's registers where they are next to ours. */
static void forgive_last_place(struct x87_case *c, uint8_t image[512])
{
    for (unsigned i = 0; i < 8; i++) {
        uint8_t *ours = image + REGISTERS + 16 * i;
        const uint8_t *theirs = c->native.after + REGISTERS + 16 * i;
        s128 distance = ordinal(ours) - ordinal(theirs);
        if (distance < -1 || distance > 1 || !((ours[9] ^ theirs[9]) >> 7 == 0))
            continue;
        memcpy(ours, theirs, 10);
    }
    /* C1 tells how the last place came about. */
    image[STATUS + 1] = (uint8_t)((image[STATUS + 1] & ~2) | (c->native.after[STATUS + 1] & 2));
}

bool x87_case_last_place_differs(const struct x87_case *c)
{
    uint8_t image[512];

    fpu_fxsave(&c->fpu, image, true, true);
    return memcmp(image + REGISTERS, c->native.after + REGISTERS, 128) != 0;
}

const char *x87_case_difference(struct x87_case *c)
{
    uint8_t image[512];

    fpu_fxsave(&c->fpu, image, true, true);
    if (x87_case_transcendental(c))
        forgive_last_place(c, image);
    if (c->native.trapped || c->native.undefined)
        return "trap";
    if (memcmp(image + CONTROL, c->native.after + CONTROL, 2) != 0)
        return "control";
    if (memcmp(image + STATUS, c->native.after + STATUS, 2) != 0)
        return "status";
    if (image[TAGS] != c->native.after[TAGS])
        return "tags";
    if (memcmp(image + REGISTERS, c->native.after + REGISTERS, 128) != 0)
        return "registers";
    if (memcmp(image + XMM, c->native.after + XMM, 256) != 0)
        return "xmm";
    if (memcmp(image + MXCSR, c->native.after + MXCSR, 4) != 0)
        return "mxcsr";
    if (memcmp(c->memory, c->native.memory, sizeof(c->memory)) != 0)
        return "memory";
    if ((c->eflags ^ c->native.eflags) & X87_CASE_EFLAGS)
        return "eflags";
    if (c->rax != c->native.rax)
        return "rax";
    return NULL;
}

static void print_image(const char *title, const uint8_t *image)
{
    printf("#   %s: control %02x%02x status %02x%02x used %02x\n", title, image[1], image[0],
           image[3], image[2], image[4]);
    for (unsigned i = 0; i < 8; i++) {
        uint64_t m;
        uint16_t e;
        memcpy(&m, image + REGISTERS + 16 * i, 8);
        memcpy(&e, image + REGISTERS + 16 * i + 8, 2);
        printf("#     st%u %04x %016llx\n", i, e, (unsigned long long)m);
    }
}

static void print_memory(const char *title, const uint8_t *bytes)
{
    printf("#   %s:", title);
    for (int i = 15; i >= 0; i--)
        printf(" %02x", bytes[i]);
    printf("\n");
}

void x87_case_print(const struct x87_case *c, const char *why)
{
    uint8_t image[512];

    printf("# %02x %02x differs in %s\n", c->esc, c->modrm, why);
    print_image("before", c->native.before);
    print_image("processor", c->native.after);
    fpu_fxsave(&c->fpu, image, true, true);
    print_image("ours", image);
    print_memory("memory before", c->memory_before);
    print_memory("memory of the processor", c->native.memory);
    print_memory("memory of ours", c->memory);
    printf("#   eflags %03llx, ours %03x\n", (unsigned long long)c->native.eflags, c->eflags);
}
