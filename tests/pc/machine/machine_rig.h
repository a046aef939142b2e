/* machine_rig.h: a whole machine around a scripted processor, its console and log kept. */
#ifndef MACHINE_RIG_H
#define MACHINE_RIG_H

#include "rig.h"
#include "script_cpu.h"

#include "pc/pc.h"

#define TRAIL 16

/* Where a script notes when it was interrupted. */
struct trail {
    uint64_t insns[TRAIL];
    unsigned count;
    bool halts; /* between interrupts */
};

struct machine_rig {
    struct pc *pc;
    struct cpu *cpu;
    uint8_t *ram;
    uint32_t ram_bytes;
    void *memory;
    char console[256], log[4096];
    uint8_t pause_at; /* a character that makes the console pause the machine */
    uint64_t result;
};

#define MACHINE_RIG_RAM (32u << 20)

void machine_rig_init(struct machine_rig *rig);
void machine_rig_init_ram(struct machine_rig *rig, uint32_t ram_bytes);
void machine_rig_finish(struct machine_rig *rig);

void script_out(struct cpu *cpu, uint16_t port, uint8_t value);
uint8_t script_in(struct cpu *cpu, uint16_t port);

#endif
