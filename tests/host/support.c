/* The shared parts of the library's tests: see support.h. */
#include "support.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 60000000000ull

static bool outcomes_are_gone; /* see fixture_teardown() */

const char *real_launcher(void)
{
    const char *other = getenv("HALTER_TEST_LAUNCHER");
    return other ? other : REAL_LAUNCHER_PATH;
}

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

bool slowed_down(void)
{
#if defined(__SANITIZE_ADDRESS__)
    return true;
#elif defined(__has_feature)
# if __has_feature(address_sanitizer)
    return true;
# endif
#endif
    const char *preload = getenv("LD_PRELOAD");
    return getenv("HALTER_TEST_SLOW") || (preload && strstr(preload, "valgrind"));
}

int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 3; /* ".", ".." and the directory itself */
}

static int parent_of(int pid, char *state)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    int parent = -1;
    char *end = strrchr(text, ')');
    if (!end || sscanf(end + 1, " %c %d", state, &parent) != 2)
        return -1;
    return parent;
}

int living_descendants(void)
{
    int n = 0;
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        int pid = atoi(entry->d_name);
        char state = 0, ignored = 0;
        if (pid <= 0 || pid == getpid())
            continue;
        int up = parent_of(pid, &state);
        for (int depth = 0; up > 1 && up != getpid() && depth < 16; depth++)
            up = parent_of(up, &ignored);
        n += up == getpid();
    }
    closedir(dir);
    return n;
}

void assert_descendants(int most)
{
    uint64_t until = now_ns() + 30000000000ull;
    int n;
    while ((n = living_descendants()) > most && now_ns() < until)
        usleep(2000);
    assert_in_range(n, 0, most);
}

static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    struct events *e = data;

    (void)host;
    assert_in_range(event->type, 1, 15);
    e->count[event->type]++;
    if (event->text)
        snprintf(e->last_text, sizeof(e->last_text), "%s", event->text);
    if (event->error)
        snprintf(e->last_error, sizeof(e->last_error), "%s: %s", event->error->name,
                 event->error->message);
    if (event->type == HALTER_EVENT_DEATH) {
        e->last_death = *event->death;
        snprintf(e->last_detail, sizeof(e->last_detail), "%s", event->death->detail);
        e->last_death.detail = e->last_detail;
        e->deaths[event->death->reason]++;
    }
    if (event->type == HALTER_EVENT_DROPPED)
        e->dropped += event->count;
    if (event->type == HALTER_EVENT_LOG || event->type == HALTER_EVENT_STDERR)
        e->lines++;
    if (event->type == HALTER_EVENT_RESTARTING)
        e->last_delay_ms = event->delay_ms;
}

void fixture_open(struct fixture *f, const char *launcher, const struct halter_options *options)
{
    struct halter_options o = HALTER_OPTIONS_INIT;

    outcomes_are_gone = false;
    memset(f, 0, sizeof(*f));
    f->descriptors = open_descriptors();
    if (options)
        o = *options;
    o.launcher_path = launcher;
    o.on_event = on_event;
    o.data = &f->events;
    assert_int_equal(halter_create(&o, &f->host), HALTER_OK);
}

void fixture_close(struct fixture *f)
{
    halter_destroy(f->host);
    assert_descendants(0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* not even a zombie */
    assert_int_equal(open_descriptors(), f->descriptors);
}

void fixture_teardown(struct fixture *f)
{
    outcomes_are_gone = true;
    fixture_close(f);
}

struct halter_guest *guest_of(struct fixture *f, const char *name, const char *source,
                              const struct halter_plugin_options *base)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct halter_guest *guest = NULL;

    if (base)
        o = *base;
    o.name = name;
    o.source = source;
    assert_int_equal(halter_plugin_create(f->host, &o, &guest), HALTER_OK);
    return guest;
}

static void copy(char *to, size_t capacity, const char *from)
{
    assert_non_null(from);
    snprintf(to, capacity, "%s", from);
}

void record(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct outcome *o = data;

    (void)guest;
    if (outcomes_are_gone)
        return;
    assert_int_equal(o->callbacks, 0);
    o->callbacks++;
    o->finished_ns = now_ns();
    o->status = result->status;
    o->kind = result->kind;
    o->ran_ns = result->ran_ns;
    o->host_ns = result->host_ns;
    o->json_bytes = result->json_bytes;
    assert_int_equal(result->json[result->json_bytes], 0);
    memcpy(o->json, result->json,
           result->json_bytes < sizeof(o->json) ? result->json_bytes + 1 : sizeof(o->json));
    if (result->error) {
        copy(o->error_name, sizeof(o->error_name), result->error->name);
        copy(o->error_message, sizeof(o->error_message), result->error->message);
        copy(o->error_stack, sizeof(o->error_stack), result->error->stack);
        copy(o->error_file, sizeof(o->error_file), result->error->file);
        copy(o->error_path, sizeof(o->error_path), result->error->path);
        o->line = result->error->line;
        o->column = result->error->column;
    }
    if (result->death) {
        o->death = *result->death;
        copy(o->detail, sizeof(o->detail), result->death->detail);
        o->death.detail = o->detail;
        assert_int_equal(-(31 + (int)result->death->reason), result->status);
    }
}

uint64_t call(struct halter_guest *guest, const char *json, struct outcome *outcome)
{
    uint64_t number = 0;
    memset(outcome, 0, sizeof(*outcome));
    assert_int_equal(halter_call(guest, json, 0, NULL, record, outcome, &number), HALTER_OK);
    assert_true(number & 1);
    return number;
}

/*
 * What one dispatch cost: a wait that no page brought in from a disk explains, or more CPU time than
 * ten milliseconds and what its bytes take. One in a thousand is the machine's: a page that another
 * process holds, a guest of a hypervisor whose stolen time is counted as its own.
 */
static void account(struct fixture *f, const struct rusage *before, const struct rusage *after,
                    int64_t cpu_ns)
{
    f->dispatches++;
    /* Replacing a launcher is a vfork(), the one thing in a dispatch that waits. */
    if (after->ru_nvcsw != before->ru_nvcsw && after->ru_majflt == before->ru_majflt &&
        !f->events.count[HALTER_EVENT_LAUNCHER_LOST])
        f->waited++;
    if (cpu_ns > 10000000 + f->large_bytes * 10)
        f->laboured++;
    if (f->waited > 1 + f->dispatches / 1000 || f->laboured > 1 + f->dispatches / 1000)
        fail_msg("of %" PRIu64 " dispatches %" PRIu64 " waited and %" PRIu64
                 " took more than 10 ms of CPU time (this one: %" PRIi64 " ns)",
                 f->dispatches, f->waited, f->laboured, cpu_ns);
}

int dispatch(struct fixture *f, int timeout_ms)
{
    struct pollfd ready = {.fd = halter_fd(f->host), .events = POLLIN};
    struct rusage before, after;
    struct timespec start, end;

    poll(&ready, 1, timeout_ms);
    getrusage(RUSAGE_THREAD, &before);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    int n = halter_dispatch(f->host, 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    getrusage(RUSAGE_THREAD, &after);
    assert_true(n >= 0);
    if (!slowed_down())
        account(f, &before, &after,
                (end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec);
    return n;
}

void settle(struct fixture *f, struct outcome *outcome)
{
    uint64_t until = now_ns() + PATIENCE_NS;
    while (!outcome->callbacks) {
        if (now_ns() > until)
            fail_msg("no callback within a minute");
        dispatch(f, 100);
    }
}

void settle_state(struct fixture *f, struct halter_guest *guest, enum halter_guest_state state)
{
    uint64_t until = now_ns() + PATIENCE_NS;
    while (halter_guest_state(guest) != state) {
        if (now_ns() > until)
            fail_msg("still %s after a minute, not %s",
                     halter_guest_state_text(halter_guest_state(guest)),
                     halter_guest_state_text(state));
        dispatch(f, 100);
    }
}

void run_for(struct fixture *f, unsigned ms)
{
    uint64_t until = now_ns() + ms * 1000000ull, now;
    while ((now = now_ns()) < until)
        dispatch(f, (int)((until - now) / 1000000) + 1);
}

void ask(struct fixture *f, struct halter_guest *guest, const char *json, struct outcome *outcome)
{
    call(guest, json, outcome);
    settle(f, outcome);
}
