/*
 * The life of one helper process, as a pure table: event × state → state and actions.
 *
 *   STARTING ──hello──► SPARE ──adopt──► OWNED      any fault or kill ──► DYING ──exited──► REAPED
 *
 * A death that the host decided on is known at once; one that it only noticed (the socket closed)
 * is known when the launcher reports how it ended. process.c performs the actions.
 */
#ifndef HALTER_HOST_PROCESS_TABLE_H
#define HALTER_HOST_PROCESS_TABLE_H

enum process_state {
    PROCESS_STARTING, /* asked of the launcher, no hello yet */
    PROCESS_SPARE,    /* confined and ready, belongs to nobody */
    PROCESS_OWNED,    /* belongs to a guest */
    PROCESS_DYING,    /* killed or closed, not reported dead yet */
    PROCESS_REAPED,   /* the launcher has reported its end, or is itself gone */
    PROCESS_STATES
};

enum process_event {
    PROCESS_EVENT_HELLO,   /* a good hello */
    PROCESS_EVENT_ADOPT,   /* a guest takes it */
    PROCESS_EVENT_KILL,    /* the host has a reason to kill it */
    PROCESS_EVENT_CLOSED,  /* its socket reached the end */
    PROCESS_EVENT_EXITED,  /* the launcher reports it dead, or could not fork it */
    PROCESS_EVENT_LOST,    /* the launcher is gone and took it along */
    PROCESS_EVENTS
};

enum process_action {
    PROCESS_OFFER = 1,    /* to a guest that waits, or to the pool */
    PROCESS_SIGKILL = 2,  /* send it */
    PROCESS_HANG_UP = 4,  /* stop listening to its socket */
    PROCESS_LINGER = 32,  /* give it a moment to be reported dead before it is killed */
    PROCESS_DECEASED = 8, /* tell its guest: the reason is known now */
    PROCESS_FINAL = 16,   /* the figures are known: report the death, then free it */
    PROCESS_WRONG = 128,  /* this event cannot come in this state: a fault of ours */
};

struct process_step {
    enum process_state next;
    unsigned actions;
};
struct process_step process_step(enum process_state state, enum process_event event);

#endif
