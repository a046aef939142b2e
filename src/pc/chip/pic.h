/* pic.h: the two 8259A interrupt controllers of a PC, cascaded, with the edge/level registers of
 * its chipset (Intel 8259A datasheet; 82371AB datasheet 4.1.4 for ELCR). */
#ifndef PC_CHIP_PIC_H
#define PC_CHIP_PIC_H

#include "../bus.h"
#include "chip.h"

struct pic_half {
    uint8_t lines;     /* levels of the eight inputs */
    uint8_t irr;       /* requests */
    uint8_t isr;       /* in service */
    uint8_t imr;       /* masked */
    uint8_t elcr;      /* 1: level-triggered */
    uint8_t vector;    /* ICW2, low three bits zero */
    uint8_t lowest;    /* the input with the lowest priority; 7 unless rotated */
    uint8_t expected;  /* the next write to the data port: ICW 2, 3 or 4; 0: the mask */
    bool single, icw4; /* of ICW1 */
    bool auto_eoi, rotate_on_auto_eoi, nested_special; /* of ICW4, OCW2 */
    bool mask_special, read_isr, poll;                 /* of OCW3 */
};

struct pic {
    struct pic_half half[2]; /* master, slave */
    struct line intr;        /* to the processor */
    void (*trace)(void *opaque, const char *what, unsigned number);
    void *opaque;
};

extern const struct chip pic_chip;

void pic_init(struct pic *pic, struct bus *bus, struct line intr);

/* The wire into input 0–15; 2 is taken by the cascade. */
struct line pic_input(struct pic *pic, unsigned irq);

/* INTA: the vector of the highest request, which is then in service. When the request is gone,
 * the vector of input 7 with nothing in service, as the datasheet has it. */
int pic_acknowledge(struct pic *pic);

#endif
