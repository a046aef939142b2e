/* vga_memory.c: how the processor's bytes at A0000h–BFFFFh reach the planes; see vga.h.
 *
 * An address first becomes an offset in the window that the miscellaneous graphics register opens,
 * then planes and an offset in them: chain-4 (a plane by the low two bits), odd/even (text: even
 * addresses in plane 0, odd in plane 1), or all planes at once through the write modes. */
#include "vga.h"

enum {
    SEQUENCER_MAP_MASK = 2,
    SEQUENCER_MODE = 4,
    SET_RESET = 0,
    ENABLE_SET_RESET,
    COLOR_COMPARE,
    ROTATE,
    READ_MAP,
    MODE,
    MISC,
    DONT_CARE,
    BIT_MASK,
};

#define MODE_ODD_EVEN         0x10
#define SEQUENCER_CHAIN_4     0x08
#define SEQUENCER_NO_ODD_EVEN 0x04

/* The offset in the open window, or -1 outside it. */
static int32_t in_window(const struct vga *vga, uint32_t offset)
{
    switch (vga->graphics[MISC] >> 2 & 3) {
    case 0:
        return (int32_t)offset;
    case 1:
        return offset < 0x10000 ? (int32_t)offset : -1;
    case 2:
        return offset >= 0x10000 && offset < 0x18000 ? (int32_t)(offset - 0x10000) : -1;
    default:
        return offset >= 0x18000 ? (int32_t)(offset - 0x18000) : -1;
    }
}

static bool chain_4(const struct vga *vga)
{
    return vga->sequencer[SEQUENCER_MODE] & SEQUENCER_CHAIN_4;
}

static bool odd_even(const struct vga *vga)
{
    return !(vga->sequencer[SEQUENCER_MODE] & SEQUENCER_NO_ODD_EVEN);
}

static uint8_t read_byte(struct vga *vga, uint32_t address)
{
    int32_t window = in_window(vga, address);
    uint32_t at = (uint32_t)window & 0xffff;
    uint8_t read_map = vga->graphics[READ_MAP] & 3, result = 0xff;

    if (window < 0)
        return 0xff;
    if (chain_4(vga))
        return vga->plane[at & 3][at & 0xfffc];
    if (vga->graphics[MODE] & MODE_ODD_EVEN) {
        read_map = (uint8_t)((read_map & 2) | (at & 1));
        at &= 0xfffe;
    }
    for (unsigned i = 0; i < 4; i++)
        vga->latch[i] = vga->plane[i][at];
    if (!(vga->graphics[MODE] & 0x08))
        return vga->latch[read_map];
    /* Read mode 1: a one where all planes that care agree with the colour. */
    for (unsigned i = 0; i < 4; i++)
        if (vga->graphics[DONT_CARE] & 1u << i)
            result &=
                (uint8_t)(vga->graphics[COLOR_COMPARE] & 1u << i ? vga->latch[i] : ~vga->latch[i]);
    return result;
}

static uint8_t rotated(const struct vga *vga, uint8_t value)
{
    unsigned by = vga->graphics[ROTATE] & 7;

    return (uint8_t)(value >> by | value << (8 - by));
}

/* What the ALU makes of a byte for one plane: set/reset, the logical function, the bit mask. */
static uint8_t combine(const struct vga *vga, unsigned plane, uint8_t value)
{
    const uint8_t *g = vga->graphics;
    uint8_t latch = vga->latch[plane], mask = g[BIT_MASK];
    uint8_t whole = g[SET_RESET] & 1u << plane ? 0xff : 0x00;

    switch (g[MODE] & 3) {
    case 0:
        value = g[ENABLE_SET_RESET] & 1u << plane ? whole : rotated(vga, value);
        break;
    case 1:
        return latch;
    case 2:
        value = value & 1u << plane ? 0xff : 0x00;
        break;
    default:
        mask &= rotated(vga, value);
        value = whole;
        break;
    }
    switch (g[ROTATE] >> 3 & 3) {
    case 1:
        value &= latch;
        break;
    case 2:
        value |= latch;
        break;
    case 3:
        value ^= latch;
        break;
    default:
        break;
    }
    return (uint8_t)((value & mask) | (latch & ~mask));
}

static void write_byte(struct vga *vga, uint32_t address, uint8_t value)
{
    int32_t window = in_window(vga, address);
    uint32_t at = (uint32_t)window & 0xffff;
    uint8_t planes = vga->sequencer[SEQUENCER_MAP_MASK] & 15;

    if (window < 0)
        return;
    if (chain_4(vga)) {
        planes &= (uint8_t)(1u << (at & 3));
        at &= 0xfffc;
    } else if (odd_even(vga)) {
        planes &= at & 1 ? 0x0a : 0x05;
        at &= 0xfffe;
    }
    for (unsigned i = 0; i < 4; i++)
        if (planes & 1u << i)
            vga->plane[i][at] = combine(vga, i, value);
    vga_touch(vga);
}

uint32_t vga_memory_read(void *device, uint32_t offset, unsigned size)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint32_t)read_byte(device, offset + i) << 8 * i;
    return value;
}

void vga_memory_write(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    for (unsigned i = 0; i < size; i++)
        write_byte(device, offset + i, (uint8_t)(value >> 8 * i));
}
