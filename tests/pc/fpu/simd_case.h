/* simd_case.h: one line of simd.def in one random state, on the processor and here. */
#ifndef HALTER_TESTS_SIMD_CASE_H
#define HALTER_TESTS_SIMD_CASE_H

#include "native.h"
#include "values.h"

struct simd_case {
    const struct simd_form *form;
    bool in_memory; /* the operand that may be in memory is */
    uint8_t imm;
    struct native_case native;
    struct fpu before, fpu;
    _Alignas(16) uint8_t memory[128];
    uint32_t eflags;
    uint64_t rax;
    bool fault;
};

enum { SIMD_CASE_EFLAGS = 0x8d5 };

/* Which forms a line has: with registers only, with memory. */
bool simd_case_has_registers(const struct simd_form *form);
bool simd_case_has_memory(const struct simd_form *form);

/* The instruction, with registers 1 (ModRM.reg) and 2 (ModRM.rm); EAX is 0 in either. */
unsigned simd_case_encode(const struct simd_case *c, uint8_t bytes[16]);

void simd_case_make(struct simd_case *c, struct values *v);
void simd_case_run_here(struct simd_case *c); /* ours only */
void simd_case_run(struct simd_case *c, const struct native_code *code);
const char *simd_case_difference(struct simd_case *c);
void simd_case_print(struct simd_case *c, const char *why);

#endif
