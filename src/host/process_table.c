/* The life of a helper process: see process_table.h. */
#include "host/process_table.h"

#define STAY(state)   {PROCESS_##state, 0}
#define WRONG(state)  {PROCESS_##state, PROCESS_WRONG}
#define KILL          {PROCESS_DYING, PROCESS_SIGKILL | PROCESS_HANG_UP | PROCESS_DECEASED}
#define CLOSED        {PROCESS_DYING, PROCESS_HANG_UP | PROCESS_LINGER}
#define GONE          {PROCESS_REAPED, PROCESS_HANG_UP | PROCESS_DECEASED | PROCESS_FINAL}

static const struct process_step table[PROCESS_STATES][PROCESS_EVENTS] = {
    [PROCESS_STARTING] =
        {
            [PROCESS_EVENT_HELLO] = {PROCESS_SPARE, PROCESS_OFFER},
            [PROCESS_EVENT_ADOPT] = WRONG(STARTING),
            [PROCESS_EVENT_KILL] = KILL,
            [PROCESS_EVENT_CLOSED] = CLOSED,
            [PROCESS_EVENT_EXITED] = GONE,
            [PROCESS_EVENT_LOST] = GONE,
        },
    [PROCESS_SPARE] =
        {
            [PROCESS_EVENT_HELLO] = WRONG(SPARE),
            [PROCESS_EVENT_ADOPT] = {PROCESS_OWNED, 0},
            [PROCESS_EVENT_KILL] = KILL,
            [PROCESS_EVENT_CLOSED] = CLOSED,
            [PROCESS_EVENT_EXITED] = GONE,
            [PROCESS_EVENT_LOST] = GONE,
        },
    [PROCESS_OWNED] =
        {
            [PROCESS_EVENT_HELLO] = WRONG(OWNED),
            [PROCESS_EVENT_ADOPT] = WRONG(OWNED),
            [PROCESS_EVENT_KILL] = KILL,
            [PROCESS_EVENT_CLOSED] = CLOSED,
            [PROCESS_EVENT_EXITED] = GONE,
            [PROCESS_EVENT_LOST] = GONE,
        },
    [PROCESS_DYING] =
        {
            [PROCESS_EVENT_HELLO] = STAY(DYING),
            [PROCESS_EVENT_ADOPT] = WRONG(DYING),
            /* It closed its socket and has not been reported dead: the host need not wait. */
            [PROCESS_EVENT_KILL] = {PROCESS_DYING, PROCESS_SIGKILL | PROCESS_DECEASED},
            [PROCESS_EVENT_CLOSED] = STAY(DYING),
            [PROCESS_EVENT_EXITED] = GONE,
            [PROCESS_EVENT_LOST] = GONE,
        },
    [PROCESS_REAPED] =
        {
            [PROCESS_EVENT_HELLO] = WRONG(REAPED),
            [PROCESS_EVENT_ADOPT] = WRONG(REAPED),
            [PROCESS_EVENT_KILL] = STAY(REAPED),
            [PROCESS_EVENT_CLOSED] = STAY(REAPED),
            [PROCESS_EVENT_EXITED] = WRONG(REAPED),
            [PROCESS_EVENT_LOST] = STAY(REAPED),
        },
};

struct process_step process_step(enum process_state state, enum process_event event)
{
    return table[state][event];
}
