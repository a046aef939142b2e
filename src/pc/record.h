/* record.h: a run written down, and run again bit for bit.
 *
 * A run is a function of what goes in: the state it begins with, the budget of each slice (which is
 * how fast time went) and what the pc_*_in functions brought, each at its moment. A recording holds
 * these and nothing else:
 *
 *     header    "halterRc", u32 format, u32 model, u64 bytes of RAM
 *     entries   a byte that says which, and numbers of seven bits a byte, the lowest first
 *
 * The first entry is a state, and so is what follows each boot: a recording needs no other file. An
 * input's moment is how many effects (calls of ports during which something may come in) its slice
 * had had, or 0 between two slices. Replayed natively or as wasm, the machine cannot tell the
 * difference. */
#ifndef PC_RECORD_H
#define PC_RECORD_H

#include "pc.h"

#define REPLAY_INPUT                                                                               \
    4096 /* bytes that come in at once, at most: what a serial port's wire holds                   \
          */

/* Writes down the run from here on. The writer must stay until pc_record_end. False when it
 * refuses. */
bool pc_record_begin(struct pc *pc, struct pc_writer out);
/* Writes how the run ended. False when the writer has refused anything. */
bool pc_record_end(struct pc *pc);

/* Reads which machine a recording is of. NULL, or what is wrong. */
const char *pc_replay_open(struct pc_reader in, enum pc_model *model, uint32_t *ram_bytes);

struct replay_entry {
    unsigned kind;   /* enum record_kind */
    uint64_t moment; /* of inputs */
    struct pc_budget budget;
    uint64_t insns, hash; /* of the end */
    unsigned port, buttons;
    int dx, dy;
    size_t count;
    uint8_t bytes[REPLAY_INPUT];
};

struct pc_replay {
    struct pc *pc;
    struct pc_reader in;
    const char *wrong;         /* what made it REPLAY_WRONG */
    struct pc_budget budget;   /* of the slice before */
    struct replay_entry entry; /* read, and not replayed yet */
};

enum replay_result {
    REPLAY_GOES_ON,
    REPLAY_ENDED,   /* as it had ended: with the same count and the same state */
    REPLAY_STOPPED, /* at the instruction that was asked for */
    REPLAY_WRONG,
};

/* Takes over a machine of the model and RAM that pc_replay_open said, and brings it into the first
 * state. Nobody else may run it or feed it until the replay is over. NULL, or what is wrong. */
const char *pc_replay_begin(struct pc_replay *replay, struct pc *pc, struct pc_reader in);
/* Replays one slice and what came in behind it, but no instruction beyond `stop_at`. */
enum replay_result pc_replay_run(struct pc_replay *replay, uint64_t stop_at);
void pc_replay_end(struct pc_replay *replay);

/* ---- For pc.c, which has the moments ------------------------------------------------------- */

enum record_kind {
    RECORD_STATE = 1,   /* a snapshot (snapshot.c) */
    RECORD_SLICE = 2,   /* instructions; ns until its end and 1 more, 0: none; rate */
    RECORD_SAME = 3,    /* a slice like the one before, without an end in time */
    RECORD_CONSOLE = 4, /* moment, port, count, bytes */
    RECORD_KEY = 5,     /* moment, count, bytes */
    RECORD_MOUSE = 6,   /* moment, dx, dy (zigzag), buttons */
    RECORD_PAUSE = 7,   /* moment */
    RECORD_END = 8,     /* instructions, u64 hash of the machine */
    RECORD_RESIZE = 9,  /* moment, 4, columns and rows as u16 */
    RECORD_SEED = 10,   /* moment, PC_SEED, bytes */
    RECORD_LAST = RECORD_SEED,
};

struct record {
    struct pc_writer out; /* write is NULL while nothing is recorded */
    bool refused;
    struct pc_budget budget; /* of the slice before */
};

void record_state(struct pc *pc);
void record_slice(struct pc *pc, struct pc_budget budget);
void record_input(struct pc *pc, enum record_kind kind, unsigned port, const uint8_t *bytes,
                  size_t count);
void record_mouse(struct pc *pc, int dx, int dy, unsigned buttons);
void record_pause(struct pc *pc);
/* An effect has happened: what came in during it is brought in again. */
void replay_effect(struct pc_replay *replay);

#endif
