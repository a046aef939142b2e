/*
 * Waiting awake: whether looking at a socket again and again, for a moment, is better than sleeping
 * on it. Where both ends run on processors of their own it saves the wake-up, which costs more than
 * everything else about a short call; where they share one, or nobody is about to write, it only
 * burns time. There is no telling in advance, so a place that waits remembers how it went: each try
 * in vain doubles the number of waits that go to sleep at once, each that pays cuts it to a
 * quarter.
 */
#ifndef HALTER_WIRE_AWAKE_H
#define HALTER_WIRE_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

/* However long it has been in vain, one wait in so many tries again. */
#define WIRE_AWAKE_MOST 255u

/* What one place that waits has learned. Zero: nothing yet. */
struct wire_awake {
    uint32_t skip; /* so many waits are slept between two tries */
    uint32_t left; /* of those, until the next try */
};

/* Is this process allowed on more than one processor? If not, waiting awake never pays. */
bool wire_awake_possible(void);
/* Whether to stay awake for this wait; each try is followed by wire_awake_learn(). */
bool wire_awake_try(struct wire_awake *awake);
void wire_awake_learn(struct wire_awake *awake, bool paid);
/* Between two looks: lets the other thread of the processor's core get on. */
void wire_awake_pause(void);

#endif
