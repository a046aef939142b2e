/* virtio_devices.c: what the disk, the console and the source of entropy do for a driver that keeps
 * to the rules; that time and snapshots treat them as everything else. */
#include "virtio_rig.h"

#include <stdlib.h>
#include <string.h>

enum { IN, OUT, FLUSH = 4, GET_ID = 8, DISCARD = 11, WRITE_ZEROES = 13 };

static uint8_t done(struct virtio_rig *rig, unsigned type, uint64_t sector, uint32_t bytes,
                    bool to_guest)
{
    vr_request(rig, type, sector, bytes, to_guest);
    vr_pass(rig, 10000000);
    return vr_result(rig);
}

static void a_disk_reads_and_writes(void **state)
{
    (void)state;
    struct virtio_rig rig;
    uint8_t *data;

    vr_init(&rig, (struct vr_options){0});
    data = rig.ram + VR_DATA + 4096;
    vr_start(&rig, VR_DISK_SLOT);
    assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 0x2000, 4), VR_DISK / 512);
    assert_int_equal(done(&rig, IN, 3, 1024, true), 0);
    assert_memory_equal(data, rig.disk + 3 * 512, 1024);
    assert_int_equal(vr_used(&rig, 0), 1);
    assert_int_equal(vr_used_id(&rig, 0, 0), 0);
    assert_int_equal(vr_used_bytes(&rig, 0, 0), 1025);
    assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 0x1000, 1), 1); /* queue interrupt, once */
    assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 0x1000, 1), 0);
    memset(data, 0x5a, 1024);
    assert_int_equal(done(&rig, OUT, 8, 1024, false), 0);
    assert_int_equal(rig.disk[8 * 512], 0x5a);
    assert_int_equal(rig.disk[10 * 512 - 1], 0x5a);
    assert_int_not_equal(rig.disk[10 * 512], 0x5a);
    assert_int_equal(done(&rig, FLUSH, 0, 0, false), 0);
    assert_int_equal(rig.last.op, PC_BLOCK_FLUSH);
    assert_int_equal(done(&rig, GET_ID, 0, 20, true), 0);
    assert_string_equal(data, "the name");
    vr_finish(&rig);
}

static void a_disk_refuses_what_is_not_there(void **state)
{
    (void)state;
    struct virtio_rig rig;
    unsigned sectors = VR_DISK / 512;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    assert_int_equal(done(&rig, IN, sectors, 512, true), 1);
    assert_int_equal(done(&rig, IN, sectors - 1, 1024, true), 1);
    assert_int_equal(done(&rig, IN, UINT64_MAX, 512, true), 1);
    assert_int_equal(done(&rig, IN, UINT64_MAX / 512 + 1, 512, true), 1); /* wraps to 0 */
    assert_int_equal(done(&rig, IN, 0, 511, true), 1);
    assert_int_equal(done(&rig, OUT, sectors, 512, false), 1);
    assert_int_equal(done(&rig, 77, 0, 512, false), 2);
    assert_int_equal(rig.requests, 0);
    assert_int_equal(vr_status(&rig, VR_DISK_SLOT), 0x0f);
    vr_finish(&rig);
}

static uint8_t clear(struct virtio_rig *rig, unsigned type, uint64_t sector, uint32_t count,
                     uint32_t flags)
{
    pci_put(rig->ram + VR_DATA + 4096, 8, sector);
    pci_put(rig->ram + VR_DATA + 4104, 4, count);
    pci_put(rig->ram + VR_DATA + 4108, 4, flags);
    return done(rig, type, 0, 16, false);
}

static void a_disk_discards_and_zeroes(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    assert_int_equal(clear(&rig, WRITE_ZEROES, 2, 3, 1), 0);
    assert_int_equal(rig.last.op, PC_BLOCK_ZERO);
    for (unsigned i = 0; i < 3 * 512; i++)
        assert_int_equal(rig.disk[2 * 512 + i], 0);
    assert_int_equal(clear(&rig, DISCARD, 2, 3, 0), 0);
    assert_int_equal(rig.last.op, PC_BLOCK_DISCARD);
    assert_int_equal(rig.last.offset, 1024);
    assert_int_equal(rig.last.bytes, 1536);
    assert_int_equal(clear(&rig, DISCARD, 2, 3, 1), 2);
    assert_int_equal(clear(&rig, WRITE_ZEROES, 2, 3, 2), 2);
    assert_int_equal(clear(&rig, WRITE_ZEROES, VR_DISK / 512, 1, 0), 1);
    assert_int_equal(clear(&rig, WRITE_ZEROES, 0, UINT32_MAX, 0), 1);
    assert_int_equal(rig.requests, 2);
    vr_finish(&rig);
}

static void a_disk_that_is_read_only_is_not_written(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){.read_only = true});
    vr_start(&rig, VR_DISK_SLOT);
    vr_write(&rig, VR_DISK_SLOT, 0, 4, 0);
    assert_int_equal(vr_read(&rig, VR_DISK_SLOT, 4, 4) & (1 << 5 | 1 << 13 | 1 << 14), 1 << 5);
    assert_int_equal(done(&rig, OUT, 0, 512, false), 1);
    assert_int_equal(clear(&rig, DISCARD, 0, 1, 0), 1);
    assert_int_equal(done(&rig, IN, 0, 512, true), 0);
    assert_int_equal(rig.requests, 1);
    vr_finish(&rig);
}

static void an_error_of_the_host_is_the_guest_s(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    rig.fails = true;
    vr_start(&rig, VR_DISK_SLOT);
    assert_int_equal(done(&rig, IN, 0, 512, true), 1);
    assert_int_equal(vr_used_bytes(&rig, 0, 0), 1);
    vr_finish(&rig);
}

/* Data, header and status may be cut into pieces anywhere, and may come from an indirect table. */
static void pieces_make_a_request(void **state)
{
    (void)state;
    struct virtio_rig rig;
    uint32_t table = VR_DATA + 0x8000;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_DISK_SLOT);
    pci_put(rig.ram + VR_DATA, 8, 0);
    pci_put(rig.ram + VR_DATA + 8, 8, 5);
    vr_put_descriptor(&rig, table, VR_DATA, 7, VR_NEXT, 1);
    vr_put_descriptor(&rig, table + 16, VR_DATA + 7, 9, VR_NEXT, 2);
    vr_put_descriptor(&rig, table + 32, VR_DATA + 4096, 1, VR_NEXT | VR_WRITE, 3);
    vr_put_descriptor(&rig, table + 48, VR_DATA + 4097, 0, VR_NEXT | VR_WRITE, 4);
    vr_put_descriptor(&rig, table + 64, VR_DATA + 4097, 512, VR_WRITE, 0);
    rig.ram[VR_DATA + 4096 + 512] = 0xff;
    vr_descriptor(&rig, 0, 7, table, 5 * 16, VR_INDIRECT, 0);
    vr_offer(&rig, 0, 7);
    vr_ring(&rig, VR_DISK_SLOT, 0);
    vr_pass(&rig, 10000000);
    assert_memory_equal(rig.ram + VR_DATA + 4096, rig.disk + 5 * 512, 512);
    assert_int_equal(rig.ram[VR_DATA + 4096 + 512], 0); /* the status is the last byte */
    assert_int_equal(vr_used_id(&rig, 0, 0), 7);
    vr_finish(&rig);
}

/* ---- Time --------------------------------------------------------------------------------- */

/* A host that takes its time: the guest goes on, and is told when the host answers. */
static void a_late_answer_comes_when_it_comes(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){.holds = true});
    vr_start(&rig, VR_DISK_SLOT);
    vr_request(&rig, IN, 0, 512, true);
    vr_pass(&rig, 50000000);
    assert_int_equal(rig.requests, 1);
    assert_int_equal(vr_result(&rig), 0xff);
    vr_answer(&rig);
    assert_int_equal(vr_result(&rig), 0xff); /* never outside a slice */
    vr_pass(&rig, 1);
    assert_int_equal(vr_result(&rig), 0);
    pc_block_done(rig.pc, 0, PC_BLOCK_ERROR); /* nobody asked */
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_used(&rig, 0), 1);
    vr_finish(&rig);
}

/* The answer to a request from before a reset finds nothing. */
static void a_reset_forgets_what_was_asked(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){.holds = true});
    vr_start(&rig, VR_DISK_SLOT);
    vr_request(&rig, IN, 0, 512, true);
    vr_pass(&rig, 1000000);
    vr_start(&rig, VR_DISK_SLOT);
    assert_null(pc_block_data(rig.pc, 0, 0, &(uint32_t){0}));
    pc_block_done(rig.pc, 0, PC_BLOCK_GOOD);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_used(&rig, 0), 0);
    vr_finish(&rig);
}

/* Where runs are to be the same each time, a host that answers at once and one that does not are
 * the same to the machine: the moment, the memory, the hash. */
static void exact_time_waits_for_the_host(void **state)
{
    (void)state;
    uint64_t hash[2], when[2];

    for (unsigned slow = 0; slow < 2; slow++) {
        struct virtio_rig rig;
        struct pc_budget budget = {UINT64_MAX, 1000000, 1 << 16};

        vr_init(&rig, (struct vr_options){.exact = true, .holds = slow});
        vr_start(&rig, VR_DISK_SLOT);
        vr_request(&rig, IN, 1, 4096, true);
        if (slow) {
            assert_int_equal(pc_run(rig.pc, budget), PC_WAITING);
            uint64_t stopped = pc_now_ns(rig.pc);
            assert_int_equal(pc_run(rig.pc, budget), PC_WAITING);
            assert_true(pc_now_ns(rig.pc) == stopped);
            vr_answer(&rig);
        }
        assert_int_equal(pc_run(rig.pc, budget), PC_BUDGET);
        assert_int_equal(vr_result(&rig), 0);
        hash[slow] = pc_hash(rig.pc);
        when[slow] = pc_now_ns(rig.pc);
        vr_finish(&rig);
    }
    assert_true(hash[0] == hash[1]);
    assert_true(when[0] == when[1]);
}

/* ---- Console and entropy ------------------------------------------------------------------ */

static void a_console_carries_text_both_ways(void **state)
{
    (void)state;
    struct virtio_rig rig;

    vr_init(&rig, (struct vr_options){0});
    assert_int_equal(pc_console_in(rig.pc, PC_CONSOLE_VIRTIO, (const uint8_t *)"typed", 5), 5);
    vr_start(&rig, VR_CONSOLE);
    memcpy(rig.ram + VR_DATA, "hello ", 6);
    memcpy(rig.ram + VR_DATA + 64, "world", 5);
    vr_descriptor(&rig, 1, 0, VR_DATA, 6, VR_NEXT, 1);
    vr_descriptor(&rig, 1, 1, VR_DATA + 64, 5, 0, 0);
    vr_offer(&rig, 1, 0);
    vr_ring(&rig, VR_CONSOLE, 1);
    vr_descriptor(&rig, 0, 0, VR_DATA + 128, 3, VR_WRITE, 0);
    vr_offer(&rig, 0, 0);
    vr_ring(&rig, VR_CONSOLE, 0);
    vr_pass(&rig, 1000000);
    assert_string_equal(rig.console, "hello world");
    assert_int_equal(vr_used(&rig, 1), 1);
    assert_int_equal(vr_used(&rig, 0), 1);
    assert_int_equal(vr_used_bytes(&rig, 0, 0), 3);
    assert_memory_equal(rig.ram + VR_DATA + 128, "typ", 3);
    vr_offer(&rig, 0, 0); /* the rest waited for a buffer */
    vr_ring(&rig, VR_CONSOLE, 0);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_used_bytes(&rig, 0, 1), 2);
    assert_memory_equal(rig.ram + VR_DATA + 128, "edp", 3);
    vr_finish(&rig);
}

static void a_console_tells_of_its_window(void **state)
{
    (void)state;
    struct virtio_rig rig;
    uint8_t generation;

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_CONSOLE);
    generation = (uint8_t)vr_read(&rig, VR_CONSOLE, 0x15, 1);
    pc_resize_in(rig.pc, 132, 43);
    assert_int_equal(vr_read(&rig, VR_CONSOLE, 0x1000, 1), 2);
    assert_int_equal(vr_read(&rig, VR_CONSOLE, 0x2000, 2), 132);
    assert_int_equal(vr_read(&rig, VR_CONSOLE, 0x2002, 2), 43);
    assert_int_not_equal(vr_read(&rig, VR_CONSOLE, 0x15, 1), generation);
    pc_resize_in(rig.pc, 132, 43); /* no change */
    assert_int_equal(vr_read(&rig, VR_CONSOLE, 0x1000, 1), 0);
    vr_finish(&rig);
}

/* RFC 8439, A.1, test vectors 1 and 2: a key of zeros, blocks 0 and 1. */
static void the_entropy_is_chacha20(void **state)
{
    (void)state;
    static const uint8_t first[] = {0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90};
    static const uint8_t second[] = {0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a};
    struct virtio_rig rig;
    uint32_t key[8] = {0};
    uint8_t block[64];

    rng_keystream(key, 0, block);
    assert_memory_equal(block, first, sizeof first);
    rng_keystream(key, 1, block);
    assert_memory_equal(block, second, sizeof second);

    vr_init(&rig, (struct vr_options){0});
    vr_start(&rig, VR_RNG);
    vr_descriptor(&rig, 0, 0, VR_DATA, 72, VR_WRITE, 0);
    vr_offer(&rig, 0, 0);
    vr_ring(&rig, VR_RNG, 0);
    vr_pass(&rig, 1000000);
    assert_int_equal(vr_used_bytes(&rig, 0, 0), 72);
    assert_memory_equal(rig.ram + VR_DATA, first, sizeof first);
    assert_memory_equal(rig.ram + VR_DATA + 64, second, sizeof second);
    vr_finish(&rig);
}

/* ---- Snapshots ---------------------------------------------------------------------------- */

struct store {
    uint8_t bytes[8 << 20];
    size_t used, read;
};

static bool store_write(void *opaque, const void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > sizeof store->bytes - store->used)
        return false;
    memcpy(store->bytes + store->used, bytes, count);
    store->used += count;
    return true;
}

static bool store_read(void *opaque, void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > store->used - store->read)
        return false;
    memcpy(bytes, store->bytes + store->read, count);
    store->read += count;
    return true;
}

/* Saved while a request is with the host, and taken up by a machine whose host knows nothing of
 * it: the request is made again. */
static void a_request_survives_a_snapshot(void **state)
{
    (void)state;
    struct virtio_rig rig, other;
    struct store *store = calloc(1, sizeof *store);

    assert_non_null(store);
    vr_init(&rig, (struct vr_options){.holds = true});
    vr_start(&rig, VR_DISK_SLOT);
    vr_request(&rig, IN, 4, 512, true);
    vr_pass(&rig, 5000000);
    assert_true(pc_save(rig.pc, (struct pc_writer){store_write, store}));
    vr_init(&other, (struct vr_options){0});
    assert_null(pc_load(other.pc, (struct pc_reader){store_read, store}));
    assert_int_equal(other.requests, 1);
    vr_pass(&other, 1000000);
    assert_int_equal(vr_result(&other), 0);
    assert_memory_equal(other.ram + VR_DATA + 4096, other.disk + 4 * 512, 512);
    vr_finish(&rig);
    vr_finish(&other);
    free(store);
}

static void a_snapshot_belongs_to_its_disk(void **state)
{
    (void)state;
    struct virtio_rig rig, other;
    struct store *store = calloc(1, sizeof *store);

    assert_non_null(store);
    vr_init(&rig, (struct vr_options){0});
    assert_true(pc_save(rig.pc, (struct pc_writer){store_write, store}));
    vr_init(&other, (struct vr_options){0});
    pc_disk_identify(other.pc, 0, 43);
    assert_string_equal(
        pc_load(other.pc, (struct pc_reader){store_read, store}),
        "disk 0 has been written to since the snapshot was saved, or is another one");
    vr_finish(&other);
    vr_init(&other, (struct vr_options){.read_only = true});
    store->read = 0;
    assert_string_equal(pc_load(other.pc, (struct pc_reader){store_read, store}),
                        "disk 0 is not the one that the snapshot was saved beside");
    vr_finish(&other);
    vr_finish(&rig);
    free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_disk_reads_and_writes),
        cmocka_unit_test(a_disk_refuses_what_is_not_there),
        cmocka_unit_test(a_disk_discards_and_zeroes),
        cmocka_unit_test(a_disk_that_is_read_only_is_not_written),
        cmocka_unit_test(an_error_of_the_host_is_the_guest_s),
        cmocka_unit_test(pieces_make_a_request),
        cmocka_unit_test(a_late_answer_comes_when_it_comes),
        cmocka_unit_test(a_reset_forgets_what_was_asked),
        cmocka_unit_test(exact_time_waits_for_the_host),
        cmocka_unit_test(a_console_carries_text_both_ways),
        cmocka_unit_test(a_console_tells_of_its_window),
        cmocka_unit_test(the_entropy_is_chacha20),
        cmocka_unit_test(a_request_survives_a_snapshot),
        cmocka_unit_test(a_snapshot_belongs_to_its_disk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("virtio devices", tests, NULL, NULL);
}
