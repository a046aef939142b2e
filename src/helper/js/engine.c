/*
 * JavaScriptCore behind the helper's seam: one context for one plugin, through the engine's C API.
 *
 * The prelude runs the plugin's transform and says through natives.c what became of it; this file
 * makes the engine, begins a load or a call, and passes on answers and the time. Microtasks run
 * by themselves whenever a call into the engine returns.
 */
#include "helper/js/js.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct engine *js_engine;

/* Exported by the library and declared in none of its headers. */
void JSGlobalContextSetUnhandledRejectionCallback(JSGlobalContextRef context, JSObjectRef function,
                                                  JSValueRef *exception);

/* Of the library that runs, which may be newer than the one that was built with. */
unsigned jsc_get_major_version(void);
unsigned jsc_get_minor_version(void);
unsigned jsc_get_micro_version(void);

static const char *name(void)
{
    static char text[32];
    snprintf(text, sizeof(text), "JavaScriptCore %u.%u.%u", jsc_get_major_version(),
             jsc_get_minor_version(), jsc_get_micro_version());
    return text;
}

/* ---- making it ------------------------------------------------------------------------------ */

static JSObjectRef member(struct engine *engine, JSObjectRef object, const char *key)
{
    JSStringRef name = JSStringCreateWithUTF8CString(key);
    JSValueRef value = JSObjectGetProperty(engine->context, object, name, NULL);
    JSStringRelease(name);
    if (!value || !JSValueIsObject(engine->context, value))
        return NULL;
    JSValueProtect(engine->context, value);
    return (JSObjectRef)value;
}

static bool start_prelude(struct engine *engine)
{
    JSValueRef exception = NULL;
    JSValueRef made =
        js_prelude_module(engine->context, "core", js_natives_make(engine), &exception);
    if (!made || exception || !JSValueIsObject(engine->context, made))
        return false;
    const struct {
        const char *key;
        JSObjectRef *to;
    } members[] = {
        {"run", &engine->run},           {"loaded", &engine->loaded},     {"warm", &engine->warm},
        {"grant", &engine->grant},       {"answered", &engine->answered}, {"over", &engine->over},
        {"due", &engine->due},           {"fire", &engine->fire},         {"threw", &engine->threw},
        {"rejected", &engine->rejected},
    };
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        *members[i].to = member(engine, (JSObjectRef)made, members[i].key);
        if (!*members[i].to)
            return false;
    }
    JSGlobalContextSetUnhandledRejectionCallback(engine->context, engine->rejected, &exception);
    return true;
}

/* Only at an exit of a test: a helper's process ends without it. */
static void destroy(struct engine *engine)
{
    if (!engine)
        return;
    if (engine->context)
        JSGlobalContextRelease(engine->context);
    if (engine->group)
        JSContextGroupRelease(engine->group);
    if (engine->locale)
        JSStringRelease(engine->locale);
    js_buffer_finish(&engine->json);
    js_buffer_finish(&engine->scratch);
    js_buffer_finish(&engine->locale_bytes);
    for (unsigned i = 0; i < JS_ERROR_TEXTS; i++)
        js_buffer_finish(&engine->error[i]);
    free(engine);
    js_engine = NULL;
}

static struct engine *create(struct helper *helper, const struct helper_start *start)
{
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return NULL;
    engine->helper = helper;
    engine->generation = start->generation;
    engine->max_files = helper_max_files(start);
    engine->started_ns = helper_now_ns();
    js_engine = engine;
    /*
     * The environment is the engine's only switchboard; it is read when the first VM is made, and
     * has to be a list: after clearenv() it is NULL, which the engine does not survive.
     */
    static char *no_variables[] = {NULL};
    if (!environ)
        environ = no_variables;
    if (start->profile.flags & CONTROL_NO_JIT)
        setenv("JSC_useJIT", "0", 1);
    engine->group = JSContextGroupCreate();
    engine->context = engine->group ? JSGlobalContextCreateInGroup(engine->group, NULL) : NULL;
    unsetenv("JSC_useJIT");
    if (!engine->context || !start_prelude(engine)) {
        destroy(engine);
        return NULL;
    }
    return engine;
}

/* ---- what is under way ---------------------------------------------------------------------- */

static void begin(struct engine *engine)
{
    engine->busy = true;
    engine->settled = false;
    engine->outcome = (struct engine_outcome){0};
}

/* After each time that the engine was entered: is the outcome there? */
static enum engine_state look(struct engine *engine, struct engine_outcome *outcome)
{
    if (!engine->settled)
        return ENGINE_WAITS;
    engine->busy = false;
    js_call(engine, engine->over, 0, NULL);
    js_log_flush(engine);
    *outcome = engine->outcome;
    return ENGINE_DONE;
}

static void give_up(struct engine *engine, struct engine_outcome *outcome)
{
    js_fail(engine, WIRE_ERROR_PENDING, "Error",
            "the promise that transform returned can never settle: no timer and no call of the "
            "host is left that could do it");
    look(engine, outcome);
}

static enum engine_state load(struct engine *engine, const struct wire_load *load,
                              struct engine_outcome *outcome)
{
    begin(engine);
    JSContextRef context = engine->context;
    JSValueRef names = js_value_text(context, load->capabilities.bytes, load->capabilities.length);
    js_call(engine, engine->grant, 1, &names);

    struct wire_text where = load->path.length ? load->path : load->name;
    struct wire_text text = load->source;
    if (text.length >= 3 && memcmp(text.bytes, "\xef\xbb\xbf", 3) == 0) {
        text.bytes += 3;
        text.length -= 3;
    }
    JSStringRef source = js_text_in(text.bytes, text.length);
    JSStringRef path = js_text_in(where.bytes, where.length);
    JSValueRef exception = NULL;
    JSValueRef path_value = JSValueMakeString(context, path);
    if (source && path)
        JSEvaluateScript(context, source, NULL, path, 1, &exception);
    if (source)
        JSStringRelease(source);
    JSStringRelease(path);
    if (exception) {
        JSValueRef column =
            JSValueMakeNumber(context, js_syntax_column(context, text.bytes, text.length));
        js_call(engine, engine->threw, 2, (JSValueRef[]){exception, column});
    } else {
        js_call(engine, engine->loaded, 1, &path_value);
    }
    return look(engine, outcome);
}

/*
 * The engine compiles a function when it is first called, and touches much of itself for the first
 * time then. A script and a call that leave nothing behind do that before a plugin waits for it.
 */
static void warm(struct engine *engine)
{
    static const char script[] = "(raw) => raw", input[] = "{\"warm\":[1]}";
    struct engine_outcome outcome;
    begin(engine);
    JSStringRef source = js_text_in(script, sizeof(script) - 1);
    if (source) {
        JSEvaluateScript(engine->context, source, NULL, NULL, 1, NULL);
        JSStringRelease(source);
    }
    JSValueRef text = js_value_text(engine->context, input, sizeof(input) - 1);
    js_call(engine, engine->warm, 1, &text);
    look(engine, &outcome);
    engine->busy = false;
}

static JSStringRef locale_of(struct engine *engine, struct wire_text locale)
{
    struct js_buffer *known = &engine->locale_bytes;
    if (engine->locale && known->length == locale.length &&
        memcmp(known->bytes, locale.bytes, locale.length) == 0)
        return engine->locale;
    if (engine->locale)
        JSStringRelease(engine->locale);
    known->length = 0;
    if (js_buffer_reserve(known, locale.length + 1) && locale.length)
        memcpy(known->bytes, locale.bytes, locale.length);
    known->length = locale.length;
    engine->locale = js_text_in(locale.bytes, locale.length);
    return engine->locale;
}

static enum engine_state call(struct engine *engine, const struct wire_call *call, const int *fds,
                              unsigned nfds, struct engine_outcome *outcome)
{
    begin(engine);
    JSContextRef context = engine->context;
    JSStringRef json = js_text_in(call->json.bytes, call->json.length);
    if (!json) {
        js_fail(engine, WIRE_ERROR_INPUT, "RangeError", "no memory for the input");
        return look(engine, outcome);
    }
    JSValueRef arguments[] = {
        JSValueMakeString(context, json),
        JSValueMakeNumber(context, (double)call->now_ms),
        JSValueMakeString(context, locale_of(engine, call->locale)),
        JSValueMakeNumber(context, (double)call->tick),
        JSValueMakeNumber(context, (double)call->generation),
        JSValueMakeNumber(context, call->deadline_ms),
        js_files_make(engine, fds, nfds),
    };
    JSStringRelease(json);
    js_call(engine, engine->run, sizeof(arguments) / sizeof(arguments[0]), arguments);
    return look(engine, outcome);
}

static enum engine_state answer(struct engine *engine, const struct engine_answer *answer,
                                struct engine_outcome *outcome)
{
    JSContextRef context = engine->context;
    struct wire_text text = answer->refused
                                ? answer->error.message
                                : (struct wire_text){answer->json, (uint32_t)answer->json_bytes};
    JSValueRef arguments[] = {
        JSValueMakeNumber(context, (double)answer->id),
        JSValueMakeNumber(context, answer->refused ? answer->error.kind : 0),
        js_value_text(context, text.bytes, text.length),
        js_files_make(engine, answer->fds, answer->nfds),
    };
    js_call(engine, engine->answered, sizeof(arguments) / sizeof(arguments[0]), arguments);
    return look(engine, outcome);
}

static enum engine_state wake(struct engine *engine, struct engine_outcome *outcome)
{
    js_call(engine, engine->fire, 0, NULL);
    return look(engine, outcome);
}

static uint64_t due_ns(struct engine *engine)
{
    JSValueRef at = js_call(engine, engine->due, 0, NULL);
    double ms = JSValueToNumber(engine->context, at, NULL);
    if (!(ms >= 0) || ms > 1e15)
        return ENGINE_NEVER;
    return engine->started_ns + (uint64_t)(ms * 1e6);
}

const struct engine_type engine_js = {
    .name = name,
    .create = create,
    .destroy = destroy,
    .warm = warm,
    .load = load,
    .call = call,
    .answer = answer,
    .wake = wake,
    .due_ns = due_ns,
    .give_up = give_up,
};

int helper_main(const struct helper_start *start)
{
    if (start->profile.kind != WIRE_HELPER_JS) {
        fprintf(stderr, "halter: a helper of kind %u is not to be had here\n", start->profile.kind);
        return HELPER_EXIT_ENGINE;
    }
    return helper_serve(start, &engine_js, WIRE_HELPER_JS);
}
