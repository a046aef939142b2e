/* Input cut into records: lines, documents, text, caps, and blocks whatever way the bytes arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/buffer.h"
#include "cli/input.h"

#define CAP 4096

static char path[] = "/tmp/halter-input-XXXXXX";

static void write_file(const void *bytes, size_t count)
{
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

static enum input_state next(struct input *input, struct record *record)
{
    enum input_state state;
    while ((state = input_next(input, record)) == INPUT_WANT)
        input_fill(input);
    return state;
}

/* "line:text|line:text|", with lengths in place of records that are too long. */
static char *records_of(const void *bytes, size_t count, enum input_form form, uint64_t cap)
{
    write_file(bytes, count);
    const char *const paths[] = {path};
    struct input input;
    struct record record;
    struct buffer out = {0};
    input_start(&input, paths, 1, cap, form);
    while (next(&input, &record) == INPUT_RECORD) {
        buffer_format(&out, "%u:", (unsigned)record.line);
        if (record.too_long)
            buffer_format(&out, "<%u>", (unsigned)record.true_bytes);
        else
            buffer_append(&out, record.text, record.bytes);
        buffer_byte(&out, '|');
        record_release(&record);
    }
    assert_int_equal(input.error, 0);
    input_finish(&input);
    unlink(path);
    buffer_byte(&out, '\0');
    return out.bytes;
}

static void lines_become_records(void **state)
{
    static const struct {
        const char *in;
        size_t bytes;
        const char *lines, *document, *text;
    } rows[] = {
        {"", 0, "", "", ""},
        {"\n", 1, "", "", "1:|"},
        {"1\n2\n", 4, "1:1|2:2|", "1:1\n2|", "1:1|2:2|"},
        {"1\n2", 3, "1:1|2:2|", "1:1\n2|", "1:1|2:2|"},
        {"1\r\n\r\n \t\n2\r\n", 10, "1:1|4:2|", "1:1\r\n\r\n \t\n2|", "1:1\r|2:\r|3: \t|4:2\r|"},
        {"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n", 12, "1:{}|2:\xef\xbb\xbf{}|", "1:{}\n\xef\xbb\xbf{}|",
         "1:\xef\xbb\xbf{}|2:\xef\xbb\xbf{}|"},
        {" [1, 2] \n", 9, "1:[1, 2]|", "1:[1, 2]|", "1: [1, 2] |"},
        {"  \n\n", 4, "", "", "1:  |2:|"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const wanted[] = {rows[i].lines, rows[i].document, rows[i].text};
        const enum input_form forms[] = {INPUT_LINES, INPUT_DOCUMENT, INPUT_TEXT};
        for (int form = 0; form < 3; form++) {
            char *got = records_of(rows[i].in, rows[i].bytes, forms[form], CAP);
            assert_string_equal(got, wanted[form]);
            free(got);
        }
    }
}

static void nul_bytes_stay(void **state)
{
    (void)state;
    write_file("a\0b\n\0\n", 6);
    const char *const paths[] = {path};
    struct input input;
    struct record record;
    input_start(&input, paths, 1, CAP, INPUT_LINES);
    assert_int_equal(next(&input, &record), INPUT_RECORD);
    assert_int_equal(record.bytes, 3);
    assert_memory_equal(record.text, "a\0b", 3);
    record_release(&record);
    assert_int_equal(next(&input, &record), INPUT_RECORD);
    assert_int_equal(record.bytes, 1);
    record_release(&record);
    assert_int_equal(next(&input, &record), INPUT_END);
    input_finish(&input);
    unlink(path);
}

/* One record of each length around the cap, with a short one behind it. */
static void the_cap_is_exact(void **state)
{
    static const uint64_t caps[] = {1, 255, 256, 257, 4096, (1 << 20) - 1, 1 << 20, 3 << 20};
    (void)state;
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++)
        for (int more = -1; more <= 1; more++) {
            size_t length = (size_t)((int64_t)caps[i] + more);
            if (length == 0)
                continue;
            char *bytes = malloc(length + 3);
            memset(bytes, 'x', length);
            memcpy(bytes + length, "\ny\n", 3);
            char *got = records_of(bytes, length + 3, INPUT_LINES, caps[i]);
            if (more <= 0) {
                assert_int_equal(strlen(got), length + 3 + 4);
                assert_int_equal(strspn(got + 2, "x"), length);
            } else {
                char wanted[64];
                snprintf(wanted, sizeof wanted, "1:<%zu>|2:y|", length);
                assert_string_equal(got, wanted);
            }
            free(got);
            free(bytes);
        }
}

/* What a record above the cap costs: nothing that grows with it. */
static void long_records_are_not_kept(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        static char chunk[65536];
        memset(chunk, 'x', sizeof chunk);
        for (int i = 0; i < 1024; i++)
            if (write(ends[1], chunk, sizeof chunk) < 0)
                _exit(1);
        _exit(write(ends[1], "\n1\n", 3) != 3);
    }
    close(ends[1]);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    const char *const paths[] = {name};
    struct input input;
    struct record record;
    input_start(&input, paths, 1, 100000, INPUT_LINES);
    assert_int_equal(next(&input, &record), INPUT_RECORD);
    assert_int_equal(record.true_bytes, 64u << 20);
    assert_int_equal(record.bytes, 256);
    record_release(&record);
    assert_int_equal(next(&input, &record), INPUT_RECORD);
    assert_int_equal(record.line, 2);
    record_release(&record);
    assert_int_equal(next(&input, &record), INPUT_END);
    input_finish(&input);
    close(ends[0]);
    int status;
    waitpid(writer, &status, 0);
    assert_int_equal(status, 0);
}

static uint32_t seed = 20260301;
static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

/* Random lines through a pipe in random pieces, while up to 50 records are held. */
static void any_pieces_give_the_same_records(void **state)
{
    (void)state;
    size_t total = 5u << 20, used = 0;
    char *bytes = malloc(total);
    while (used < total) {
        size_t length = random_below(10) ? random_below(300) : random_below(200000);
        for (size_t i = 0; i < length && used < total - 1; i++)
            bytes[used++] = (char)('!' + random_below(90));
        bytes[used++] = '\n';
    }
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        for (size_t at = 0; at < total;) {
            size_t piece = 1 + random_below(100000);
            ssize_t n = write(ends[1], bytes + at, piece < total - at ? piece : total - at);
            if (n < 0)
                _exit(1);
            at += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    const char *const paths[] = {name};
    struct input input;
    struct record held[50];
    unsigned holding = 0;
    struct buffer out = {0};
    input_start(&input, paths, 1, total, INPUT_TEXT);
    for (;;) {
        bool more = next(&input, &held[holding]) == INPUT_RECORD;
        holding += more;
        if (more && holding < 50)
            continue;
        for (unsigned i = 0; i < holding; i++) { /* still the same after all that was read since */
            buffer_append(&out, held[i].text, held[i].bytes);
            buffer_byte(&out, '\n');
            record_release(&held[i]);
        }
        holding = 0;
        if (!more)
            break;
    }
    assert_int_equal(out.used, total);
    assert_memory_equal(out.bytes, bytes, total);
    input_finish(&input);
    buffer_finish(&out);
    free(bytes);
    close(ends[0]);
    int status;
    waitpid(writer, &status, 0);
    assert_int_equal(status, 0);
}

static void files_follow_each_other(void **state)
{
    (void)state;
    char first[sizeof path];
    write_file("1\n2", 3);
    memcpy(first, path, sizeof path);
    write_file("3\n", 2);
    const char *const paths[] = {first, path, first};
    static const struct {
        char text;
        unsigned file, line;
    } wanted[] = {{'1', 0, 1}, {'2', 0, 2}, {'3', 1, 1}, {'1', 2, 1}, {'2', 2, 2}};
    struct input input;
    struct record record;
    input_start(&input, paths, 3, CAP, INPUT_LINES);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(next(&input, &record), INPUT_RECORD);
        assert_int_equal(record.bytes, 1);
        assert_int_equal(record.text[0], wanted[i].text);
        assert_int_equal(record.file, wanted[i].file);
        assert_int_equal(record.line, wanted[i].line);
        record_release(&record);
    }
    assert_int_equal(next(&input, &record), INPUT_END);
    input_finish(&input);
    unlink(first);
    unlink(path);
}

static void a_missing_file_is_an_error(void **state)
{
    (void)state;
    const char *const paths[] = {"/nonexistent/input"};
    struct input input;
    struct record record;
    input_start(&input, paths, 1, CAP, INPUT_LINES);
    assert_false(input_check(&input));
    assert_int_equal(input_next(&input, &record), INPUT_FAILED);
    assert_int_not_equal(input.error, 0);
    input_finish(&input);
}

static void a_stopped_input_ends(void **state)
{
    (void)state;
    write_file("1\n2\n", 4);
    const char *const paths[] = {path};
    struct input input;
    struct record record;
    input_start(&input, paths, 1, CAP, INPUT_LINES);
    assert_int_equal(next(&input, &record), INPUT_RECORD);
    record_release(&record);
    input_stop(&input);
    assert_int_equal(next(&input, &record), INPUT_END);
    input_finish(&input);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_records),
        cmocka_unit_test(nul_bytes_stay),
        cmocka_unit_test(the_cap_is_exact),
        cmocka_unit_test(long_records_are_not_kept),
        cmocka_unit_test(any_pieces_give_the_same_records),
        cmocka_unit_test(files_follow_each_other),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(a_stopped_input_ends),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("input", tests, NULL, NULL);
}
