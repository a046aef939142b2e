/* console.h: a terminal (virtio 1.2, 5.3) with one port, which knows how large its window is. */
#ifndef PC_VIRTIO_CONSOLE_H
#define PC_VIRTIO_CONSOLE_H

#include "../clock.h"
#include "device.h"

#include <stddef.h>

#define CONSOLE_WIRE 4096

struct console {
    struct virtio virtio; /* first */
    uint8_t wire[CONSOLE_WIRE]; /* from the host, a ring */
    uint32_t wire_first, wire_count;

    struct clock *clock;
    struct clock_event receive, transmit;
    void (*send)(void *opaque, unsigned number, uint8_t byte); /* to the host */
    void *opaque;
    unsigned number;
};

extern const struct chip console_chip;

void console_init(struct console *console, unsigned number, struct clock *clock,
                  const struct dma *dma,
                  void (*send)(void *opaque, unsigned number, uint8_t byte), void *opaque);

/* Bytes for the guest; how many found room. */
size_t console_receive(struct console *console, const uint8_t *bytes, size_t count);

/* The window's size in characters; 0 × 0 until it is known. The driver is told of a change. */
void console_resize(struct console *console, uint16_t columns, uint16_t rows);

#endif
