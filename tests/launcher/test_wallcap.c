/*
 * The wall cap holds while the host does nothing at all, and spares a helper whose answer the host
 * has not read: the host of these tests sleeps in every sense.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define MS 1000000ull

static struct rig rig;

static int start(void **state)
{
    (void)state;
    rig_start(&rig);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    assert_int_equal(rig_stop(&rig), 0);
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* As wire/control.h says: arms, then wakes a launcher that sleeps. */
static uint64_t arm(struct guest *guest, uint64_t call_id, uint64_t in_ms)
{
    uint64_t at = now_ns() + in_ms * MS;
    struct control_message wake = {.type = CONTROL_WAKE, .version = CONTROL_VERSION};
    rig.page->slots[guest->slot].call_id = call_id;
    rig.page->slots[guest->slot].answering = 0;
    rig.page->slots[guest->slot].kill_at_ns = at;
    if (rig.page->asleep)
        assert_int_equal(send(rig.control, &wake, sizeof(wake), 0), sizeof(wake));
    return at;
}

static void disarm(struct guest *guest)
{
    rig.page->slots[guest->slot].kill_at_ns = 0;
}

static void spawn_loaded(struct guest *guest, uint32_t slot, const char *script)
{
    guest_spawn(&rig, guest, slot, NULL);
    guest_load(guest, script);
}

static void kill_and_wait(struct guest *guest)
{
    disarm(guest);
    assert_int_equal(pidfd_send_signal(guest->pidfd, SIGKILL, NULL, 0), 0);
    guest_exited(&rig, guest);
}

/* A host asleep: no call, no read, no dispatch; the death comes with its cause and on time. */
static void expect_killed(struct guest *guest, uint64_t at)
{
    struct control_message message = guest_exited(&rig, guest);
    rig.page->slots[guest->slot].kill_at_ns = 0;
    assert_int_equal(message.exited.cause, CONTROL_CAUSE_WALL_CAP);
    assert_int_equal(message.exited.code, CLD_KILLED);
    assert_int_equal(message.exited.status, SIGKILL);
    assert_true(message.exited.exited_ns >= at);
}

static void test_busy_helper(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call hang");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 100);
    expect_killed(&guest, at);
}

static void test_idle_helper(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call stall");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 60);
    expect_killed(&guest, at);
}

static void test_last_slot(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, CONTROL_SLOTS - 1, "call stall");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 20);
    expect_killed(&guest, at);
}

/* Armed for later, then for earlier, without a WAKE: the launcher looks by itself. */
static void test_earlier_than_armed(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call stall");
    uint64_t id = guest_send(&guest, "1");
    arm(&guest, id, 60000);
    usleep(50000);
    uint64_t at = now_ns() + 50 * MS;
    rig.page->slots[3].kill_at_ns = at;
    expect_killed(&guest, at);
}

static void test_disarmed_helper_lives(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call sleep 200\ncall echo");
    uint64_t id = guest_send(&guest, "1");
    arm(&guest, id, 60);
    usleep(20000);
    disarm(&guest);
    struct wire_frame frame;
    guest_receive(&guest, &frame);
    assert_true(frame.type == WIRE_VALUE && frame.id == id);
    kill_and_wait(&guest);
}

static void test_others_live(void **state)
{
    (void)state;
    struct guest hangs, serves;
    spawn_loaded(&hangs, 1, "call hang");
    spawn_loaded(&serves, 2, "call echo");
    uint64_t at = arm(&hangs, guest_send(&hangs, "1"), 50);
    expect_killed(&hangs, at);
    free(guest_call(&serves, "2"));
    kill_and_wait(&serves);
}

/* Answered in time, and not read: it is the application that is late. */
static void spared(const char *script)
{
    struct guest guest;
    struct wire_frame frame;
    spawn_loaded(&guest, 3, script);
    uint64_t id = guest_send(&guest, "7");
    arm(&guest, id, 80);
    usleep(400000);
    do {
        guest_receive(&guest, &frame);
    } while (frame.type == WIRE_LOG);
    assert_true(frame.id == id);
    disarm(&guest);
    kill_and_wait(&guest);
}

static void test_answered_is_spared(void **state)
{
    (void)state;
    spared("call echo");
    spared("call undefined");
    spared("call throw no");
    spared("call log 20\ncall echo");
}

/* An answer larger than the socket: the helper waits in write(), which is the host's to end. */
static void test_half_written_is_spared(void **state)
{
    (void)state;
    spared("call big 900000");
}

static void test_spared_helper_must_sleep(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call echo\ncall hang");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 50);
    expect_killed(&guest, at);
}

static void test_log_lines_are_no_answer(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call log 20\ncall stall");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 50);
    expect_killed(&guest, at);
}

static void test_answer_of_another_call_does_not_count(void **state)
{
    (void)state;
    struct guest guest;
    spawn_loaded(&guest, 3, "call wrong-id\ncall stall");
    uint64_t at = arm(&guest, guest_send(&guest, "1"), 50);
    expect_killed(&guest, at);
}

/* The host holds the beginning of the answer: what is unread begins inside a frame. */
static void test_half_read_is_spared(void **state)
{
    (void)state;
    struct guest guest;
    char header[WIRE_HEADER_BYTES + 5];
    spawn_loaded(&guest, 3, "call big 900000");
    uint64_t id = guest_send(&guest, "1");
    assert_int_equal(recv(guest.socket, header, sizeof(header), MSG_WAITALL), sizeof(header));
    arm(&guest, id, 50);
    rig.page->slots[3].answering = 1;
    usleep(300000);
    assert_int_equal(kill(guest.pid, 0), 0);
    uint64_t at = now_ns();
    rig.page->slots[3].answering = 0;
    expect_killed(&guest, at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_busy_helper),
        cmocka_unit_test(test_idle_helper),
        cmocka_unit_test(test_last_slot),
        cmocka_unit_test(test_earlier_than_armed),
        cmocka_unit_test(test_disarmed_helper_lives),
        cmocka_unit_test(test_others_live),
        cmocka_unit_test(test_answered_is_spared),
        cmocka_unit_test(test_half_written_is_spared),
        cmocka_unit_test(test_spared_helper_must_sleep),
        cmocka_unit_test(test_log_lines_are_no_answer),
        cmocka_unit_test(test_answer_of_another_call_does_not_count),
        cmocka_unit_test(test_half_read_is_spared),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("wallcap", tests, start, stop);
}
