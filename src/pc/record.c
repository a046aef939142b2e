/* record.c: a run written down: see record.h. */
#include "record.h"

#include "machine.h"

#include <string.h>

#define FORMAT 1u

static const uint8_t magic[8] = {'h', 'a', 'l', 't', 'e', 'r', 'R', 'c'};

struct header {
    uint32_t format, model;
    uint64_t ram_bytes;
};

static const struct pc_field header_fields[] = {
    FIELD(struct header, format),
    FIELD(struct header, model),
    FIELD(struct header, ram_bytes),
    FIELD_END,
};

/* A writer that has refused once gets no more: a recording with a hole is none. */
static void put(struct pc *pc, const void *bytes, size_t count)
{
    struct record *record = &pc->record;

    if (!record->refused && !record->out.write(record->out.opaque, bytes, count))
        record->refused = true;
}

struct entry {
    uint8_t bytes[64];
    size_t count;
};

static void add(struct entry *entry, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        entry->bytes[entry->count++] = (uint8_t)(number | 0x80);
    entry->bytes[entry->count++] = (uint8_t)number;
}

static void put_entry(struct pc *pc, const struct entry *entry)
{
    put(pc, entry->bytes, entry->count);
}

static uint64_t moment(const struct pc *pc)
{
    return pc->running ? pc->effects : 0;
}

bool pc_record_begin(struct pc *pc, struct pc_writer out)
{
    struct header header = {FORMAT, pc->config.model, pc->ports.ram_bytes};

    pc->record = (struct record){.out = out};
    if (!out.write(out.opaque, magic, sizeof magic) || !fields_save(header_fields, &header, out))
        pc->record.refused = true;
    record_state(pc);
    return !pc->record.refused;
}

void record_state(struct pc *pc)
{
    uint8_t kind = RECORD_STATE;

    put(pc, &kind, 1);
    if (!pc->record.refused && !pc_save(pc, pc->record.out))
        pc->record.refused = true;
}

void record_slice(struct pc *pc, struct pc_budget budget)
{
    struct pc_budget before = pc->record.budget;
    struct entry entry = {0};
    uint64_t now = clock_now(&pc->clock);

    pc->record.budget = budget;
    if (budget.until_ns == CLOCK_NEVER && before.until_ns == CLOCK_NEVER &&
        budget.max_insns == before.max_insns && budget.ns_per_insn_q16 == before.ns_per_insn_q16) {
        add(&entry, RECORD_SAME);
    } else {
        add(&entry, RECORD_SLICE);
        add(&entry, budget.max_insns);
        add(&entry, budget.until_ns == CLOCK_NEVER ? 0
                    : budget.until_ns > now        ? budget.until_ns - now + 1
                                                   : 1);
        add(&entry, budget.ns_per_insn_q16);
    }
    put_entry(pc, &entry);
}

void record_input(struct pc *pc, enum record_kind kind, unsigned port, const uint8_t *bytes,
                  size_t count)
{
    struct entry entry = {0};

    add(&entry, kind);
    add(&entry, moment(pc));
    if (kind == RECORD_CONSOLE)
        add(&entry, port);
    add(&entry, count);
    put_entry(pc, &entry);
    put(pc, bytes, count);
}

static uint64_t zigzag(int number)
{
    return number < 0 ? ((uint64_t)(-(int64_t)number) << 1) - 1 : (uint64_t)number << 1;
}

void record_mouse(struct pc *pc, int dx, int dy, unsigned buttons)
{
    struct entry entry = {0};

    add(&entry, RECORD_MOUSE);
    add(&entry, moment(pc));
    add(&entry, zigzag(dx));
    add(&entry, zigzag(dy));
    add(&entry, buttons);
    put_entry(pc, &entry);
}

void record_pause(struct pc *pc)
{
    struct entry entry = {0};

    add(&entry, RECORD_PAUSE);
    add(&entry, moment(pc));
    put_entry(pc, &entry);
}

bool pc_record_end(struct pc *pc)
{
    struct entry entry = {0};
    uint64_t hash = pc_hash(pc);

    add(&entry, RECORD_END);
    add(&entry, pc_insns(pc));
    for (unsigned i = 0; i < 8; i++)
        entry.bytes[entry.count++] = (uint8_t)(hash >> 8 * i);
    put_entry(pc, &entry);
    pc->record.out.write = NULL;
    return !pc->record.refused;
}

const char *pc_replay_open(struct pc_reader in, enum pc_model *model, uint32_t *ram_bytes)
{
    uint8_t found[sizeof magic];
    struct header header;

    if (!in.read(in.opaque, found, sizeof found) || memcmp(found, magic, sizeof magic) != 0 ||
        !fields_load(header_fields, &header, in))
        return "this is not a recording";
    if (header.format != FORMAT)
        return "the recording is of another format than this build's";
    if (header.model > PC_MODEL_PENTIUM_M || header.ram_bytes > UINT32_MAX)
        return "the recording is of a machine that there cannot be";
    *model = (enum pc_model)header.model;
    *ram_bytes = (uint32_t)header.ram_bytes;
    return NULL;
}
