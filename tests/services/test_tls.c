/*
 * host.fetch over TLS, from end to end: an authority and certificates are made for the test, a server
 * of OpenSSL's own shows them one by one, and only what holds is talked to.
 */
#include "guests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "server.h"

static char *keys; /* the folder of keys and certificates */

/* One command of a shell in that folder, which must succeed. */
static void sh(const char *format, ...)
{
    char command[2048], whole[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof(whole), "cd %s && { %s; } > log 2>&1", keys, command);
    if (system(whole) != 0) {
        snprintf(whole, sizeof(whole), "sed 's/^/# /' %s/log >&2", keys);
        (void)!system(whole);
        fail_msg("%s", command);
    }
}

/* A key, and a certificate that `authority` signs for `names`; `more` are options of x509. */
static void certify(const char *name, const char *authority, const char *names, const char *more)
{
    sh("openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout %s.key "
       "-subj /CN=localhost -out %s.csr",
       name, name);
    sh("printf 'subjectAltName=%s\\n' > %s.ext", names, name);
    sh("openssl x509 -req -in %s.csr -CA %s.pem -CAkey %s.key -CAcreateserial -extfile %s.ext "
       "-out %s.pem %s",
       name, authority, authority, name, name, more);
}

static void self_signed(const char *name, const char *subject)
{
    sh("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout %s.key "
       "-subj '/CN=%s' -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -days 2 -out %s.pem",
       name, subject, name);
}

static int make_certificates(void **state)
{
    (void)state;
    keys = temporary_folder();
    self_signed("authority", "an authority for tests");
    self_signed("stranger", "another authority");
    self_signed("itself", "localhost");
    certify("good", "authority", "DNS:localhost,IP:127.0.0.1", "-days 2");
    certify("wild", "authority", "DNS:*.sub.localhost", "-days 2");
    certify("other-name", "authority", "DNS:example.org", "-days 2");
    certify("expired", "authority", "DNS:localhost,IP:127.0.0.1", "-days -1");
    certify("strangers", "stranger", "DNS:localhost,IP:127.0.0.1", "-days 2");
    /* Signed by a certificate that is nobody's authority. */
    certify("below-good", "good", "DNS:localhost,IP:127.0.0.1", "-days 2");
    sh("echo not a certificate > nothing.pem");
    sh("echo hello > hello");
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    temporary_remove(keys);
    return 0;
}

static pid_t server;

/* OpenSSL's test server with a certificate: the port it listens on. */
static int serve(const char *name, const char *more)
{
    int out[2], at = 0, got = 0;
    assert_int_equal(pipe(out), 0);
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        char command[512];
        snprintf(command, sizeof(command),
                 "cd %s && exec openssl s_server -accept 127.0.0.1:0 -cert %s.pem -key %s.key "
                 "-WWW -naccept 20 %s 2>&1 < /dev/null",
                 keys, name, name, more);
        dup2(out[1], 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    char line[256];
    while (!got && fgets(line, sizeof(line), lines))
        got = sscanf(line, "ACCEPT 127.0.0.1:%d", &at) == 1;
    /* The pipe stays open until the server ends: it would die of writing to a closed one. */
    if (!got)
        fail_msg("no server: %s", line);
    return at;
}

static void end_server(void)
{
    if (server > 0) {
        kill(server, SIGKILL);
        waitpid(server, NULL, 0);
    }
    server = 0;
}

static int open_with(const char *authorities)
{
    char path[512];
    struct halter_options options = HALTER_OPTIONS_INIT;
    snprintf(path, sizeof(path), "%s/%s", keys, authorities ? authorities : "");
    options.ca_file = authorities ? path : NULL;
    create_host_with(&options);
    return 0;
}

static int trusting(void **state)
{
    (void)state;
    return open_with("authority.pem");
}

static int trusting_the_system(void **state)
{
    (void)state;
    return open_with(NULL);
}

static int trusting_nothing(void **state)
{
    (void)state;
    return open_with("nothing.pem");
}

static int trusting_a_file_that_is_not_there(void **state)
{
    (void)state;
    return open_with("none.pem");
}

static int close_it(void **state)
{
    (void)state;
    end_server();
    halter_destroy(host);
    host = NULL;
    return 0;
}

/* What comes of fetching /hello from `name`, the server showing `certificate`. */
static const char *fetch_from(const char *name, const char *certificate, const char *more)
{
    static const char *const grants[] = {"network:https://*:*", "network:127.0.0.0/8", NULL};
    int at = serve(certificate, more);
    struct halter_guest *guest = make(grants, NULL, NULL);
    const char *got =
        run(guest, "const r = await host.fetch('https://%s:%d/hello'); return r.body", name, at);
    halter_guest_destroy(guest);
    end_server();
    return got;
}

static void a_certificate_that_holds_is_talked_to(void **state)
{
    (void)state;
    is(fetch_from("localhost", "good", ""), "\"hello\\n\"");
    is(fetch_from("127.0.0.1", "good", ""), "\"hello\\n\"");
    is(fetch_from("LOCALHOST.", "good", ""), "\"hello\\n\"");
    is(fetch_from("a.sub.localhost", "wild", ""), "\"hello\\n\"");
}

static void what_does_not_hold_is_an_error(void **state)
{
    static const struct {
        const char *name, *certificate, *says;
    } rows[] = {
        {"localhost", "other-name", "name"},
        {"127.0.0.1", "other-name", "name"},
        {"localhost", "wild", "name"},
        {"sub.localhost", "wild", "name"},
        {"a.b.sub.localhost", "wild", "name"},
        {"localhost", "expired", "expired"},
        {"127.0.0.1", "expired", "expired"},
        {"localhost", "itself", "self"},
        {"localhost", "strangers", "issuer"},
        {"localhost", "below-good", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const char *got = fetch_from(rows[i].name, rows[i].certificate, "");
        if (!strstr(got, "\"HostError: ") || !strstr(got, rows[i].says) || strstr(got, "hello\\n"))
            fail_msg("%s with %s: %s", rows[i].name, rows[i].certificate, got);
    }
}

static void old_versions_are_not_spoken(void **state)
{
    (void)state;
    has(fetch_from("localhost", "good", "-tls1_1 -cipher DEFAULT:@SECLEVEL=0"), "\"HostError: ");
    is(fetch_from("localhost", "good", "-tls1_2"), "\"hello\\n\"");
    is(fetch_from("localhost", "good", "-tls1_3"), "\"hello\\n\"");
}

static void plain_http_is_no_answer_to_https(void **state)
{
    static const char *const grants[] = {"network:https://*:*", "network:127.0.0.0/8", NULL};
    (void)state;
    struct halter_guest *guest = make(grants, NULL, NULL);
    has(run(guest, "return host.fetch('https://127.0.0.1:%d/hello')", port), "\"HostError: ");
    has(run(guest, "return host.fetch('http://127.0.0.1:%d/hello')", port), "\"DeniedError: ");
    halter_guest_destroy(guest);
}

/* The test's authority is not among the system's. */
static void the_systems_authorities_know_nothing_of_it(void **state)
{
    (void)state;
    has(fetch_from("localhost", "good", ""), "\"HostError: ");
}

static void a_file_without_certificates_is_said(void **state)
{
    (void)state;
    has(fetch_from("localhost", "good", ""), "has no certificate in PEM form");
}

static void a_file_that_is_not_there_is_said(void **state)
{
    (void)state;
    has(fetch_from("localhost", "good", ""), "No such file");
}

#define WITH(open, name) cmocka_unit_test_setup_teardown(name, open, close_it)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(trusting, a_certificate_that_holds_is_talked_to),
        WITH(trusting, what_does_not_hold_is_an_error),
        WITH(trusting, old_versions_are_not_spoken),
        WITH(trusting, plain_http_is_no_answer_to_https),
        WITH(trusting_the_system, the_systems_authorities_know_nothing_of_it),
        WITH(trusting_nothing, a_file_without_certificates_is_said),
        WITH(trusting_a_file_that_is_not_there, a_file_that_is_not_there_is_said),
    };
    port = server_start("127.0.0.1", 0);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("host.fetch over TLS", tests, make_certificates,
                                       remove_certificates);
}
