/* pace.c: see pace.h. */
#include "pace.h"

#define SLICE_NS      8000000
#define SLICE_LEAST   1000000
#define LAG_LEAST     500000    /* a shorter lag is not worth a slice */
#define LAG_MOST      100000000 /* what lies further back is given up */
#define CATCH_UP      4         /* guest time goes at most so many times faster than the clock */
#define SLOWEST_NS    600       /* of an instruction: a kernel may get lost in longer ones */
#define ICOUNT_INSNS  2000000   /* of a deterministic slice: its length changes nothing */
#define MEASURE_INSNS 10000
#define MEASURE_NS    10000
#define FIRST_GUESS   50000 /* instructions a millisecond */

void pace_init(struct pace *pace, uint32_t icount_q16, uint64_t now_ns, uint64_t guest_ns)
{
    *pace = (struct pace){
        .icount_q16 = icount_q16,
        .slice_ns = SLICE_NS,
        .insns_per_ms = FIRST_GUESS,
        .origin_ns = now_ns - guest_ns, /* may lie before the clock's beginning: it wraps */
    };
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Slices grow with the lag, twice it, so that they reach their full length in a few steps and the
 * guest's second stays a second: rate × speed is the lag over the slice. */
static struct pc_budget real_time(struct pace *pace, uint64_t now_ns, uint64_t guest_ns)
{
    uint64_t target = now_ns - pace->origin_ns, lag = target > guest_ns ? target - guest_ns : 0;
    uint64_t slice, insns, rate, fastest;

    if (lag < LAG_LEAST)
        return (struct pc_budget){.until_ns = guest_ns, .ns_per_insn_q16 = 1};
    if (lag > LAG_MOST) {
        pace->lost_ns += lag - LAG_MOST;
        pace->origin_ns += lag - LAG_MOST;
        target -= lag - LAG_MOST;
        lag = LAG_MOST;
    }
    slice = clamp(2 * lag, SLICE_LEAST, pace->slice_ns);
    insns = pace->insns_per_ms * slice / 1000000 + 1;
    rate = (lag << 16) / insns;
    fastest = ((uint64_t)CATCH_UP << 16) * 1000000 / pace->insns_per_ms;
    fastest = clamp(fastest, 1, (uint64_t)SLOWEST_NS << 16);
    return (struct pc_budget){
        .max_insns = insns,
        .until_ns = target,
        .ns_per_insn_q16 = (uint32_t)clamp(rate, 1, fastest),
    };
}

struct pc_budget pace_slice(struct pace *pace, uint64_t now_ns, uint64_t guest_ns)
{
    if (!pace->icount_q16)
        return real_time(pace, now_ns, guest_ns);
    return (struct pc_budget){
        .max_insns = ICOUNT_INSNS,
        .until_ns = UINT64_MAX,
        .ns_per_insn_q16 = pace->icount_q16,
    };
}

/* Whatever is long enough to be measured: a guess far too low makes slices short, and it must be
 * able to grow from them. */
void pace_measure(struct pace *pace, uint64_t insns, uint64_t took_ns)
{
    if (insns < MEASURE_INSNS || took_ns < MEASURE_NS)
        return;
    uint64_t now = clamp(insns * 1000000 / took_ns, 1000, 100000000);
    pace->insns_per_ms = (3 * pace->insns_per_ms + now) / 4;
}

uint64_t pace_nap_ns(const struct pace *pace, uint64_t now_ns, uint64_t wanted_guest_ns)
{
    uint64_t guest_now = now_ns - pace->origin_ns;

    if (wanted_guest_ns == UINT64_MAX)
        return UINT64_MAX;
    if (wanted_guest_ns + LAG_LEAST > guest_now)
        return wanted_guest_ns + LAG_LEAST - guest_now;
    return 0;
}
