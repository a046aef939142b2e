/*
 * Randomness for the plugin: crypto.getRandomValues and randomUUID take it from the kernel.
 */
#include "helper/js/js.h"

#include <errno.h>
#include <sys/random.h>

/* random(bytes): fills a Uint8Array. */
static JSValueRef fill_random(JSContextRef context, JSObjectRef callee, JSObjectRef self,
                              size_t count, const JSValueRef arguments[], JSValueRef *exception)
{
    (void)callee, (void)self;
    if (!count ||
        JSValueGetTypedArrayType(context, arguments[0], NULL) != kJSTypedArrayTypeUint8Array)
        return js_throw(context, "TypeError", "bytes are needed", exception);
    JSObjectRef view = (JSObjectRef)arguments[0];
    uint8_t *bytes = JSObjectGetTypedArrayBytesPtr(context, view, exception);
    bytes += JSObjectGetTypedArrayByteOffset(context, view, NULL);
    size_t length = JSObjectGetTypedArrayByteLength(context, view, NULL), done = 0;
    while (done < length) {
        ssize_t got = getrandom(bytes + done, length - done, 0);
        if (got < 0 && errno != EINTR)
            return js_throw(context, "HostError", "the kernel has no randomness", exception);
        if (got > 0)
            done += (size_t)got;
    }
    return JSValueMakeUndefined(context);
}

void js_platform_register(JSContextRef context, JSObjectRef natives)
{
    js_set_function(context, natives, "random", fill_random);
}
