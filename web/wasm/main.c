/* main.c: a PC as a wasm module. One instance is one machine: its memory is the machine's memory,
 * and JavaScript calls the functions below with numbers and addresses in it.
 *
 *     at = web_alloc(bytes)                   room for a file, to be filled from outside
 *     web_create(ram_bytes, model, seconds)   the machine; 0 when there is no memory for it
 *     web_boot(kernel, …)                     0, or the address of a sentence
 *     web_begin(icount, now), then again and again:
 *     stop = web_slice(now, 8 ms)             enum pc_stop
 *     web_nap_ns(stop, took, now)             for how long nothing is to do
 *
 * What the machine says comes out through the imported functions. */
#include "pc/pace.h"

#define EXPORT(name) __attribute__((export_name(#name))) name
#define IMPORT(name) __attribute__((import_module("halter"), import_name(#name))) name

void IMPORT(console_out)(unsigned uart, unsigned byte);
void IMPORT(screen_changed)(void);
void IMPORT(log_line)(int level, const char *text);
int IMPORT(write_bytes)(const void *bytes, unsigned count);
int IMPORT(read_bytes)(void *bytes, unsigned count);

extern unsigned char __heap_base;

static struct pc *machine;
static struct pace pace;
static uint64_t slice_insns; /* the count when the last slice began */
static uintptr_t free_from;

#define PAGE 65536u

/* Memory is only ever taken: a machine's pieces live as long as the instance. 64 KB aligned. */
void *EXPORT(web_alloc)(uint32_t bytes)
{
    uintptr_t at, end;
    uint32_t have = (uint32_t)__builtin_wasm_memory_size(0);

    if (!free_from)
        free_from = (uintptr_t)&__heap_base;
    at = (free_from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    if (bytes > UINT32_MAX - PAGE - at)
        return NULL;
    end = at + bytes;
    uint32_t need = (uint32_t)((end + PAGE - 1) / PAGE);
    if (need > have && __builtin_wasm_memory_grow(0, need - have) == (size_t)-1)
        return NULL;
    free_from = end;
    return (void *)at;
}

static void console(void *opaque, unsigned uart, uint8_t byte)
{
    (void)opaque;
    console_out(uart, byte);
}

static void screen(void *opaque)
{
    (void)opaque;
    screen_changed();
}

static void tell(void *opaque, enum pc_log level, const char *text)
{
    (void)opaque;
    log_line((int)level, text);
}

int EXPORT(web_create)(uint32_t ram_bytes, uint32_t model, uint64_t rtc_seconds, uint32_t trace)
{
    struct pc_config config = {
        .model = (enum pc_model)model, .rtc_seconds = rtc_seconds, .trace = trace};
    struct pc_ports ports = {
        .ram_bytes = ram_bytes, .console_out = console, .screen_changed = screen, .log = tell};
    void *memory = web_alloc((uint32_t)pc_bytes(ram_bytes));

    ports.ram = web_alloc(ram_bytes);
    if (!memory || !ports.ram)
        return 0;
    machine = pc_init(memory, &config, &ports);
    return machine != NULL;
}

const char *EXPORT(web_boot)(const uint8_t *kernel, uint32_t kernel_bytes, const uint8_t *initrd,
                             uint32_t initrd_bytes, const char *command_line)
{
    struct pc_image image = {.kernel = kernel,
                             .kernel_bytes = kernel_bytes,
                             .initrd = initrd_bytes ? initrd : NULL,
                             .initrd_bytes = initrd_bytes,
                             .command_line = command_line};

    return pc_boot(machine, &image);
}

/* ---- Slices: pace.h on the clock of whoever calls ----------------------------------------- */

/* Begins the run, or begins it anew after a load. `icount_q16` 0 is real time. */
void EXPORT(web_begin)(uint32_t icount_q16, uint64_t host_ns)
{
    pace_init(&pace, icount_q16, host_ns, pc_now_ns(machine));
}

/* Runs the slice that is due at the host's moment, of at most `slice_ns`; enum pc_stop. */
int EXPORT(web_slice)(uint64_t host_ns, uint64_t slice_ns)
{
    struct pc_budget budget;

    pace.slice_ns = slice_ns;
    budget = pace_slice(&pace, host_ns, pc_now_ns(machine));
    if (pace.icount_q16) /* the length of deterministic slices changes nothing else */
        budget.max_insns = pace.insns_per_ms * slice_ns / 1000000 + 1;
    slice_insns = pc_insns(machine);
    if (!budget.max_insns)
        return PC_BUDGET;
    return (int)pc_run(machine, budget);
}

/* Tells how long that slice took, and what it came back with. Returns for how long the machine
 * has nothing to do, in ns; all ones: until something comes in. */
uint64_t EXPORT(web_nap_ns)(int stop, uint64_t took_ns, uint64_t host_ns)
{
    uint64_t wanted = stop == PC_IDLE ? pc_next_event_ns(machine) : pc_now_ns(machine);

    pace_measure(&pace, pc_insns(machine) - slice_insns, took_ns);
    if (pace.icount_q16)
        return stop == PC_IDLE ? UINT64_MAX : 0;
    return pace_nap_ns(&pace, host_ns, wanted);
}

void EXPORT(web_pause)(void)
{
    pc_pause(machine);
}

void EXPORT(web_reset)(void)
{
    pc_reset(machine);
}

uint32_t EXPORT(web_console_in)(unsigned uart, const uint8_t *bytes, uint32_t count)
{
    return (uint32_t)pc_console_in(machine, uart, bytes, count);
}

int EXPORT(web_key_in)(const uint8_t *codes, uint32_t count)
{
    return pc_key_in(machine, codes, count);
}

void EXPORT(web_mouse_in)(int dx, int dy, unsigned buttons)
{
    pc_mouse_in(machine, dx, dy, buttons);
}

/* Writes 80 × 25 cells; the cursor's cell, -1 without one, -2 when no text is on. */
int EXPORT(web_screen)(uint16_t *cells)
{
    int cursor;

    return pc_screen(machine, cells, &cursor) ? cursor : -2;
}

uint64_t EXPORT(web_insns)(void)
{
    return pc_insns(machine);
}

uint64_t EXPORT(web_now_ns)(void)
{
    return pc_now_ns(machine);
}

uint64_t EXPORT(web_next_event_ns)(void)
{
    return pc_next_event_ns(machine);
}

uint64_t EXPORT(web_hash)(void)
{
    return pc_hash(machine);
}

static bool write_out(void *opaque, const void *bytes, size_t count)
{
    (void)opaque;
    return write_bytes(bytes, (unsigned)count) != 0;
}

static bool read_in(void *opaque, void *bytes, size_t count)
{
    (void)opaque;
    return read_bytes(bytes, (unsigned)count) != 0;
}

int EXPORT(web_save)(void)
{
    return pc_save(machine, (struct pc_writer){write_out, NULL});
}

const char *EXPORT(web_load)(void)
{
    return pc_load(machine, (struct pc_reader){read_in, NULL});
}

static void tell_report(void *opaque, const char *text)
{
    (void)opaque;
    log_line(PC_LOG_ERROR, text);
}

void EXPORT(web_report)(void)
{
    pc_report(machine, tell_report, NULL);
}
