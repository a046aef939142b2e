/*
 * Patterns of hosts and the decision about a URL. A pattern that names loopback (localhost) or an
 * address itself grants that much of the special ranges; any other pattern grants none of them,
 * whatever the name resolves to.
 */
#include "host/policy_address.h"
#include "host/policy_host.h"
#include "host/policy_url.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *take_schemes(const char **text, size_t *length, unsigned *schemes)
{
    static const struct {
        const char *prefix;
        unsigned schemes;
    } known[] = {
        {"https://", POLICY_HTTPS}, {"http://", POLICY_HTTP}, {"*://", POLICY_HTTP | POLICY_HTTPS}};
    for (unsigned i = 0; i < 3; i++) {
        size_t n = strlen(known[i].prefix);
        if (*length >= n && strncasecmp(*text, known[i].prefix, n) == 0) {
            *schemes = known[i].schemes;
            *text += n;
            *length -= n;
            return NULL;
        }
    }
    *schemes = POLICY_HTTPS;
    for (size_t i = 0; i + 2 < *length; i++)
        if (memcmp(*text + i, "://", 3) == 0)
            return "a pattern's scheme is https, http or *";
    return NULL;
}

static void set_port(struct policy_pattern *pattern, const struct policy_host *host)
{
    if (host->any_port)
        pattern->port = POLICY_PORT_ANY;
    else if (host->port)
        pattern->port = host->port;
    else if (pattern->schemes == (POLICY_HTTP | POLICY_HTTPS))
        pattern->port = POLICY_PORT_DEFAULT;
    else
        pattern->port = pattern->schemes == POLICY_HTTPS ? 443 : 80;
}

/* "*" or "*.name", with a port behind it: the rest is parsed as if it were a host. */
static const char *parse_wildcard(const char *text, size_t length, struct policy_pattern *pattern)
{
    struct policy_host host;
    char stand_in[POLICY_HOST_BYTES + 16];
    const char *why;
    bool any = length == 1 || text[1] == ':';
    if (!any && text[1] != '.')
        return "a pattern's * stands alone or before a dot: *.example.org";
    if (length >= sizeof stand_in)
        return "a pattern longer than a host can be";
    /* "*" becomes a name of one letter, "*." is left out. */
    memcpy(stand_in, text, length);
    stand_in[0] = 'x';
    text = any ? stand_in : text + 2;
    length = any ? length : length - 2;
    if ((why = policy_host_parse(text, length, &host)))
        return why;
    if (host.is_address)
        return "a pattern's * cannot stand before an address: grant a range instead";
    pattern->kind = any ? POLICY_HOST_ANY : POLICY_HOST_BELOW;
    if (!any)
        memcpy(pattern->host, host.name, sizeof pattern->host);
    set_port(pattern, &host);
    return NULL;
}

const char *policy_pattern_parse(const char *text, size_t length, struct policy_pattern *pattern)
{
    struct policy_host host;
    const char *why;
    memset(pattern, 0, sizeof *pattern);
    if ((why = take_schemes(&text, &length, &pattern->schemes)))
        return why;
    if (length > 0 && text[length - 1] == '/')
        length--;
    if (length == 0)
        return "a pattern without a host";
    if (memchr(text, '/', length) || memchr(text, '?', length) || memchr(text, '#', length))
        return "a pattern names a host, no path";
    if (memchr(text, '@', length))
        return "a pattern names a host, no user";
    if (text[0] == '*')
        return parse_wildcard(text, length, pattern);
    if ((why = policy_host_parse(text, length, &host)))
        return memchr(text, '*', length) && !host.any_port
                   ? "a pattern's * stands at the start only: *.example.org"
                   : why;
    pattern->kind = host.is_address ? POLICY_HOST_ADDRESS : POLICY_HOST_NAME;
    pattern->address = host.address;
    memcpy(pattern->host, host.name, sizeof pattern->host);
    set_port(pattern, &host);
    return NULL;
}

size_t policy_pattern_print(const struct policy_pattern *pattern, char out[POLICY_PATTERN_TEXT])
{
    const char *scheme = pattern->schemes == POLICY_HTTPS  ? "https"
                         : pattern->schemes == POLICY_HTTP ? "http"
                                                           : "*";
    const char *lead = pattern->kind == POLICY_HOST_BELOW ? "*."
                       : pattern->kind == POLICY_HOST_ANY ? "*"
                                                          : "";
    bool v6 = strchr(pattern->host, ':') != NULL;
    char port[16] = "";
    if (pattern->port == POLICY_PORT_ANY)
        snprintf(port, sizeof port, ":*");
    else if (pattern->port > 0 && !(pattern->schemes == POLICY_HTTPS && pattern->port == 443) &&
             !(pattern->schemes == POLICY_HTTP && pattern->port == 80))
        snprintf(port, sizeof port, ":%d", pattern->port);
    return (size_t)snprintf(out, POLICY_PATTERN_TEXT, "%s://%s%s%s%s%s", scheme, lead,
                            v6 ? "[" : "", pattern->host, v6 ? "]" : "", port);
}

static uint16_t default_port(unsigned scheme)
{
    return scheme == POLICY_HTTPS ? 443 : 80;
}

/* True when `name` lies below `domain`: one label or more before a dot before it. */
static bool is_below(const char *name, const char *domain)
{
    size_t n = strlen(name), d = strlen(domain);
    return n > d + 1 && name[n - d - 1] == '.' && memcmp(name + n - d, domain, d) == 0;
}

bool policy_pattern_matches(const struct policy_pattern *pattern, const struct policy_url *url)
{
    if (!(pattern->schemes & url->scheme))
        return false;
    if (pattern->port == POLICY_PORT_DEFAULT ? url->port != default_port(url->scheme)
                                             : pattern->port && pattern->port != url->port)
        return false;
    switch (pattern->kind) {
    case POLICY_HOST_ANY:
        return true;
    case POLICY_HOST_ADDRESS:
        return url->is_address && memcmp(&pattern->address, &url->address, 16) == 0;
    case POLICY_HOST_BELOW:
        return !url->is_address && is_below(url->host, pattern->host);
    case POLICY_HOST_NAME:
        return !url->is_address && strcmp(url->host, pattern->host) == 0;
    }
    return false;
}

static bool intersect_ports(const struct policy_pattern *a, const struct policy_pattern *b,
                            struct policy_pattern *out)
{
    if (a->port == b->port || b->port == POLICY_PORT_ANY) {
        out->port = a->port;
    } else if (a->port == POLICY_PORT_ANY) {
        out->port = b->port;
    } else if (a->port == POLICY_PORT_DEFAULT || b->port == POLICY_PORT_DEFAULT) {
        out->port = a->port == POLICY_PORT_DEFAULT ? b->port : a->port;
        out->schemes &= out->port == 443 ? POLICY_HTTPS : out->port == 80 ? POLICY_HTTP : 0u;
    } else {
        return false;
    }
    if (out->port == POLICY_PORT_DEFAULT && out->schemes != (POLICY_HTTP | POLICY_HTTPS))
        out->port = default_port(out->schemes);
    return out->schemes != 0;
}

/* True when every host that `inner` holds is one that `outer` holds. */
static bool host_within(const struct policy_pattern *inner, const struct policy_pattern *outer)
{
    if (outer->kind == POLICY_HOST_ANY)
        return true;
    if (inner->kind == outer->kind && inner->kind == POLICY_HOST_ADDRESS)
        return memcmp(&inner->address, &outer->address, 16) == 0;
    if (inner->kind == outer->kind && strcmp(inner->host, outer->host) == 0)
        return true;
    return outer->kind == POLICY_HOST_BELOW &&
           (inner->kind == POLICY_HOST_NAME || inner->kind == POLICY_HOST_BELOW) &&
           is_below(inner->host, outer->host);
}

bool policy_pattern_intersect(const struct policy_pattern *a, const struct policy_pattern *b,
                              struct policy_pattern *out)
{
    if (host_within(a, b))
        *out = *a;
    else if (host_within(b, a))
        *out = *b;
    else
        return false;
    out->schemes = a->schemes & b->schemes;
    return out->schemes != 0 && intersect_ports(a, b, out);
}

static bool is_localhost(const char *name)
{
    return strcmp(name, "localhost") == 0 || is_below(name, "localhost");
}

/* What of the special ranges a pattern grants by naming it. */
static void add_reach(const struct policy_pattern *pattern, struct policy_decision *decision)
{
    if (pattern->kind == POLICY_HOST_ADDRESS) {
        decision->reach[0] = (struct wire_range){pattern->address, 128};
        decision->nreach = 1;
    } else if (pattern->kind != POLICY_HOST_ANY && is_localhost(pattern->host)) {
        wire_range_parse("127.0.0.0/8", 11, &decision->reach[0]);
        wire_range_parse("::1", 3, &decision->reach[1]);
        decision->nreach = 2;
    }
}

static bool holds(const struct wire_range *ranges, size_t count, const struct wire_address *address)
{
    for (size_t i = 0; i < count; i++)
        if (wire_range_holds(&ranges[i], address))
            return true;
    return false;
}

void policy_decide(const struct policy_network *network, const struct policy_url *url,
                   struct policy_decision *decision)
{
    const struct policy_pattern *match = NULL;
    memset(decision, 0, sizeof *decision);
    decision->why = "no pattern that was granted matches it";
    for (size_t i = 0; i < network->npatterns; i++) {
        const struct policy_pattern *pattern = &network->patterns[i];
        if (!policy_pattern_matches(pattern, url))
            continue;
        match = pattern;
        /* An exact pattern may grant more than a wildcard that stands before it. */
        if (pattern->kind != POLICY_HOST_ANY)
            add_reach(pattern, decision);
        if (decision->nreach)
            break;
    }
    if (!match)
        return;
    if (url->is_address && policy_address_special(&url->address) &&
        !holds(decision->reach, decision->nreach, &url->address) &&
        !holds(network->ranges, network->nranges, &url->address)) {
        decision->why = policy_address_special(&url->address);
        return;
    }
    decision->allowed = true;
    decision->why = "granted";
}
