/* bus.h: how the processor reaches the devices, and they reach it.
 *
 * A device claims ranges of ports or of memory and sees offsets into them; it raises lines and
 * does not know where they end. Only pc.c knows which device is wired to which: no chip includes
 * another one. */
#ifndef PC_BUS_H
#define PC_BUS_H

#include <stdbool.h>
#include <stdint.h>

#define BUS_RANGES 40

/* A wire. Its owner sets the level; what it does is up to the end that `set` belongs to. */
struct line {
    void (*set)(void *opaque, unsigned number, bool level);
    void *opaque;
    unsigned number;
};

static inline void line_set(const struct line *line, bool level)
{
    if (line->set)
        line->set(line->opaque, line->number, level);
}

/* A device's side of a range. `size` is 1, 2 or 4, never more than `width`: the bus cuts a wider
 * access into pieces from the lowest address up, as an ISA bridge does. A NULL function is an
 * access the device ignores: all ones are read. */
struct bus_ops {
    unsigned width;
    uint32_t (*read)(void *device, uint32_t offset, unsigned size);
    void (*write)(void *device, uint32_t offset, unsigned size, uint32_t value);
};

struct bus_range {
    uint32_t first, last; /* inclusive */
    const char *name;
    const struct bus_ops *ops;
    void *device;
};

struct bus_space {
    struct bus_range range[BUS_RANGES]; /* sorted, disjoint */
    unsigned count;
};

enum bus_access { BUS_READ, BUS_WRITE };

struct bus {
    struct bus_space ports, memory;

    /* An access that no device claims; pc.c logs each port once. */
    void (*unclaimed)(void *opaque, uint16_t port, enum bus_access access, uint32_t value);
    /* Every port access, when tracing; NULL otherwise. */
    void (*trace)(void *opaque, const char *name, uint16_t port, unsigned size,
                  enum bus_access access, uint32_t value);
    void *opaque;
};

void bus_init(struct bus *bus);

/* Claims `count` ports or `bytes` of physical memory from `first`. Ranges are fixed at power-on
 * and do not overlap: false when they would, or when there are too many. `name` is borrowed. */
bool bus_claim_ports(struct bus *bus, uint16_t first, unsigned count, const char *name,
                     const struct bus_ops *ops, void *device);
bool bus_claim_memory(struct bus *bus, uint32_t first, uint32_t bytes, const char *name,
                      const struct bus_ops *ops, void *device);

uint32_t bus_in(struct bus *bus, uint16_t port, unsigned size);
void bus_out(struct bus *bus, uint16_t port, unsigned size, uint32_t value);
uint32_t bus_read(struct bus *bus, uint32_t address, unsigned size);
void bus_write(struct bus *bus, uint32_t address, unsigned size, uint32_t value);

/* Whether a device claims any byte of the 4 KB page at `page`. */
bool bus_is_mmio(const struct bus *bus, uint32_t page);

#endif
