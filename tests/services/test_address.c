/*
 * Addresses and ranges: read, printed, compared, and sorted into public and special. inet_pton and
 * inet_ntop of the C library serve as a second implementation on random addresses.
 */
#include "check.h"

#include "host/policy_address.h"
#include "wire/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static struct wire_address address(const char *text)
{
    struct wire_address out;
    if (!wire_address_parse(text, strlen(text), &out))
        fail_msg("%s is not read as an address", text);
    return out;
}

static void strict_forms_only(void **state)
{
    static const char *const wrong[] = {"",
                                        "1",
                                        "1.2.3",
                                        "1.2.3.4.5",
                                        "1.2.3.256",
                                        "01.2.3.4",
                                        "1.2.3.04",
                                        "0x1.2.3.4",
                                        "1.2.3.4 ",
                                        " 1.2.3.4",
                                        "1..2.3",
                                        "1.2.3.",
                                        ".1.2.3",
                                        ":",
                                        ":::",
                                        "1::2::3",
                                        "1:2:3:4:5:6:7",
                                        "1:2:3:4:5:6:7:8:9",
                                        "12345::",
                                        "::g",
                                        "fe80::1%1",
                                        "::1.2.3",
                                        "1.2.3.4::",
                                        "::1.2.3.4:5",
                                        "1:2:3:4:5:6:7::8:9",
                                        "1:2:3:4:5:6:7:1.2.3.4",
                                        ":1::",
                                        "1:",
                                        "::1:",
                                        "[::1]",
                                        "1:2:3:4:5:6:7:8::"};
    struct wire_address out;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (wire_address_parse(wrong[i], strlen(wrong[i]), &out))
            fail_msg("\"%s\" is read as an address", wrong[i]);
}

static void prints_in_one_form(void **state)
{
    static const char *const pairs[][2] = {{"1.2.3.4", "1.2.3.4"},
                                           {"::ffff:1.2.3.4", "1.2.3.4"},
                                           {"::ffff:102:304", "1.2.3.4"},
                                           {"0:0:0:0:0:0:0:1", "::1"},
                                           {"::", "::"},
                                           {"2001:DB8::0:1", "2001:db8::1"},
                                           {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
                                           {"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
                                           {"1:0:0:2:3:0:0:4", "1::2:3:0:0:4"},
                                           {"fe80:0:0:0:0:0:0:0", "fe80::"},
                                           {"64:ff9b::1.2.3.4", "64:ff9b::102:304"}};
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct wire_address a = address(pairs[i][0]);
        char text[WIRE_ADDRESS_TEXT];
        assert_int_equal(wire_address_print(&a, text), strlen(pairs[i][1]));
        assert_string_equal(text, pairs[i][1]);
    }
}

/* Random addresses with many zero words, as libc prints them: read by us, printed by us. */
static void agrees_with_the_c_library(void **state)
{
    (void)state;
    srandom(1);
    for (int round = 0; round < 20000; round++) {
        struct wire_address a = {{0}}, b;
        char theirs[INET6_ADDRSTRLEN], ours[WIRE_ADDRESS_TEXT];
        uint8_t back[16];
        for (int i = 0; i < 8; i++)
            if (random() % 2) {
                a.bytes[2 * i] = (uint8_t)(random() % 4 ? 0 : random());
                a.bytes[2 * i + 1] = (uint8_t)random();
            }
        assert_non_null(inet_ntop(AF_INET6, a.bytes, theirs, sizeof theirs));
        assert_true(wire_address_parse(theirs, strlen(theirs), &b));
        assert_memory_equal(&a, &b, 16);
        wire_address_print(&a, ours);
        if (wire_address_is_v4(&a))
            continue;
        assert_int_equal(inet_pton(AF_INET6, ours, back), 1);
        assert_memory_equal(a.bytes, back, 16);
    }
}

static void ranges_hold_what_they_say(void **state)
{
    static const struct {
        const char *range, *address;
        bool holds;
    } cases[] = {{"10.0.0.0/8", "10.255.255.255", true},
                 {"10.0.0.0/8", "11.0.0.0", false},
                 {"10.0.0.0/8", "::ffff:10.1.2.3", true},
                 {"10.0.0.0/8", "::10.1.2.3", false},
                 {"172.16.0.0/12", "172.31.255.255", true},
                 {"172.16.0.0/12", "172.32.0.0", false},
                 {"0.0.0.0/0", "1.2.3.4", true},
                 {"0.0.0.0/0", "2001:db8::1", false},
                 {"::/0", "1.2.3.4", true},
                 {"fe80::/10", "febf::1", true},
                 {"fe80::/10", "fec0::1", false},
                 {"127.0.0.1", "127.0.0.1", true},
                 {"127.0.0.1", "127.0.0.2", false},
                 {"::1/128", "::1", true},
                 {"2001:db8::/33", "2001:db8:8000::", false}};
    static const char *const wrong[] = {"10.0.0.1/8",  "10.0.0.0/33", "::/129", "10.0.0.0/",   "/8",
                                        "10.0.0.0/08", "10.0.0.0/-1", "::1/64", "10.0.0.0/8/8"};
    struct wire_range range;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire_address a = address(cases[i].address);
        assert_true(wire_range_parse(cases[i].range, strlen(cases[i].range), &range));
        if (wire_range_holds(&range, &a) != cases[i].holds)
            fail_msg("%s in %s", cases[i].address, cases[i].range);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (wire_range_parse(wrong[i], strlen(wrong[i]), &range))
            fail_msg("\"%s\" is read as a range", wrong[i]);
}

static void ranges_print_and_nest(void **state)
{
    static const char *const texts[] = {"10.0.0.0/8", "::1",  "fe80::/10", "0.0.0.0/0",
                                        "127.0.0.1",  "::/0", "::/95"};
    struct wire_range a, b;
    char text[WIRE_RANGE_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(wire_range_parse(texts[i], strlen(texts[i]), &a));
        assert_int_equal(wire_range_print(&a, text), strlen(texts[i]));
        assert_string_equal(text, texts[i]);
    }
    assert_true(wire_range_parse("10.1.0.0/16", 11, &a));
    assert_true(wire_range_parse("10.0.0.0/8", 10, &b));
    assert_true(wire_range_within(&a, &b));
    assert_false(wire_range_within(&b, &a));
    assert_true(wire_range_within(&a, &a));
}

static void special_addresses_are_known(void **state)
{
    /* NULL: public. */
    static const char *const cases[][2] = {{"8.8.8.8", NULL},
                                           {"1.1.1.1", NULL},
                                           {"172.15.255.255", NULL},
                                           {"172.32.0.1", NULL},
                                           {"100.63.255.255", NULL},
                                           {"100.128.0.0", NULL},
                                           {"223.255.255.255", NULL},
                                           {"2606:4700::1111", NULL},
                                           {"2a00:1450::1", NULL},
                                           {"64:ff9b::8.8.8.8", NULL},
                                           {"::ffff:8.8.8.8", NULL},
                                           {"0.0.0.0", "this host"},
                                           {"0.1.2.3", "this host"},
                                           {"10.0.0.1", "private"},
                                           {"172.16.0.1", "private"},
                                           {"192.168.255.255", "private"},
                                           {"100.64.0.1", "shared by a carrier (CGNAT)"},
                                           {"127.0.0.1", "loopback"},
                                           {"127.255.255.254", "loopback"},
                                           {"169.254.169.254", "link-local"},
                                           {"192.0.0.1", "for protocols"},
                                           {"192.0.2.1", "for documentation"},
                                           {"198.51.100.7", "for documentation"},
                                           {"203.0.113.9", "for documentation"},
                                           {"198.18.0.1", "for benchmarks"},
                                           {"198.19.255.255", "for benchmarks"},
                                           {"224.0.0.1", "multicast"},
                                           {"239.255.255.255", "multicast"},
                                           {"240.0.0.1", "reserved"},
                                           {"255.255.255.255", "reserved"},
                                           {"192.88.99.1", "a tunnel (6to4 relay)"},
                                           {"::ffff:127.0.0.1", "loopback"},
                                           {"::ffff:10.0.0.1", "private"},
                                           {"::", "this host"},
                                           {"::1", "loopback"},
                                           {"::127.0.0.1", "an obsolete form of IPv4"},
                                           {"::2", "an obsolete form of IPv4"},
                                           {"64:ff9b::127.0.0.1", "loopback"},
                                           {"64:ff9b::a00:1", "private"},
                                           {"64:ff9b::169.254.169.254", "link-local"},
                                           {"64:ff9b:1::8.8.8.8", "translated locally (NAT64)"},
                                           {"::ffff:0:8.8.8.8", "translated (SIIT)"},
                                           {"2002:7f00:1::", "a tunnel (6to4)"},
                                           {"2001:0:1::1", "a tunnel (Teredo)"},
                                           {"2001:db8::1", "for documentation"},
                                           {"3fff::1", "for documentation"},
                                           {"2001:20::1", "for protocols"},
                                           {"fc00::1", "private (unique local)"},
                                           {"fdff::1", "private (unique local)"},
                                           {"fe80::1", "link-local"},
                                           {"fec0::1", "private (site-local)"},
                                           {"ff02::1", "multicast"},
                                           {"100::1", "discarded"},
                                           {"100:0:0:1::1", "reserved"},
                                           {"64:ff9b:0:1::1", "reserved"},
                                           {"5f00::1", "reserved"},
                                           {"4000::1", "reserved"},
                                           {"1::1", "reserved"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct wire_address a = address(cases[i][0]);
        const char *what = policy_address_special(&a);
        if (cases[i][1] ? !what || strcmp(what, cases[i][1]) != 0 : what != NULL)
            fail_msg("%s is %s", cases[i][0], what ? what : "public");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_forms_only),         cmocka_unit_test(prints_in_one_form),
        cmocka_unit_test(agrees_with_the_c_library), cmocka_unit_test(ranges_hold_what_they_say),
        cmocka_unit_test(ranges_print_and_nest),     cmocka_unit_test(special_addresses_are_known),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
