/* native.h: the processor this test runs on, as the oracle.
 *
 * One instruction is run between an FXRSTOR and an FXSAVE, so that its whole floating point state
 * goes in and comes out; what it would trap with is caught. Only on x86-64. */
#ifndef HALTER_TESTS_NATIVE_H
#define HALTER_TESTS_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

struct native_case {
    _Alignas(64) uint8_t before[512]; /* FXSAVE images */
    _Alignas(64) uint8_t after[512];
    _Alignas(64) uint8_t memory[128]; /* what a memory operand sees: RSI points here */
    uint64_t eflags, rax;
    uint64_t host_mxcsr;
    bool trapped;   /* #XM, or #MF before the instruction */
    bool undefined; /* #UD */
};

/* Compiles one instruction; the result may be run many times. Memory operands use (%rsi). */
struct native_code *native_compile(const uint8_t *bytes, unsigned count);
void native_run(const struct native_code *code, struct native_case *c);
void native_free(struct native_code *code);

#endif
