/* text.c: see text.h. */
#include "text.h"

struct text text_init(char *bytes, size_t size)
{
    if (size > 0)
        bytes[0] = '\0';
    return (struct text){.bytes = bytes, .size = size};
}

void text_add_char(struct text *text, char c)
{
    if (text->used + 1 >= text->size)
        return;
    text->bytes[text->used++] = c;
    text->bytes[text->used] = '\0';
}

void text_add(struct text *text, const char *string)
{
    while (*string)
        text_add_char(text, *string++);
}

static void add_number(struct text *text, uint64_t value, unsigned base, unsigned digits)
{
    char reversed[20];
    unsigned count = 0;

    do {
        reversed[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (digits-- > count)
        text_add_char(text, '0');
    while (count)
        text_add_char(text, reversed[--count]);
}

void text_add_decimal(struct text *text, uint64_t value)
{
    add_number(text, value, 10, 1);
}

void text_add_hex(struct text *text, uint64_t value, unsigned digits)
{
    add_number(text, value, 16, digits);
}
