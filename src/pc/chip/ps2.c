/* ps2.c: the keyboard and the mouse behind the 8042; see ps2.h. Each takes commands, a byte or
 * two, and answers through its queue. */
#include "ps2.h"

#include <string.h>

#define ACK        0xfa
#define RESEND     0xfe
#define PASSED     0xaa
#define SET_RATE   0xf3
#define SET_LEDS   0xed
#define SCAN_SET   0xf0
#define RESOLUTION 0xe8

/* ---- Queues ------------------------------------------------------------------------------- */

static bool put(struct ps2_queue *queue, uint8_t byte)
{
    if (queue->count == PS2_QUEUE)
        return false;
    queue->byte[(queue->first + queue->count++) % PS2_QUEUE] = byte;
    return true;
}

uint8_t ps2_take(struct ps2_queue *queue)
{
    uint8_t byte = queue->byte[queue->first];

    queue->first = (queue->first + 1) % PS2_QUEUE;
    queue->count--;
    return byte;
}

/* A command stops whatever was being sent: the answer is what comes next. */
static void answer(struct ps2_queue *queue, const uint8_t *bytes, unsigned count)
{
    queue->first = queue->count = 0;
    for (unsigned i = 0; i < count; i++)
        put(queue, bytes[i]);
}

#define ANSWER(queue, ...)                                                                         \
    answer(queue, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* ---- The keyboard ------------------------------------------------------------------------- */

static void keyboard_defaults(struct ps2_keyboard *kb)
{
    kb->scan_set = 2;
    kb->typematic = 0x2b; /* 10.9 a second after half a second */
    kb->command = 0;
}

void ps2_keyboard_reset(struct ps2_keyboard *kb)
{
    memset(kb, 0, sizeof *kb);
    keyboard_defaults(kb);
    kb->scanning = true;
}

static void keyboard_parameter(struct ps2_keyboard *kb, uint8_t value)
{
    uint8_t command = kb->command;

    kb->command = 0;
    switch (command) {
    case SET_LEDS:
        kb->leds = value & 7;
        ANSWER(&kb->out, ACK);
        break;
    case SET_RATE:
        kb->typematic = value & 0x7f;
        ANSWER(&kb->out, ACK);
        break;
    default: /* SCAN_SET: 0 asks */
        if (value == 0) {
            ANSWER(&kb->out, ACK, kb->scan_set);
        } else if (value <= 3) {
            kb->scan_set = value;
            ANSWER(&kb->out, ACK);
        } else {
            ANSWER(&kb->out, RESEND);
        }
        break;
    }
}

static void keyboard_command(struct ps2_keyboard *kb, uint8_t value)
{
    switch (value) {
    case SET_LEDS:
    case SET_RATE:
    case SCAN_SET:
        kb->command = value;
        ANSWER(&kb->out, ACK);
        break;
    case 0xee: /* echo */
        ANSWER(&kb->out, 0xee);
        break;
    case 0xf2: /* identify: an MF II keyboard */
        ANSWER(&kb->out, ACK, 0xab, 0x83);
        break;
    case 0xf4:
        kb->scanning = true;
        ANSWER(&kb->out, ACK);
        break;
    case 0xf5:
        keyboard_defaults(kb);
        kb->scanning = false;
        ANSWER(&kb->out, ACK);
        break;
    case 0xf6:
        keyboard_defaults(kb);
        ANSWER(&kb->out, ACK);
        break;
    case 0xfe:
        ANSWER(&kb->out, kb->last_sent);
        break;
    case 0xff:
        ps2_keyboard_reset(kb);
        ANSWER(&kb->out, ACK, PASSED);
        break;
    default:
        ANSWER(&kb->out, RESEND);
        break;
    }
}

/* A command takes the place of a parameter that has not come. */
void ps2_keyboard_write(struct ps2_keyboard *kb, uint8_t value)
{
    if (kb->command && value < 0x80)
        keyboard_parameter(kb, value);
    else
        keyboard_command(kb, value);
}

/* Codes come in set 2; a guest that wants set 1 without the controller's translation gets it,
 * set 3 is answered but the codes stay those of set 2. */
bool ps2_keyboard_codes(struct ps2_keyboard *kb, const uint8_t *codes, size_t count)
{
    bool release = false;

    if (!kb->scanning)
        return true;
    if (count > (size_t)(PS2_QUEUE - kb->out.count))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (kb->scan_set != 1) {
            put(&kb->out, codes[i]);
        } else if (codes[i] == 0xf0) {
            release = true;
        } else if (codes[i] >= 0xe0) {
            put(&kb->out, codes[i]);
        } else {
            put(&kb->out, ps2_translate(codes[i]) | (release ? 0x80 : 0));
            release = false;
        }
    }
    return true;
}

bool ps2_keyboard_holds(const struct ps2_keyboard *kb)
{
    return kb->out.first < PS2_QUEUE && kb->out.count <= PS2_QUEUE;
}

/* The table in every AT keyboard controller: set 2 on the left, set 1 as the PC/XT had it. */
uint8_t ps2_translate(uint8_t code)
{
    static const uint8_t set_1[0x90] = {
        0xff, 0x43, 0x41, 0x3f, 0x3d, 0x3b, 0x3c, 0x58, 0x64, 0x44, 0x42, 0x40, 0x3e, 0x0f, 0x29,
        0x59, 0x65, 0x38, 0x2a, 0x70, 0x1d, 0x10, 0x02, 0x5a, 0x66, 0x71, 0x2c, 0x1f, 0x1e, 0x11,
        0x03, 0x5b, 0x67, 0x2e, 0x2d, 0x20, 0x12, 0x05, 0x04, 0x5c, 0x68, 0x39, 0x2f, 0x21, 0x14,
        0x13, 0x06, 0x5d, 0x69, 0x31, 0x30, 0x23, 0x22, 0x15, 0x07, 0x5e, 0x6a, 0x72, 0x32, 0x24,
        0x16, 0x08, 0x09, 0x5f, 0x6b, 0x33, 0x25, 0x17, 0x18, 0x0b, 0x0a, 0x60, 0x6c, 0x34, 0x35,
        0x26, 0x27, 0x19, 0x0c, 0x61, 0x6d, 0x73, 0x28, 0x74, 0x1a, 0x0d, 0x62, 0x6e, 0x3a, 0x36,
        0x1c, 0x1b, 0x75, 0x2b, 0x63, 0x76, 0x55, 0x56, 0x77, 0x78, 0x79, 0x7a, 0x0e, 0x7b, 0x7c,
        0x4f, 0x7d, 0x4b, 0x47, 0x7e, 0x7f, 0x6f, 0x52, 0x53, 0x50, 0x4c, 0x4d, 0x48, 0x01, 0x45,
        0x57, 0x4e, 0x51, 0x4a, 0x37, 0x49, 0x46, 0x54, 0x80, 0x81, 0x82, 0x41, 0x54, 0x85, 0x86,
        0x87, 0x88, 0x89, 0x8a, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f,
    };

    return code < sizeof set_1 ? set_1[code] : code;
}

/* ---- The mouse ---------------------------------------------------------------------------- */

static void mouse_defaults(struct ps2_mouse *mouse)
{
    mouse->rate = 100;
    mouse->resolution = 2; /* 4 counts a millimetre */
    mouse->scaling = mouse->remote = mouse->wrap = mouse->reporting = false;
    mouse->moved = false;
    mouse->dx = mouse->dy = 0;
    mouse->command = 0;
}

void ps2_mouse_reset(struct ps2_mouse *mouse)
{
    memset(mouse, 0, sizeof *mouse);
    mouse_defaults(mouse);
}

static int32_t clamp(int32_t value)
{
    return value > 255 ? 255 : value < -256 ? -256 : value;
}

/* A report: Yovf Xovf Ysign Xsign 1 middle right left, then the low bytes of both motions. What
 * does not fit in nine bits is told in the next one. */
static void report(struct ps2_mouse *mouse)
{
    int32_t dx = clamp(mouse->dx), dy = clamp(mouse->dy);

    put(&mouse->out, (uint8_t)(0x08 | mouse->buttons | (dx < 0) << 4 | (dy < 0) << 5));
    put(&mouse->out, (uint8_t)dx);
    put(&mouse->out, (uint8_t)dy);
    mouse->dx -= dx;
    mouse->dy -= dy;
    mouse->moved = mouse->dx || mouse->dy;
}

void ps2_mouse_move(struct ps2_mouse *mouse, int dx, int dy, unsigned buttons)
{
    const int32_t far = 1 << 20; /* the counters saturate long before they could overflow */

    dx = dx > far ? far : dx < -far ? -far : dx;
    dy = dy > far ? far : dy < -far ? -far : dy;
    if (mouse->dx < far && mouse->dx > -far)
        mouse->dx += dx;
    if (mouse->dy < far && mouse->dy > -far)
        mouse->dy += dy;
    mouse->buttons = buttons & 7;
    mouse->moved = true;
    while (mouse->moved && mouse->reporting && !mouse->remote && mouse->out.count <= PS2_QUEUE - 3)
        report(mouse);
}

static void mouse_parameter(struct ps2_mouse *mouse, uint8_t value)
{
    if (mouse->command == SET_RATE)
        mouse->rate = value;
    else
        mouse->resolution = value & 3;
    mouse->command = 0;
    ANSWER(&mouse->out, ACK);
}

/* Status: 0 remote enabled scaling 0 left middle right, resolution, rate. */
static void mouse_status(struct ps2_mouse *mouse)
{
    uint8_t b = mouse->buttons;
    uint8_t flags = (uint8_t)(mouse->remote << 6 | mouse->reporting << 5 | mouse->scaling << 4 |
                              (b & 1) << 2 | (b >> 2 & 1) << 1 | (b >> 1 & 1));

    ANSWER(&mouse->out, ACK, flags, mouse->resolution, mouse->rate);
}

static void mouse_command(struct ps2_mouse *mouse, uint8_t value)
{
    switch (value) {
    case 0xe6:
    case 0xe7:
        mouse->scaling = value == 0xe7;
        break;
    case RESOLUTION:
    case SET_RATE:
        mouse->command = value;
        break;
    case 0xe9:
        mouse_status(mouse);
        return;
    case 0xea:
    case 0xf0:
        mouse->remote = value == 0xf0;
        break;
    case 0xeb: /* read data */
        ANSWER(&mouse->out, ACK);
        report(mouse);
        return;
    case 0xec:
    case 0xee:
        mouse->wrap = value == 0xee;
        break;
    case 0xf2: /* identify: a mouse with two axes */
        ANSWER(&mouse->out, ACK, 0x00);
        return;
    case 0xf4:
    case 0xf5:
        mouse->reporting = value == 0xf4;
        break;
    case 0xf6:
        mouse_defaults(mouse);
        break;
    case 0xfe:
        ANSWER(&mouse->out, mouse->last_sent);
        return;
    case 0xff:
        ps2_mouse_reset(mouse);
        ANSWER(&mouse->out, ACK, PASSED, 0x00);
        return;
    default:
        ANSWER(&mouse->out, RESEND);
        return;
    }
    ANSWER(&mouse->out, ACK);
}

void ps2_mouse_write(struct ps2_mouse *mouse, uint8_t value)
{
    if (mouse->wrap && value != 0xec && value != 0xff)
        ANSWER(&mouse->out, value);
    else if (mouse->command)
        mouse_parameter(mouse, value);
    else
        mouse_command(mouse, value);
}

bool ps2_mouse_holds(const struct ps2_mouse *mouse)
{
    const int32_t most = 1 << 21;

    return mouse->out.first < PS2_QUEUE && mouse->out.count <= PS2_QUEUE && mouse->dx <= most &&
           mouse->dx >= -most && mouse->dy <= most && mouse->dy >= -most;
}

/* ---- Fields ------------------------------------------------------------------------------- */

static const struct pc_field queue_fields[] = {
    FIELD_ARRAY(struct ps2_queue, byte),
    FIELD(struct ps2_queue, first),
    FIELD(struct ps2_queue, count),
    FIELD_END,
};

const struct pc_field ps2_keyboard_fields[] = {
    FIELD_STRUCT_OF(struct ps2_keyboard, out, queue_fields),
    FIELD(struct ps2_keyboard, command),
    FIELD(struct ps2_keyboard, scan_set),
    FIELD(struct ps2_keyboard, leds),
    FIELD(struct ps2_keyboard, typematic),
    FIELD(struct ps2_keyboard, last_sent),
    FIELD(struct ps2_keyboard, scanning),
    FIELD_END,
};

const struct pc_field ps2_mouse_fields[] = {
    FIELD_STRUCT_OF(struct ps2_mouse, out, queue_fields),
    FIELD(struct ps2_mouse, command),
    FIELD(struct ps2_mouse, rate),
    FIELD(struct ps2_mouse, resolution),
    FIELD(struct ps2_mouse, buttons),
    FIELD(struct ps2_mouse, last_sent),
    FIELD(struct ps2_mouse, reporting),
    FIELD(struct ps2_mouse, remote),
    FIELD(struct ps2_mouse, wrap),
    FIELD(struct ps2_mouse, scaling),
    FIELD(struct ps2_mouse, moved),
    FIELD(struct ps2_mouse, dx),
    FIELD(struct ps2_mouse, dy),
    FIELD_END,
};
