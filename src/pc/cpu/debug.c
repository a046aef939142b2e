/*
 * The debug registers (SDM 3B 17.2, 17.3): breakpoints on instructions, data and ports, and what
 * DR6 reports. While any is armed, instructions run one at a time (cpu.c), and the TLB sends
 * accesses to watched pages past debug_access(). Hits are traps: cpu->debug_hits waits for the end
 * of the instruction, or of the one after a MOV SS.
 */
#include "pc/cpu/internal.h"

enum { WHEN_EXECUTED = 0, WHEN_WRITTEN = 1, WHEN_PORT = 2, WHEN_ACCESSED = 3 };

static bool is_armed(uint32_t dr7, unsigned i)
{
    return dr7 >> (2 * i) & 3;
}

static unsigned condition(uint32_t dr7, unsigned i)
{
    return dr7 >> (16 + 4 * i) & 3;
}

/* 10b is a length of 8 only in 64-bit processors, and undefined before. */
static uint32_t length(uint32_t dr7, unsigned i)
{
    static const uint8_t lengths[4] = {1, 2, 1, 4};
    return lengths[dr7 >> (18 + 4 * i) & 3];
}

static bool covers(const struct cpu *cpu, unsigned i, uint32_t at, uint32_t bytes)
{
    uint32_t size = length(cpu->dr[7], i), start = cpu->dr[i] & ~(size - 1);
    return at - start < size || start - at < bytes;
}

bool debug_watches_page(const struct cpu *cpu, linear_t page)
{
    for (unsigned i = 0; i < 4; i++)
        if ((cpu->watching & 1u << i) && (cpu->dr[i] & ~(uint32_t)PAGE_MASK) == page)
            return true;
    return false;
}

void debug_access(struct cpu *cpu, linear_t lin, unsigned bytes, bool write)
{
    for (unsigned i = 0; i < 4; i++) {
        bool counts = write || condition(cpu->dr[7], i) == WHEN_ACCESSED;
        if ((cpu->watching & 1u << i) && counts && covers(cpu, i, lin, bytes))
            cpu->debug_hits |= (uint16_t)(1u << i);
    }
}

void debug_port(struct cpu *cpu, uint16_t port, unsigned bytes)
{
    if (!(cpu->cr4 & CR4_DE) || !(cpu->dr[7] & DR7_ARMED))
        return;
    for (unsigned i = 0; i < 4; i++)
        if (is_armed(cpu->dr[7], i) && condition(cpu->dr[7], i) == WHEN_PORT &&
            covers(cpu, i, port, bytes))
            cpu->debug_hits |= (uint16_t)(1u << i);
}

bool debug_breaks_here(struct cpu *cpu)
{
    uint32_t hits = 0, at = cpu->seg[SEG_CS].base + cpu->eip;
    /* A repeated instruction between two iterations has been let through already, and after MOV SS
     * there is no breakpoint (SDM 3A 6.8.3). */
    if ((cpu->eflags & FLAG_RF) || cpu->begun || cpu->shadow == SHADOW_STACK)
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (is_armed(cpu->dr[7], i) && condition(cpu->dr[7], i) == WHEN_EXECUTED &&
            cpu->dr[i] == at)
            hits |= 1u << i;
    if (!hits)
        return false;
    cpu->dr[6] |= hits;
    cpu_fault(cpu, VEC_DB);
    cpu->fault.keeps_rf = true;
    return true;
}

void debug_report(struct cpu *cpu)
{
    cpu->dr[6] |= cpu->debug_hits;
    cpu->debug_hits = 0;
    cpu_fault(cpu, VEC_DB);
    cpu->fault.keeps_rf = true;
}

void debug_changed(struct cpu *cpu)
{
    uint8_t watching = 0;
    for (unsigned i = 0; i < 4; i++)
        if (is_armed(cpu->dr[7], i) && (condition(cpu->dr[7], i) & 1))
            watching |= (uint8_t)(1u << i);
    if (!watching && !cpu->watching)
        return;
    cpu->watching = watching;
    mmu_mark_watched(cpu);
}

/* Local breakpoints end with their task (17.2.4); the T flag of a task traps its start (17.3.1.5).
 */
void debug_task_switched(struct cpu *cpu, bool traps)
{
    cpu->dr[7] &= ~(uint32_t)DR7_LOCAL;
    debug_changed(cpu);
    if (traps)
        cpu->debug_hits |= DR6_BT;
}
