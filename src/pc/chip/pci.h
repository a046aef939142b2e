/* pci.h: the PCI bus behind an Intel 440FX host bridge (290549 datasheet), reached by configuration
 * mechanism #1 (PCI 2.1, 3.2.2.3.2): an address at CF8h, its data at CFCh.
 *
 * A function of the bus is a device's configuration space, one memory BAR and one interrupt pin.
 * Its registers answer where its BAR says, anywhere in the hole between RAM and ROM; its pin is
 * soldered to the input of the interrupt controllers that its slot gives. There is no BIOS: the
 * loader gives each BAR an address and each function its line (pci_assign). */
#ifndef PC_CHIP_PCI_H
#define PC_CHIP_PCI_H

#include "../bus.h"
#include "chip.h"

#define PCI_SLOTS      32
#define PCI_HOLE       0xe0000000u /* above any RAM, below what a BIOS would have */
#define PCI_HOLE_BYTES 0x1ec00000u
#define PCI_LINES      4 /* inputs 11, 10, 9 and 5, in the order of the slots */

struct pci;

/* What a device brings. `ops` sees offsets into its BAR; `config_written`, may be NULL, learns of a
 * write to its configuration space, after it. A configuration register above 40h that is more than
 * memory is served by `config_read`, may be NULL, before it is read. */
struct pci_function {
    uint8_t config[256];
    uint8_t writable[256]; /* bits of `config` that the guest can change */
    uint32_t bar_bytes;    /* of BAR 0; a power of two from 4 KB, or 0: none */
    const struct bus_ops *ops;
    void (*config_read)(void *device, unsigned offset);
    void (*config_written)(void *device, unsigned offset, unsigned size);
    void *device;
    struct pci *pci;
    unsigned slot;
    bool asserted; /* INTA# */
};

struct pci {
    uint32_t address; /* CF8h */
    struct pci_function bridge;
    struct pci_function *function[PCI_SLOTS];
    struct line line[PCI_LINES];
    const struct bus_ops *narrow; /* what else lives at CF8h to CFBh, in less than four bytes */
    void *narrow_device;
};

extern const struct chip pci_chip;
extern const uint8_t pci_irq[PCI_LINES];

/* `line` are the wires to the inputs pci_irq. */
void pci_init(struct pci *pci, struct bus *bus, const struct line line[PCI_LINES],
              const struct bus_ops *narrow, void *narrow_device);

/* What a function is, by the numbers of the PCI standard. Done before pci_add. */
struct pci_identity {
    uint16_t vendor, device, subsystem_vendor, subsystem;
    uint32_t class_code; /* 24 bits */
    uint8_t revision;
};
void pci_identify(struct pci_function *function, const struct pci_identity *identity);

/* Plugs a function in, once, at power-on. */
void pci_add(struct pci *pci, unsigned slot, struct pci_function *function);

/* The state after RST#: no address, nothing decoded. Called by the device's own reset. */
void pci_function_reset(struct pci_function *function);
void pci_function_loaded(struct pci_function *function);

/* Raises or lowers INTA#. */
void pci_set_interrupt(struct pci_function *function, bool level);

/* Whether the guest lets it reach memory by itself (command register, bus master). */
bool pci_is_master(const struct pci_function *function);

/* What a BIOS does: gives every BAR an address, enables its decoding, and writes down which
 * interrupt its pin is wired to. */
void pci_assign(struct pci *pci);

extern const struct pc_field pci_function_fields[];

static inline uint32_t pci_get(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint32_t)at[i] << 8 * i;
    return value;
}

static inline void pci_put(uint8_t *at, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

#endif
