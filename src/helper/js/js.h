/*
 * The inside of the JavaScript engine: what its files share.
 *
 * engine.c has the life cycle, natives.c what the prelude may call, text.c how text crosses,
 * files.c the descriptors that the host passes. The prelude (prelude/, JavaScript of our own) does
 * what is best said in the language itself; C makes every frame.
 */
#ifndef HALTER_HELPER_JS_JS_H
#define HALTER_HELPER_JS_JS_H

#include "helper/engine.h"

#include <JavaScriptCore/JavaScript.h>

/* Bytes that grow. */
struct js_buffer {
    char *bytes;
    size_t length, capacity;
};

/* How much a plugin may log: a bucket each of lines and bytes that fills with time. */
struct js_log_budget {
    uint64_t filled_ns;
    double lines, bytes;
    uint32_t dropped; /* lines, since the last one that was sent */
};

enum js_error_text { JS_NAME, JS_MESSAGE, JS_STACK, JS_FILE, JS_PATH, JS_ERROR_TEXTS };

struct engine {
    struct helper *helper;
    uint64_t generation;
    unsigned max_files, open_files;
    uint64_t started_ns; /* what performance.now() counts from */
    JSContextGroupRef group;
    JSGlobalContextRef context;
    /* Functions of the prelude: see the end of core.js. */
    JSObjectRef run, warm, loaded, grant, answered, over, due, fire, rejected, threw;

    /* What has been settled of the load or call under way. */
    bool busy, settled;
    struct engine_outcome outcome;
    struct js_buffer json, scratch;
    struct js_buffer error[JS_ERROR_TEXTS];
    JSStringRef locale; /* of the last call, kept because it hardly ever changes */
    struct js_buffer locale_bytes;
    struct js_log_budget budget;
};

/* The engine of this process. There is one, and the C API gives its callbacks no other way to it.
 */
extern struct engine *js_engine;

/* ---- text.c --------------------------------------------------------------------------------- */

/* Room for `more` bytes behind what is there. False: no memory. */
bool js_buffer_reserve(struct js_buffer *buffer, size_t more);
void js_buffer_finish(struct js_buffer *buffer);
/* Puts the text in the buffer in place of what it held; lone surrogates become U+FFFD. */
bool js_text_out(JSStringRef text, struct js_buffer *buffer);
/* The same for UTF-16 that is no string of the engine's. Appends. */
bool js_utf16_out(const JSChar *text, size_t length, struct js_buffer *buffer);
/* A string of UTF-8, NUL included; empty when it is not well-formed. To be released. */
JSStringRef js_text_in(const char *bytes, size_t length);
JSValueRef js_value_text(JSContextRef context, const char *bytes, size_t length);
/* A string of any bytes taken for UTF-8, bad ones replaced. */
JSStringRef js_text_decode(const char *bytes, size_t length);
/* Cuts a buffer at a character's boundary. */
void js_buffer_cut(struct js_buffer *buffer, size_t most);

/* What a JSON text is like inside, for the few who need a second look. */
struct js_json_shape {
    bool has_empty_object;
    bool too_deep; /* more than WIRE_JSON_MAX_DEPTH */
};
struct js_json_shape js_json_shape(const char *json, size_t length);

/* ---- natives.c ------------------------------------------------------------------------------ */

/* The object that the prelude gets: all that it can do outside the language. */
JSObjectRef js_natives_make(struct engine *engine);
/* Calls a function of the prelude. Undefined when it threw, which only happens out of memory. */
JSValueRef js_call(struct engine *engine, JSObjectRef function, size_t count,
                   const JSValueRef *arguments);
/* Evaluates a file of the prelude with `self` as `this`: what it gives, NULL where it threw. */
JSValueRef js_prelude_module(JSContextRef context, const char *name, JSObjectRef self,
                             JSValueRef *exception);
/* Tells the host of lines that were dropped and followed by none. */
void js_log_flush(struct engine *engine);
/* Ends what is under way with an error made in C. */
void js_fail(struct engine *engine, enum wire_error_kind kind, const char *name,
             const char *message);
void js_set_function(JSContextRef context, JSObjectRef object, const char *name,
                     JSObjectCallAsFunctionCallback callback);
/* An exception of this kind with this message; yields undefined. */
JSValueRef js_throw(JSContextRef context, const char *constructor, const char *message,
                    JSValueRef *exception);

/* ---- syntax.c ---------------------------------------------------------------------------- */

/* The column, from 1, of what keeps this source from being parsed; 0 when it is not known. */
uint32_t js_syntax_column(JSContextRef context, const char *source, size_t length);

/* ---- files.c -------------------------------------------------------------------------------- */

/* Handles for descriptors, which they own from now on: an array, or undefined for none. */
JSValueRef js_files_make(struct engine *engine, const int *fds, unsigned nfds);
void js_files_register(JSContextRef context, JSObjectRef natives);

/* ---- encoding.c, platform.c ----------------------------------------------------------------- */

void js_encoding_register(JSContextRef context, JSObjectRef natives);
void js_platform_register(JSContextRef context, JSObjectRef natives);

#endif
