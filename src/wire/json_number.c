/*
 * Integers of JSON, exactly: 1, 1.0, 10e-1 and 0.001e3 are all the number one, 1.5 is none, and
 * nothing goes by way of a double, which would round above 2^53.
 */
#include "wire/json.h"

#define FAR 1000000 /* no exponent beyond it makes an integer of 64 bits, unless it is zero */

struct parts {
    bool negative;
    const char *digits; /* of the mantissa, with the point among them */
    size_t length;
    long exponent; /* as written, clamped */
};

static struct parts split(struct json_value number)
{
    const char *at = number.text, *end = number.text + number.length;
    struct parts parts = {0};
    if (at < end && *at == '-') {
        parts.negative = true;
        at++;
    }
    parts.digits = at;
    while (at < end && (*at == '.' || (*at >= '0' && *at <= '9')))
        at++;
    parts.length = (size_t)(at - parts.digits);
    if (at < end)
        at++; /* the e */
    bool minus = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        if (parts.exponent < FAR)
            parts.exponent = parts.exponent * 10 + (*at - '0');
    if (minus)
        parts.exponent = -parts.exponent;
    return parts;
}

/* value * 10 + digit, or false where it does not fit. */
static bool append(uint64_t *value, unsigned digit)
{
    return !__builtin_mul_overflow(*value, (uint64_t)10, value) &&
           !__builtin_add_overflow(*value, (uint64_t)digit, value);
}

/* The magnitude of an integer, or false where it has a fraction or is too large. */
static bool magnitude(const struct parts *parts, uint64_t *out)
{
    long place = parts->exponent; /* the power of ten of the last digit taken */
    long zeros = 0;               /* taken, but not yet counted in */
    bool behind_point = false;
    *out = 0;
    for (size_t i = 0; i < parts->length; i++) {
        if (parts->digits[i] == '.') {
            behind_point = true;
            continue;
        }
        place -= behind_point;
        if (parts->digits[i] == '0') {
            zeros += *out != 0;
            continue;
        }
        for (; zeros; zeros--)
            if (!append(out, 0))
                return false;
        if (!append(out, (unsigned)(parts->digits[i] - '0')))
            return false;
    }
    place += zeros; /* of the last digit that is not zero */
    if (*out == 0)
        return true;
    if (place < 0)
        return false;
    for (; place; place--)
        if (!append(out, 0))
            return false;
    return true;
}

bool json_integer(struct json_value number, int64_t min, int64_t max, int64_t *out)
{
    if (number.type != JSON_NUMBER)
        return false;
    struct parts parts = split(number);
    uint64_t size;
    int64_t value;
    if (!magnitude(&parts, &size) || size > (uint64_t)INT64_MAX + parts.negative)
        return false;
    value = parts.negative ? (int64_t)(0 - size) : (int64_t)size;
    if (value < min || value > max)
        return false;
    *out = value;
    return true;
}
