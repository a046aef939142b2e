/*
 * Hosts and ports. Names are ASCII: libhalter carries no table of Unicode, and a name that looks
 * like another one is a decision for people, so international names are written as punycode
 * (xn--...). Numbers are read as every resolver reads them (octal, hexadecimal, short forms), and
 * what is decided about, and connected to, is the address that they mean.
 */
#include "host/policy_host.h"

#include <string.h>

static const char *take_port(const char *text, const char *end, struct policy_host *host)
{
    static const char wrong[] = "a URL with a port that is no number from 1 to 65535 is refused";
    unsigned value = 0;
    host->port = 0;
    host->any_port = end - text == 1 && *text == '*';
    if (host->any_port || text == end)
        return NULL;
    if (end - text > 5)
        return wrong;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return wrong;
        value = value * 10 + (unsigned)(*text - '0');
    }
    if (value == 0 || value > 65535)
        return wrong;
    host->port = (uint16_t)value;
    return NULL;
}

static const char *check_labels(const char *name, size_t length)
{
    size_t label = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length && name[i] != '.') {
            label++;
            continue;
        }
        if (label == 0)
            return "a host with an empty label is refused";
        if (label > 63)
            return "a host with a label longer than 63 bytes is refused";
        label = 0;
    }
    return NULL;
}

const char *policy_name_parse(const char *text, size_t length, char out[POLICY_HOST_BYTES])
{
    if (length > 0 && text[length - 1] == '.')
        length--;
    if (length == 0)
        return "a URL without a host is refused";
    if (length > 253)
        return "a host longer than 253 bytes is refused";
    for (size_t i = 0; i < length; i++) {
        uint8_t c = (uint8_t)text[i];
        if (c >= 0x80)
            return "a host with letters beyond ASCII is refused (write it in punycode, xn--...)";
        if (c == '%')
            return "a host with a percent sign is refused";
        if (c >= 'A' && c <= 'Z')
            c |= 0x20;
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.')
            return "a host with other characters than letters, digits, hyphens and dots is refused";
        out[i] = (char)c;
    }
    memset(out + length, 0, POLICY_HOST_BYTES - length);
    return check_labels(out, length);
}

/* One number of an IPv4 address: decimal, 0octal or 0xhexadecimal. False when it is none. */
static bool number(const char *text, size_t length, uint64_t *out)
{
    unsigned base = 10;
    uint64_t value = 0;
    if (length >= 2 && text[0] == '0') {
        bool hex = text[1] == 'x';
        base = hex ? 16 : 8;
        text += hex ? 2 : 1;
        length -= hex ? 2 : 1;
    } else if (length == 0) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 99;
        if (digit >= base || value > UINT32_MAX)
            return false;
        value = value * base + digit;
    }
    *out = value;
    return true;
}

/* A host whose last label is a number is an IPv4 address, or nothing (WHATWG URL, 3.5). */
static bool ends_in_number(const char *name)
{
    const char *label = strrchr(name, '.');
    uint64_t value;
    label = label ? label + 1 : name;
    return strspn(label, "0123456789") == strlen(label) || number(label, strlen(label), &value);
}

static bool parse_numbers(const char *name, struct wire_address *address)
{
    uint64_t parts[4];
    unsigned count = 0;
    for (const char *at = name;; at++) {
        size_t length = strcspn(at, ".");
        if (count == 4 || !number(at, length, &parts[count++]))
            return false;
        at += length;
        if (!*at)
            break;
    }
    uint64_t value = parts[count - 1];
    if (value >= (uint64_t)1 << (8 * (5 - count)))
        return false;
    for (unsigned i = 0; i + 1 < count; i++) {
        if (parts[i] > 255)
            return false;
        value |= parts[i] << (8 * (3 - i));
    }
    uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                        (uint8_t)value};
    *address = wire_address_from_v4(bytes);
    return true;
}

static void set_address(struct policy_host *host)
{
    host->is_address = true;
    memset(host->name, 0, sizeof host->name);
    wire_address_print(&host->address, host->name);
}

static const char *parse_bracketed(const char *text, const char *end, struct policy_host *host)
{
    const char *close = memchr(text, ']', (size_t)(end - text));
    if (!close)
        return "a host with an unclosed [ is refused";
    if (memchr(text, '%', (size_t)(close - text)))
        return "an IPv6 address with a zone is refused";
    if (!memchr(text, ':', (size_t)(close - text)) ||
        !wire_address_parse(text + 1, (size_t)(close - text - 1), &host->address))
        return "a host in [] that is no IPv6 address is refused";
    if (close + 1 < end && close[1] != ':')
        return "a host with characters behind ] is refused";
    set_address(host);
    return close + 1 < end ? take_port(close + 2, end, host) : NULL;
}

const char *policy_host_parse(const char *text, size_t length, struct policy_host *host)
{
    const char *end = text + length, *why;
    memset(host, 0, sizeof *host);
    if (length > 0 && *text == '[')
        return parse_bracketed(text, end, host);
    const char *colon = memchr(text, ':', length);
    if (colon && (why = take_port(colon + 1, end, host)))
        return why;
    if ((why = policy_name_parse(text, (size_t)((colon ? colon : end) - text), host->name)))
        return why;
    if (!ends_in_number(host->name))
        return NULL;
    if (!parse_numbers(host->name, &host->address))
        return "a host that ends in a number and is no IPv4 address is refused";
    set_address(host);
    return NULL;
}
