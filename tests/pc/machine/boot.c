/* boot.c: where a kernel, its initrd and its zero page come to lie, and what is refused before the
 * guest starts. Offsets are those of the Linux boot protocol. */
#include "machine_rig.h"

#include <stdlib.h>
#include <string.h>

enum { MB = 1 << 20 };

static void put(uint8_t *at, unsigned bytes, uint32_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint32_t get(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

/* Two segments: 3 bytes at 1 MB, and 2 bytes with zeros behind them up to 2 MB + 8 KB. */
static uint8_t elf[4096];

static void make_elf(void)
{
    static const uint32_t segment[2][4] = {{0x800, MB, 3, 3}, {0x900, 2 * MB, 2, 8192}};

    memset(elf, 0, sizeof elf);
    memcpy(elf, "\177ELF\1\1\1", 7);
    put(elf + 18, 2, 3);
    put(elf + 24, 4, MB + 1);
    put(elf + 28, 4, 52);
    put(elf + 42, 2, 32);
    put(elf + 44, 2, 2);
    for (unsigned i = 0; i < 2; i++) {
        uint8_t *ph = elf + 52 + 32 * i;

        put(ph, 4, 1);
        put(ph + 4, 4, segment[i][0]);
        put(ph + 12, 4, segment[i][1]);
        put(ph + 16, 4, segment[i][2]);
        put(ph + 20, 4, segment[i][3]);
    }
    memcpy(elf + 0x800, "one", 3);
    memcpy(elf + 0x900, "22", 2);
}

/* A bzImage with four sectors of setup and 5000 bytes to load at 1 MB. */
static uint8_t bzimage[5 * 512 + 5000];

static void make_bzimage(void)
{
    memset(bzimage, 0x5a, sizeof bzimage);
    memset(bzimage, 0, 5 * 512);
    bzimage[0x1f1] = 4;
    put(bzimage + 0x1fe, 2, 0xaa55);
    put(bzimage + 0x200, 2, 0x62eb);
    memcpy(bzimage + 0x202, "HdrS", 4);
    put(bzimage + 0x206, 2, 0x020f);
    bzimage[0x211] = 1;
    put(bzimage + 0x214, 4, MB);
    put(bzimage + 0x22c, 4, 0x7fffffff);
    put(bzimage + 0x258, 4, 16 * MB);
    put(bzimage + 0x260, 4, 4 * MB);
}

static struct pc_image image_of(const uint8_t *kernel, size_t bytes)
{
    return (struct pc_image){.kernel = kernel, .kernel_bytes = bytes, .command_line = "quiet x=1"};
}

static void expect_zero_page(struct machine_rig *rig, const char *line)
{
    const uint8_t *zero_page = rig->ram + rig->cpu->regs[CPU_ESI];

    assert_int_equal(get(zero_page + 0x1fe, 2), 0xaa55);
    assert_memory_equal(zero_page + 0x202, "HdrS", 4);
    assert_int_equal(zero_page[0x210], 0xff);
    assert_string_equal((char *)rig->ram + get(zero_page + 0x228, 4), line);
    assert_int_equal(zero_page[0x1e8], 4);
    assert_int_equal(get(zero_page + 0x2d0 + 60, 4), MB); /* the last range: all above 1 MB */
    assert_int_equal(get(zero_page + 0x2d0 + 68, 4), MACHINE_RIG_RAM - MB);
    assert_int_equal(zero_page[7], 80);
    assert_int_equal(zero_page[14], 25);
    assert_int_equal(rig->cpu->regs[CPU_EBX] | rig->cpu->regs[CPU_EBP] | rig->cpu->regs[CPU_EDI],
                     0);
    assert_int_equal(get(rig->ram + 0x1000 + 0x10, 4), 0x0000ffff); /* flat code and data */
    assert_int_equal(get(rig->ram + 0x1000 + 0x14, 4), 0x00cf9a00);
    assert_int_equal(get(rig->ram + 0x1000 + 0x1c, 4), 0x00cf9200);
    assert_int_equal(rig->cpu->written_bytes, MACHINE_RIG_RAM);
}

static void an_elf_lies_where_its_segments_say(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_image image = image_of(elf, sizeof elf);

    machine_rig_init(&rig);
    make_elf();
    memset(rig.ram + 2 * MB, 0xff, 8192); /* of an earlier boot */
    assert_null(pc_boot(rig.pc, &image));
    assert_int_equal(rig.cpu->entry, MB + 1);
    assert_memory_equal(rig.ram + MB, "one", 3);
    assert_memory_equal(rig.ram + 2 * MB, "22\0\0", 4);
    assert_int_equal(rig.ram[2 * MB + 8191], 0);
    expect_zero_page(&rig, "quiet x=1");
    machine_rig_finish(&rig);
}

static void a_bzimage_lies_at_its_entry_with_its_own_header(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_image image = image_of(bzimage, sizeof bzimage);

    machine_rig_init(&rig);
    make_bzimage();
    image.command_line = NULL;
    assert_null(pc_boot(rig.pc, &image));
    assert_int_equal(rig.cpu->entry, MB);
    assert_int_equal(rig.ram[MB + 4999], 0x5a);
    assert_int_equal(rig.ram[MB + 5000], 0x00);
    expect_zero_page(&rig, "");
    assert_int_equal(get(rig.ram + rig.cpu->regs[CPU_ESI] + 0x260, 4), 4 * MB);
    machine_rig_finish(&rig);
}

static void an_initrd_lies_as_high_as_it_may(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_image image = image_of(elf, sizeof elf);
    static const uint8_t initrd[5000] = "initrd";
    uint8_t *zero_page;

    machine_rig_init(&rig);
    make_elf();
    image.initrd = initrd;
    image.initrd_bytes = sizeof initrd;
    assert_null(pc_boot(rig.pc, &image));
    zero_page = rig.ram + rig.cpu->regs[CPU_ESI];
    assert_int_equal(get(zero_page + 0x218, 4), MACHINE_RIG_RAM - 8192); /* whole pages */
    assert_int_equal(get(zero_page + 0x21c, 4), sizeof initrd);
    assert_string_equal((char *)rig.ram + MACHINE_RIG_RAM - 8192, "initrd");

    make_bzimage();
    image.kernel = bzimage;
    image.kernel_bytes = sizeof bzimage;
    put(bzimage + 0x22c, 4, 24 * MB - 1); /* initrd_addr_max */
    assert_null(pc_boot(rig.pc, &image));
    assert_int_equal(get(zero_page + 0x218, 4), 24 * MB - 8192);
    put(bzimage + 0x22c, 4, 20 * MB); /* not above the kernel's own 20 MB any more */
    assert_string_equal(pc_boot(rig.pc, &image),
                        "the kernel cannot reach an initrd as large as this");
    machine_rig_finish(&rig);
}

static void too_little_ram_is_said_in_megabytes(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_image image = image_of(elf, sizeof elf);
    uint8_t *initrd = calloc(1, 28 * MB);

    machine_rig_init(&rig);
    make_elf();
    assert_non_null(initrd);
    image.initrd = initrd;
    image.initrd_bytes = 28 * MB;
    assert_string_equal(pc_boot(rig.pc, &image), "the RAM is too small for the kernel and its "
                                                 "initrd: 35 MB are needed, there are 32");
    /* A gzip of little that unpacks to much. */
    memcpy(initrd, "\x1f\x8b\x08", 3);
    image.initrd_bytes = 100;
    put(initrd + 96, 4, 40 * MB);
    assert_string_equal(pc_boot(rig.pc, &image), "the RAM is too small for the kernel and its "
                                                 "initrd: 47 MB are needed, there are 32");
    image.initrd = NULL;
    put(elf + 52 + 32 + 20, 4, 31 * MB);
    assert_string_equal(pc_boot(rig.pc, &image),
                        "the RAM is too small for the kernel: 37 MB are needed, there are 32");
    make_bzimage();
    image = image_of(bzimage, sizeof bzimage);
    put(bzimage + 0x260, 4, 40 * MB);
    assert_string_equal(pc_boot(rig.pc, &image),
                        "the RAM is too small for the kernel: 60 MB are needed, there are 32");
    free(initrd);
    machine_rig_finish(&rig);
}

struct wrong {
    unsigned at, bytes;
    uint32_t value;
    const char *says;
};

static void expect_refusals(struct machine_rig *rig, uint8_t *file, size_t bytes,
                            void (*make)(void), const struct wrong *wrongs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pc_image image = image_of(file, bytes);

        make();
        put(file + wrongs[i].at, wrongs[i].bytes, wrongs[i].value);
        assert_string_equal(pc_boot(rig->pc, &image), wrongs[i].says);
    }
}

static void damaged_kernels_are_refused(void **state)
{
    (void)state;
    static const struct wrong elf_wrongs[] = {
        {0, 1, 0x7e, "the kernel is neither a bzImage nor an ELF"},
        {4, 1, 2, "the kernel is not an ELF for 32-bit x86"},
        {18, 2, 62, "the kernel is not an ELF for 32-bit x86"},
        {42, 2, 56, "the kernel's ELF has program headers of a strange size"},
        {28, 4, 4090, "the kernel's ELF program headers are cut off"},
        {28, 4, 0xffffffff, "the kernel's ELF program headers are cut off"},
        {44, 2, 0xffff, "the kernel's ELF program headers are cut off"},
        {44, 2, 0, "the kernel's ELF has nothing to load"},
        {24, 4, 3 * MB, "the entry point of the kernel's ELF is not in what it loads"},
        {52 + 4, 4, 4094, "a segment of the kernel's ELF is cut off"},
        {52 + 4, 4, 0xfffffff0, "a segment of the kernel's ELF is cut off"},
        {52 + 20, 4, 2, "a segment of the kernel's ELF is cut off"},
        {52 + 12, 4, 0x9f000, "a segment of the kernel's ELF lies below 1 MB"},
        {52 + 12, 4, 0xfffffffe,
         "the RAM is too small for the kernel: 4101 MB are needed, there are 32"},
    };
    static const struct wrong bzimage_wrongs[] = {
        {0x1fe, 2, 0, "the kernel is neither a bzImage nor an ELF"},
        {0x206, 2, 0x0209, "the kernel's boot protocol is older than 2.10"},
        {0x211, 1, 0, "the kernel is a zImage, to be loaded below 1 MB"},
        {0x1f1, 1, 200, "the bzImage is cut off"},
        {0x214, 4, 0x10000, "the bzImage asks to be loaded below 1 MB"},
        {0x25c, 4, 0xffffffff,
         "the RAM is too small for the kernel: 17592186040344 MB are needed, there are 32"},
    };
    struct machine_rig rig;
    struct pc_image image = image_of(elf, 40);

    machine_rig_init(&rig);
    expect_refusals(&rig, elf, sizeof elf, make_elf, elf_wrongs,
                    sizeof elf_wrongs / sizeof elf_wrongs[0]);
    expect_refusals(&rig, bzimage, sizeof bzimage, make_bzimage, bzimage_wrongs,
                    sizeof bzimage_wrongs / sizeof bzimage_wrongs[0]);
    make_elf();
    assert_string_equal(pc_boot(rig.pc, &image), "the kernel's ELF header is cut off");
    image = image_of(NULL, 0);
    assert_string_equal(pc_boot(rig.pc, &image), "the kernel is neither a bzImage nor an ELF");
    assert_int_equal(rig.cpu->entry, 0); /* nothing was entered */
    machine_rig_finish(&rig);
}

static void a_command_line_has_its_limit(void **state)
{
    (void)state;
    struct machine_rig rig;
    struct pc_image image = image_of(elf, sizeof elf);
    char line[2049];

    machine_rig_init(&rig);
    make_elf();
    memset(line, 'x', sizeof line);
    line[2048] = '\0';
    image.command_line = line;
    assert_string_equal(pc_boot(rig.pc, &image),
                        "the kernel's command line is longer than 2047 bytes");
    line[2047] = '\0';
    assert_null(pc_boot(rig.pc, &image));
    expect_zero_page(&rig, line);
    machine_rig_finish(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_elf_lies_where_its_segments_say),
        cmocka_unit_test(a_bzimage_lies_at_its_entry_with_its_own_header),
        cmocka_unit_test(an_initrd_lies_as_high_as_it_may),
        cmocka_unit_test(too_little_ram_is_said_in_megabytes),
        cmocka_unit_test(damaged_kernels_are_refused),
        cmocka_unit_test(a_command_line_has_its_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("boot", tests, NULL, NULL);
}
