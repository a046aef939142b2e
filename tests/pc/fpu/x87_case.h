/* x87_case.h: one x87 instruction in one random state, on the processor and here. */
#ifndef HALTER_TESTS_X87_CASE_H
#define HALTER_TESTS_X87_CASE_H

#include "native.h"
#include "values.h"

struct x87_case {
    uint8_t esc, modrm; /* memory forms have mod = 0, rm = 6 */
    bool operand16;     /* with prefix 66: the environments of 14 bytes */
    struct native_case native;
    struct fpu before, fpu; /* ours; fpu is the state after */
    uint8_t memory_before[128], memory[128];
    uint32_t eflags;
    uint64_t rax;
};

/* EFLAGS that FCOMI may change or FCMOV looks at, and AF, SF, OF. */
enum { X87_CASE_EFLAGS = 0x8d5 };

void x87_case_make(struct x87_case *c, struct values *v);
void x87_case_run_here(struct x87_case *c); /* ours only */
void x87_case_run(struct x87_case *c, const struct native_code *code);

/* The state after, as FXSAVE shows it on both sides; NULL when equal, else what differs. Of a
 * transcendental function, registers may differ by a unit in the last place, and then C1. */
const char *x87_case_difference(struct x87_case *c);
bool x87_case_transcendental(const struct x87_case *c);
bool x87_case_last_place_differs(const struct x87_case *c);
void x87_case_print(const struct x87_case *c, const char *why);

#endif
