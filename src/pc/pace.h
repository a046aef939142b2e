/* pace.h: how long the next slice of a PC is, and how fast guest time goes in it.
 *
 * Two paces. In real time the guest follows the host's clock and never passes it: each slice brings
 * it to where the clock stood when the slice began, at the speed that the machine was measured to
 * have; what it cannot catch up with is given up. The deterministic pace is a constant. Nothing
 * here reads a clock: the caller does. */
#ifndef PC_PACE_H
#define PC_PACE_H

#include "pc.h"

struct pace {
    uint32_t icount_q16;   /* ns an instruction, in 1/65536 ns; 0: real time */
    uint64_t slice_ns;     /* the most that a slice should last */
    uint64_t insns_per_ms; /* measured, smoothed */
    uint64_t origin_ns; /* the host moment at which guest time was 0, moved by what is given up */
    uint64_t lost_ns;   /* guest time given up so far */
};

/* From here guest time goes on at `guest_ns`, when the host's clock stands at `now_ns`.
 * `icount_q16` 0 is real time. */
void pace_init(struct pace *pace, uint32_t icount_q16, uint64_t now_ns, uint64_t guest_ns);

/* The slice to run now. In real time it has no instructions when the guest is as good as on time:
 * nap until the moment pace_nap_ns names. */
struct pc_budget pace_slice(struct pace *pace, uint64_t now_ns, uint64_t guest_ns);

/* Tells what a slice took, to measure the speed. */
void pace_measure(struct pace *pace, uint64_t insns, uint64_t took_ns);

/* How long the host may sleep before the guest wants to run again, given the guest moment of its
 * next event (UINT64_MAX: none) if it is halted, or now if it is not. UINT64_MAX: until input. */
uint64_t pace_nap_ns(const struct pace *pace, uint64_t now_ns, uint64_t wanted_guest_ns);

#endif
