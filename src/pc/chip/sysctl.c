/* sysctl.c: see sysctl.h. */
#include "sysctl.h"

#include <string.h>

#define PORT_92_RESET 0x01
#define PORT_92_A20   0x02
#define CF9_FULL      0x02 /* remembered; both resets are the same here */
#define CF9_RESET     0x04 /* its rise resets */

static void update_a20(const struct sysctl *sysctl)
{
    line_set(&sysctl->a20, sysctl->a20_keyboard || sysctl->port_92 & PORT_92_A20);
}

static void keyboard_a20(void *opaque, unsigned number, bool level)
{
    (void)number;
    struct sysctl *sysctl = opaque;

    sysctl->a20_keyboard = level;
    update_a20(sysctl);
}

struct line sysctl_a20_input(struct sysctl *sysctl)
{
    return (struct line){.set = keyboard_a20, .opaque = sysctl};
}

static uint32_t read_92(void *device, uint32_t offset, unsigned size)
{
    (void)offset, (void)size;
    return ((const struct sysctl *)device)->port_92;
}

static void write_92(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)offset, (void)size;
    struct sysctl *sysctl = device;
    bool resets = value & PORT_92_RESET && !(sysctl->port_92 & PORT_92_RESET);

    sysctl->port_92 = value & (PORT_92_RESET | PORT_92_A20);
    update_a20(sysctl);
    if (resets)
        line_set(&sysctl->reset, true);
}

/* CF9h answers to bytes only: the same four ports as a double word are the PCI bus's (pci.h). */
static uint32_t read_cf8(void *device, uint32_t offset, unsigned size)
{
    return offset == 1 && size == 1 ? ((const struct sysctl *)device)->cf9 : UINT32_MAX;
}

static void write_cf8(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    struct sysctl *sysctl = device;

    if (offset != 1 || size != 1)
        return;
    bool resets = value & CF9_RESET && !(sysctl->cf9 & CF9_RESET);
    sysctl->cf9 = value & (CF9_FULL | CF9_RESET);
    if (resets)
        line_set(&sysctl->reset, true);
}

static uint32_t read_80(void *device, uint32_t offset, unsigned size)
{
    (void)offset, (void)size;
    return ((const struct sysctl *)device)->post;
}

static void write_80(void *device, uint32_t offset, unsigned size, uint32_t value)
{
    (void)offset, (void)size;
    ((struct sysctl *)device)->post = (uint8_t)value;
}

static const struct bus_ops ops_92 = {1, read_92, write_92};
const struct bus_ops sysctl_cf8_ops = {4, read_cf8, write_cf8};
static const struct bus_ops ops_80 = {1, read_80, write_80};

/* The machine starts without a BIOS, where a BIOS would have left it: A20 open. */
static void reset(void *device)
{
    struct sysctl *sysctl = device;

    sysctl->port_92 = PORT_92_A20;
    sysctl->cf9 = sysctl->post = 0;
    sysctl->a20_keyboard = true;
    update_a20(sysctl);
}

static bool loaded(void *device)
{
    update_a20(device);
    return true;
}

static const struct pc_field fields[] = {
    FIELD(struct sysctl, port_92),
    FIELD(struct sysctl, cf9),
    FIELD(struct sysctl, post),
    FIELD(struct sysctl, a20_keyboard),
    FIELD_END,
};

const struct chip sysctl_chip = {
    .name = "sysctl", .version = 1, .fields = fields, .reset = reset, .loaded = loaded};

void sysctl_init(struct sysctl *sysctl, struct bus *bus, struct line a20, struct line reset_line)
{
    memset(sysctl, 0, sizeof *sysctl);
    sysctl->a20 = a20;
    sysctl->reset = reset_line;
    bus_claim_ports(bus, 0x80, 1, "post", &ops_80, sysctl);
    bus_claim_ports(bus, 0x92, 1, "port 92h", &ops_92, sysctl);
    reset(sysctl);
}
