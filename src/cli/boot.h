/*
 * `halter boot`, for the files that do it: boot.c reads the command line, boot_run.c runs the PC
 * and waits, boot_end.c says how it went.
 */
#ifndef HALTER_CLI_BOOT_H
#define HALTER_CLI_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/boot_command.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "halter/halter.h"

/* Exit statuses of this verb: halter-boot(1). */
enum boot_status {
    BOOT_OFF = 0,
    BOOT_NOT_STARTED = 1,
    BOOT_USAGE = 2,
    BOOT_TRIPLE_FAULT = 3,
    BOOT_RESET = 4,
    BOOT_LEFT = 5,
    BOOT_DIED = 6,
    BOOT_HALTER = 7,
    BOOT_TIMEOUT = 124,
    BOOT_FAILED = 125, /* instead of 1 and 3 to 7, where other statuses are the command's */
};

#define BOOT_STEPS 64

struct boot_disk {
    char *path;
    struct halter_pc_disk pc;
};

struct boot_config {
    const char *kernel, *initrd, *save, *resume;
    char **words; /* of a command to run in the guest; or NULL */
    bool stats, fresh;
    uint32_t restarts;
    struct halter_pc_step steps[BOOT_STEPS];
    struct boot_disk disks[HALTER_PC_DISKS]; /* pc.ndisks of them */
    struct halter_pc_disk pc_disks[HALTER_PC_DISKS];
    struct halter_pc_options pc; /* but for the files and callbacks */
};

/* The snapshot of a guest that waits for a command. Descriptors are -1 where there is none. */
struct guest_cache {
    int folder, fd;
    bool resumed; /* the PC goes on from it */
    char name[64], draft[96];
};

struct boot {
    struct boot_config config;
    struct command command;
    struct guest_cache cache;
    struct halter_host *host;
    struct halter_pc *pc;
    struct terminal terminal;
    struct output output;
    int signals_fd;
    uint8_t keys[4096]; /* typed, and not yet taken by the PC */
    size_t keys_start, keys_count;
    bool over, interrupted;
    bool again; /* the snapshot from the cache does not fit: boot anew */
    int status; /* of this program, when it is over */
};

/* boot_guest.c: sets the kernel, and the initial RAM disk unless it was given; false: said why not.
 */
bool guest_find(struct boot_config *config);
/* Opens the cache, and its snapshot as what to resume if there is one that is safe to use. */
void cache_open(struct boot_config *config, struct guest_cache *cache);
/* A descriptor to save a new one into, -1 where there can be none; and what becomes of it. */
int cache_begin(struct guest_cache *cache);
void cache_end(struct guest_cache *cache, bool keep);
void cache_discard(struct guest_cache *cache);
void cache_close(struct guest_cache *cache);

/* boot_disk.c: reads FILE[,ro][,snapshot]; opens what was read. False: said why not. */
bool disk_option(struct boot_config *config, const char *text);
bool disks_open(struct boot_config *config);
void disks_close(struct boot_config *config);

/* boot_run.c: a status of the command. */
int boot_run(struct boot *boot);

/* boot_end.c */
void boot_print_death(const struct boot *boot, const struct halter_death *death);
void boot_ended(struct boot *boot, const struct halter_pc_end *end);
/* Prints the lines of {"report": […]}. */
void boot_print_report(const char *json);

#endif
