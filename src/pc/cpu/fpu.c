/* fpu.c: the floating point state as a whole: reset, FNINIT, and its images in memory: the
 * environments of four layouts, FNSAVE and FXSAVE (SDM 1 8.1.10, 10.5). */
#include "fpu.h"

#include <string.h>

#include "fpu_image.h"
#include "x87.h"

enum { CONTROL_DEFAULT = 0x037f, MXCSR_DEFAULT = 0x1f80 };

void fpu_reset(struct fpu *fpu)
{
    memset(fpu, 0, sizeof(*fpu));
    fpu->control = 0x0040;
    fpu->used = 0xff; /* tag word 5555h: all zeros, none empty */
    fpu->mxcsr = MXCSR_DEFAULT;
    fpu->mxcsr_mask = 0xffff;
}

void x87_fninit(struct fpu *fpu)
{
    fpu->control = CONTROL_DEFAULT;
    fpu->status = 0;
    fpu->used = 0;
    fpu->opcode = 0;
    fpu->instruction_selector = fpu->operand_selector = 0;
    fpu->instruction = fpu->operand = 0;
}

/* ---- little-endian fields ----------------------------------------------------------------- */

static void put16(uint8_t *bytes, uint32_t v)
{
    bytes[0] = (uint8_t)v;
    bytes[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *bytes, uint32_t v)
{
    put16(bytes, v);
    put16(bytes + 2, v >> 16);
}

static uint16_t get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) | (uint32_t)get16(bytes + 2) << 16;
}

/* ---- tags --------------------------------------------------------------------------------- */

/* The full tag word is made from the contents (SDM 1 8.1.7): 0 valid, 1 zero, 2 special, 3 empty.
 */
static uint16_t full_tags(const struct fpu *fpu)
{
    uint16_t tags = 0;

    for (unsigned n = 0; n < 8; n++) {
        enum f80_class class = f80_classify(fpu->st[n].f);
        unsigned tag = class == F80_NORMAL ? 0 : class == F80_ZERO ? 1 : 2;
        tags |= (uint16_t)((fpu->used >> n & 1 ? tag : 3) << (2 * n));
    }
    return tags;
}

static uint8_t used_from_tags(uint16_t tags)
{
    uint8_t used = 0;

    for (unsigned n = 0; n < 8; n++)
        used |= (uint8_t)((tags >> (2 * n) & 3) != 3) << n;
    return used;
}

/* ---- environments ------------------------------------------------------------------------- */

static bool layout_is_32(enum x87_layout layout)
{
    return layout == X87_PROTECTED_32 || layout == X87_REAL_32;
}

static bool layout_is_real(enum x87_layout layout)
{
    return layout == X87_REAL_16 || layout == X87_REAL_32;
}

unsigned fpu_environment_bytes(enum x87_layout layout)
{
    return layout_is_32(layout) ? 28 : 14;
}

void fpu_store_environment(const struct fpu *fpu, uint8_t *bytes, enum x87_layout layout)
{
    uint32_t field[7] = {fpu->control,
                         fpu->status,
                         full_tags(fpu),
                         fpu->instruction,
                         fpu->instruction_selector,
                         fpu->operand,
                         fpu->operand_selector};

    if (layout_is_real(layout)) { /* linear addresses, in two parts */
        uint32_t instruction = fpu->instruction + ((uint32_t)fpu->instruction_selector << 4);
        uint32_t operand = fpu->operand + ((uint32_t)fpu->operand_selector << 4);
        field[3] = instruction & 0xffff;
        field[4] = (instruction >> 16) << 12 | fpu->opcode;
        field[5] = operand & 0xffff;
        field[6] = (operand >> 16) << 12;
    }
    if (!layout_is_32(layout)) {
        for (unsigned n = 0; n < 7; n++)
            put16(bytes + 2 * n, field[n]);
        return;
    }
    /* The upper halves of the words are reserved, and all ones. */
    field[0] |= 0xffff0000;
    field[1] |= 0xffff0000;
    field[2] |= 0xffff0000;
    if (layout_is_real(layout)) {
        field[3] |= 0xffff0000;
        field[5] |= 0xffff0000;
    } else {
        field[4] |= (uint32_t)fpu->opcode << 16;
        field[6] |= 0xffff0000;
    }
    for (unsigned n = 0; n < 7; n++)
        put32(bytes + 4 * n, field[n]);
}

void fpu_store_registers(const struct fpu *fpu, uint8_t *bytes)
{
    for (unsigned i = 0; i < 8; i++) {
        struct f80 v = x87_get(fpu, i);
        memcpy(bytes + 10 * i, &v.mantissa, 8);
        memcpy(bytes + 10 * i + 8, &v.sign_exponent, 2);
    }
}

void fpu_load_control(struct fpu *fpu, const uint8_t *bytes)
{
    /* Bit 6 is reserved and reads as one. */
    fpu->control = (uint16_t)((get16(bytes) & 0x1f3f) | 0x40);
    fpu->status = x87_summarize(fpu->status, fpu->control);
}

void fpu_load_environment(struct fpu *fpu, const uint8_t *bytes, enum x87_layout layout)
{
    uint32_t field[7];

    for (unsigned n = 0; n < 7; n++)
        field[n] = layout_is_32(layout) ? get32(bytes + 4 * n) : get16(bytes + 2 * n);
    fpu->control = (uint16_t)((field[0] & 0x1f3f) | 0x40);
    fpu->status = x87_summarize((uint16_t)field[1], fpu->control);
    fpu->used = used_from_tags((uint16_t)field[2]);
    if (layout_is_real(layout)) {
        uint32_t high = layout == X87_REAL_32 ? 0x0ffff000 : 0xf000;
        fpu->instruction = (field[3] & 0xffff) | (field[4] & high) << 4;
        fpu->operand = (field[5] & 0xffff) | (field[6] & high) << 4;
        fpu->instruction_selector = fpu->operand_selector = 0;
        fpu->opcode = field[4] & 0x7ff;
        return;
    }
    fpu->instruction = field[3];
    fpu->instruction_selector = (uint16_t)field[4];
    fpu->operand = field[5];
    fpu->operand_selector = (uint16_t)field[6];
    fpu->opcode = layout == X87_PROTECTED_32 ? field[4] >> 16 & 0x7ff : 0;
}

void fpu_load_state(struct fpu *fpu, const uint8_t *bytes, enum x87_layout layout)
{
    fpu_load_environment(fpu, bytes, layout);
    bytes += fpu_environment_bytes(layout);
    for (unsigned i = 0; i < 8; i++) {
        struct f80 *v = &fpu->st[x87_slot_of(fpu, i)].f;
        memcpy(&v->mantissa, bytes + 10 * i, 8);
        memcpy(&v->sign_exponent, bytes + 10 * i + 8, 2);
    }
}

/* ---- FXSAVE, FXRSTOR ---------------------------------------------------------------------- */

unsigned fpu_fxsave(const struct fpu *fpu, uint8_t bytes[512], bool long_mode, bool osfxsr)
{
    unsigned xmm_count = !osfxsr ? 0 : long_mode ? 16 : 8;

    put16(bytes, fpu->control);
    put16(bytes + 2, fpu->status);
    bytes[4] = fpu->used;
    bytes[5] = 0;
    put16(bytes + 6, fpu->opcode);
    put32(bytes + 8, fpu->instruction);
    put32(bytes + 12, fpu->instruction_selector);
    put32(bytes + 16, fpu->operand);
    put32(bytes + 20, fpu->operand_selector);
    put32(bytes + 24, osfxsr ? fpu->mxcsr : 0);
    put32(bytes + 28, osfxsr ? fpu->mxcsr_mask : 0);
    for (unsigned i = 0; i < 8; i++) {
        struct f80 v = x87_get(fpu, i);
        memset(bytes + 32 + 16 * i, 0, 16);
        memcpy(bytes + 32 + 16 * i, &v.mantissa, 8);
        memcpy(bytes + 32 + 16 * i + 8, &v.sign_exponent, 2);
    }
    memcpy(bytes + 160, fpu->xmm, 16 * xmm_count);
    return 160 + 16 * xmm_count;
}

bool fpu_ldmxcsr(struct fpu *fpu, uint32_t mxcsr)
{
    if (mxcsr & ~fpu->mxcsr_mask)
        return false;
    fpu->mxcsr = mxcsr;
    return true;
}

bool fpu_fxrstor(struct fpu *fpu, const uint8_t bytes[512], bool long_mode, bool osfxsr)
{
    if (osfxsr && !fpu_ldmxcsr(fpu, get32(bytes + 24)))
        return false;
    fpu->control = (uint16_t)((get16(bytes) & 0x1f3f) | 0x40);
    fpu->status = x87_summarize(get16(bytes + 2), fpu->control);
    fpu->used = bytes[4];
    fpu->opcode = get16(bytes + 6) & 0x7ff;
    fpu->instruction = get32(bytes + 8);
    fpu->instruction_selector = get16(bytes + 12);
    fpu->operand = get32(bytes + 16);
    fpu->operand_selector = get16(bytes + 20);
    for (unsigned i = 0; i < 8; i++) {
        struct f80 *v = &fpu->st[x87_slot_of(fpu, i)].f;
        memcpy(&v->mantissa, bytes + 32 + 16 * i, 8);
        memcpy(&v->sign_exponent, bytes + 32 + 16 * i + 8, 2);
    }
    if (osfxsr)
        memcpy(fpu->xmm, bytes + 160, long_mode ? 256 : 128);
    return true;
}
