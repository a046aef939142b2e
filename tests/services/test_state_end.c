/*
 * State under the ends of everything: an application (a child of this test, with the whole library)
 * counts in host.state and reports each number once it is acknowledged; at random points a helper,
 * halter-services or the application itself is killed. What was reported is there afterwards.
 */
#include "guests.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static int rounds = 60; /* or the argument's */

/* The application: counts on from `first` until it is killed. */
static void count(int report, int first)
{
    static const char *const grants[] = {"state", NULL};
    create_host(state_path);
    struct halter_guest *guest = make(grants, NULL, NULL);
    for (int n = first;; n++) {
        /* What failed is asked for again: a kill may have come before or behind it. */
        if (strcmp(run(guest, "await host.state.set('n', %d); return 1", n), "1") != 0) {
            n--;
            continue;
        }
        if (write(report, &n, sizeof(n)) != sizeof(n))
            _exit(1);
    }
}

/* A process called `name` whose parent's parent is `host`; 0 when there is none. */
static pid_t grandchild(pid_t of, const char *name)
{
    DIR *entries = opendir("/proc");
    struct dirent *entry;
    pid_t found = 0;
    while (!found && (entry = readdir(entries))) {
        int pid = atoi(entry->d_name), parent = pid, depth = 0;
        char comm[64] = "";
        while (pid > 0 && parent > 0 && depth < 2) {
            char path[64], own[64];
            snprintf(path, sizeof(path), "/proc/%d/stat", parent);
            FILE *file = fopen(path, "r");
            if (!file || fscanf(file, "%*d (%63[^)]) %*c %d", own, &parent) != 2)
                parent = 0;
            if (file)
                fclose(file);
            if (depth++ == 0)
                memcpy(comm, own, sizeof(comm));
        }
        if (pid > 0 && depth == 2 && parent == of && strcmp(comm, name) == 0)
            found = pid;
    }
    closedir(entries);
    return found;
}

static void pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
}

/* Takes what was reported until nothing comes any more; returns the last number. */
static int drain(int report, int last)
{
    int n;
    while (read(report, &n, sizeof(n)) == sizeof(n)) {
        assert_true(n > last);
        last = n;
    }
    return last;
}

static int one_round(int last, unsigned *killed)
{
    static const char *const victims[] = {"halter-services", "halter-helper"};
    int pipe_ends[2];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    pid_t application = fork();
    assert_true(application >= 0);
    if (application == 0) {
        close(pipe_ends[0]);
        count(pipe_ends[1], last + 1);
    }
    close(pipe_ends[1]);
    struct pollfd first = {.fd = pipe_ends[0], .events = POLLIN};
    assert_int_equal(poll(&first, 1, 20000), 1);
    for (int i = 0; i < 2; i++) {
        pause_ms(random() % 20);
        int victim = (int)(random() % 2);
        pid_t pid = grandchild(application, victims[victim]);
        if (pid && kill(pid, SIGKILL) == 0)
            killed[victim]++;
    }
    pause_ms(random() % 40);
    kill(application, SIGKILL);
    assert_int_equal(waitpid(application, NULL, 0), application);
    last = drain(pipe_ends[0], last);
    close(pipe_ends[0]);
    return last;
}

static void check_kept(int last)
{
    struct services services;
    services_start(&services, state_path, NULL);
    struct answer answer =
        services_ask(&services, "{\"op\":\"state.get\",\"plugin\":\"p\",\"key\":\"n\"}");
    assert_int_equal(answer.kind, 0);
    /* The one that was under way may be there or not. */
    if (atoi(answer.text) != last && atoi(answer.text) != last + 1)
        fail_msg("%s is kept, %d was acknowledged", answer.text, last);
    free(answer.text);
    services_stop(&services, 0);
}

static void what_was_acknowledged_is_there(void **state)
{
    unsigned killed[2] = {0, 0};
    int last = 0;
    (void)state;
    srandom(5);
    folder = temporary_folder();
    snprintf(state_path, sizeof(state_path), "%s/state.db", folder);
    for (int round = 0; round < rounds; round++) {
        last = one_round(last, killed);
        check_kept(last);
    }
    print_message("# %d values; %d times the application was killed, %u times halter-services, %u times "
                  "a helper\n",
                  last, rounds, killed[0], killed[1]);
    assert_true(last > rounds);
    assert_true(killed[0] > (unsigned)rounds / 10);
    assert_true(killed[1] > (unsigned)rounds / 10);
    temporary_remove(folder);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atoi(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_acknowledged_is_there)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
