/* script.c: see script.h. */
#include "script.h"

#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* One character or escape of `*text`; -1 for an escape that is none. */
static int unescape(const char **text)
{
    static const char names[] = "nrte\\", bytes[] = "\n\r\t\033\\";
    const char *name;
    char c = *(*text)++;

    if (c != '\\')
        return (uint8_t)c;
    c = *(*text)++;
    if (c == 'x') {
        int high = hex((*text)[0]), low = high < 0 ? -1 : hex((*text)[1]);

        *text += 2;
        return low < 0 ? -1 : high * 16 + low;
    }
    name = c ? strchr(names, c) : NULL;
    return name ? (uint8_t)bytes[name - names] : -1;
}

static bool unescape_all(const char *text, char *to, size_t *length)
{
    for (*length = 0; *text; ++*length) {
        int byte = unescape(&text);

        if (byte < 0 || *length == SCRIPT_TEXT)
            return false;
        to[*length] = (char)byte;
    }
    return true;
}

bool script_until(struct script *script, const char *text)
{
    struct script_step *step = &script->step[script->count];

    if (script->count == SCRIPT_STEPS || !*text ||
        !unescape_all(text, step->until, &step->until_length))
        return false;
    script->count++;
    script->ends = true;
    return true;
}

/* Belongs to the text before it, if that has nothing to send yet. */
bool script_send(struct script *script, const char *text)
{
    struct script_step *step = script->count ? &script->step[script->count - 1] : NULL;

    if (!step || step->sends) {
        if (script->count == SCRIPT_STEPS)
            return false;
        step = &script->step[script->count++];
    }
    step->sends = true;
    script->ends = false;
    return unescape_all(text, step->send, &step->send_length);
}

const struct script_step *script_start(struct script *script)
{
    if (script->at < script->count && script->step[script->at].until_length == 0)
        return &script->step[script->at++];
    return NULL;
}

/* How much of the text is matched after one more byte: the longest end of what was seen that is
 * also its beginning. Texts are short and bytes few: tried from the longest down. */
static size_t advance(const struct script_step *step, uint8_t byte)
{
    for (size_t length = step->matched + 1; length > 0; length--) {
        size_t skipped = step->matched + 1 - length;

        if ((uint8_t)step->until[length - 1] == byte &&
            memcmp(step->until, step->until + skipped, length - 1) == 0)
            return length;
    }
    return 0;
}

const struct script_step *script_see(struct script *script, uint8_t byte)
{
    struct script_step *step = &script->step[script->at];

    if (script->at == script->count || step->until_length == 0)
        return NULL;
    step->matched = advance(step, byte);
    if (step->matched < step->until_length)
        return NULL;
    script->at++;
    return step;
}

bool script_over(const struct script *script)
{
    return script->count && script->ends && script->at == script->count;
}
