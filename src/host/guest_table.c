/* The life of a guest: see guest_table.h. */
#include "host/guest_table.h"

#define S(state, actions) {HALTER_GUEST_##state, (actions)}
#define WRONG(state)      {HALTER_GUEST_##state, GUEST_WRONG}

/* How a death goes on, whatever the state it struck in; `also` is what that state adds. */
#define DEATHS(also)                                                                               \
    [GUEST_EVENT_RETRY] = S(LOADING, GUEST_ACQUIRE | (also)),                                      \
    [GUEST_EVENT_BACKOFF] = S(BACKOFF, GUEST_ARM | (also)),                                        \
    [GUEST_EVENT_QUARANTINE] = S(QUARANTINED, GUEST_FAIL_QUEUE | (also))

/* A guest without a process cannot lose one. */
#define NO_PROCESS(state)                                                                          \
    [GUEST_EVENT_LOADED] = WRONG(state), [GUEST_EVENT_LOAD_ERROR] = WRONG(state),                  \
    [GUEST_EVENT_SENT] = WRONG(state), [GUEST_EVENT_ANSWERED] = WRONG(state),                      \
    [GUEST_EVENT_RETRY] = WRONG(state), [GUEST_EVENT_BACKOFF] = WRONG(state),                      \
    [GUEST_EVENT_QUARANTINE] = WRONG(state)

static const struct guest_step table[GUEST_STATES][GUEST_EVENTS] = {
    [HALTER_GUEST_LOADING] =
        {
            [GUEST_EVENT_LOADED] = S(READY, GUEST_SEND),
            [GUEST_EVENT_LOAD_ERROR] = S(FAILED, GUEST_RELEASE | GUEST_FAIL_QUEUE),
            [GUEST_EVENT_SENT] = WRONG(LOADING),
            [GUEST_EVENT_ANSWERED] = WRONG(LOADING),
            DEATHS(0),
            [GUEST_EVENT_TIMER] = WRONG(LOADING),
            [GUEST_EVENT_RESET] = WRONG(LOADING),
            [GUEST_EVENT_REPLACED] = S(READY, GUEST_SEND),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_RELEASE | GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_READY] =
        {
            [GUEST_EVENT_LOADED] = WRONG(READY),
            [GUEST_EVENT_LOAD_ERROR] = WRONG(READY),
            [GUEST_EVENT_SENT] = S(BUSY, 0),
            [GUEST_EVENT_ANSWERED] = WRONG(READY),
            DEATHS(0),
            [GUEST_EVENT_TIMER] = WRONG(READY),
            [GUEST_EVENT_RESET] = WRONG(READY),
            [GUEST_EVENT_REPLACED] = S(READY, GUEST_SEND),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_RELEASE | GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_BUSY] =
        {
            [GUEST_EVENT_LOADED] = WRONG(BUSY),
            [GUEST_EVENT_LOAD_ERROR] = WRONG(BUSY),
            [GUEST_EVENT_SENT] = WRONG(BUSY),
            [GUEST_EVENT_ANSWERED] = S(READY, GUEST_SEND),
            DEATHS(GUEST_FAIL_CALL),
            [GUEST_EVENT_TIMER] = WRONG(BUSY),
            [GUEST_EVENT_RESET] = WRONG(BUSY),
            /* A reload waits for the call in flight, so it is never replaced while busy. */
            [GUEST_EVENT_REPLACED] = WRONG(BUSY),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_RELEASE | GUEST_FAIL_CALL | GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_BACKOFF] =
        {
            NO_PROCESS(BACKOFF),
            [GUEST_EVENT_TIMER] = S(LOADING, GUEST_ACQUIRE),
            [GUEST_EVENT_RESET] = S(LOADING, GUEST_DISARM | GUEST_ACQUIRE),
            [GUEST_EVENT_REPLACED] = S(READY, GUEST_DISARM | GUEST_SEND),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_DISARM | GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_QUARANTINED] =
        {
            NO_PROCESS(QUARANTINED),
            [GUEST_EVENT_TIMER] = WRONG(QUARANTINED),
            [GUEST_EVENT_RESET] = S(LOADING, GUEST_ACQUIRE),
            [GUEST_EVENT_REPLACED] = S(READY, GUEST_SEND),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_FAILED] =
        {
            NO_PROCESS(FAILED),
            [GUEST_EVENT_TIMER] = WRONG(FAILED),
            [GUEST_EVENT_RESET] = S(LOADING, GUEST_ACQUIRE),
            [GUEST_EVENT_REPLACED] = S(READY, GUEST_SEND),
            [GUEST_EVENT_CLOSE] = S(CLOSED, GUEST_FAIL_QUEUE),
        },
    [HALTER_GUEST_CLOSED] =
        {
            NO_PROCESS(CLOSED),
            [GUEST_EVENT_TIMER] = WRONG(CLOSED),
            [GUEST_EVENT_RESET] = WRONG(CLOSED),
            [GUEST_EVENT_REPLACED] = WRONG(CLOSED),
            [GUEST_EVENT_CLOSE] = S(CLOSED, 0),
        },
};

struct guest_step guest_step(enum halter_guest_state state, enum guest_event event)
{
    return table[state][event];
}

void guest_succeeded(struct guest_record *record)
{
    record->fruitless = 0;
}

enum guest_event guest_verdict(struct guest_record *record, const struct guest_rules *rules,
                               enum halter_death_reason reason, uint32_t *delay_ms)
{
    *delay_ms = 0;
    if (reason == HALTER_DEATH_CANCELED || reason == HALTER_DEATH_KILLED ||
        reason == HALTER_DEATH_LAUNCHER)
        return GUEST_EVENT_RETRY;
    if (record->fruitless < UINT32_MAX)
        record->fruitless++;
    if (rules->quarantine_after != UINT32_MAX && record->fruitless >= rules->quarantine_after)
        return GUEST_EVENT_QUARANTINE;
    if (record->fruitless == 1)
        return GUEST_EVENT_RETRY;
    uint64_t delay = rules->backoff_min_ms;
    for (unsigned i = 2; i < record->fruitless && delay < rules->backoff_max_ms; i++)
        delay *= 2;
    *delay_ms = delay < rules->backoff_max_ms ? (uint32_t)delay : rules->backoff_max_ms;
    return GUEST_EVENT_BACKOFF;
}
