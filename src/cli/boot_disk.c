/*
 * `halter boot --disk FILE[,ro][,snapshot]`: what the option says, and the files. A disk that may
 * be written to is locked: two machines that write to one file system destroy it.
 */
#include "cli/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/say.h"

/* Takes `word` off the end of a name. */
static bool take_suffix(char *name, const char *word)
{
    size_t length = strlen(name), ends = strlen(word);

    if (length <= ends || strcmp(name + length - ends, word) != 0)
        return false;
    name[length - ends] = '\0';
    return true;
}

bool disk_option(struct boot_config *config, const char *text)
{
    struct boot_disk *disk = &config->disks[config->pc.ndisks];

    if (config->pc.ndisks == HALTER_PC_DISKS) {
        say("more than %d --disk", HALTER_PC_DISKS);
        return false;
    }
    *disk = (struct boot_disk){.path = strdup(text)};
    if (!disk->path)
        die_without_memory();
    for (;;) {
        if (take_suffix(disk->path, ",ro"))
            disk->pc.read_only = true;
        else if (take_suffix(disk->path, ",snapshot"))
            disk->pc.keep = true;
        else
            break;
    }
    disk->pc.fd = -1;
    config->pc.ndisks++;
    return true;
}

static bool open_disk(struct boot_disk *disk)
{
    bool writes = !disk->pc.read_only && !disk->pc.keep;

    disk->pc.fd = open(disk->path, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOCTTY);
    if (disk->pc.fd < 0) {
        say("%s: %s%s", disk->path, strerror(errno),
            writes && (errno == EACCES || errno == EROFS)
                ? " (with ,ro or ,snapshot behind its name it is not written to)"
                : "");
        return false;
    }
    if (flock(disk->pc.fd, (writes ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return true;
    say("%s: it is in use by another PC%s", disk->path,
        writes ? "" : ", which writes to it");
    return false;
}

/* A file without a name, where what it holds is not memory if possible. */
static bool open_overlay(int *fd)
{
    const char *folder = getenv("TMPDIR");
    char name[4096];

    folder = folder && *folder ? folder : "/var/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0 && snprintf(name, sizeof name, "%s/halter-XXXXXX", folder) < (int)sizeof name) {
        *fd = mkostemp(name, O_CLOEXEC);
        if (*fd >= 0)
            unlink(name);
    }
    if (*fd < 0)
        say("%s: no file for what the disks keep: %s", folder, strerror(errno));
    return *fd >= 0;
}

/* What is written after a snapshot belongs to that snapshot: a machine that goes on from one leaves
 * the file as it is. */
bool disks_open(struct boot_config *config)
{
    bool writes = false;

    for (unsigned i = 0; i < config->pc.ndisks; i++) {
        struct boot_disk *disk = &config->disks[i];

        if (config->resume)
            disk->pc.keep = true;
        if (!open_disk(disk))
            return false;
        writes |= !disk->pc.read_only;
        config->pc_disks[i] = disk->pc;
    }
    config->pc.disks = config->pc_disks;
    return !writes || open_overlay(&config->pc.overlay_fd);
}

void disks_close(struct boot_config *config)
{
    for (unsigned i = 0; i < config->pc.ndisks; i++) {
        if (config->disks[i].pc.fd >= 0)
            close(config->disks[i].pc.fd);
        free(config->disks[i].path);
    }
    if (config->pc.overlay_fd >= 0)
        close(config->pc.overlay_fd);
}
