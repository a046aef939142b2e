/*
 * Credit for one stream of DATA: how much each side may still send. The receiver grants bytes in
 * CREDIT frames as it consumes them, the sender never has more under way than it was granted, so
 * neither side ever buffers more of a stream than its window. See docs/protocol.md, "Streams".
 */
#ifndef HALTER_WIRE_STREAM_H
#define HALTER_WIRE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_STREAM_MAX_WINDOW (1u << 30) /* credit that may be outstanding, bytes */

/* The sending end. */
struct wire_stream_out {
    uint32_t credit; /* bytes that may still be sent */
    bool ended;      /* END was sent */
};

/* The receiving end. */
struct wire_stream_in {
    uint32_t window;  /* bytes it is willing to hold */
    uint32_t granted; /* of them, the peer may still send */
    uint32_t held;    /* arrived and not yet consumed */
    bool ended;       /* END has arrived */
};

/* How many of `wanted` bytes one DATA frame may carry now; 0: wait for CREDIT. */
uint32_t wire_stream_may_send(const struct wire_stream_out *out, uint32_t wanted);
/* A DATA frame of `bytes` was sent. False, and nothing changed, when that was not allowed. */
bool wire_stream_sent(struct wire_stream_out *out, uint32_t bytes);
/* A CREDIT frame arrived. False: it grants nothing or too much, and the peer is at fault. */
bool wire_stream_credited(struct wire_stream_out *out, uint32_t bytes);

/* Starts with nothing granted: the first wire_stream_grant gives the whole window. */
void wire_stream_in_init(struct wire_stream_in *in, uint32_t window);
/* A DATA frame arrived. False: it is empty, beyond its credit or behind END: a fault. */
bool wire_stream_arrived(struct wire_stream_in *in, uint32_t bytes);
/* END arrived. False: for the second time. */
bool wire_stream_in_end(struct wire_stream_in *in);
/* `bytes` of what was held have been consumed. */
void wire_stream_consumed(struct wire_stream_in *in, uint32_t bytes);
/*
 * The credit to send now, 0 for none yet: it waits until half the window is free, so that a slow
 * reader does not answer each DATA frame with a CREDIT of a few bytes. Counts as granted.
 */
uint32_t wire_stream_grant(struct wire_stream_in *in);

#endif
