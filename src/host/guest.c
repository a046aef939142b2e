/*
 * One plugin: made, loaded, reloaded, bereaved, closed. The states are in guest_table.c; this file
 * performs its actions and keeps two processes apart while a reload is under way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/internal.h"
#include "wire/body.h"
#include "wire/json.h"

#define GUEST_TIMERS 2 /* backoff and dropped_report */

static void backoff_over(struct timer *timer, uint64_t now_ns)
{
    struct halter_guest *guest = list_entry(timer, struct halter_guest, backoff);
    (void)now_ns;
    guest_event(guest, GUEST_EVENT_TIMER, 0);
}

void guest_event(struct halter_guest *guest, enum guest_event event, uint32_t delay_ms)
{
    struct halter_host *host = guest->host;
    struct guest_step step = guest_step(guest->state, event);

    if (step.actions & GUEST_WRONG)
        return; /* it cannot come in this state (the table's test says so): it changes nothing */
    guest->state = step.next;
    if (step.actions & GUEST_DISARM)
        timer_cancel(&host->timers, &guest->backoff);
    if (step.actions & GUEST_ARM)
        timer_arm(&host->timers, &guest->backoff, monotonic_ns() + delay_ms * NS_PER_MS + 1);
    if (step.actions & GUEST_RELEASE) {
        pool_forget(guest, false);
        struct process *process = guest->process;
        guest->process = NULL;
        if (process)
            process_kill(process, HALTER_DEATH_KILLED, NULL);
    }
    if (step.actions & GUEST_ACQUIRE)
        pool_acquire(host, guest, false);
    if (step.actions & GUEST_FAIL_QUEUE)
        call_fail_queue(guest, guest->state == HALTER_GUEST_CLOSED ? HALTER_ECLOSED
                                                                   : guest->last_failure);
    if (step.actions & GUEST_SEND)
        call_next(guest);
}

/* ---- making ------------------------------------------------------------------------------------ */

/* Reads a whole file: 0 with an allocated text, ended by NUL, else a status with errno. */
static int read_file(const char *path, uint32_t cap, struct source *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return HALTER_ESYSTEM;
    struct stat info;
    int status = HALTER_ESYSTEM;
    char *text = NULL;
    if (fstat(fd, &info) < 0)
        goto out;
    if (!S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        goto out;
    }
    status = HALTER_ETOOBIG;
    if (info.st_size > cap)
        goto out;
    status = HALTER_ENOMEM;
    text = malloc((size_t)info.st_size + 1);
    if (!text)
        goto out;
    size_t have = 0;
    while (have < (size_t)info.st_size) {
        ssize_t n = read(fd, text + have, (size_t)info.st_size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            status = HALTER_ESYSTEM;
            goto out;
        }
        if (n == 0)
            break; /* it shrank meanwhile */
        have += (size_t)n;
    }
    text[have] = '\0';
    *out = (struct source){text, have};
    text = NULL;
    status = 0;
out:;
    int saved = errno;
    free(text);
    close(fd);
    errno = saved;
    return status;
}

static int get_source(struct halter_guest *guest, const char *given, size_t bytes,
                      struct source *out)
{
    uint32_t room = guest->host->cap - 8192; /* for the envelope */

    if (!given) {
        if (!guest->path[0])
            return HALTER_EINVAL;
        return read_file(guest->path, room, out);
    }
    if (!bytes)
        bytes = strlen(given);
    if (bytes > room)
        return HALTER_ETOOBIG;
    char *text = malloc(bytes + 1);
    if (!text)
        return HALTER_ENOMEM;
    memcpy(text, given, bytes);
    text[bytes] = '\0';
    *out = (struct source){text, bytes};
    return 0;
}

static uint32_t or_default(uint32_t value, uint32_t otherwise)
{
    return value ? value : otherwise;
}

struct control_profile guest_profile(const struct halter_guest *guest,
                                     const struct halter_plugin_options *o)
{
    uint64_t memory_bytes = o->memory_bytes ? o->memory_bytes : DEFAULT_MEMORY_BYTES;
    return (struct control_profile){
        .kind = WIRE_HELPER_JS,
        .flags = (uint16_t)((o->no_jit ? CONTROL_NO_JIT : 0) |
                            (o->own_address_layout ? CONTROL_EXEC : 0)),
        .cap = guest->host->cap,
        .memory_bytes = memory_bytes == UINT64_MAX ? 0 : memory_bytes,
        .cpu_seconds = o->cpu_seconds,
        .max_fds = 16,
    };
}

void guest_set_limits(struct halter_guest *guest, const struct halter_plugin_options *o)
{
    guest->load_deadline_ms = or_default(o->load_deadline_ms, DEFAULT_LOAD_DEADLINE_MS);
    guest->deadline_ms = or_default(o->deadline_ms, DEFAULT_DEADLINE_MS);
    uint64_t cap = (uint64_t)DEFAULT_WALL_CAP_TIMES * guest->deadline_ms;
    guest->wall_cap_ms = or_default(o->wall_cap_ms, cap > UINT32_MAX ? UINT32_MAX : (uint32_t)cap);
    guest->queue_max = or_default(o->queue_max, 64);
    guest->rules = (struct guest_rules){or_default(o->backoff_min_ms, 50),
                                        or_default(o->backoff_max_ms, 10000),
                                        or_default(o->quarantine_after, 5)};
    guest->memory_bytes = o->memory_bytes ? o->memory_bytes : DEFAULT_MEMORY_BYTES;
    guest->data = o->data;
    guest->profile = guest_profile(guest, o);
    guest_rate_init(guest, or_default(o->log_lines_per_second, DEFAULT_LOG_LINES));
    rate_init(&guest->requests, or_default(o->requests_per_second, DEFAULT_REQUESTS));
    guest->state_bytes = o->state_bytes ? o->state_bytes : DEFAULT_STATE_BYTES;
    if (guest->share.percent != o->cpu_percent)
        share_init(&guest->share, o->cpu_percent);
    guest->output_bytes = or_default(o->output_bytes, guest->host->cap);
}

static bool text_fits(const char *text)
{
    return !text || (strlen(text) <= 4096 && utf8_check(text, strlen(text)));
}

int halter_plugin_create(struct halter_host *host, const struct halter_plugin_options *given,
                         struct halter_guest **out)
{
    struct halter_plugin_options o = {0};

    if (!host || !given || !out || given->size > sizeof(o) || given->size < sizeof(given->size))
        return HALTER_EINVAL;
    memcpy(&o, given, given->size);
    if ((!o.source && !o.path) || o.cpu_percent > 6400 || !text_fits(o.name) || !text_fits(o.path))
        return HALTER_EINVAL;
    if (host->closing)
        return HALTER_ECLOSED;
    if (host_need_timers(host, GUEST_TIMERS) < 0)
        return HALTER_ENOMEM;
    struct halter_guest *guest = calloc(1, sizeof(*guest));
    if (!guest) {
        host_drop_timers(host, GUEST_TIMERS);
        return HALTER_ENOMEM;
    }
    guest->host = host;
    guest->state = HALTER_GUEST_LOADING;
    list_init(&guest->link);
    list_init(&guest->wait_link);
    list_init(&guest->incoming_wait_link);
    list_init(&guest->queue);
    list_init(&guest->finished);
    guest->backoff.fire = backoff_over;
    guest->number = ++host->last_guest_number;
    guest->stats.size = sizeof(guest->stats);
    guest->given = o;
    int status = guest_permit(guest, &o);
    if (status)
        goto fail;
    guest_set_limits(guest, &o);
    guest->read_from_path = !o.source;
    guest->path = strdup(o.path ? o.path : "");
    if (!guest->name)
        guest->name = strdup(o.name ? o.name : o.path ? o.path : "plugin");
    status = HALTER_ENOMEM;
    struct pool *pool = pool_for(host, &guest->profile);
    if (!pool || !guest->path || !guest->name)
        goto fail;
    status = get_source(guest, o.source, o.source_bytes, &guest->source);
    if (status)
        goto fail;
    pool_join(pool);
    list_append(&host->guests, &guest->link);
    pool_acquire(host, guest, false);
    *out = guest;
    return HALTER_OK;

fail:;
    int saved = errno;
    free(guest->capabilities);
    free(guest->path);
    free(guest->name);
    free(guest->manifest.text);
    permit_finish(&guest->permit);
    free(guest);
    host_drop_timers(host, GUEST_TIMERS);
    errno = saved;
    return status;
}

/* ---- processes come and go ----------------------------------------------------------------------- */

void guest_adopt(struct halter_guest *guest, struct process *process, bool incoming)
{
    process->guest = guest;
    process->incoming = incoming;
    share_adopt(guest, process);
    if (incoming)
        guest->incoming = process;
    else
        guest->process = process;
    if (process_load(process, guest, incoming ? &guest->next_source : &guest->source) != 0)
        process_condemn(process, HALTER_DEATH_SPAWN, "no memory in the host to load the plugin");
}

static void drop_source(struct source *source)
{
    free(source->text);
    *source = (struct source){0};
}

static void emit(struct halter_guest *guest, struct halter_event event)
{
    event.guest = guest;
    event_emit(guest->host, &event);
}

/* The process that has loaded the new source takes over; the old one ends. */
static void take_over(struct halter_guest *guest)
{
    struct process *old = guest->process, *process = guest->incoming;

    pool_forget(guest, false); /* it may have been waiting for a process for the old source */
    guest->incoming = NULL;
    guest->process = process;
    process->incoming = false;
    guest->reloading = guest->switch_ready = false;
    drop_source(&guest->source);
    guest->source = guest->next_source;
    guest->next_source = (struct source){0};
    guest->record.fruitless = 0;
    if (old) {
        old->retired = true;
        process_kill(old, HALTER_DEATH_KILLED, "replaced by a reload");
    }
    guest_event(guest, GUEST_EVENT_REPLACED, 0);
    emit(guest, (struct halter_event){.type = HALTER_EVENT_RELOADED});
}

void guest_switch(struct halter_guest *guest)
{
    if (guest->switch_ready && guest->state != HALTER_GUEST_BUSY)
        take_over(guest);
}

void guest_loaded(struct halter_guest *guest, struct process *process)
{
    if (guest->loads++)
        guest->stats.restarts++;
    if (process == guest->incoming) {
        guest->switch_ready = true;
        guest_switch(guest);
        return;
    }
    guest_event(guest, GUEST_EVENT_LOADED, 0);
    emit(guest, (struct halter_event){.type = HALTER_EVENT_LOADED});
}

/* A reload has come to nothing; the old version, whatever it does just now, stays. */
static void give_up_reload(struct halter_guest *guest, const struct halter_script_error *error,
                           const struct halter_death *death)
{
    guest->incoming = NULL;
    guest->reloading = guest->switch_ready = false;
    drop_source(&guest->next_source);
    /* Calls were accepted on the strength of the reload: there is nothing left to serve them. */
    if (guest->state == HALTER_GUEST_FAILED || guest->state == HALTER_GUEST_QUARANTINED)
        call_fail_queue(guest, guest->last_failure);
    emit(guest, (struct halter_event){
                    .type = HALTER_EVENT_RELOAD_FAILED, .error = error, .death = death});
}

void guest_load_error(struct halter_guest *guest, struct process *process,
                      const struct halter_script_error *error)
{
    process->retired = true; /* its end is no event of its own */
    if (process == guest->incoming) {
        guest->incoming = NULL;
        process_kill(process, HALTER_DEATH_KILLED, "the new version did not load");
        give_up_reload(guest, error, NULL);
        return;
    }
    guest->last_failure = HALTER_ELOAD;
    script_error_copy(&guest->load_error, &guest->load_error_storage, error);
    emit(guest, (struct halter_event){.type = HALTER_EVENT_LOAD_FAILED, .error = error});
    if (guest->state == HALTER_GUEST_LOADING && guest->process == process)
        guest_event(guest, GUEST_EVENT_LOAD_ERROR, 0);
}

/* What a death makes of the guest, once the call in flight has been taken out of it. */
static void restart(struct halter_guest *guest, const struct halter_death *death)
{
    uint32_t delay_ms;
    enum guest_event verdict =
        guest_verdict(&guest->record, &guest->rules, death->reason, &delay_ms);
    uint32_t wait_ms = share_wait_ms(guest);
    if (verdict != GUEST_EVENT_QUARANTINE && wait_ms > delay_ms) {
        verdict = GUEST_EVENT_BACKOFF;
        delay_ms = wait_ms;
    }

    if (verdict == GUEST_EVENT_QUARANTINE)
        guest->last_failure = HALTER_EQUARANTINED;
    guest_event(guest, verdict, delay_ms);
    if (verdict == GUEST_EVENT_QUARANTINE)
        emit(guest, (struct halter_event){.type = HALTER_EVENT_QUARANTINED, .death = death});
    else
        emit(guest, (struct halter_event){
                        .type = HALTER_EVENT_RESTARTING, .death = death, .delay_ms = delay_ms});
}

void guest_bereaved(struct halter_guest *guest, struct process *process)
{
    struct halter_death death;

    if (!guest)
        return;
    death_describe(process, &death);
    if (process == guest->incoming) {
        give_up_reload(guest, NULL, &death);
        return;
    }
    if (process != guest->process)
        return; /* it was released before: the guest has gone on */
    guest->process = NULL;
    guest->stats.deaths[death.reason]++;
    uint64_t host_ns;
    struct call *call = NULL;
    if (process->nsent) {
        call = process_call(process);
        host_ns = process->paused_since_ns ? monotonic_ns() - process->paused_since_ns : 0;
        call->host_ns += host_ns;
        list_remove(&call->link);
        if (--process->nsent == 0)
            guest->host->working--;
        calls_take_back(guest, process);
    }
    bool was_ready_to_switch = guest->switch_ready;
    share_charge(guest, process);
    restart(guest, &death);
    if (call)
        call_failed(guest, call, death_status(death.reason), &death);
    if (was_ready_to_switch)
        guest_switch(guest);
}

/* No process could be made for it (no descriptors, no memory): as if one had died at birth. */
void guest_unserved(struct halter_host *host, struct halter_guest *guest, bool incoming)
{
    char detail[128];
    struct halter_death death = {.reason = HALTER_DEATH_SPAWN,
                                 .exit_status = -1,
                                 .syscall_number = -1,
                                 .detail = detail,
                                 .loading = true,
                                 .final = true};
    (void)host;
    snprintf(detail, sizeof(detail), "no helper could be made: %s", strerror(errno));
    if (incoming) {
        give_up_reload(guest, NULL, &death);
        return;
    }
    guest->stats.deaths[death.reason]++;
    restart(guest, &death);
}

/* ---- by hand ------------------------------------------------------------------------------------- */

int halter_guest_reload(struct halter_guest *guest, const char *source, size_t source_bytes)
{
    if (!guest)
        return HALTER_EINVAL;
    if (guest->state == HALTER_GUEST_CLOSED)
        return HALTER_ECLOSED;
    if (guest->reloading)
        return HALTER_EBUSY;
    struct source next;
    int status = get_source(guest, source, source_bytes, &next);
    if (!status)
        guest_start_reload(guest, &next);
    return status;
}

int guest_reread(struct halter_guest *guest, struct source *out)
{
    return guest->path[0] && guest->read_from_path
               ? get_source(guest, NULL, 0, out)
               : get_source(guest, guest->source.text, guest->source.bytes, out);
}

void guest_start_reload(struct halter_guest *guest, struct source *source)
{
    guest->next_source = *source;
    guest->reloading = true;
    pool_acquire(guest->host, guest, true);
}

int halter_guest_kill(struct halter_guest *guest)
{
    if (!guest)
        return HALTER_EINVAL;
    if (guest->state == HALTER_GUEST_CLOSED)
        return HALTER_ECLOSED;
    if (guest->process)
        process_condemn(guest->process, HALTER_DEATH_KILLED, "by halter_guest_kill()");
    return HALTER_OK;
}

int halter_guest_reset(struct halter_guest *guest)
{
    if (!guest)
        return HALTER_EINVAL;
    if (guest->state != HALTER_GUEST_BACKOFF && guest->state != HALTER_GUEST_QUARANTINED &&
        guest->state != HALTER_GUEST_FAILED)
        return HALTER_EBUSY;
    guest->record.fruitless = 0;
    share_reset(&guest->share);
    guest_event(guest, GUEST_EVENT_RESET, 0);
    return HALTER_OK;
}

void guest_free(struct halter_guest *guest)
{
    struct halter_host *host = guest->host;

    list_remove(&guest->link);
    timer_cancel(&host->timers, &guest->backoff);
    timer_cancel(&host->timers, &guest->dropped_report);
    list_for_each(node, &host->processes) {
        struct process *process = list_entry(node, struct process, link);
        if (process->guest == guest)
            process->guest = NULL;
    }
    list_for_each(node, &host->buried) {
        struct process *process = list_entry(node, struct process, link);
        if (process->guest == guest)
            process->guest = NULL;
    }
    drop_source(&guest->source);
    drop_source(&guest->next_source);
    free(guest->capabilities);
    call_forget_kept(guest);
    free(guest->load_error_storage);
    free(guest->path);
    free(guest->name);
    free(guest->manifest.text);
    permit_finish(&guest->permit);
    free(guest);
    host_drop_timers(host, GUEST_TIMERS);
}

void halter_guest_destroy(struct halter_guest *guest)
{
    if (!guest || guest->closing)
        return;
    struct halter_host *host = guest->host;

    guest->closing = true;
    timer_cancel(&host->timers, &guest->dropped_report);
    pool_forget(guest, true);
    if (guest->incoming) {
        struct process *incoming = guest->incoming;
        guest->incoming = NULL;
        incoming->retired = true;
        process_kill(incoming, HALTER_DEATH_KILLED, NULL);
    }
    guest->reloading = guest->switch_ready = false;
    if (guest->process) {
        guest->process->retired = true;
        calls_take_back(guest, guest->process);
    }
    guest_event(guest, GUEST_EVENT_CLOSE, 0);
    requests_disown(guest);
    events_forget(host, guest);
    pool_leave(host, pool_for(host, &guest->profile));
    if (host->depth) {
        host_defer(host); /* freed by the dispatch that runs this callback */
        return;
    }
    calls_run_finished(guest);
    guest_free(guest);
}

/* ---- asking ---------------------------------------------------------------------------------------- */

enum halter_guest_state halter_guest_state(const struct halter_guest *guest)
{
    return guest ? guest->state : HALTER_GUEST_CLOSED;
}

const char *halter_guest_name(const struct halter_guest *guest)
{
    return guest ? guest->name : "";
}

void *halter_guest_data(const struct halter_guest *guest)
{
    return guest ? guest->data : NULL;
}

struct halter_host *halter_guest_host(const struct halter_guest *guest)
{
    return guest ? guest->host : NULL;
}

int halter_guest_pid(const struct halter_guest *guest)
{
    return guest && guest->process ? guest->process->pid : 0;
}

uint32_t halter_guest_layers(const struct halter_guest *guest)
{
    return guest && guest->process ? guest->process->layers : 0;
}

const char *halter_guest_state_text(enum halter_guest_state state)
{
    static const char *const texts[] = {"",        "loading",     "ready",  "busy",
                                        "backoff", "quarantined", "closed", "failed"};
    return (unsigned)state < sizeof(texts) / sizeof(*texts) ? texts[state] : "";
}
