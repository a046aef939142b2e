/*
 * The seam between the helper's loop and what runs the guest.
 *
 * The loop owns the socket, the confinement and the order of frames; an engine owns the guest. An
 * engine never touches the socket: it asks for what it needs with the helper_…() functions below.
 * It is begun (load, call), and while it waits for something it is told of answers and of time.
 */
#ifndef HALTER_HELPER_ENGINE_H
#define HALTER_HELPER_ENGINE_H

#include "helper/helper.h"
#include "wire/body.h"
#include "wire/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct helper; /* the loop, as an engine sees it */
struct engine; /* one guest, as the loop sees it: each engine defines its own */

/* What a load or a call came to. Everything in it is the engine's and lives until its next call. */
struct engine_outcome {
    uint8_t type;     /* WIRE_LOADED, WIRE_VALUE, WIRE_UNDEFINED or WIRE_ERROR */
    const char *json; /* VALUE */
    size_t json_bytes;
    struct wire_error error; /* ERROR */
};

/* The host's answer to a reverse call. Its texts are borrowed, and gone when the helper receives.
 */
struct engine_answer {
    uint64_t id;
    bool refused;
    const char *json; /* when it is not refused */
    size_t json_bytes;
    struct wire_error error; /* when it is */
    unsigned nfds;
    int fds[WIRE_MAX_FDS]; /* owned by whoever the answer is handed to */
};

enum engine_state {
    ENGINE_DONE,  /* *outcome is filled */
    ENGINE_WAITS, /* for an answer, or for the time that due_ns() says */
};

#define ENGINE_NEVER UINT64_MAX

struct engine_type {
    const char *(*name)(void); /* and version, for the hello: at most 24 bytes */
    /* Makes the engine; NULL when it cannot be had. Called between the layers of confinement. */
    struct engine *(*create)(struct helper *helper, const struct helper_start *start);
    void (*destroy)(struct engine *engine); /* NULL is fine */
    /* After the hello, while nobody may be waiting: what makes a first load and call quicker, and
       leaves no trace that a guest could see. NULL: nothing does. */
    void (*warm)(struct engine *engine);
    /* Each begins something; the texts are borrowed, and gone as soon as the helper receives. */
    enum engine_state (*load)(struct engine *engine, const struct wire_load *load,
                              struct engine_outcome *outcome);
    enum engine_state (*call)(struct engine *engine, const struct wire_call *call, const int *fds,
                              unsigned nfds, struct engine_outcome *outcome); /* owns the fds */
    /* Told while it waits. */
    enum engine_state (*answer)(struct engine *engine, const struct engine_answer *answer,
                                struct engine_outcome *outcome);
    enum engine_state (*wake)(struct engine *engine, struct engine_outcome *outcome);
    /* When it wants to be woken, in ns of CLOCK_MONOTONIC, or ENGINE_NEVER. */
    uint64_t (*due_ns)(struct engine *engine);
    /* Nothing is left that could settle what it waits for: ends it with an outcome. */
    void (*give_up)(struct engine *engine, struct engine_outcome *outcome);
};

/* ---- what the loop does for an engine ------------------------------------------------------- */

/*
 * Sends a reverse call and returns its id. Does not return when the host is gone. `wait` tells the
 * host that the guest itself is blocked until the answer comes.
 */
uint64_t helper_request(struct helper *helper, const char *name, size_t name_bytes,
                        const char *json, size_t json_bytes, bool wait);
/* Blocks until the answer to `id` is there; give it back with helper_answer_finish(). */
void helper_wait_answer(struct helper *helper, uint64_t id, struct engine_answer *answer);
void helper_answer_finish(struct engine_answer *answer);
/* Sends a line of the guest's log, at most what one frame takes. */
void helper_log(struct helper *helper, enum wire_level level, const char *text, size_t bytes,
                uint32_t dropped);
/* The largest body that may be sent. */
uint32_t helper_cap(const struct helper *helper);
uint64_t helper_now_ns(void); /* CLOCK_MONOTONIC */

/* How many passed files a guest may have open, and what else may be: the engine's, those in flight.
 */
static inline unsigned helper_max_files(const struct helper_start *start)
{
    return start->profile.max_fds ? start->profile.max_fds : 64;
}
#define HELPER_OWN_FILES 64

/*
 * The helper with this engine: helper_main() for those who bring an engine of their own. The
 * result is an exit status.
 */
int helper_serve(const struct helper_start *start, const struct engine_type *type,
                 enum wire_helper_kind kind);

#endif
