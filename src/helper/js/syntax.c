/*
 * Where a syntax error is. The engine tells the line and no column, so the line is searched: the
 * shortest beginning of the source that fails in the same way ends with the token that is wrong.
 */
#include "helper/js/js.h"

#include <stdlib.h>
#include <string.h>

struct search {
    JSContextRef context;
    const char *source;
    size_t length;
    char *message; /* that the whole source fails with */
    uint32_t line;
};

static char *text_of(JSContextRef context, JSValueRef value)
{
    JSStringRef text = JSValueToStringCopy(context, value, NULL);
    if (!text)
        return NULL;
    struct js_buffer buffer = {0};
    bool done = js_text_out(text, &buffer) && js_buffer_reserve(&buffer, 1);
    JSStringRelease(text);
    if (!done) {
        js_buffer_finish(&buffer);
        return NULL;
    }
    buffer.bytes[buffer.length] = 0;
    return buffer.bytes;
}

/* What is wrong with the first bytes of the source: its message and line, or NULL. */
static char *check(const struct search *search, size_t length, uint32_t *line)
{
    JSStringRef part = js_text_in(search->source, length);
    JSValueRef exception = NULL;
    if (!part)
        return NULL;
    bool sound = JSCheckScriptSyntax(search->context, part, NULL, 1, &exception);
    JSStringRelease(part);
    if (sound || !exception || !JSValueIsObject(search->context, exception))
        return NULL;
    JSStringRef key = JSStringCreateWithUTF8CString("line");
    JSValueRef value = JSObjectGetProperty(search->context, (JSObjectRef)exception, key, NULL);
    JSStringRelease(key);
    double number = JSValueToNumber(search->context, value, NULL);
    *line = number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
    return text_of(search->context, exception);
}

static bool fails_alike(const struct search *search, size_t length)
{
    uint32_t line = 0;
    char *message = check(search, length, &line);
    bool alike = message && line == search->line && strcmp(message, search->message) == 0;
    free(message);
    return alike;
}

static size_t line_start(const char *source, size_t length, uint32_t line)
{
    size_t at = 0;
    for (uint32_t here = 1; here < line; here++) {
        const char *end = memchr(source + at, '\n', length - at);
        if (!end)
            return length;
        at = (size_t)(end - source) + 1;
    }
    return at;
}

static bool inside_character(char byte)
{
    return ((uint8_t)byte & 0xc0) == 0x80;
}

/* The token that the message quotes, when the beginning found ends with it. */
static size_t token_length(const struct search *search, size_t end)
{
    const char *open = strchr(search->message, '\''), *close = open ? strchr(open + 1, '\'') : NULL;
    if (!close)
        return 1;
    size_t length = (size_t)(close - open) - 1;
    bool is_there =
        length && length <= end && memcmp(search->source + end - length, open + 1, length) == 0;
    return is_there ? length : 1;
}

uint32_t js_syntax_column(JSContextRef context, const char *source, size_t length)
{
    struct search search = {.context = context, .source = source, .length = length};
    search.message = check(&search, length, &search.line);
    if (!search.message || !search.line) {
        free(search.message);
        return 0;
    }
    size_t start = line_start(source, length, search.line);
    const char *newline = memchr(source + start, '\n', length - start);
    size_t low = start, high = newline ? (size_t)(newline - source) : length;
    /* What is missing is missing at the end, and from many a shorter beginning too. */
    if (strstr(search.message, "end of script"))
        low = high = high + 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        while (middle > low && inside_character(source[middle]))
            middle--;
        if (fails_alike(&search, middle)) {
            high = middle;
            continue;
        }
        for (low = middle + 1; low < high && inside_character(source[low]);)
            low++;
    }
    size_t first = low > start ? low - token_length(&search, low) : start;
    free(search.message);
    uint32_t column = 1;
    for (size_t at = start; at < first && at < length; at++)
        if (!inside_character(source[at])) /* in UTF-16 units, as the engine counts */
            column += (uint8_t)source[at] >= 0xf0 ? 2 : 1;
    return column;
}
