/*
 * Frames that the processor itself pushes: of interrupts, exceptions and calls through gates. They
 * are checked as a whole before a byte is written.
 */
#include "pc/cpu/internal.h"

/* Whether each word may be written, the top one first as a processor pushes them: this decides
 * which address a page fault names. */
static bool probe_words(struct cpu *cpu, const struct segment *ss, uint32_t at, uint32_t mask,
                        unsigned count, unsigned size, bool user, uint16_t error)
{
    for (unsigned i = count; i-- > 0;) {
        uint32_t offset = (at + i * size) & mask;
        if (!seg_allows(cpu, ss, offset, size, SEG_WRITE))
            return cpu_fault_code(cpu, VEC_SS, error);
        if (!mmu_probe(cpu, ss->base + offset, size, MMU_WRITE, user))
            return false;
    }
    return true;
}

bool frame_push(struct cpu *cpu, const struct segment *ss, uint32_t *esp, const uint32_t *words,
                unsigned count, unsigned size, bool user, uint16_t error)
{
    uint8_t bytes[36 * 4]; /* a call gate with 31 parameters and four registers */
    uint32_t mask = ss->attr & DESC_DB ? 0xffffffff : 0xffff;
    uint32_t total = count * size, at = (*esp - total) & mask;
    bool wraps = (*esp & mask) < total;
    if (wraps || !seg_allows(cpu, ss, at, total, SEG_WRITE) ||
        !mmu_probe(cpu, ss->base + at + total - size, size, MMU_WRITE, user) ||
        !mmu_probe(cpu, ss->base + at, size, MMU_WRITE, user))
        if (!probe_words(cpu, ss, at, mask, count, size, user, error))
            return false;
    if (wraps) {
        for (unsigned i = count; i-- > 0;)
            mmu_write(cpu, ss->base + ((at + i * size) & mask), &words[i], size, user);
    } else {
        for (unsigned i = 0; i < count; i++)
            memcpy(bytes + i * size, &words[i], size);
        mmu_write(cpu, ss->base + at, bytes, total, user);
    }
    *esp = (*esp & ~mask) | at;
    return true;
}
