/*
 * The launcher's inside: one struct launcher, one struct helper for each child, and what each file
 * of this folder does for the others. wire/control.h is what it says to its host, helper/helper.h
 * the one function it calls in a child. Single-threaded; only main.c knows that it is a program.
 */
#ifndef HALTER_LAUNCHER_LAUNCHER_H
#define HALTER_LAUNCHER_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/cgroup.h"
#include "wire/control.h"

/* How the launcher exits. */
enum launcher_exit {
    LAUNCHER_EXIT_HOST_GONE = 0, /* the host closed its end or died: the normal end */
    LAUNCHER_EXIT_SETUP = 70,    /* it was not started as a host starts it, or has no resources */
    LAUNCHER_EXIT_VERSION = 71,  /* the host speaks another version of wire/control.h */
    LAUNCHER_EXIT_BROKEN = 72,   /* a system call failed that cannot fail */
};

/* A message on its way to the host. */
struct report {
    struct control_message message;
    int fd; /* goes with it and is then closed, or -1 */
    struct report *next;
};

/* What wallcap.c remembers of a helper whose time has come. */
struct overdue {
    uint64_t kill_at_ns; /* that the rest is about; 0: not overdue */
    uint64_t since_ns;   /* it was first seen overdue, or unread bytes were last seen */
    uint64_t cpu_ns;     /* it had used when it was first spared */
    bool spared;
};

struct helper {
    struct helper *next;
    struct control_profile profile;
    uint64_t generation;
    uint64_t spawned_ns;
    pid_t pid; /* 0 when it is reaped: the struct then lives until EXITED is sent */
    uint32_t slot;
    uint32_t cause; /* enum control_cause */
    int host_end;   /* a copy of the host's end of its socket, for looking at */
    struct control_status *status;
    int status_fd;   /* of that page, when it has to survive an exec; else -1 */
    uint64_t cgroup; /* of its own, 0 for none */
    struct overdue overdue;
    struct report spawned, exited;
};

struct launcher {
    int control, epoll, host_pidfd, signals, timer;
    pid_t pid;
    struct control_page *page;
    struct cgroups cgroups;
    struct helper *helpers;
    struct report *first, *last; /* to be sent, in order */
    struct report refusal;       /* the SPAWNED of a helper that there is no struct for */
    bool refusing;               /* it is still to be sent: nothing more is read until then */
    bool send_later;             /* the kernel lacked something else than room in the socket */
    bool stop;
    int exit_code;
};

uint64_t launcher_now_ns(void);

/* setup.c: makes the process what a launcher is. False when it cannot be one. */
bool launcher_setup(struct launcher *launcher);
/* run.c: serves until the host is gone; the exit status. */
int launcher_run(void);

/* control.c: messages to and from the host. */
void control_queue(struct launcher *launcher, struct report *report);
void control_flush(struct launcher *launcher);
/* Reads what the host has sent, up to a few dozen messages. */
void control_read(struct launcher *launcher);

/* spawn.c: a SPAWN's three descriptors become the launcher's; the outcome is queued. */
#define SPAWN_FDS 3
void spawn(struct launcher *launcher, const struct control_message *message,
           const int fds[SPAWN_FDS]);

/* child.c: the rest of a helper's life, in the forked child. */
struct birth {
    const struct helper *helper;
    int socket, stderr_pipe;
    pid_t launcher;
};
_Noreturn void child_run(const struct birth *birth);
/* The same after an exec: `arguments` are what child.c gave to itself. */
int child_resume(int count, char **arguments);

/* reap.c: deaths. */
void helper_kill(struct helper *helper, uint32_t cause);
/* Reaps every child that is dead and queues EXITED. */
void reap(struct launcher *launcher);
/* Kills and reaps everything, for the end. */
void reap_all(struct launcher *launcher);
/* Frees a helper that is reaped and reported. */
void helper_free(struct launcher *launcher, struct helper *helper);
/* Unmaps its page and closes what the launcher holds of it. */
void helper_release(struct helper *helper);

/*
 * wallcap.c: kills the helpers whose time has come. Returns how long the launcher may sleep, in ns:
 * -1 when nothing is armed.
 */
int64_t wallcap_look(struct launcher *launcher, uint64_t now_ns);

#endif
