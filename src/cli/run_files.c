/*
 * The files that a run writes: results, dead letters and figures. All are opened before the first
 * record is read, so that a place that cannot be written costs nothing; and none may be one that
 * the run reads, because opening it would destroy what is still to be read.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/run.h"
#include "cli/say.h"

#define STANDARD_INPUT  "/dev/stdin"
#define STANDARD_OUTPUT "/dev/stdout"

enum { OUTPUTS = 3 };

/* Whether two names lead to one file that keeps what is written: devices and pipes may be shared. */
static bool same_file(const char *a, const char *b)
{
    struct stat first, second;
    if (stat(a, &first) < 0)
        return strcmp(a, b) == 0; /* one that both would make */
    return stat(b, &second) == 0 && S_ISREG(first.st_mode) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

static bool is_read(const struct run_config *config, const char *path)
{
    if (same_file(path, config->plugin))
        return true;
    for (unsigned i = 0; i < config->ninputs; i++) {
        bool standard = strcmp(config->inputs[i], "-") == 0;
        if (same_file(path, standard ? STANDARD_INPUT : config->inputs[i]))
            return true;
    }
    return false;
}

bool run_files_differ(const struct run_config *config)
{
    const char *outputs[OUTPUTS] = {
        config->output_path ? config->output_path : STANDARD_OUTPUT,
        config->dead_letter_path,
        config->stats_path,
    };
    for (int i = 0; i < OUTPUTS; i++) {
        if (!outputs[i])
            continue;
        const char *name = i == 0 && !config->output_path ? "<stdout>" : outputs[i];
        if (is_read(config, outputs[i])) {
            say("%s: would be read and written at the same time: name another file", name);
            return false;
        }
        for (int j = 0; j < i; j++)
            if (outputs[j] && same_file(outputs[i], outputs[j])) {
                say("%s: would be written twice at the same time: name another file", name);
                return false;
            }
    }
    return true;
}

static bool open_text(FILE **file, const char *path)
{
    if (!path)
        return true;
    *file = fopen(path, "we");
    if (!*file)
        say("%s: %s", path, strerror(errno));
    return *file;
}

bool run_open_files(struct run *run)
{
    const struct run_config *config = &run->config;
    return open_text(&run->stats, config->stats_path) &&
           open_text(&run->dead_letter, config->dead_letter_path) &&
           output_open(&run->output, config->output_path);
}

bool run_write_file(FILE **file, const char *path, const struct buffer *text)
{
    if (fwrite(text->bytes, 1, text->used, *file) == text->used && fflush(*file) == 0)
        return true;
    say("%s: %s", path, strerror(errno));
    fclose(*file); /* one message is enough: it is not tried again */
    *file = NULL;
    return false;
}

bool run_close_file(FILE **file, const char *path)
{
    bool fine = !*file || fclose(*file) == 0;
    if (!fine)
        say("%s: %s", path, strerror(errno));
    *file = NULL;
    return fine;
}
