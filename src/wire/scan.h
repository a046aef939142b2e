/*
 * The inner loops of the text checkers: how far a run of uninteresting bytes goes. Sixteen bytes
 * at a time where SSE2 is there, else eight in a word, and byte by byte at the end.
 */
#ifndef HALTER_WIRE_SCAN_H
#define HALTER_WIRE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

#include "wire/json.h"

#define SCAN_ONES  0x0101010101010101u
#define SCAN_HIGHS 0x8080808080808080u

/* One character of more than one byte: where it ends, or NULL when it is malformed. */
const char *utf8_step(const char *at, const char *end);

static inline uint64_t scan_load(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Where a byte above 0x7f comes, or the end. */
static inline const char *scan_ascii(const char *at, const char *end)
{
#if defined(__SSE2__)
    for (; end - at >= 16; at += 16) {
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)at));
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (end - at >= 8 && !(scan_load(at) & SCAN_HIGHS))
        at += 8;
    while (at < end && (unsigned char)*at < 0x80)
        at++;
    return at;
}

/* Bytes of a string that need no look: all but quote, backslash, controls and non-ASCII. */
static inline bool scan_is_plain(char byte)
{
    return (signed char)byte >= 0x20 && byte != '"' && byte != '\\';
}

/* A word has a byte that is not plain. False alarms are allowed: the byte loop then decides. */
static inline bool scan_word_special(uint64_t word)
{
    uint64_t quote = word ^ (SCAN_ONES * '"'), slash = word ^ (SCAN_ONES * '\\');
    uint64_t zero_quote = (quote - SCAN_ONES) & ~quote;
    uint64_t zero_slash = (slash - SCAN_ONES) & ~slash;
    uint64_t control = word - SCAN_ONES * 0x20;
    return ((zero_quote | zero_slash | control | word) & SCAN_HIGHS) != 0;
}

/* Where the next byte of a string that is not plain comes, or the end. */
static inline const char *scan_plain(const char *at, const char *end)
{
#if defined(__SSE2__)
    const __m128i space = _mm_set1_epi8(0x20), quote = _mm_set1_epi8('"'),
                  slash = _mm_set1_epi8('\\');
    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        /* Signed: bytes above 0x7f are below the space as the controls are. */
        __m128i special =
            _mm_or_si128(_mm_cmplt_epi8(bytes, space),
                         _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(special);
        if (mask)
            return at + __builtin_ctz(mask);
    }
#endif
    while (end - at >= 8 && !scan_word_special(scan_load(at)))
        at += 8;
    while (at < end && scan_is_plain(*at))
        at++;
    return at;
}

static inline bool scan_is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* Past white space. Most tokens have none before them; indented text has long runs of it. */
static inline const char *scan_space(const char *at, const char *end)
{
    if (at < end && (unsigned char)*at > ' ')
        return at;
    for (;;) {
        while (end - at >= 8 && scan_load(at) == SCAN_ONES * ' ')
            at += 8;
        if (at >= end || !scan_is_space(*at))
            return at;
        at++;
    }
}

#endif
