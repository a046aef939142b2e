/* What the built-in capabilities have in common: see caps.h. */
#include "host/caps.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

/* The data of each state capability is its order's name. */
static char state_get[] = "state.get", state_keys[] = "state.keys", state_set[] = "state.set",
            state_delete[] = "state.delete", state_swap[] = "state.swap";

int caps_provide(struct halter_host *host)
{
    const struct {
        const char *name;
        halter_provide_fn fn;
        void *data;
    } all[] = {
        {"fetch", cap_fetch, NULL},
        {"open", cap_open, NULL},
        {"list", cap_list, NULL},
        {state_get, cap_state, state_get},
        {state_keys, cap_state, state_keys},
        {state_set, cap_state, state_set},
        {state_swap, cap_state, state_swap},
        {state_delete, cap_state, state_delete},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        int status = request_provide(host, all[i].name, all[i].fn, all[i].data);
        if (status)
            return status;
    }
    return 0;
}

struct json_value caps_argument(const char *args, size_t bytes, unsigned i)
{
    struct json_value array = json_root(args, bytes), value;
    for (size_t at = 0; json_next(array, &at, NULL, &value);)
        if (i-- == 0)
            return value;
    return (struct json_value){JSON_NULL, "null", 4};
}

char *caps_text(struct json_value value, size_t max)
{
    if (value.type != JSON_STRING)
        return NULL;
    size_t capacity = value.length < max ? value.length + 1 : max + 1;
    char *text = malloc(capacity);
    long length = text ? json_string(value, text, capacity) : -1;
    if (length >= 0 && strlen(text) == (size_t)length)
        return text;
    free(text);
    return NULL;
}

void caps_audit(struct halter_request *request, bool allowed, const char *what, const char *why)
{
    char line[1024], text[1024];
    if (!request->guest || !request->guest->host->audit)
        return;
    snprintf(line, sizeof(line), "%s %s: %s", allowed ? "allowed" : "denied", what, why);
    halter_printable(text, sizeof(text), line, strlen(line), false);
    struct halter_event event = {.type = HALTER_EVENT_AUDIT,
                                 .guest = request->guest,
                                 .level = allowed ? HALTER_INFO : HALTER_WARN,
                                 .name = request->name,
                                 .text = text};
    event_emit(request->guest->host, &event);
}

/* Fits a message into what halter_refuse takes: UTF-8 that a terminal survives. */
static void refuse(struct halter_request *request, enum wire_error_kind kind, const char *message,
                   size_t bytes)
{
    char text[1024];
    halter_printable(text, sizeof(text), message, bytes, true);
    if (request_refuse(request, kind, text) != 0)
        request_drop(request);
}

void caps_deny(struct halter_request *request, const char *what, const char *why)
{
    char message[1024];
    caps_audit(request, false, what, why);
    int length = snprintf(message, sizeof(message), "%s: %s", what, why);
    refuse(request, WIRE_ERROR_DENIED, message,
           (size_t)length < sizeof(message) ? (size_t)length : sizeof(message) - 1);
}

void caps_fail(struct halter_request *request, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    refuse(request, WIRE_ERROR_FAILED, message,
           (size_t)length < sizeof(message) ? (size_t)length : sizeof(message) - 1);
}

void caps_pass(struct halter_request *request, const struct services_answer *answer)
{
    if (answer->kind) {
        refuse(request, (enum wire_error_kind)answer->kind, answer->text, answer->bytes);
        return;
    }
    int status = halter_answer(request, answer->text, answer->bytes);
    if (status)
        caps_fail(request, "the answer cannot be passed on: %s", halter_strerror(status));
}
