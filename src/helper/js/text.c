/*
 * How text crosses between the wire (UTF-8) and the engine (Latin-1 or UTF-16 inside).
 *
 * This is most of what a round trip costs, so the plain cases go sixteen bytes at a time.
 * docs/performance.md, "The plugin's round trip", tells what else was tried.
 */
#include "helper/js/js.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#define KEEP_BYTES (1u << 20) /* a buffer that held more gives it back */

bool js_buffer_reserve(struct js_buffer *buffer, size_t more)
{
    size_t wanted = buffer->length + more;
    if (wanted <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity < wanted)
        capacity *= 2;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return false;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

void js_buffer_finish(struct js_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct js_buffer){0};
}

void js_buffer_cut(struct js_buffer *buffer, size_t most)
{
    if (buffer->length <= most)
        return;
    while (most > 0 && ((uint8_t)buffer->bytes[most] & 0xc0) == 0x80)
        most--;
    buffer->length = most;
}

/* How many of the first characters are ASCII; writes them. */
static size_t ascii_out(const JSChar *text, size_t length, char *out)
{
    size_t at = 0;
#if defined(__SSE2__)
    const __m128i above = _mm_set1_epi16((short)0xff80);
    for (; at + 16 <= length; at += 16) {
        __m128i low = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i high = _mm_loadu_si128((const __m128i *)(text + at + 8));
        __m128i rest = _mm_and_si128(_mm_or_si128(low, high), above);
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(rest, _mm_setzero_si128())) != 0xffff)
            break;
        _mm_storeu_si128((__m128i *)(out + at), _mm_packus_epi16(low, high));
    }
#endif
    for (; at < length && text[at] < 0x80; at++)
        out[at] = (char)text[at];
    return at;
}

static size_t character_out(const JSChar *text, size_t left, char **out)
{
    uint32_t c = text[0];
    size_t used = 1;
    if ((c & 0xf800) == 0xd800) {
        if (c < 0xdc00 && left > 1 && (text[1] & 0xfc00) == 0xdc00) {
            c = 0x10000 + ((c & 0x3ff) << 10) + (text[1] & 0x3ff);
            used = 2;
        } else {
            c = 0xfffd;
        }
    }
    char *at = *out;
    if (c < 0x800) {
        *at++ = (char)(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            *at++ = (char)(0xe0 | c >> 12);
        } else {
            *at++ = (char)(0xf0 | c >> 18);
            *at++ = (char)(0x80 | (c >> 12 & 0x3f));
        }
        *at++ = (char)(0x80 | (c >> 6 & 0x3f));
    }
    *at++ = (char)(0x80 | (c & 0x3f));
    *out = at;
    return used;
}

bool js_utf16_out(const JSChar *text, size_t length, struct js_buffer *buffer)
{
    if (!js_buffer_reserve(buffer, 3 * length + 1))
        return false;
    char *out = buffer->bytes + buffer->length;
    for (size_t at = 0; at < length;) {
        size_t plain = ascii_out(text + at, length - at, out);
        at += plain;
        out += plain;
        while (at < length && text[at] >= 0x80)
            at += character_out(text + at, length - at, &out);
    }
    buffer->length = (size_t)(out - buffer->bytes);
    return true;
}

bool js_text_out(JSStringRef text, struct js_buffer *buffer)
{
    buffer->length = 0;
    if (buffer->capacity > KEEP_BYTES)
        js_buffer_finish(buffer);
    return js_utf16_out(JSStringGetCharactersPtr(text), JSStringGetLength(text), buffer);
}

/* ---- in -------------------------------------------------------------------------------- */

/* How many of the first bytes are ASCII; writes them. */
static size_t ascii_in(const uint8_t *in, size_t length, JSChar *out)
{
    size_t at = 0;
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    for (; at + 16 <= length; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(in + at));
        if (_mm_movemask_epi8(bytes))
            break;
        _mm_storeu_si128((__m128i *)(out + at), _mm_unpacklo_epi8(bytes, zero));
        _mm_storeu_si128((__m128i *)(out + at + 8), _mm_unpackhi_epi8(bytes, zero));
    }
#endif
    for (; at < length && in[at] < 0x80; at++)
        out[at] = in[at];
    return at;
}

/* One character of two bytes or more, known to be well-formed; its length in bytes. */
static size_t character_in(const uint8_t *in, JSChar **out)
{
    if (in[0] < 0xe0) {
        *(*out)++ = (JSChar)((in[0] & 0x1f) << 6 | (in[1] & 0x3f));
        return 2;
    }
    if (in[0] < 0xf0) {
        *(*out)++ = (JSChar)((in[0] & 0x0f) << 12 | (in[1] & 0x3f) << 6 | (in[2] & 0x3f));
        return 3;
    }
    uint32_t c =
        (in[0] & 0x07u) << 18 | (in[1] & 0x3fu) << 12 | (in[2] & 0x3fu) << 6 | (in[3] & 0x3fu);
    *(*out)++ = (JSChar)(0xd7c0 + (c >> 10));
    *(*out)++ = (JSChar)(0xdc00 | (c & 0x3ff));
    return 4;
}

/* `out` has room for `length` characters; the text is well-formed. */
static size_t widen(const uint8_t *in, size_t length, JSChar *out)
{
    JSChar *start = out;
    for (size_t at = 0; at < length;) {
        size_t plain = ascii_in(in + at, length - at, out);
        at += plain;
        out += plain;
        while (at < length && in[at] >= 0x80)
            at += character_in(in + at, &out);
    }
    return (size_t)(out - start);
}

/* Where texts are widened. Kept: a new one for every call would be new pages for every call. */
static struct js_buffer wide_buffer;

/* A text that is not UTF-8 comes out empty, as from the engine's own conversion: no JSON. */
static JSStringRef wide(const char *bytes, size_t length)
{
    if (!utf8_check(bytes, length))
        return JSStringCreateWithUTF8CString("");
    wide_buffer.length = 0;
    if (wide_buffer.capacity > KEEP_BYTES && length < KEEP_BYTES / sizeof(JSChar))
        js_buffer_finish(&wide_buffer);
    if (!js_buffer_reserve(&wide_buffer, (length + 1) * sizeof(JSChar)))
        return NULL;
    JSChar *characters = (JSChar *)(void *)wide_buffer.bytes;
    return JSStringCreateWithCharacters(characters,
                                        widen((const uint8_t *)bytes, length, characters));
}

/*
 * Short texts as the engine likes them best, one byte a character; long ones as UTF-16, because its
 * own decoder takes as long for a text as its JSON parser does.
 */
JSStringRef js_text_in(const char *bytes, size_t length)
{
    char small[65];
    if (length >= sizeof(small) || (length && memchr(bytes, 0, length)))
        return wide(bytes, length);
    if (length)
        memcpy(small, bytes, length);
    small[length] = 0;
    return JSStringCreateWithUTF8CString(small);
}

JSValueRef js_value_text(JSContextRef context, const char *bytes, size_t length)
{
    JSStringRef text = js_text_in(bytes, length);
    if (!text)
        return JSValueMakeUndefined(context);
    JSValueRef value = JSValueMakeString(context, text);
    JSStringRelease(text);
    return value;
}

/* ---- looking at JSON ------------------------------------------------------------------------ */

/* How deep a text that JSON.stringify made is nested. */
static unsigned depth_of(const char *json, size_t length)
{
    unsigned depth = 0, deepest = 0;
    for (size_t at = 0; at < length; at++) {
        char c = json[at];
        if (c == '"') {
            for (at++; at < length && json[at] != '"'; at++)
                if (json[at] == '\\')
                    at++;
        } else if (c == '[' || c == '{') {
            deepest = ++depth > deepest ? depth : deepest;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return deepest;
}

/*
 * Most results have few brackets and no {} in them, which is seen at a glance: as many openings as
 * would be too deep are counted before anyone counts the depth.
 */
struct js_json_shape js_json_shape(const char *json, size_t length)
{
    struct js_json_shape shape = {0};
    size_t openings = 0, at = 0;
#if defined(__SSE2__)
    const __m128i brace = _mm_set1_epi8('{'), bracket = _mm_set1_epi8('['),
                  closing = _mm_set1_epi8('}');
    for (; at + 17 <= length; at += 16) {
        __m128i here = _mm_loadu_si128((const __m128i *)(json + at));
        __m128i next = _mm_loadu_si128((const __m128i *)(json + at + 1));
        unsigned braces = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, brace));
        unsigned brackets = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(here, bracket));
        if (!(braces | brackets))
            continue;
        openings += (unsigned)__builtin_popcount(braces | brackets);
        if (braces & (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(next, closing)))
            shape.has_empty_object = true;
    }
#endif
    for (; at < length; at++) {
        openings += json[at] == '{' || json[at] == '[';
        if (json[at] == '{' && at + 1 < length && json[at + 1] == '}')
            shape.has_empty_object = true;
    }
    if (openings > WIRE_JSON_MAX_DEPTH)
        shape.too_deep = depth_of(json, length) > WIRE_JSON_MAX_DEPTH;
    return shape;
}
