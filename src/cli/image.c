/* image.c: `halter image BZIMAGE ELF` takes the kernel out of a bzImage; see bzimage.h. An ELF is
 * copied as it is, so that a script need not know which of the two it has. */
#include "cli/bzimage.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_MAX (512u << 20) /* with all that debugging puts in */

static const char *read_all(const char *path, uint8_t **bytes, size_t *count)
{
    FILE *file = fopen(path, "rbe");
    size_t room = 1 << 20, n;
    const char *wrong = NULL;

    if (!file)
        return strerror(errno);
    *count = 0;
    *bytes = malloc(room);
    if (!*bytes)
        die_without_memory();
    while (!wrong && (n = fread(*bytes + *count, 1, room - *count, file)) > 0) {
        *count += n;
        if (*count == IMAGE_MAX) {
            wrong = "it is larger than 512 MiB, which no kernel is";
        } else if (*count == room) {
            *bytes = realloc(*bytes, room *= 2);
            if (!*bytes)
                die_without_memory();
        }
    }
    if (!wrong && ferror(file))
        wrong = strerror(errno);
    fclose(file);
    return wrong;
}

/* Takes the file, which is NULL when it could not be opened. */
static const char *put(FILE *file, const uint8_t *bytes, size_t count)
{
    const char *wrong = NULL;

    if (!file || fwrite(bytes, 1, count, file) != count)
        wrong = strerror(errno);
    if (file && fclose(file) != 0 && !wrong)
        wrong = strerror(errno);
    return wrong;
}

/* Under another name first: whoever sees the file sees all of it. A link stays one, and what is no
 * file (a device, a pipe) is written to: a rename would put a file in its place. */
static const char *write_all(const char *path, const uint8_t *bytes, size_t count)
{
    char *temporary, *real;
    struct stat status;
    const char *wrong;
    FILE *file;

    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return put(fopen(path, "wbe"), bytes, count);
    real = realpath(path, NULL);
    if (asprintf(&temporary, "%s.%ld", real ? real : path, (long)getpid()) < 0)
        die_without_memory();
    file = fopen(temporary, "wbxe");
    wrong = put(file, bytes, count);
    if (!wrong && rename(temporary, real ? real : path) != 0)
        wrong = strerror(errno);
    if (wrong && file)
        unlink(temporary);
    free(temporary);
    free(real);
    return wrong;
}

static const struct option_spec image_options[] = {{NULL}};

static int image_main(const struct verb *verb, int argc, char **argv)
{
    struct options options;
    uint8_t *image = NULL, *elf = NULL;
    size_t bytes = 0, elf_bytes = 0;
    const char *wrong, *from, *to, *at_fault;
    int option;

    options_start(&options, verb->options, argc, argv);
    while ((option = options_next(&options)) != OPTIONS_END) {
        if (option != OPTIONS_HELP)
            return EXIT_USAGE;
        options_help(verb);
        return EXIT_OK;
    }
    if (options.noperands != 2) {
        say("a bzImage to read and an ELF to write are needed; --help tells more");
        return EXIT_USAGE;
    }
    at_fault = from = options.operands[0];
    to = options.operands[1];
    wrong = read_all(from, &image, &bytes);
    if (!wrong && (bytes < 4 || memcmp(image, "\177ELF", 4) != 0))
        wrong = bzimage_unpack(image, bytes, &elf, &elf_bytes);
    if (!wrong) {
        at_fault = to;
        wrong = elf ? write_all(to, elf, elf_bytes) : write_all(to, image, bytes);
    }
    free(elf);
    free(image);
    if (wrong)
        say("%s: %s", at_fault, wrong);
    return wrong ? EXIT_IO : EXIT_OK;
}

const struct verb image_verb = {
    .name = "image",
    .summary = "take the kernel out of a bzImage",
    .synopsis = "BZIMAGE ELF",
    .description = "Writes the ELF that a Linux bzImage unpacks when it boots (gzip, xz, zstd or\n"
                   "lz4), so that a PC which boots it starts with the kernel itself.",
    .options = image_options,
    .main = image_main,
};
