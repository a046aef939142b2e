/*
 * halter-services as a host sees it: started on a socket, configured, given orders. Everything
 * waits, with a limit of 20 seconds that fails the test.
 */
#ifndef TESTS_SERVICES_HARNESS_H
#define TESTS_SERVICES_HARNESS_H

#include "check.h"

#include <sys/types.h>

#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"

struct services {
    pid_t pid;
    int fd;
    struct wire_reader reader;
    uint64_t last_id;
    struct wire_hello hello;
};

struct answer {
    uint64_t id;
    int kind;   /* 0: a value */
    char *text; /* the value, or the error's message; terminated */
};

/* Starts one; `preload` (may be NULL) is a library that is loaded into it first. */
void services_spawn(struct services *services, const char *preload);
/* The same, configured as libhalter does it. `state_path` may be NULL. */
void services_start(struct services *services, const char *state_path, const char *preload);
/* Sends the configuration and returns the answer to it: kind 0 for LOADED. */
struct answer services_configure(struct services *services, const char *state_path);
/* Ends it by closing the socket, or by `signal`; returns its wait status. */
int services_stop(struct services *services, int signal);

/* Sends an order, a format that yields JSON; returns its id, 0 when the process is gone. */
uint64_t services_send(struct services *services, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The next answer. False when the process is gone. answer->text is to be freed. */
bool services_answer(struct services *services, struct answer *answer);
/* An order and the answer to it, which must be the next one. */
struct answer services_ask(struct services *services, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails unless the answer is this value, or this kind of error with this in its message. */
void answer_is(struct answer answer, const char *text);
void answer_fails(struct answer answer, int kind, const char *piece);

/* A fresh folder below $TMPDIR or /tmp, removed with its files by temporary_remove. */
char *temporary_folder(void);
void temporary_remove(char *folder);

#endif
