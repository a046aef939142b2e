/*
 * One question to a status socket (halter_status_listen(3)). The program at the other end may be
 * stopped, or be no program of ours: nothing waits longer than five seconds or takes what has no
 * end.
 */
#ifndef HALTER_CLI_STATUS_CLIENT_H
#define HALTER_CLI_STATUS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/buffer.h"

/* The answer's body, ended by a NUL that does not count. False: `why` has the reason. */
bool status_ask(const char *path, const char *method, const char *what, struct buffer *reply,
                char *why, size_t why_bytes);

#endif
