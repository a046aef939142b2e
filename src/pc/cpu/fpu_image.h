/* fpu_image.h: the images of the x87 environment and state in memory, for FLDENV, FNSTENV, FRSTOR
 * and FNSAVE (SDM 1 8.1.10); the public FXSAVE and FXRSTOR are in the same room. */
#ifndef HALTER_PC_CPU_FPU_IMAGE_H
#define HALTER_PC_CPU_FPU_IMAGE_H

#include "fpu.h"

unsigned fpu_environment_bytes(enum x87_layout layout); /* 14 or 28 */
void fpu_store_environment(const struct fpu *fpu, uint8_t *bytes, enum x87_layout layout);
void fpu_store_registers(const struct fpu *fpu, uint8_t *bytes);
void fpu_load_control(struct fpu *fpu, const uint8_t *bytes);
void fpu_load_environment(struct fpu *fpu, const uint8_t *bytes, enum x87_layout layout);
void fpu_load_state(struct fpu *fpu, const uint8_t *bytes, enum x87_layout layout);

#endif
