/* ps2.h: the 8042 keyboard controller with a keyboard and a mouse on it (PC/AT technical
 * reference, keyboard controller; IBM PS/2 hardware interface, keyboard and auxiliary device).
 *
 * Two files: i8042.c is the controller, ps2.c the two devices behind it. A byte takes
 * PS2_BYTE_NS from a device into the controller's output buffer, which holds one. */
#ifndef PC_CHIP_PS2_H
#define PC_CHIP_PS2_H

#include "../bus.h"
#include "../clock.h"
#include "chip.h"

#include <stddef.h>

#define PS2_BYTE_NS 100000
#define PS2_QUEUE   64

/* Bytes on their way to the host. Answers go before what was waiting. */
struct ps2_queue {
    uint8_t byte[PS2_QUEUE];
    uint8_t first, count;
};

struct ps2_keyboard {
    struct ps2_queue out;
    uint8_t command;  /* waiting for its parameter, or 0 */
    uint8_t scan_set; /* 2 unless the guest chose 1 or 3 */
    uint8_t leds, typematic, last_sent;
    bool scanning;
};

struct ps2_mouse {
    struct ps2_queue out;
    uint8_t command;
    uint8_t rate, resolution, buttons, last_sent;
    bool reporting, remote, wrap, scaling;
    bool moved;     /* something not reported yet */
    int32_t dx, dy; /* since the last report */
};

struct i8042 {
    struct ps2_keyboard keyboard;
    struct ps2_mouse mouse;
    uint8_t ram[32]; /* byte 0 is the command byte */
    uint8_t command; /* of the controller, waiting for its byte at port 60h, or 0 */
    uint8_t output_port;
    uint8_t data; /* the output buffer */
    bool full, from_mouse, system_flag, last_was_command;
    uint8_t answer, answer_from_mouse; /* the controller's own reply, before any device's byte */
    bool answering;
    bool prefix_f0; /* translation: a break code's first byte has been seen */

    struct clock *clock;
    struct clock_event transfer;
    struct line irq_keyboard, irq_mouse, a20, reset;
};

extern const struct chip i8042_chip;

void i8042_init(struct i8042 *kbc, struct bus *bus, struct clock *clock, struct line irq_keyboard,
                struct line irq_mouse, struct line a20, struct line reset);

/* From the host: scan codes of set 2, a whole key at a time; false when they do not fit. */
bool i8042_key(struct i8042 *kbc, const uint8_t *codes, size_t count);
void i8042_mouse(struct i8042 *kbc, int dx, int dy, unsigned buttons);

/* ---- ps2.c, for i8042.c ------------------------------------------------------------------- */

void ps2_keyboard_reset(struct ps2_keyboard *keyboard);
void ps2_keyboard_write(struct ps2_keyboard *keyboard, uint8_t value);
bool ps2_keyboard_codes(struct ps2_keyboard *keyboard, const uint8_t *codes, size_t count);
void ps2_mouse_reset(struct ps2_mouse *mouse);
void ps2_mouse_write(struct ps2_mouse *mouse, uint8_t value);
void ps2_mouse_move(struct ps2_mouse *mouse, int dx, int dy, unsigned buttons);
uint8_t ps2_take(struct ps2_queue *queue);
bool ps2_keyboard_holds(const struct ps2_keyboard *keyboard);
bool ps2_mouse_holds(const struct ps2_mouse *mouse);

/* Scan code set 2 as set 1 has it, for a byte that is not E0, E1 or F0. */
uint8_t ps2_translate(uint8_t code);

extern const struct pc_field ps2_keyboard_fields[], ps2_mouse_fields[];

#endif
