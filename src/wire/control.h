/*
 * The host and its launcher: fixed messages over a SOCK_SEQPACKET pair, and one shared page.
 *
 * Both ends come from one release and trust each other, so the messages are plain structs; a
 * version in the first one catches a mixed installation. Helpers see neither the socket (closed
 * on the way) nor the page (MADV_DONTFORK).
 *
 *   host ── SPAWN (+3 fds) ──► launcher      launcher ── READY ──► host
 *   host ── KILL ────────────► launcher      launcher ── SPAWNED (+pidfd) ──► host
 *   host ── WAKE ────────────► launcher      launcher ── EXITED ──► host
 *
 * The launcher is started with the socket as descriptor 3 and the page's memfd as descriptor 4.
 */
#ifndef HALTER_WIRE_CONTROL_H
#define HALTER_WIRE_CONTROL_H

#include <stdint.h>

#define CONTROL_VERSION   1
#define CONTROL_SOCKET_FD 3
#define CONTROL_PAGE_FD   4
#define CONTROL_SLOTS     4096 /* helpers alive at one time under one host */

enum control_type {
    CONTROL_READY = 1,   /* launcher: the engine is linked, helpers can be had */
    CONTROL_SPAWN = 2,   /* host: fork a helper */
    CONTROL_SPAWNED = 3, /* launcher: here is its pidfd, or why there is none */
    CONTROL_KILL = 4,    /* host: kill it (where the host has no pidfd yet) */
    CONTROL_WAKE = 5,    /* host: look at the page, a slot was armed while you slept */
    CONTROL_EXITED = 6,  /* launcher: it is dead and reaped */
};

/* What a helper is made as. Spares are kept per profile. */
struct control_profile {
    uint16_t kind;          /* enum wire_helper_kind */
    uint16_t flags;         /* CONTROL_NO_JIT, ... */
    uint32_t skip_layers;   /* layers of confinement to leave out: tests only */
    uint32_t cap;           /* largest frame body, bytes */
    uint64_t memory_bytes;  /* limit for the cgroup, 0 for none */
    uint32_t cpu_seconds;   /* RLIMIT_CPU, 0 for none */
    uint32_t max_fds;       /* descriptors that the host may pass and leave open, at most */
};
#define CONTROL_NO_JIT    0x0001u
#define CONTROL_EXEC      0x0002u /* execute the helper anew instead of forking it: own address layout */

struct control_message {
    uint32_t type;    /* enum control_type */
    uint32_t version; /* CONTROL_VERSION, in every message */
    uint64_t generation; /* the helper: unique in the host's life, never 0 */
    union {
        struct {
            struct control_profile profile;
            uint32_t slot; /* index into the page, owned by this helper until EXITED */
        } spawn; /* descriptors: the helper's socket end, the host's end (for looking at, see below:
                    while the helper lives its end sees shutdown() but no close() of the host),
                    the write end of its standard error */
        struct {
            int32_t pid;   /* 0 on failure */
            int32_t error; /* errno of what failed, 0 */
            uint32_t features; /* CONTROL_HAS_CGROUP: this helper was born in one of its own */
        } spawned;
        struct {
            int32_t code;   /* CLD_EXITED, CLD_KILLED or CLD_DUMPED */
            int32_t status; /* exit status or signal */
            uint32_t cause; /* enum control_cause: what the launcher itself did to it */
            int32_t syscall_number; /* that the filter trapped, -1 for none */
            uint64_t user_ns, system_ns; /* CPU time */
            uint64_t peak_bytes;   /* its own peak resident memory */
            uint64_t spawned_ns, exited_ns; /* CLOCK_MONOTONIC */
            uint32_t oom_kills; /* by its memory cgroup */
        } exited;
        struct {
            int32_t pid;
            uint32_t features; /* CONTROL_HAS_CGROUP, ... */
        } ready;
    };
};
#define CONTROL_HAS_CGROUP 0x0001u

enum control_cause { CONTROL_CAUSE_NONE = 0, CONTROL_CAUSE_KILL = 1, CONTROL_CAUSE_WALL_CAP = 2 };

/*
 * The shared page. The host arms a slot with the monotonic time at which its helper must be dead,
 * whether or not the application ever dispatches again, and disarms it with 0. A launcher with
 * nothing armed sleeps without a timer: it stores `asleep` = 1, looks once more, and sleeps; a
 * host that arms a slot and then finds `asleep` = 1 sends WAKE. While anything is armed the
 * launcher looks at least every CONTROL_TICK_MS, so that a slot re-armed for an earlier time is
 * late by no more than that. All accesses are atomic and sequentially consistent.
 *
 * At a slot's time the launcher first looks (MSG_PEEK on its copy of the host's end) whether the
 * helper has answered call `call_id` without the host having read it; such a helper is spared
 * while it uses no CPU time to speak of, because then it is the application that is late. What is
 * unread is taken to begin with a frame. A host that has read only the beginning of the answer
 * says so in `answering`, and clears that when it has read the rest.
 */
#define CONTROL_TICK_MS 20
struct control_page {
    _Atomic uint32_t asleep;
    uint32_t reserved;
    struct {
        _Atomic uint64_t kill_at_ns; /* CLOCK_MONOTONIC; 0 is disarmed */
        _Atomic uint64_t call_id;    /* the call in flight: answered is VALUE, UNDEFINED, ERROR or
                                        LOADED with this id */
        _Atomic uint32_t answering;  /* 1: part of that answer has been read, the rest is to come */
        uint32_t reserved;
    } slots[CONTROL_SLOTS];
};

/*
 * The page between a launcher and one helper (its only shared memory; every byte in it is the
 * helper's word): where a trap handler leaves the number of a forbidden system call.
 */
struct control_status {
    _Atomic int32_t syscall_number; /* -1 until then */
};

#endif
