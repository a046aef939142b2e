/* The guests of guests.h. */
#include "guests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

struct halter_host *host;
char *folder;
char state_path[512];
int port;
char denials[8192], audits[16384];

void (*event_hook)(const struct halter_event *event);

static void on_event(struct halter_host *from, const struct halter_event *event, void *data)
{
    char *log = event->type == HALTER_EVENT_DENIED  ? denials
                : event->type == HALTER_EVENT_AUDIT ? audits
                                                    : NULL;
    size_t room = log == denials ? sizeof(denials) : sizeof(audits);
    (void)from;
    (void)data;
    if (event->type == HALTER_EVENT_STDERR || event->type == HALTER_EVENT_LOG)
        print_message("# %s\n", event->text);
    if (event_hook)
        event_hook(event);
    if (!log)
        return;
    size_t at = strlen(log);
    snprintf(log + at, room - at, "%s %s\n", event->name, event->text);
}

void create_host(const char *path)
{
    struct halter_options options = HALTER_OPTIONS_INIT;
    options.state_path = path;
    create_host_with(&options);
}

void create_host_with(const struct halter_options *more)
{
    struct halter_options options = *more;
    /* A build with sanitizers, in which the engine does not run, can borrow another build's. */
    options.launcher_path = getenv("HALTER_LAUNCHER") ? NULL : LAUNCHER_PATH;
    options.on_event = on_event;
    options.audit = true;
    int status = halter_create(&options, &host);
    if (status)
        fail_msg("%s: %s", halter_strerror(status), strerror(errno));
    denials[0] = audits[0] = '\0';
}

int start(void **state)
{
    (void)state;
    folder = temporary_folder();
    snprintf(state_path, sizeof(state_path), "%s/state.db", folder);
    create_host(state_path);
    return 0;
}

int stop(void **state)
{
    (void)state;
    event_hook = NULL;
    halter_destroy(host);
    host = NULL;
    temporary_remove(folder);
    return 0;
}

/* A guest whose transform evaluates the expression or body it is given, with what went wrong. */
const char evaluate[] = "globalThis.transform = async (raw) => {\n"
                        "  try { return await (0, eval)('(async () => { ' + raw + ' })()'); }\n"
                        "  catch (e) { return e.name + ': ' + e.message; }\n"
                        "};\n";

struct halter_guest *make(const char *const *grants, const char *manifest,
                          const struct halter_plugin_options *more)
{
    struct halter_plugin_options options = HALTER_PLUGIN_INIT;
    struct halter_guest *guest;
    char why[256] = "";
    if (more)
        options = *more;
    options.source = evaluate;
    if (!options.name)
        options.name = manifest ? NULL : "p";
    options.grants = grants;
    options.manifest = manifest;
    options.why = why;
    options.why_bytes = sizeof(why);
    if (!options.deadline_ms)
        options.deadline_ms = 5000;
    int status = halter_plugin_create(host, &options, &guest);
    if (status)
        fail_msg("%s: %s", halter_strerror(status), why);
    return guest;
}

/* Runs a body in the guest; the JSON of what it returns lives until the next call. */
const char *run(struct halter_guest *guest, const char *format, ...)
{
    static char text[65536];
    struct halter_result result;
    char body[4096], json[8192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(body, sizeof(body), format, arguments);
    va_end(arguments);
    size_t at = 0;
    json[at++] = '"';
    for (const char *c = body; *c; c++) {
        if (*c == '"' || *c == '\\')
            json[at++] = '\\';
        json[at++] = *c;
    }
    json[at++] = '"';
    int status = halter_call_wait(guest, json, at, NULL, &result);
    if (status)
        snprintf(text, sizeof(text), "%s", halter_status_name(status));
    else
        snprintf(text, sizeof(text), "%s",
                 result.kind == HALTER_KIND_VALUE ? result.json : "undefined");
    return text;
}

void is(const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0)
        fail_msg("%s in place of %s", got, wanted);
}

void has(const char *got, const char *piece)
{
    if (!strstr(got, piece))
        fail_msg("%s lacks %s", got, piece);
}

void lacks(const char *got, const char *piece)
{
    if (strstr(got, piece))
        fail_msg("%s has %s", got, piece);
}

void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}
