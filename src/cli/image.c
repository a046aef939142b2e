/* image.c: `halter image BZIMAGE ELF` takes the kernel out of a bzImage; see bzimage.h. An ELF is
 * copied as it is, so that a script need not know which of the two it has. */
#include "image.h"

#include "bzimage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *read_all(const char *path, uint8_t **bytes, size_t *count)
{
    FILE *file = fopen(path, "rbe");
    size_t room = 1 << 20, n;

    if (!file)
        return strerror(errno);
    *count = 0;
    *bytes = malloc(room);
    while (*bytes && (n = fread(*bytes + *count, 1, room - *count, file)) > 0) {
        *count += n;
        if (*count < room)
            continue;
        uint8_t *more = realloc(*bytes, room *= 2);
        if (!more)
            free(*bytes);
        *bytes = more;
    }
    const char *wrong = !*bytes        ? "there is no memory for it"
                        : ferror(file) ? strerror(errno)
                                       : NULL;
    fclose(file);
    if (wrong)
        free(*bytes);
    return wrong;
}

/* Under another name first: whoever sees the file sees all of it. */
static const char *write_all(const char *path, const uint8_t *bytes, size_t count)
{
    char *temporary;
    FILE *file;
    const char *wrong = NULL;

    if (asprintf(&temporary, "%s.%ld", path, (long)getpid()) < 0)
        return "there is no memory";
    file = fopen(temporary, "wbxe");
    if (!file || fwrite(bytes, 1, count, file) != count)
        wrong = strerror(errno);
    if (file && fclose(file) != 0 && !wrong)
        wrong = strerror(errno);
    if (!wrong && rename(temporary, path) != 0)
        wrong = strerror(errno);
    if (wrong && file)
        unlink(temporary);
    free(temporary);
    return wrong;
}

static int complain(const char *path, const char *wrong)
{
    fprintf(stderr, "halter image: %s: %s\n", path, wrong);
    return 1;
}

int halter_image_main(int argc, char **argv)
{
    uint8_t *image = NULL, *elf = NULL;
    size_t bytes = 0, elf_bytes;
    const char *wrong;

    if (argc != 3) {
        fprintf(stderr, "usage: halter image BZIMAGE ELF\n");
        return 2;
    }
    wrong = read_all(argv[1], &image, &bytes);
    if (wrong)
        return complain(argv[1], wrong);
    if (bytes > 4 && memcmp(image, "\177ELF", 4) == 0)
        wrong = write_all(argv[2], image, bytes);
    else if ((wrong = bzimage_unpack(image, bytes, &elf, &elf_bytes)) != NULL)
        argv[2] = argv[1]; /* the fault is the input's */
    else
        wrong = write_all(argv[2], elf, elf_bytes);
    free(elf);
    free(image);
    return wrong ? complain(argv[2], wrong) : 0;
}
