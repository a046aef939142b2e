/*
 * A host for tests of the launcher: starts one, asks it for helpers, talks to them over the wire.
 * Everything waits with a limit of WAIT_MS, and fails the test when it is reached.
 */
#ifndef HALTER_TESTS_LAUNCHER_HARNESS_H
#define HALTER_TESTS_LAUNCHER_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "wire/body.h"
#include "wire/control.h"
#include "wire/frame.h"

#define WAIT_MS 10000

struct rig {
    pid_t pid; /* the launcher's, a child of the test; 0 when it has been reaped */
    int control;
    struct control_page *page;
    uint32_t features;   /* from READY */
    uint64_t generation; /* the last one given out */
    uint32_t cap;
};

struct guest {
    uint64_t generation;
    uint32_t slot;
    pid_t pid;
    int pidfd, socket, stderr_pipe;
    int spawn_error;
    uint32_t features;
    uint64_t next_call;
    struct wire_reader reader;
};

uint64_t now_ms(void);

/* Starts the launcher at the path in $FAKE_LAUNCHER and waits for READY. */
void rig_start(struct rig *rig);
/* The two halves of that: a launcher that has not been heard of yet. `run` NULL: executes it. */
void rig_fork(struct rig *rig, int (*run)(void));
/* The next message, which must be of this type, and its descriptor or -1. */
void rig_expect(struct rig *rig, uint32_t type, struct control_message *message, int *fd);
/* The next message of any type; false after `timeout_ms` or when the launcher has gone. */
bool rig_receive(struct rig *rig, int timeout_ms, struct control_message *message, int *fd);
/* Closes the control socket, waits for the launcher and returns its wait status. */
int rig_stop(struct rig *rig);

/* Sends SPAWN; `profile` NULL is a plain one. */
void guest_ask(struct rig *rig, struct guest *guest, uint32_t slot,
               const struct control_profile *profile);
/* And waits for SPAWNED, which must be a success, and for HELLO. */
void guest_spawn(struct rig *rig, struct guest *guest, uint32_t slot,
                 const struct control_profile *profile);
/* Loads a script of tests/fake and waits for LOADED. */
void guest_load(struct guest *guest, const char *script);
/* Sends a CALL; its id. */
uint64_t guest_send(struct guest *guest, const char *json);
/* The next frame, within WAIT_MS. */
void guest_receive(struct guest *guest, struct wire_frame *frame);
/* A call to its VALUE: the JSON, to be freed. */
char *guest_call(struct guest *guest, const char *json);
/* Waits for EXITED of this guest and closes what the test holds of it. */
struct control_message guest_exited(struct rig *rig, struct guest *guest);
void guest_close(struct guest *guest);

/* What is there of this process and below it, for "nothing has grown". */
unsigned count_fds(pid_t pid);
unsigned count_children(pid_t pid);
uint64_t resident_bytes(pid_t pid);
/*
 * Whether a process has gone, zombie included, within `timeout_ms`. One whose parent died first is
 * this process's to reap, when it is a subreaper (not every init there is reaps in time).
 */
bool gone_within(pid_t pid, int timeout_ms);

#endif
