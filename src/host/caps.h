/*
 * The built-in capabilities: host.fetch, host.state.*, host.open and host.list. Each checks the
 * guest's permit when it is asked, has the work done, and answers the request. What was decided is
 * said in audit lines where the application wants them.
 */
#ifndef HALTER_HOST_CAPS_H
#define HALTER_HOST_CAPS_H

#include "halter/halter.h"
#include "host/grants.h"
#include "host/services.h"
#include "wire/json.h"

/* Offers them all, as an application offers its own. 0 or a status. */
int caps_provide(struct halter_host *host);

/* The i-th argument of a request, or a null. */
struct json_value caps_argument(const char *args, size_t bytes, unsigned i);
/* A string argument, to be freed; NULL when it is none, has a NUL in it, or without memory. */
char *caps_text(struct json_value value, size_t max);

/* One line for the audit log: what was asked and what was decided. */
void caps_audit(struct halter_request *request, bool allowed, const char *what, const char *why);
/* Refuses as policy does: an audit line, and a denial with "WHAT: WHY". */
void caps_deny(struct halter_request *request, const char *what, const char *why);
/* Fails it: allowed, but it did not work. */
void caps_fail(struct halter_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Passes on what the services said. */
void caps_pass(struct halter_request *request, const struct services_answer *answer);

/* cap_fetch.c, cap_state.c, cap_files.c */
void cap_fetch(struct halter_guest *guest, struct halter_request *request, const char *args,
               size_t bytes, void *data);
void cap_state(struct halter_guest *guest, struct halter_request *request, const char *args,
               size_t bytes, void *data);
void cap_open(struct halter_guest *guest, struct halter_request *request, const char *args,
              size_t bytes, void *data);
void cap_list(struct halter_guest *guest, struct halter_request *request, const char *args,
              size_t bytes, void *data);

#endif
