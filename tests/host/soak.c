/*
 * A hundred plugins, killed and restarted over and over: no descriptor, no zombie and no memory
 * more than before. The number of cycles is the argument; without one it is what `make check` takes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#define PLUGINS 100

static unsigned cycles = 500;
static struct fixture f;
static struct outcome outcomes[PLUGINS];

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d %ld", &pages), 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* One round: some are killed by the deadline, some by hand, some by a cancel, some by a signal. */
static void round_of(struct halter_guest **guests, unsigned round, unsigned *done)
{
    for (unsigned i = 0; i < PLUGINS && *done < cycles; i++, ++*done) {
        struct halter_guest *guest = guests[i];
        unsigned way = (round + i) % 4;
        struct halter_call_options o = HALTER_CALL_INIT;
        uint64_t number;
        o.deadline_ms = way == 0 ? 20 : 30000;
        memset(&outcomes[i], 0, sizeof(outcomes[i]));
        assert_int_equal(halter_call(guest, "\"go\"", 0, &o, record, &outcomes[i], &number),
                         HALTER_OK);
        while (halter_guest_state(guest) != HALTER_GUEST_BUSY)
            dispatch(&f, 100);
        if (way == 1)
            assert_int_equal(halter_guest_kill(guest), HALTER_OK);
        else if (way == 2)
            assert_int_equal(halter_cancel(guest, number), HALTER_OK);
        else if (way == 3)
            kill(halter_guest_pid(guest), SIGKILL);
        settle(&f, &outcomes[i]);
        static const int expected[] = {HALTER_EDEADLINE, HALTER_EKILLED, HALTER_ECANCELED,
                                       HALTER_ESIGNAL};
        assert_int_equal(outcomes[i].status, expected[way]);
        ask(&f, guest, "7", &outcomes[i]);
        assert_int_equal(outcomes[i].status, HALTER_OK);
    }
}

static void nothing_grows(void **state)
{
    struct halter_guest *guests[PLUGINS];
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    unsigned done = 0, round = 0;
    (void)state;

    fixture_open(&f, REAL_LAUNCHER, NULL);
    o.deadline_ms = 10000;
    o.load_deadline_ms = 10000;
    for (int i = 0; i < PLUGINS; i++)
        guests[i] = guest_of(&f, "p", "transform = (raw) => { while (raw === 'go'); return raw }",
                             &o);
    for (int i = 0; i < PLUGINS; i++)
        settle_state(&f, guests[i], HALTER_GUEST_READY);
    for (int i = 0; i < PLUGINS; i++)
        ask(&f, guests[i], "1", &outcomes[i]); /* what a first call allocates is there */
    run_for(&f, 300);
    int descriptors = open_descriptors(), processes = living_descendants();
    long before = resident_kib();
    while (done < cycles) {
        round_of(guests, round++, &done);
        if (cycles > 1000)
            printf("# %u of %u cycles\n", done, cycles);
    }
    run_for(&f, 500);
    assert_in_range(open_descriptors(), descriptors - 4, descriptors + 4);
    assert_in_range(living_descendants(), processes - 1, processes + 1);
    if (!slowed_down())
        print_message("# resident: %ld KiB before, %ld after\n", before, resident_kib());
    if (!slowed_down())
        assert_true(resident_kib() - before < 2048);
    fixture_close(&f);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        cycles = (unsigned)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_grows)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL);
}
