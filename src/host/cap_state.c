/*
 * host.state: get(key), set(key, value), delete(key), keys(prefix), swap(key, expected, value).
 * Values are JSON; null stands for "nothing there" in both directions. A level of the permit gives
 * names, so what a level does not include does not exist in the script; here it is looked at again.
 */
#include <stdlib.h>
#include <string.h>

#include "host/caps.h"
#include "host/internal.h"
#include "wire/json_write.h"

#define PATIENCE_MS 30000

struct work {
    struct halter_request *request;
    uint64_t order;
};

static void answered(struct halter_host *host, const struct services_answer *answer, void *data)
{
    struct work *work = data;
    struct halter_request *request = work->request;
    (void)host;
    request->abandon = NULL;
    free(work);
    caps_pass(request, answer);
}

/* Its guest is gone. What was ordered is carried out all the same. */
static void abandoned(struct halter_request *request)
{
    struct work *work = request->work;
    if (request->host)
        services_cancel(request->host, work->order, false);
    free(work);
    request_drop(request);
}

static bool may(const struct halter_guest *guest, const char *op)
{
    bool reads = strcmp(op, "state.get") == 0 || strcmp(op, "state.keys") == 0;
    unsigned needs = strcmp(op, "state.swap") == 0 ? MANIFEST_READWRITE
                     : reads                       ? MANIFEST_READ
                                                   : MANIFEST_WRITE;
    return (guest->permit.state & needs) == needs;
}

static void write_order(struct json_writer *out, const struct halter_guest *guest, const char *op,
                        const char *args, size_t bytes)
{
    struct json_value key = caps_argument(args, bytes, 0);
    bool swap = strcmp(op, "state.swap") == 0;
    struct json_value value = caps_argument(args, bytes, swap ? 2 : 1);
    struct json_value expected = caps_argument(args, bytes, 1);
    json_write(out, "{\"op\":\"");
    json_write(out, op);
    json_write(out, "\",\"plugin\":");
    json_write_string(out, guest->name, strlen(guest->name));
    json_write(out, ",\"quota_bytes\":");
    json_write_integer(out, (int64_t)guest->state_bytes);
    json_write(out, ",\"key\":");
    if (key.type == JSON_NULL && strcmp(op, "state.keys") == 0)
        json_write(out, "\"\""); /* keys(): all of them */
    else
        json_write_raw(out, key.text, key.length);
    json_write(out, ",\"value\":");
    json_write_raw(out, value.text, value.length);
    json_write(out, ",\"expected\":");
    json_write_raw(out, expected.text, expected.length);
    json_write(out, "}");
}

void cap_state(struct halter_guest *guest, struct halter_request *request, const char *args,
               size_t bytes, void *data)
{
    const char *op = data;
    struct json_writer out;
    if (!may(guest, op)) {
        caps_deny(request, op, "not granted");
        return;
    }
    if (!guest->host->services.state_path) {
        caps_fail(request, "the application keeps no state: it named no file for it");
        return;
    }
    struct work *work = calloc(1, sizeof(*work));
    json_writer_init(&out);
    write_order(&out, guest, op, args, bytes);
    if (work && json_write_end(&out))
        work->order =
            services_order(guest->host, out.text, out.length, PATIENCE_MS, answered, work);
    json_writer_finish(&out);
    if (!work || !work->order) {
        free(work);
        caps_fail(request, "the state cannot be reached now%s%s",
                  guest->host->services.refused[0] ? ": " : "", guest->host->services.refused);
        return;
    }
    work->request = request;
    request->work = work;
    request->abandon = abandoned;
    char *key = caps_text(caps_argument(args, bytes, 0), 512);
    caps_audit(request, true, key ? key : "(all keys)", op + strlen("state."));
    free(key);
}
