/* pc.c: the machine put together: who is wired to whom, what a slice is, and how it ends.
 *
 * Between two events nothing but the processor runs. A slice is a row of stretches, each exactly
 * as many instructions as lie before the next event or the slice's end, so that an event comes
 * after the same instruction however the run is cut. */
#include "pc.h"

#include "machine.h"
#include "text.h"

#include <string.h>

/* A guest that sleeps with its interrupts masked at the controllers is woken by nothing: after so
 * many events in a row without an instruction, the slice goes back to the host. */
#define IDLE_EVENTS 10000

#define RAM_LEAST (2u << 20)
#define RAM_MOST  (3u << 30)

const struct pc_field pc_fields[] = {FIELD(struct pc, ended), FIELD_END};

void pc_log(const struct pc *pc, enum pc_log level, const char *text)
{
    if (pc->ports.log)
        pc->ports.log(pc->ports.opaque, level, text);
}

/* ---- What the processor sees -------------------------------------------------------------- */

static bool cpu_is_mmio(void *opaque, uint32_t page)
{
    const struct pc *pc = opaque;

    return bus_is_mmio(&pc->bus, page);
}

static uint32_t cpu_in(void *opaque, uint16_t port, unsigned size)
{
    return bus_in(&((struct pc *)opaque)->bus, port, size);
}

static void cpu_out(void *opaque, uint16_t port, unsigned size, uint32_t value)
{
    bus_out(&((struct pc *)opaque)->bus, port, size, value);
}

static uint32_t cpu_mmio_read(void *opaque, uint32_t address, unsigned size)
{
    return bus_read(&((struct pc *)opaque)->bus, address, size);
}

static void cpu_mmio_write(void *opaque, uint32_t address, unsigned size, uint32_t value)
{
    bus_write(&((struct pc *)opaque)->bus, address, size, value);
}

static int cpu_acknowledge(void *opaque)
{
    return pic_acknowledge(&((struct pc *)opaque)->pic);
}

/* The time stamp counter runs at 1 GHz: it is guest time, and agrees with every other timer. */
static uint64_t cpu_tsc(void *opaque)
{
    return clock_now(&((struct pc *)opaque)->clock);
}

static void cpu_log(void *opaque, int level, const char *text)
{
    pc_log(opaque, (enum pc_log)level, text);
}

/* ---- What the devices reach --------------------------------------------------------------- */

static void intr_changed(void *opaque, unsigned number, bool level)
{
    (void)number;
    cpu_set_intr(((struct pc *)opaque)->cpu, level);
}

static void a20_changed(void *opaque, unsigned number, bool level)
{
    (void)number;
    cpu_set_a20(((struct pc *)opaque)->cpu, level);
}

static void reset_pulled(void *opaque, unsigned number, bool level)
{
    (void)number, (void)level;
    struct pc *pc = opaque;

    pc->reset_asked = true;
    cpu_request_exit(pc->cpu);
}

static void memory_written(void *opaque, uint32_t address, uint32_t bytes)
{
    cpu_memory_written(((struct pc *)opaque)->cpu, address, bytes);
}

static void block_asked(void *opaque, unsigned number, const struct pc_block_request *request)
{
    struct pc *pc = opaque;

    if (pc->ports.block)
        pc->ports.block(pc->ports.opaque, number, request);
    else
        block_done(&pc->disk[number], PC_BLOCK_ERROR);
}

static void virtio_complains(void *opaque, const struct virtio *virtio, const char *what)
{
    static const char *const kinds[] = {
        [VIRTIO_BLOCK] = "disk", [VIRTIO_CONSOLE] = "console", [VIRTIO_RNG] = "entropy"};
    char buffer[120];
    struct text text = TEXT(buffer);

    text_add(&text, "the driver of a virtio device (");
    text_add(&text, kinds[virtio->kind->type]);
    text_add(&text, ") made a mistake, and must reset it: ");
    text_add(&text, what);
    pc_log(opaque, PC_LOG_WARNING, buffer);
}

static void console_sent(void *opaque, unsigned number, uint8_t byte)
{
    struct pc *pc = opaque;

    if (pc->ports.console_out)
        pc->ports.console_out(pc->ports.opaque, number, byte);
}

static void screen_changed(void *opaque)
{
    struct pc *pc = opaque;

    if (pc->ports.screen_changed)
        pc->ports.screen_changed(pc->ports.opaque);
}

static uint64_t clock_insns(const void *cpu)
{
    return cpu_insns(cpu);
}

static void clock_hurry(void *cpu)
{
    cpu_request_exit(cpu);
}

/* ---- Telling ------------------------------------------------------------------------------ */

static void unclaimed(void *opaque, uint16_t port, enum bus_access access, uint32_t value)
{
    struct pc *pc = opaque;
    uint8_t *logged = &pc->logged_ports[port / 8], bit = (uint8_t)(1u << port % 8);
    char buffer[80];
    struct text text = TEXT(buffer);

    if (*logged & bit)
        return;
    *logged |= bit;
    text_add(&text, "port ");
    text_add_hex(&text, port, 4);
    text_add(&text, access == BUS_READ ? " read" : " written");
    if (access == BUS_WRITE) {
        text_add(&text, " (");
        text_add_hex(&text, value, 2);
        text_add(&text, ")");
    }
    text_add(&text, ", where there is no device");
    pc_log(pc, PC_LOG_INFO, buffer);
}

static void trace_port(void *opaque, const char *name, uint16_t port, unsigned size,
                       enum bus_access access, uint32_t value)
{
    struct pc *pc = opaque;
    char buffer[120];
    struct text text = TEXT(buffer);

    text_add_decimal(&text, cpu_insns(pc->cpu));
    text_add(&text, access == BUS_READ ? " in  " : " out ");
    text_add_hex(&text, port, 4);
    text_add(&text, " ");
    text_add_hex(&text, value, 2 * size);
    text_add(&text, " ");
    text_add(&text, name);
    pc_log(pc, PC_LOG_TRACE, buffer);
}

static void trace_irq(void *opaque, const char *what, unsigned number)
{
    struct pc *pc = opaque;
    char buffer[80];
    struct text text = TEXT(buffer);

    text_add_decimal(&text, cpu_insns(pc->cpu));
    text_add(&text, " ");
    text_add(&text, what);
    text_add(&text, " ");
    text_add_decimal(&text, number);
    pc_log(pc, PC_LOG_TRACE, buffer);
}

/* ---- Power on ----------------------------------------------------------------------------- */

static size_t aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

size_t pc_bytes(uint32_t ram_bytes)
{
    return aligned(sizeof(struct pc)) + aligned(cpu_struct_bytes()) + cpu_cache_bytes(ram_bytes);
}

static bool init_cpu(struct pc *pc)
{
    static const enum cpu_model model_of[] = {
        [PC_MODEL_P6] = CPU_MODEL_P6,
        [PC_MODEL_PENTIUM3] = CPU_MODEL_PENTIUM3,
        [PC_MODEL_PENTIUM_M] = CPU_MODEL_PENTIUM_M,
    };
    struct cpu_bus bus = {
        .opaque = pc,
        .ram = pc->ports.ram,
        .ram_bytes = pc->ports.ram_bytes,
        .is_mmio = cpu_is_mmio,
        .in = cpu_in,
        .out = cpu_out,
        .mmio_read = cpu_mmio_read,
        .mmio_write = cpu_mmio_write,
        .acknowledge = cpu_acknowledge,
        .tsc = cpu_tsc,
        .log = cpu_log,
    };
    char *behind = (char *)pc + aligned(sizeof *pc);

    pc->cpu = (struct cpu *)behind;
    return pc->config.model <= PC_MODEL_PENTIUM_M &&
           cpu_init(pc->cpu, &bus, model_of[pc->config.model], behind + aligned(cpu_struct_bytes()),
                    cpu_cache_bytes(pc->ports.ram_bytes)) == 0;
}

static void init_chips(struct pc *pc)
{
    struct line intr = {.set = intr_changed, .opaque = pc};
    struct line a20 = {.set = a20_changed, .opaque = pc};
    struct line reset = {.set = reset_pulled, .opaque = pc};
    struct bus *bus = &pc->bus;
    struct clock *clock = &pc->clock;

    pic_init(&pc->pic, bus, intr);
    pit_init(&pc->pit, bus, clock, pic_input(&pc->pic, 0));
    rtc_init(&pc->rtc, bus, clock, pic_input(&pc->pic, 8), (int64_t)pc->config.rtc_seconds,
             pc->ports.ram_bytes);
    uart_init(&pc->uart[0], 0, bus, clock, pic_input(&pc->pic, 4), console_sent, pc);
    uart_init(&pc->uart[1], 1, bus, clock, pic_input(&pc->pic, 3), console_sent, pc);
    sysctl_init(&pc->sysctl, bus, a20, reset);
    i8042_init(&pc->kbc, bus, clock, pic_input(&pc->pic, 1), pic_input(&pc->pic, 12),
               sysctl_a20_input(&pc->sysctl), reset);
    vga_init(&pc->vga, bus, clock, screen_changed, pc);
}

static void plug(struct pc *pc, struct virtio *virtio, unsigned slot)
{
    virtio->complain = virtio_complains;
    virtio->opaque = pc;
    virtio_plug(virtio, &pc->pci, slot);
}

/* Slots: the bridge is 0, the console 2, the entropy 3, and the disks have 4 to 7, an interrupt line
 * each. */
static void init_pci(struct pc *pc)
{
    struct dma dma = {pc->ports.ram, pc->ports.ram_bytes, memory_written, pc};
    struct line lines[PCI_LINES];

    for (unsigned i = 0; i < PCI_LINES; i++)
        lines[i] = pic_input(&pc->pic, pci_irq[i]);
    pci_init(&pc->pci, &pc->bus, lines, &sysctl_cf8_ops, &pc->sysctl);
    console_init(&pc->console, PC_CONSOLE_VIRTIO, &pc->clock, &dma, console_sent, pc);
    plug(pc, &pc->console.virtio, 2);
    rng_init(&pc->rng, &pc->clock, &dma, pc->config.seed);
    plug(pc, &pc->rng.virtio, 3);
    for (unsigned i = 0; i < PC_DISKS; i++) {
        if (!pc->config.disk[i].bytes)
            continue;
        block_init(&pc->disk[i], i, &pc->config.disk[i], &pc->clock, &dma, block_asked, pc);
        plug(pc, &pc->disk[i].virtio, 4 + i);
    }
}

static void list_chips(struct pc *pc)
{
    unsigned n = 0;

    pc->chip[n].chip = &pic_chip, pc->chip[n++].device = &pc->pic;
    pc->chip[n].chip = &pit_chip, pc->chip[n++].device = &pc->pit;
    pc->chip[n].chip = &rtc_chip, pc->chip[n++].device = &pc->rtc;
    pc->chip[n].chip = &uart_chip[0], pc->chip[n++].device = &pc->uart[0];
    pc->chip[n].chip = &uart_chip[1], pc->chip[n++].device = &pc->uart[1];
    pc->chip[n].chip = &sysctl_chip, pc->chip[n++].device = &pc->sysctl;
    pc->chip[n].chip = &i8042_chip, pc->chip[n++].device = &pc->kbc;
    pc->chip[n].chip = &vga_chip, pc->chip[n++].device = &pc->vga;
    pc->chip[n].chip = &pci_chip, pc->chip[n++].device = &pc->pci;
    pc->chip[n].chip = &console_chip, pc->chip[n++].device = &pc->console;
    pc->chip[n].chip = &rng_chip, pc->chip[n++].device = &pc->rng;
    _Static_assert(PC_CHIPS == 11 + PC_DISKS, "the list above and its length");
    for (unsigned i = 0; i < PC_DISKS; i++)
        if (pc->config.disk[i].bytes)
            pc->chip[n].chip = &block_chip[i], pc->chip[n++].device = &pc->disk[i];
    pc->chips = n;
}

struct pc *pc_init(void *memory, const struct pc_config *config, const struct pc_ports *ports)
{
    struct pc *pc = memory;

    if (!ports->ram || ports->ram_bytes < RAM_LEAST || ports->ram_bytes > RAM_MOST ||
        ports->ram_bytes % 4096)
        return NULL;
    for (unsigned i = 0; i < PC_DISKS; i++)
        if (config->disk[i].bytes % BLOCK_SECTOR)
            return NULL;
    memset(pc, 0, sizeof *pc);
    pc->ports = *ports;
    pc->config = *config;
    if (!init_cpu(pc))
        return NULL;
    clock_init(&pc->clock, clock_insns, clock_hurry, pc->cpu);
    bus_init(&pc->bus);
    pc->bus.opaque = pc->pic.opaque = pc;
    pc->bus.unclaimed = unclaimed;
    init_chips(pc);
    init_pci(pc);
    pc->pic.opaque = pc;
    if (config->trace & PC_TRACE_IO)
        pc->bus.trace = trace_port;
    if (config->trace & PC_TRACE_IRQ)
        pc->pic.trace = trace_irq;
    list_chips(pc);
    return pc;
}

void pc_reset(struct pc *pc)
{
    cpu_reset(pc->cpu);
    for (unsigned i = 0; i < pc->chips; i++)
        pc->chip[i].chip->reset(pc->chip[i].device);
    pc->ended = PC_BUDGET;
    pc->reset_asked = pc->paused = false;
}

/* ---- Running ------------------------------------------------------------------------------ */

static enum pc_stop end(struct pc *pc, enum pc_stop stop)
{
    pc->ended = stop;
    return stop;
}

static bool waits_for_disk(const struct pc *pc)
{
    for (unsigned i = 0; i < PC_DISKS; i++)
        if (block_is_with_host(&pc->disk[i]))
            return true;
    return false;
}

/* The processor sleeps: guest time goes on to the next event, which may wake it. True when the
 * slice is over. */
static bool sleep_on(struct pc *pc, uint64_t until_ns)
{
    uint64_t next = clock_next(&pc->clock);

    if (next == CLOCK_NEVER && until_ns == CLOCK_NEVER)
        return true;
    if (next > until_ns) {
        clock_skip_to(&pc->clock, until_ns);
        return true;
    }
    clock_skip_to(&pc->clock, next);
    return false;
}

enum pc_stop pc_run(struct pc *pc, struct pc_budget budget)
{
    uint64_t start = cpu_insns(pc->cpu);
    unsigned idle_events = 0;

    if (pc->ended)
        return (enum pc_stop)pc->ended;
    pc->paused = false;
    pc->ram_used = true;
    clock_set_rate(&pc->clock, budget.ns_per_insn_q16);
    for (;;) {
        clock_fire_due(&pc->clock);
        if (pc->reset_asked)
            return end(pc, PC_RESET);
        if (pc->paused)
            return PC_PAUSED;
        if (pc->config.exact && waits_for_disk(pc))
            return PC_WAITING;

        uint64_t left = budget.max_insns - (cpu_insns(pc->cpu) - start);
        uint64_t stretch = clock_stretch(&pc->clock, budget.until_ns);
        if (!left || !stretch)
            return PC_BUDGET;
        switch (cpu_run(pc->cpu, stretch < left ? stretch : left)) {
        case CPU_STOP_BUDGET:
        case CPU_STOP_REQUESTED:
            idle_events = 0;
            break;
        case CPU_STOP_HALTED:
            if (pc->reset_asked || pc->paused)
                break;
            if (sleep_on(pc, budget.until_ns))
                return PC_IDLE;
            if (++idle_events == IDLE_EVENTS)
                return PC_BUDGET;
            break;
        case CPU_STOP_HALTED_IF:
            return end(pc, PC_OFF);
        case CPU_STOP_SHUTDOWN:
            return end(pc, PC_SHUTDOWN);
        }
    }
}

void pc_pause(struct pc *pc)
{
    pc->paused = true;
    cpu_request_exit(pc->cpu);
}

uint64_t pc_insns(const struct pc *pc)
{
    return cpu_insns(pc->cpu);
}

uint64_t pc_now_ns(const struct pc *pc)
{
    return clock_now(&pc->clock);
}

uint64_t pc_next_event_ns(const struct pc *pc)
{
    return clock_next(&pc->clock);
}

/* ---- Input and screen --------------------------------------------------------------------- */

size_t pc_console_in(struct pc *pc, unsigned uart, const uint8_t *bytes, size_t count)
{
    if (uart == PC_CONSOLE_VIRTIO)
        return console_receive(&pc->console, bytes, count);
    return uart < 2 ? uart_receive(&pc->uart[uart], bytes, count) : 0;
}

bool pc_key_in(struct pc *pc, const uint8_t *codes, size_t count)
{
    return i8042_key(&pc->kbc, codes, count);
}

void pc_mouse_in(struct pc *pc, int dx, int dy, unsigned buttons)
{
    i8042_mouse(&pc->kbc, dx, dy, buttons);
}

void pc_resize_in(struct pc *pc, uint16_t columns, uint16_t rows)
{
    console_resize(&pc->console, columns, rows);
}

void pc_seed_in(struct pc *pc, const uint8_t seed[PC_SEED])
{
    rng_seed(&pc->rng, seed);
}

/* ---- Disks -------------------------------------------------------------------------------- */

uint8_t *pc_block_data(struct pc *pc, unsigned disk, uint64_t offset, uint32_t *bytes)
{
    return disk < PC_DISKS ? block_data(&pc->disk[disk], offset, bytes) : NULL;
}

void pc_block_done(struct pc *pc, unsigned disk, enum pc_block_result result)
{
    if (disk < PC_DISKS)
        block_done(&pc->disk[disk], result);
}

void pc_disk_identify(struct pc *pc, unsigned disk, uint64_t identity)
{
    if (disk < PC_DISKS)
        pc->config.disk[disk].identity = identity;
}

bool pc_screen(struct pc *pc, uint16_t cells[80 * 25], int *cursor)
{
    return vga_text(&pc->vga, cells, cursor);
}
