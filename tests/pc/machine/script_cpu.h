/* script_cpu.h: a processor that does what a test says, in the place of the real one.
 *
 * It keeps the promises of src/pc/cpu/cpu.h that the machine builds on: exact counts, lines that
 * may change during an instruction, a halt that an interrupt ends. An "instruction" is a call of
 * the test's function; without one, instructions do nothing, and many are as quick as one. */
#ifndef SCRIPT_CPU_H
#define SCRIPT_CPU_H

#include "pc/cpu/cpu.h"

struct cpu {
    struct cpu_bus bus;
    uint64_t insns;
    bool intr, a20, exit_asked, interrupts_off, halted;
    int vector; /* of the last interrupt taken, -1 before the first */
    unsigned interrupts;
    uint32_t entry, regs[8];
    uint32_t written_bytes; /* by cpu_memory_written, last */

    /* One instruction. CPU_STOP_BUDGET goes on; CPU_STOP_HALTED halts. */
    enum cpu_stop (*step)(struct cpu *cpu, void *opaque);
    void *opaque;
};

#endif
