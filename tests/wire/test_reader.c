/*
 * The reader against every way of cutting a stream into reads, against lengths that lie, and
 * against a kernel that fails. Its allocations and its recvmsg go through this file.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "wire/frame.h"

/* ---- a kernel and an allocator that do as they are told ------------------------------------- */

static size_t largest; /* request for memory since it was last cleared */
static bool no_memory;
static const uint8_t *script; /* bytes that recvmsg yields, instead of the socket's */
static size_t script_left, script_piece;
static int failures[4]; /* errno values to fail with first */
static unsigned nfailures;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes)
{
    if (bytes > largest)
        largest = bytes;
    if (no_memory) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_realloc(memory, bytes);
}

ssize_t __real_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    if (nfailures) {
        errno = failures[--nfailures];
        return -1;
    }
    if (!script)
        return __real_recvmsg(fd, message, flags);
    size_t take = message->msg_iov[0].iov_len;
    take = take < script_piece ? take : script_piece;
    take = take < script_left ? take : script_left;
    memcpy(message->msg_iov[0].iov_base, script, take);
    message->msg_controllen = 0;
    message->msg_flags = 0;
    script += take;
    script_left -= take;
    return (ssize_t)take;
}

/* ---- streams of frames ---------------------------------------------------------------------- */

struct stream {
    uint8_t *bytes;
    size_t length;
};

static void add(struct stream *stream, uint8_t type, uint64_t id, const void *body, size_t length)
{
    struct wire_frame frame = {.length = (uint32_t)length, .type = type, .id = id};
    stream->bytes = __real_realloc(stream->bytes, stream->length + WIRE_HEADER_BYTES + length);
    wire_header_encode(&frame, stream->bytes + stream->length);
    if (length)
        memcpy(stream->bytes + stream->length + WIRE_HEADER_BYTES, body, length);
    stream->length += WIRE_HEADER_BYTES + length;
}

static const char *const bodies[] = {"", "1", "{\"a\":[1,2,3]}", "", "\"twelve bytes\"", "null"};
#define BODIES (sizeof(bodies) / sizeof(*bodies))

static struct stream sample(void)
{
    struct stream stream = {0};
    for (size_t i = 0; i < BODIES; i++)
        add(&stream, WIRE_VALUE, i + 1, bodies[i], strlen(bodies[i]));
    return stream;
}

/* Takes what is whole, and checks it. */
static void take(struct wire_reader *reader, size_t *seen)
{
    struct wire_frame frame;
    int cut;
    while ((cut = wire_reader_next(reader, &frame)) == 1) {
        assert_true(*seen < BODIES);
        assert_int_equal(frame.id, *seen + 1);
        assert_int_equal(frame.length, strlen(bodies[*seen]));
        assert_string_equal((const char *)frame.body, bodies[*seen]); /* terminated, too */
        ++*seen;
    }
    assert_int_equal(cut, 0);
}

static void feed(const uint8_t *bytes, size_t length, size_t piece)
{
    script = bytes;
    script_left = length;
    script_piece = piece;
}

static void test_every_piece_size(void **state)
{
    (void)state;
    struct stream stream = sample();
    for (size_t piece = 1; piece <= stream.length; piece++) {
        struct wire_reader reader;
        size_t seen = 0;
        wire_reader_init(&reader, WIRE_DIR_OUT, 1000, false);
        feed(stream.bytes, stream.length, piece);
        while (script_left) {
            assert_true(wire_reader_fill(&reader, -1) > 0);
            take(&reader, &seen);
        }
        assert_int_equal(seen, BODIES);
        assert_int_equal(wire_reader_fill(&reader, -1), WIRE_EOF);
        wire_reader_finish(&reader);
    }
    script = NULL;
    free(stream.bytes);
}

/* Two reads, parted at every byte; and the end of the connection there. */
static void test_every_boundary(void **state)
{
    (void)state;
    struct stream stream = sample();
    for (size_t at = 1; at < stream.length; at++) {
        struct wire_reader reader;
        size_t seen = 0, edge = 0;
        bool boundary = false;
        for (size_t i = 0; i < BODIES; i++) {
            edge += WIRE_HEADER_BYTES + strlen(bodies[i]);
            boundary |= edge == at;
        }
        wire_reader_init(&reader, WIRE_DIR_OUT, 1000, false);
        feed(stream.bytes, at, at);
        assert_int_equal(wire_reader_fill(&reader, -1), at);
        if (at % 2) /* also when the whole frames have not been taken yet */
            take(&reader, &seen);
        assert_int_equal(wire_reader_fill(&reader, -1), boundary ? WIRE_EOF : WIRE_TRUNCATED);
        take(&reader, &seen);
        feed(stream.bytes + at, stream.length - at, stream.length);
        assert_int_equal(wire_reader_fill(&reader, -1), stream.length - at);
        take(&reader, &seen);
        assert_int_equal(seen, BODIES);
        wire_reader_finish(&reader);
    }
    script = NULL;
    free(stream.bytes);
}

/* A frame as large as the cap, in pieces, between small ones; then the memory goes back. */
static void test_large_frame(void **state)
{
    (void)state;
    enum { LARGE = 3 << 20 };
    char *body = malloc(LARGE);
    memset(body, 'x', LARGE);
    body[0] = body[LARGE - 1] = '"';
    struct stream stream = {0};
    add(&stream, WIRE_VALUE, 1, "1", 1);
    add(&stream, WIRE_VALUE, 3, body, LARGE);
    add(&stream, WIRE_VALUE, 5, "2", 1);
    struct wire_reader reader;
    struct wire_frame frame;
    unsigned seen = 0;
    wire_reader_init(&reader, WIRE_DIR_OUT, LARGE, false);
    feed(stream.bytes, stream.length, 100003);
    while (script_left) {
        assert_true(wire_reader_fill(&reader, -1) > 0);
        while (wire_reader_next(&reader, &frame) == 1) {
            if (frame.id == 3)
                assert_memory_equal(frame.body, body, LARGE);
            else
                assert_int_equal(frame.body[0], frame.id == 1 ? '1' : '2');
            assert_int_equal(frame.body[frame.length], 0);
            seen++;
        }
    }
    assert_int_equal(seen, 3);
    assert_true(reader.capacity <= WIRE_KEEP_BYTES);
    wire_reader_finish(&reader);
    script = NULL;
    free(stream.bytes);
    free(body);
}

/* ---- lies ----------------------------------------------------------------------------------- */

static int fault_of(const struct wire_frame *header, enum wire_direction direction, uint32_t cap,
                    bool takes_fds)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct wire_reader reader;
    struct wire_frame frame;
    wire_header_encode(header, bytes);
    wire_reader_init(&reader, direction, cap, takes_fds);
    feed(bytes, sizeof(bytes), sizeof(bytes));
    largest = 0;
    assert_int_equal(wire_reader_fill(&reader, -1), sizeof(bytes));
    int fault = wire_reader_next(&reader, &frame);
    if (fault < 0)
        assert_int_equal(wire_reader_next(&reader, &frame), fault); /* it stays so */
    wire_reader_finish(&reader);
    script = NULL;
    return fault;
}

static void test_hostile_lengths(void **state)
{
    (void)state;
    const uint32_t lengths[] = {1001, 65536, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        struct wire_frame frame = {.type = WIRE_VALUE, .length = lengths[i]};
        assert_int_equal(fault_of(&frame, WIRE_DIR_OUT, 1000, false), WIRE_TOO_LONG);
        assert_in_range(largest, 1, 32 << 10);
    }
}

/* Allowed by the cap, and a lie: memory follows what arrives, not what is claimed. */
static void test_claimed_is_not_allocated(void **state)
{
    (void)state;
    static uint8_t bytes[WIRE_HEADER_BYTES + 100000];
    struct wire_frame frame = {.type = WIRE_VALUE, .length = 1u << 30};
    struct wire_reader reader;
    wire_header_encode(&frame, bytes);
    wire_reader_init(&reader, WIRE_DIR_OUT, 1u << 30, false);
    feed(bytes, sizeof(bytes), 4096);
    largest = 0;
    while (script_left) {
        assert_true(wire_reader_fill(&reader, -1) > 0);
        assert_int_equal(wire_reader_next(&reader, &frame), 0);
    }
    assert_in_range(largest, sizeof(bytes), 2 * sizeof(bytes) + (32 << 10));
    wire_reader_finish(&reader);
    script = NULL;
}

static void test_types_and_ways(void **state)
{
    (void)state;
    for (unsigned type = 0; type < 256; type++) {
        struct wire_frame frame = {.type = (uint8_t)type};
        bool in = wire_type_limit((uint8_t)type, WIRE_DIR_IN, 1000) >= 0;
        bool out = wire_type_limit((uint8_t)type, WIRE_DIR_OUT, 1000) >= 0;
        assert_int_equal(fault_of(&frame, WIRE_DIR_IN, 1000, true), in ? 1 : WIRE_BAD_TYPE);
        assert_int_equal(fault_of(&frame, WIRE_DIR_OUT, 1000, false), out ? 1 : WIRE_BAD_TYPE);
        assert_int_equal(in || out, type >= 1 && type <= 15);
    }
}

static void test_limits_of_types(void **state)
{
    (void)state;
    assert_int_equal(wire_type_limit(WIRE_VALUE, WIRE_DIR_OUT, 1u << 30), 1u << 30);
    assert_int_equal(wire_type_limit(WIRE_ERROR, WIRE_DIR_OUT, 1u << 30), 262144);
    assert_int_equal(wire_type_limit(WIRE_ERROR, WIRE_DIR_OUT, 70000), 70000);
    assert_int_equal(wire_type_limit(WIRE_LOADED, WIRE_DIR_OUT, 70000), 0);
    assert_int_equal(wire_type_limit(WIRE_CREDIT, WIRE_DIR_IN, 70000), 4);
    assert_int_equal(wire_type_limit(WIRE_CALL, WIRE_DIR_OUT, 70000), -1);
    struct wire_frame frame = {.type = WIRE_LOADED, .length = 1};
    assert_int_equal(fault_of(&frame, WIRE_DIR_OUT, 70000, false), WIRE_TOO_LONG);
}

static void test_unwanted_nfds(void **state)
{
    (void)state;
    struct wire_frame frame = {.type = WIRE_VALUE, .nfds = 1};
    assert_int_equal(fault_of(&frame, WIRE_DIR_OUT, 1000, false), WIRE_BAD_FDS);
    frame.type = WIRE_LOAD;
    assert_int_equal(fault_of(&frame, WIRE_DIR_IN, 1000, true), WIRE_BAD_FDS);
    frame.type = WIRE_CALL;
    assert_int_equal(fault_of(&frame, WIRE_DIR_IN, 1000, false), WIRE_BAD_FDS);
    assert_int_equal(fault_of(&frame, WIRE_DIR_IN, 1000, true), WIRE_BAD_FDS); /* none came */
    frame.nfds = WIRE_MAX_FDS + 1;
    assert_int_equal(fault_of(&frame, WIRE_DIR_IN, 1000, true), WIRE_BAD_FDS);
}

/* ---- a kernel that fails -------------------------------------------------------------------- */

static int fail_with(int first, int second)
{
    struct wire_reader reader;
    uint8_t bytes[WIRE_HEADER_BYTES] = {0};
    wire_reader_init(&reader, WIRE_DIR_OUT, 1000, false);
    feed(bytes, sizeof(bytes), sizeof(bytes));
    failures[0] = second;
    failures[1] = first;
    nfailures = second ? 2 : 1;
    if (!second)
        failures[0] = first;
    int got = wire_reader_fill(&reader, -1);
    nfailures = 0;
    wire_reader_finish(&reader);
    script = NULL;
    return got;
}

static void test_failing_calls(void **state)
{
    (void)state;
    assert_int_equal(fail_with(EINTR, EINTR), WIRE_HEADER_BYTES);
    assert_int_equal(fail_with(EINTR, EAGAIN), WIRE_AGAIN);
    assert_int_equal(fail_with(EAGAIN, 0), WIRE_AGAIN);
    assert_int_equal(fail_with(ECONNRESET, 0), WIRE_EOF);
    assert_int_equal(fail_with(ENOMEM, 0), WIRE_SYSTEM);
    assert_int_equal(fail_with(EBADF, 0), WIRE_SYSTEM);
}

/* Out of memory at the first fill, and while a frame grows: nothing that was read is lost. */
static void test_no_memory(void **state)
{
    (void)state;
    static uint8_t bytes[WIRE_HEADER_BYTES + 80000];
    struct wire_frame frame = {.type = WIRE_VALUE, .length = 80000, .id = 9};
    struct wire_reader reader;
    int got;
    wire_header_encode(&frame, bytes);
    memset(bytes + WIRE_HEADER_BYTES, '7', 80000);
    wire_reader_init(&reader, WIRE_DIR_OUT, 100000, false);
    feed(bytes, sizeof(bytes), 5000);
    no_memory = true;
    assert_int_equal(wire_reader_fill(&reader, -1), WIRE_NO_MEMORY);
    no_memory = false;
    assert_int_equal(wire_reader_fill(&reader, -1), 5000);
    no_memory = true;
    while ((got = wire_reader_fill(&reader, -1)) > 0)
        assert_int_equal(wire_reader_next(&reader, &frame), 0);
    assert_int_equal(got, WIRE_NO_MEMORY);
    no_memory = false;
    while (script_left)
        assert_true(wire_reader_fill(&reader, -1) > 0);
    assert_int_equal(wire_reader_next(&reader, &frame), 1);
    assert_int_equal(frame.length, 80000);
    assert_memory_equal(frame.body, bytes + WIRE_HEADER_BYTES, 80000);
    wire_reader_finish(&reader);
    script = NULL;
}

/* A caller that never takes a frame is given 0, not endless memory. */
static void test_full_of_whole_frames(void **state)
{
    (void)state;
    struct stream stream = {0};
    for (unsigned i = 0; i < 40000; i++)
        add(&stream, WIRE_LOADED, i, NULL, 0);
    struct wire_reader reader;
    struct wire_frame frame;
    int got;
    unsigned seen = 0;
    wire_reader_init(&reader, WIRE_DIR_OUT, 1000, false);
    feed(stream.bytes, stream.length, stream.length);
    largest = 0;
    while ((got = wire_reader_fill(&reader, -1)) > 0)
        continue;
    assert_int_equal(got, 0);
    assert_in_range(largest, 1, WIRE_KEEP_BYTES);
    do {
        while (wire_reader_next(&reader, &frame) == 1)
            assert_int_equal(frame.id, seen++);
    } while (wire_reader_fill(&reader, -1) > 0);
    assert_int_equal(seen, 40000);
    wire_reader_finish(&reader);
    script = NULL;
    free(stream.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_piece_size),
        cmocka_unit_test(test_every_boundary),
        cmocka_unit_test(test_large_frame),
        cmocka_unit_test(test_hostile_lengths),
        cmocka_unit_test(test_claimed_is_not_allocated),
        cmocka_unit_test(test_types_and_ways),
        cmocka_unit_test(test_limits_of_types),
        cmocka_unit_test(test_unwanted_nfds),
        cmocka_unit_test(test_failing_calls),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_full_of_whole_frames),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
