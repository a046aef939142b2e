/*
 * From what is known of a helper's end to the one reason for it. Pure: the evidence comes in, the
 * reason with the highest precedence in death.def goes out.
 */
#ifndef HALTER_HOST_DEATH_H
#define HALTER_HOST_DEATH_H

#include <stdbool.h>
#include <stdint.h>

#include "halter/halter.h"
#include "wire/control.h"

struct evidence {
    enum halter_death_reason decided; /* the host's own, NONE when it only noticed */
    bool launcher_lost;
    int spawn_error;  /* errno, 0 when it was forked */
    bool hung_up;     /* it closed its socket, lived on, and was killed for that */
    bool reported;    /* the launcher's account of it has come: */
    int code, status; /* CLD_…, and the exit status or signal */
    enum control_cause cause;
    int syscall_number; /* -1 for none */
    uint32_t oom_kills;
    uint64_t cpu_ns, peak_bytes, lived_ns;
    uint32_t cpu_limit_seconds;
};

enum halter_death_reason death_reason(const struct evidence *evidence);
/* The status that a call fails with when its helper died so. */
int death_status(enum halter_death_reason reason);
/* The name of a system call of this architecture, or NULL. */
const char *syscall_name(int number);

#endif
