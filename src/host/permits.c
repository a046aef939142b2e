/*
 * From a plugin's manifest and its user's grants to what a guest may do and the limits it has. The
 * meeting of the two is permit.c's; here it is made a guest's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

/* Where people are told what is wrong. */
struct complaint {
    char *why;
    size_t bytes;
};

static int wrong(struct complaint to, const char *what, unsigned line, unsigned column)
{
    if (to.why && to.bytes) {
        char place[64] = "";
        if (line)
            snprintf(place, sizeof(place), "plugin.json:%u:%u: ", line, column);
        char text[GRANTS_FAULT + sizeof(place)];
        snprintf(text, sizeof(text), "%s%s", place, what);
        halter_printable(to.why, to.bytes, text, strlen(text), false);
    }
    return HALTER_EMANIFEST;
}

/*
 * A manifest lowers a limit and never raises it: not above what the application gives, nor above
 * what holds when it gives nothing.
 */
static uint64_t lower(uint64_t given, uint64_t otherwise, uint64_t manifest)
{
    uint64_t base = given ? given : otherwise;
    return manifest && manifest < base ? manifest : given;
}

static void lower_limits(struct halter_plugin_options *o, const struct manifest_limits *m)
{
    o->load_deadline_ms =
        (uint32_t)lower(o->load_deadline_ms, DEFAULT_LOAD_DEADLINE_MS, m->load_deadline_ms);
    o->deadline_ms = (uint32_t)lower(o->deadline_ms, DEFAULT_DEADLINE_MS, m->deadline_ms);
    uint64_t deadline_ms = o->deadline_ms ? o->deadline_ms : DEFAULT_DEADLINE_MS;
    o->wall_cap_ms =
        (uint32_t)lower(o->wall_cap_ms, deadline_ms * DEFAULT_WALL_CAP_TIMES, m->wall_cap_ms);
    o->memory_bytes = lower(o->memory_bytes, DEFAULT_MEMORY_BYTES, m->memory_bytes);
    o->cpu_seconds = (uint32_t)lower(o->cpu_seconds, UINT32_MAX, m->cpu_seconds);
    o->cpu_percent = (uint32_t)lower(o->cpu_percent, UINT32_MAX, m->cpu_percent);
    o->output_bytes = (uint32_t)lower(o->output_bytes, UINT32_MAX, m->output_bytes);
    o->log_lines_per_second =
        (uint32_t)lower(o->log_lines_per_second, DEFAULT_LOG_LINES, m->log_lines_per_second);
    o->requests_per_second =
        (uint32_t)lower(o->requests_per_second, DEFAULT_REQUESTS, m->requests_per_second);
    o->state_bytes = lower(o->state_bytes, DEFAULT_STATE_BYTES, m->state_bytes);
    o->no_jit |= m->no_jit;
}

/* Makes *permit and *capabilities anew from texts; they are untouched on failure. */
static int make_permit(const struct manifest *manifest, const char *const *texts,
                       struct permit *permit, char **capabilities, struct complaint to)
{
    struct grants grants = {0};
    struct permit made;
    char why[GRANTS_FAULT];
    int status = 0;
    for (; !status && texts && *texts; texts++)
        if (!grants_add(&grants, *texts, why))
            status = wrong(to, why, 0, 0);
    if (!status && !permit_make(manifest, &grants, &made, why))
        status = wrong(to, why, 0, 0);
    grants_finish(&grants);
    if (status)
        return status;
    char *names = permit_capabilities(&made);
    if (!names) {
        permit_finish(&made);
        return HALTER_ENOMEM;
    }
    permit_finish(permit);
    free(*capabilities);
    *permit = made;
    *capabilities = names;
    return 0;
}

int guest_permit(struct halter_guest *guest, struct halter_plugin_options *options)
{
    struct complaint to = {options->why, options->why_bytes};
    struct manifest manifest = {0};
    struct manifest_fault fault;
    const char *text = options->manifest;
    size_t bytes = text && !options->manifest_bytes ? strlen(text) : options->manifest_bytes;
    if (text && !manifest_parse(text, bytes, &manifest, &fault))
        return wrong(to, fault.text, fault.line, fault.column);
    int status = make_permit(text ? &manifest : NULL, options->grants, &guest->permit,
                             &guest->capabilities, to);
    lower_limits(options, &manifest.limits);
    if (!status && text) {
        guest->manifest = (struct source){malloc(bytes), bytes};
        guest->name = options->name ? NULL : strdup(manifest.name);
        guest->named_by_manifest = !options->name;
        if (!guest->manifest.text || (!options->name && !guest->name))
            status = HALTER_ENOMEM;
        else
            memcpy(guest->manifest.text, text, bytes);
    }
    manifest_finish(&manifest);
    return status;
}

int halter_guest_grant(struct halter_guest *guest, const char *const *grants, char *why,
                       size_t why_bytes)
{
    struct manifest manifest = {0};
    struct manifest_fault fault;
    if (!guest)
        return HALTER_EINVAL;
    if (guest->state == HALTER_GUEST_CLOSED)
        return HALTER_ECLOSED;
    if (guest->reloading)
        return HALTER_EBUSY;
    const struct source *text = &guest->manifest;
    if (text->text && !manifest_parse(text->text, text->bytes, &manifest, &fault))
        return HALTER_ENOMEM; /* it was right when the guest was made */
    int status = make_permit(text->text ? &manifest : NULL, grants, &guest->permit,
                             &guest->capabilities, (struct complaint){why, why_bytes});
    manifest_finish(&manifest);
    return status ? status : halter_guest_reload(guest, guest->source.text, guest->source.bytes);
}

/* Its next process is made as the new limits say; one that it waits for, too. */
static void change_profile(struct halter_guest *guest, struct pool *before, struct pool *after)
{
    if (before == after)
        return;
    bool waits = !list_empty(&guest->wait_link);
    pool_forget(guest, false);
    pool_join(after);
    pool_leave(guest->host, before);
    if (waits)
        pool_acquire(guest->host, guest, false);
}

/* Everything that can fail, into *next and the rest; then there is no way back. */
static int replace_manifest(struct halter_guest *guest, const struct manifest *manifest,
                            struct source *text, const char *const *grants, struct complaint to)
{
    struct halter_plugin_options o = guest->given;
    struct source next;
    lower_limits(&o, &manifest->limits);
    struct control_profile profile = guest_profile(guest, &o);
    struct pool *before = pool_for(guest->host, &guest->profile);
    struct pool *after = pool_for(guest->host, &profile);
    int status = after ? guest_reread(guest, &next) : HALTER_ENOMEM;
    if (status)
        return status;
    status = make_permit(manifest, grants, &guest->permit, &guest->capabilities, to);
    if (status) {
        free(next.text);
        return status;
    }
    free(guest->manifest.text);
    guest->manifest = *text;
    *text = (struct source){0};
    guest_set_limits(guest, &o);
    change_profile(guest, before, after);
    guest_start_reload(guest, &next);
    return HALTER_OK;
}

int halter_guest_manifest(struct halter_guest *guest, const char *text, size_t bytes,
                          const char *const *grants, char *why, size_t why_bytes)
{
    struct complaint to = {why, why_bytes};
    struct manifest manifest = {0};
    struct manifest_fault fault;
    if (!guest || !text)
        return HALTER_EINVAL;
    if (guest->state == HALTER_GUEST_CLOSED)
        return HALTER_ECLOSED;
    if (guest->reloading)
        return HALTER_EBUSY;
    bytes = bytes ? bytes : strlen(text);
    if (!manifest_parse(text, bytes, &manifest, &fault))
        return wrong(to, fault.text, fault.line, fault.column);
    struct source copy = {malloc(bytes), bytes};
    int status = copy.text ? HALTER_OK : HALTER_ENOMEM;
    if (!status && guest->named_by_manifest && strcmp(manifest.name, guest->name) != 0)
        status = wrong(to, "another name: a plugin that runs keeps its own", 0, 0);
    if (!status) {
        memcpy(copy.text, text, bytes);
        status = replace_manifest(guest, &manifest, &copy, grants, to);
    }
    free(copy.text);
    manifest_finish(&manifest);
    return status;
}
