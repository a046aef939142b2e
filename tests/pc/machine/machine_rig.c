/* machine_rig.c: see machine_rig.h. */
#include "machine_rig.h"

#include "pc/machine.h"

#include <stdlib.h>
#include <string.h>

static void console_out(void *opaque, unsigned uart, uint8_t byte)
{
    struct machine_rig *rig = opaque;
    size_t length = strlen(rig->console);

    (void)uart;
    if (length + 1 < sizeof rig->console)
        rig->console[length] = (char)byte;
    if (byte == rig->pause_at)
        pc_pause(rig->pc);
}

static void log_line(void *opaque, enum pc_log level, const char *text)
{
    struct machine_rig *rig = opaque;
    size_t room = sizeof rig->log - strlen(rig->log) - 1;

    (void)level;
    strncat(rig->log, text, room);
    strncat(rig->log, "\n", sizeof rig->log - strlen(rig->log) - 1);
}

void machine_rig_init(struct machine_rig *rig)
{
    machine_rig_init_ram(rig, MACHINE_RIG_RAM);
}

void machine_rig_init_ram(struct machine_rig *rig, uint32_t ram_bytes)
{
    struct pc_config config = {.model = PC_MODEL_PENTIUM_M, .rtc_seconds = 1000000000};
    struct pc_ports ports = {
        .opaque = rig, .console_out = console_out, .log = log_line, .ram_bytes = ram_bytes};

    memset(rig, 0, sizeof *rig);
    rig->ram_bytes = ram_bytes;
    rig->memory = aligned_alloc(64, (pc_bytes(ram_bytes) + 63) & ~(size_t)63);
    rig->ram = calloc(1, ram_bytes);
    assert_non_null(rig->memory);
    assert_non_null(rig->ram);
    ports.ram = rig->ram;
    rig->pc = pc_init(rig->memory, &config, &ports);
    assert_non_null(rig->pc);
    rig->cpu = rig->pc->cpu;
}

void machine_rig_finish(struct machine_rig *rig)
{
    free(rig->memory);
    free(rig->ram);
}

void script_out(struct cpu *cpu, uint16_t port, uint8_t value)
{
    cpu->bus.out(cpu->bus.opaque, port, 1, value);
}

uint8_t script_in(struct cpu *cpu, uint16_t port)
{
    return (uint8_t)cpu->bus.in(cpu->bus.opaque, port, 1);
}
