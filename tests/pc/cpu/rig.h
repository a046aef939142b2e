/*
 * rig.h: a processor with RAM and a bus that only records, for tests. Code is given as bytes; the
 * comment beside them is what an assembler would say.
 */
#ifndef TESTS_PC_CPU_RIG_H
#define TESTS_PC_CPU_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pc/cpu/internal.h"

enum {
    RIG_RAM = 4 << 20,
    RIG_CODE = 0x10000,  /* where rig_start() begins */
    RIG_STACK = 0x20000, /* its ESP */
    RIG_GDT = 0x1000, /* null, -, kernel code 10h, kernel data 18h, user code 23h, 2bh, TSS 30h */
    RIG_IDT = 0x2000, /* 256 interrupt gates to RIG_HANDLERS + vector: HLTs */
    RIG_TSS = 0x3000,
    RIG_RING0_STACK = 0x8000,
    RIG_HANDLERS = 0x9000,
    RIG_MMIO = 0xb8000, /* a page that is_mmio() claims */
    RIG_EVENTS = 64,
};

/* One call of the bus. */
struct rig_event {
    char kind; /* 'i'n 'o'ut 'r'ead 'w'rite */
    uint32_t at, value;
    unsigned size;
    uint64_t insns; /* cpu_insns() in the call */
};

struct rig {
    struct cpu *cpu;
    void *cache;
    uint8_t *ram;
    struct rig_event events[RIG_EVENTS];
    unsigned event_count;
    uint32_t in_value;
    int vector; /* what acknowledge() answers */
    /* Called in out(), if there: what a device would do. */
    void (*on_out)(struct rig *rig, uint16_t port, uint32_t value);
};

struct rig *rig_create(enum cpu_model model);
void rig_destroy(struct rig *rig);

/* cmocka's setup and teardown: *state is a fresh Pentium M. */
int rig_setup(void **state);
int rig_teardown(void **state);

void rig_put(struct rig *rig, uint32_t at, const void *bytes, size_t count);
void rig_put32(struct rig *rig, uint32_t at, uint32_t value);
uint32_t rig_get32(const struct rig *rig, uint32_t at);

/* Protected mode, flat, no paging, ring 0, with tables as above; EIP = RIG_CODE. */
void rig_start(struct rig *rig);
/* The same with CS, SS and the data segments of ring 3. */
void rig_start_user(struct rig *rig);
/* Puts code at RIG_CODE and starts there. */
#define RIG_CODE_IS(rig, ...)                                                                      \
    do {                                                                                           \
        static const uint8_t code_[] = {__VA_ARGS__};                                              \
        rig_put(rig, RIG_CODE, code_, sizeof code_);                                               \
        rig_start(rig);                                                                            \
    } while (0)

/* The vector whose handler the processor is in (having run its HLT or not), or -1. */
int rig_vector(const struct rig *rig);
/* The error code that the last exception pushed, and the EIP. */
uint32_t rig_pushed(const struct rig *rig, unsigned word);

#define REG(rig, name) ((rig)->cpu->reg[CPU_##name])

#endif
