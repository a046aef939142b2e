/*
 * Which addresses are not the public Internet: the ranges that a guest may reach only where they
 * were granted by name. The host decides with this table and hands the same ranges to
 * halter-services, which checks each resolved address where it opens the socket.
 */
#ifndef HALTER_HOST_POLICY_ADDRESS_H
#define HALTER_HOST_POLICY_ADDRESS_H

#include "wire/address.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * An address is public when it lies in one of the public ranges and in none of the refused ones.
 * Both lists are walked: i counts from 0 until false. `what` may be NULL.
 */
bool policy_address_public(size_t i, struct wire_range *range);
bool policy_address_refused(size_t i, struct wire_range *range, const char **what);
/* What an address is when it is not public, e.g. "loopback"; NULL when it is public. */
const char *policy_address_special(const struct wire_address *address);

#endif
