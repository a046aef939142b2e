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

#endif
