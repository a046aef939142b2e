/*
 * A fuzz target: any bytes into the JSON checker. What it accepts is walked to the last value, with
 * a slow grammar of its own beside it that must agree; what it refuses has its fault inside.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* ---- the grammar of RFC 8259, by recursion, one byte at a time ------------------------------ */

struct text {
    const uint8_t *at, *end;
};

static bool is(struct text *t, uint8_t byte)
{
    if (t->at == t->end || *t->at != byte)
        return false;
    t->at++;
    return true;
}

static void space(struct text *t)
{
    while (is(t, ' ') || is(t, '\t') || is(t, '\n') || is(t, '\r'))
        continue;
}

static bool word(struct text *t, const char *w)
{
    for (; *w; w++)
        if (!is(t, (uint8_t)*w))
            return false;
    return true;
}

static unsigned digits(struct text *t)
{
    unsigned count = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        count++;
    return count;
}

static bool number(struct text *t)
{
    is(t, '-');
    if (!is(t, '0') && !digits(t))
        return false;
    if (is(t, '.') && !digits(t))
        return false;
    if (is(t, 'e') || is(t, 'E')) {
        if (!is(t, '+'))
            is(t, '-');
        return digits(t) > 0;
    }
    return true;
}

static bool string(struct text *t)
{
    const uint8_t *start = t->at;
    if (!is(t, '"'))
        return false;
    while (!is(t, '"')) {
        if (t->at == t->end || *t->at < 0x20)
            return false;
        if (!is(t, '\\')) {
            t->at++;
        } else if (is(t, 'u')) {
            for (int i = 0; i < 4; i++, t->at++)
                if (t->at == t->end || !strchr("0123456789abcdefABCDEF", *t->at) || !*t->at)
                    return false;
        } else if (t->at == t->end || !*t->at || !strchr("\"\\/bfnrt", *t->at++)) {
            return false;
        }
    }
    return utf8_check((const char *)start, (size_t)(t->at - start));
}

static bool value(struct text *t, unsigned depth);

static bool container(struct text *t, unsigned depth, bool object)
{
    uint8_t close = object ? '}' : ']';
    t->at++;
    space(t);
    if (depth == WIRE_JSON_MAX_DEPTH)
        return false;
    if (is(t, close))
        return true;
    do {
        space(t);
        if (object) {
            if (!string(t))
                return false;
            space(t);
            if (!is(t, ':'))
                return false;
        }
        if (!value(t, depth + 1))
            return false;
    } while (is(t, ','));
    return is(t, close);
}

static bool value(struct text *t, unsigned depth)
{
    bool good;
    space(t);
    if (t->at == t->end)
        return false;
    switch (*t->at) {
    case '{':
    case '[':
        good = container(t, depth, *t->at == '{');
        break;
    case '"':
        good = string(t);
        break;
    case 't':
        good = word(t, "true");
        break;
    case 'f':
        good = word(t, "false");
        break;
    case 'n':
        good = word(t, "null");
        break;
    default:
        good = number(t);
    }
    space(t);
    return good;
}

/* ---- the walk ------------------------------------------------------------------------------- */

static void walk(struct json_value at_hand)
{
    struct json_value key = {.type = JSON_NULL}, inner;
    size_t at = 0;
    char room[64];
    int64_t integer;
    require(json_check(at_hand.text, at_hand.length, NULL));
    if (at_hand.type == JSON_STRING) {
        long got = json_string(at_hand, room, sizeof(room));
        require(got < (long)sizeof(room) && (got < 0 || utf8_check(room, (size_t)got)));
    }
    json_integer(at_hand, INT64_MIN, INT64_MAX, &integer);
    while (json_next(at_hand, &at, &key, &inner)) {
        require(at <= at_hand.length);
        if (at_hand.type == JSON_OBJECT)
            require(key.type == JSON_STRING && json_check(key.text, key.length, NULL));
        if (inner.type != JSON_ARRAY && inner.type != JSON_OBJECT)
            walk(inner);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct json_fault fault;
    struct json_value member;
    const char *text = (const char *)bytes;
    struct text t = {.at = bytes, .end = bytes + length};
    bool good = json_check(text, length, &fault);
    bool also = value(&t, 0) && t.at == t.end;
    require(good == also);
    if (!good) {
        require(fault.offset <= length && fault.line >= 1 && fault.column >= 1 && fault.what);
        /* The walk on a text that was never checked: any answer, but no byte outside. */
        size_t at = 0;
        struct json_value root = json_root(text, length);
        for (unsigned i = 0; i < 100 && json_next(root, &at, &member, &member); i++)
            continue;
        return 0;
    }
    struct json_value root = json_root(text, length);
    walk(root);
    json_member(root, "a", &member);
    return 0;
}
