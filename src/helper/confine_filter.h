/*
 * The seccomp filter: which system calls pass, and what happens to the others. syscalls.def is the
 * list.
 */
#ifndef HALTER_HELPER_CONFINE_FILTER_H
#define HALTER_HELPER_CONFINE_FILTER_H

#include "wire/control.h"

#include <linux/filter.h>
#include <stdbool.h>

#define CONFINE_FILTER_MAX 256 /* instructions */

/* Writes the filter for this process into `out`; its length. */
unsigned confine_filter_build(struct sock_filter out[CONFINE_FILTER_MAX]);
/*
 * Installs it on every thread, with a handler that leaves the number of a call that trapped in
 * *status (which may be NULL) and lets the process die of SIGSYS. False: errno says why.
 */
bool confine_filter_install(struct control_status *status);

#endif
