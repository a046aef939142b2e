/*
 * Is this text one JSON value? RFC 8259 to the letter, UTF-8 included, without recursion: a bit
 * for each open container says whether it is an object. What a guest sends is checked here before
 * anything else looks at it, so this is the speed at which results come in.
 */
#include "wire/scan.h"

struct checker {
    const char *end;
    const char *at;   /* where the fault is */
    const char *what; /* NULL: none */
    unsigned depth;
    uint8_t objects[WIRE_JSON_MAX_DEPTH / 8];
};

static const char *fail(struct checker *c, const char *at, const char *what)
{
    c->at = at;
    c->what = at < c->end ? what : "unexpected end of text";
    return NULL;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_hex(char byte)
{
    return is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
}

/* `at` is behind a backslash; where the escape ends. */
static const char *check_escape(struct checker *c, const char *at)
{
    if (at >= c->end)
        return fail(c, at, "");
    if (*at != 'u')
        return memchr("\"\\/bfnrt", *at, 8) ? at + 1 : fail(c, at, "unknown escape in a string");
    for (int i = 1; i <= 4; i++)
        if (at + i >= c->end || !is_hex(at[i]))
            return fail(c, at + i, "expected four hexadecimal digits");
    return at + 5;
}

/* `at` is behind the opening quote; where the string ends. */
static inline const char *check_string(struct checker *c, const char *at)
{
    for (;;) {
        at = scan_plain(at, c->end);
        if (at >= c->end)
            return fail(c, at, "");
        if (*at == '"')
            return at + 1;
        if (*at == '\\') {
            at = check_escape(c, at + 1);
            if (!at)
                return NULL;
        } else if ((unsigned char)*at < 0x20) {
            return fail(c, at, "control character in a string");
        } else {
            const char *next = utf8_step(at, c->end);
            if (!next)
                return fail(c, at, "malformed UTF-8 in a string");
            at = next;
        }
    }
}

static const char *check_digits(struct checker *c, const char *at)
{
    if (at >= c->end || !is_digit(*at))
        return fail(c, at, "expected a digit");
    while (at < c->end && is_digit(*at))
        at++;
    return at;
}

static const char *check_number(struct checker *c, const char *at)
{
    if (*at == '-')
        at++;
    if (at < c->end && *at == '0')
        at++;
    else
        at = check_digits(c, at);
    if (at && at < c->end && *at == '.')
        at = check_digits(c, at + 1);
    if (at && at < c->end && (*at | 0x20) == 'e') {
        at++;
        if (at < c->end && (*at == '+' || *at == '-'))
            at++;
        at = check_digits(c, at);
    }
    return at;
}

static const char *check_word(struct checker *c, const char *at, const char *word)
{
    for (; *word; word++, at++)
        if (at >= c->end || *at != *word)
            return fail(c, at, "expected true, false or null");
    return at;
}

/* A string, a number or a word. */
static inline const char *check_scalar(struct checker *c, const char *at)
{
    switch (*at) {
    case '"':
        return check_string(c, at + 1);
    case 't':
        return check_word(c, at, "true");
    case 'f':
        return check_word(c, at, "false");
    case 'n':
        return check_word(c, at, "null");
    default:
        if (*at == '-' || is_digit(*at))
            return check_number(c, at);
        return fail(c, at, "expected a value");
    }
}

static bool in_object(const struct checker *c)
{
    unsigned top = c->depth - 1;
    return c->objects[top / 8] >> (top % 8) & 1;
}

/* Opens a container. */
static bool push(struct checker *c, bool object)
{
    if (c->depth == WIRE_JSON_MAX_DEPTH)
        return false;
    uint8_t bit = (uint8_t)(1u << (c->depth % 8));
    uint8_t *byte = &c->objects[c->depth / 8];
    *byte = object ? *byte | bit : *byte & (uint8_t)~bit;
    c->depth++;
    return true;
}

/* A member's key and colon, white space before and after included; where its value starts. */
static inline const char *check_key(struct checker *c, const char *at)
{
    at = scan_space(at, c->end);
    if (at >= c->end || *at != '"')
        return fail(c, at, "expected a key in quotes");
    at = check_string(c, at + 1);
    if (!at)
        return NULL;
    at = scan_space(at, c->end);
    if (at >= c->end || *at != ':')
        return fail(c, at, "expected ':'");
    return scan_space(at + 1, c->end);
}

/*
 * Closes what ends here and passes the comma, until another value must follow. Where that value
 * starts, or NULL: at a fault, or, when the outermost value has ended, with `at` behind it.
 */
static inline const char *check_after(struct checker *c, const char *at)
{
    while (c->depth) {
        at = scan_space(at, c->end);
        bool object = in_object(c);
        if (at < c->end && *at == ',')
            return object ? check_key(c, at + 1) : scan_space(at + 1, c->end);
        if (at >= c->end || *at != (object ? '}' : ']'))
            return fail(c, at, object ? "expected ',' or '}'" : "expected ',' or ']'");
        c->depth--;
        at++;
    }
    c->at = at;
    return NULL;
}

/* Checks one value from `at` on; c->at is behind it, or at the fault. */
static void check_value(struct checker *c, const char *at)
{
    while (at) {
        if (at >= c->end) {
            fail(c, at, "");
            return;
        }
        char open = *at;
        if (open != '{' && open != '[') {
            at = check_scalar(c, at);
        } else {
            if (!push(c, open == '{')) {
                fail(c, at, "nested too deep");
                return;
            }
            at = scan_space(at + 1, c->end);
            if (at >= c->end || *at != (open == '{' ? '}' : ']')) {
                if (open == '{')
                    at = check_key(c, at);
                continue;
            }
        }
        if (at)
            at = check_after(c, at);
    }
}

void json_position(const char *text, size_t at, unsigned *line, unsigned *column)
{
    const char *start = text, *stop = text + at, *newline;
    *line = 1;
    while (start < stop && (newline = memchr(start, '\n', (size_t)(stop - start)))) {
        ++*line;
        start = newline + 1;
    }
    *column = (unsigned)(stop - start) + 1;
}

bool json_check(const char *text, size_t length, struct json_fault *fault)
{
    struct checker c = {.end = text + length};
    if (length >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        fail(&c, text, "byte order mark");
    } else {
        check_value(&c, scan_space(text, c.end));
        if (!c.what) {
            const char *rest = scan_space(c.at, c.end);
            if (rest < c.end)
                fail(&c, rest, "unexpected text after the value");
        }
    }
    if (!c.what)
        return true;
    if (fault) {
        fault->offset = (size_t)(c.at - text);
        fault->what = c.what;
        json_position(text, fault->offset, &fault->line, &fault->column);
    }
    return false;
}
