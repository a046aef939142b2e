/* vga.h: a VGA as registers and memory, in text mode as a BIOS leaves it (IBM VGA technical
 * reference; FreeVGA is the same in other words). Nothing is drawn here: the host asks for the
 * text screen, when told that it changed.
 *
 * vga.c has the registers, vga_memory.c the path between A0000h and the four planes. */
#ifndef PC_CHIP_VGA_H
#define PC_CHIP_VGA_H

#include "../bus.h"
#include "../clock.h"
#include "chip.h"

#define VGA_COLUMNS 80
#define VGA_ROWS    25
#define VGA_PLANE   0x10000

struct vga {
    uint8_t plane[4][VGA_PLANE];
    uint8_t latch[4];
    uint8_t misc;
    uint8_t sequencer_index, sequencer[8];
    uint8_t graphics_index, graphics[16];
    uint8_t crtc_index, crtc[32];
    uint8_t attribute_index, attribute[32];
    bool attribute_data; /* the flip-flop of port 3C0h: the next write is data */
    uint8_t dac_mask, dac_read, dac_write, dac_component;
    bool dac_reading;
    uint8_t dac[256][3];
    bool changed; /* since the host last looked */

    struct clock *clock;
    void (*screen_changed)(void *opaque);
    void *opaque;
};

extern const struct chip vga_chip;

void vga_init(struct vga *vga, struct bus *bus, struct clock *clock,
              void (*screen_changed)(void *opaque), void *opaque);

/* The 80 × 25 cells, character in the low byte and attribute in the high one, and the cursor's
 * cell or -1. False when no text is on. */
bool vga_text(struct vga *vga, uint16_t cells[VGA_COLUMNS * VGA_ROWS], int *cursor);

/* ---- Between the two files ---------------------------------------------------------------- */

void vga_touch(struct vga *vga); /* something that can be seen was written */
uint32_t vga_memory_read(void *device, uint32_t offset, unsigned size);
void vga_memory_write(void *device, uint32_t offset, unsigned size, uint32_t value);

#endif
