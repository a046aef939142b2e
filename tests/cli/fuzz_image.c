/* fuzz_image.c: any bytes as a bzImage, and as what each of the compressions unpacks. */
#include "cli/bzimage.h"
#include "cli/unpack.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *elf = NULL, *to = malloc(1 << 16);
    size_t bytes, room = 1 << 16;

    if (!to)
        abort();
    if (!bzimage_unpack(data, size, &elf, &bytes))
        free(elf);
    unpack(data, size, to, &room);
    free(to);
    return 0;
}
