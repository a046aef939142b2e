/*
 * Files that the host passes: with an answer, and with a call.
 */
#include "harness.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[] = "/tmp/halter-passed-XXXXXX", path[64];

static int make_file(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/notes.txt", directory);
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* The file anew, with this text in it. */
static int passed(const char *text, int flags)
{
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Loads a plugin whose transform(raw, file) gets the file that answers its host.open("f"). */
static const char *with_file(const char *body, int fd, const char *info)
{
    struct guest guest;
    char source[2048];
    snprintf(source, sizeof(source),
             "transform = async (raw) => { const file = await host.open('f');"
             " try { %s } catch (e) { return e.name + ': ' + e.message } }",
             body);
    guest_load_with(&guest, NULL, source, "open");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    guest_answer(&guest, guest.frame.id, info, &fd, 1);
    close(fd);
    const char *got = guest_call(&guest, NULL);
    guest_finish(&guest);
    return got;
}

static void a_file_is_read(void **state)
{
    (void)state;
    assert_string_equal(with_file("return [file.size, file.read(), file.read(), file.info]",
                                  passed("caf\303\251\n", O_RDONLY), "{\"name\":\"f\"}"),
                        "[6,\"caf\303\251\\n\",\"\",{\"name\":\"f\"}]");
    assert_string_equal(
        with_file("return [...file.read({as: 'bytes'})]", passed("\303\251", O_RDONLY), "null"),
        "[195,169]");
    /* A character that a read cuts in two comes whole with the next. */
    assert_string_equal(with_file("return [file.read(2), file.read(1), file.read(5), file.read(5)]",
                                  passed("x\303\251yz", O_RDONLY), "null"),
                        "[\"x\",\"\303\251\",\"yz\",\"\"]");
    assert_string_equal(
        with_file("file.seek(2); const a = file.read(1); file.seek(0); return [a, file.read(1)]",
                  passed("abc", O_RDONLY), "null"),
        "[\"c\",\"a\"]");
}

static void a_large_file_is_read_whole(void **state)
{
    (void)state;
    size_t length = 3u << 20;
    char *text = malloc(length + 1);
    memset(text, 'x', length);
    text[length] = 0;
    assert_string_equal(
        with_file("const t = file.read(); return [t.length, file.size, /^x*$/.test(t)]",
                  passed(text, O_RDONLY), "null"),
        "[3145728,3145728,true]");
    free(text);
}

static void a_file_is_written(void **state)
{
    (void)state;
    assert_string_equal(
        with_file("const n = file.write('caf\303\251 '); file.write(new Uint8Array([65, "
                  "66]).subarray(1)); file.seek(0); return [n, file.read(), file.size]",
                  passed("", O_RDWR), "null"),
        "[6,\"caf\303\251 B\",7]");
    char text[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 7);
    assert_string_equal(text, "caf\303\251 B");
    close(fd);
}

static void what_the_descriptor_does_not_allow_fails(void **state)
{
    (void)state;
    assert_string_equal(with_file("file.write('x')", passed("abc", O_RDONLY), "null"),
                        "\"HostError: write: Bad file descriptor\"");
    assert_string_equal(with_file("file.read()", passed("abc", O_WRONLY), "null"),
                        "\"HostError: read: Bad file descriptor\"");
    assert_string_equal(
        with_file("file.close(); file.close(); file.read()", passed("abc", O_RDONLY), "null"),
        "\"HostError: the file is closed\"");
    assert_string_equal(with_file("file.write({})", passed("abc", O_RDWR), "null"),
                        "\"TypeError: write takes text or bytes\"");
    assert_string_equal(with_file("file.seek(-1)", passed("abc", O_RDONLY), "null"),
                        "\"RangeError: no such position\"");
    assert_string_equal(
        with_file("return new file.constructor({}, {}, {})", passed("abc", O_RDONLY), "null"),
        "\"TypeError: files are opened by the host\"");
}

static void a_passed_directory_lists_and_does_not_open(void **state)
{
    (void)state;
    close(passed("abc", O_RDONLY));
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_string_equal(with_file("return [file.list(), file.list().length]", fd, "null"),
                        "[[{\"name\":\"notes.txt\",\"kind\":\"file\"}],1]");
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_string_equal(with_file("return file.read()", fd, "null"),
                        "\"HostError: read: Is a directory\"");
    assert_string_equal(with_file("return file.list()", passed("abc", O_RDONLY), "null"),
                        "\"HostError: list: Not a directory\"");
}

static void pipes_are_read_as_they_come(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    close(ends[1]);
    assert_string_equal(with_file("return [file.read(100), file.read(100)]", ends[0], "null"),
                        "[\"abc\",\"\"]");
}

static void the_blocking_form_gets_a_file_too(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL, "transform = () => host.open.sync('f').read()", "open");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
    int fd = passed("sync", O_RDONLY);
    guest_answer(&guest, guest.frame.id, "null", &fd, 1);
    close(fd);
    assert_string_equal(guest_call(&guest, NULL), "\"sync\"");
    guest_finish(&guest);
}

static void files_come_with_a_call(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL, "transform = (raw, ctx) => ctx.files.map((file) => file.read())");
    int fds[2] = {passed("one", O_RDONLY)};
    fds[1] = dup(fds[0]);
    uint8_t body[WIRE_CALL_FIXED + 8];
    size_t length = wire_call_encode(&(struct wire_call){0}, body);
    body[length++] = '1';
    guest_send(&guest, WIRE_CALL, guest.last_id += 2, body, length, fds, 2);
    close(fds[0]);
    close(fds[1]);
    assert_string_equal(guest_call(&guest, NULL), "[\"one\",\"one\"]");
    assert_non_null(strstr(guest_call(&guest, "1"), "SCRIPT TypeError"));
    guest_finish(&guest);
}

static void too_many_open_files_are_refused(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, &(struct guest_options){.max_fds = 3},
                    "const keep = []; transform = async (raw) => { const f = await host.open('f'); "
                    "if (raw) keep.push(f);"
                    " try { return f.size } catch (e) { return e.message } }",
                    "open");
    for (int i = 0; i < 5; i++) {
        guest_send_call(&guest, "1", 1, 1000);
        assert_int_equal(guest_receive(&guest), WIRE_REQUEST);
        int fd = passed("abc", O_RDONLY);
        guest_answer(&guest, guest.frame.id, "null", &fd, 1);
        close(fd);
        assert_string_equal(guest_call(&guest, NULL),
                            i < 3 ? "3" : "\"too many files are open: close some\"");
    }
    guest_finish(&guest);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(a_large_file_is_read_whole),
        cmocka_unit_test(a_file_is_written),
        cmocka_unit_test(what_the_descriptor_does_not_allow_fails),
        cmocka_unit_test(a_passed_directory_lists_and_does_not_open),
        cmocka_unit_test(pipes_are_read_as_they_come),
        cmocka_unit_test(the_blocking_form_gets_a_file_too),
        cmocka_unit_test(files_come_with_a_call),
        cmocka_unit_test(too_many_open_files_are_refused),
    };
    return cmocka_run_group_tests_name("files", tests, make_file, remove_file);
}
