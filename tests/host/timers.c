/* The heap of timers against the plain way of doing it, over random operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "host/list.h"
#include "host/timers.h"

#define TIMERS 64

struct item {
    struct timer timer;
    uint64_t when; /* by the plain way: 0 is unarmed */
    unsigned fired;
};

static struct item items[TIMERS];

static void fired(struct timer *timer, uint64_t now_ns)
{
    struct item *item = list_entry(timer, struct item, timer);
    assert_true(item->when && item->when <= now_ns);
    for (int i = 0; i < TIMERS; i++)
        assert_false(items[i].when && items[i].when < item->when); /* in order */
    item->when = 0;
    item->fired++;
}

static void like_the_plain_way(void **state)
{
    struct timers timers;
    uint64_t now = 1;
    unsigned total = 0;

    (void)state;
    srand(1);
    timers_init(&timers);
    assert_int_equal(timers_reserve(&timers, TIMERS), 0);
    for (int i = 0; i < TIMERS; i++)
        items[i] = (struct item){.timer.fire = fired};
    for (int step = 0; step < 200000; step++) {
        struct item *item = &items[rand() % TIMERS];
        switch (rand() % 4) {
        case 0:
        case 1:
            item->when = now + 1 + (uint64_t)rand() % 1000;
            timer_arm(&timers, &item->timer, item->when);
            break;
        case 2:
            item->when = 0;
            timer_cancel(&timers, &item->timer);
            break;
        default:
            now += (uint64_t)rand() % 50;
            total += timers_run(&timers, now);
        }
        uint64_t next = 0;
        for (int i = 0; i < TIMERS; i++)
            if (items[i].when && (!next || items[i].when < next))
                next = items[i].when;
        assert_int_equal(timers_next(&timers), next);
    }
    assert_true(total > 10000);
    timers_finish(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_the_plain_way)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
