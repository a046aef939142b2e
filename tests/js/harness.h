/*
 * A host in miniature: forks a helper on a socketpair and speaks frames to it, so that the tests
 * see the helper alone, without launcher or library.
 */
#ifndef HALTER_TESTS_JS_HARNESS_H
#define HALTER_TESTS_JS_HARNESS_H

#include "helper/engine.h"
#include "helper/helper.h"
#include "wire/body.h"
#include "wire/frame.h"
#include "wire/json.h"

#include <sys/types.h>
#include <sys/wait.h>

struct guest {
    pid_t pid;
    int socket, errors; /* our end; the read end of its stderr */
    struct control_status *status;
    struct wire_reader reader;
    struct wire_hello hello;
    uint64_t last_id;
    bool dead;
    int wait_status;         /* of waitpid, once it is dead */
    struct wire_frame frame; /* the last one received */
    struct wire_error error; /* of the last ERROR */
};

struct guest_options {
    uint32_t skip_layers;
    uint16_t flags;
    uint32_t cap, max_fds, cpu_seconds;
    const struct engine_type *engine; /* NULL: helper_main */
    const char *time_zone;
    bool leave_open; /* do not close the test's descriptors, which the helper then has to */
    bool leave_environment;
};

/* Forks the helper, and no more. */
void guest_fork(struct guest *guest, const struct guest_options *options);
/* Forks the helper and waits for its hello. Fails the test when there is none in ten seconds. */
void guest_start(struct guest *guest, const struct guest_options *options);
/* The same, and a plugin that must load. */
void guest_load(struct guest *guest, const struct guest_options *options, const char *source);
/* The same with capabilities. */
void guest_load_with(struct guest *guest, const struct guest_options *options, const char *source,
                     const char *capabilities);
/* Closes the socket and reaps it; checks that it exits with 0 unless it is dead already. */
void guest_finish(struct guest *guest);
/* Kills it. */
void guest_kill(struct guest *guest);
/* Waits for its death, at most ten seconds; the wait status. */
int guest_wait(struct guest *guest);

void guest_send_load(struct guest *guest, const char *source, size_t length,
                     const char *capabilities);
void guest_send_call(struct guest *guest, const char *json, size_t length, uint32_t deadline_ms);
void guest_send(struct guest *guest, uint8_t type, uint64_t id, const void *body, size_t length,
                const int *fds, unsigned nfds);
void guest_answer(struct guest *guest, uint64_t id, const char *json, const int *fds,
                  unsigned nfds);
void guest_refuse(struct guest *guest, uint64_t id, enum wire_error_kind kind, const char *message);
/* The next frame, LOG frames included; its type, or 0 when the helper is gone. */
uint8_t guest_receive(struct guest *guest);
/* False when nothing comes within `ms`. */
bool guest_readable(struct guest *guest, int ms);

/* One call from beginning to end, LOG frames skipped: the result as text to compare with,
 * "undefined", or "kind name: message". Lives until the next call of this function. */
const char *guest_call(struct guest *guest, const char *json);
/* A helper that loads `source`, makes one call with `json` and ends. */
const char *once(const char *source, const char *json);
/* The ERROR that a failed load or the last call came to, as a struct. */
const struct wire_error *guest_error(const struct guest *guest);
bool text_is(struct wire_text text, const char *expected);
/* What it wrote on stderr so far, terminated. */
const char *guest_stderr(struct guest *guest);

#endif
