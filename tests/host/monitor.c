/* The status socket: what it tells, what it does, whom it serves, and that nothing of it is left. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

static struct fixture f;
static char folder[] = "/tmp/halter-monitor-XXXXXX", path[64];

static int open_real(void **state)
{
    (void)state;
    fixture_open(&f, REAL_LAUNCHER, NULL);
    assert_int_equal(halter_status_listen(f.host, path), HALTER_OK);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    fixture_teardown(&f);
    assert_int_equal(access(path, F_OK), -1);
    return 0;
}

static int connect_to(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* One request and its whole reply, the host being dispatched meanwhile. */
static const char *ask_for(const char *request)
{
    static char reply[65536];
    size_t used = 0;
    int fd = connect_to();
    assert_int_equal(send(fd, request, strlen(request), 0), strlen(request));
    for (int turn = 0; turn < 200; turn++) {
        run_for(&f, 5);
        ssize_t n = recv(fd, reply + used, sizeof reply - 1 - used, MSG_DONTWAIT);
        if (n == 0)
            break;
        if (n > 0)
            used += (size_t)n;
    }
    close(fd);
    reply[used] = '\0';
    return reply;
}

static void answer_one(struct halter_guest *guest, struct halter_request *request, const char *args,
                       size_t args_bytes, void *data)
{
    (void)guest;
    (void)args;
    (void)args_bytes;
    (void)data;
    halter_answer(request, "1", 1);
}

static void host_calls_are_told_by_kind(void **state)
{
    static const char *const grants[] = {"mine", NULL};
    struct halter_plugin_options o = HALTER_PLUGIN_INIT;
    struct outcome outcome;
    (void)state;
    o.grants = grants;
    assert_int_equal(halter_provide(f.host, "mine", answer_one, NULL), HALTER_OK);
    struct halter_guest *guest = guest_of(
        &f, "p", "transform = async (n) => { while (n--) await host.mine(); return 1 }", &o);
    ask(&f, guest, "3", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    assert_non_null(
        strstr(ask_for("GET /status.json HTTP/1.0\r\n\r\n"), "\"requests_by_kind\":{\"own\":3}"));
    assert_non_null(strstr(
        ask_for("GET /metrics HTTP/1.0\r\n\r\n"),
        "halter_guest_requests_by_kind_total{guest=\"p\",number=\"1\",kind=\"own\"} 3\n"));
    assert_non_null(strstr(ask_for("GET /status.tsv HTTP/1.0\r\n\r\n"), "\town 3\tp\n"));
}

static void deaths_are_told_by_reason(void **state)
{
    struct outcome outcome;
    (void)state;
    struct halter_guest *guest = guest_of(&f, "p", "transform = () => { for (;;); }", NULL);
    ask(&f, guest, "1", &outcome);
    assert_int_equal(outcome.status, HALTER_EDEADLINE);
    assert_non_null(strstr(
        ask_for("GET /metrics HTTP/1.0\r\n\r\n"),
        "halter_guest_deaths_by_reason_total{guest=\"p\",number=\"1\",reason=\"deadline\"} 1\n"));
}

static struct halter_guest *called_guest(void)
{
    struct outcome outcome;
    struct halter_guest *guest = guest_of(&f, "a \"name\"", "transform = (raw) => raw", NULL);
    ask(&f, guest, "1", &outcome);
    ask(&f, guest, "2", &outcome);
    assert_int_equal(outcome.status, HALTER_OK);
    return guest;
}

static void the_status_is_told_as_json(void **state)
{
    (void)state;
    called_guest();
    const char *reply = ask_for("GET /status.json HTTP/1.0\r\n\r\n");
    assert_ptr_equal(strstr(reply, "HTTP/1.0 200"), reply);
    assert_non_null(strstr(reply, "\"name\":\"a \\\"name\\\"\""));
    assert_non_null(strstr(reply, "\"calls\":2,\"succeeded\":2,\"failed\":0"));
    assert_non_null(strstr(reply, "\"state\":\"ready\""));
}

static void the_status_is_told_to_prometheus(void **state)
{
    (void)state;
    called_guest();
    const char *reply = ask_for("GET /metrics HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(reply, "# TYPE halter_guest_calls_total counter\n"));
    assert_non_null(strstr(reply, "halter_guest_calls_total{guest=\"a \\\"name\\\"\",number=\"1\"} 2\n"));
}

static void a_guest_is_killed_by_its_number(void **state)
{
    (void)state;
    struct halter_guest *guest = called_guest();
    int before = halter_guest_pid(guest);
    assert_non_null(strstr(ask_for("POST /guests/1/kill HTTP/1.0\r\n\r\n"), " 200 "));
    settle_state(&f, guest, HALTER_GUEST_READY);
    assert_int_not_equal(halter_guest_pid(guest), before);
    assert_non_null(strstr(ask_for("GET /status.json HTTP/1.0\r\n\r\n"), "\"restarts\":1"));
}

static void what_is_not_there_is_said(void **state)
{
    (void)state;
    called_guest();
    assert_non_null(strstr(ask_for("POST /guests/9/kill HTTP/1.0\r\n\r\n"), " 404 "));
    assert_non_null(strstr(ask_for("POST /guests/1/eat HTTP/1.0\r\n\r\n"), " 404 "));
    assert_non_null(strstr(ask_for("POST /guests/1/reset HTTP/1.0\r\n\r\n"), " 409 "));
    assert_non_null(strstr(ask_for("GET /etc/passwd HTTP/1.0\r\n\r\n"), " 404 "));
    assert_non_null(strstr(ask_for("BREW / HTTP/1.0\r\n\r\n"), " 405 "));
}

static void only_its_user_may_open_it(void **state)
{
    struct stat about;
    (void)state;
    assert_int_equal(stat(path, &about), 0);
    assert_true(S_ISSOCK(about.st_mode));
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(about.st_uid, geteuid());
}

/* Root passes the mode; who connects is looked at as well. */
static void another_user_is_sent_away(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return; /* nobody here could become another user: the mode is all there is */
    called_guest();
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(seteuid(65534), 0);
    int fd = connect_to();
    assert_int_equal(seteuid(0), 0);
    run_for(&f, 20);
    char byte;
    assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) == 0);
    close(fd);
}

static void silent_clients_keep_nobody_out(void **state)
{
    int silent[20];
    (void)state;
    called_guest();
    for (int i = 0; i < 20; i++) {
        silent[i] = connect_to();
        run_for(&f, 2);
    }
    assert_non_null(strstr(ask_for("GET /status.tsv HTTP/1.0\r\n\r\n"), " 200 "));
    for (int i = 0; i < 20; i++)
        close(silent[i]);
    run_for(&f, 10);
}

static void a_request_without_end_is_dropped(void **state)
{
    char junk[4096];
    (void)state;
    called_guest();
    memset(junk, 'a', sizeof junk);
    int fd = connect_to();
    assert_true(send(fd, junk, sizeof junk, 0) > 0);
    run_for(&f, 20);
    char byte;
    assert_true(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0);
    assert_int_equal(send(fd, junk, 1, MSG_NOSIGNAL), -1);
    close(fd);
}

static void a_path_that_is_taken_stays(void **state)
{
    struct halter_host *other;
    struct halter_options options = HALTER_OPTIONS_INIT;
    (void)state;
    options.launcher_path = real_launcher();
    assert_int_equal(halter_status_listen(f.host, path), HALTER_EBUSY);
    assert_int_equal(halter_create(&options, &other), HALTER_OK);
    assert_int_equal(halter_status_listen(other, path), HALTER_ESYSTEM);
    char file[80];
    snprintf(file, sizeof file, "%s/file", folder);
    close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(halter_status_listen(other, file), HALTER_ESYSTEM);
    assert_int_equal(access(file, F_OK), 0);
    unlink(file);
    halter_destroy(other);
    assert_int_equal(access(path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_real, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_status_is_told_as_json),   TEST(the_status_is_told_to_prometheus),
        TEST(a_guest_is_killed_by_its_number), TEST(what_is_not_there_is_said),
        TEST(only_its_user_may_open_it),    TEST(another_user_is_sent_away),
        TEST(silent_clients_keep_nobody_out), TEST(a_request_without_end_is_dropped),
        TEST(a_path_that_is_taken_stays),   TEST(host_calls_are_told_by_kind),
        TEST(deaths_are_told_by_reason),
    };
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/socket", folder);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests_name("monitor", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
