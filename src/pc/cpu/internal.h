/*
 * What the files of the processor offer one another. A function that can fault returns false (or
 * OP_FAULT) with cpu->fault set, and has then changed nothing that a program can see.
 */
#ifndef PC_CPU_INTERNAL_H
#define PC_CPU_INTERNAL_H

#include "pc/cpu/flags.h"
#include "pc/cpu/state.h"
#include "pc/cpu/uops.h"

/* ---- mmu.c: paging and the software TLB (SDM 3A 4) ---------------------------------------- */

enum mmu_access { MMU_READ, MMU_WRITE, MMU_FETCH };

/* Access memory by linear address, up to a page, whatever it is; pages are checked before a byte
 * moves. `user`: with the rights of privilege level 3. */
bool mmu_read(struct cpu *cpu, linear_t lin, void *bytes, unsigned count, bool user);
bool mmu_write(struct cpu *cpu, linear_t lin, const void *bytes, unsigned count, bool user);
/* Only the checks (and the TLB fills) of such an access. */
bool mmu_probe(struct cpu *cpu, linear_t lin, unsigned count, enum mmu_access access, bool user);
/* The physical address of code at `lin`, and whether the bus has to be asked for its bytes. */
bool mmu_fetch(struct cpu *cpu, linear_t lin, phys_t *phys, bool *mmio);

/* Sends accesses to pages with an armed data breakpoint past debug_access(), and no others. */
void mmu_mark_watched(struct cpu *cpu);

void mmu_flush(struct cpu *cpu, bool global_too);
void mmu_flush_page(struct cpu *cpu, linear_t lin);
/* Marks a physical page's write tags, so that stores to it look at the code map. */
void mmu_mark_code(struct cpu *cpu, phys_t page);
/* Loads the four PDPTEs from CR3 (PAE); false when one has reserved bits set: #GP(0). */
bool mmu_load_pdptes(struct cpu *cpu, uint32_t cr3);

/* The slow halves of the accesses in ops.inc. A load returns its value, or -1 for a fault. */
int64_t mmu_load_slow(struct cpu *cpu, const struct uop *u, linear_t lin, unsigned size);
bool mmu_store_slow(struct cpu *cpu, const struct uop *u, linear_t lin, uint32_t value,
                    unsigned size);
/* Read-modify-write: the bytes to work on, in RAM or in cpu->rmw; NULL is a fault. When it is
 * cpu->rmw.bytes, mmu_rmw_end() writes them back, and cannot fault. */
void *mmu_rmw_begin(struct cpu *cpu, const struct uop *u, linear_t lin, unsigned size);
void mmu_rmw_end(struct cpu *cpu);

/* ---- segment.c: descriptors and segmented addresses (SDM 3A 3, 5) ------------------------- */

enum seg_access { SEG_READ, SEG_WRITE };

/* Adds the base and checks the limit and type for `size` bytes at `offset`: #GP(0) or #SS(0). */
bool seg_linear(struct cpu *cpu, unsigned seg, uint32_t offset, unsigned size,
                enum seg_access access, linear_t *lin);
/* The limit and type part of it, for any segment: false without a fault noted. */
bool seg_allows(const struct cpu *cpu, const struct segment *s, uint32_t offset, unsigned size,
                enum seg_access access);
/* The linear address of a micro-op's memory operand, whatever its segment and address size. */
bool seg_operand(struct cpu *cpu, const struct uop *u, unsigned size, enum seg_access access,
                 linear_t *lin);
/* The offset of a micro-op's memory operand. */
uint32_t seg_offset(const struct cpu *cpu, const struct uop *u);

struct descriptor {
    uint32_t low, high;
    linear_t at; /* where it is, for the accessed bit */
};

/* Reads the descriptor that `selector` names; outside the table: `vector`(selector). */
bool seg_read_descriptor(struct cpu *cpu, uint16_t selector, enum vector vector,
                         struct descriptor *d);
void seg_unpack(struct segment *segment, uint16_t selector, const struct descriptor *d);
bool seg_set_accessed(struct cpu *cpu, struct descriptor *d);
/* Loads DS, ES, FS or GS; what is wrong with the descriptor is `vector`(selector). */
bool seg_load_data(struct cpu *cpu, unsigned seg, uint16_t selector, enum vector vector);
/* Loads a data or stack segment register as MOV does. */
bool seg_load(struct cpu *cpu, unsigned seg, uint16_t selector);
/* Real mode and virtual-8086: base is selector * 16. */
void seg_load_real(struct cpu *cpu, unsigned seg, uint16_t selector);
/* Puts CS in place, with CPL, after all checks have been made elsewhere. */
void seg_set_cs(struct cpu *cpu, const struct segment *cs, unsigned cpl);
/* CS of real mode or virtual-8086. */
void seg_set_cs_real(struct cpu *cpu, uint16_t selector);
/* After a return to less privilege: data segments it may not keep become null. */
void seg_drop_privileged(struct cpu *cpu);
/* SS:ESP for `level` from the TSS. */
bool seg_stack_from_tss(struct cpu *cpu, unsigned level, uint16_t *ss, uint32_t *esp);
/* Checks and unpacks a stack segment for privilege `cpl`; faults are `vector`(selector). */
bool seg_check_stack(struct cpu *cpu, uint16_t selector, unsigned cpl, enum vector vector,
                     struct segment *ss, struct descriptor *d);

/* ---- frame.c ------------------------------------------------------------------------------ */

/* Writes `count` words of `size` bytes, the first of them lowest, below *esp on the stack `ss`, and
 * moves *esp there. All or nothing; where they do not fit: #SS(error). */
bool frame_push(struct cpu *cpu, const struct segment *ss, uint32_t *esp, const uint32_t *words,
                unsigned count, unsigned size, bool user, uint16_t error);

/* ---- task.c: task switches (SDM 3A 7) ----------------------------------------------------- */

/* How a way into a handler or a task ended. */
enum entry {
    ENTRY_REFUSED, /* a fault was noted, and nothing has changed */
    ENTRY_DONE,
    ENTRY_FAULTED, /* a fault was noted in the new task: EIP is the new one */
};
enum task_way { TASK_JUMP, TASK_CALL, TASK_RETURN };

/* The descriptor of a task that is free, or for a return busy: #GP, #TS or #NP. */
bool task_find(struct cpu *cpu, uint16_t selector, bool returning, struct descriptor *d);
/* Switches to it; `eip` and `eflags` are what the old task goes on with. TASK_CALL nests. */
enum entry task_switch(struct cpu *cpu, uint16_t selector, const struct descriptor *d,
                       enum task_way way, uint32_t eip, uint32_t eflags);
/* IRET with NT: to the task that the present one is nested in. */
enum entry task_return(struct cpu *cpu, uint32_t eip);

/* ---- debug.c: breakpoints (SDM 3B 17) ----------------------------------------------------- */

/* DR7 or an address changed: what is watched follows. */
void debug_changed(struct cpu *cpu);
void debug_task_switched(struct cpu *cpu, bool traps);
bool debug_watches_page(const struct cpu *cpu, linear_t page);
/* Notes the data breakpoints that an access hits; to be called while cpu->watching only. */
void debug_access(struct cpu *cpu, linear_t lin, unsigned bytes, bool write);
void debug_port(struct cpu *cpu, uint16_t port, unsigned bytes);
/* True, with #DB noted and DR6 set, when a breakpoint stops the instruction at EIP. */
bool debug_breaks_here(struct cpu *cpu);
/* Turns cpu->debug_hits into a #DB. */
void debug_report(struct cpu *cpu);

/* ---- trace.c, dump.c: what is told ---------------------------------------------------------- */

struct text;
void trace_instruction(struct cpu *cpu);
void trace_event(struct cpu *cpu, const char *kind, unsigned vector, const struct fault *fault);
void trace_translation(struct cpu *cpu, linear_t lin, const struct tlb_entry *e, bool user);
void trace_paging(struct cpu *cpu, const char *what, uint32_t value);
/* The bytes at EIP and their text, as far as they can be read without side effects. */
void cpu_text_code(const struct cpu *cpu, struct text *t);

/* ---- fault.c: exceptions and interrupts (SDM 3A 6) ---------------------------------------- */

/* Notes an exception; always false, so that `return cpu_fault(...)` reads well. */
bool cpu_fault(struct cpu *cpu, enum vector vector);
bool cpu_fault_code(struct cpu *cpu, enum vector vector, uint16_t error);
static inline enum op_status op_fault(struct cpu *cpu, enum vector vector)
{
    cpu_fault(cpu, vector);
    return OP_FAULT;
}
static inline enum op_status op_fault_code(struct cpu *cpu, enum vector vector, uint16_t error)
{
    cpu_fault_code(cpu, vector, error);
    return OP_FAULT;
}

enum delivery { DELIVER_EXCEPTION, DELIVER_SOFTWARE, DELIVER_EXTERNAL };
/* Enters the handler of `vector`; EIP must be what is to be pushed. `sets_rf`: RF is set in what is
 * pushed. */
enum entry fault_enter(struct cpu *cpu, uint8_t vector, enum delivery how, bool sets_rf,
                       bool has_error, uint16_t error);
/* Delivers the noted exception, with double faults; sets EVENT_SHUTDOWN at a triple one. */
void fault_deliver(struct cpu *cpu);

/* ---- blocks.c: decoded code --------------------------------------------------------------- */

size_t blocks_bytes(uint32_t ram_bytes);
bool blocks_init(struct cpu *cpu, void *cache, size_t bytes);
void blocks_flush(struct cpu *cpu);
/* The block at CS:EIP for `key`, decoded now if need be; NULL is a fault. */
struct block *blocks_find(struct cpu *cpu, uint32_t key);
/* RAM changed: forgets what was decoded from it. */
void blocks_written(struct cpu *cpu, phys_t addr, uint32_t bytes);
/* The running block ends after the current instruction. */
void blocks_leave_after(struct cpu *cpu);
void blocks_unpatch(struct cpu *cpu);

static inline uint32_t blocks_hash(phys_t phys)
{
    return (phys ^ phys >> BLOCK_HASH_BITS) & ((1u << BLOCK_HASH_BITS) - 1);
}

/* ---- emit.c ------------------------------------------------------------------------------- */

/* Fills `u` from a decoded instruction. True when nothing may follow it in the block. */
bool emit_uop(const struct insn *insn, uint32_t key, uint8_t at, struct uop *u);
void emit_undefined(enum insn_status status, uint8_t at, struct uop *u);

/* ---- fuse.c ------------------------------------------------------------------------------- */

/* Puts better micro-ops in the place of some. */
void fuse_block(struct block *b);

/* ---- interp.c ----------------------------------------------------------------------------- */

/* CALL rel of code that is not flat (ops_branch.c). */
enum op_status branch_call_relative(struct cpu *cpu, const struct uop *u);

/* Runs from the start of `block` until something needs cpu_run()'s attention. */
void interp_run(struct cpu *cpu, struct block *block);

/* ---- cpuid.c ------------------------------------------------------------------------------ */

/* Family, model and stepping, as RESET leaves them in EDX. */
uint32_t cpuid_signature(const struct cpu *cpu);
void cpuid_answer(const struct cpu *cpu, uint32_t leaf, uint32_t out[4]); /* EAX EBX ECX EDX */

/* ---- cpu.c -------------------------------------------------------------------------------- */

/* Recomputes what follows from CR0, CPL, segments and flags: key, TLB side, code page. To be called
 * whenever one of them changed; the block must end there. */
void cpu_mode_changed(struct cpu *cpu);
/* Comes back to cpu_run() at the next block, without losing count. */
void cpu_kick(struct cpu *cpu);
void cpu_log(struct cpu *cpu, int level, const char *text);
void cpu_note_branch(struct cpu *cpu, uint32_t from, uint32_t to);

/* EFLAGS as PUSHF stores them, and the setting of those bits that `mask` allows. */
uint32_t cpu_eflags(const struct cpu *cpu);
void cpu_set_eflags(struct cpu *cpu, uint32_t value, uint32_t mask);

static inline bool cpu_protected(const struct cpu *cpu)
{
    return cpu->cr0 & CR0_PE;
}
static inline bool cpu_v86(const struct cpu *cpu)
{
    return cpu->eflags & FLAG_VM;
}
static inline unsigned cpu_iopl(const struct cpu *cpu)
{
    return (cpu->eflags & FLAG_IOPL) >> 12;
}
static inline bool cpu_user(const struct cpu *cpu)
{
    return cpu->cpl == 3;
}
/* EIP of the instruction `u`, and of the one after it. */
static inline uint32_t uop_eip(const struct cpu *cpu, const struct uop *u)
{
    return cpu->eip + u->icnt;
}
static inline uint32_t uop_next_eip(const struct cpu *cpu, const struct uop *u)
{
    return cpu->eip + u[1].icnt;
}

#endif
