/* save.h: the processor's section of a snapshot. What it holds is the architectural state with
 * lazy flags worked out, the interrupt lines, the count of instructions, and the valid entries of
 * the TLB: a kernel may change its page tables without a flush, so they are part of what will
 * happen. Decoded blocks are not: they are made again. */
#ifndef PC_CPU_SAVE_H
#define PC_CPU_SAVE_H

#include "../field.h"

struct cpu;

uint64_t cpu_state_bytes(const struct cpu *cpu); /* that cpu_save would write now */
uint64_t cpu_state_shape(void);
bool cpu_save(const struct cpu *cpu, struct pc_writer out);

/* False when what came is not a state the processor can be in; it must then be reset. The caller
 * reports the RAM as written afterwards. */
bool cpu_load(struct cpu *cpu, struct pc_reader in);

/* Equal for equal futures: two processors that hash alike and run the same input stay alike. */
uint64_t cpu_hash(const struct cpu *cpu, uint64_t hash);

#endif
