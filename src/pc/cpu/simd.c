/* simd.c: simd.def as a table, for decoders and tests. */
#include "simd.h"

#define SIMD(prefix, opcode, reg, name, dst, src, bytes, aligned, imm, level, function)            \
    {#name,   function, SIMD_##prefix,     opcode, reg, SIMD_##dst, SIMD_##src, bytes,             \
     aligned, imm,      SIMD_LEVEL_##level},

const struct simd_form simd_forms[] = {
#include "simd.def"
};
#undef SIMD

const unsigned simd_form_count = sizeof(simd_forms) / sizeof(simd_forms[0]);
