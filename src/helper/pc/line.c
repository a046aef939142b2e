/* line.c: the PC's serial ports as streams of frames, under credit in both directions.
 *
 * A guest that prints more than the host takes waits, as on a serial line; what the host sends
 * beyond what the guest reads stays here, up to the window that it was granted. The script types on
 * the first port. */
#include "server.h"

#include <string.h>

#include "wire/body.h"

void lines_init(struct server *server)
{
    for (unsigned i = 0; i < LINES; i++)
        wire_stream_in_init(&server->line[i].in, IN_BYTES);
    server->line[0].connected = true;
}

static void push_input(struct server *server, unsigned port)
{
    struct line *line = &server->line[port];

    while (line->input_count) {
        size_t run = IN_BYTES - line->input_start;
        run = run < line->input_count ? run : line->input_count;
        size_t taken = pc_console_in(server->runner.pc, port, line->input + line->input_start, run);
        if (!taken)
            break;
        line->input_start = (line->input_start + taken) % IN_BYTES;
        line->input_count -= taken;
        wire_stream_consumed(&line->in, (uint32_t)taken);
    }
}

/* The keys of a script go onto the wire at the very instruction that completed the text, so that a
 * scripted run in deterministic time is the same each time. */
static void push_keys(struct server *server)
{
    const struct script_step *step = server->sending;

    if (!step)
        return;
    server->sent += pc_console_in(server->runner.pc, 0, (const uint8_t *)step->send + server->sent,
                                  step->send_length - server->sent);
    if (server->sent == step->send_length)
        server->sending = NULL;
}

void script_type(struct server *server, const struct script_step *step)
{
    if (!step || !step->sends)
        return;
    server->sending = step;
    server->sent = 0;
    push_keys(server);
}

void line_output(void *opaque, unsigned port, uint8_t byte)
{
    struct server *server = opaque;
    struct line *line = &server->line[port];

    if (!line->connected)
        return;
    if (line->output_count < OUT_BYTES)
        line->output[line->output_count++] = byte;
    if (port == 0)
        script_type(server, script_see(&server->script, byte));
    if (script_over(&server->script) || line->output_count >= OUT_HIGH)
        pc_pause(server->runner.pc);
}

bool lines_flush(struct server *server)
{
    bool full = false;

    for (unsigned i = 0; i < LINES; i++) {
        struct line *line = &server->line[i];
        size_t done = 0;
        uint32_t bytes;

        while ((bytes = wire_stream_may_send(&line->out, (uint32_t)(line->output_count - done)))) {
            server_send(server, WIRE_DATA, (uint16_t)(i + 1), 0, line->output + done, bytes);
            wire_stream_sent(&line->out, bytes);
            done += bytes;
        }
        memmove(line->output, line->output + done, line->output_count - done);
        line->output_count -= done;
        full |= line->output_count >= OUT_HIGH;
    }
    return full;
}

bool lines_empty(const struct server *server)
{
    for (unsigned i = 0; i < LINES; i++)
        if (server->line[i].output_count)
            return false;
    return true;
}

void lines_feed(struct server *server)
{
    push_keys(server);
    for (unsigned i = 0; i < LINES; i++) {
        struct line *line = &server->line[i];

        if (!line->connected)
            continue;
        if (i > 0 || !server->sending)
            push_input(server, i);
        uint32_t grant = wire_stream_grant(&line->in);
        uint8_t body[4] = {(uint8_t)grant, (uint8_t)(grant >> 8), (uint8_t)(grant >> 16),
                           (uint8_t)(grant >> 24)};
        if (grant)
            server_send(server, WIRE_CREDIT, (uint16_t)(i + 1), 0, body, sizeof(body));
    }
}

/* ---- frames -----------------------------------------------------------------------------------
 */

static struct line *line_of(struct server *server, const struct wire_frame *frame)
{
    if (frame->stream < 1 || frame->stream > LINES || !server->line[frame->stream - 1].connected)
        server_breach("a stream that is none");
    return &server->line[frame->stream - 1];
}

void line_data(struct server *server, const struct wire_frame *frame)
{
    struct line *line = line_of(server, frame);

    if (!wire_stream_arrived(&line->in, frame->length) ||
        frame->length > IN_BYTES - line->input_count)
        server_breach("input beyond its credit");
    for (uint32_t i = 0; i < frame->length; i++)
        line->input[(line->input_start + line->input_count++) % IN_BYTES] = frame->body[i];
}

void line_credited(struct server *server, const struct wire_frame *frame)
{
    const uint8_t *b = frame->body;
    uint32_t more = frame->length != 4
                        ? 0
                        : b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;

    if (!wire_stream_credited(&line_of(server, frame)->out, more))
        server_breach("credit that is none");
}
