/*
 * The processor of a PC, as the machine around it sees it: an IA-32 core that reads no clock, knows
 * no device and calls no operating system. The machine gives it memory and a table of functions,
 * says how many instructions to run, and raises lines. What is inside struct cpu is in state.h.
 */
#ifndef PC_CPU_CPU_H
#define PC_CPU_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu;

/*
 * What the processor sees of the machine. All of it is called on cold paths only: plain RAM is
 * reached through `ram` without a call. Ports and MMIO are 1, 2 or 4 bytes; a wider or
 * page-crossing access is split by the processor. A value narrower than 32 bits is taken from the
 * low bits.
 */
struct cpu_bus {
    void *opaque;
    uint8_t *ram;       /* RAM from physical address 0; borrowed for the processor's life */
    uint32_t ram_bytes; /* a multiple of 4096 */

    /* Whether the page at `page_addr` answers to mmio_*. Asked once per TLB fill, for pages within
     * RAM as well (VGA memory, ROM); pages outside RAM are always MMIO. */
    bool (*is_mmio)(void *opaque, uint32_t page_addr);
    uint32_t (*in)(void *opaque, uint16_t port, unsigned size);
    void (*out)(void *opaque, uint16_t port, unsigned size, uint32_t value);
    uint32_t (*mmio_read)(void *opaque, uint32_t addr, unsigned size);
    void (*mmio_write)(void *opaque, uint32_t addr, unsigned size, uint32_t value);
    int (*acknowledge)(void *opaque); /* INTA: the vector, or -1 when the line was spurious */
    uint64_t (*tsc)(void *opaque);    /* cycles; the machine derives them from cpu_insns() */
    void (*log)(void *opaque, int level, const char *text);
};

/* Levels of cpu_bus.log. */
enum cpu_log { CPU_LOG_ERROR, CPU_LOG_WARNING, CPU_LOG_INFO, CPU_LOG_TRACE };

/* What CPUID tells and which opcodes exist. */
enum cpu_model {
    CPU_MODEL_P6,        /* Pentium Pro: CMOV, PAE, PGE, SYSENTER; no MMX */
    CPU_MODEL_PENTIUM3,  /* + MMX, FXSAVE, SSE */
    CPU_MODEL_PENTIUM_M, /* + SSE2, CLFLUSH, NX */
};

/* Why cpu_run() came back. */
enum cpu_stop {
    CPU_STOP_BUDGET,    /* exactly as many instructions ran as were asked for */
    CPU_STOP_HALTED,    /* HLT, waiting for an interrupt: run again once a line is up */
    CPU_STOP_HALTED_IF, /* HLT with interrupts off: nothing but an NMI or reset can end it */
    CPU_STOP_SHUTDOWN,  /* triple fault: cpu_dump() tells the story */
    CPU_STOP_REQUESTED, /* cpu_request_exit() was called */
};

/* Bytes of memory that cpu_init() wants for the block cache of a machine with that much RAM. */
size_t cpu_cache_bytes(uint32_t ram_bytes);

/*
 * Makes a processor in `cpu` (cpu_struct_bytes() bytes, 64-byte aligned), reset. Copies `bus`;
 * borrows `cache` for the processor's life. 0, or -1 when the cache is too small.
 */
int cpu_init(struct cpu *cpu, const struct cpu_bus *bus, enum cpu_model model, void *cache,
             size_t cache_bytes);
size_t cpu_struct_bytes(void);

/* The RESET line: registers as SDM 3A table 9-1, execution at F000:FFF0 (base FFFF0000h). */
void cpu_reset(struct cpu *cpu);

/* Runs at most `insns` instructions, exactly that many when nothing else stops it. An iteration of
 * a repeated string instruction counts one; so does the delivery of nothing: interrupts are free.
 */
enum cpu_stop cpu_run(struct cpu *cpu, uint64_t insns);

/* The lines. May be called at any time, also from inside a bus function: the interrupt is then
 * taken right after the current instruction, as IF and the interrupt shadow allow. */
void cpu_set_intr(struct cpu *cpu, bool level);
void cpu_set_nmi(struct cpu *cpu, bool level); /* edge: taken once for each rise */
void cpu_set_a20(struct cpu *cpu, bool enabled);

/* Instructions completed since cpu_init(); exact inside a bus function as well (the current
 * instruction is not yet counted). */
uint64_t cpu_insns(const struct cpu *cpu);

/* From a bus function: come back from cpu_run() after this instruction, with CPU_STOP_REQUESTED. */
void cpu_request_exit(struct cpu *cpu);

/* To be called by whoever else writes RAM (DMA, loaders, restore), after the write. */
void cpu_memory_written(struct cpu *cpu, uint32_t addr, uint32_t bytes);

/* To be called when the answer of is_mmio() changed for a page (VGA windows, ROM shadowing). */
void cpu_memory_map_changed(struct cpu *cpu);

/* What is logged at CPU_LOG_TRACE. Tracing instructions makes the processor slow, and changes nothing
 * else. */
enum cpu_trace {
    CPU_TRACE_INSNS = 1, /* each instruction, exception and interrupt */
    CPU_TRACE_MMU = 2,   /* each translation taken up, page fault, and change of CR3 */
};
void cpu_set_trace(struct cpu *cpu, unsigned what);

/* Registers by number in the order of the encodings: EAX ECX EDX EBX ESP EBP ESI EDI. */
enum cpu_reg { CPU_EAX, CPU_ECX, CPU_EDX, CPU_EBX, CPU_ESP, CPU_EBP, CPU_ESI, CPU_EDI };
uint32_t cpu_get_reg(const struct cpu *cpu, enum cpu_reg reg);
void cpu_set_reg(struct cpu *cpu, enum cpu_reg reg, uint32_t value);
uint32_t cpu_get_eip(const struct cpu *cpu);
uint32_t cpu_get_eflags(const struct cpu *cpu); /* with the lazy flags worked out */

/*
 * The state in which a 32-bit boot protocol enters a kernel: protected mode without paging, flat
 * 4 GB segments (CS = 10h, the others 18h), interrupts off, EIP = `entry`. The caller puts a GDT
 * with these two descriptors at `gdt` and then sets the registers that its protocol names.
 */
void cpu_enter_flat32(struct cpu *cpu, uint32_t entry, uint32_t gdt, uint16_t gdt_limit);

/* A report of the state for people: registers, segments, the bytes at EIP, the last branches and
 * the last exceptions. Writes at most `bytes` with the final NUL, returns the length it wrote. */
size_t cpu_dump(struct cpu *cpu, char *text, size_t bytes);

#endif
