/* clock.h: guest time, and what is to happen at which moment of it.
 *
 * The machine reads no clock of the host. Guest time is counted in nanoseconds since power-on:
 * within a slice it is instructions × rate, and the host picks the rate of each slice. One queue
 * holds all that is to come, ordered by (when, sequence), so that two events of one moment come
 * in the order in which they were asked for, on every host and however the run is sliced. */
#ifndef PC_CLOCK_H
#define PC_CLOCK_H

#include "field.h"

#define CLOCK_NEVER  UINT64_MAX
#define CLOCK_EVENTS 40 /* the devices' timers, all known from power-on */

/* A timer of a device. It lives in the device; the clock links it while it is armed. */
struct clock_event {
    const char *name;
    void (*fire)(void *device); /* unarmed again when called; `when` still holds its moment */
    void *device;
    uint64_t when;     /* guest ns */
    uint64_t sequence; /* the order among equal moments */
    bool armed;
    struct clock_event *next;
};

struct clock {
    uint64_t (*insns)(const void *cpu); /* executed so far, exact also inside a port access */
    void (*hurry)(void *cpu);           /* something comes before the end of the running stretch */
    void *cpu;

    uint64_t base_ns; /* guest time when `base_insns` had been executed */
    uint64_t base_insns;
    uint32_t base_frac; /* 1/65536 ns */
    uint32_t rate_q16;  /* ns an instruction, in 1/65536 ns */
    uint64_t limit_ns;  /* the running stretch ends here; an earlier event must hurry */

    uint64_t sequence;
    struct clock_event *first;               /* the queue, soonest first */
    struct clock_event *known[CLOCK_EVENTS]; /* every event there is, in the order of clock_add */
    uint32_t known_count;
};

void clock_init(struct clock *clock, uint64_t (*insns)(const void *cpu), void (*hurry)(void *cpu),
                void *cpu);

/* Makes an event known, unarmed. Once, when the device is wired; `name` is borrowed for ever. */
void clock_add(struct clock *clock, struct clock_event *event, const char *name,
               void (*fire)(void *device), void *device);

/* Guest nanoseconds since power-on, exact to the instruction. */
uint64_t clock_now(const struct clock *clock);

/* Arms an event for `when`, or moves one that is armed. A moment that has passed comes at once,
 * but never inside this call. */
void clock_at(struct clock *clock, struct clock_event *event, uint64_t when);
void clock_cancel(struct clock *clock, struct clock_event *event);

/* ---- For pc.c, which drives the clock --------------------------------------------------- */

/* The rate from now on; the time already gone keeps the old one. 0 counts as 1. */
void clock_set_rate(struct clock *clock, uint32_t rate_q16);

/* Fires what is due by now. */
void clock_fire_due(struct clock *clock);

/* The moment of the next event, or CLOCK_NEVER. */
uint64_t clock_next(const struct clock *clock);

/* The instructions to run now: until guest time is at `until_ns` or at the next event, whichever
 * comes first, and no more than CLOCK_STRETCH. 0 when `until_ns` has come. From here to the next
 * call of any function below, an event armed for earlier calls `hurry`. */
#define CLOCK_STRETCH (UINT64_C(1) << 31)
uint64_t clock_stretch(struct clock *clock, uint64_t until_ns);

/* Moves guest time forward without executing: the processor is halted. Never backward. */
void clock_skip_to(struct clock *clock, uint64_t when);

/* The clock's own section: time, and every event's moment. clock_load rebuilds the queue and
 * says false when what came does not make one. */
uint64_t clock_bytes(const struct clock *clock);
uint64_t clock_shape(const struct clock *clock);
bool clock_save(const struct clock *clock, struct pc_writer out);
bool clock_load(struct clock *clock, struct pc_reader in);
uint64_t clock_hash(const struct clock *clock, uint64_t hash);

#endif
