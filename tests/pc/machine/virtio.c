/* virtio.c: the transport, and drivers that break the rules: the device asks to be reset, and does
 * nothing more. The data are watched by a disk that refuses anything outside itself. */
#include "virtio_rig.h"

#include <string.h>

static void capabilities_lead_to_the_registers(void **state)
{
    (void)state;
    struct virtio_rig rig;
    unsigned seen = 0, at;

    vr_init(&rig, (struct vr_options){0});
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, 6, 2) & 0x10, 0x10);
    at = vr_config(&rig, VR_DISK_SLOT, 0x34, 1);
    while (at && seen < 0x100) {
        assert_int_equal(vr_config(&rig, VR_DISK_SLOT, at, 1), 9);
        assert_int_equal(vr_config(&rig, VR_DISK_SLOT, at + 4, 1), 0); /* BAR 0 */
        seen |= 1u << vr_config(&rig, VR_DISK_SLOT, at + 3, 1);
        at = vr_config(&rig, VR_DISK_SLOT, at + 1, 1);
    }
    assert_int_equal(seen, 0x3e); /* types 1 to 5 */
    vr_finish(&rig);
}

/* The window in configuration space reads and writes the BAR (4.1.4.9). */
static void the_window_reaches_the_bar(void **state)
{
    (void)state;
    struct virtio_rig rig;
    unsigned at;

    vr_init(&rig, (struct vr_options){0});
    at = vr_config(&rig, VR_DISK_SLOT, 0x34, 1);
    while (vr_config(&rig, VR_DISK_SLOT, at + 3, 1) != 5)
        at = vr_config(&rig, VR_DISK_SLOT, at + 1, 1);
    vr_set_config(&rig, VR_DISK_SLOT, at + 8, 4, 0x14); /* the status */
    vr_set_config(&rig, VR_DISK_SLOT, at + 12, 4, 1);
    vr_set_config(&rig, VR_DISK_SLOT, at + 16, 4, 1);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 1);
    assert_int_equal(vr_config(&rig, VR_DISK_SLOT, at + 16, 4) & 0xff, 1);
    for (unsigned i = 0; i < 5; i++) { /* places that are none */
        static const uint32_t wrong[][2] = {
            {0x4000, 4}, {0x3fff, 4}, {UINT32_MAX, 1}, {0x14, 3}, {0, UINT32_MAX}};

        vr_set_config(&rig, VR_DISK_SLOT, at + 8, 4, wrong[i][0]);
        vr_set_config(&rig, VR_DISK_SLOT, at + 12, 4, wrong[i][1]);
        vr_set_config(&rig, VR_DISK_SLOT, at + 16, 4, 0);
        assert_int_equal(vr_config(&rig, VR_DISK_SLOT, at + 16, 4), 0);
    }
    vr_finish(&rig);
}

static void features_must_be_on_offer(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 3);
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 0x0b); /* without VERSION_1 */
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x03);
    vr_write(&rig, VR_DISK_SLOT, 0x08, 4, 1);
    vr_write(&rig, VR_DISK_SLOT, 0x0c, 4, 3); /* and one that is not there */
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 0x0b);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x03);
    vr_write(&rig, VR_DISK_SLOT, 0x0c, 4, 1);
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 0x0b);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x0b);
    vr_finish(&rig);
}

static void starting_without_features_breaks(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 0x07);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT) & VR_NEEDS_RESET, VR_NEEDS_RESET);
    vr_write(&rig, VR_DISK_SLOT, 0x14, 1, 0);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0);
    vr_finish(&rig);
}

/* Queues that are not in RAM, or not of a size or an alignment that is right. */
static void queues_must_be_in_ram(void **state)
{
    (void)state;
    static const struct {
        uint32_t size, table, table_high, driver, device;
    } wrong[] = {
        {0, 0x10000, 0, 0x11000, 0x12000},
        {3, 0x10000, 0, 0x11000, 0x12000},
        {128, 0x10000, 0, 0x11000, 0x12000},
        {16, 0x10008, 0, 0x11000, 0x12000},
        {16, 0x10000, 0, 0x11001, 0x12000},
        {16, 0x10000, 0, 0x11000, 0x12002},
        {16, VR_RAM - 16, 0, 0x11000, 0x12000},
        {16, 0x10000, 1, 0x11000, 0x12000},
        {16, 0x10000, 0, VR_RAM - 34, 0x12000},
        {16, 0x10000, 0, 0x11000, VR_RAM - 128},
        {16, 0xfffffff0, UINT32_MAX, 0x11000, 0x12000},
    };

    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct virtio_rig rig;

        vr_init(&rig, (struct vr_options){0});
        vr_write(&rig, VR_DISK_SLOT, 0x18, 2, wrong[i].size);
        vr_write(&rig, VR_DISK_SLOT, 0x20, 4, wrong[i].table);
        vr_write(&rig, VR_DISK_SLOT, 0x24, 4, wrong[i].table_high);
        vr_write(&rig, VR_DISK_SLOT, 0x28, 4, wrong[i].driver);
        vr_write(&rig, VR_DISK_SLOT, 0x30, 4, wrong[i].device);
        vr_write(&rig, VR_DISK_SLOT, 0x1c, 2, 1);
        assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 0x1c, 2), 0);
        assert_int_equal(vr_status(&rig, VR_DISK_SLOT), VR_NEEDS_RESET);
        vr_finish(&rig);
    }
}

/* ---- Chains that are none ----------------------------------------------------------------- */

static void loops(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_NEXT, 1);
    vr_descriptor(rig, 0, 1, VR_DATA, 16, VR_NEXT, 0);
}

static void leaves_ram(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_RAM - 8, 16, 0, 0);
}

static void lies_far_away(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, 0x100000000ull + VR_DATA, 16, 0, 0);
}

static void wraps(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, UINT64_MAX - 7, 16, 0, 0);
}

static void is_as_large_as_it_can_be(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, UINT32_MAX, 0, 0);
}

static void goes_on_behind_the_table(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_NEXT, 16);
}

static void reads_after_it_writes(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_NEXT | VR_WRITE, 1);
    vr_descriptor(rig, 0, 1, VR_DATA, 16, 0, 0);
}

static void has_an_empty_table(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 0, VR_INDIRECT, 0);
}

static void has_a_table_cut_short(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 24, VR_INDIRECT, 0);
}

static void has_a_table_outside_ram(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_RAM - 16, 32, VR_INDIRECT, 0);
}

static void has_tables_in_tables(struct virtio_rig *rig)
{
    vr_put_descriptor(rig, VR_DATA, VR_DATA, 16, VR_INDIRECT, 0);
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_INDIRECT, 0);
}

static void goes_on_after_its_table(struct virtio_rig *rig)
{
    vr_put_descriptor(rig, VR_DATA, VR_DATA, 16, 0, 0);
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_INDIRECT | VR_NEXT, 1);
}

static void loops_in_its_table(struct virtio_rig *rig)
{
    vr_put_descriptor(rig, VR_DATA, VR_DATA, 16, VR_NEXT, 1);
    vr_put_descriptor(rig, VR_DATA + 16, VR_DATA, 16, VR_NEXT, 0);
    vr_descriptor(rig, 0, 0, VR_DATA, 32, VR_INDIRECT, 0);
}

static void has_more_segments_than_a_queue(struct virtio_rig *rig)
{
    for (unsigned i = 0; i < 80; i++)
        vr_put_descriptor(rig, VR_DATA + 16 * i, VR_DATA, 1, i < 79 ? VR_NEXT : 0, i + 1);
    vr_descriptor(rig, 0, 0, VR_DATA, 80 * 16, VR_INDIRECT, 0);
}

static void has_no_status(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 16, 0, 0);
}

static void has_no_header(struct virtio_rig *rig)
{
    vr_descriptor(rig, 0, 0, VR_DATA, 16, VR_WRITE, 0);
}

static void hostile_chains_break_the_device(void **state)
{
    (void)state;
    static void (*const make[])(struct virtio_rig * rig) = {
        loops,
        leaves_ram,
        lies_far_away,
        wraps,
        is_as_large_as_it_can_be,
        goes_on_behind_the_table,
        reads_after_it_writes,
        has_an_empty_table,
        has_a_table_cut_short,
        has_a_table_outside_ram,
        has_tables_in_tables,
        goes_on_after_its_table,
        loops_in_its_table,
        has_more_segments_than_a_queue,
        has_no_status,
        has_no_header,
    };

    for (unsigned i = 0; i < sizeof make / sizeof *make; i++) {
        struct virtio_rig rig;

        vr_init(&rig, (struct vr_options){0});
        vr_start(&rig, VR_DISK_SLOT);
        make[i](&rig);
        vr_offer(&rig, 0, 0);
        vr_ring(&rig, VR_DISK_SLOT, 0);
        vr_pass(&rig, 1000000);
        assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x0f | VR_NEEDS_RESET);
        assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 0x1000, 1), 2); /* configuration interrupt */
        assert_int_equal(vr_used(&rig, 0), 0);
        assert_int_equal(rig.requests, 0);
        assert_non_null(strstr(rig.log, "made a mistake"));
        vr_finish(&rig);
    }
}

static void a_head_outside_the_table_breaks_it(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    vr_offer(&rig, 0, 16);
    vr_ring(&rig, VR_DISK_SLOT, 0);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x0f | VR_NEEDS_RESET);
    vr_finish(&rig);
}

/* More entries than the ring has. */
static void an_index_that_runs_away_breaks_it(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    vr_set_available(&rig, 0, 17);
    vr_ring(&rig, VR_DISK_SLOT, 0);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x0f | VR_NEEDS_RESET);
    vr_finish(&rig);
}

/* A broken device does nothing until it is reset, and then works again. */
static void a_reset_mends_it(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    vr_offer(&rig, 0, 99);
    vr_ring(&rig, VR_DISK_SLOT, 0);
    vr_pass(&rig, 1000000);
    vr_request(&rig, 0, 0, 512, true);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_result(&rig), 0xff);
    vr_start(&rig, VR_DISK_SLOT);
    vr_request(&rig, 0, 0, 512, true);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_result(&rig), 0);
    vr_finish(&rig);
}

/* Without bus mastering a device reaches no memory. */
static void it_waits_for_bus_mastering(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    vr_set_config(&rig, VR_DISK_SLOT, 4, 2, 2);
    vr_request(&rig, 0, 0, 512, true);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_result(&rig), 0xff);
    vr_set_config(&rig, VR_DISK_SLOT, 4, 2, 6);
    vr_ring(&rig, VR_DISK_SLOT, 0);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_result(&rig), 0);
    vr_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_lead_to_the_registers),
        cmocka_unit_test(the_window_reaches_the_bar),
        cmocka_unit_test(features_must_be_on_offer),
        cmocka_unit_test(starting_without_features_breaks),
        cmocka_unit_test(queues_must_be_in_ram),
        cmocka_unit_test(hostile_chains_break_the_device),
        cmocka_unit_test(a_head_outside_the_table_breaks_it),
        cmocka_unit_test(an_index_that_runs_away_breaks_it),
        cmocka_unit_test(a_reset_mends_it),
        cmocka_unit_test(it_waits_for_bus_mastering),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("virtio", tests, NULL, NULL);
}
