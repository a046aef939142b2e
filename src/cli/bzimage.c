/* bzimage.c: see bzimage.h. Offsets are those of Linux Documentation/x86/boot.rst. */
#include "cli/bzimage.h"

#include "cli/unpack.h"

#include <stdlib.h>
#include <string.h>

enum {
    SETUP_SECTS = 0x1f1,
    BOOT_FLAG = 0x1fe,
    MAGIC = 0x202,
    VERSION = 0x206,
    PAYLOAD_OFFSET = 0x248,
    PAYLOAD_LENGTH = 0x24c,
    HEADER_END = 0x250,
};

#define HEADER_MAGIC 0x53726448u /* "HdrS" */
#define LARGEST      (256u << 20)

static uint32_t get(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

/* Where the compressed kernel is. The setup header tells since protocol 2.08. */
static const char *find_payload(const uint8_t *image, size_t bytes, const uint8_t **payload,
                                size_t *count)
{
    size_t setup, offset, length;

    if (bytes < HEADER_END || get(image + BOOT_FLAG, 2) != 0xaa55 ||
        get(image + MAGIC, 4) != HEADER_MAGIC)
        return "it is not a bzImage";
    if (get(image + VERSION, 2) < 0x0208)
        return "its boot protocol is older than 2.08";
    setup = (size_t)((image[SETUP_SECTS] ? image[SETUP_SECTS] : 4) + 1) * 512;
    offset = get(image + PAYLOAD_OFFSET, 4);
    length = get(image + PAYLOAD_LENGTH, 4);
    if (setup > bytes || offset > bytes - setup || length > bytes - setup - offset || length < 8)
        return "it is cut off";
    *payload = image + setup + offset;
    *count = length;
    return NULL;
}

/* The kernel's build puts tables of its own behind the ELF: where the ELF itself ends. */
static size_t elf_end(const uint8_t *elf, size_t bytes)
{
    enum { EHDR = 52, PHDR = 32, SHDR = 40 };
    size_t end = EHDR, table;

    if (bytes < EHDR || elf[4] != 1)
        return bytes;
    table = get(elf + 28, 4);
    for (unsigned i = 0; i < get(elf + 44, 2); i++, table += PHDR) {
        if (table > bytes || bytes - table < PHDR)
            return bytes;
        if ((size_t)get(elf + table + 4, 4) + get(elf + table + 16, 4) > end)
            end = (size_t)get(elf + table + 4, 4) + get(elf + table + 16, 4);
    }
    table = get(elf + 32, 4);
    if (table && table + (size_t)get(elf + 48, 2) * SHDR > end)
        end = table + (size_t)get(elf + 48, 2) * SHDR;
    return end < bytes ? end : bytes;
}

const char *bzimage_unpack(const uint8_t *image, size_t bytes, uint8_t **elf, size_t *elf_bytes)
{
    const uint8_t *payload;
    size_t count, size;
    const char *wrong = find_payload(image, bytes, &payload, &count);

    if (wrong)
        return wrong;
    size = get(payload + count - 4, 4); /* the unpacked length stands behind every format */
    if (size < 64 || size > LARGEST)
        return "the size it gives for its kernel is not believable";
    *elf = malloc(size);
    if (!*elf)
        return "there is no memory for its kernel";
    wrong = unpack(payload, count, *elf, &size);
    if (!wrong && (size < 64 || memcmp(*elf, "\177ELF", 4) != 0))
        wrong = "what it holds is not an ELF";
    if (wrong) {
        free(*elf);
        *elf = NULL;
        return wrong;
    }
    *elf_bytes = elf_end(*elf, size);
    return NULL;
}
