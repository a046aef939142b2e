/* rig.c: see rig.h. */
#include "rig.h"

#include "pc/chip/chip.h"

#include <stdlib.h>
#include <string.h>

static uint64_t insns(const void *cpu)
{
    return ((const struct rig *)cpu)->insns;
}

static void hurry(void *cpu)
{
    (void)cpu;
}

void rig_init(struct rig *rig)
{
    memset(rig, 0, sizeof *rig);
    bus_init(&rig->bus);
    clock_init(&rig->clock, insns, hurry, rig);
    clock_set_rate(&rig->clock, 1 << 16);
}

static void set_line(void *opaque, unsigned number, bool level)
{
    struct rig *rig = opaque;

    if (level && !rig->level[number])
        rig->rises[number]++;
    rig->level[number] = level;
}

struct line rig_line(struct rig *rig, unsigned number)
{
    return (struct line){.set = set_line, .opaque = rig, .number = number};
}

void rig_pass(struct rig *rig, uint64_t ns)
{
    uint64_t until = clock_now(&rig->clock) + ns;

    for (;;) {
        clock_fire_due(&rig->clock);
        uint64_t stretch = clock_stretch(&rig->clock, until);
        if (!stretch)
            return;
        rig->insns += stretch;
    }
}

uint8_t rig_in(struct rig *rig, uint16_t port)
{
    return (uint8_t)bus_in(&rig->bus, port, 1);
}

void rig_out(struct rig *rig, uint16_t port, uint8_t value)
{
    bus_out(&rig->bus, port, 1, value);
}

/* ---- A snapshot in memory ----------------------------------------------------------------- */

struct store {
    uint8_t *bytes;
    size_t used, read;
};

static bool store_write(void *opaque, const void *bytes, size_t count)
{
    struct store *store = opaque;

    store->bytes = realloc(store->bytes, store->used + count);
    assert_non_null(store->bytes);
    memcpy(store->bytes + store->used, bytes, count);
    store->used += count;
    return true;
}

static bool store_read(void *opaque, void *bytes, size_t count)
{
    struct store *store = opaque;

    if (count > store->used - store->read)
        return false;
    memcpy(bytes, store->bytes + store->read, count);
    store->read += count;
    return true;
}

static void scribble(const struct pc_field *fields, uint8_t *object)
{
    for (const struct pc_field *f = fields; f->name; f++)
        for (uint32_t i = 0; i < f->count; i++) {
            uint8_t *member = object + f->offset + (size_t)i * f->bytes;

            if (f->kind == FIELD_STRUCT)
                scribble(f->inner, member);
            else
                memset(member, f->kind == FIELD_BOOL ? !*member : 0xa5, f->bytes);
        }
}

void rig_save_and_load(struct rig *rig, const struct chip *chip, void *device)
{
    struct store store = {0};
    struct pc_writer out = {store_write, &store};
    struct pc_reader in = {store_read, &store};
    uint64_t before = clock_hash(&rig->clock, fields_hash(chip->fields, device, 0));

    assert_true(clock_save(&rig->clock, out));
    assert_true(fields_save(chip->fields, device, out));
    assert_int_equal(store.used, clock_bytes(&rig->clock) + fields_bytes(chip->fields));
    scribble(chip->fields, device);
    for (unsigned i = 0; i < rig->clock.known_count; i++)
        clock_at(&rig->clock, rig->clock.known[i], 1);
    assert_true(clock_load(&rig->clock, in));
    assert_true(fields_load(chip->fields, device, in));
    assert_int_equal(store.read, store.used);
    assert_true(!chip->loaded || chip->loaded(device));
    assert_true(before == clock_hash(&rig->clock, fields_hash(chip->fields, device, 0)));
    free(store.bytes);
}
