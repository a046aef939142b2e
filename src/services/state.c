/*
 * The queue in front of the store. Orders wait here while the disk works on the ones before them;
 * whatever has gathered when it is done goes into one transaction, so many writers share one sync.
 * The thread touches the store and its batch; everything else belongs to the main thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "services/services.h"
#include "services/store.h"

#define BATCH       256  /* jobs in one transaction */
#define MAX_WAITING 4096 /* jobs not answered yet */

struct item {
    struct store_job job; /* first: a batch is a list of these */
    struct item *next;
    uint64_t id;
};

struct queue {
    struct item *first, **last;
};

struct state {
    struct watch watch; /* first: of `finished` */
    struct link *link;
    struct store *store;
    int event;            /* raised when something has finished */
    unsigned waiting;     /* the main thread's count */
    pthread_mutex_t lock; /* of the two queues */
    pthread_cond_t more;
    struct queue queued, finished;
};

static void push(struct queue *queue, struct item *item)
{
    item->next = NULL;
    *queue->last = item;
    queue->last = &item->next;
}

static struct item *pop(struct queue *queue)
{
    struct item *item = queue->first;
    if (item && !(queue->first = item->next))
        queue->last = &queue->first;
    return item;
}

static void item_free(struct item *item)
{
    json_writer_finish(&item->job.answer);
    free(item->job.plugin);
    free(item->job.key);
    free(item->job.value);
    free(item->job.expected);
    free(item);
}

static void *work(void *data)
{
    struct state *state = data;
    for (;;) {
        struct store_job *jobs[BATCH];
        size_t count = 0;
        struct item *item;
        pthread_mutex_lock(&state->lock);
        while (!state->queued.first)
            pthread_cond_wait(&state->more, &state->lock);
        while (count < BATCH && (item = pop(&state->queued)))
            jobs[count++] = &item->job;
        pthread_mutex_unlock(&state->lock);
        store_run(state->store, jobs, count);
        pthread_mutex_lock(&state->lock);
        for (size_t i = 0; i < count; i++)
            push(&state->finished, (struct item *)jobs[i]);
        pthread_mutex_unlock(&state->lock);
        eventfd_write(state->event, 1);
    }
    return NULL;
}

static void give_answer(struct state *state, struct item *item)
{
    struct store_job *job = &item->job;
    if (job->kind)
        link_error(state->link, item->id, job->kind, job->message);
    else if (json_write_end(&job->answer))
        link_value(state->link, item->id, job->answer.text, job->answer.length);
    else
        link_error(state->link, item->id, WIRE_ERROR_FAILED, "out of memory in halter-services");
    item_free(item);
    state->waiting--;
}

static void some_finished(struct watch *watch, uint32_t events)
{
    struct state *state = (struct state *)watch;
    struct item *item;
    eventfd_t count;
    (void)events;
    eventfd_read(state->event, &count);
    for (;;) {
        pthread_mutex_lock(&state->lock);
        item = pop(&state->finished);
        pthread_mutex_unlock(&state->lock);
        if (!item)
            return;
        give_answer(state, item);
    }
}

/* ---- orders --------------------------------------------------------------------------------- */

static bool find_op(const char *op, enum store_op *out)
{
    static const char *const names[STORE_OPS] = {"state.get", "state.keys", "state.set",
                                                 "state.delete", "state.swap"};
    for (int i = 0; i < STORE_OPS; i++) {
        if (strcmp(names[i], op) != 0)
            continue;
        *out = (enum store_op)i;
        return true;
    }
    return false;
}

/* A member as it stands in the text. */
static char *take_json(struct json_value order, const char *key)
{
    struct json_value value;
    return json_member(order, key, &value) ? strndup(value.text, value.length) : NULL;
}

static const char *read_order(struct store_job *job, const char *op, struct json_value order)
{
    if (!find_op(op, &job->op))
        return "an unknown order";
    job->plugin = order_text(order, "plugin");
    job->key = order_text(order, "key");
    job->value = take_json(order, "value");
    job->expected = take_json(order, "expected");
    job->quota_bytes = (uint64_t)order_integer(order, "quota_bytes", 0);
    if (!job->plugin || !job->key)
        return "a key is a string without NUL in it";
    if ((job->op != STORE_KEYS && !job->key[0]) || strlen(job->key) > STORE_KEY_BYTES)
        return "a key has 1 to 512 bytes";
    if (((job->op == STORE_SET || job->op == STORE_SWAP) && !job->value) ||
        (job->op == STORE_SWAP && !job->expected))
        return "a value is missing";
    return NULL;
}

void state_order(struct state *state, uint64_t id, const char *op, struct json_value order)
{
    struct item *item = calloc(1, sizeof(*item));
    const char *why = !item                           ? "out of memory in halter-services"
                      : state->waiting >= MAX_WAITING ? "too many orders wait for the disk"
                                                      : read_order(&item->job, op, order);
    if (why) {
        link_error(state->link, id, WIRE_ERROR_FAILED, why);
        if (item)
            item_free(item);
        return;
    }
    item->id = id;
    state->waiting++;
    pthread_mutex_lock(&state->lock);
    push(&state->queued, item);
    pthread_cond_signal(&state->more);
    pthread_mutex_unlock(&state->lock);
}

struct state *state_create(int epoll, struct link *link, const char *path, char why[256])
{
    pthread_t thread;
    struct state *state = calloc(1, sizeof(*state));
    snprintf(why, 256, "out of memory");
    if (!state)
        return NULL;
    *state = (struct state){.watch = {some_finished}, .link = link};
    state->queued.last = &state->queued.first;
    state->finished.last = &state->finished.first;
    pthread_mutex_init(&state->lock, NULL);
    pthread_cond_init(&state->more, NULL);
    state->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &state->watch};
    if (state->event < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, state->event, &event) < 0)
        goto err_event;
    if (!(state->store = store_open(path, why)))
        goto err_event;
    if (pthread_create(&thread, NULL, work, state) != 0) {
        snprintf(why, 256, "no thread could be started");
        goto err_store;
    }
    pthread_detach(thread);
    return state;

err_store:
    store_close(state->store);
err_event:
    if (state->event >= 0)
        close(state->event);
    free(state);
    return NULL;
}
