/*
 * host.state from end to end: kept, shared by the guests of one plugin and by nobody else, under
 * its quota, and there again after halter-services was killed.
 */
#include "guests.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- state ---------------------------------------------------------------------------------- */

static const char *const with_state[] = {"state", NULL};

static void state_is_kept(void **state)
{
    (void)state;
    struct halter_guest *guest = make(with_state, NULL, NULL);
    is(run(guest, "return host.state.get('k')"), "null");
    is(run(guest, "await host.state.set('k', {a: [1, '\\u2028']}); return host.state.get('k')"),
       "{\"a\":[1,\"\xe2\x80\xa8\"]}");
    is(run(guest, "return [await host.state.swap('k', 1, 2), host.state.swap.sync('n', null, 5),"
                  " await host.state.keys(), host.state.keys.sync('n')]"),
       "[false,true,[\"k\",\"n\"],[\"n\"]]");
    is(run(guest, "await host.state.delete('k'); return host.state.keys()"), "[\"n\"]");
    has(run(guest, "return host.state.get(7)"), "HostError: a key is a string");
    has(run(guest, "return host.state.set('k', () => 1)"), "null");
    halter_guest_destroy(guest);
    halter_destroy(host);
    create_host(state_path);
    guest = make(with_state, NULL, NULL);
    is(run(guest, "return host.state.get('n')"), "5");
    halter_guest_destroy(guest);
}

static void guests_of_one_plugin_share_its_state(void **state)
{
    struct halter_plugin_options other = HALTER_PLUGIN_INIT;
    (void)state;
    other.name = "q";
    struct halter_guest *a = make(with_state, NULL, NULL), *b = make(with_state, NULL, NULL),
                        *c = make(with_state, NULL, &other);
    is(run(a, "await host.state.set('k', 'a'); return 1"), "1");
    is(run(b, "return host.state.get('k')"), "\"a\"");
    is(run(c, "return host.state.get('k')"), "null");
    halter_guest_destroy(a);
    halter_guest_destroy(b);
    halter_guest_destroy(c);
}

/* Case 22. */
static void a_full_state_is_a_quota_error(void **state)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    (void)state;
    options.state_bytes = 1000;
    struct halter_guest *guest = make(with_state, NULL, &options);
    is(run(guest, "await host.state.set('k', 'old'); return 1"), "1");
    has(run(guest, "await host.state.set('k', 'x'.repeat(1000))"),
        "QuotaError: the state would take");
    is(run(guest, "return host.state.get('k')"), "\"old\"");
    halter_guest_destroy(guest);
}

/* Finds halter-services below the launcher of this process. */
static pid_t services_pid(void)
{
    DIR *entries = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;
    while (!found && (entry = readdir(entries))) {
        char path[64], text[256] = "", name[64];
        int parent = 0, grandparent = 0, pid = atoi(entry->d_name);
        for (int level = 0; pid > 0 && level < 2; level++) {
            snprintf(path, sizeof(path), "/proc/%d/stat", level ? parent : pid);
            FILE *file = fopen(path, "r");
            if (!file || !fgets(text, sizeof(text), file))
                parent = 0;
            else
                sscanf(text, "%*d (%63[^)]) %*c %d", level ? path : name,
                       level ? &grandparent : &parent);
            if (file)
                fclose(file);
        }
        if (pid > 0 && parent && grandparent == getpid() && strcmp(name, "halter-services") == 0)
            found = pid;
    }
    closedir(entries);
    return found;
}

static void killed_services_are_replaced(void **state)
{
    (void)state;
    struct halter_guest *guest = make(with_state, NULL, NULL);
    for (int round = 1; round <= 20; round++) {
        char number[16];
        snprintf(number, sizeof(number), "%d", round);
        is(run(guest, "await host.state.set('n', %d); return host.state.get('n')", round), number);
        pid_t pid = services_pid();
        assert_true(pid > 0);
        assert_int_equal(kill(pid, SIGKILL), 0);
        /* The order that was sent to a dead process fails; the one after it is served. */
        const char *got = run(guest, "return host.state.get('n')");
        if (strstr(got, "HostError: halter-services died"))
            got = run(guest, "return host.state.get('n')");
        is(got, number);
    }
    halter_guest_destroy(guest);
}

static void a_state_that_cannot_be_opened_is_an_error(void **state)
{
    static const char *const both[] = {"state", NULL};
    (void)state;
    halter_destroy(host);
    create_host("/nonexistent/state.db");
    struct halter_guest *guest = make(both, NULL, NULL);
    has(run(guest, "return host.state.get('k')"), "cannot be opened");
    has(run(guest, "return host.state.get('k')"), "HostError: the state cannot be reached now");
    is(run(guest, "return 1"), "1");
    halter_guest_destroy(guest);
    halter_destroy(host);
    create_host(NULL);
    guest = make(both, NULL, NULL);
    has(run(guest, "return host.state.get('k')"), "keeps no state");
    halter_guest_destroy(guest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(state_is_kept),
        TEST(guests_of_one_plugin_share_its_state),
        TEST(a_full_state_is_a_quota_error),
        TEST(killed_services_are_replaced),
        TEST(a_state_that_cannot_be_opened_is_an_error),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
