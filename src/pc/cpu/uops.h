/*
 * The numbers of the micro-ops: those inline in ops.inc first, then the operations out of line.
 */
#ifndef PC_CPU_UOPS_H
#define PC_CPU_UOPS_H

#include "pc/cpu/state.h"

enum uop_code {
#define UOP(name) OP_##name,
#include "pc/cpu/uops.def"
#undef UOP
    OP_FIRST_HELPER,
    OP_BEFORE_HELPERS = OP_FIRST_HELPER - 1,
#define HELPER(name) OP_H_##name,
#include "pc/cpu/helpers.def"
#undef HELPER
    OP_COUNT
};

#define HELPER(name) enum op_status h_##name(struct cpu *cpu, const struct uop *u);
#include "pc/cpu/helpers.def"
#undef HELPER

typedef enum op_status op_function(struct cpu *cpu, const struct uop *u);

/* The order of ModRM.reg in C0-D3; SAR twice because /6 is an old name of SHL. */
enum shift_kind { SHIFT_rol, SHIFT_ror, SHIFT_rcl, SHIFT_rcr, SHIFT_shl, SHIFT_shr, SHIFT_sar = 7 };

#endif
