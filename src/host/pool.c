/*
 * Pools: one for each profile of helper in use. Each keeps spares (confined, engine ready, no
 * plugin) and the guests that wait for a process, which come before the spares.
 */
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

/* How many may be on their way for the spares' sake at one time: a call should not wait for them. */
#define STARTING_AHEAD 2
/* After a spare that died by itself, doubling. */
#define PAUSE_MIN_MS 50
#define PAUSE_MAX_MS 10000
/* From the taking of a spare to the making of the next: whoever took it has work to do first. */
#define REFILL_AFTER_MS 5

static bool same_profile(const struct control_profile *a, const struct control_profile *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->skip_layers == b->skip_layers &&
           a->cap == b->cap && a->memory_bytes == b->memory_bytes &&
           a->cpu_seconds == b->cpu_seconds && a->max_fds == b->max_fds;
}

/* The dispatch that runs this makes spares again. */
static void pause_over(struct timer *timer, uint64_t now_ns)
{
    (void)timer;
    (void)now_ns;
}

struct pool *pool_for(struct halter_host *host, const struct control_profile *profile)
{
    for (unsigned i = 0; i < host->npools; i++)
        if (same_profile(&host->pools[i]->profile, profile))
            return host->pools[i];
    if (host_need_timers(host, 1) < 0)
        return NULL;
    struct pool **grown = realloc(host->pools, (host->npools + 1) * sizeof(*grown));
    if (grown)
        host->pools = grown;
    struct pool *pool = grown ? calloc(1, sizeof(*pool)) : NULL;
    if (!pool) {
        host_drop_timers(host, 1);
        return NULL;
    }
    pool->profile = *profile;
    pool->pause.fire = pause_over;
    list_init(&pool->spares);
    list_init(&pool->waiting);
    list_init(&pool->incoming);
    host->pools[host->npools++] = pool;
    return pool;
}

void pools_finish(struct halter_host *host)
{
    for (unsigned i = 0; i < host->npools; i++)
        timer_cancel(&host->timers, &host->pools[i]->pause);
    for (unsigned i = 0; i < host->npools; i++)
        free(host->pools[i]);
    free(host->pools);
    host->pools = NULL;
    host->npools = 0;
}

static unsigned length(const struct list *head)
{
    unsigned n = 0;
    for (const struct list *node = head->next; node != head; node = node->next)
        n++;
    return n;
}

void pool_join(struct pool *pool)
{
    pool->guests++;
}

static void retire(struct process *process)
{
    process->retired = true;
    process_kill(process, HALTER_DEATH_KILLED, NULL);
}

/* Without guests a profile needs no spares. */
void pool_leave(struct halter_host *host, struct pool *pool)
{
    (void)host;
    if (--pool->guests)
        return;
    list_for_each(node, &pool->spares)
        retire(list_entry(node, struct process, pool_link));
}

/*
 * A spare is taken when something waits for it: a new plugin, or a guest whose process was killed
 * and is being torn down. Making the next one costs milliseconds of CPU time; it can wait.
 */
static void put_off_refill(struct halter_host *host, struct pool *pool)
{
    if (!pool->pause.index)
        timer_arm(&host->timers, &pool->pause, monotonic_ns() + REFILL_AFTER_MS * NS_PER_MS);
}

static struct process *take_spare(struct pool *pool)
{
    if (list_empty(&pool->spares))
        return NULL;
    struct process *process = list_entry(pool->spares.next, struct process, pool_link);
    list_remove(&process->pool_link);
    process_event(process, PROCESS_EVENT_ADOPT);
    return process;
}

void pool_forget(struct halter_guest *guest, bool incoming)
{
    list_remove(incoming ? &guest->incoming_wait_link : &guest->wait_link);
}

void pool_offer(struct process *process)
{
    struct pool *pool = pool_for(process->host, &process->profile);

    pool->failures = 0;
    if (!list_empty(&pool->waiting)) {
        struct halter_guest *guest = list_entry(pool->waiting.next, struct halter_guest, wait_link);
        list_remove(&guest->wait_link);
        process_event(process, PROCESS_EVENT_ADOPT);
        guest_adopt(guest, process, false);
    } else if (!list_empty(&pool->incoming)) {
        struct halter_guest *guest =
            list_entry(pool->incoming.next, struct halter_guest, incoming_wait_link);
        list_remove(&guest->incoming_wait_link);
        process_event(process, PROCESS_EVENT_ADOPT);
        guest_adopt(guest, process, true);
    } else if (!pool->guests) {
        retire(process); /* the guests went while it was on its way */
    } else {
        list_append(&pool->spares, &process->pool_link);
    }
}

void pool_withdraw(struct process *process)
{
    list_remove(&process->pool_link);
}

void pool_bereaved(struct process *process)
{
    struct halter_host *host = process->host;
    struct pool *pool = pool_for(host, &process->profile);

    if (process->retired)
        return;
    if (!list_empty(&pool->waiting)) {
        struct halter_guest *guest = list_entry(pool->waiting.next, struct halter_guest, wait_link);
        list_remove(&guest->wait_link);
        process->guest = guest;
        guest->process = process;
        guest_bereaved(guest, process);
        return;
    }
    if (!list_empty(&pool->incoming)) {
        struct halter_guest *guest =
            list_entry(pool->incoming.next, struct halter_guest, incoming_wait_link);
        list_remove(&guest->incoming_wait_link);
        process->guest = guest;
        guest->incoming = process;
        guest_bereaved(guest, process);
        return;
    }
    uint64_t delay_ms = PAUSE_MIN_MS;
    for (unsigned i = 0; i < pool->failures && delay_ms < PAUSE_MAX_MS; i++)
        delay_ms *= 2;
    pool->failures++;
    timer_arm(&host->timers, &pool->pause, monotonic_ns() + delay_ms * NS_PER_MS);
}

/* A guest that waits and for which no process could even be made has lost one in the making. */
static void disappoint(struct halter_host *host, struct pool *pool)
{
    struct list *queue = list_empty(&pool->waiting) ? &pool->incoming : &pool->waiting;
    if (list_empty(queue))
        return;
    bool incoming = queue == &pool->incoming;
    struct halter_guest *guest =
        incoming ? list_entry(queue->next, struct halter_guest, incoming_wait_link)
                 : list_entry(queue->next, struct halter_guest, wait_link);
    pool_forget(guest, incoming);
    guest_unserved(host, guest, incoming);
}

static void refill(struct halter_host *host, struct pool *pool, bool tell)
{
    unsigned waiting = length(&pool->waiting) + length(&pool->incoming);
    unsigned ahead = pool->guests && !pool->pause.index ? host->spares : 0;
    unsigned spares = length(&pool->spares);

    while (pool->starting < waiting ||
           (spares + pool->starting < waiting + ahead &&
            pool->starting < waiting + STARTING_AHEAD)) {
        if (!process_create(host, &pool->profile, NULL)) {
            if (tell && pool->starting < waiting)
                disappoint(host, pool);
            return; /* no descriptors or no memory: tried again at the next dispatch */
        }
        pool->starting++;
    }
}

void pool_acquire(struct halter_host *host, struct halter_guest *guest, bool incoming)
{
    struct pool *pool = pool_for(host, &guest->profile);
    struct process *process = take_spare(pool);

    if (process) {
        put_off_refill(host, pool);
        guest_adopt(guest, process, incoming);
        return;
    }
    if (incoming)
        list_append(&pool->incoming, &guest->incoming_wait_link);
    else
        list_append(&pool->waiting, &guest->wait_link);
    /* Asked for at once where that can be; what fails is told by the next dispatch. */
    refill(host, pool, false);
    host_defer(host);
}

void pool_refill(struct halter_host *host)
{
    if (host->closing)
        return;
    for (unsigned i = 0; i < host->npools; i++)
        refill(host, host->pools[i], true);
}
