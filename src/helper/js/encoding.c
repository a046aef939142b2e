/*
 * Bytes and text for the plugin itself: what TextEncoder, TextDecoder, atob and btoa stand on.
 *
 * The decoder is the Encoding Standard's for UTF-8
 * (https://encoding.spec.whatwg.org/#utf-8-decoder): each maximal part of a bad sequence becomes
 * one U+FFFD. The labels and options are encoding.js's.
 */
#include "helper/js/js.h"

#include <stdlib.h>
#include <string.h>

/* What the decoder expects next: none when needed is 0. */
struct sequence {
    uint32_t point;
    unsigned needed, seen;
    uint8_t lower, upper;
};

static void sequence_start(struct sequence *sequence, uint8_t byte)
{
    sequence->lower = byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80;
    sequence->upper = byte == 0xed ? 0x9f : byte == 0xf4 ? 0x8f : 0xbf;
    sequence->seen = 0;
    sequence->needed = byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    sequence->point = byte & (0x3fu >> sequence->needed);
}

static JSChar *put_point(JSChar *out, uint32_t point)
{
    if (point >= 0x10000) {
        *out++ = (JSChar)(0xd7c0 + (point >> 10));
        point = 0xdc00 | (point & 0x3ff);
    }
    *out++ = (JSChar)point;
    return out;
}

struct decoded {
    size_t characters; /* written */
    size_t left;       /* bytes of a sequence that the end cut off, when more may come */
    bool malformed;
};

/* `out` has room for `length` characters and one. */
static struct decoded decode(const uint8_t *in, size_t length, bool more, JSChar *out)
{
    struct sequence sequence = {0};
    struct decoded decoded = {0};
    JSChar *start = out;
    for (size_t at = 0; at < length; at++) {
        uint8_t byte = in[at];
        if (sequence.needed == 0) {
            if (byte < 0x80) {
                *out++ = byte;
            } else if (byte >= 0xc2 && byte <= 0xf4) {
                sequence_start(&sequence, byte);
            } else {
                decoded.malformed = true;
                *out++ = 0xfffd;
            }
            continue;
        }
        if (byte < sequence.lower || byte > sequence.upper) {
            decoded.malformed = true;
            *out++ = 0xfffd;
            sequence.needed = 0;
            at--; /* it may begin something of its own */
            continue;
        }
        sequence.lower = 0x80;
        sequence.upper = 0xbf;
        sequence.point = sequence.point << 6 | (byte & 0x3f);
        if (++sequence.seen == sequence.needed) {
            out = put_point(out, sequence.point);
            sequence.needed = 0;
        }
    }
    if (sequence.needed && more) {
        decoded.left = sequence.seen + 1;
    } else if (sequence.needed) {
        decoded.malformed = true;
        *out++ = 0xfffd;
    }
    decoded.characters = (size_t)(out - start);
    return decoded;
}

JSStringRef js_text_decode(const char *bytes, size_t length)
{
    JSChar *characters = malloc((length + 1) * sizeof(*characters));
    if (!characters)
        return JSStringCreateWithUTF8CString("");
    struct decoded decoded = decode((const uint8_t *)bytes, length, false, characters);
    JSStringRef text = JSStringCreateWithCharacters(characters, decoded.characters);
    free(characters);
    return text;
}

#define NATIVE(name)                                                                               \
    static JSValueRef name(JSContextRef context, JSObjectRef callee, JSObjectRef self,             \
                           size_t count, const JSValueRef arguments[], JSValueRef *exception)
#define UNUSED_NATIVE (void)callee, (void)self

struct view {
    JSObjectRef object;
    const uint8_t *bytes;
    size_t length;
};

/* The bytes of a Uint8Array, which is what encoding.js makes of every kind of view. */
static bool view_of(JSContextRef context, JSValueRef value, struct view *view)
{
    if (JSValueGetTypedArrayType(context, value, NULL) != kJSTypedArrayTypeUint8Array)
        return false;
    view->object = (JSObjectRef)value;
    const uint8_t *start = JSObjectGetTypedArrayBytesPtr(context, view->object, NULL);
    view->bytes = start + JSObjectGetTypedArrayByteOffset(context, view->object, NULL);
    view->length = JSObjectGetTypedArrayByteLength(context, view->object, NULL);
    return true;
}

/*
 * utf8Decode(bytes, more, fatal, left): text. left(n) is told of how many bytes at the end belong
 * to a sequence that is not whole; null in place of text means malformed and fatal.
 */
NATIVE(utf8_decode)
{
    UNUSED_NATIVE;
    struct view view;
    if (count < 4 || !view_of(context, arguments[0], &view))
        return js_throw(context, "TypeError", "bytes are needed", exception);
    JSChar *characters = malloc((view.length + 1) * sizeof(*characters));
    if (!characters)
        return js_throw(context, "RangeError", "no memory for the text", exception);
    struct decoded decoded =
        decode(view.bytes, view.length, JSValueToBoolean(context, arguments[1]), characters);
    JSValueRef text = JSValueMakeNull(context);
    if (!decoded.malformed || !JSValueToBoolean(context, arguments[2])) {
        JSStringRef string = JSStringCreateWithCharacters(characters, decoded.characters);
        text = JSValueMakeString(context, string);
        JSStringRelease(string);
    }
    free(characters);
    if (decoded.left) {
        JSValueRef left = JSValueMakeNumber(context, (double)decoded.left);
        JSObjectCallAsFunction(context, JSValueToObject(context, arguments[3], NULL), NULL, 1,
                               &left, exception);
    }
    return text;
}

static void free_bytes(void *bytes, void *unused)
{
    (void)unused;
    free(bytes);
}

/* utf8Encode(text): a new Uint8Array. */
NATIVE(utf8_encode)
{
    UNUSED_NATIVE;
    JSStringRef text = count ? JSValueToStringCopy(context, arguments[0], exception) : NULL;
    if (!text)
        return JSValueMakeUndefined(context);
    struct js_buffer buffer = {0};
    bool done = js_text_out(text, &buffer);
    JSStringRelease(text);
    if (!done)
        return js_throw(context, "RangeError", "no memory for the bytes", exception);
    return JSObjectMakeTypedArrayWithBytesNoCopy(context, kJSTypedArrayTypeUint8Array, buffer.bytes,
                                                 buffer.length, free_bytes, NULL, exception);
}

/*
 * utf8EncodeInto(text, bytes): how many were written, only whole characters; read(n) is told of
 * how many UTF-16 units they were.
 */
NATIVE(utf8_encode_into)
{
    UNUSED_NATIVE;
    struct view view;
    JSStringRef text = count >= 3 ? JSValueToStringCopy(context, arguments[0], exception) : NULL;
    if (!text || !view_of(context, arguments[1], &view)) {
        if (text)
            JSStringRelease(text);
        return js_throw(context, "TypeError", "text and bytes are needed", exception);
    }
    const JSChar *characters = JSStringGetCharactersPtr(text);
    size_t length = JSStringGetLength(text), at = 0, written = 0;
    struct js_buffer one = {0};
    while (at < length) {
        bool pair = (characters[at] & 0xfc00) == 0xd800 && at + 1 < length &&
                    (characters[at + 1] & 0xfc00) == 0xdc00;
        one.length = 0;
        if (!js_utf16_out(characters + at, pair ? 2 : 1, &one) ||
            one.length > view.length - written)
            break;
        memcpy((uint8_t *)(uintptr_t)view.bytes + written, one.bytes, one.length);
        written += one.length;
        at += pair ? 2 : 1;
    }
    js_buffer_finish(&one);
    JSStringRelease(text);
    JSValueRef read = JSValueMakeNumber(context, (double)at);
    JSObjectCallAsFunction(context, JSValueToObject(context, arguments[2], NULL), NULL, 1, &read,
                           exception);
    return JSValueMakeNumber(context, (double)written);
}

void js_encoding_register(JSContextRef context, JSObjectRef natives)
{
    js_set_function(context, natives, "utf8Decode", utf8_decode);
    js_set_function(context, natives, "utf8Encode", utf8_encode);
    js_set_function(context, natives, "utf8EncodeInto", utf8_encode_into);
}
