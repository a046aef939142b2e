/*
 * A PC's serial ports: each a stream under credit in both directions. The application takes output
 * in its callback, or holds it back, and the guest then waits as on a serial line.
 */
#include "host/pc.h"

#define WINDOW (64u << 10) /* of output: what may be under way */

void pc_lines_init(struct halter_pc *pc)
{
    for (unsigned i = 0; i < PC_PORTS; i++) {
        pc->port[i].in = (struct wire_stream_out){0};
        wire_stream_in_init(&pc->port[i].out, WINDOW);
    }
}

static void grant(struct halter_pc *pc, unsigned i)
{
    struct pc_port *port = &pc->port[i];
    bool takes = (port->fn || i == 0) && !port->held && pc->loaded && pc->process;
    uint32_t more = takes ? wire_stream_grant(&port->out) : 0;
    uint8_t body[4] = {(uint8_t)more, (uint8_t)(more >> 8), (uint8_t)(more >> 16),
                       (uint8_t)(more >> 24)};

    if (more && pc_send(pc, WIRE_CREDIT, (uint16_t)(i + 1), 0, body, sizeof(body)) != 0)
        process_condemn(pc->process, HALTER_DEATH_KILLED, "no memory in the host for its console");
}

void pc_lines_grant(struct halter_pc *pc)
{
    for (unsigned i = 0; i < PC_PORTS; i++)
        grant(pc, i);
}

static struct pc_port *port_of(struct halter_pc *pc, const struct wire_frame *frame)
{
    unsigned i = frame->stream - 1u;

    if (i >= PC_PORTS || (i > 0 && !pc->port[i].fn))
        return NULL;
    return &pc->port[i];
}

void pc_line_data(struct halter_pc *pc, const struct wire_frame *frame)
{
    struct pc_port *port = port_of(pc, frame);

    if (!port || !wire_stream_arrived(&port->out, frame->length)) {
        process_kill(pc->process, HALTER_DEATH_PROTOCOL, "console output beyond its credit");
        return;
    }
    if (port->fn) {
        host_enter(pc->host);
        port->fn(pc, frame->body, frame->length, pc->data);
        host_leave(pc->host);
    }
    wire_stream_consumed(&port->out, frame->length);
    if (!pc->closing)
        grant(pc, frame->stream - 1u);
}

void pc_line_credited(struct halter_pc *pc, const struct wire_frame *frame)
{
    struct pc_port *port = port_of(pc, frame);
    const uint8_t *b = frame->body;
    uint32_t more = frame->length != 4
                        ? 0
                        : b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;

    if (!port || !wire_stream_credited(&port->in, more))
        process_kill(pc->process, HALTER_DEATH_PROTOCOL, "credit that is none");
    else
        pc->host->progress++; /* who waits for room in the line looks again */
}

/* ---- by hand ------------------------------------------------------------------------------------
 */

long halter_pc_send_port(struct halter_pc *pc, enum halter_pc_port number, const void *bytes,
                         size_t count)
{
    if (!pc || (unsigned)number >= PC_PORTS || (!bytes && count))
        return HALTER_EINVAL;
    if (pc->closing || pc->ended)
        return HALTER_ECLOSED;
    struct pc_port *port = &pc->port[number];
    size_t done = 0;
    while (pc->loaded && pc->process && done < count) {
        uint32_t left = count - done < UINT32_MAX ? (uint32_t)(count - done) : UINT32_MAX;
        uint32_t part = wire_stream_may_send(&port->in, left);
        if (!part || pc_send(pc, WIRE_DATA, (uint16_t)(number + 1), 0, (const char *)bytes + done,
                             part) != 0)
            break;
        wire_stream_sent(&port->in, part);
        done += part;
    }
    return (long)done;
}

long halter_pc_send(struct halter_pc *pc, const void *bytes, size_t count)
{
    return halter_pc_send_port(pc, HALTER_PC_CONSOLE, bytes, count);
}

size_t halter_pc_room_port(const struct halter_pc *pc, enum halter_pc_port number)
{
    if (!pc || (unsigned)number >= PC_PORTS || !pc->loaded || pc->ended)
        return 0;
    return pc->port[number].in.credit;
}

size_t halter_pc_room(const struct halter_pc *pc)
{
    return halter_pc_room_port(pc, HALTER_PC_CONSOLE);
}

void halter_pc_hold_port(struct halter_pc *pc, enum halter_pc_port number, bool hold)
{
    if (!pc || (unsigned)number >= PC_PORTS || pc->ended)
        return;
    pc->port[number].held = hold;
    if (!hold)
        grant(pc, (unsigned)number);
}

void halter_pc_hold(struct halter_pc *pc, bool hold)
{
    halter_pc_hold_port(pc, HALTER_PC_CONSOLE, hold);
}
