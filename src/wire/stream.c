/*
 * The arithmetic of stream.h: three counters that never go below zero or above a window.
 */
#include "wire/stream.h"

#define LARGEST_DATA 65536u /* the largest DATA frame, as frame.def has it */

uint32_t wire_stream_may_send(const struct wire_stream_out *out, uint32_t wanted)
{
    if (out->ended)
        return 0;
    uint32_t most = out->credit < LARGEST_DATA ? out->credit : LARGEST_DATA;
    return wanted < most ? wanted : most;
}

bool wire_stream_sent(struct wire_stream_out *out, uint32_t bytes)
{
    if (!bytes || bytes != wire_stream_may_send(out, bytes))
        return false;
    out->credit -= bytes;
    return true;
}

bool wire_stream_credited(struct wire_stream_out *out, uint32_t bytes)
{
    if (!bytes || bytes > WIRE_STREAM_MAX_WINDOW - out->credit)
        return false;
    out->credit += bytes;
    return true;
}

void wire_stream_in_init(struct wire_stream_in *in, uint32_t window)
{
    *in = (struct wire_stream_in){
        .window = window < WIRE_STREAM_MAX_WINDOW ? window : WIRE_STREAM_MAX_WINDOW,
    };
}

bool wire_stream_arrived(struct wire_stream_in *in, uint32_t bytes)
{
    if (in->ended || !bytes || bytes > in->granted)
        return false;
    in->granted -= bytes;
    in->held += bytes;
    return true;
}

bool wire_stream_in_end(struct wire_stream_in *in)
{
    bool first = !in->ended;
    in->ended = true;
    return first;
}

void wire_stream_consumed(struct wire_stream_in *in, uint32_t bytes)
{
    in->held -= bytes < in->held ? bytes : in->held;
}

uint32_t wire_stream_grant(struct wire_stream_in *in)
{
    uint32_t unclaimed = in->window - in->granted - in->held;
    if (in->ended || unclaimed == 0 || unclaimed < (in->window + 1) / 2)
        return 0;
    in->granted += unclaimed;
    return unclaimed;
}
