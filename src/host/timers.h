/*
 * Timers: a binary heap of monotonic times, each embedded in what it is about. Nothing here reads a
 * clock: the caller says what time it is, so that tests can.
 */
#ifndef HALTER_HOST_TIMERS_H
#define HALTER_HOST_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timer {
    uint64_t when_ns; /* CLOCK_MONOTONIC; 0 is unarmed */
    size_t index;     /* in the heap, from 1; 0 is unarmed */
    void (*fire)(struct timer *timer, uint64_t now_ns);
};

struct timers {
    struct timer **heap; /* heap[1] is the earliest */
    size_t count, capacity;
};

void timers_init(struct timers *timers);
void timers_finish(struct timers *timers);
/*
 * Room for `count` timers in all, so that arming never fails. 0 or -1 (no memory). Whoever makes a
 * thing with timers in it reserves for them first.
 */
int timers_reserve(struct timers *timers, size_t count);
/* Arms or re-arms. */
void timer_arm(struct timers *timers, struct timer *timer, uint64_t when_ns);
/* Does nothing to an unarmed one. */
void timer_cancel(struct timers *timers, struct timer *timer);
/* When the earliest is due, or 0. */
uint64_t timers_next(const struct timers *timers);
/* Fires what is due at now_ns; a timer is unarmed before it fires. Returns how many. */
unsigned timers_run(struct timers *timers, uint64_t now_ns);

#endif
