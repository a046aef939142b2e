/*
 * Which addresses a socket may be opened to. The lists are the host's: this compares. An address is
 * allowed when it was granted by name, or when it is public and not among the refused.
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "services/services.h"
#include "wire/address.h"

bool reach_list(struct json_value list, struct wire_range **ranges, size_t *count)
{
    struct json_value element;
    *ranges = NULL;
    *count = 0;
    if (list.type != JSON_ARRAY)
        return false;
    for (size_t at = 0; json_next(list, &at, NULL, &element);) {
        char text[WIRE_RANGE_TEXT];
        long length = element.type == JSON_STRING ? json_string(element, text, sizeof(text)) : -1;
        struct wire_range *grown = realloc(*ranges, (*count + 1) * sizeof(*grown));
        if (!grown || length < 0 || !wire_range_parse(text, (size_t)length, &grown[*count])) {
            free(grown ? grown : *ranges);
            *ranges = NULL;
            return false;
        }
        *ranges = grown;
        ++*count;
    }
    return true;
}

static bool holds(const struct wire_range *ranges, size_t count, const struct wire_address *address)
{
    for (size_t i = 0; i < count; i++)
        if (wire_range_holds(&ranges[i], address))
            return true;
    return false;
}

bool reach_address(const struct sockaddr *from, struct wire_address *to)
{
    if (from->sa_family == AF_INET) {
        uint8_t bytes[4];
        memcpy(bytes, &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
        *to = wire_address_from_v4(bytes);
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(to->bytes, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr, 16);
    return true;
}

bool reach_allows(const struct reach *reach, const struct wire_address *address)
{
    return holds(reach->allow, reach->nallow, address) ||
           (holds(reach->publics, reach->npublics, address) &&
            !holds(reach->refuse, reach->nrefuse, address));
}
