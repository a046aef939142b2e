/*
 * What halter-services has given up: reported truly in its hello, seen from outside, and tried from
 * inside, where a fault in libcurl, OpenSSL or SQLite would put an attacker.
 */
#include "harness.h"

#include <dlfcn.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "halter/halter.h"
#include "server.h"

static int port;

static void value_of(pid_t pid, const char *name, char out[64])
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[0] = '\0';
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0 && line[strlen(name)] == ':')
            sscanf(line + strlen(name) + 1, "%63s", out);
    fclose(file);
}

static void status_is(pid_t pid, const char *name, const char *wanted)
{
    char got[64];
    value_of(pid, name, got);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s is %s", name, got);
}

static void the_hello_is_true(void **state)
{
    static const enum halter_layer layers[] = {HALTER_LAYER_NO_NEW_PRIVS, HALTER_LAYER_SECCOMP,
                                               HALTER_LAYER_NO_CAPS, HALTER_LAYER_RLIMITS,
                                               HALTER_LAYER_CLOSED_FDS};
    struct services services;
    (void)state;
    services_start(&services, NULL, NULL);
    for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++)
        assert_true(services.hello.layers & HALTER_LAYER_BIT(layers[i]));
    status_is(services.pid, "NoNewPrivs", "1");
    status_is(services.pid, "Seccomp", "2");
    status_is(services.pid, "CapEff", "0000000000000000");
    status_is(services.pid, "CapPrm", "0000000000000000");
    services_stop(&services, 0);
}

static void descriptors_do_not_come_along(void **state)
{
    struct services services;
    char path[64];
    int leaked = dup2(STDIN_FILENO, 77);
    (void)state;
    assert_int_equal(leaked, 77);
    services_start(&services, NULL, NULL);
    snprintf(path, sizeof(path), "/proc/%d/fd/77", (int)services.pid);
    assert_int_not_equal(access(path, F_OK), 0);
    services_stop(&services, 0);
    close(leaked);
}

static void attacks_from_inside_are_refused(void **state)
{
    char *folder = temporary_folder(), path[512];
    struct services services;
    (void)state;
    snprintf(path, sizeof(path), "%s/state.db", folder);
    services_start(&services, path, RESOLVER_PATH);
    for (int i = 0; i < 20; i++) {
        struct answer answer =
            services_ask(&services,
                         "{\"op\":\"fetch\",\"plugin\":\"p\",\"method\":\"GET\",\"allow\":"
                         "[\"127.0.0.1\"],\"url\":\"http://attack-%d.test:%d/hello\"}",
                         i, port);
        if (answer.kind)
            fail_msg("attack %d of resolver.c got through, or ended it: %s", i, answer.text);
        free(answer.text);
    }
    answer_is(services_ask(&services, "{\"op\":\"state.set\",\"plugin\":\"p\",\"key\":\"k\","
                                      "\"quota_bytes\":99,\"value\":1}"),
              "null");
    services_stop(&services, 0);
    temporary_remove(folder);
}

/* Where nothing is given up the same code gets through: the attacks are real. */
static void attacks_get_through_outside(void **state)
{
    static const int harmless[] = {0, 2, 7, 10, 15, 17};
    int (*resolve)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    void *library = dlopen(RESOLVER_PATH, RTLD_NOW | RTLD_LOCAL);
    (void)state;
    assert_non_null(library);
    *(void **)&resolve = dlsym(library, "getaddrinfo");
    assert_non_null(resolve);
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        struct addrinfo *found = NULL;
        char name[32], text[64] = "";
        snprintf(name, sizeof(name), "attack-%d.test", harmless[i]);
        assert_int_equal(resolve(name, "80", NULL, &found), 0);
        getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
        if (strcmp(text, "127.0.0.2") != 0)
            fail_msg("%s leads to %s", name, text);
        freeaddrinfo(found);
    }
    unlink("/tmp/halter-attack");
    dlclose(library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hello_is_true),
        cmocka_unit_test(descriptors_do_not_come_along),
        cmocka_unit_test(attacks_from_inside_are_refused),
        cmocka_unit_test(attacks_get_through_outside),
    };
    signal(SIGPIPE, SIG_IGN);
    port = server_start("127.0.0.1", 0);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
