/*
 * Runs a fuzz target over the files of a folder, each once: what was found stays found.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int run(const char *folder, const char *name)
{
    char path[4096];
    static uint8_t bytes[1 << 20];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    size_t length = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    /* In a block of its own size, so that a sanitizer sees a byte too many. */
    uint8_t *exact = malloc(length ? length : 1);
    for (size_t i = 0; i < length; i++)
        exact[i] = bytes[i];
    LLVMFuzzerTestOneInput(exact, length);
    free(exact);
    return 1;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    struct dirent *entry;
    int count = 0;
    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.' && run(argv[1], entry->d_name))
            printf("ok %d - %s\n", ++count, entry->d_name);
    if (dir)
        closedir(dir);
    printf("1..%d\n", count);
    return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
