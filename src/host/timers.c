/* Timers: see timers.h. */
#include "host/timers.h"

#include <assert.h>
#include <stdlib.h>

void timers_init(struct timers *timers)
{
    *timers = (struct timers){0};
}

void timers_finish(struct timers *timers)
{
    free(timers->heap);
    timers_init(timers);
}

int timers_reserve(struct timers *timers, size_t count)
{
    if (count < timers->capacity)
        return 0;
    size_t capacity = timers->capacity ? timers->capacity : 16;
    while (capacity <= count)
        capacity *= 2;
    struct timer **heap = realloc(timers->heap, capacity * sizeof(*heap));
    if (!heap)
        return -1;
    timers->heap = heap;
    timers->capacity = capacity;
    return 0;
}

static void place(struct timers *timers, struct timer *timer, size_t index)
{
    timers->heap[index] = timer;
    timer->index = index;
}

static void rise(struct timers *timers, struct timer *timer)
{
    size_t at = timer->index;
    while (at > 1 && timers->heap[at / 2]->when_ns > timer->when_ns) {
        place(timers, timers->heap[at / 2], at);
        at /= 2;
    }
    place(timers, timer, at);
}

static void sink(struct timers *timers, struct timer *timer)
{
    size_t at = timer->index;
    for (;;) {
        size_t child = 2 * at;
        if (child > timers->count)
            break;
        if (child < timers->count &&
            timers->heap[child + 1]->when_ns < timers->heap[child]->when_ns)
            child++;
        if (timers->heap[child]->when_ns >= timer->when_ns)
            break;
        place(timers, timers->heap[child], at);
        at = child;
    }
    place(timers, timer, at);
}

void timer_arm(struct timers *timers, struct timer *timer, uint64_t when_ns)
{
    assert(when_ns != 0);
    if (!timer->index) {
        assert(timers->count + 1 < timers->capacity);
        place(timers, timer, ++timers->count);
    }
    timer->when_ns = when_ns;
    rise(timers, timer);
    sink(timers, timer);
}

void timer_cancel(struct timers *timers, struct timer *timer)
{
    if (!timer->index)
        return;
    struct timer *last = timers->heap[timers->count--];
    if (last != timer) {
        place(timers, last, timer->index);
        rise(timers, last);
        sink(timers, last);
    }
    timer->index = 0;
    timer->when_ns = 0;
}

uint64_t timers_next(const struct timers *timers)
{
    return timers->count ? timers->heap[1]->when_ns : 0;
}

unsigned timers_run(struct timers *timers, uint64_t now_ns)
{
    unsigned fired = 0;
    while (timers->count && timers->heap[1]->when_ns <= now_ns) {
        struct timer *timer = timers->heap[1];
        timer_cancel(timers, timer);
        timer->fire(timer, now_ns);
        fired++;
    }
    return fired;
}
