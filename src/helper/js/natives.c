/*
 * What the prelude can do outside the language: say what became of a call, log, ask the host, tell
 * the time, and fetch its own modules. None of it is reachable for a plugin: the object is handed
 * to the prelude's functions alone.
 */
#include "helper/js/js.h"
#include "helper/js/prelude.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* More than the host lets through: it caps by the guest's own limit, this only spares it the flood.
 */
#define LOG_LINES_PER_SECOND 5000
#define LOG_BYTES_PER_SECOND (4 << 20)
#define LOG_LINE_BYTES       16384

/* How much of each of an error's texts is told. Together they fit in an ERROR frame. */
static const size_t error_most[JS_ERROR_TEXTS] = {
    [JS_NAME] = 1024, [JS_MESSAGE] = 65536, [JS_STACK] = 65536, [JS_FILE] = 4096, [JS_PATH] = 16384,
};

JSValueRef js_call(struct engine *engine, JSObjectRef function, size_t count,
                   const JSValueRef *arguments)
{
    JSValueRef exception = NULL;
    JSValueRef value =
        JSObjectCallAsFunction(engine->context, function, NULL, count, arguments, &exception);
    if (value && !exception)
        return value;
    /* The prelude catches what a plugin throws; what is left is an engine out of stack or memory.
     */
    if (engine->busy && !engine->settled)
        js_fail(engine, WIRE_ERROR_SCRIPT, "RangeError", "the engine ran out of stack or memory");
    return JSValueMakeUndefined(engine->context);
}

void js_set_function(JSContextRef context, JSObjectRef object, const char *name,
                     JSObjectCallAsFunctionCallback callback)
{
    JSStringRef key = JSStringCreateWithUTF8CString(name);
    JSObjectSetProperty(context, object, key,
                        JSObjectMakeFunctionWithCallback(context, key, callback),
                        kJSPropertyAttributeNone, NULL);
    JSStringRelease(key);
}

JSValueRef js_throw(JSContextRef context, const char *constructor, const char *message,
                    JSValueRef *exception)
{
    JSValueRef text = js_value_text(context, message, strlen(message));
    JSObjectRef error = JSObjectMakeError(context, 1, &text, NULL);
    if (error) {
        JSStringRef key = JSStringCreateWithUTF8CString("name");
        JSObjectSetProperty(context, error, key,
                            js_value_text(context, constructor, strlen(constructor)),
                            kJSPropertyAttributeDontEnum, NULL);
        JSStringRelease(key);
        *exception = error;
    }
    return JSValueMakeUndefined(context);
}

static bool text_argument(JSContextRef context, JSValueRef value, struct js_buffer *buffer)
{
    buffer->length = 0;
    JSStringRef text = JSValueToStringCopy(context, value, NULL);
    if (!text)
        return false;
    bool done = js_text_out(text, buffer);
    JSStringRelease(text);
    return done;
}

#define NATIVE(name)                                                                               \
    static JSValueRef name(JSContextRef context, JSObjectRef callee, JSObjectRef self,             \
                           size_t count, const JSValueRef arguments[], JSValueRef *exception)
#define UNUSED_NATIVE                                                                              \
    (void)context, (void)callee, (void)self, (void)count, (void)arguments, (void)exception

/* ---- outcomes ------------------------------------------------------------------------------- */

static struct wire_text whole(const struct js_buffer *buffer)
{
    return (struct wire_text){buffer->bytes ? buffer->bytes : "", (uint32_t)buffer->length};
}

static void settle_error(struct engine *engine, enum wire_error_kind kind, uint32_t line,
                         uint32_t column)
{
    for (unsigned i = 0; i < JS_ERROR_TEXTS; i++)
        js_buffer_cut(&engine->error[i], error_most[i]);
    engine->outcome.type = WIRE_ERROR;
    engine->outcome.error = (struct wire_error){
        .kind = (uint16_t)kind,
        .line = line,
        .column = column,
        .name = whole(&engine->error[JS_NAME]),
        .message = whole(&engine->error[JS_MESSAGE]),
        .stack = whole(&engine->error[JS_STACK]),
        .file = whole(&engine->error[JS_FILE]),
        .path = whole(&engine->error[JS_PATH]),
    };
    engine->settled = true;
}

static void put(struct js_buffer *buffer, const char *text)
{
    size_t length = strlen(text);
    buffer->length = 0;
    if (!js_buffer_reserve(buffer, length))
        return;
    memcpy(buffer->bytes, text, length);
    buffer->length = length;
}

void js_fail(struct engine *engine, enum wire_error_kind kind, const char *name,
             const char *message)
{
    for (unsigned i = 0; i < JS_ERROR_TEXTS; i++)
        engine->error[i].length = 0;
    put(&engine->error[JS_NAME], name);
    put(&engine->error[JS_MESSAGE], message);
    settle_error(engine, kind, 0, 0);
}

static uint32_t number_argument(JSContextRef context, JSValueRef value)
{
    double number = JSValueToNumber(context, value, NULL);
    return number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
}

/* fail(kind, name, message, stack, file, line, column, path): the first word counts. */
NATIVE(native_fail)
{
    UNUSED_NATIVE;
    struct engine *engine = js_engine;
    if (count < 8 || !engine->busy || engine->settled)
        return JSValueMakeUndefined(context);
    static const unsigned from[JS_ERROR_TEXTS] = {1, 2, 3, 4, 7};
    for (unsigned i = 0; i < JS_ERROR_TEXTS; i++)
        text_argument(context, arguments[from[i]], &engine->error[i]);
    settle_error(engine, (enum wire_error_kind)number_argument(context, arguments[0]),
                 number_argument(context, arguments[5]), number_argument(context, arguments[6]));
    return JSValueMakeUndefined(context);
}

/*
 * finish(text or undefined): the result. True when the text deserves a closer look, and then it is
 * no outcome until accept() or fail() is called.
 */
NATIVE(native_finish)
{
    UNUSED_NATIVE;
    struct engine *engine = js_engine;
    if (count < 1 || !engine->busy || engine->settled)
        return JSValueMakeBoolean(context, false);
    if (JSValueIsUndefined(context, arguments[0])) {
        engine->outcome.type = WIRE_UNDEFINED;
        engine->settled = true;
        return JSValueMakeBoolean(context, false);
    }
    if (!text_argument(context, arguments[0], &engine->json)) {
        js_fail(engine, WIRE_ERROR_RESULT, "RangeError", "no memory for the result");
        return JSValueMakeBoolean(context, false);
    }
    engine->outcome.type = WIRE_VALUE;
    engine->outcome.json = engine->json.bytes;
    engine->outcome.json_bytes = engine->json.length;
    struct js_json_shape shape = js_json_shape(engine->json.bytes, engine->json.length);
    engine->settled = !shape.has_empty_object && !shape.too_deep;
    return JSValueMakeBoolean(context, !engine->settled);
}

NATIVE(native_accept)
{
    UNUSED_NATIVE;
    if (js_engine->busy)
        js_engine->settled = true;
    return JSValueMakeUndefined(context);
}

NATIVE(native_loaded)
{
    UNUSED_NATIVE;
    if (js_engine->busy && !js_engine->settled) {
        js_engine->outcome.type = WIRE_LOADED;
        js_engine->settled = true;
    }
    return JSValueMakeUndefined(context);
}

/* ---- logging -------------------------------------------------------------------------------- */

static void refill(struct js_log_budget *budget)
{
    uint64_t now = helper_now_ns();
    double seconds = (double)(now - budget->filled_ns) / 1e9;
    budget->filled_ns = now;
    budget->lines += seconds * LOG_LINES_PER_SECOND;
    budget->bytes += seconds * LOG_BYTES_PER_SECOND;
    if (budget->lines > LOG_LINES_PER_SECOND)
        budget->lines = LOG_LINES_PER_SECOND;
    if (budget->bytes > LOG_BYTES_PER_SECOND)
        budget->bytes = LOG_BYTES_PER_SECOND;
}

static bool has_budget(struct js_log_budget *budget)
{
    if (budget->lines >= 1 && budget->bytes >= 0)
        return true;
    refill(budget);
    if (budget->lines >= 1 && budget->bytes >= 0)
        return true;
    budget->dropped++;
    return false;
}

static void log_line(struct engine *engine, enum wire_level level, const char *text, size_t length)
{
    if (!has_budget(&engine->budget))
        return;
    engine->budget.lines -= 1;
    engine->budget.bytes -= (double)length;
    helper_log(engine->helper, level, text, length, engine->budget.dropped);
    engine->budget.dropped = 0;
}

void js_log_flush(struct engine *engine)
{
    if (!engine->budget.dropped)
        return;
    helper_log(engine->helper, WIRE_WARN, "", 0, engine->budget.dropped);
    engine->budget.dropped = 0;
}

/* admit(): whether it is worth while to format a line. */
NATIVE(native_admit)
{
    UNUSED_NATIVE;
    return JSValueMakeBoolean(context, has_budget(&js_engine->budget));
}

/* log(level, text): one frame a line. */
NATIVE(native_log)
{
    UNUSED_NATIVE;
    struct js_buffer *buffer = &js_engine->scratch;
    if (count < 2 || !text_argument(context, arguments[1], buffer))
        return JSValueMakeUndefined(context);
    enum wire_level level = (enum wire_level)number_argument(context, arguments[0]);
    const char *at = buffer->bytes, *end = at + buffer->length;
    do {
        const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!stop)
            stop = end;
        size_t length = (size_t)(stop - at);
        if (length > LOG_LINE_BYTES)
            for (length = LOG_LINE_BYTES; length && ((uint8_t)at[length] & 0xc0) == 0x80;)
                length--;
        log_line(js_engine, level, at, length);
        at = stop + 1;
    } while (at <= end);
    return JSValueMakeUndefined(context);
}

/* ---- reverse calls -------------------------------------------------------------------------- */

struct asked {
    struct js_buffer name, json;
};

static bool read_request(JSContextRef context, size_t count, const JSValueRef arguments[],
                         struct asked *asked, JSValueRef *exception)
{
    *asked = (struct asked){0};
    if (count < 2 || !text_argument(context, arguments[0], &asked->name) ||
        !text_argument(context, arguments[1], &asked->json)) {
        js_throw(context, "RangeError", "no memory for the arguments", exception);
    } else if (asked->json.length + asked->name.length + WIRE_REQUEST_FIXED >
               helper_cap(js_engine->helper)) {
        js_throw(context, "RangeError", "the arguments are larger than the host takes", exception);
    } else if (js_json_shape(asked->json.bytes, asked->json.length).too_deep) {
        js_throw(context, "RangeError", "the arguments are nested too deep", exception);
    } else {
        return true;
    }
    js_buffer_finish(&asked->name);
    js_buffer_finish(&asked->json);
    return false;
}

static uint64_t send_request(struct asked *asked, bool wait)
{
    uint64_t id = helper_request(js_engine->helper, asked->name.bytes, asked->name.length,
                                 asked->json.bytes, asked->json.length, wait);
    js_buffer_finish(&asked->name);
    js_buffer_finish(&asked->json);
    return id;
}

/* request(name, json): the id that answered() will be told. */
NATIVE(native_request)
{
    UNUSED_NATIVE;
    struct asked asked;
    if (!read_request(context, count, arguments, &asked, exception))
        return JSValueMakeUndefined(context);
    return JSValueMakeNumber(context, (double)send_request(&asked, false));
}

/* requestSync(name, json, take): blocks, then calls take(kind, text, handles). */
NATIVE(native_request_sync)
{
    UNUSED_NATIVE;
    struct asked asked;
    if (count < 3 || !read_request(context, count, arguments, &asked, exception))
        return JSValueMakeUndefined(context);
    struct engine_answer answer;
    helper_wait_answer(js_engine->helper, send_request(&asked, true), &answer);
    struct wire_text text = answer.refused
                                ? answer.error.message
                                : (struct wire_text){answer.json, (uint32_t)answer.json_bytes};
    JSValueRef given[] = {
        JSValueMakeNumber(context, answer.refused ? answer.error.kind : 0),
        js_value_text(context, text.bytes, text.length),
        js_files_make(js_engine, answer.fds, answer.nfds),
    };
    JSObjectRef take = JSValueToObject(context, arguments[2], NULL);
    return JSObjectCallAsFunction(context, take, NULL, 3, given, exception);
}

/* ---- time and modules ----------------------------------------------------------------------- */

/* now(): ms since the engine was made, monotonic. */
NATIVE(native_now)
{
    UNUSED_NATIVE;
    return JSValueMakeNumber(context, (double)(helper_now_ns() - js_engine->started_ns) / 1e6);
}

/* wall(): whole ms since 1970. */
NATIVE(native_wall)
{
    UNUSED_NATIVE;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return JSValueMakeNumber(context, (double)(now.tv_sec * 1000 + now.tv_nsec / 1000000));
}

JSValueRef js_prelude_module(JSContextRef context, const char *name, JSObjectRef self,
                             JSValueRef *exception)
{
    for (size_t i = 0; i < prelude_count; i++) {
        if (strcmp(prelude[i].name, name) != 0)
            continue;
        char where[64];
        snprintf(where, sizeof(where), "halter:%s.js", name);
        JSStringRef source = js_text_in(prelude[i].source, strlen(prelude[i].source));
        JSStringRef url = JSStringCreateWithUTF8CString(where);
        JSValueRef module = JSEvaluateScript(context, source, self, url, 1, exception);
        JSStringRelease(source);
        JSStringRelease(url);
        return module;
    }
    return NULL;
}

/* module(name, kit): what a file of the prelude gives, evaluated now. */
NATIVE(native_module)
{
    UNUSED_NATIVE;
    struct js_buffer name = {0};
    JSValueRef module = NULL;
    if (count > 1 && text_argument(context, arguments[0], &name) && js_buffer_reserve(&name, 1)) {
        name.bytes[name.length] = 0;
        module = js_prelude_module(context, name.bytes,
                                   JSValueToObject(context, arguments[1], NULL), exception);
    }
    js_buffer_finish(&name);
    return module ? module : JSValueMakeUndefined(context);
}

JSObjectRef js_natives_make(struct engine *engine)
{
    static const struct {
        const char *name;
        JSObjectCallAsFunctionCallback call;
    } natives[] = {
        {"fail", native_fail},       {"finish", native_finish},
        {"accept", native_accept},   {"loaded", native_loaded},
        {"admit", native_admit},     {"log", native_log},
        {"request", native_request}, {"requestSync", native_request_sync},
        {"now", native_now},         {"wall", native_wall},
        {"module", native_module},
    };
    JSContextRef context = engine->context;
    JSObjectRef object = JSObjectMake(context, NULL, NULL);
    for (size_t i = 0; i < sizeof(natives) / sizeof(natives[0]); i++)
        js_set_function(context, object, natives[i].name, natives[i].call);
    js_files_register(context, object);
    js_encoding_register(context, object);
    js_platform_register(context, object);
    engine->budget = (struct js_log_budget){
        .filled_ns = helper_now_ns(), .lines = LOG_LINES_PER_SECOND, .bytes = LOG_BYTES_PER_SECOND};
    return object;
}
