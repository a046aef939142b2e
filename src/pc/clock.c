/* clock.c: see clock.h.
 *
 * Time is a line through (base_insns, base_ns) with the slice's rate as its slope. The base keeps
 * 1/65536 ns, so that cutting a slice in two at any instruction gives the same time afterwards:
 * floor((a + b) · rate) is reached through floor(a · rate) without loss. */
#include "clock.h"

#include <string.h>

void clock_init(struct clock *clock, uint64_t (*insns)(const void *cpu), void (*hurry)(void *cpu),
                void *cpu)
{
    memset(clock, 0, sizeof *clock);
    clock->insns = insns;
    clock->hurry = hurry;
    clock->cpu = cpu;
    clock->rate_q16 = 1;
}

void clock_add(struct clock *clock, struct clock_event *event, const char *name,
               void (*fire)(void *device), void *device)
{
    *event = (struct clock_event){.name = name, .fire = fire, .device = device};
    if (clock->known_count == CLOCK_EVENTS)
        __builtin_trap(); /* a machine with more timers than the table: a fault of pc.c's wiring */
    clock->known[clock->known_count++] = event;
}

/* 1/65536 ns since base_ns. CLOCK_STRETCH × the largest rate leaves this a bit to spare. */
static uint64_t elapsed_q16(const struct clock *clock)
{
    uint64_t insns = clock->insns(clock->cpu) - clock->base_insns;

    return insns * clock->rate_q16 + clock->base_frac;
}

uint64_t clock_now(const struct clock *clock)
{
    return clock->base_ns + (elapsed_q16(clock) >> 16);
}

static void unlink_event(struct clock *clock, struct clock_event *event)
{
    struct clock_event **at = &clock->first;

    while (*at != event)
        at = &(*at)->next;
    *at = event->next;
    event->next = NULL;
    event->armed = false;
}

static bool comes_before(const struct clock_event *a, const struct clock_event *b)
{
    return a->when != b->when ? a->when < b->when : a->sequence < b->sequence;
}

static void link_event(struct clock *clock, struct clock_event *event)
{
    struct clock_event **at = &clock->first;

    while (*at && comes_before(*at, event))
        at = &(*at)->next;
    event->next = *at;
    *at = event;
    event->armed = true;
}

void clock_at(struct clock *clock, struct clock_event *event, uint64_t when)
{
    if (event->armed)
        unlink_event(clock, event);
    event->when = when;
    event->sequence = clock->sequence++;
    link_event(clock, event);
    if (when < clock->limit_ns) {
        clock->limit_ns = when;
        clock->hurry(clock->cpu);
    }
}

void clock_cancel(struct clock *clock, struct clock_event *event)
{
    if (event->armed)
        unlink_event(clock, event);
}

/* Moves the base of the line to here. Nothing runs now that could be late. */
static void rebase(struct clock *clock)
{
    clock->limit_ns = 0;

    uint64_t elapsed = elapsed_q16(clock);

    clock->base_ns += elapsed >> 16;
    clock->base_frac = (uint32_t)elapsed & 0xffff;
    clock->base_insns = clock->insns(clock->cpu);
}

void clock_set_rate(struct clock *clock, uint32_t rate_q16)
{
    rebase(clock);
    clock->rate_q16 = rate_q16 ? rate_q16 : 1;
}

void clock_fire_due(struct clock *clock)
{
    rebase(clock);

    uint64_t now = clock->base_ns;

    /* What an event arms for now or earlier comes in the same round, in order. */
    while (clock->first && clock->first->when <= now) {
        struct clock_event *event = clock->first;

        unlink_event(clock, event);
        event->fire(event->device);
    }
}

uint64_t clock_next(const struct clock *clock)
{
    return clock->first ? clock->first->when : CLOCK_NEVER;
}

uint64_t clock_stretch(struct clock *clock, uint64_t until_ns)
{
    uint64_t insns;

    rebase(clock);
    if (clock_next(clock) < until_ns)
        until_ns = clock_next(clock);
    if (until_ns <= clock->base_ns)
        return 0;
    clock->limit_ns = until_ns;
    if (until_ns - clock->base_ns >= UINT64_C(1) << 46) /* the shift keeps its bits: 19 hours */
        until_ns = clock->base_ns + (UINT64_C(1) << 46);
    insns = ((until_ns - clock->base_ns) << 16) - clock->base_frac;
    insns = (insns + clock->rate_q16 - 1) / clock->rate_q16;
    return insns < CLOCK_STRETCH ? insns : CLOCK_STRETCH;
}

void clock_skip_to(struct clock *clock, uint64_t when)
{
    rebase(clock);
    if (when <= clock->base_ns)
        return;
    clock->base_ns = when;
    clock->base_frac = 0;
}

/* ---- The section of a snapshot ----------------------------------------------------------- */

static const struct pc_field clock_fields[] = {
    FIELD(struct clock, base_ns),  FIELD(struct clock, base_insns), FIELD(struct clock, base_frac),
    FIELD(struct clock, rate_q16), FIELD(struct clock, sequence),   FIELD_END,
};

static const struct pc_field event_fields[] = {
    FIELD(struct clock_event, armed),
    FIELD(struct clock_event, when),
    FIELD(struct clock_event, sequence),
    FIELD_END,
};

bool clock_save(const struct clock *clock, struct pc_writer out)
{
    if (!fields_save(clock_fields, clock, out))
        return false;
    for (uint32_t i = 0; i < clock->known_count; i++)
        if (!fields_save(event_fields, clock->known[i], out))
            return false;
    return true;
}

uint64_t clock_bytes(const struct clock *clock)
{
    return fields_bytes(clock_fields) + clock->known_count * fields_bytes(event_fields);
}

uint64_t clock_shape(const struct clock *clock)
{
    uint64_t hash = fields_shape(clock_fields);

    for (uint32_t i = 0; i < clock->known_count; i++)
        hash = hash_bytes(hash, clock->known[i]->name, strlen(clock->known[i]->name));
    return hash;
}

bool clock_load(struct clock *clock, struct pc_reader in)
{
    clock->first = NULL;
    for (uint32_t i = 0; i < clock->known_count; i++) {
        clock->known[i]->armed = false;
        clock->known[i]->next = NULL;
    }
    if (!fields_load(clock_fields, clock, in) || clock->base_frac > 0xffff || !clock->rate_q16)
        return false;
    for (uint32_t i = 0; i < clock->known_count; i++) {
        struct clock_event *event = clock->known[i];

        if (!fields_load(event_fields, event, in))
            return false;
        /* Linking must not meet an event that is armed but not in the queue. */
        bool armed = event->armed;
        event->armed = false;
        if (armed)
            link_event(clock, event);
    }
    return true;
}

/* The hash is of what will happen, not of how it is written down: time now, the fraction, and
 * the moments in their order. Unarmed events have no moment. */
uint64_t clock_hash(const struct clock *clock, uint64_t hash)
{
    hash = hash_u64(hash, clock_now(clock));
    hash = hash_u64(hash, elapsed_q16(clock) & 0xffff);
    for (const struct clock_event *event = clock->first; event; event = event->next) {
        hash = hash_bytes(hash, event->name, strlen(event->name));
        hash = hash_u64(hash, event->when);
    }
    return hash;
}
