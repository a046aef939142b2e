/* oracle.c: a case on both sides: the processor first, then ours. */
#include <string.h>

#include "simd_case.h"
#include "x87_case.h"

void x87_case_run(struct x87_case *c, const struct native_code *code)
{
    memset(c->native.before, 0, sizeof(c->native.before));
    fpu_fxsave(&c->before, c->native.before, true, true);
    memcpy(c->native.memory, c->memory, sizeof(c->memory));
    c->native.eflags = c->eflags;
    c->native.rax = c->rax;
    native_run(code, &c->native);

    x87_case_run_here(c);
}

void simd_case_run(struct simd_case *c, const struct native_code *code)
{
    memset(c->native.before, 0, sizeof(c->native.before));
    fpu_fxsave(&c->before, c->native.before, true, true);
    memcpy(c->native.memory, c->memory, sizeof(c->memory));
    c->native.eflags = c->eflags;
    c->native.rax = c->rax;
    native_run(code, &c->native);

    simd_case_run_here(c);
}
