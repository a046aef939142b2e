/* pci.c: see pci.h. Offsets and bits of the configuration space are those of PCI 2.1, chapter 6. */
#include "pci.h"

#include <string.h>

enum {
    VENDOR = 0x00,
    DEVICE = 0x02,
    COMMAND = 0x04,
    STATUS = 0x06,
    REVISION = 0x08,
    CLASS = 0x09,
    CACHE_LINE = 0x0c,
    LATENCY = 0x0d,
    BAR0 = 0x10,
    SUBSYSTEM_VENDOR = 0x2c,
    SUBSYSTEM = 0x2e,
    INTERRUPT_LINE = 0x3c,
    INTERRUPT_PIN = 0x3d,
};

#define COMMAND_MEMORY       0x0002
#define COMMAND_MASTER       0x0004
#define COMMAND_NO_INTERRUPT 0x0400
#define STATUS_INTERRUPT     0x0008
#define ADDRESS_ENABLE       0x80000000u

const uint8_t pci_irq[PCI_LINES] = {11, 10, 9, 5};

static bool command_has(const struct pci_function *function, unsigned bit)
{
    return pci_get(function->config + COMMAND, 2) & bit;
}

bool pci_is_master(const struct pci_function *function)
{
    return command_has(function, COMMAND_MASTER);
}

/* ---- Interrupts --------------------------------------------------------------------------- */

/* Pins share a line: it is up while any of them pulls, and level-triggered (PCI 2.1, 2.2.6). */
static void update_line(struct pci *pci, unsigned line)
{
    bool level = false;

    for (unsigned slot = line; slot < PCI_SLOTS; slot += PCI_LINES) {
        struct pci_function *function = pci->function[slot];

        if (function)
            level |= function->asserted && !command_has(function, COMMAND_NO_INTERRUPT);
    }
    line_set(&pci->line[line], level);
}

void pci_set_interrupt(struct pci_function *function, bool level)
{
    uint32_t status = pci_get(function->config + STATUS, 2);

    function->asserted = level;
    status = level ? status | STATUS_INTERRUPT : status & ~STATUS_INTERRUPT;
    pci_put(function->config + STATUS, 2, status);
    update_line(function->pci, function->slot % PCI_LINES);
}

/* ---- Configuration space ------------------------------------------------------------------ */

/* The function and the register that CF8h points to: bus 0, function 0 of each slot. */
static struct pci_function *addressed(const struct pci *pci)
{
    uint32_t bus = pci->address >> 16 & 0xff, number = pci->address >> 8 & 7;

    if (!(pci->address & ADDRESS_ENABLE) || bus || number)
        return NULL;
    return pci->function[pci->address >> 11 & 31];
}

static uint32_t read_data(void *device, uint32_t offset, unsigned size)
{
    struct pci *pci = device;
    struct pci_function *function = addressed(pci);
    unsigned at = (pci->address & 0xfc) + offset;

    if (!function)
        return UINT32_MAX;
    if (function->config_read)
        function->config_read(function->device, at);
    return pci_get(function->config + at, size);
}

static void write_data(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    struct pci *pci = device;
    struct pci_function *function = addressed(pci);
    unsigned at = (pci->address & 0xfc) + offset;

    if (!function)
        return;
    for (unsigned i = 0; i < size; i++) {
        uint8_t mask = function->writable[at + i], *byte = &function->config[at + i];

        *byte = (uint8_t)((*byte & ~mask) | (value >> 8 * i & mask));
    }
    update_line(pci, function->slot % PCI_LINES);
    if (function->config_written)
        function->config_written(function->device, at, size);
}

/* The address is a register of four bytes; anything narrower passes the bridge. */
static uint32_t read_address(void *device, uint32_t offset, unsigned size)
{
    struct pci *pci = device;

    if (size == 4 && offset == 0)
        return pci->address;
    return pci->narrow ? pci->narrow->read(pci->narrow_device, offset, size) : UINT32_MAX;
}

static void write_address(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    struct pci *pci = device;

    if (size == 4 && offset == 0)
        pci->address = value & (ADDRESS_ENABLE | 0x00fffffc);
    else if (pci->narrow)
        pci->narrow->write(pci->narrow_device, offset, size, value);
}

/* ---- Memory ------------------------------------------------------------------------------- */

/* The function whose BAR covers an address in the hole. Two that overlap are the guest's fault; the
 * lower slot answers. */
static struct pci_function *decode(const struct pci *pci, uint32_t address, unsigned size,
                                   uint32_t *offset)
{
    for (unsigned slot = 0; slot < PCI_SLOTS; slot++) {
        struct pci_function *function = pci->function[slot];

        if (!function || !function->bar_bytes || !command_has(function, COMMAND_MEMORY))
            continue;
        *offset = address - (pci_get(function->config + BAR0, 4) & ~15u);
        if (*offset < function->bar_bytes && function->bar_bytes - *offset >= size)
            return function;
    }
    return NULL;
}

static uint32_t read_memory(void *device, uint32_t offset, unsigned size)
{
    struct pci_function *function = decode(device, PCI_HOLE + offset, size, &offset);

    return function ? function->ops->read(function->device, offset, size) : UINT32_MAX;
}

static void write_memory(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    struct pci_function *function = decode(device, PCI_HOLE + offset, size, &offset);

    if (function)
        function->ops->write(function->device, offset, size, value);
}

static const struct bus_ops address_ops = {4, read_address, write_address};
static const struct bus_ops data_ops = {4, read_data, write_data};
static const struct bus_ops memory_ops = {4, read_memory, write_memory};

/* ---- Functions ---------------------------------------------------------------------------- */

void pci_identify(struct pci_function *function, const struct pci_identity *identity)
{
    uint8_t *config = function->config, *writable = function->writable;

    pci_put(config + VENDOR, 2, identity->vendor);
    pci_put(config + DEVICE, 2, identity->device);
    pci_put(config + SUBSYSTEM_VENDOR, 2, identity->subsystem_vendor);
    pci_put(config + SUBSYSTEM, 2, identity->subsystem);
    pci_put(config + CLASS, 3, identity->class_code);
    config[REVISION] = identity->revision;
    pci_put(writable + COMMAND, 2, COMMAND_MEMORY | COMMAND_MASTER | COMMAND_NO_INTERRUPT);
    writable[CACHE_LINE] = writable[LATENCY] = writable[INTERRUPT_LINE] = 0xff;
}

void pci_add(struct pci *pci, unsigned slot, struct pci_function *function)
{
    function->pci = pci;
    function->slot = slot;
    pci->function[slot] = function;
    if (function->bar_bytes) {
        function->config[INTERRUPT_PIN] = 1; /* INTA# */
        pci_put(function->writable + BAR0, 4, ~(function->bar_bytes - 1));
    }
}

/* What the guest has written is forgotten; what it cannot write stays. */
void pci_function_reset(struct pci_function *function)
{
    for (unsigned i = 0; i < sizeof function->config; i++)
        function->config[i] &= (uint8_t)~function->writable[i];
    pci_set_interrupt(function, false);
}

void pci_function_loaded(struct pci_function *function)
{
    pci_set_interrupt(function, function->asserted);
}

void pci_assign(struct pci *pci)
{
    uint32_t next = PCI_HOLE + PCI_HOLE_BYTES;

    for (unsigned slot = 0; slot < PCI_SLOTS; slot++) {
        struct pci_function *function = pci->function[slot];

        if (!function || !function->bar_bytes)
            continue;
        next = (next - function->bar_bytes) & ~(function->bar_bytes - 1);
        pci_put(function->config + BAR0, 4, next);
        pci_put(function->config + COMMAND, 2, COMMAND_MEMORY);
        function->config[INTERRUPT_LINE] = pci_irq[slot % PCI_LINES];
    }
}

/* ---- The chip ----------------------------------------------------------------------------- */

const struct pc_field pci_function_fields[] = {
    FIELD_ARRAY(struct pci_function, config),
    FIELD(struct pci_function, asserted),
    FIELD_END,
};

static void reset(void *device)
{
    struct pci *pci = device;

    pci->address = 0;
    pci_function_reset(&pci->bridge);
}

static const struct pc_field fields[] = {
    FIELD(struct pci, address),
    FIELD_STRUCT_OF(struct pci, bridge, pci_function_fields),
    FIELD_END,
};

const struct chip pci_chip = {.name = "pci", .version = 1, .fields = fields, .reset = reset};

void pci_init(struct pci *pci, struct bus *bus, const struct line line[PCI_LINES],
              const struct bus_ops *narrow, void *narrow_device)
{
    static const struct pci_identity i440fx = {
        .vendor = 0x8086, .device = 0x1237, .class_code = 0x060000, .revision = 2};

    memset(pci, 0, sizeof *pci);
    memcpy(pci->line, line, sizeof pci->line);
    pci->narrow = narrow;
    pci->narrow_device = narrow_device;
    pci_identify(&pci->bridge, &i440fx);
    pci_add(pci, 0, &pci->bridge);
    bus_claim_ports(bus, 0xcf8, 4, "pci address", &address_ops, pci);
    bus_claim_ports(bus, 0xcfc, 4, "pci data", &data_ops, pci);
    bus_claim_memory(bus, PCI_HOLE, PCI_HOLE_BYTES, "pci", &memory_ops, pci);
}
