/*
 * The life of a guest, as a pure table: event × state → state and actions; and, apart from it, the
 * rule that makes of a death a retry, a backoff or a quarantine.
 *
 *   LOADING ──loaded──► READY ◄──answered── BUSY
 *      ▲ │                └──────sent─────────▲
 *      │ └─load error─► FAILED
 *      └── any death, at once or after BACKOFF; too many without an answer: QUARANTINED
 *
 * The states are those of enum halter_guest_state; guest.c performs the actions.
 */
#ifndef HALTER_HOST_GUEST_TABLE_H
#define HALTER_HOST_GUEST_TABLE_H

#include "halter/halter.h"

enum guest_event {
    GUEST_EVENT_LOADED,     /* its process has loaded the source */
    GUEST_EVENT_LOAD_ERROR, /* the source does not load */
    GUEST_EVENT_SENT,       /* a call went to the process */
    GUEST_EVENT_ANSWERED,   /* and was answered */
    GUEST_EVENT_RETRY,      /* its process died: guest_verdict() says try again at once, */
    GUEST_EVENT_BACKOFF,    /* ... later, */
    GUEST_EVENT_QUARANTINE, /* ... or not at all */
    GUEST_EVENT_TIMER,      /* the backoff is over */
    GUEST_EVENT_RESET,      /* by hand */
    GUEST_EVENT_REPLACED,   /* a reload has a loaded process, which is now the guest's */
    GUEST_EVENT_CLOSE,
    GUEST_EVENTS
};

enum guest_action {
    GUEST_ACQUIRE = 1,      /* get a process and load the source in it */
    GUEST_FAIL_CALL = 2,    /* the call in flight fails, with the death */
    GUEST_FAIL_QUEUE = 4,   /* the queued calls fail */
    GUEST_SEND = 8,         /* send the next queued call, if there is one */
    GUEST_ARM = 16,         /* the backoff timer */
    GUEST_DISARM = 32,
    GUEST_RELEASE = 64,     /* kill the process, if there is one */
    GUEST_WRONG = 128,      /* this event cannot come in this state: a fault of ours */
};

struct guest_step {
    enum halter_guest_state next;
    unsigned actions;
};
#define GUEST_STATES (HALTER_GUEST_FAILED + 1)
struct guest_step guest_step(enum halter_guest_state state, enum guest_event event);

/* What a guest remembers of its deaths. */
struct guest_record {
    unsigned fruitless; /* deaths in a row with no call answered in between */
};
struct guest_rules {
    uint32_t backoff_min_ms, backoff_max_ms, quarantine_after;
};
/* A call was answered. */
void guest_succeeded(struct guest_record *record);
/*
 * Its process died. Returns RETRY, BACKOFF (with *delay_ms) or QUARANTINE. Deaths that the
 * application wanted (canceled, killed) or the launcher caused do not count, and restart at once.
 */
enum guest_event guest_verdict(struct guest_record *record, const struct guest_rules *rules,
                               enum halter_death_reason reason, uint32_t *delay_ms);

#endif
