/*
 * The special-purpose ranges of the IANA registries (RFC 6890 and its updates), by what
 * reaching them would mean. An IPv6 address that only carries an IPv4 one counts as the latter
 * where the network translates it (64:ff9b::/96, RFC 6052); tunnels that lead elsewhere are
 * refused.
 */
#include "host/policy_address.h"

#include <string.h>

struct special {
    const char *range;
    const char *what;
};

static const struct special specials[] = {
    {"0.0.0.0/8", "this host"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "shared by a carrier (CGNAT)"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "for protocols"},
    {"192.0.2.0/24", "for documentation"},
    {"192.88.99.0/24", "a tunnel (6to4 relay)"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "for benchmarks"},
    {"198.51.100.0/24", "for documentation"},
    {"203.0.113.0/24", "for documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
    {"::1", "loopback"},
    {"::", "this host"},
    {"::/96", "an obsolete form of IPv4"},
    {"fc00::/7", "private (unique local)"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "private (site-local)"},
    {"ff00::/8", "multicast"},
    {"2001::/32", "a tunnel (Teredo)"},
    {"2001::/23", "for protocols"},
    {"2001:db8::/32", "for documentation"},
    {"2002::/16", "a tunnel (6to4)"},
    {"3fff::/20", "for documentation"},
    {"64:ff9b:1::/48", "translated locally (NAT64)"},
    {"::ffff:0:0:0/96", "translated (SIIT)"},
    {"100::/64", "discarded"},
};

/* What is in use for the world: IPv4 itself, IPv4 behind NAT64, and global unicast (RFC 4291). */
static const char *const publics[] = {"::ffff:0:0/96", "64:ff9b::/96", "2000::/3"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* The i-th IPv4 range as NAT64 carries it: 64:ff9b:: in place of ::ffff: (RFC 6052 section 2.1). */
static bool translated(size_t i, struct wire_range *range, const char **what)
{
    static const uint8_t prefix[12] = {0x00, 0x64, 0xff, 0x9b};
    for (size_t at = 0; at < COUNT(specials); at++) {
        if (strchr(specials[at].range, ':') || i-- > 0)
            continue;
        wire_range_parse(specials[at].range, strlen(specials[at].range), range);
        memcpy(range->base.bytes, prefix, sizeof prefix);
        if (what)
            *what = specials[at].what;
        return true;
    }
    return false;
}

bool policy_address_public(size_t i, struct wire_range *range)
{
    return i < COUNT(publics) && wire_range_parse(publics[i], strlen(publics[i]), range);
}

bool policy_address_refused(size_t i, struct wire_range *range, const char **what)
{
    if (i >= COUNT(specials))
        return translated(i - COUNT(specials), range, what);
    if (what)
        *what = specials[i].what;
    return wire_range_parse(specials[i].range, strlen(specials[i].range), range);
}

const char *policy_address_special(const struct wire_address *address)
{
    struct wire_range range;
    const char *what;
    for (size_t i = 0; policy_address_refused(i, &range, &what); i++)
        if (wire_range_holds(&range, address))
            return what;
    for (size_t i = 0; policy_address_public(i, &range); i++)
        if (wire_range_holds(&range, address))
            return NULL;
    return "reserved";
}
