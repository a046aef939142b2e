/*
 * Reads, prints and compares addresses and ranges. Written out rather than left to inet_pton and
 * getaddrinfo: what is granted must not depend on how liberal a libc happens to be.
 */
#include "wire/address.h"

#include <stdio.h>
#include <string.h>

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool wire_address_is_v4(const struct wire_address *address)
{
    return memcmp(address->bytes, mapped_prefix, sizeof mapped_prefix) == 0;
}

struct wire_address wire_address_from_v4(const uint8_t bytes[4])
{
    struct wire_address address;
    memcpy(address.bytes, mapped_prefix, sizeof mapped_prefix);
    memcpy(address.bytes + 12, bytes, 4);
    return address;
}

/* Up to three decimal digits without a leading zero, at most `max`; moves *text behind them. */
static bool take_decimal(const char **text, const char *end, unsigned max, unsigned *out)
{
    const char *start = *text;
    unsigned value = 0;
    while (*text < end && *text - start < 3 && **text >= '0' && **text <= '9')
        value = value * 10 + (unsigned)(*(*text)++ - '0');
    if (*text == start || value > max || (*start == '0' && *text - start > 1))
        return false;
    *out = value;
    return true;
}

static bool parse_v4(const char *text, const char *end, uint8_t out[4])
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned value;
        if (i > 0 && (text == end || *text++ != '.'))
            return false;
        if (!take_decimal(&text, end, 255, &value))
            return false;
        out[i] = (uint8_t)value;
    }
    return text == end;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The words of one side of "::" into `bytes`; the number of bytes, or -1. */
static int parse_words(const char *text, const char *end, uint8_t bytes[16], bool v4_may_end)
{
    int count = 0;
    while (text < end) {
        const char *word = text;
        unsigned value = 0;
        int digits = 0;
        if (count > 14)
            return -1;
        while (text < end && hex_digit(*text) >= 0 && digits < 5) {
            value = value << 4 | (unsigned)hex_digit(*text++);
            digits++;
        }
        if (text < end && *text == '.') {
            if (!v4_may_end || count > 12 || !parse_v4(word, end, bytes + count))
                return -1;
            return count + 4;
        }
        if (digits == 0 || digits > 4)
            return -1;
        bytes[count++] = (uint8_t)(value >> 8);
        bytes[count++] = (uint8_t)value;
        if (text == end)
            break;
        if (*text++ != ':' || text == end)
            return -1;
    }
    return count;
}

static const char *find_gap(const char *text, const char *end)
{
    for (; text + 1 < end; text++)
        if (text[0] == ':' && text[1] == ':')
            return text;
    return NULL;
}

static bool parse_v6(const char *text, const char *end, struct wire_address *out)
{
    uint8_t head[16], tail[16];
    const char *gap = find_gap(text, end);
    if (!gap) {
        if (parse_words(text, end, head, true) != 16)
            return false;
        memcpy(out->bytes, head, 16);
        return true;
    }
    int before = parse_words(text, gap, head, false);
    int after = parse_words(gap + 2, end, tail, true);
    if (before < 0 || after < 0 || before + after > 14)
        return false;
    memset(out->bytes, 0, 16);
    memcpy(out->bytes, head, (size_t)before);
    memcpy(out->bytes + 16 - after, tail, (size_t)after);
    return true;
}

bool wire_address_parse(const char *text, size_t length, struct wire_address *out)
{
    uint8_t v4[4];
    struct wire_address address;
    if (length >= WIRE_ADDRESS_TEXT)
        return false;
    if (memchr(text, ':', length)) {
        if (!parse_v6(text, text + length, &address))
            return false;
        *out = address;
        return true;
    }
    if (!parse_v4(text, text + length, v4))
        return false;
    *out = wire_address_from_v4(v4);
    return true;
}

/* The longest run of two or more zero words: where RFC 5952 puts the "::". 8 when there is none. */
static unsigned longest_gap(const unsigned words[8], unsigned *length)
{
    unsigned best = 8, best_length = 1;
    for (unsigned i = 0; i < 8; i++) {
        unsigned n = 0;
        while (i + n < 8 && words[i + n] == 0)
            n++;
        if (n > best_length) {
            best = i;
            best_length = n;
        }
    }
    *length = best_length;
    return best;
}

size_t wire_address_print(const struct wire_address *address, char out[WIRE_ADDRESS_TEXT])
{
    const uint8_t *b = address->bytes;
    unsigned words[8], gap_length, at = 0;
    if (wire_address_is_v4(address))
        return (size_t)snprintf(out, WIRE_ADDRESS_TEXT, "%u.%u.%u.%u", b[12], b[13], b[14], b[15]);
    for (unsigned i = 0; i < 8; i++)
        words[i] = (unsigned)b[2 * i] << 8 | b[2 * i + 1];
    unsigned gap = longest_gap(words, &gap_length);
    for (unsigned i = 0; i < 8; i++) {
        if (i == gap) {
            at += (unsigned)snprintf(out + at, WIRE_ADDRESS_TEXT - at, "::");
            i += gap_length - 1;
            continue;
        }
        const char *colon = i > 0 && out[at - 1] != ':' ? ":" : "";
        at += (unsigned)snprintf(out + at, WIRE_ADDRESS_TEXT - at, "%s%x", colon, words[i]);
    }
    return at;
}

bool wire_range_holds(const struct wire_range *range, const struct wire_address *address)
{
    unsigned whole = range->bits / 8, rest = range->bits % 8;
    if (memcmp(range->base.bytes, address->bytes, whole) != 0)
        return false;
    if (rest == 0)
        return true;
    return ((range->base.bytes[whole] ^ address->bytes[whole]) & (0xff00u >> rest) & 0xff) == 0;
}

bool wire_range_within(const struct wire_range *inner, const struct wire_range *outer)
{
    return inner->bits >= outer->bits && wire_range_holds(outer, &inner->base);
}

static bool behind_is_zero(const struct wire_range *range)
{
    for (unsigned bit = range->bits; bit < 128; bit++)
        if (range->base.bytes[bit / 8] & (0x80u >> bit % 8))
            return false;
    return true;
}

bool wire_range_parse(const char *text, size_t length, struct wire_range *out)
{
    struct wire_range range;
    unsigned bits;
    const char *end = text + length;
    const char *slash = memchr(text, '/', length);
    size_t address_length = slash ? (size_t)(slash - text) : length;
    bool v4_text = !memchr(text, ':', address_length);
    unsigned max = v4_text ? 32 : 128;
    if (!wire_address_parse(text, address_length, &range.base))
        return false;
    bits = max;
    if (slash) {
        const char *digits = slash + 1;
        if (!take_decimal(&digits, end, max, &bits) || digits != end)
            return false;
    }
    range.bits = (uint8_t)(v4_text ? bits + 96 : bits);
    if (!behind_is_zero(&range))
        return false;
    *out = range;
    return true;
}

size_t wire_range_print(const struct wire_range *range, char out[WIRE_RANGE_TEXT])
{
    /* A range wider than the mapped prefix is no IPv4 range, even when its base prints as one. */
    bool v4 = range->bits >= 96 && wire_address_is_v4(&range->base);
    size_t at = wire_address_print(&range->base, out);
    unsigned bits = v4 ? range->bits - 96u : range->bits;
    if (bits == (v4 ? 32 : 128))
        return at;
    return at + (size_t)snprintf(out + at, WIRE_RANGE_TEXT - at, "/%u", bits);
}
