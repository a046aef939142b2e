/* bus.c: see bus.h. Ranges are few and claimed once, so that a sorted array and a binary search
 * are the whole of it; only port and MMIO instructions come here. */
#include "bus.h"

#include <stddef.h>
#include <string.h>

void bus_init(struct bus *bus)
{
    memset(bus, 0, sizeof *bus);
}

static struct bus_range *find(struct bus_space *space, uint32_t address)
{
    unsigned low = 0, high = space->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        struct bus_range *range = &space->range[middle];

        if (address < range->first)
            high = middle;
        else if (address > range->last)
            low = middle + 1;
        else
            return range;
    }
    return NULL;
}

static bool claim(struct bus_space *space, struct bus_range range)
{
    unsigned at = 0;

    if (space->count == BUS_RANGES || range.last < range.first)
        return false;
    while (at < space->count && space->range[at].first <= range.last) {
        if (space->range[at].last >= range.first)
            return false;
        at++;
    }
    memmove(&space->range[at + 1], &space->range[at], (space->count - at) * sizeof space->range[0]);
    space->range[at] = range;
    space->count++;
    return true;
}

bool bus_claim_ports(struct bus *bus, uint16_t first, unsigned count, const char *name,
                     const struct bus_ops *ops, void *device)
{
    if (count == 0 || count > 0x10000u - first)
        return false;
    return claim(&bus->ports, (struct bus_range){first, first + count - 1, name, ops, device});
}

bool bus_claim_memory(struct bus *bus, uint32_t first, uint32_t bytes, const char *name,
                      const struct bus_ops *ops, void *device)
{
    if (bytes == 0)
        return false;
    return claim(&bus->memory, (struct bus_range){first, first + bytes - 1, name, ops, device});
}

static uint32_t ones(unsigned size)
{
    return size == 4 ? UINT32_MAX : (1u << 8 * size) - 1;
}

/* Whether the device can take the access in one piece. */
static bool fits(const struct bus_range *range, uint32_t address, unsigned size)
{
    return size <= range->ops->width && range->last - address >= size - 1;
}

static uint32_t range_read(struct bus_range *range, uint32_t address, unsigned size)
{
    if (!range->ops->read)
        return ones(size);
    return range->ops->read(range->device, address - range->first, size) & ones(size);
}

static void range_write(struct bus_range *range, uint32_t address, unsigned size, uint32_t value)
{
    if (range->ops->write)
        range->ops->write(range->device, address - range->first, size, value & ones(size));
}

static void trace(struct bus *bus, const struct bus_range *range, uint16_t port, unsigned size,
                  enum bus_access access, uint32_t value)
{
    if (bus->trace)
        bus->trace(bus->opaque, range ? range->name : "-", port, size, access, value);
}

static void unclaimed(struct bus *bus, uint16_t port, enum bus_access access, uint32_t value)
{
    if (bus->unclaimed)
        bus->unclaimed(bus->opaque, port, access, value);
}

/* Port numbers wrap at 64 K: a wide access to FFFFh ends at 0. */
uint32_t bus_in(struct bus *bus, uint16_t port, unsigned size)
{
    struct bus_range *range = find(&bus->ports, port);
    uint32_t value;

    if (range && fits(range, port, size)) {
        value = range_read(range, port, size);
    } else if (size > 1) {
        uint32_t low = bus_in(bus, port, size / 2);
        return low | bus_in(bus, (uint16_t)(port + size / 2), size / 2) << 4 * size;
    } else {
        value = ones(size);
        unclaimed(bus, port, BUS_READ, value);
    }
    trace(bus, range, port, size, BUS_READ, value);
    return value;
}

void bus_out(struct bus *bus, uint16_t port, unsigned size, uint32_t value)
{
    struct bus_range *range = find(&bus->ports, port);

    if (!(range && fits(range, port, size)) && size > 1) {
        bus_out(bus, port, size / 2, value & ones(size / 2));
        bus_out(bus, (uint16_t)(port + size / 2), size / 2, value >> 4 * size);
        return;
    }
    trace(bus, range, port, size, BUS_WRITE, value & ones(size));
    if (range)
        range_write(range, port, size, value);
    else
        unclaimed(bus, port, BUS_WRITE, value);
}

/* Memory that nothing answers to reads as ones and takes writes in silence: kernels probe it. */
uint32_t bus_read(struct bus *bus, uint32_t address, unsigned size)
{
    struct bus_range *range = find(&bus->memory, address);

    if (range && fits(range, address, size))
        return range_read(range, address, size);
    if (size == 1)
        return 0xff;
    uint32_t low = bus_read(bus, address, size / 2);
    return low | bus_read(bus, address + size / 2, size / 2) << 4 * size;
}

void bus_write(struct bus *bus, uint32_t address, unsigned size, uint32_t value)
{
    struct bus_range *range = find(&bus->memory, address);

    if (range && fits(range, address, size)) {
        range_write(range, address, size, value);
    } else if (size > 1) {
        bus_write(bus, address, size / 2, value & ones(size / 2));
        bus_write(bus, address + size / 2, size / 2, value >> 4 * size);
    }
}

bool bus_is_mmio(const struct bus *bus, uint32_t page)
{
    for (unsigned i = 0; i < bus->memory.count; i++)
        if (bus->memory.range[i].first <= (page | 0xfff) && bus->memory.range[i].last >= page)
            return true;
    return false;
}
