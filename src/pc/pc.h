/* pc.h: a whole 32-bit x86 computer, as a C object.
 *
 *     pc = pc_init(memory of pc_bytes(), &config, &ports);   the machine, powered on
 *     pc_boot(pc, &image);                                   a kernel in its memory
 *     while (pc_run(pc, budget) == PC_BUDGET) …              slices of it
 *
 * The machine calls no system and no C library beyond mem* and str*, keeps no global variable and
 * reads no clock: two machines of one process never meet, and a run is a function of what goes in.
 * Functions marked *recorded* bring something in from outside (a recording must hold it); those
 * marked *effect* carry something out. */
#ifndef PC_PC_H
#define PC_PC_H

#include "disk.h"
#include "field.h"

struct pc;

enum pc_model { PC_MODEL_P6 = 0, PC_MODEL_PENTIUM3 = 1, PC_MODEL_PENTIUM_M = 2 };

enum pc_log { PC_LOG_ERROR, PC_LOG_WARNING, PC_LOG_INFO, PC_LOG_TRACE };

/* What `trace` in the configuration is made of. */
enum pc_trace { PC_TRACE_IO = 1, PC_TRACE_IRQ = 2 };

/* The machine's whole outside world. The table is copied; `opaque` is handed back. A function may
 * be NULL: nothing then listens. They are called from inside pc_run and may call pc_pause, the
 * pc_*_in and the pc_block_* functions, nothing else. */
struct pc_ports {
    void *opaque;
    uint8_t *ram;       /* recorded; borrowed, zeroed by the host, 64 KB aligned is fastest */
    uint32_t ram_bytes; /* a multiple of 4096; 2 MB to 3 GB */
    /* effect; uart 0 or 1, or PC_CONSOLE_VIRTIO */
    void (*console_out)(void *opaque, unsigned uart, uint8_t byte);
    void (*screen_changed)(void *opaque);                           /* effect; once until read */
    /* A disk is asked for something: effect, and what it reads is *recorded*. One request a disk at a
     * time; the answer is pc_block_done, in this call or after pc_run has come back. NULL: every
     * request fails. */
    void (*block)(void *opaque, unsigned disk, const struct pc_block_request *request);
    void (*log)(void *opaque, enum pc_log level, const char *text); /* effect */
};

#define PC_SEED 32

/* The number of the virtio console, beside the serial ports 0 and 1. */
#define PC_CONSOLE_VIRTIO 2

struct pc_config {
    enum pc_model model;
    uint64_t rtc_seconds; /* recorded; the date at power-on, seconds since 1970, in UTC */
    uint32_t trace;       /* enum pc_trace bits, each logged at PC_LOG_TRACE */
    uint8_t seed[PC_SEED]; /* recorded; what the guest's source of entropy is made from */
    /* The machine stands still while a disk has not answered, so that how long it takes makes no
     * difference to the guest: for runs that are to be the same each time. */
    bool exact;
    struct pc_disk disk[PC_DISKS]; /* recorded */
};

/* How far a slice may go: no further than `max_insns` instructions, nor than the guest moment
 * `until_ns`. `ns_per_insn_q16` is guest time an instruction, in 1/65536 ns. */
struct pc_budget {
    uint64_t max_insns;
    uint64_t until_ns;
    uint32_t ns_per_insn_q16;
};

/* Why a slice came back. The numbers are part of recordings and never change. */
enum pc_stop {
    PC_BUDGET = 0,   /* the instructions are used up, or until_ns has come: run again */
    PC_IDLE = 1,     /* halted until pc_next_event_ns or input: guest time is at until_ns */
    PC_OFF = 2,      /* halted with interrupts off: how a system without ACPI powers off */
    PC_RESET = 3,    /* the guest asked for a reset: pc_reset and pc_boot, or end */
    PC_SHUTDOWN = 4, /* triple fault; pc_report says where */
    PC_PAUSED = 5,   /* pc_pause was called: run again */
    PC_WAITING = 6,  /* `exact`, and a disk has not answered: run again when it has */
};

/* The memory that a machine needs beside its RAM; 64-byte aligned. */
size_t pc_bytes(uint32_t ram_bytes);

/* Builds a machine in `memory`, which it borrows, and powers it on. NULL when the RAM's size is not
 * one a PC has, or a disk is not made of sectors. */
struct pc *pc_init(void *memory, const struct pc_config *config, const struct pc_ports *ports);

/* The reset line: everything as at power-on except RAM, the date and the count of instructions. */
void pc_reset(struct pc *pc);

/* Runs a slice. After PC_OFF, PC_RESET or PC_SHUTDOWN it returns the same again until pc_reset. */
enum pc_stop pc_run(struct pc *pc, struct pc_budget budget);

/* Makes the running pc_run return PC_PAUSED right after the current instruction. For ports. */
void pc_pause(struct pc *pc);

uint64_t pc_insns(const struct pc *pc);         /* executed since pc_init */
uint64_t pc_now_ns(const struct pc *pc);        /* guest time since pc_init */
uint64_t pc_next_event_ns(const struct pc *pc); /* UINT64_MAX when none is armed */

/* ---- Input, all *recorded* ---------------------------------------------------------------- */

/* Bytes on the wire to a serial port or the virtio console; returns how many were taken (a few KB
 * wait at most). */
size_t pc_console_in(struct pc *pc, unsigned uart, const uint8_t *bytes, size_t count);

/* A key as scan code set 2 bytes (E0 1C, F0 1C …). False when the keyboard's buffer is full. */
bool pc_key_in(struct pc *pc, const uint8_t *codes, size_t count);

/* The mouse: motion (y up) and buttons (bit 0 left, 1 right, 2 middle). */
void pc_mouse_in(struct pc *pc, int dx, int dy, unsigned buttons);

/* The window of the virtio console, in characters. */
void pc_resize_in(struct pc *pc, uint16_t columns, uint16_t rows);

/* New entropy for the guest: for a machine that goes on from a snapshot not alone in the world. */
void pc_seed_in(struct pc *pc, const uint8_t seed[PC_SEED]);

/* The answer to the request that a disk has been given; without one it is nothing. What was read
 * must be in place. */
void pc_block_done(struct pc *pc, unsigned disk, enum pc_block_result result);

/* A piece of guest memory that the request of a disk reads into or writes from: from byte `offset`
 * of its data on, `*bytes` long. NULL behind the end. Good until pc_block_done. */
uint8_t *pc_block_data(struct pc *pc, unsigned disk, uint64_t offset, uint32_t *bytes);

/* Says which content a disk has by now, before pc_save. */
void pc_disk_identify(struct pc *pc, unsigned disk, uint64_t identity);

/* ---- Booting ------------------------------------------------------------------------------ */

struct pc_image {
    const uint8_t *kernel; /* a bzImage or a 32-bit x86 ELF executable; borrowed for the call */
    size_t kernel_bytes;
    const uint8_t *initrd; /* or NULL */
    size_t initrd_bytes;
    const char *command_line; /* or NULL */
};

/* Puts a kernel into the RAM of a machine that is fresh or has been reset, and the processor at
 * its entry. NULL when done; otherwise what is wrong, in a sentence. */
const char *pc_boot(struct pc *pc, const struct pc_image *image);

/* ---- State -------------------------------------------------------------------------------- */

/* A hash of everything the guest could ever see: RAM, processor, devices, time. */
uint64_t pc_hash(const struct pc *pc);

/* Writes a snapshot; false when the writer refused. */
bool pc_save(const struct pc *pc, struct pc_writer out);

/* Loads one into a machine of the same RAM size. NULL when done; otherwise what does not fit, in
 * a sentence, and the machine must be reset before it runs. */
const char *pc_load(struct pc *pc, struct pc_reader in);

/* Tells `line` the state for a person: registers, the last branches, what the devices hold. */
void pc_report(const struct pc *pc, void (*line)(void *opaque, const char *text), void *opaque);

/* The text screen: 80 × 25 cells of {character, attribute}, top left first, and the cursor's cell
 * or -1. False while the screen is in a graphics mode or switched off. */
bool pc_screen(struct pc *pc, uint16_t cells[80 * 25], int *cursor);

#endif
