/* image.c: the kernel comes out of a bzImage whole, whichever of the compressions it is in, and
 * what is damaged is refused with a reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those four before it */

#include "cli/bzimage.h"

#include <lz4.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { ELF = 300000, TAIL = 5000, SETUP = 5 * 512, OFFSET = 0x40 };

static uint8_t kernel[ELF + TAIL]; /* the ELF, and a table behind it as kernels have */

static void put(uint8_t *at, unsigned bytes, uint32_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* An ELF of one segment that ends where the file ends, of bytes that compress a little. */
static int make_kernel(void **state)
{
    uint32_t x = 1;

    (void)state;
    for (size_t i = 0; i < sizeof kernel; i++) {
        x = x * 1664525 + 1013904223;
        kernel[i] = x >> 30 ? (uint8_t)(x >> 24) : 0;
    }
    memset(kernel, 0, 84);
    memcpy(kernel, "\177ELF\1\1\1", 7);
    put(kernel + 28, 4, 52); /* program headers: one */
    put(kernel + 42, 2, 32);
    put(kernel + 44, 2, 1);
    put(kernel + 52, 4, 1);
    put(kernel + 52 + 4, 4, 4096);
    put(kernel + 52 + 16, 4, ELF - 4096);
    return 0;
}

struct image {
    uint8_t bytes[SETUP + OFFSET + 2 * sizeof kernel];
    size_t payload, count;
};

static void begin(struct image *image)
{
    memset(image->bytes, 0, SETUP + OFFSET);
    image->bytes[0x1f1] = SETUP / 512 - 1;
    put(image->bytes + 0x1fe, 2, 0xaa55);
    memcpy(image->bytes + 0x202, "HdrS", 4);
    put(image->bytes + 0x206, 2, 0x020f);
    put(image->bytes + 0x248, 4, OFFSET);
    image->payload = SETUP + OFFSET;
}

static void finish(struct image *image, size_t compressed, bool append_size)
{
    if (append_size) {
        put(image->bytes + image->payload + compressed, 4, sizeof kernel);
        compressed += 4;
    }
    put(image->bytes + 0x24c, 4, (uint32_t)compressed);
    image->count = image->payload + compressed + 100; /* a checksum and padding follow */
}

static size_t room(const struct image *image)
{
    return sizeof image->bytes - image->payload - 200;
}

static void pack_gzip(struct image *image)
{
    z_stream stream = {.next_in = kernel, .avail_in = sizeof kernel};

    begin(image);
    stream.next_out = image->bytes + image->payload;
    stream.avail_out = (uInt)room(image);
    assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 16 + 15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    finish(image, stream.total_out, false);
    deflateEnd(&stream);
}

static void pack_xz(struct image *image)
{
    size_t at = 0;

    begin(image);
    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, kernel, sizeof kernel,
                                             image->bytes + image->payload, &at, room(image)),
                     LZMA_OK);
    finish(image, at, true);
}

static void pack_zstd(struct image *image)
{
    size_t n;

    begin(image);
    n = ZSTD_compress(image->bytes + image->payload, room(image), kernel, sizeof kernel, 19);
    assert_false(ZSTD_isError(n));
    finish(image, n, true);
}

/* Two blocks, as `lz4 -l` makes of a file larger than its block. */
static void pack_lz4(struct image *image)
{
    static const uint8_t magic[4] = {0x02, 0x21, 0x4c, 0x18};
    size_t at = 4, first = 100000;
    uint8_t *to;

    begin(image);
    to = image->bytes + image->payload;
    memcpy(to, magic, sizeof magic);
    for (int i = 0; i < 2; i++) {
        const char *from = (const char *)kernel + (i ? first : 0);
        int bytes = (int)(i ? sizeof kernel - first : first);
        int n = LZ4_compress_default(from, (char *)to + at + 4, bytes, (int)(room(image) - at));

        assert_true(n > 0);
        put(to + at, 4, (uint32_t)n);
        at += 4 + (size_t)n;
    }
    finish(image, at, true);
}

static void (*const packs[])(struct image *) = {pack_gzip, pack_xz, pack_zstd, pack_lz4};

static void every_compression_gives_the_same_kernel(void **state)
{
    (void)state;
    static struct image image;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t *elf;
        size_t bytes;

        packs[i](&image);
        assert_null(bzimage_unpack(image.bytes, image.count, &elf, &bytes));
        assert_int_equal(bytes, ELF); /* without what follows it */
        assert_memory_equal(elf, kernel, ELF);
        free(elf);
    }
}

static void damage_is_refused(void **state)
{
    (void)state;
    static struct image image;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t *elf = NULL;
        size_t bytes;

        packs[i](&image);
        put(image.bytes + image.payload + 200, 4, 0xffffffff);
        put(image.bytes + image.payload + 2000, 4, 0xffffffff);
        if (!bzimage_unpack(image.bytes, image.count, &elf, &bytes)) {
            /* zstd and lz4 come without a checksum: literals change unseen, but never the size */
            assert_true(i >= 2);
            free(elf);
        }
        packs[i](&image);
        put(image.bytes + image.count - 104, 4, 150000); /* a size that is not its own */
        assert_non_null(bzimage_unpack(image.bytes, image.count, &elf, &bytes));
        packs[i](&image);
        assert_non_null(bzimage_unpack(image.bytes, image.count / 2, &elf, &bytes));
    }
}

static void what_is_no_kernel_is_said_to_be_none(void **state)
{
    (void)state;
    static struct image image;
    uint8_t *elf;
    size_t bytes;

    pack_gzip(&image);
    assert_string_equal(bzimage_unpack(kernel, sizeof kernel, &elf, &bytes), "it is not a bzImage");
    assert_string_equal(bzimage_unpack(image.bytes, 0x240, &elf, &bytes), "it is not a bzImage");
    put(image.bytes + 0x206, 2, 0x0207);
    assert_string_equal(bzimage_unpack(image.bytes, image.count, &elf, &bytes),
                        "its boot protocol is older than 2.08");
    pack_gzip(&image);
    image.bytes[image.payload] = 'B';
    assert_string_equal(bzimage_unpack(image.bytes, image.count, &elf, &bytes),
                        "its compression is none of gzip, xz, zstd and lz4");
    pack_gzip(&image);
    put(image.bytes + 0x248, 4, 0xfffffff0);
    assert_string_equal(bzimage_unpack(image.bytes, image.count, &elf, &bytes), "it is cut off");
    kernel[0] = 0;
    pack_xz(&image);
    kernel[0] = 0x7f;
    assert_string_equal(bzimage_unpack(image.bytes, image.count, &elf, &bytes),
                        "what it holds is not an ELF");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_compression_gives_the_same_kernel),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(what_is_no_kernel_is_said_to_be_none),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("image", tests, make_kernel, NULL);
}
