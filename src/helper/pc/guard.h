/* guard.h: the process around a PC's process.
 *
 * The PC runs in a child that is confined as every helper is: it keeps its console, its mapped
 * files and, if asked, one file to write to, and can reach nothing else. The parent holds the
 * terminal, watches the child's heartbeat, and has the last word. */
#ifndef HALTER_GUARD_H
#define HALTER_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by the two. */
struct guard_pulse {
    _Atomic uint64_t beats;   /* counted up between two slices */
    _Atomic uint32_t napping; /* the PC is asleep: no beat is due */
};

enum guard_end { GUARD_EXITED, GUARD_KILLED, GUARD_STALLED, GUARD_SIGNAL, GUARD_FAILED };

struct guard_result {
    enum guard_end end;
    int status; /* GUARD_EXITED: the exit status; GUARD_KILLED and GUARD_SIGNAL: the signal */
};

/* Runs `child` in a process of its own, confined, with `pulse` to beat, until it ends or must be
 * ended: when it has not beaten for `stall_ms`, or when this process is asked to end (SIGINT,
 * SIGTERM, SIGHUP). The child's result is its exit status. It keeps descriptors 0 to 2 and, above
 * them, only `keep_fd` (-1: none). */
struct guard_result guard_run(int (*child)(void *opaque, struct guard_pulse *pulse), void *opaque,
                              int keep_fd, uint32_t stall_ms);

#endif
