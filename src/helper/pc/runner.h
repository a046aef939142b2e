/* runner.h: boots a PC and runs it slice by slice until it ends or the host says so.
 *
 * The loop knows a console and a clock only as functions: the same loop serves a terminal, a
 * script, and a helper whose console is a stream. */
#ifndef HALTER_RUNNER_H
#define HALTER_RUNNER_H

#include "pc/pace.h"

struct runner_host {
    void *opaque;
    uint64_t (*now_ns)(void *opaque); /* a clock that only goes forward */
    void (*console_out)(void *opaque, unsigned uart, uint8_t byte); /* inside a slice */
    void (*log)(void *opaque, enum pc_log level, const char *text);
    /* A request of a disk: see struct pc_ports. */
    void (*block)(void *opaque, struct pc *pc, unsigned disk,
                  const struct pc_block_request *request);
    /* Between two slices. Takes no longer than `nap_ns` (0: not at all; UINT64_MAX: until
     * something comes) to hand over what has come in with pc_console_in. False ends the run. */
    bool (*attend)(void *opaque, struct pc *pc, uint64_t nap_ns);
};

struct runner_config {
    struct pc_config pc;
    struct pc_image image;          /* its kernel may be NULL where a snapshot is resumed */
    const struct pc_reader *resume; /* the snapshot to go on from, in place of a boot, or NULL */
    uint8_t *ram;                   /* borrowed, zeroed */
    uint32_t ram_bytes;
    uint32_t icount_q16;  /* 0: real time */
    uint64_t slice_insns; /* of deterministic slices; 0: the pace's own length */
    bool no_reboot;
};

struct runner_stats {
    uint64_t slices, boots, slept_ns, lost_ns;
};

struct runner {
    struct pc *pc;
    const struct runner_config *config;
    struct runner_host host;
    struct pace pace;
    struct runner_stats stats;
    void *memory;
};

/* Makes the machine and loads the kernel, or the snapshot. NULL when done; otherwise what is wrong,
 * in a sentence that lives until runner_destroy. Borrows `config` and what it points to. */
const char *runner_init(struct runner *runner, const struct runner_config *config,
                        const struct runner_host *host);

/* Runs until the guest ends (PC_OFF, PC_SHUTDOWN, or PC_RESET with no_reboot) or attend says so
 * (PC_PAUSED). */
enum pc_stop runner_run(struct runner *runner);

void runner_destroy(struct runner *runner);

#endif
