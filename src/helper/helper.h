/*
 * The helper: what a process becomes after the launcher has forked it.
 *
 * helper_main() confines the process, makes the engine, says HELLO and serves frames until the
 * host goes away. It decides nothing and keeps nothing that must survive it: it may be killed at
 * any instant, and once a plugin is loaded it may belong to the plugin.
 */
#ifndef HALTER_HELPER_HELPER_H
#define HALTER_HELPER_HELPER_H

#include "wire/control.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * What the caller has already done: forked; reset signal mask and dispositions; put 0 and 1 on
 * /dev/null, 2 on the stderr pipe and the socket on 3 (blocking), closed the rest; emptied the
 * environment but for TZ; set the parent-death signal.
 */
struct helper_start {
    int socket;                     /* this helper's end, blocking */
    struct control_status *status;  /* shared with the launcher; NULL leaves no word of a trap */
    struct control_profile profile; /* what kind of helper, how large its frames, what limits */
    uint64_t generation;            /* of this process, for ctx.generation */
};

/* How a helper exits. Anything else is the plugin's or the engine's doing. */
enum helper_exit {
    HELPER_EXIT_EOF = 0,      /* the host closed the socket */
    HELPER_EXIT_ENGINE = 63,  /* the engine could not be made */
    HELPER_EXIT_BREACH = 64,  /* the host sent something that is no frame, or out of turn */
    HELPER_EXIT_CONFINE = 65, /* a layer of the floor could not be put in force */
};

#define HELPER_SOCKET_FD    3
#define HELPER_STATUS_FD    4   /* the status page, in a program that was executed */
#define HELPER_PROFILE_TEXT 192 /* room for a profile as text */

/* A profile as one argument, for helper_resume() in the program that is executed. */
void helper_profile_print(char text[HELPER_PROFILE_TEXT], const struct control_profile *profile,
                          uint64_t generation);
/* From `NAME --helper PROFILE`: false when these are other arguments, or the page is not there. */
bool helper_resume(struct helper_start *start, int count, char *const *arguments);

/* Serves until the host goes away; the result is the process's exit status (enum helper_exit). */
int helper_main(const struct helper_start *start);

#endif
