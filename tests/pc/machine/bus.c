/* bus.c: accesses reach the device that claimed the address, cut to its width; what nobody claims
 * reads as ones. */
#include "rig.h"

#include <stdio.h>
#include <string.h>

/* Writes down what it is asked, and answers with the offset in every byte. */
static char seen[200];

static uint32_t spy_read(void *device, uint32_t offset, unsigned size)
{
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%sr%x/%u ", (char *)device,
             (unsigned)offset, size);
    return 0x01010101u * (uint8_t)(0x10 + offset);
}

static void spy_write(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    snprintf(seen + strlen(seen), sizeof seen - strlen(seen), "%sw%x/%u=%x ", (char *)device,
             (unsigned)offset, size, (unsigned)value);
}

/* A spy is its name. */
#define DEVICE(name) ((void *)(uintptr_t)(name))

static const struct bus_ops bytes = {1, spy_read, spy_write};
static const struct bus_ops words = {2, spy_read, spy_write};
static const struct bus_ops deaf = {1, NULL, NULL};

static void expect(const char *what)
{
    assert_string_equal(seen, what);
    seen[0] = '\0';
}

static void an_access_goes_to_the_range_that_claims_it(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    assert_true(bus_claim_ports(&rig.bus, 0x60, 4, "a", &bytes, DEVICE("a")));
    assert_true(bus_claim_ports(&rig.bus, 0x20, 2, "b", &bytes, DEVICE("b")));
    assert_true(bus_claim_ports(&rig.bus, 0x64, 1, "c", &bytes, DEVICE("c")));
    assert_int_equal(rig_in(&rig, 0x61), 0x11);
    rig_out(&rig, 0x64, 0x7f);
    assert_int_equal(rig_in(&rig, 0x21), 0x11);
    expect("ar1/1 cw0/1=7f br1/1 ");
    assert_int_equal(rig_in(&rig, 0x65), 0xff);
    assert_int_equal(rig_in(&rig, 0x22), 0xff);
    expect("");
}

static void wide_accesses_are_cut_from_the_lowest_address_up(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    bus_claim_ports(&rig.bus, 0x60, 4, "a", &bytes, DEVICE("a"));
    bus_claim_ports(&rig.bus, 0x70, 4, "w", &words, DEVICE("w"));
    bus_out(&rig.bus, 0x60, 4, 0x44332211);
    expect("aw0/1=11 aw1/1=22 aw2/1=33 aw3/1=44 ");
    assert_int_equal(bus_in(&rig.bus, 0x60, 2), 0x1110);
    expect("ar0/1 ar1/1 ");
    assert_int_equal(bus_in(&rig.bus, 0x70, 4), 0x12121010);
    expect("wr0/2 wr2/2 ");
    /* Past the end of a range the rest belongs to whoever is there. */
    assert_int_equal(bus_in(&rig.bus, 0x73, 2), 0xff13);
    expect("wr3/1 ");
    bus_claim_ports(&rig.bus, 0xffff, 1, "e", &bytes, DEVICE("e"));
    assert_int_equal(bus_in(&rig.bus, 0xffff, 2), 0xff10); /* port numbers wrap */
    expect("er0/1 ");
}

static void ranges_do_not_overlap(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    assert_true(bus_claim_ports(&rig.bus, 0x100, 16, "a", &bytes, DEVICE("a")));
    assert_false(bus_claim_ports(&rig.bus, 0x10f, 2, "b", &bytes, DEVICE("b")));
    assert_false(bus_claim_ports(&rig.bus, 0xff, 2, "b", &bytes, DEVICE("b")));
    assert_false(bus_claim_ports(&rig.bus, 0x104, 2, "b", &bytes, DEVICE("b")));
    assert_false(bus_claim_ports(&rig.bus, 0xf0, 0x40, "b", &bytes, DEVICE("b")));
    assert_false(bus_claim_ports(&rig.bus, 0x200, 0, "b", &bytes, DEVICE("b")));
    assert_false(bus_claim_ports(&rig.bus, 0xfff0, 0x11, "b", &bytes, DEVICE("b")));
    assert_true(bus_claim_ports(&rig.bus, 0x110, 1, "b", &bytes, DEVICE("b")));
    assert_true(bus_claim_ports(&rig.bus, 0xff, 1, "b", &bytes, DEVICE("b")));
    for (unsigned i = 3; i < BUS_RANGES; i++)
        assert_true(bus_claim_ports(&rig.bus, (uint16_t)(0x1000 + i), 1, "n", &bytes, DEVICE("n")));
    assert_false(bus_claim_ports(&rig.bus, 0x3000, 1, "n", &bytes, DEVICE("n")));
}

static unsigned unclaimed_count;

static void unclaimed(void *opaque, uint16_t port, enum bus_access access, uint32_t value)
{
    (void)opaque, (void)value;
    unclaimed_count += access == BUS_READ ? 1 : 100;
    assert_int_equal(port, 0x5555);
}

static void ports_without_a_device_are_reported(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    rig.bus.unclaimed = unclaimed;
    unclaimed_count = 0;
    assert_int_equal(rig_in(&rig, 0x5555), 0xff);
    rig_out(&rig, 0x5555, 1);
    assert_int_equal(unclaimed_count, 101);
    bus_claim_ports(&rig.bus, 0x80, 1, "deaf", &deaf, NULL);
    assert_int_equal(rig_in(&rig, 0x80), 0xff);
    rig_out(&rig, 0x80, 1);
    assert_int_equal(unclaimed_count, 101);
}

static void memory_is_mmio_by_the_page(void **state)
{
    (void)state;
    struct rig rig;

    rig_init(&rig);
    bus_claim_memory(&rig.bus, 0xa0000, 0x20000, "v", &words, DEVICE("v"));
    assert_false(bus_is_mmio(&rig.bus, 0x9f000));
    assert_true(bus_is_mmio(&rig.bus, 0xa0000));
    assert_true(bus_is_mmio(&rig.bus, 0xbf000));
    assert_false(bus_is_mmio(&rig.bus, 0xc0000));
    assert_int_equal(bus_read(&rig.bus, 0xa0002, 4), 0x14141212);
    expect("vr2/2 vr4/2 ");
    assert_int_equal(bus_read(&rig.bus, 0xa0001, 1), 0x11);
    expect("vr1/1 ");
    bus_write(&rig.bus, 0xbfffe, 4, 0x44332211);
    expect("vw1fffe/2=2211 ");
    assert_int_equal(bus_read(&rig.bus, 0xfee00000, 4), 0xffffffff);
    bus_claim_memory(&rig.bus, 0xfffff800, 0x800, "top", &bytes, DEVICE("t"));
    assert_true(bus_is_mmio(&rig.bus, 0xfffff000));
    bus_read(&rig.bus, 0xffffffff, 1);
    expect("tr7ff/1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_access_goes_to_the_range_that_claims_it),
        cmocka_unit_test(wide_accesses_are_cut_from_the_lowest_address_up),
        cmocka_unit_test(ranges_do_not_overlap),
        cmocka_unit_test(ports_without_a_device_are_reported),
        cmocka_unit_test(memory_is_mmio_by_the_page),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
