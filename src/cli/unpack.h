/* unpack.h: the compressions that Linux kernels come in, by their own libraries. */
#ifndef HALTER_UNPACK_H
#define HALTER_UNPACK_H

#include <stddef.h>
#include <stdint.h>

/* Unpacks `bytes` to exactly `*to_bytes` or less; sets it to what there was. Data behind the end of
 * the compressed stream is passed over. NULL when done; otherwise what is wrong, in a sentence. */
const char *unpack(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes);

/* The name of the compression that the bytes begin with, or NULL when it is none that is known. */
const char *unpack_format(const uint8_t *bytes, size_t count);

#endif
