/*
 * Descriptors on a real socket: each frame gets its own, in order, however frames are bunched,
 * delayed or torn; those that nobody wants are closed; every failure leaves the count as it was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/frame.h"

static int ends[2]; /* 0 sends, 1 receives */
static struct wire_reader reader;
static struct wire_writer writer;
static int files[16]; /* distinct files, told apart by their size */
static unsigned before;

static unsigned count_open(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static int setup(void **state)
{
    (void)state;
    before = count_open();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    for (int i = 0; i < 16; i++) {
        char path[] = "/tmp/halter-fd-XXXXXX";
        files[i] = mkstemp(path);
        assert_true(files[i] >= 0);
        unlink(path);
        assert_int_equal(ftruncate(files[i], i + 1), 0);
    }
    wire_reader_init(&reader, WIRE_DIR_IN, 8u << 20, true);
    wire_writer_init(&writer);
    return 0;
}

/* What every test ends with: whatever happened, nothing is left open. */
static int teardown(void **state)
{
    (void)state;
    wire_reader_finish(&reader);
    wire_writer_finish(&writer);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 16; i++)
        close(files[i]);
    return count_open() == before ? 0 : -1;
}

static int which(int fd)
{
    struct stat file;
    assert_int_equal(fstat(fd, &file), 0);
    return (int)file.st_size - 1;
}

static void send_frame(uint64_t id, uint8_t nfds, unsigned first_file, size_t body)
{
    struct wire_frame frame = {.type = WIRE_CALL, .id = id, .nfds = nfds};
    char *bytes = malloc(body + 1);
    memset(bytes, 'x', body + 1);
    struct iovec part = {.iov_base = bytes, .iov_len = body};
    assert_int_equal(wire_writer_send(&writer, ends[0], &frame, &part, 1, &files[first_file]), 0);
    free(bytes);
}

/* Reads and flushes until a frame is whole. */
static int next(struct wire_frame *frame)
{
    int cut;
    while ((cut = wire_reader_next(&reader, frame)) == 0) {
        int flushed = wire_writer_flush(&writer, ends[0]);
        assert_true(flushed == 0 || flushed == WIRE_AGAIN);
        int got = wire_reader_fill(&reader, ends[1]);
        if (got < 0)
            return got;
    }
    return cut;
}

static void expect(uint64_t id, unsigned nfds, int first_file)
{
    struct wire_frame frame;
    assert_int_equal(next(&frame), 1);
    assert_int_equal(frame.id, id);
    assert_int_equal(frame.nfds, nfds);
    for (unsigned i = 0; i < nfds; i++) {
        assert_int_equal(which(frame.fds[i]), first_file + (int)i);
        assert_true(fcntl(frame.fds[i], F_GETFD) & FD_CLOEXEC);
        close(frame.fds[i]);
    }
}

static void test_one(void **state)
{
    (void)state;
    send_frame(1, 1, 5, 10);
    expect(1, 1, 5);
}

static void test_as_many_as_a_frame_holds(void **state)
{
    (void)state;
    send_frame(1, WIRE_MAX_FDS, 0, 0);
    send_frame(3, WIRE_MAX_FDS, 8, 0);
    expect(1, WIRE_MAX_FDS, 0);
    expect(3, WIRE_MAX_FDS, 8);
}

static void test_between_frames_without(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 30; i++)
        send_frame(i, i % 3, (unsigned)(i % 7), (size_t)(i % 5) * 1000);
    for (uint64_t i = 0; i < 30; i++)
        expect(i, i % 3, (int)(i % 7));
}

/* Frames that did not fit wait in the writer with duplicates of their descriptors. */
static void test_waiting_in_the_writer(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 20; i++)
        send_frame(i, i % 3, (unsigned)(i % 7), 100000);
    assert_true(wire_writer_pending(&writer) > 0);
    for (uint64_t i = 0; i < 20; i++)
        expect(i, i % 3, (int)(i % 7));
    assert_int_equal(wire_writer_pending(&writer), 0);
}

/* The caller may close its own as soon as the frame is sent. */
static void test_caller_closes(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 8; i++) {
        send_frame(i, 1, (unsigned)i, 100000);
        close(files[i]);
        files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    for (uint64_t i = 0; i < 8; i++)
        expect(i, 1, (int)i);
}

static void test_waiting_at_the_end(void **state)
{
    (void)state;
    send_frame(1, 2, 0, 4u << 20);
    send_frame(3, 2, 2, 10);
    assert_true(wire_writer_pending(&writer) > 0); /* teardown closes what is left */
}

/* Taken off the socket, and in no frame yet: the reader closes them. */
static void test_unclaimed_at_the_end(void **state)
{
    (void)state;
    struct wire_frame frame;
    send_frame(1, 3, 0, 1u << 20);
    assert_true(wire_reader_fill(&reader, ends[1]) > 0);
    assert_int_equal(wire_reader_next(&reader, &frame), 0);
    assert_int_equal(reader.nfds, 3);
}

/* ---- senders that lie ----------------------------------------------------------------------- */

static void send_raw(const void *bytes, size_t length, unsigned nfds)
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int) * 64)];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int) * nfds),
                            .cmsg_level = SOL_SOCKET,
                            .cmsg_type = SCM_RIGHTS}};
    for (unsigned i = 0; i < nfds; i++)
        memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &files[i % 16], sizeof(int));
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (nfds) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
    }
    assert_int_equal(sendmsg(ends[0], &message, 0), length);
}

static void send_header(uint8_t type, uint8_t claimed, unsigned nfds)
{
    uint8_t header[WIRE_HEADER_BYTES];
    wire_header_encode(&(struct wire_frame){.type = type, .nfds = claimed}, header);
    send_raw(header, sizeof(header), nfds);
}

static void expect_fault(int fault)
{
    struct wire_frame frame;
    int got = wire_reader_fill(&reader, ends[1]);
    while (got > 0 && (got = wire_reader_next(&reader, &frame)) == 1)
        for (unsigned i = 0; i < frame.nfds; i++)
            close(frame.fds[i]);
    assert_int_equal(got, fault);
}

static void test_missing(void **state)
{
    (void)state;
    send_header(WIRE_CALL, 2, 1);
    expect_fault(WIRE_BAD_FDS);
}

static void test_more_than_claimed(void **state)
{
    (void)state;
    send_header(WIRE_CALL, 1, 2);
    expect_fault(WIRE_BAD_FDS);
}

static void test_with_a_frame_that_has_none(void **state)
{
    (void)state;
    send_header(WIRE_BEAT, 0, 1);
    expect_fault(WIRE_BAD_FDS);
}

static void test_too_many_at_once(void **state)
{
    (void)state;
    send_header(WIRE_CALL, 8, 40);
    expect_fault(WIRE_BAD_FDS);
}

static void test_too_many_queued(void **state)
{
    (void)state;
    uint8_t header[WIRE_HEADER_BYTES];
    wire_header_encode(&(struct wire_frame){.type = WIRE_CALL, .nfds = 8, .length = 99}, header);
    send_raw(header, sizeof(header), 30);
    send_raw("x", 1, 30);
    assert_int_equal(wire_reader_fill(&reader, ends[1]), sizeof(header));
    assert_int_equal(wire_reader_fill(&reader, ends[1]), WIRE_BAD_FDS);
}

/* A host takes none: they are not even opened. */
static void test_to_a_host(void **state)
{
    (void)state;
    wire_reader_init(&reader, WIRE_DIR_OUT, 1000, false);
    send_header(WIRE_BEAT, 0, 3);
    unsigned open_before = count_open();
    expect_fault(WIRE_BAD_FDS);
    assert_int_equal(count_open(), open_before);
}

/* The receiver has no number free: the kernel drops descriptors and says so. */
static void test_no_room_for_descriptors(void **state)
{
    (void)state;
    struct rlimit old, small;
    send_frame(1, 4, 0, 10);
    getrlimit(RLIMIT_NOFILE, &old);
    int lowest = dup(0); /* the lowest free number: room for two */
    close(lowest);
    small = old;
    small.rlim_cur = (rlim_t)lowest + 2;
    setrlimit(RLIMIT_NOFILE, &small);
    int got = wire_reader_fill(&reader, ends[1]);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(got, WIRE_BAD_FDS);
}

/* The sender cannot duplicate what must wait: an error, and the frame is not half sent. */
static void test_no_room_to_wait(void **state)
{
    (void)state;
    struct rlimit old, none;
    struct wire_frame frame = {.type = WIRE_CALL, .id = 3, .nfds = 2};
    send_frame(1, 0, 0, 1u << 20);
    size_t pending = wire_writer_pending(&writer);
    assert_true(pending > 0);
    getrlimit(RLIMIT_NOFILE, &old);
    none = old;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    int got = wire_writer_send(&writer, ends[0], &frame, NULL, 0, files);
    int error = errno;
    setrlimit(RLIMIT_NOFILE, &old);
    assert_int_equal(got, WIRE_SYSTEM);
    assert_true(error == EMFILE || error == EINVAL);
    assert_int_equal(wire_writer_pending(&writer), pending);
    send_frame(5, 1, 4, 3);
    expect(1, 0, 0);
    expect(5, 1, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one),
        TEST(test_as_many_as_a_frame_holds),
        TEST(test_between_frames_without),
        TEST(test_waiting_in_the_writer),
        TEST(test_caller_closes),
        TEST(test_waiting_at_the_end),
        TEST(test_unclaimed_at_the_end),
        TEST(test_missing),
        TEST(test_more_than_claimed),
        TEST(test_with_a_frame_that_has_none),
        TEST(test_too_many_at_once),
        TEST(test_too_many_queued),
        TEST(test_to_a_host),
        TEST(test_no_room_for_descriptors),
        TEST(test_no_room_to_wait),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("descriptors", tests, NULL, NULL);
}
