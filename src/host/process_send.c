/*
 * What goes to one helper process: frames, a plugin's source, and calls, of which it works on the
 * first. What its socket does not take at once waits in the writer.
 */
#include <string.h>
#include <time.h>

#include "host/internal.h"
#include "wire/body.h"

static int status_of(int fault)
{
    if (fault == WIRE_NO_MEMORY)
        return HALTER_ENOMEM;
    if (fault == WIRE_SYSTEM)
        return HALTER_ESYSTEM; /* nothing of it was sent */
    return 0; /* a peer that is gone is noticed by the reader, with whatever it still said */
}

int process_send(struct process *process, const struct wire_frame *header,
                 const struct iovec *parts, unsigned nparts, const int *fds)
{
    int fault = wire_writer_send(&process->writer, process->socket.fd, header, parts, nparts, fds);
    if (wire_writer_pending(&process->writer))
        host_want_write(process->host, &process->socket, true);
    return status_of(fault);
}

/* For a helper that has enough to do: the frame goes with others at the end of the dispatch. */
static int queue_frame(struct process *process, const struct wire_frame *header,
                       const struct iovec *parts, unsigned nparts, const int *fds)
{
    int status = status_of(wire_writer_queue(&process->writer, header, parts, nparts, fds));
    if (!status) {
        list_remove(&process->cork_link);
        list_append(&process->host->corked, &process->cork_link);
        host_defer(process->host);
    }
    return status;
}

int process_load(struct process *process, struct halter_guest *guest, const struct source *source)
{
    struct wire_load load = {
        .name = {guest->name, (uint32_t)strlen(guest->name)},
        .path = {guest->path, (uint32_t)strlen(guest->path)},
        .capabilities = {guest->capabilities, (uint32_t)strlen(guest->capabilities)},
        .source = {source->text, (uint32_t)source->bytes},
    };
    uint8_t fixed[WIRE_LOAD_FIXED];
    wire_load_encode(&load, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {guest->name, load.name.length},
                            {guest->path, load.path.length},
                            {guest->capabilities, load.capabilities.length},
                            {source->text, source->bytes}};
    process->host->last_call_id += 2;
    process->load_id = process->host->last_call_id | 1;
    struct wire_frame header = {.type = WIRE_LOAD, .id = process->load_id};
    int status = process_send(process, &header, parts, 5, NULL);
    if (status)
        return status;
    process_start_clocks(process, monotonic_ns(), guest->load_deadline_ms,
                 guest->wall_cap_ms > guest->load_deadline_ms ? guest->wall_cap_ms
                                                              : guest->load_deadline_ms * 2,
                 process->load_id);
    return 0;
}

struct call *process_call(const struct process *process)
{
    return process->nsent ? list_entry(process->sent.next, struct call, link) : NULL;
}

static void start_call(struct process *process, struct call *call, uint64_t now_ns)
{
    call->started_ns = now_ns;
    process->last_call = call->id;
    process_start_clocks(process, now_ns, call->deadline_ms, call->wall_cap_ms, call->id);
}

int process_send_call(struct process *process, struct call *call, const char *json)
{
    struct halter_guest *guest = process->guest;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    size_t locale_bytes = strlen(process->host->locale);
    struct wire_call body = {
        .now_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000,
        .tick = call->tick ? call->tick : guest->ticks + 1,
        .generation = process->generation,
        .deadline_ms = call->deadline_ms,
        .locale = {process->host->locale, (uint32_t)locale_bytes},
    };
    uint8_t fixed[WIRE_CALL_FIXED];
    wire_call_encode(&body, fixed);
    struct iovec parts[] = {{fixed, sizeof(fixed)},
                            {process->host->locale, locale_bytes},
                            {(void *)(uintptr_t)json, call->json_bytes}};
    struct wire_frame header = {
        .type = WIRE_CALL, .id = call->id, .nfds = (uint8_t)call->nfds};

    int status = process->nsent ? queue_frame(process, &header, parts, 3, call->fds)
                                : process_send(process, &header, parts, 3, call->fds);
    if (status)
        return status;
    if (!call->tick)
        call->tick = ++guest->ticks;
    list_append(&process->sent, &call->link);
    process->sent_bytes += call->json_bytes;
    if (process->nsent++ == 0) {
        process->host->working++;
        process->host->working_for_ns = guest->middle_ns;
        start_call(process, call, monotonic_ns());
    }
    return 0;
}

struct call *process_take_call(struct process *process, uint64_t now_ns, uint64_t *host_ns)
{
    struct call *call = process_call(process);

    *host_ns = process_settle(process, now_ns);
    list_remove(&call->link);
    process->sent_bytes -= call->json_bytes;
    if (--process->nsent)
        start_call(process, process_call(process), now_ns);
    else
        process->host->working--;
    return call;
}

void process_writable(struct process *process)
{
    int fault = wire_writer_flush(&process->writer, process->socket.fd);
    host_want_write(process->host, &process->socket, fault == WIRE_AGAIN);
}
