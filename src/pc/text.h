/* text.h: lines for people, put together without a C library.
 *
 * A text never overflows: what does not fit is cut, and it is always terminated. */
#ifndef PC_TEXT_H
#define PC_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct text {
    char *bytes;
    size_t size, used; /* `used` without the NUL */
};

#define TEXT(array) text_init((array), sizeof(array))

struct text text_init(char *bytes, size_t size);
void text_add(struct text *text, const char *string);
void text_add_char(struct text *text, char c);
void text_add_decimal(struct text *text, uint64_t value);
void text_add_hex(struct text *text, uint64_t value, unsigned digits); /* at least that many */

#endif
