/* replay.c: a recording run again: see record.h. One entry is read ahead: an input that belongs
 * into a slice waits for its moment there. What is read may have been written by anyone. */
#include "machine.h"
#include "record.h"

#include <string.h>

#define SLICE_MOST (UINT64_C(1) << 32) /* instructions: no host makes slices that long */

static bool fail(struct pc_replay *replay, const char *wrong)
{
    if (!replay->wrong)
        replay->wrong = wrong;
    return false;
}

static bool cut(struct pc_replay *replay)
{
    return fail(replay, "the recording ends in the middle: what made it died, or was killed");
}

static bool get(struct pc_replay *replay, uint64_t *number)
{
    uint8_t byte;

    *number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (!replay->in.read(replay->in.opaque, &byte, 1))
            return cut(replay);
        *number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return fail(replay, "the recording is damaged: a number has no end");
}

static bool get_small(struct pc_replay *replay, uint64_t most, uint64_t *number)
{
    return get(replay, number) &&
           (*number <= most ||
            fail(replay, "the recording is damaged: a number is larger than it can be"));
}

static bool get_signed(struct pc_replay *replay, int *number)
{
    uint64_t zigzag;

    if (!get_small(replay, 1u << 20, &zigzag))
        return false;
    *number = zigzag & 1 ? -(int)((zigzag + 1) >> 1) : (int)(zigzag >> 1);
    return true;
}

/* ---- entries ------------------------------------------------------------------------------ */

static bool get_slice(struct pc_replay *replay, struct pc_budget *budget)
{
    uint64_t until, rate, now = clock_now(&replay->pc->clock);

    if (!get_small(replay, SLICE_MOST, &budget->max_insns) || !get(replay, &until) ||
        !get_small(replay, UINT32_MAX, &rate))
        return false;
    if (until > CLOCK_NEVER - now)
        return fail(replay, "the recording is damaged: a slice ends after the end of time");
    budget->until_ns = until ? now + until - 1 : CLOCK_NEVER;
    budget->ns_per_insn_q16 = (uint32_t)rate;
    return true;
}

static bool get_bytes(struct pc_replay *replay, struct replay_entry *entry)
{
    uint64_t count;

    if (!get_small(replay, REPLAY_INPUT, &count))
        return false;
    entry->count = (size_t)count;
    return replay->in.read(replay->in.opaque, entry->bytes, entry->count) || cut(replay);
}

static bool get_exactly(struct pc_replay *replay, struct replay_entry *entry, size_t count)
{
    return get_bytes(replay, entry) &&
           (entry->count == count ||
            fail(replay, "the recording is damaged: an input is of another length"));
}

static bool get_end(struct pc_replay *replay, struct replay_entry *entry)
{
    uint8_t hash[8];

    if (!get(replay, &entry->insns))
        return false;
    if (!replay->in.read(replay->in.opaque, hash, sizeof hash))
        return cut(replay);
    entry->hash = 0;
    for (unsigned i = 0; i < sizeof hash; i++)
        entry->hash |= (uint64_t)hash[i] << 8 * i;
    return true;
}

/* Slices are read when their turn comes: their ends are counted from the time that it is then. */
static bool next(struct pc_replay *replay)
{
    struct replay_entry *entry = &replay->entry;
    uint64_t kind, number;

    if (!get_small(replay, RECORD_LAST, &kind))
        return false;
    entry->kind = (unsigned)kind;
    entry->moment = 0;
    if (kind >= RECORD_CONSOLE && kind != RECORD_END && !get(replay, &entry->moment))
        return false;
    switch (kind) {
    case RECORD_STATE:
    case RECORD_SLICE:
    case RECORD_SAME:
    case RECORD_PAUSE:
        return true;
    case RECORD_CONSOLE:
        if (!get_small(replay, 255, &number))
            return false;
        entry->port = (unsigned)number;
        return get_bytes(replay, entry);
    case RECORD_KEY:
        return get_bytes(replay, entry);
    case RECORD_RESIZE:
        return get_exactly(replay, entry, 4);
    case RECORD_SEED:
        return get_exactly(replay, entry, PC_SEED);
    case RECORD_MOUSE:
        if (!get_signed(replay, &entry->dx) || !get_signed(replay, &entry->dy) ||
            !get_small(replay, 255, &number))
            return false;
        entry->buttons = (unsigned)number;
        return true;
    case RECORD_END:
        return get_end(replay, entry);
    default:
        return fail(replay, "the recording is damaged: there is no such entry");
    }
}

/* ---- running ------------------------------------------------------------------------------ */

/* What was taken then is taken now, or this is another run. */
static bool bring_in(struct pc_replay *replay)
{
    const struct replay_entry *entry = &replay->entry;
    struct pc *pc = replay->pc;
    bool taken = true;

    switch (entry->kind) {
    case RECORD_CONSOLE:
        taken = pc_console_in(pc, entry->port, entry->bytes, entry->count) == entry->count;
        break;
    case RECORD_KEY:
        taken = pc_key_in(pc, entry->bytes, entry->count);
        break;
    case RECORD_MOUSE:
        pc_mouse_in(pc, entry->dx, entry->dy, entry->buttons);
        break;
    case RECORD_RESIZE:
        pc_resize_in(pc, (uint16_t)(entry->bytes[0] | entry->bytes[1] << 8),
                     (uint16_t)(entry->bytes[2] | entry->bytes[3] << 8));
        break;
    case RECORD_SEED:
        pc_seed_in(pc, entry->bytes);
        break;
    default:
        pc_pause(pc);
    }
    return taken || fail(replay, "the replay differs from the recording: an input has no room");
}

void replay_effect(struct pc_replay *replay)
{
    while (!replay->wrong && replay->entry.moment == replay->pc->effects)
        if (bring_in(replay))
            next(replay);
    if (replay->wrong)
        pc_pause(replay->pc);
}

/* Runs the slice that the entry begins. The entry behind it is read first: it may belong into it.
 */
static enum replay_result run_slice(struct pc_replay *replay, uint64_t stop_at)
{
    struct pc *pc = replay->pc;
    struct pc_budget budget = replay->budget;
    uint64_t insns = pc_insns(pc);

    if (replay->entry.kind == RECORD_SLICE && !get_slice(replay, &budget))
        return REPLAY_WRONG;
    replay->budget = budget;
    if (!budget.max_insns && replay->entry.kind == RECORD_SAME) {
        fail(replay, "the recording is damaged: a slice is like none");
        return REPLAY_WRONG;
    }
    bool stops = stop_at - insns <= budget.max_insns;
    if (stops)
        budget.max_insns = stop_at - insns;
    if (!next(replay))
        return REPLAY_WRONG;
    pc_run(pc, budget);
    if (!replay->wrong && stops && pc_insns(pc) == stop_at)
        return REPLAY_STOPPED;
    if (!replay->wrong && replay->entry.moment)
        fail(replay, "the replay differs from the recording: an input has no moment");
    return replay->wrong ? REPLAY_WRONG : REPLAY_GOES_ON;
}

static bool load_state(struct pc_replay *replay)
{
    const char *wrong = pc_load(replay->pc, replay->in);

    return wrong ? fail(replay, wrong) : next(replay);
}

static bool compare_end(struct pc_replay *replay)
{
    const struct replay_entry *entry = &replay->entry;

    return (entry->insns == pc_insns(replay->pc) && entry->hash == pc_hash(replay->pc)) ||
           fail(replay, "the replay differs from the recording: its end is another one");
}

enum replay_result pc_replay_run(struct pc_replay *replay, uint64_t stop_at)
{
    bool good = true;

    if (replay->wrong)
        return REPLAY_WRONG;
    if (pc_insns(replay->pc) >= stop_at)
        return REPLAY_STOPPED;
    switch (replay->entry.kind) {
    case RECORD_SLICE:
    case RECORD_SAME:
        return run_slice(replay, stop_at);
    case RECORD_STATE:
        good = load_state(replay);
        break;
    case RECORD_END:
        return compare_end(replay) ? REPLAY_ENDED : REPLAY_WRONG;
    default:
        good = replay->entry.moment == 0
                   ? bring_in(replay) && next(replay)
                   : fail(replay, "the recording is damaged: an input is in no slice");
    }
    return good ? REPLAY_GOES_ON : REPLAY_WRONG;
}

const char *pc_replay_begin(struct pc_replay *replay, struct pc *pc, struct pc_reader in)
{
    *replay = (struct pc_replay){.pc = pc, .in = in};
    if (next(replay) && replay->entry.kind != RECORD_STATE)
        fail(replay, "the recording is damaged: it does not begin with a state");
    if (!replay->wrong)
        load_state(replay);
    pc->replay = replay;
    return replay->wrong;
}

void pc_replay_end(struct pc_replay *replay)
{
    if (replay->pc)
        replay->pc->replay = NULL;
}
