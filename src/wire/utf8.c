/*
 * UTF-8, checked as Unicode 15 table 3-7 has it: no overlong forms, no surrogates, nothing above
 * U+10FFFF. Runs of ASCII, which most text is, go by sixteen bytes at a time.
 */
#include "wire/scan.h"

const char *utf8_step(const char *at, const char *end)
{
    const unsigned char *p = (const unsigned char *)at;
    size_t left = (size_t)(end - at);
    unsigned char lead = p[0];
    unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */
    size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead < 0xc2 || lead > 0xf4 || left < 2)
        return NULL;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return NULL;
    for (size_t i = 2; i < length; i++)
        if (i >= left || (p[i] & 0xc0) != 0x80)
            return NULL;
    return at + length;
}

bool utf8_check(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    while ((at = scan_ascii(at, end)) < end) {
        at = utf8_step(at, end);
        if (!at)
            return false;
    }
    return true;
}
