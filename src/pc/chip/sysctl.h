/* sysctl.h: the chipset's small ports: 92h (fast A20 and reset), CF9h (reset control) and 80h
 * (where a BIOS shows its progress and a kernel waits a microsecond). 82371AB datasheet 4.1.
 *
 * A20 has two masters on a PC, the keyboard controller and port 92h; either can raise it. */
#ifndef PC_CHIP_SYSCTL_H
#define PC_CHIP_SYSCTL_H

#include "../bus.h"
#include "chip.h"

struct sysctl {
    uint8_t port_92, cf9, post;
    bool a20_keyboard;
    struct line a20, reset;
};

extern const struct chip sysctl_chip;

/* CF9h, for whoever owns CF8h to CFBh: offsets are from CF8h. */
extern const struct bus_ops sysctl_cf8_ops;

void sysctl_init(struct sysctl *sysctl, struct bus *bus, struct line a20, struct line reset);

/* The wire from the keyboard controller's A20 output. */
struct line sysctl_a20_input(struct sysctl *sysctl);

#endif
