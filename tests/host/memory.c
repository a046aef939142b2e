/*
 * What a guest's memory is from outside: what a script takes is what its host sees, and what it gives
 * back is gone from the account.
 */
#include <stdio.h>
#include <string.h>

#include "support.h"

static struct fixture f;

static int open_real(void **state)
{
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    return 0;
}

static uint64_t resident(struct halter_guest *guest)
{
    struct halter_stats stats = HALTER_STATS_INIT;
    assert_int_equal(halter_guest_stats(guest, &stats), HALTER_OK);
    assert_true(stats.peak_bytes >= stats.resident_bytes);
    return stats.resident_bytes;
}

/* A line of /proc/<pid>/smaps_rollup, in KiB; 0 when this user may not read it. */
static long rollup(struct halter_guest *guest, const char *key)
{
    char path[64], line[128];
    long kib, sum = 0;
    snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", halter_guest_pid(guest));
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%*[^:]: %ld", &kib) == 1)
            sum += kib;
    if (file)
        fclose(file);
    return sum;
}

static void a_hundred_megabytes_are_seen_as_such(void **state)
{
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.deadline_ms = 60000;
    struct halter_guest *guest =
        guest_of(&f, "p",
                 "const kept = []; transform = (mib) => { for (let i = 0; i < mib; i++)"
                 " kept.push(new Uint8Array(1 << 20).fill(1)); return kept.length }",
                 &o);
    ask(&f, guest, "2", &outcome); /* what the code itself needs is there then */
    long private_kib = rollup(guest, "Private");
    uint64_t before = resident(guest);
    ask(&f, guest, "100", &outcome);
    assert_string_equal(outcome.json, "102");
    double seen = (double)(resident(guest) - before) / 1048576.0;
    print_message("# idle: %.1f MiB resident, %.1f MiB private; 100 MiB are seen as %.2f\n",
                  (double)before / 1048576.0, (double)private_kib / 1024.0, seen);
    if (seen < 97.0 || seen > 103.0)
        fail_msg("100 MiB are seen as %.2f MiB", seen);
}

/* The peak outlives the process. */
static void the_peak_is_told_at_the_end(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest =
        guest_of(&f, "p",
                 "transform = (raw) => { const a = new Uint8Array(64 << 20).fill(1); return a[5] }",
                 NULL);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_int_equal(halter_guest_kill(guest), HALTER_OK);
    uint64_t until = now_ns() + 60000000000ull;
    while (!f.events.count[HALTER_EVENT_DEATH] && now_ns() < until)
        dispatch(&f, 100);
    assert_true(f.events.last_death.peak_bytes >= 64u << 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_hundred_megabytes_are_seen_as_such),
        TEST(the_peak_is_told_at_the_end),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("memory from outside", tests, NULL, NULL);
}
