/*
 * Frames that the processor itself pushes: of interrupts, exceptions and calls through gates. They
 * are checked as a whole before a byte is written.
 */
#include "pc/cpu/internal.h"

/* Where a stack wraps in the middle of the frame, word by word. */
static bool push_wrapped(struct cpu *cpu, const struct segment *ss, uint32_t at, uint32_t mask,
                         const uint32_t *words, unsigned count, unsigned size, bool user,
                         uint16_t error)
{
    for (unsigned i = count; i-- > 0;) {
        uint32_t offset = (at + i * size) & mask;
        if (!seg_allows(cpu, ss, offset, size, SEG_WRITE))
            return cpu_fault_code(cpu, VEC_SS, error);
        if (!mmu_probe(cpu, ss->base + offset, size, MMU_WRITE, user))
            return false;
    }
    for (unsigned i = count; i-- > 0;)
        mmu_write(cpu, ss->base + ((at + i * size) & mask), &words[i], size, user);
    return true;
}

bool frame_push(struct cpu *cpu, const struct segment *ss, uint32_t *esp, const uint32_t *words,
                unsigned count, unsigned size, bool user, uint16_t error)
{
    uint8_t bytes[36 * 4]; /* a call gate with 31 parameters and four registers */
    uint32_t mask = ss->attr & DESC_DB ? 0xffffffff : 0xffff;
    uint32_t total = count * size, at = (*esp - total) & mask;
    if ((*esp & mask) < total) {
        if (!push_wrapped(cpu, ss, at, mask, words, count, size, user, error))
            return false;
    } else {
        for (unsigned i = 0; i < count; i++)
            memcpy(bytes + i * size, &words[i], size);
        if (!seg_allows(cpu, ss, at, total, SEG_WRITE))
            return cpu_fault_code(cpu, VEC_SS, error);
        if (!mmu_write(cpu, ss->base + at, bytes, total, user))
            return false;
    }
    *esp = (*esp & ~mask) | at;
    return true;
}
