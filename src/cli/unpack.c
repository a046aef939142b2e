/* unpack.c: see unpack.h. Every format is known by its first bytes. */
#include "cli/unpack.h"

#include <lz4.h>
#include <lzma.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define XZ_MEMORY (UINT64_C(1) << 30) /* a dictionary larger than this is not a kernel's */

static const char *unpack_gzip(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)bytes,
                       .avail_in = (uInt)count,
                       .next_out = to,
                       .avail_out = (uInt)*to_bytes};
    int status;

    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return "zlib cannot begin";
    status = inflate(&stream, Z_FINISH);
    *to_bytes = stream.total_out;
    inflateEnd(&stream);
    return status == Z_STREAM_END ? NULL : "its gzip stream is damaged or larger than it says";
}

static const char *unpack_xz(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes)
{
    uint64_t memory = XZ_MEMORY;
    size_t from_at = 0, to_at = 0;
    lzma_ret status =
        lzma_stream_buffer_decode(&memory, 0, NULL, bytes, &from_at, count, to, &to_at, *to_bytes);

    *to_bytes = to_at;
    return status == LZMA_OK ? NULL : "its xz stream is damaged or larger than it says";
}

static const char *unpack_zstd(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes)
{
    size_t frame = ZSTD_findFrameCompressedSize(bytes, count), written;

    if (ZSTD_isError(frame))
        return "its zstd frame is damaged";
    written = ZSTD_decompress(to, *to_bytes, bytes, frame);
    if (ZSTD_isError(written))
        return "its zstd frame is damaged or larger than it says";
    *to_bytes = written;
    return NULL;
}

static uint32_t get_32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The format of `lz4 -l`: after the magic, blocks of a length and its bytes, without an end mark:
 * it ends when as much has come out as was announced. */
static const char *unpack_lz4(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes)
{
    size_t at = 4, done = 0;

    while (done < *to_bytes && count - at >= 4) {
        uint32_t block = get_32(bytes + at);
        size_t room = *to_bytes - done;
        int written;

        at += 4;
        if (block > count - at || block > LZ4_MAX_INPUT_SIZE)
            return "its lz4 blocks are cut off";
        written = LZ4_decompress_safe((const char *)bytes + at, (char *)to + done, (int)block,
                                      room > LZ4_MAX_INPUT_SIZE ? LZ4_MAX_INPUT_SIZE : (int)room);
        if (written < 0)
            return "an lz4 block of it is damaged or larger than it says";
        at += block;
        done += (size_t)written;
    }
    *to_bytes = done;
    return NULL;
}

static const struct format {
    const char *name;
    uint8_t magic[6];
    uint8_t magic_bytes;
    const char *(*unpack)(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes);
} formats[] = {
    {"gzip", {0x1f, 0x8b, 0x08}, 3, unpack_gzip},
    {"xz", {0xfd, '7', 'z', 'X', 'Z', 0x00}, 6, unpack_xz},
    {"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, unpack_zstd},
    {"lz4", {0x02, 0x21, 0x4c, 0x18}, 4, unpack_lz4},
};

static const struct format *find(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (count > formats[i].magic_bytes &&
            memcmp(bytes, formats[i].magic, formats[i].magic_bytes) == 0)
            return &formats[i];
    return NULL;
}

const char *unpack_format(const uint8_t *bytes, size_t count)
{
    const struct format *format = find(bytes, count);

    return format ? format->name : NULL;
}

const char *unpack(const uint8_t *bytes, size_t count, uint8_t *to, size_t *to_bytes)
{
    const struct format *format = find(bytes, count);

    if (!format)
        return "its compression is none of gzip, xz, zstd and lz4";
    if (count > UINT32_MAX || *to_bytes > UINT32_MAX)
        return "it is larger than 4 GB";
    return format->unpack(bytes, count, to, to_bytes);
}
