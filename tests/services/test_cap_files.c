/*
 * host.open and host.list from end to end: what is granted is opened anew for the guest, and
 * nothing leads out of a tree.
 */
#include "guests.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---------------------------------------------------------------------------------- */

static void in_folder(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", folder, name);
}

static struct halter_guest *make_reader(const char *mode)
{
    static char grant[1024];
    static const char *grants[] = {grant, NULL};
    snprintf(grant, sizeof(grant), "files:t:%s=%s", mode, folder);
    return make(grants, NULL, NULL);
}

/* Case 28. */
static void a_granted_file_is_read(void **state)
{
    (void)state;
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("read");
    is(run(guest,
           "const f = await host.open('t/a.txt'); const t = await f.read(); f.close(); return t"),
       "\"hello\"");
    has(run(guest, "const f = await host.open('t/a.txt'); return f.write('x')"), "Error");
    has(run(guest, "return host.open('t/a.txt', 'r+')"),
        "DeniedError: t/a.txt: its tree is granted for "
        "reading only");
    has(run(guest, "return host.open('t/new', 'w')"), "DeniedError");
    has(run(guest, "return host.open('t/a.txt', 'rw')"), "HostError: open(path, mode): a mode");
    has(run(guest, "return host.open(7)"), "HostError");
    has(run(guest, "return host.open('t/none')"), "HostError: t/none: No such file");
    halter_guest_destroy(guest);
}

static void nothing_leads_out_of_a_tree(void **state)
{
    static const char *const paths[] = {"t/../x",         "t/../../etc/passwd", "t/sub/../../x",
                                        "t//etc/../..",   "t/absolute",         "t/relative",
                                        "t/folder/passwd"};
    char path[1024];
    (void)state;
    in_folder("absolute", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    in_folder("relative", path);
    assert_int_equal(symlink("../../../../../../etc/passwd", path), 0);
    in_folder("folder", path);
    assert_int_equal(symlink("/etc", path), 0);
    in_folder("inside", path);
    assert_int_equal(symlink("a.txt", path), 0);
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("readwrite");
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const char *got = run(guest, "return host.open('%s')", paths[i]);
        lacks(got, "{");
        if (!strstr(got, "DeniedError") && !strstr(got, "HostError"))
            fail_msg("%s: %s", paths[i], got);
    }
    has(run(guest, "return host.open('t/absolute')"),
        "DeniedError: t/absolute: leads out of the tree");
    has(run(guest, "return host.open('t/absolute', 'w')"), "DeniedError");
    has(run(guest, "return host.open('/etc/passwd')"),
        "DeniedError: /etc/passwd: it lies in no tree");
    has(run(guest, "return host.open('tt/a.txt')"), "DeniedError");
    has(run(guest, "return host.list('t/folder')"), "DeniedError");
    has(run(guest, "return host.list('t/..')"), "DeniedError");
    is(run(guest, "const f = await host.open('t/inside'); return f.read()"), "\"hello\"");
    halter_guest_destroy(guest);
}

static void files_are_written_where_that_is_granted(void **state)
{
    char path[1024], text[32] = "";
    (void)state;
    put("a.txt", "hello");
    struct halter_guest *guest = make_reader("readwrite");
    is(run(guest, "const f = await host.open('t/a.txt', 'r+'); await f.write('J'); f.close();"
                  "const g = await host.open('t/a.txt'); return g.read()"),
       "\"Jello\"");
    is(run(guest,
           "const f = await host.open('t/b.txt', 'w'); await f.write('new'); f.close(); return 1"),
       "1");
    in_folder("b.txt", path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "new");
    has(run(guest, "return host.open('t/b.txt', 'x')"), "HostError: t/b.txt: File exists");
    halter_guest_destroy(guest);
}

/* A pipe that nobody writes to would block whoever opens it. */
static void only_regular_files_are_opened(void **state)
{
    char path[1024];
    (void)state;
    in_folder("pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct halter_guest *guest = make_reader("readwrite");
    has(run(guest, "return host.open('t/pipe')"), "HostError");
    has(run(guest, "return host.open('t/pipe', 'r+')"), "HostError");
    has(run(guest, "return host.open('t')"), "HostError: t: Is a directory");
    halter_guest_destroy(guest);
}

static void folders_are_listed(void **state)
{
    (void)state;
    put("a.txt", "hello");
    put("b\\u00fc.txt", "");
    struct halter_guest *guest = make_reader("read");
    is(run(guest, "const l = await host.list('t'); l.sort((a, b) => a.name < b.name ? -1 : 1);"
                  "return l[0]"),
       "{\"name\":\"a.txt\",\"type\":\"file\",\"size\":5}");
    has(run(guest, "return host.list('t/a.txt')"), "HostError: t/a.txt: Not a directory");
    has(run(guest, "return host.list('u')"), "DeniedError");
    for (int i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "many-%d", i);
        put(name, "");
    }
    has(run(guest, "return host.list('t')"), "HostError: t: a folder with more than 2000 entries");
    halter_guest_destroy(guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_granted_file_is_read),
        TEST(nothing_leads_out_of_a_tree),
        TEST(files_are_written_where_that_is_granted),
        TEST(only_regular_files_are_opened),
        TEST(folders_are_listed),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
