/*
 * Everything at once, for so many seconds (the argument; one minute without): quick calls, large
 * payloads, hangs, kills by hand, reloads and denials over a handful of guests. Each accepted call
 * ends once and as it should, and nothing grows: not memory, not descriptors, not processes.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#define GUESTS      8
#define LARGE_BYTES (1u << 20)

static unsigned seconds = 60;
static struct fixture f;
static struct halter_guest *guests[GUESTS];
static char *large;
static uint64_t accepted, finished, wrong, seed = 1;

/* The version is in the result: a reload is seen to have worked. */
static const char source[] =
    "globalThis.transform = (raw) => { while (raw === 'hang');"
    " if (raw === 'ask') { try { host.vault.open.sync(); return 'let in' } catch (e) { return 'denied' } }"
    " return typeof raw === 'string' ? raw.length : raw };";

struct expected {
    int status;
    const char *json; /* NULL: not looked at */
};
static const struct expected fine = {HALTER_OK, "7"}, long_text = {HALTER_OK, "1048576"},
                             denied = {HALTER_OK, "\"denied\""},
                             hung = {HALTER_EDEADLINE, NULL};

/* A kill by hand may take any call along, and is told apart. */
static void on_result(struct halter_guest *guest, const struct halter_result *result, void *data)
{
    const struct expected *expected = data;
    (void)guest;
    finished++;
    bool right = result->status == expected->status &&
                 (!expected->json || strcmp(result->json, expected->json) == 0);
    if (right || result->status == HALTER_EKILLED)
        return;
    wrong++;
    print_message("# expected %s, got %s %.40s\n", halter_status_name(expected->status),
                  halter_status_name(result->status), result->json);
}

static void refuse(struct halter_guest *guest, struct halter_request *request, const char *args,
                   size_t args_bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    (void)data;
    halter_refuse(request, true, "not for you");
}

static unsigned next(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static void send_one(struct halter_guest *guest, const char *json, size_t bytes, uint32_t deadline_ms,
                     const struct expected *expected)
{
    struct halter_call_options options = HALTER_CALL_INIT;
    options.deadline_ms = deadline_ms;
    int status = halter_call(guest, json, bytes, &options, on_result,
                             (void *)(uintptr_t)expected, NULL);
    if (status == HALTER_OK)
        accepted++;
    else
        assert_int_equal(status, HALTER_EQUEUE);
}

static void do_something(void)
{
    struct halter_guest *guest = guests[next(GUESTS)];
    unsigned what = next(100);
    if (what < 70)
        send_one(guest, "7", 1, 20000, &fine);
    else if (what < 80)
        send_one(guest, large, LARGE_BYTES + 2, 20000, &long_text);
    else if (what < 90)
        send_one(guest, "\"ask\"", 5, 20000, &denied);
    else if (what < 94)
        send_one(guest, "\"hang\"", 6, 20, &hung);
    else if (what < 97)
        halter_guest_reload(guest, source, 0);
    else
        halter_guest_kill(guest);
}

/* Without what the C library keeps for later: queues were full of large calls a moment ago. */
static long resident_kib(void)
{
    long pages = 0;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Works for so long, then waits until all that was accepted has ended. */
static void work_for(unsigned how_long)
{
    time_t end = time(NULL) + (time_t)how_long, limit = end + 120;
    while (time(NULL) < end) {
        for (int i = 0; i < 4; i++)
            do_something();
        dispatch(&f, 10);
    }
    while (finished < accepted && time(NULL) < limit)
        dispatch(&f, 100);
    run_for(&f, 500);
}

static void nothing_grows_and_nothing_is_lost(void **state)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    static const char *const grants[] = {"vault.open", NULL};
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    assert_int_equal(halter_provide(f.host, "vault.open", refuse, NULL), HALTER_OK);
    options.grants = grants;
    options.load_deadline_ms = 20000;
    options.quarantine_after = UINT32_MAX;
    options.backoff_max_ms = 100;
    for (int i = 0; i < GUESTS; i++)
        guests[i] = guest_of(&f, "endurance", source, &options);
    for (int i = 0; i < GUESTS; i++)
        settle_state(&f, guests[i], HALTER_GUEST_READY);
    work_for(seconds / 6 + 1);
    int descriptors = open_descriptors(), processes = living_descendants();
    long before = resident_kib();
    work_for(seconds);
    print_message("# %llu calls; resident %ld KiB, then %ld\n", (unsigned long long)accepted, before,
                  resident_kib());
    assert_true(accepted > 100);
    assert_int_equal(finished, accepted);
    assert_int_equal(wrong, 0);
    assert_in_range(open_descriptors(), descriptors - 4, descriptors + 4);
    assert_in_range(living_descendants(), processes - 2, processes + 2);
    if (!slowed_down())
        assert_true(resident_kib() - before < 8192);
    assert_true(f.events.count[HALTER_EVENT_DENIED] > 0);
    assert_true(f.events.count[HALTER_EVENT_RELOADED] > 0);
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        seconds = (unsigned)strtoul(argv[1], NULL, 10);
    large = malloc(LARGE_BYTES + 3);
    if (!large)
        return 1;
    memset(large, 'x', LARGE_BYTES + 2);
    large[0] = large[LARGE_BYTES + 1] = '"';
    large[LARGE_BYTES + 2] = '\0';
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_grows_and_nothing_is_lost)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests_name("endurance", tests, NULL, NULL);
    free(large);
    return failed;
}
