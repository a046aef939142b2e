/* bzimage.h: the kernel inside a bzImage.
 *
 * A bzImage is a boot sector, setup code, and a small program that unpacks the kernel proper, an
 * ELF, and jumps into it. Unpacked beforehand it starts at once: the guest spends no time on it,
 * and nobody who boots it needs the libraries. */
#ifndef HALTER_BZIMAGE_H
#define HALTER_BZIMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Finds and unpacks the ELF in `image`. NULL when done, with the ELF in `*elf`, for the caller to
 * free; otherwise what is wrong, in a sentence. */
const char *bzimage_unpack(const uint8_t *image, size_t bytes, uint8_t **elf, size_t *elf_bytes);

#endif
