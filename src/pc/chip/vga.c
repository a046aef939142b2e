/* vga.c: the registers of the VGA; see vga.h. Index and data ports, one table an index. */
#include "vga.h"

#include <string.h>

enum { CURSOR_START = 0x0a, START_HIGH = 0x0c, START_LOW, CURSOR_HIGH, CURSOR_LOW, OFFSET = 0x13 };

#define PORT_FIRST   0x3b0
#define PORT(number) ((number)-PORT_FIRST)

#define MISC_COLOR          0x01 /* CRTC and status at 3Dxh instead of 3Bxh */
#define ATTRIBUTE_SCREEN_ON 0x20
#define ATTRIBUTE_GRAPHICS  0x01
#define CURSOR_OFF          0x20

#define LINE_NS       31778 /* 31.469 kHz, 449 lines, 400 of them seen; 25.4 of 31.8 us a line */
#define LINE_SEEN_NS  25422
#define LINES         449
#define LINES_SEEN    400
#define RETRACE_FIRST 412
#define RETRACE_LAST  413

void vga_touch(struct vga *vga)
{
    if (vga->changed)
        return;
    vga->changed = true;
    if (vga->screen_changed)
        vga->screen_changed(vga->opaque);
}

/* ---- Status, DAC, attributes -------------------------------------------------------------- */

/* Input status 1: bit 3 vertical retrace, bit 0 nothing shown; reading it resets the flip-flop. */
static uint8_t read_status(struct vga *vga)
{
    uint64_t now = clock_now(vga->clock);
    uint64_t line = now / LINE_NS % LINES;
    uint8_t status = 0;

    vga->attribute_data = false;
    if (line >= LINES_SEEN || now % LINE_NS >= LINE_SEEN_NS)
        status |= 0x01;
    if (line >= RETRACE_FIRST && line <= RETRACE_LAST)
        status |= 0x08;
    return status;
}

static uint8_t read_dac(struct vga *vga)
{
    uint8_t value = vga->dac[vga->dac_read][vga->dac_component];

    if (++vga->dac_component == 3) {
        vga->dac_component = 0;
        vga->dac_read++;
    }
    return value;
}

static void write_dac(struct vga *vga, uint8_t value)
{
    vga->dac[vga->dac_write][vga->dac_component] = value & 0x3f;
    if (++vga->dac_component == 3) {
        vga->dac_component = 0;
        vga->dac_write++;
    }
    vga_touch(vga);
}

static void write_attribute(struct vga *vga, uint8_t value)
{
    if (!vga->attribute_data)
        vga->attribute_index = value & 0x3f;
    else
        vga->attribute[vga->attribute_index & 31] = value;
    vga->attribute_data = !vga->attribute_data;
    vga_touch(vga);
}

/* ---- Ports 3B0h–3DFh ---------------------------------------------------------------------- */

/* The CRTC and status answer at one of two places. */
static bool elsewhere(const struct vga *vga, uint32_t offset)
{
    bool color = vga->misc & MISC_COLOR;

    if (offset < PORT(0x3c0))
        return color;
    return offset >= PORT(0x3d0) && !color;
}

static uint8_t read_register(struct vga *vga, uint32_t offset)
{
    if (elsewhere(vga, offset))
        return 0xff;
    switch (offset) {
    case PORT(0x3c0):
        return vga->attribute_index;
    case PORT(0x3c1):
        return vga->attribute[vga->attribute_index & 31];
    case PORT(0x3c2): /* input status 0: a colour monitor is there */
        return 0x10;
    case PORT(0x3c4):
        return vga->sequencer_index;
    case PORT(0x3c5):
        return vga->sequencer[vga->sequencer_index & 7];
    case PORT(0x3c6):
        return vga->dac_mask;
    case PORT(0x3c7):
        return vga->dac_reading ? 3 : 0;
    case PORT(0x3c8):
        return vga->dac_write;
    case PORT(0x3c9):
        return read_dac(vga);
    case PORT(0x3cc):
        return vga->misc;
    case PORT(0x3ce):
        return vga->graphics_index;
    case PORT(0x3cf):
        return vga->graphics[vga->graphics_index & 15];
    case PORT(0x3b4):
    case PORT(0x3d4):
        return vga->crtc_index;
    case PORT(0x3b5):
    case PORT(0x3d5):
        return vga->crtc[vga->crtc_index & 31];
    case PORT(0x3ba):
    case PORT(0x3da):
        return read_status(vga);
    default:
        return 0xff;
    }
}

/* Registers 0 to 7 can be locked by bit 7 of register 11h, all but the line compare bit. */
static void write_crtc(struct vga *vga, uint8_t value)
{
    unsigned index = vga->crtc_index & 31;

    if (index < 7 && vga->crtc[0x11] & 0x80)
        return;
    if (index == 7 && vga->crtc[0x11] & 0x80)
        value = (vga->crtc[7] & ~0x10) | (value & 0x10);
    vga->crtc[index] = value;
    vga_touch(vga);
}

static void write_register(struct vga *vga, uint32_t offset, uint8_t value)
{
    if (elsewhere(vga, offset))
        return;
    switch (offset) {
    case PORT(0x3c0):
        write_attribute(vga, value);
        break;
    case PORT(0x3c2):
        vga->misc = value;
        break;
    case PORT(0x3c4):
        vga->sequencer_index = value;
        break;
    case PORT(0x3c5):
        vga->sequencer[vga->sequencer_index & 7] = value;
        break;
    case PORT(0x3c6):
        vga->dac_mask = value;
        break;
    case PORT(0x3c7):
    case PORT(0x3c8):
        vga->dac_reading = offset == PORT(0x3c7);
        *(vga->dac_reading ? &vga->dac_read : &vga->dac_write) = value;
        vga->dac_component = 0;
        break;
    case PORT(0x3c9):
        write_dac(vga, value);
        break;
    case PORT(0x3ce):
        vga->graphics_index = value;
        break;
    case PORT(0x3cf):
        vga->graphics[vga->graphics_index & 15] = value;
        break;
    case PORT(0x3b4):
    case PORT(0x3d4):
        vga->crtc_index = value;
        break;
    case PORT(0x3b5):
    case PORT(0x3d5):
        write_crtc(vga, value);
        break;
    default:
        break;
    }
}

static uint32_t read_port(void *device, uint32_t offset, unsigned size)
{
    (void)size;
    return read_register(device, offset);
}

static void write_port(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)size;
    write_register(device, offset, (uint8_t)value);
}

static const struct bus_ops port_ops = {1, read_port, write_port};
static const struct bus_ops memory_ops = {4, vga_memory_read, vga_memory_write};

/* ---- The screen --------------------------------------------------------------------------- */

static unsigned crtc_pair(const struct vga *vga, unsigned high)
{
    return (unsigned)vga->crtc[high] << 8 | vga->crtc[high + 1];
}

/* In text the CRTC counts cells; odd/even puts cell n at offset 2n of planes 0 and 1. */
bool vga_text(struct vga *vga, uint16_t cells[VGA_COLUMNS * VGA_ROWS], int *cursor)
{
    unsigned start = crtc_pair(vga, START_HIGH), stride = vga->crtc[OFFSET] * 2u;
    unsigned at = (crtc_pair(vga, CURSOR_HIGH) - start) & 0xffff;

    vga->changed = false;
    if (!(vga->attribute_index & ATTRIBUTE_SCREEN_ON) || vga->attribute[0x10] & ATTRIBUTE_GRAPHICS)
        return false;
    for (unsigned row = 0; row < VGA_ROWS; row++)
        for (unsigned column = 0; column < VGA_COLUMNS; column++) {
            unsigned offset = (start + row * stride + column) * 2 % VGA_PLANE;

            cells[row * VGA_COLUMNS + column] =
                (uint16_t)(vga->plane[0][offset] | vga->plane[1][offset] << 8);
        }
    *cursor = -1;
    if (!(vga->crtc[CURSOR_START] & CURSOR_OFF) && stride && at % stride < VGA_COLUMNS &&
        at / stride < VGA_ROWS)
        *cursor = (int)(at / stride * VGA_COLUMNS + at % stride);
    return true;
}

/* ---- The chip ----------------------------------------------------------------------------- */

/* Mode 3 as a BIOS sets it: 80 × 25 cells of 9 × 16 dots, 720 × 400 at 70 Hz. */
static void set_text_mode(struct vga *vga)
{
    static const uint8_t crtc[25] = {0x5f, 0x4f, 0x50, 0x82, 0x55, 0x81, 0xbf, 0x1f, 0x00,
                                     0x4f, 0x0d, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x9c, 0x8e,
                                     0x8f, 0x28, 0x1f, 0x96, 0xb9, 0xa3, 0xff};
    static const uint8_t sequencer[5] = {0x03, 0x00, 0x03, 0x00, 0x02};
    static const uint8_t graphics[9] = {0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x0e, 0x0f, 0xff};
    static const uint8_t attribute[21] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x14,
                                          0x07, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d,
                                          0x3e, 0x3f, 0x0c, 0x00, 0x0f, 0x08, 0x00};

    memcpy(vga->crtc, crtc, sizeof crtc);
    memcpy(vga->sequencer, sequencer, sizeof sequencer);
    memcpy(vga->graphics, graphics, sizeof graphics);
    memcpy(vga->attribute, attribute, sizeof attribute);
    vga->misc = 0x67;
    vga->attribute_index = ATTRIBUTE_SCREEN_ON;
    vga->dac_mask = 0xff;
}

/* The 64 colours of the EGA: bits 0 to 2 are two thirds of blue, green and red, 3 to 5 a third. */
static void set_palette(struct vga *vga)
{
    for (unsigned i = 0; i < 64; i++)
        for (unsigned component = 0; component < 3; component++) {
            unsigned two_thirds = i >> (2 - component) & 1, third = i >> (5 - component) & 1;

            vga->dac[i][component] = (uint8_t)(two_thirds * 42 + third * 21);
        }
}

static void reset(void *device)
{
    struct vga *vga = device;
    struct clock *clock = vga->clock;
    void (*screen_changed)(void *opaque) = vga->screen_changed;
    void *opaque = vga->opaque;

    memset(vga, 0, sizeof *vga);
    vga->clock = clock;
    vga->screen_changed = screen_changed;
    vga->opaque = opaque;
    set_text_mode(vga);
    set_palette(vga);
    for (unsigned cell = 0; cell < VGA_COLUMNS * VGA_ROWS; cell++) {
        vga->plane[0][2 * cell] = ' ';
        vga->plane[1][2 * cell] = 0x07;
    }
    vga_touch(vga);
}

static bool loaded(void *device)
{
    struct vga *vga = device;

    vga->changed = false;
    vga_touch(vga);
    return vga->dac_component < 3;
}

static const struct pc_field fields[] = {
    {"plane", offsetof(struct vga, plane), 1, 4 * VGA_PLANE, FIELD_UINT, NULL},
    FIELD_ARRAY(struct vga, latch),
    FIELD(struct vga, misc),
    FIELD(struct vga, sequencer_index),
    FIELD_ARRAY(struct vga, sequencer),
    FIELD(struct vga, graphics_index),
    FIELD_ARRAY(struct vga, graphics),
    FIELD(struct vga, crtc_index),
    FIELD_ARRAY(struct vga, crtc),
    FIELD(struct vga, attribute_index),
    FIELD_ARRAY(struct vga, attribute),
    FIELD(struct vga, attribute_data),
    FIELD(struct vga, dac_mask),
    FIELD(struct vga, dac_read),
    FIELD(struct vga, dac_write),
    FIELD(struct vga, dac_component),
    FIELD(struct vga, dac_reading),
    {"dac", offsetof(struct vga, dac), 1, 256 * 3, FIELD_UINT, NULL},
    FIELD_END,
};

const struct chip vga_chip = {
    .name = "vga", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void vga_init(struct vga *vga, struct bus *bus, struct clock *clock,
              void (*screen_changed)(void *opaque), void *opaque)
{
    vga->clock = clock;
    vga->screen_changed = screen_changed;
    vga->opaque = opaque;
    bus_claim_ports(bus, PORT_FIRST, 0x30, "vga", &port_ops, vga);
    bus_claim_memory(bus, 0xa0000, 0x20000, "vga", &memory_ops, vga);
    reset(vga);
}
