/*
 * Internet addresses and ranges of them, as the host writes them for halter-services and both must
 * read them to the bit. An IPv4 address is kept as the IPv6 address that is mapped to it
 * (::ffff:a.b.c.d), so the two spellings of one address can never be told apart by accident.
 */
#ifndef HALTER_WIRE_ADDRESS_H
#define HALTER_WIRE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_address {
    uint8_t bytes[16]; /* network order */
};

/* All addresses whose first `bits` bits are those of base; the others of base are zero. */
struct wire_range {
    struct wire_address base;
    uint8_t bits; /* 0 to 128: an IPv4 /8 is 104 */
};

#define WIRE_ADDRESS_TEXT 46 /* bytes for any address, with the NUL */
#define WIRE_RANGE_TEXT   50

/*
 * Strict forms only: four decimal numbers without leading zeros, or RFC 4291 section 2.2 without a
 * zone. *out is written on success only.
 */
bool wire_address_parse(const char *text, size_t length, struct wire_address *out);
/* RFC 5952, IPv4 as four numbers. Returns the length. */
size_t wire_address_print(const struct wire_address *address, char out[WIRE_ADDRESS_TEXT]);
bool wire_address_is_v4(const struct wire_address *address);
struct wire_address wire_address_from_v4(const uint8_t bytes[4]);

/* "ADDRESS/BITS", or an address alone for itself; bits behind the prefix must be zero. */
bool wire_range_parse(const char *text, size_t length, struct wire_range *out);
size_t wire_range_print(const struct wire_range *range, char out[WIRE_RANGE_TEXT]);
bool wire_range_holds(const struct wire_range *range, const struct wire_address *address);
/* True when every address of `inner` is in `outer`. */
bool wire_range_within(const struct wire_range *inner, const struct wire_range *outer);

#endif
