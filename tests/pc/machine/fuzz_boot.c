/* fuzz_boot.c: any bytes as a kernel, an initrd and a command line. The first byte says how they
 * are cut. What is loaded must lie in the RAM: the sanitizer watches its edges. */
#include "script_cpu.h"

#include "pc/pc.h"

#include <stdlib.h>
#include <string.h>

#define RAM (2u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pc_config config = {0};
    struct pc_ports ports = {.ram_bytes = RAM};
    static void *memory;
    char line[64] = "";
    struct pc_image image = {.command_line = line};
    size_t cut;

    if (size < 2)
        return 0;
    if (!memory)
        memory = aligned_alloc(64, (pc_bytes(RAM) + 63) & ~(size_t)63);
    ports.ram = malloc(RAM); /* of its own, so that a byte beyond it is seen */
    if (!memory || !ports.ram)
        abort();
    memset(ports.ram, 0xaa, RAM);
    struct pc *pc = pc_init(memory, &config, &ports);
    cut = size * data[0] / 256;
    memcpy(line, data + 1, size - 1 < sizeof line - 1 ? size - 1 : sizeof line - 1);
    image.kernel = data + 1;
    image.kernel_bytes = size - 1 - cut < size ? size - 1 - cut : 0;
    image.initrd = data + 1 + image.kernel_bytes;
    image.initrd_bytes = size - 1 - image.kernel_bytes;
    pc_boot(pc, &image);
    free(ports.ram);
    return 0;
}
