/*
 * From a plugin's manifest and its user's grants to what a guest may do and the limits it has. The
 * meeting of the two is permit.c's; here it is made a guest's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/internal.h"

static int wrong(const struct halter_plugin_options *options, const char *what, unsigned line,
                 unsigned column)
{
    if (options->why && options->why_bytes) {
        char place[64] = "";
        if (line)
            snprintf(place, sizeof(place), "plugin.json:%u:%u: ", line, column);
        char text[GRANTS_FAULT + sizeof(place)];
        snprintf(text, sizeof(text), "%s%s", place, what);
        halter_printable(options->why, options->why_bytes, text, strlen(text), false);
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
    o->output_bytes = (uint32_t)lower(o->output_bytes, UINT32_MAX, m->output_bytes);
    o->log_lines_per_second =
        (uint32_t)lower(o->log_lines_per_second, DEFAULT_LOG_LINES, m->log_lines_per_second);
    o->requests_per_second =
        (uint32_t)lower(o->requests_per_second, DEFAULT_REQUESTS, m->requests_per_second);
    o->state_bytes = lower(o->state_bytes, DEFAULT_STATE_BYTES, m->state_bytes);
    o->no_jit |= m->no_jit;
}

static int read_grants(const struct halter_plugin_options *options, struct grants *grants)
{
    char fault[GRANTS_FAULT];
    for (const char *const *text = options->grants; text && *text; text++)
        if (!grants_add(grants, *text, fault))
            return wrong(options, fault, 0, 0);
    return 0;
}

int guest_permit(struct halter_guest *guest, struct halter_plugin_options *options)
{
    struct manifest manifest = {0};
    struct manifest_fault fault;
    struct grants grants = {0};
    char why[GRANTS_FAULT];
    const char *text = options->manifest;
    size_t bytes = text && !options->manifest_bytes ? strlen(text) : options->manifest_bytes;
    int status = read_grants(options, &grants);
    if (status)
        goto out;
    if (text && !manifest_parse(text, bytes, &manifest, &fault)) {
        status = wrong(options, fault.text, fault.line, fault.column);
        goto out;
    }
    if (!permit_make(text ? &manifest : NULL, &grants, &guest->permit, why)) {
        status = wrong(options, why, 0, 0);
        goto out;
    }
    lower_limits(options, &manifest.limits);
    guest->capabilities = permit_capabilities(&guest->permit);
    if (text && !options->name)
        guest->name = strdup(manifest.name);
    if (text)
        guest->state_name = strdup(manifest.name);
    if (!guest->capabilities || (text && !guest->state_name))
        status = HALTER_ENOMEM;
out:
    manifest_finish(&manifest);
    grants_finish(&grants);
    return status;
}
