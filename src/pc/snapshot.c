/* snapshot.c: a machine as a row of sections, and its hash.
 *
 *     header    "halterPC", u32 format, u32 model, u64 bytes of RAM,
 *               four disks: u64 bytes, u64 identity, u8 whether read-only
 *     sections  16 bytes of name, u16 version, u64 shape, u64 bytes; content
 *     RAM       sections "ram", in order: u32 page, u32 pages, and these, packed (lz.h) when
 *               that makes them shorter; pages that are zero are left out
 *     end       a section "end", whose shape is the hash of the machine
 *
 * Everything is little-endian. A section's shape is a hash of its field table, so that a build
 * with other fields refuses the file and does not misread it. What is read may have been written by
 * anyone: sizes are compared before they are used, and each device checks its own state. */
#include "cpu/save.h"
#include "machine.h"
#include "memory.h"
#include "text.h"

#include <string.h>

#define FORMAT   3u
#define RAM_HASH 1 /* where the hash of a RAM begins */
#define NAME     16u

static const uint8_t magic[8] = {'h', 'a', 'l', 't', 'e', 'r', 'P', 'C'};

struct file_header {
    uint32_t format, model;
    uint64_t ram_bytes;
    struct pc_disk disk[PC_DISKS];
};

struct section_header {
    uint8_t name[NAME];
    uint16_t version;
    uint64_t shape, bytes;
};

static const struct pc_field disk_fields[] = {
    FIELD(struct pc_disk, bytes),
    FIELD(struct pc_disk, identity),
    FIELD(struct pc_disk, read_only),
    FIELD_END,
};

static const struct pc_field file_header_fields[] = {
    FIELD(struct file_header, format),
    FIELD(struct file_header, model),
    FIELD(struct file_header, ram_bytes),
    FIELD_STRUCTS_OF(struct file_header, disk, disk_fields),
    FIELD_END,
};

static const struct pc_field section_header_fields[] = {
    FIELD_ARRAY(struct section_header, name),
    FIELD(struct section_header, version),
    FIELD(struct section_header, shape),
    FIELD(struct section_header, bytes),
    FIELD_END,
};

static bool save_header(struct pc_writer out, const char *name, unsigned version, uint64_t shape,
                        uint64_t bytes)
{
    struct section_header header = {.version = (uint16_t)version, .shape = shape, .bytes = bytes};

    memcpy(header.name, name, strlen(name));
    return fields_save(section_header_fields, &header, out);
}

/* ---- RAM ---------------------------------------------------------------------------------- */

/* A section for each chunk, so that none is packed twice to know how long it is. */
static bool save_ram(const struct pc *pc, struct pc_writer out)
{
    const uint8_t *ram = pc->ports.ram;
    struct memory_chunk chunk = {0};
    uint8_t packed[MEMORY_CHUNK * MEMORY_PAGE];

    while ((chunk = memory_next(ram, pc->ports.ram_bytes, chunk.first + chunk.count)).count) {
        uint64_t bytes;
        const uint8_t *from = memory_pack(ram, chunk, packed, &bytes);

        if (!save_header(out, "ram", 1, fields_shape(memory_chunk_fields),
                         fields_bytes(memory_chunk_fields) + bytes) ||
            !fields_save(memory_chunk_fields, &chunk, out) ||
            !out.write(out.opaque, from, (size_t)bytes))
            return false;
    }
    return true;
}

/* ---- The hash -------------------------------------------------------------------------- */

/* Everything but the RAM, whose hash it continues. */
static uint64_t hash_rest(const struct pc *pc, uint64_t hash)
{
    hash = cpu_hash(pc->cpu, hash);
    hash = clock_hash(&pc->clock, hash);
    hash = fields_hash(pc_fields, pc, hash);
    for (unsigned i = 0; i < pc->chips; i++)
        hash = fields_hash(pc->chip[i].chip->fields, pc->chip[i].device, hash);
    return hash;
}

uint64_t pc_hash(const struct pc *pc)
{
    return hash_rest(pc, memory_hash(pc->ports.ram, pc->ports.ram_bytes, RAM_HASH));
}

/* ---- Saving ------------------------------------------------------------------------------- */

static bool save_chips(const struct pc *pc, struct pc_writer out)
{
    for (unsigned i = 0; i < pc->chips; i++) {
        const struct chip *chip = pc->chip[i].chip;

        if (!save_header(out, chip->name, chip->version, fields_shape(chip->fields),
                         fields_bytes(chip->fields)) ||
            !fields_save(chip->fields, pc->chip[i].device, out))
            return false;
    }
    return true;
}

bool pc_save(const struct pc *pc, struct pc_writer out)
{
    struct file_header header = {
        .format = FORMAT, .model = pc->config.model, .ram_bytes = pc->ports.ram_bytes};

    memcpy(header.disk, pc->config.disk, sizeof header.disk);
    return out.write(out.opaque, magic, sizeof magic) &&
           fields_save(file_header_fields, &header, out) &&
           save_header(out, "cpu", 1, cpu_state_shape(), cpu_state_bytes(pc->cpu)) &&
           cpu_save(pc->cpu, out) &&
           save_header(out, "clock", 1, clock_shape(&pc->clock), clock_bytes(&pc->clock)) &&
           clock_save(&pc->clock, out) &&
           save_header(out, "machine", 1, fields_shape(pc_fields), fields_bytes(pc_fields)) &&
           fields_save(pc_fields, pc, out) && save_chips(pc, out) && save_ram(pc, out) &&
           save_header(out, "end", 1, pc_hash(pc), 0);
}

/* ---- Loading ------------------------------------------------------------------------------ */

/* Counts what a section takes, and ends it where its header says. */
struct bounded {
    struct pc_reader in;
    uint64_t left;
};

static bool read_bounded(void *opaque, void *bytes, size_t count)
{
    struct bounded *bounded = opaque;

    if (count > bounded->left)
        return false;
    bounded->left -= count;
    return bounded->in.read(bounded->in.opaque, bytes, count);
}

static const char *complain(struct pc *pc, const char *before, const char *name, const char *after)
{
    struct text text = TEXT(pc->message);

    text_add(&text, before);
    text_add(&text, name);
    text_add(&text, after);
    return pc->message;
}

static bool is(const struct section_header *header, const char *name)
{
    uint8_t wanted[NAME] = {0};

    memcpy(wanted, name, strlen(name));
    return memcmp(header->name, wanted, NAME) == 0;
}

static const char *next(struct pc *pc, struct bounded *section, const char *name,
                        struct section_header *header)
{
    if (!fields_load(section_header_fields, header, section->in))
        return complain(pc, "the snapshot ends before its section \"", name, "\"");
    section->left = header->bytes;
    return NULL;
}

/* Compares a section's header with what this build would write. */
static const char *compare(struct pc *pc, const struct section_header *header, const char *name,
                           unsigned version, uint64_t shape)
{
    if (!is(header, name))
        return complain(pc, "the snapshot has another section where \"", name, "\" belongs");
    if (header->version != version || header->shape != shape)
        return complain(pc, "the snapshot's section \"", name, "\" is of another version");
    return NULL;
}

static const char *expect(struct pc *pc, struct bounded *section, const char *name,
                          unsigned version, uint64_t shape)
{
    struct section_header header;
    const char *wrong = next(pc, section, name, &header);

    return wrong ? wrong : compare(pc, &header, name, version, shape);
}

static const char *finish(struct pc *pc, const struct bounded *section, const char *name, bool good)
{
    if (!good || section->left)
        return complain(pc, "the snapshot's section \"", name, "\" is damaged");
    return NULL;
}

static const char *load_core(struct pc *pc, struct bounded *section)
{
    struct pc_reader in = {.read = read_bounded, .opaque = section};
    const char *wrong = expect(pc, section, "cpu", 1, cpu_state_shape());

    if (!wrong)
        wrong = finish(pc, section, "cpu", cpu_load(pc->cpu, in));
    if (!wrong)
        wrong = expect(pc, section, "clock", 1, clock_shape(&pc->clock));
    if (!wrong)
        wrong = finish(pc, section, "clock", clock_load(&pc->clock, in));
    if (!wrong)
        wrong = expect(pc, section, "machine", 1, fields_shape(pc_fields));
    if (!wrong)
        wrong = finish(
            pc, section, "machine",
            fields_load(pc_fields, pc, in) &&
                (pc->ended == PC_BUDGET || (pc->ended >= PC_OFF && pc->ended <= PC_SHUTDOWN)));
    return wrong;
}

static const char *load_chips(struct pc *pc, struct bounded *section)
{
    struct pc_reader in = {.read = read_bounded, .opaque = section};

    for (unsigned i = 0; i < pc->chips; i++) {
        const struct chip *chip = pc->chip[i].chip;
        void *device = pc->chip[i].device;
        const char *wrong =
            expect(pc, section, chip->name, chip->version, fields_shape(chip->fields));

        if (!wrong)
            wrong = finish(pc, section, chip->name,
                           fields_load(chip->fields, device, in) &&
                               (!chip->loaded || chip->loaded(device)));
        if (wrong)
            return wrong;
    }
    return NULL;
}

/* Which disk does not fit, and how. */
static const char *compare_disks(struct pc *pc, const struct pc_disk *saved)
{
    for (unsigned i = 0; i < PC_DISKS; i++) {
        const struct pc_disk *mine = &pc->config.disk[i];
        char number[] = {(char)('0' + i), '\0'};

        if (saved[i].bytes && !mine->bytes)
            return complain(pc, "the snapshot is of a machine that has a disk ", number, " as well");
        if (!saved[i].bytes && mine->bytes)
            return complain(pc, "the snapshot is of a machine without a disk ", number, "");
        if (saved[i].bytes != mine->bytes || saved[i].read_only != mine->read_only)
            return complain(pc, "disk ", number,
                            " is not the one that the snapshot was saved beside");
        if (saved[i].identity != mine->identity)
            return complain(pc, "disk ", number,
                            " has been written to since the snapshot was saved, or is another one");
    }
    return NULL;
}

static const char *load_header(struct pc *pc, struct pc_reader in)
{
    uint8_t found[sizeof magic];
    struct file_header header;

    if (!in.read(in.opaque, found, sizeof found) || memcmp(found, magic, sizeof magic) != 0 ||
        !fields_load(file_header_fields, &header, in))
        return "this is not a snapshot";
    if (header.format != FORMAT)
        return "the snapshot is of another format than this build's";
    if (header.ram_bytes != pc->ports.ram_bytes)
        return "the snapshot is of a machine with another amount of RAM";
    if (header.model != (uint32_t)pc->config.model)
        return "the snapshot is of a machine with another processor";
    return compare_disks(pc, header.disk);
}

/* All chunks, and the end behind them: the hash of the machine. */
static const char *load_ram(struct pc *pc, struct bounded *section, struct memory_load *load,
                            uint64_t *hash)
{
    struct pc_reader in = {.read = read_bounded, .opaque = section};
    uint64_t place = fields_bytes(memory_chunk_fields);
    struct section_header header;
    const char *wrong;

    while (!(wrong = next(pc, section, "end", &header)) && !is(&header, "end")) {
        wrong = compare(pc, &header, "ram", 1, fields_shape(memory_chunk_fields));
        if (!wrong)
            wrong = finish(pc, section, "ram",
                           header.bytes >= place && memory_load(load, header.bytes - place, in));
        if (wrong)
            return wrong;
    }
    if (wrong)
        return wrong;
    memory_loaded(load);
    *hash = header.shape;
    if (header.version != 1)
        return complain(pc, "the snapshot's section \"", "end", "\" is of another version");
    return finish(pc, section, "end", true);
}

const char *pc_load(struct pc *pc, struct pc_reader in)
{
    struct bounded section = {.in = in};
    struct memory_load load = {.ram = pc->ports.ram,
                               .pages = pc->ports.ram_bytes / MEMORY_PAGE,
                               .fresh = !pc->ram_used,
                               .hash = RAM_HASH};
    const char *wrong = load_header(pc, in);
    uint64_t hash = 0;

    pc->ram_used = true;
    if (!wrong)
        wrong = load_core(pc, &section);
    if (!wrong)
        wrong = load_chips(pc, &section);
    if (!wrong)
        wrong = load_ram(pc, &section, &load, &hash);
    if (wrong)
        return wrong;
    cpu_memory_written(pc->cpu, 0, pc->ports.ram_bytes);
    pc->reset_asked = pc->paused = false;
    if (hash != hash_rest(pc, load.hash))
        return "the snapshot is damaged: its hash is not that of its state";
    for (unsigned i = 0; i < PC_DISKS; i++)
        block_loaded(&pc->disk[i]);
    return NULL;
}

/* ---- Report ---------------------------------------------------------------------- */

static void report_lines(char *text, void (*line)(void *opaque, const char *text), void *opaque)
{
    while (*text) {
        char *end = text;

        while (*end && *end != '\n')
            end++;
        bool last = *end == '\0';
        *end = '\0';
        line(opaque, text);
        text = last ? end : end + 1;
    }
}

void pc_report(const struct pc *pc, void (*line)(void *opaque, const char *text), void *opaque)
{
    char dump[8192];

    cpu_dump(pc->cpu, dump, sizeof dump);
    report_lines(dump, line, opaque);
    for (unsigned i = 0; i < pc->chips; i++) {
        line(opaque, pc->chip[i].chip->name);
        fields_print(pc->chip[i].chip->fields, pc->chip[i].device, line, opaque);
    }
}
