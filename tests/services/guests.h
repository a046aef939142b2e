/*
 * What the tests of the built-in capabilities share: a host of the real launcher, guests whose
 * transform evaluates what it is told, and what their host said about it.
 */
#ifndef TESTS_SERVICES_GUESTS_H
#define TESTS_SERVICES_GUESTS_H

#include "check.h"

#include "halter/halter.h"

extern struct halter_host *host;
extern char *folder;                      /* of this test */
extern char state_path[512];              /* in it */
extern int port;                          /* of the web server, on 127.0.0.1 and 127.0.0.2 */
extern char denials[8192], audits[16384]; /* "NAME TEXT\n" of each event */
extern const char evaluate[];
/* Called for each event when it is set. */
extern void (*event_hook)(const struct halter_event *event);

/* Setup and teardown of a test: a host with a state in a fresh folder. */
int start(void **state);
int stop(void **state);
void create_host(const char *path);
/* With more options; path of the launcher, events and audit are its own. */
void create_host_with(const struct halter_options *more);
/* `manifest` and `more` may be NULL. Its deadline is 5 s unless `more` says otherwise. */
struct halter_guest *make(const char *const *grants, const char *manifest,
                          const struct halter_plugin_options *more);
/*
 * Runs the body of an async function in the guest; the JSON of what it returns, or "NAME: MESSAGE"
 * of what it throws, or the name of the call's status. Lives until the next call.
 */
const char *run(struct halter_guest *guest, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void is(const char *got, const char *wanted);
void has(const char *got, const char *piece);
void lacks(const char *got, const char *piece);
/* Writes a file into the folder. */
void put(const char *name, const char *text);

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

#endif
