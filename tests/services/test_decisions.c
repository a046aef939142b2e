/*
 * What host.fetch decides about a URL, against a real server: each row is asked for by a script, and
 * either the server is reached and answers, or it is never connected to (behind a redirect: not again).
 * Case 21.
 */
#include "guests.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

enum verdict { ALLOWED, DENIED };

/* %1$d is the port that the grants name, %2$d another that is listened on too. */
static const struct {
    const char *url;
    enum verdict verdict;
} rows[] = {
    /* the host as it is granted, however it is written */
    {"http://127.0.0.1:%1$d/hello", ALLOWED},
    {"HTTP://127.0.0.1:%1$d/hello", ALLOWED},
    {"hTtP://LocalHost:%1$d/hello", ALLOWED},
    {"http://localhost:%1$d/hello", ALLOWED},
    {"http://localhost.:%1$d/hello", ALLOWED},
    {"http://a.wild.localhost:%1$d/hello", ALLOWED},
    {"http://a.b.WILD.localhost:%1$d/hello", ALLOWED},
    {"http://127.0.0.1:%1$d/hello#fragment", ALLOWED},
    {"http://127.0.0.1:%1$d/x/../hello", ALLOWED},
    {"http://127.0.0.1:%1$d/./hello", ALLOWED},
    /* the same address in other clothes */
    {"http://2130706433:%1$d/hello", ALLOWED},
    {"http://0x7f000001:%1$d/hello", ALLOWED},
    {"http://0X7F.1:%1$d/hello", ALLOWED},
    {"http://017700000001:%1$d/hello", ALLOWED},
    {"http://0177.0.0.1:%1$d/hello", ALLOWED},
    {"http://127.1:%1$d/hello", ALLOWED},
    {"http://127.0.1:%1$d/hello", ALLOWED},
    /* other hosts and other clothes of theirs */
    {"http://127.0.0.2:%1$d/hello", DENIED},
    {"http://2130706434:%1$d/hello", DENIED},
    {"http://0x7f000002:%1$d/hello", DENIED},
    {"http://0177.0.0.2:%1$d/hello", DENIED},
    {"http://127.2:%1$d/hello", DENIED},
    {"http://0:%1$d/hello", DENIED},
    {"http://0.0.0.0:%1$d/hello", DENIED},
    {"http://00000177.0.0.1.1:%1$d/hello", DENIED},
    {"http://4294967296:%1$d/hello", DENIED},
    {"http://127.0.0.256:%1$d/hello", DENIED},
    {"http://127.0.0.08:%1$d/hello", DENIED},
    {"http://10.0.0.1:%1$d/hello", DENIED},
    {"http://169.254.169.254/latest/meta-data", DENIED},
    {"http://192.168.1.1/", DENIED},
    {"http://evil.example:%1$d/hello", DENIED},
    {"http://localhost.evil.example:%1$d/hello", DENIED},
    {"http://evil-localhost:%1$d/hello", DENIED},
    {"http://wild.localhost:%1$d/hello", DENIED},
    {"http://awild.localhost:%1$d/hello", DENIED},
    {"http://.wild.localhost:%1$d/hello", DENIED},
    {"http://localhost..:%1$d/hello", DENIED},
    /* IPv6 */
    {"http://[::1]:%1$d/hello", DENIED},
    {"http://[0:0:0:0:0:0:0:1]:%1$d/hello", DENIED},
    {"http://[::ffff:127.0.0.2]:%1$d/hello", DENIED},
    {"http://[::ffff:7f00:2]:%1$d/hello", DENIED},
    {"http://[::127.0.0.1]:%1$d/hello", DENIED},
    {"http://[64:ff9b::7f00:1]:%1$d/hello", DENIED},
    {"http://[2002:7f00:1::]:%1$d/hello", DENIED},
    {"http://[fe80::1%%25lo]:%1$d/hello", DENIED},
    {"http://[fd00::1]:%1$d/hello", DENIED},
    {"http://[::1:%1$d/hello", DENIED},
    {"http://::1:%1$d/hello", DENIED},
    /* ports */
    {"http://127.0.0.1/hello", DENIED},
    {"http://127.0.0.1:/hello", DENIED},
    {"http://127.0.0.1:%2$d/hello", DENIED},
    {"http://127.0.0.1:1%1$d/hello", DENIED},
    {"http://127.0.0.1:-1/hello", DENIED},
    {"http://127.0.0.1:%1$d:%1$d/hello", DENIED},
    /* schemes */
    {"https://127.0.0.1:%1$d/hello", DENIED},
    {"ftp://127.0.0.1:%1$d/hello", DENIED},
    {"file:///etc/passwd", DENIED},
    {"file://127.0.0.1:%1$d/etc/passwd", DENIED},
    {"gopher://127.0.0.1:%1$d/hello", DENIED},
    {"data:text/plain,hello", DENIED},
    {"javascript:hello", DENIED},
    {"ws://127.0.0.1:%1$d/hello", DENIED},
    {"//127.0.0.1:%1$d/hello", DENIED},
    {"/hello", DENIED},
    {"", DENIED},
    {"127.0.0.1:%1$d/hello", DENIED},
    {"view-source:http://127.0.0.1:%1$d/hello", DENIED},
    /* who is asked is not who it looks like */
    {"http://127.0.0.1@127.0.0.2:%1$d/hello", DENIED},
    {"http://user@127.0.0.1:%1$d/hello", DENIED},
    {"http://user:secret@127.0.0.1:%1$d/hello", DENIED},
    {"http://@127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.2:%1$d@127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.2#@127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.2?@127.0.0.1:%1$d/hello", DENIED},
    {"http:\\\\\\\\127.0.0.1:%1$d\\\\hello", DENIED},
    {"http://127.0.0.2\\\\@127.0.0.1:%1$d/hello", DENIED},
    {"http:127.0.0.1:%1$d/hello", DENIED},
    {"http:/127.0.0.1:%1$d/hello", DENIED},
    {"http:///127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.1%%2f@127.0.0.2:%1$d/hello", DENIED},
    {"http://%%31%%32%%37.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.1%%00.evil.example:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/\\r\\nX-Evil: 1\\r\\n/hello", DENIED},
    {"http://127.0.0.1\\t:%1$d/hello", DENIED},
    {" http://127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d /hello", DENIED},
    /* letters that are others */
    {"http://loc\\u0430lhost:%1$d/hello", DENIED},
    {"http://\\uff4c\\uff4f\\uff43\\uff41\\uff4chost:%1$d/hello", DENIED},
    {"http://\\u2460\\u2461\\u2466.0.0.1:%1$d/hello", DENIED},
    {"http://127\\u30020\\u30020\\u30021:%1$d/hello", DENIED},
    {"http://xn--loclhost-2fg:%1$d/hello", DENIED},
    {"http://localho\\u00adst:%1$d/hello", DENIED},
    {"http://localho\\u200dst:%1$d/hello", DENIED},
    /* where it leads in the end */
    {"http://127.0.0.1:%1$d/to//hello", ALLOWED},
    {"http://127.0.0.1:%1$d/to/http://localhost:%1$d/hello", ALLOWED},
    {"http://127.0.0.1:%1$d/to/http://2130706433:%1$d/hello", ALLOWED},
    {"http://localhost:%1$d/to/http://a.wild.localhost:%1$d/hello", ALLOWED},
    {"http://127.0.0.1:%1$d/to/http://127.0.0.2:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/http://2130706434:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/http://127.0.0.1:%2$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/http://[::1]:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/http://10.0.0.1/", DENIED},
    {"http://127.0.0.1:%1$d/to/http://169.254.169.254/latest", DENIED},
    {"http://127.0.0.1:%1$d/to/https://127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/file:///etc/passwd", DENIED},
    {"http://127.0.0.1:%1$d/to/http://u@127.0.0.1:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to///127.0.0.2:%1$d/hello", DENIED},
    {"http://127.0.0.1:%1$d/to/http://127.0.0.1:%1$d/to/http://127.0.0.2:%1$d/hello", DENIED},
};

static int other;

static void the_server_is_reached_or_it_is_not(void **state)
{
    char grant[256];
    const char *const grants[] = {grant, NULL};
    (void)state;
    snprintf(grant, sizeof(grant),
             "network:http://127.0.0.1:%d,http://localhost:%d,http://*.wild.localhost:%d", port, port,
             port);
    struct halter_guest *guest = make(grants, NULL, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char url[256];
        snprintf(url, sizeof(url), rows[i].url, port, other);
        unsigned hops = 0;
        for (const char *at = url; (at = strstr(at, "/to/")); at++)
            hops++;
        int before = server_connections();
        const char *got = run(guest, "return (await host.fetch('%s')).body", url);
        bool reached = strncmp(got, "\"hello", 6) == 0;
        if (reached != (rows[i].verdict == ALLOWED))
            fail_msg("%s: %s", url, got);
        if (rows[i].verdict == DENIED && server_connections() - before > (int)hops)
            fail_msg("%s was refused, but the server was connected to: %s", url, got);
        if (rows[i].verdict == DENIED && !strstr(got, "DeniedError: "))
            fail_msg("%s failed, and that was no denial: %s", url, got);
    }
    print_message("# %zu URLs\n", sizeof(rows) / sizeof(*rows));
    halter_guest_destroy(guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_server_is_reached_or_it_is_not),
    };
    port = server_start("127.0.0.1", 0);
    server_start("127.0.0.2", port);
    other = server_start("127.0.0.1", 0);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("what host.fetch decides", tests, NULL, NULL);
}
