/* lz.h: memory made smaller and larger again, for snapshots: fast, small, without a library.
 *
 * The form is a row of sequences, in the manner of LZ4: a byte with two lengths of four bits,
 * literals in the high half and the match less four in the low one; where either is 15, bytes
 * follow that are added until one is not 255; then the literals, and for all but the last sequence
 * two bytes, little-endian, of how far back the match lies, which may overlap what it makes. */
#ifndef PC_LZ_H
#define PC_LZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LZ_MOST 65536u /* bytes in, at once */

/* Packs at most LZ_MOST bytes; returns how many it made, 0 when they are more than `room`. The same
 * on every host. */
size_t lz_pack(const uint8_t *from, size_t count, uint8_t *to, size_t room);

/* Unpacks to exactly `count` bytes. False when that is not what they are: they may come from
 * anyone. */
bool lz_unpack(const uint8_t *from, size_t bytes, uint8_t *to, size_t count);

#endif
