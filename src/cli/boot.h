/*
 * `halter boot`, for the files that do it: boot.c reads the command line, boot_run.c runs the PC
 * and waits, boot_end.c says how it went.
 */
#ifndef HALTER_CLI_BOOT_H
#define HALTER_CLI_BOOT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/buffer.h"
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
};

#define BOOT_STEPS 64

struct boot_config {
    const char *kernel, *initrd, *save, *resume;
    bool stats;
    struct halter_pc_step steps[BOOT_STEPS];
    struct halter_pc_options pc; /* but for the files and callbacks */
};

struct boot {
    struct boot_config config;
    struct halter_host *host;
    struct halter_pc *pc;
    struct terminal terminal;
    struct output output;
    int signals_fd;
    uint8_t keys[4096]; /* typed, and not yet taken by the PC */
    size_t keys_start, keys_count;
    bool over;
    int status; /* of the command, when it is over */
};

/* boot_run.c: a status of the command. */
int boot_run(struct boot *boot);

/* boot_end.c */
void boot_ended(struct boot *boot, const struct halter_pc_end *end);
/* Prints the lines of {"report": […]}. */
void boot_print_report(const char *json);

#endif
