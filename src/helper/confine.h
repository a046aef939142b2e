/*
 * The compartment: what a helper gives up, for good, before it reads a plugin.
 *
 * Some layers must come before the engine exists (it maps its JIT memory while it is made) and
 * some after; confine.def has them all, with what each stops and the attack that shows it.
 */
#ifndef HALTER_HELPER_CONFINE_H
#define HALTER_HELPER_CONFINE_H

#include "helper/helper.h"

#include <stdbool.h>
#include <stdint.h>

struct confinement {
    uint32_t layers;       /* in force: HALTER_LAYER_BIT(…) */
    uint32_t landlock_abi; /* 0 where the kernel has none */
    bool can_jit;          /* executable memory could be had when the engine was made */
};

/*
 * The layers that come before the engine. False, with a line on stderr, when one of the floor
 * cannot be had.
 */
bool confine_before_engine(struct confinement *confinement, const struct helper_start *start);
/* The rest. From here on the process can compute, use what it holds, and nothing else. */
bool confine_after_engine(struct confinement *confinement, const struct helper_start *start);

#endif
