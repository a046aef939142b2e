/* One descriptor out: whatever it is, writing to it never blocks and loses nothing. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/output.h"

#define TOTAL (8u << 20)

static struct output output;
static int saved = -1;

/* Puts `fd` in the place of standard output while the output is opened. */
static void open_on(int fd)
{
    saved = dup(STDOUT_FILENO);
    assert_true(dup2(fd, STDOUT_FILENO) >= 0);
    close(fd);
    assert_true(output_open(&output, NULL));
}

static void give_back(void)
{
    assert_true(output_close(&output));
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    close(saved);
}

static char byte_at(size_t at)
{
    return (char)('a' + at * 7 % 26);
}

/* Writes TOTAL bytes while reading them back; every flush returns although nobody is reading. */
static void carry_everything(int reader)
{
    size_t put = 0, got = 0;
    unsigned blocked = 0;
    while (got < TOTAL) {
        while (put < TOTAL && output_pending(&output) < 1u << 20) {
            char chunk[1024];
            for (size_t i = 0; i < sizeof chunk; i++)
                chunk[i] = byte_at(put++);
            output_text(&output, chunk, sizeof chunk, 1);
        }
        output_flush(&output);
        assert_false(output.broken);
        assert_int_equal(output.error, 0);
        blocked += output.blocked;
        char back[50000];
        ssize_t n = read(reader, back, sizeof back);
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++, got++)
            if (back[i] != byte_at(got))
                fail_msg("byte %zu is wrong", got);
    }
    assert_true(blocked > 10); /* or it was not this that was tested */
    assert_int_equal(output.bytes_written, TOTAL);
    assert_int_equal(output_pending(&output), 0);
}

static void a_pipe_keeps_its_flags(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    open_on(ends[1]);
    assert_int_equal(output.way, OUTPUT_NONBLOCKING);
    assert_int_equal(fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK, 0);
    give_back();
    close(ends[0]);
}

static void a_pipe_carries_everything(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    open_on(ends[1]);
    carry_everything(ends[0]);
    give_back();
    close(ends[0]);
}

/* As on a pipe that another user made, which cannot be opened anew. */
static void a_foreign_pipe_carries_everything(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    output = (struct output){.fd = ends[1], .owned = true, .way = OUTPUT_SMALL, .name = "pipe"};
    carry_everything(ends[0]);
    assert_true(output_close(&output));
    close(ends[0]);
}

static void a_socket_carries_everything(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    open_on(ends[1]);
    assert_int_equal(output.way, OUTPUT_SOCKET);
    carry_everything(ends[0]);
    give_back();
    close(ends[0]);
}

static void a_reader_that_leaves_is_noticed(void **state)
{
    const enum output_way ways[] = {OUTPUT_NONBLOCKING, OUTPUT_SMALL};
    (void)state;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        output = (struct output){.fd = ends[1], .owned = true, .way = ways[i], .name = "pipe"};
        close(ends[0]);
        output_text(&output, "x", 1, 1);
        output_flush(&output);
        assert_true(output.broken);
        assert_int_equal(output.error, 0);
        assert_true(output_close(&output));
    }
}

static void a_full_device_is_an_error(void **state)
{
    (void)state;
    assert_true(output_open(&output, "/dev/full"));
    output_text(&output, "x", 1, 1);
    output_flush(&output);
    assert_false(output.broken);
    assert_int_equal(output.error, ENOSPC);
    assert_true(output_close(&output));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipe_keeps_its_flags),
        cmocka_unit_test(a_pipe_carries_everything),
        cmocka_unit_test(a_foreign_pipe_carries_everything),
        cmocka_unit_test(a_socket_carries_everything),
        cmocka_unit_test(a_reader_that_leaves_is_noticed),
        cmocka_unit_test(a_full_device_is_an_error),
    };
    signal(SIGPIPE, SIG_IGN);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}
