/* string.h: the little of it that src/pc uses, where there is no C library; see ../libc.c. */
#ifndef HALTER_WASM_STRING_H
#define HALTER_WASM_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *string);
int strcmp(const char *a, const char *b);
char *strchr(const char *string, int c);

/* Freestanding, the compiler takes the names above for anybody's: by these it knows what they do, and
 * a copy of four bytes is a load and a store, not a call. libc.c defines them under their own names. */
#ifndef HALTER_WASM_LIBC
#    define memcpy  __builtin_memcpy
#    define memmove __builtin_memmove
#    define memset  __builtin_memset
#    define memcmp  __builtin_memcmp
#    define strlen  __builtin_strlen
#endif

#endif
