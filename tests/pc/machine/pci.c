/* pci.c: configuration mechanism #1, BARs where they are put, and lines that are shared. */
#include "virtio_rig.h"

#include <string.h>

static void functions_are_where_they_are_plugged(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    assert_int_equal(vr_config(&rig, 0, 0, 4), 0x12378086);
    assert_int_equal(vr_config(&rig, 0, 8, 4), 0x06000002);
    assert_int_equal(vr_config(&rig, VR_CONSOLE, 0, 4), 0x10431af4);
    assert_int_equal(vr_config(&rig, VR_RNG, 0, 4), 0x10441af4);
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, 0, 4), 0x10421af4);
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, 2, 2), 0x1042);
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, 0x3d, 1), 1);
    for (unsigned slot = 5; slot < 32; slot++)
        assert_int_equal(vr_config(&rig, slot, 0, 4), UINT32_MAX);
    bus_out(&rig.pc->bus, 0xcf8, 4, 0x80010000 | VR_DISK_SLOT << 11); /* bus 1 */
    assert_int_equal(bus_in(&rig.pc->bus, 0xcfc, 4), UINT32_MAX);
    bus_out(&rig.pc->bus, 0xcf8, 4, VR_DISK_SLOT << 11); /* not enabled */
    assert_int_equal(bus_in(&rig.pc->bus, 0xcfc, 4), UINT32_MAX);
    vr_finish(&rig);
}

static void a_bar_tells_its_size_and_moves(void **state)
{
    (void)state;
    struct virtio_rig rig;
    uint32_t before;

    vr_init(&rig, (struct vr_options){0});
    before = vr_config(&rig, VR_DISK_SLOT, 0x10, 4);
    vr_set_config(&rig, VR_DISK_SLOT, 0x10, 4, UINT32_MAX);
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, 0x10, 4), 0xffffc000);
    vr_set_config(&rig, VR_DISK_SLOT, 0x10, 4, 0xe0004000);
    assert_int_equal(bus_read(&rig.pc->bus, 0xe0004012, 2), 1); /* one queue */
    assert_int_equal(bus_read(&rig.pc->bus, before + 0x12, 2), 0xffff);
    vr_set_config(&rig, VR_DISK_SLOT, 4, 2, 0); /* decoding off */
    assert_int_equal(bus_read(&rig.pc->bus, 0xe0004012, 2), 0xffff);
    vr_finish(&rig);
}

/* The address spaces that the loader gives out do not overlap, and lie above any RAM. */
static void the_loader_gives_addresses_and_lines(void **state)
{
    (void)state;
    struct virtio_rig rig;
    uint32_t bars[3], slots[] = {VR_CONSOLE, VR_RNG, VR_DISK_SLOT};

    vr_init(&rig, (struct vr_options){0});
    for (unsigned i = 0; i < 3; i++) {
        bars[i] = vr_config(&rig, slots[i], 0x10, 4);
        assert_in_range(bars[i], PCI_HOLE, PCI_HOLE + PCI_HOLE_BYTES - VIRTIO_BAR_BYTES);
        assert_int_equal(bars[i] % VIRTIO_BAR_BYTES, 0);
        for (unsigned j = 0; j < i; j++)
            assert_true(bars[i] != bars[j]);
        assert_int_equal(vr_config(&rig, slots[i], 0x3c, 1), pci_irq[slots[i] % 4]);
    }
    vr_finish(&rig);
}

static void what_is_read_only_stays(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    for (unsigned offset = 0; offset < 256; offset += 4) {
        uint32_t before = vr_config(&rig, 0, offset, 4);

        if (offset == 4 || offset == 0x0c || offset == 0x3c)
            continue;
        vr_set_config(&rig, 0, offset, 4, ~before);
        assert_int_equal(vr_config(&rig, 0, offset, 4), before);
    }
    vr_finish(&rig);
}

/* Bytes at CF8h are not the address, and CF9h still resets. */
static void narrow_accesses_pass_the_bridge(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    bus_out(&rig.pc->bus, 0xcf8, 4, 0x80002000);
    bus_out(&rig.pc->bus, 0xcf8, 1, 0x55);
    bus_out(&rig.pc->bus, 0xcfb, 1, 0x01);
    assert_int_equal(bus_in(&rig.pc->bus, 0xcf8, 4), 0x80002000);
    assert_false(rig.pc->reset_asked);
    bus_out(&rig.pc->bus, 0xcf9, 1, 0x06);
    assert_true(rig.pc->reset_asked);
    vr_finish(&rig);
}

/* The console's and another function's pin on one line: it stays up until both let go. */
static void a_line_is_shared(void **state)
{
    (void)state;
    struct rig rig;
    struct pci pci;
    struct pci_function a = {.bar_bytes = 4096}, b = {.bar_bytes = 4096};
    struct line lines[PCI_LINES];

    rig_init(&rig);
    for (unsigned i = 0; i < PCI_LINES; i++)
        lines[i] = rig_line(&rig, i);
    pci_init(&pci, &rig.bus, lines, NULL, NULL);
    pci_add(&pci, 1, &a);
    pci_add(&pci, 5, &b);
    pci_set_interrupt(&a, true);
    pci_set_interrupt(&b, true);
    assert_true(rig.level[1]);
    pci_set_interrupt(&a, false);
    assert_true(rig.level[1]);
    assert_int_equal(b.config[6] & 8, 8); /* status: it is this one */
    assert_int_equal(a.config[6] & 8, 0);
    bus_out(&rig.bus, 0xcf8, 4, 0x80000000 | 5 << 11 | 4);
    b.writable[5] = 4;
    bus_out(&rig.bus, 0xcfc, 2, 0x0400); /* the command register's interrupt disable */
    assert_false(rig.level[1]);
    bus_out(&rig.bus, 0xcfc, 2, 0);
    assert_true(rig.level[1]);
    pci_set_interrupt(&b, false);
    assert_false(rig.level[1]);
    assert_int_equal(rig.rises[1], 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_where_they_are_plugged),
        cmocka_unit_test(a_bar_tells_its_size_and_moves),
        cmocka_unit_test(the_loader_gives_addresses_and_lines),
        cmocka_unit_test(what_is_read_only_stays),
        cmocka_unit_test(narrow_accesses_pass_the_bridge),
        cmocka_unit_test(a_line_is_shared),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("pci", tests, NULL, NULL);
}
