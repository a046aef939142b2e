/*
 * host.fetch(url, {method, headers, body, as, redirect, timeout_ms, max_bytes}): the decision about
 * a URL and about every hop that a redirect leads to. The work is done by halter-services, which
 * gets the URL in the form that was decided about and the addresses that may be connected to.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/caps.h"
#include "host/fetch_request.h"
#include "host/internal.h"
#include "wire/json_write.h"

#define MAX_HOPS     10
#define PATIENCE_MS  5000 /* beyond the time that the services were given */
#define OPEN_AT_ONCE 16   /* fetches of one guest */

struct work {
    struct halter_request *request;
    struct fetch_request fetch;
    struct policy_url url; /* of this hop; its rest points into `text` */
    char *text;
    uint64_t order, begun_ns;
    unsigned hops;
};

static void work_free(struct work *work)
{
    if (work->request) {
        work->request->abandon = NULL;
        if (work->request->guest)
            work->request->guest->fetches--;
    }
    fetch_request_finish(&work->fetch);
    free(work->text);
    free(work);
}

static void abandoned(struct halter_request *request)
{
    struct work *work = request->work;
    if (request->host && work->order)
        services_cancel(request->host, work->order, true);
    work_free(work);
    request_drop(request);
}

static void write_order(struct json_writer *out, const struct work *work,
                        const struct policy_decision *decision, uint32_t timeout_ms)
{
    const struct halter_guest *guest = work->request->guest;
    char range[WIRE_RANGE_TEXT], url[POLICY_URL_TEXT];
    json_write(out, "{\"op\":\"fetch\",\"plugin\":");
    json_write_string(out, guest->name, strlen(guest->name));
    json_write(out, ",\"url\":");
    json_write_string(out, url, policy_url_write(&work->url, url));
    fetch_request_write(&work->fetch, out);
    json_write(out, ",\"timeout_ms\":");
    json_write_integer(out, timeout_ms);
    json_write(out, ",\"allow\":[");
    for (size_t i = 0; i < guest->permit.nranges + decision->nreach; i++) {
        const struct wire_range *from = i < guest->permit.nranges
                                            ? &guest->permit.ranges[i]
                                            : &decision->reach[i - guest->permit.nranges];
        json_write(out, i ? "," : "");
        json_write_string(out, range, wire_range_print(from, range));
    }
    json_write(out, "]}");
}

static void answered(struct halter_host *host, const struct services_answer *answer, void *data);

/* What is left of the request's time, over all its hops; 0 when there is none. */
static uint32_t time_left(const struct work *work)
{
    uint64_t spent_ms = (monotonic_ns() - work->begun_ns) / NS_PER_MS;
    return spent_ms < work->fetch.timeout_ms ? work->fetch.timeout_ms - (uint32_t)spent_ms : 0;
}

/* Decides about the URL of this hop and has it fetched. The work is over when it returns false. */
static bool next_hop(struct work *work)
{
    struct halter_request *request = work->request;
    struct halter_guest *guest = request->guest;
    const struct policy_network network = {guest->permit.patterns, guest->permit.npatterns,
                                           guest->permit.ranges, guest->permit.nranges};
    struct policy_decision decision;
    struct json_writer out;
    uint32_t left = time_left(work);
    const char *why = policy_url_parse(work->text, strlen(work->text), &work->url);
    if (!why) {
        policy_decide(&network, &work->url, &decision);
        why = decision.allowed ? NULL : decision.why;
    }
    if (why || !left) {
        char *text = work->text;
        work->text = NULL;
        work_free(work);
        if (why)
            caps_deny(request, text, why);
        else
            caps_fail(request, "%s: timed out", text);
        free(text);
        return false;
    }
    caps_audit(request, true, work->text, work->hops ? "after a redirect" : work->fetch.method);
    json_writer_init(&out);
    write_order(&out, work, &decision, left);
    work->order = json_write_end(&out) ? services_order(guest->host, out.text, out.length,
                                                        left + PATIENCE_MS, answered, work)
                                       : 0;
    json_writer_finish(&out);
    if (work->order)
        return true;
    const char *refused = guest->host->services.refused;
    work_free(work);
    caps_fail(request, "halter-services cannot be reached now%s%s", refused[0] ? ": " : "",
              refused);
    return false;
}

/* A string member of the services' answer, to be freed, or NULL. */
static char *member_text(const struct services_answer *answer, const char *key)
{
    struct json_value value;
    return json_member(json_root(answer->text, answer->bytes), key, &value)
               ? caps_text(value, POLICY_URL_BYTES)
               : NULL;
}

/* The script's answer: what the services said, and where it came from in the end. */
static void pass_response(struct work *work, const struct services_answer *answer, int64_t status)
{
    struct halter_request *request = work->request;
    struct json_writer out;
    char url[POLICY_URL_TEXT];
    json_writer_init(&out);
    json_write(&out, "{\"ok\":");
    json_write(&out, status >= 200 && status < 300 ? "true" : "false");
    json_write(&out,
               work->hops ? ",\"redirected\":true,\"url\":" : ",\"redirected\":false,\"url\":");
    json_write_string(&out, url, policy_url_write(&work->url, url));
    json_write(&out, ",");
    json_write_raw(&out, answer->text + 1, answer->bytes - 1); /* behind its { */
    bool ok = json_write_end(&out);
    work_free(work);
    struct services_answer whole = {0, out.text, out.length};
    if (ok)
        caps_pass(request, &whole);
    else
        caps_fail(request, "out of memory for the response");
    json_writer_finish(&out);
}

static void follow(struct work *work, char *location, int64_t status)
{
    struct halter_request *request = work->request;
    struct policy_url next;
    if (work->fetch.redirect == FETCH_REDIRECT_ERROR || ++work->hops > MAX_HOPS) {
        bool refused = work->fetch.redirect == FETCH_REDIRECT_ERROR;
        work_free(work);
        caps_fail(request, refused ? "redirected to %s" : "more than 10 redirects, at %s",
                  location);
        free(location);
        return;
    }
    bool same = !policy_url_parse(location, strlen(location), &next) &&
                policy_url_same_origin(&work->url, &next);
    fetch_request_redirect(&work->fetch, status, same);
    free(work->text);
    work->text = location;
    next_hop(work);
}

static void answered(struct halter_host *host, const struct services_answer *answer, void *data)
{
    struct work *work = data;
    struct halter_request *request = work->request;
    struct json_value value;
    int64_t status = 0;
    (void)host;
    if (answer->kind) {
        /* The address at the socket is policy too: it is audited and told as a denial. */
        if (answer->kind == WIRE_ERROR_DENIED)
            caps_audit(request, false, work->text,
                       "the name leads to an address that is not granted");
        work_free(work);
        caps_pass(request, answer);
        return;
    }
    if (json_member(json_root(answer->text, answer->bytes), "status", &value))
        json_integer(value, 0, 999, &status);
    char *location =
        work->fetch.redirect == FETCH_REDIRECT_MANUAL ? NULL : member_text(answer, "redirect");
    bool redirects =
        status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    if (location && redirects) {
        follow(work, location, status);
        return;
    }
    free(location);
    pass_response(work, answer, status);
}

void cap_fetch(struct halter_guest *guest, struct halter_request *request, const char *args,
               size_t bytes, void *data)
{
    struct work *work;
    const char *why;
    (void)data;
    if (guest->fetches >= OPEN_AT_ONCE) {
        request_refuse(request, WIRE_ERROR_QUOTA, "more than 16 fetches at one time");
        return;
    }
    if (!(work = calloc(1, sizeof(*work)))) {
        caps_fail(request, "out of memory");
        return;
    }
    work->request = request;
    work->begun_ns = monotonic_ns();
    guest->fetches++;
    request->work = work;
    request->abandon = abandoned;
    work->text = caps_text(caps_argument(args, bytes, 0), POLICY_URL_BYTES + 1);
    if (!work->text)
        why = "fetch(url, options): the url is no string, or too long";
    else
        why = fetch_request_read(&work->fetch, caps_argument(args, bytes, 1));
    if (!why) {
        next_hop(work);
        return;
    }
    work_free(work);
    caps_fail(request, "%s", why);
}
