/* machine.h: what a PC is made of, for the files of this folder that put it together: pc.c wires
 * and runs it, boot.c fills its memory, snapshot.c takes it apart and together again. */
#ifndef PC_MACHINE_H
#define PC_MACHINE_H

#include "bus.h"
#include "chip/pci.h"
#include "chip/pic.h"
#include "chip/pit.h"
#include "chip/ps2.h"
#include "chip/rtc.h"
#include "chip/sysctl.h"
#include "chip/uart.h"
#include "chip/vga.h"
#include "clock.h"
#include "cpu/cpu.h"
#include "pc.h"
#include "virtio/block.h"
#include "virtio/console.h"
#include "virtio/rng.h"

#define PC_CHIPS (11 + PC_DISKS) /* the most */

struct pc {
    struct pc_ports ports;
    struct pc_config config;
    struct cpu *cpu; /* behind this struct, in the same memory */

    struct clock clock;
    struct bus bus;
    struct pic pic;
    struct pit pit;
    struct rtc rtc;
    struct uart uart[2];
    struct i8042 kbc;
    struct sysctl sysctl;
    struct vga vga;
    struct pci pci;
    struct console console;
    struct rng rng;
    struct block disk[PC_DISKS];
    struct {
        const struct chip *chip;
        void *device;
    } chip[PC_CHIPS]; /* every device that is there, in the order of its section */
    unsigned chips;

    uint32_t ended;   /* enum pc_stop once the guest has ended; PC_BUDGET while it runs */
    bool reset_asked; /* the reset line was pulled during this instruction */
    bool paused;
    bool ram_used;    /* something may have been written to the RAM that came zeroed */
    uint8_t logged_ports[0x10000 / 8]; /* unclaimed ports that have been told of */
    char message[200];                 /* what pc_boot and pc_load return */
};

extern const struct pc_field pc_fields[];

void pc_log(const struct pc *pc, enum pc_log level, const char *text);

#endif
