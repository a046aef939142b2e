/*
 * What the application is told without having asked: events, and among them the lines that plugins
 * log and helpers write to their standard error, made safe for a terminal and limited in rate.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

#define SECOND_NS 1000000000ull

/* ---- emitting ------------------------------------------------------------------------------------ */

struct deferred_event {
    struct list link;
    struct halter_event event;
    char texts[]; /* name and text */
};

static void keep(struct halter_host *host, const struct halter_event *event)
{
    size_t name = event->name ? strlen(event->name) + 1 : 0;
    size_t text = event->text ? strlen(event->text) + 1 : 0;
    struct deferred_event *kept = malloc(sizeof(*kept) + name + text);

    if (!kept)
        return;
    kept->event = *event;
    if (name)
        kept->event.name = memcpy(kept->texts, event->name, name);
    if (text)
        kept->event.text = memcpy(kept->texts + name, event->text, text);
    list_append(&host->events, &kept->link);
    host_defer(host);
}

void event_emit(struct halter_host *host, struct halter_event *event)
{
    if (!host->on_event)
        return;
    /* Only denials come about outside a dispatch or inside a callback: they carry texts alone. */
    if (!host->dispatching || host->depth) {
        keep(host, event);
        return;
    }
    host_enter(host);
    host->on_event(host, event, host->data);
    host_leave(host);
}

void events_run_deferred(struct halter_host *host)
{
    while (!list_empty(&host->events)) {
        struct deferred_event *kept = list_entry(host->events.next, struct deferred_event, link);
        list_remove(&kept->link);
        event_emit(host, &kept->event);
        free(kept);
    }
}

void events_forget(struct halter_host *host, const struct halter_guest *guest)
{
    list_for_each(node, &host->events) {
        struct deferred_event *kept = list_entry(node, struct deferred_event, link);
        if (guest && kept->event.guest != guest)
            continue;
        list_remove(node);
        free(kept);
    }
}

/* ---- lines and their rate --------------------------------------------------------------------------- */

static void report_dropped(struct timer *timer, uint64_t now_ns)
{
    struct halter_guest *guest = list_entry(timer, struct halter_guest, dropped_report);
    struct halter_event event = {
        .type = HALTER_EVENT_DROPPED, .guest = guest, .count = guest->rate.dropped};

    (void)now_ns;
    guest->rate.dropped = 0;
    if (event.count)
        event_emit(guest->host, &event);
}

void rate_init(struct rate *rate, uint32_t per_second)
{
    *rate = (struct rate){
        .per_second = per_second, .tokens_ns = SECOND_NS, .refilled_ns = monotonic_ns()};
}

void guest_rate_init(struct halter_guest *guest, uint32_t lines_per_second)
{
    rate_init(&guest->rate, lines_per_second);
    guest->dropped_report.fire = report_dropped;
}

/* A second's worth may come in a burst. */
bool rate_may_pass(struct rate *rate)
{
    uint64_t cost = SECOND_NS / rate->per_second, now = monotonic_ns();

    /* Each time: credit that is only added when it has run out would be a second burst. */
    rate->tokens_ns += now - rate->refilled_ns;
    rate->refilled_ns = now;
    if (rate->tokens_ns > SECOND_NS)
        rate->tokens_ns = SECOND_NS;
    if (rate->tokens_ns < cost)
        return false;
    rate->tokens_ns -= cost;
    return true;
}

void event_dropped(struct halter_guest *guest, uint64_t lines)
{
    if (guest->closing)
        return;
    guest->rate.dropped += lines;
    guest->stats.log_dropped += lines;
    if (!guest->dropped_report.index)
        timer_arm(&guest->host->timers, &guest->dropped_report, monotonic_ns() + SECOND_NS);
}

static const char *printable(struct halter_host *host, const char *text, size_t bytes)
{
    size_t need = halter_printable(host->scratch, host->scratch_bytes, text, bytes, false) + 1;
    if (need > host->scratch_bytes) {
        char *grown = realloc(host->scratch, need);
        if (!grown)
            return host->scratch ? host->scratch : ""; /* what fitted */
        host->scratch = grown;
        host->scratch_bytes = need;
        halter_printable(host->scratch, host->scratch_bytes, text, bytes, false);
    }
    return host->scratch;
}

static void emit_line(struct process *process, enum halter_event_type type, enum halter_level level,
                      const char *text, size_t bytes)
{
    struct halter_guest *guest = process->guest;

    if (guest && type == HALTER_EVENT_LOG && (unsigned)level < guest->permit.log)
        return;
    if (guest && !rate_may_pass(&guest->rate)) {
        event_dropped(guest, 1);
        return;
    }
    if (guest)
        guest->stats.log_lines++;
    if (!process->host->on_event)
        return;
    struct halter_event event = {.type = type, .guest = guest, .level = level,
                                 .text = printable(process->host, text, bytes)};
    event_emit(process->host, &event);
}

void event_line(struct process *process, enum halter_event_type type, enum halter_level level,
                const char *text, size_t bytes)
{
    if (process->guest && process->guest->closing)
        return;
    for (;;) {
        const char *end = bytes ? memchr(text, '\n', bytes) : NULL;
        size_t length = end ? (size_t)(end - text) : bytes;
        emit_line(process, type, level, text, length);
        if (!end || length + 1 == bytes || (process->guest && process->guest->closing))
            return;
        text += length + 1;
        bytes -= length + 1;
    }
}

/* ---- deaths ------------------------------------------------------------------------------------------ */

void death_describe(const struct process *process, struct halter_death *death)
{
    const struct evidence *e = &process->evidence;
    bool exited = e->reported && e->code == CLD_EXITED;

    *death = (struct halter_death){
        .reason = death_reason(e),
        .exit_status = exited ? e->status : -1,
        .signal = e->reported && !exited ? e->status : 0,
        .syscall_number = e->syscall_number,
        .syscall = e->syscall_number >= 0 ? syscall_name(e->syscall_number) : NULL,
        .detail = process->detail,
        .generation = process->generation,
        .pid = process->pid,
        .call = process->last_call,
        .loading = process->load_id != 0,
        .final = e->reported,
        .cpu_ns = e->cpu_ns,
        .peak_bytes = e->peak_bytes,
        .lived_ns = e->lived_ns,
    };
}

void event_death(struct process *process)
{
    struct halter_guest *guest = process->guest;
    struct halter_death death;

    if (guest) {
        guest->stats.cpu_ns += process->evidence.cpu_ns;
        if (process->evidence.peak_bytes > guest->stats.peak_bytes)
            guest->stats.peak_bytes = process->evidence.peak_bytes;
    }
    if (process->retired || (guest && guest->closing))
        return;
    death_describe(process, &death);
    struct halter_event event = {.type = HALTER_EVENT_DEATH, .guest = guest, .death = &death,
                                 .text = process->detail};
    event_emit(process->host, &event);
}
