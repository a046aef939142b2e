/*
 * A random life: guests are made, called, canceled, reloaded, killed, reset and closed, from outside
 * and from inside every kind of callback, while helpers lie, die and hang and the launcher is killed
 * now and then. Whatever happens, each accepted call is told once and nothing is left at the end.
 * The seed is printed; HALTER_TEST_SEED runs one seed alone.
 */
#include "support.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS    600
#define GUESTS   4
#define CALLS    4096
#define REQUESTS 32

struct accepted {
    uint64_t number;
    unsigned told;
    bool canceled; /* halter_cancel() said yes */
};

struct life {
    struct halter_host *host;
    struct halter_guest *guests[GUESTS];
    struct halter_request *requests[REQUESTS];
    struct accepted calls[CALLS];
    unsigned ncalls, nested;
    uint64_t random, events, results;
    bool ending, closing; /* nothing is added any more; the host is being destroyed */
};

static struct life life;

static unsigned dice(unsigned sides)
{
    life.random ^= life.random << 13;
    life.random ^= life.random >> 7;
    life.random ^= life.random << 17;
    return (unsigned)((life.random >> 20) % sides);
}

static const char *plugin(void)
{
    static const char *const plugins[] = {
        "",  "call echo", "load error 1", "load exit 3", "load stall", "load sleep 5\nload ok",
        "call obey", "call obey", "call obey", "call obey", "load close", "load garbage",
    };
    return plugins[dice(sizeof(plugins) / sizeof(*plugins))];
}

static const char *input(void)
{
    static const char *const inputs[] = {
        "\"echo\"", "\"echo\"", "\"echo\"", "\"echo\"", "\"echo\"", "\"undefined\"",
        "\"throw no\"", "\"exit 1\"", "\"signal 11\"", "\"stall\"", "\"close\"", "\"garbage\"",
        "\"twice\"", "\"sleep 3\\necho\"", "\"request ask []\\nanswer\"", "\"log 3\\necho\"",
        "\"request-only ask []\\necho\"", "\"request-only ask []\\nexit 2\"", "\"half-frame\"",
    };
    return inputs[dice(sizeof(inputs) / sizeof(*inputs))];
}

static void act(void);

/* From inside a callback: a few acts, whose own callbacks come later. */
static void act_inside(void)
{
    if (life.ending || life.nested || dice(3))
        return;
    life.nested++;
    for (unsigned n = 1 + dice(3); n; n--)
        act();
    life.nested--;
}

static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    struct accepted *accepted = data;

    assert_ptr_equal(halter_guest_host(guest), life.host);
    assert_int_equal(accepted->told, 0);
    accepted->told++;
    assert_int_equal(result->call, accepted->number);
    assert_int_equal(result->json[result->json_bytes], 0);
    /* Closing the guest, or the launcher's end, may come before the cancellation is carried out. */
    if (accepted->canceled)
        assert_int_not_equal(result->status, HALTER_OK);
    life.results++;
    act_inside();
}

static void on_event(struct halter_host *host, const struct halter_event *event, void *data)
{
    (void)data;
    assert_ptr_equal(host, life.host);
    assert_in_range(event->type, 1, 15);
    life.events++;
    act_inside();
}

static void on_request(struct halter_guest *guest, struct halter_request *request, const char *args,
                       size_t args_bytes, void *data)
{
    (void)args;
    (void)args_bytes;
    (void)data;
    assert_ptr_equal(halter_request_guest(request), guest);
    for (unsigned i = 0; i < REQUESTS && dice(4); i++)
        if (!life.requests[i]) {
            life.requests[i] = request;
            act_inside();
            return;
        }
    act_inside();
    assert_int_equal(halter_answer(request, "[1]", 0), HALTER_OK);
}

static void make(unsigned i)
{
    static const char *const grants[] = {"ask", NULL};
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;

    o.name = "life";
    o.source = plugin();
    o.grants = grants;
    o.deadline_ms = 1 + dice(30);
    o.load_deadline_ms = 1 + dice(200);
    o.wall_cap_ms = dice(2) ? 1 + dice(60) : 0;
    o.queue_max = 1 + dice(40);
    o.backoff_min_ms = 1;
    o.backoff_max_ms = 1 + dice(20);
    o.quarantine_after = 1 + dice(8);
    o.memory_bytes = dice(4) ? 0 : (uint64_t)(256 + dice(3)) << 20;
    int status = halter_plugin_create(life.host, &o, &life.guests[i]);
    if (!life.closing)
        assert_int_equal(status, HALTER_OK);
    else
        assert_int_equal(status, HALTER_ECLOSED);
}

static void call_one(struct halter_guest *guest)
{
    if (life.ncalls == CALLS)
        return;
    struct accepted *accepted = &life.calls[life.ncalls];
    struct halter_call_options o = HALTER_CALL_INIT;
    int in = 0;
    o.fds = &in;
    o.nfds = dice(8) == 0;
    if (halter_call(guest, input(), 0, &o, on_result, accepted, &accepted->number) == HALTER_OK)
        life.ncalls++;
}

static void cancel_one(struct halter_guest *guest)
{
    unsigned back = 1 + dice(24);
    if (back > life.ncalls)
        return;
    struct accepted *accepted = &life.calls[life.ncalls - back];
    if (halter_cancel(guest, accepted->number) == HALTER_OK) {
        assert_int_equal(accepted->told, 0);
        assert_false(accepted->canceled);
        accepted->canceled = true;
    }
}

static void give_back_one(void)
{
    unsigned i = dice(REQUESTS);
    struct halter_request *request = life.requests[i];
    if (!request)
        return;
    life.requests[i] = NULL;
    if (dice(2))
        assert_int_equal(halter_answer(request, "{}", 0), HALTER_OK);
    else
        assert_int_equal(halter_refuse(request, dice(2), "no"), HALTER_OK);
}

/* The launcher is a child of this process, and the parent of a guest's process. */
static void kill_launcher(struct halter_guest *guest)
{
    char path[64], text[256] = "";
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", halter_guest_pid(guest));
    FILE *file = halter_guest_pid(guest) ? fopen(path, "r") : NULL;
    if (!file)
        return;
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    char *end = n ? strrchr(text, ')') : NULL;
    if (end && sscanf(end + 1, " %*c %d", &parent) == 1 && parent > 1 && parent != getpid())
        kill(parent, SIGKILL);
}

static void act(void)
{
    unsigned i = dice(GUESTS);
    struct halter_guest *guest = life.guests[i];

    if (!guest) {
        make(i);
        return;
    }
    switch (dice(40)) {
    case 0:
        life.guests[i] = NULL;
        halter_guest_destroy(guest);
        break;
    case 1:
    case 2:
        halter_guest_reload(guest, plugin(), 0);
        break;
    case 3:
        halter_guest_kill(guest);
        break;
    case 4:
    case 5:
        halter_guest_reset(guest);
        break;
    case 6:
        if (!dice(8))
            kill_launcher(guest);
        break;
    case 7:
    case 8:
    case 9:
    case 10:
    case 11:
        give_back_one();
        break;
    case 12:
    case 13:
    case 14:
    case 15:
    case 16:
    case 17:
        cancel_one(guest);
        break;
    default:
        call_one(guest);
    }
}

static void turn(int timeout_ms)
{
    struct pollfd ready = {.fd = halter_fd(life.host), .events = POLLIN};
    poll(&ready, 1, timeout_ms);
    assert_true(halter_dispatch(life.host, 0) >= 0);
}

/* Once nothing is added and every request is answered, every call comes to its end. */
static void come_to_rest(void)
{
    life.ending = true;
    uint64_t until = now_ns() + 30000000000ull;
    for (unsigned waiting = 1; waiting && now_ns() < until;) {
        for (unsigned i = 0; i < REQUESTS; i++)
            if (life.requests[i]) {
                halter_answer(life.requests[i], "0", 0);
                life.requests[i] = NULL;
            }
        turn(20);
        waiting = 0;
        for (unsigned i = 0; i < life.ncalls; i++)
            waiting += !life.calls[i].told;
    }
}

static void live(uint64_t seed)
{
    int descriptors = open_descriptors();
    struct halter_options o = HALTER_OPTIONS_INIT;

    life = (struct life){.random = seed * 0x9e3779b97f4a7c15ull | 1};
    o.launcher_path = FAKE_LAUNCHER;
    o.on_event = on_event;
    o.spares = dice(3);
    assert_int_equal(halter_create(&o, &life.host), HALTER_OK);
    assert_int_equal(halter_provide(life.host, "ask", on_request, NULL), HALTER_OK);
    for (unsigned step = 0; step < STEPS; step++) {
        for (unsigned n = dice(4); n; n--)
            act();
        turn((int)dice(3));
    }
    if (seed & 1)
        come_to_rest();
    for (unsigned i = 0; i < life.ncalls && (seed & 1); i++)
        assert_int_equal(life.calls[i].told, 1);
    life.ending = dice(2);
    life.closing = true;
    halter_destroy(life.host);
    for (unsigned i = 0; i < life.ncalls; i++)
        assert_int_equal(life.calls[i].told, 1);
    for (unsigned i = 0; i < REQUESTS; i++)
        if (life.requests[i])
            assert_int_equal(halter_answer(life.requests[i], "1", 0), HALTER_OK);
    assert_descendants(0);
    assert_int_equal(open_descriptors(), descriptors);
    print_message("# seed %llu: %u calls, %llu results, %llu events\n", (unsigned long long)seed,
                  life.ncalls, (unsigned long long)life.results, (unsigned long long)life.events);
}

static void random_lives(void **state)
{
    const char *one = getenv("HALTER_TEST_SEED");

    (void)state;
    if (one) {
        live(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 1; seed <= 6; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        live(seed);
        assert_true(life.ncalls > 50);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_lives)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
