/* libc.c: the functions of string.h, which are all of a C library that the machine needs.
 *
 * memcpy, memmove and memset become the bulk memory instructions, which an engine runs as fast as
 * anything; the compiler must not turn them into calls of themselves (-fno-builtin). */
#define HALTER_WASM_LIBC
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    __asm__("local.get %0\nlocal.get %1\nlocal.get %2\nmemory.copy 0, 0"
            :
            : "r"(to), "r"(from), "r"(bytes)
            : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    return memcpy(to, from, bytes); /* memory.copy takes overlapping ranges */
}

void *memset(void *to, int value, size_t bytes)
{
    __asm__("local.get %0\nlocal.get %1\nlocal.get %2\nmemory.fill 0"
            :
            : "r"(to), "r"(value), "r"(bytes)
            : "memory");
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;

    for (; bytes; bytes--, x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size_t strlen(const char *string)
{
    const char *end = string;

    while (*end)
        end++;
    return (size_t)(end - string);
}

int strcmp(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return (unsigned char)*a - (unsigned char)*b;
}

char *strchr(const char *string, int c)
{
    for (;; string++) {
        if (*string == (char)c)
            return (char *)(size_t)string;
        if (!*string)
            return NULL;
    }
}
