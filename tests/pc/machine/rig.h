/* rig.h: a bus and a clock for one chip, driven by hand. Time stands still between two calls of
 * rig_pass; lines are numbered and their levels and rises are kept. */
#ifndef RIG_H
#define RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* needs those four before it */

#include "pc/bus.h"
#include "pc/clock.h"

struct rig {
    struct bus bus;
    struct clock clock;
    uint64_t insns; /* one a nanosecond */
    bool level[16];
    unsigned rises[16];
};

void rig_init(struct rig *rig);
struct line rig_line(struct rig *rig, unsigned number);

/* Lets `ns` pass, event by event. */
void rig_pass(struct rig *rig, uint64_t ns);

uint8_t rig_in(struct rig *rig, uint16_t port);
void rig_out(struct rig *rig, uint16_t port, uint8_t value);

/* Saves the chip and the clock, scribbles over both, loads them again: what a test goes on with
 * afterwards is what a snapshot keeps. */
struct chip;
void rig_save_and_load(struct rig *rig, const struct chip *chip, void *device);

#endif
