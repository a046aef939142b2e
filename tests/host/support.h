/*
 * What the tests of the library share: a host whose every dispatch is held to account (it may not
 * wait, and may not work long), guests with counted callbacks, and the proof that nothing is left.
 */
#ifndef HALTER_TESTS_HOST_SUPPORT_H
#define HALTER_TESTS_HOST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "halter/halter.h"

/* What one call came to. */
struct outcome {
    unsigned callbacks; /* 1 when all is well */
    int status;
    enum halter_kind kind;
    char json[65536];
    size_t json_bytes;
    char error_name[128], error_message[512], error_stack[2048], error_file[128], error_path[128];
    unsigned line, column;
    struct halter_death death;
    char detail[192];
    uint64_t finished_ns; /* when the callback ran */
    uint64_t ran_ns, host_ns;
};

/* What events there were. */
struct events {
    unsigned count[16];             /* by type */
    struct halter_death last_death; /* of the last DEATH */
    char last_detail[192];
    unsigned deaths[16];            /* by reason */
    char last_text[1024];
    char last_error[256];
    uint64_t dropped, lines;
    uint32_t last_delay_ms;
};

struct fixture {
    struct halter_host *host;
    struct events events;
    int descriptors;    /* open before the host was made */
    int64_t large_bytes;            /* bodies so large that converting them may take its time */
    uint64_t dispatches;
    uint64_t waited, laboured;      /* of them: gave the processor up, took more than 10 ms of it */
};

/* The launcher with the real engine, or the one with the scriptable helper. */
#define REAL_LAUNCHER real_launcher()
#define FAKE_LAUNCHER (FAKE_LAUNCHER_PATH)
/* The built one, or, where this build cannot run the engine (sanitizers), $HALTER_TEST_LAUNCHER. */
const char *real_launcher(void);

void fixture_open(struct fixture *f, const char *launcher, const struct halter_options *options);
/* Destroys the host and asserts that descriptors and processes are back to what they were. */
void fixture_close(struct fixture *f);
/*
 * The same for a test's teardown: a test that failed has left outcomes on a stack that is gone, so
 * what calls come to now is written nowhere, and the failure that is reported is the first.
 */
void fixture_teardown(struct fixture *f);

/* A guest with a short name, this source, and (where not NULL) these options as a base. */
struct halter_guest *guest_of(struct fixture *f, const char *name, const char *source,
                              const struct halter_plugin_options *base);

void record(struct halter_guest *guest, const struct halter_result *result, void *outcome);
/* One call, accepted or the test fails. */
uint64_t call(struct halter_guest *guest, const char *json, struct outcome *outcome);
/*
 * One poll() and one halter_dispatch(host, 0), which must not give the processor up of its own will
 * and must use less than 10 ms of CPU time (not counted under sanitizers or Valgrind; one in a
 * thousand may be the machine's doing).
 */
int dispatch(struct fixture *f, int timeout_ms);
/* Dispatches until the call is finished; fails the test after a minute. */
void settle(struct fixture *f, struct outcome *outcome);
void settle_state(struct fixture *f, struct halter_guest *guest, enum halter_guest_state state);
/* Dispatches for so long. */
void run_for(struct fixture *f, unsigned ms);
/* Call and settle in one. */
void ask(struct fixture *f, struct halter_guest *guest, const char *json, struct outcome *outcome);

uint64_t now_ns(void);
int open_descriptors(void);
/* Processes below this one, the launcher among them. */
int living_descendants(void);
/* Waits until there are no more than `most`, at most half a minute. */
void assert_descendants(int most);
/* True in builds that are slowed down so much that CPU time says nothing. */
bool slowed_down(void);

#endif
