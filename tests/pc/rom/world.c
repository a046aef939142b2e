/*
 * world.c: tables and registers as every case finds them, the running of a case, and its line on
 * the serial port.
 */
#include "rom.h"

uint64_t gdt[32] __attribute__((aligned(16)));
uint64_t idt[256] __attribute__((aligned(16)));
uint64_t ldt[8] __attribute__((aligned(16)));
struct tss tss_main __attribute__((aligned(256))), tss_other __attribute__((aligned(256)));
struct tss16 tss_16 __attribute__((aligned(256)));
struct start with;
struct shot shot;

extern char vector_stubs[];
extern uint32_t kept[23], kept_ss;
void enter(const uint32_t popad[8], const uint32_t *frame, const uint16_t data[4]);
void capture(void);
void *memset(void *to, int value, size_t count);
void *memcpy(void *to, const void *from, size_t count);

void *memset(void *to, int value, size_t count)
{
    uint8_t *bytes = to;
    while (count--)
        *bytes++ = (uint8_t)value;
    return to;
}

void *memcpy(void *to, const void *from, size_t count)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    while (count--)
        *out++ = *in++;
    return to;
}

/* ---- the serial port ---------------------------------------------------------------------- */

static void out8(uint16_t port, uint8_t value)
{
    __asm__ volatile("out dx, al" ::"d"(port), "a"(value));
}

static uint8_t in8(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("in al, dx" : "=a"(value) : "d"(port));
    return value;
}

static void put_char(char c)
{
    while (!(in8(0x3fd) & 0x20))
        ;
    out8(0x3f8, (uint8_t)c);
}

void put(const char *text)
{
    while (*text)
        put_char(*text++);
}

void put_hex(uint32_t value, unsigned digits)
{
    for (unsigned i = digits; i-- > 0;)
        put_char("0123456789abcdef"[value >> (4 * i) & 15]);
}

/* ---- tables ------------------------------------------------------------------------------- */

void set_descriptor(unsigned selector, uint32_t base, uint32_t limit, unsigned access,
                    unsigned flags)
{
    uint32_t low = (limit & 0xffff) | base << 16;
    uint32_t high =
        (base & 0xff000000) | flags << 20 | (limit & 0xf0000) | access << 8 | (base >> 16 & 0xff);
    uint64_t *table = selector & 4 ? ldt : gdt;
    table[selector >> 3] = (uint64_t)high << 32 | low;
}

void set_gate(unsigned selector, uint16_t target, uint32_t offset, unsigned access,
              unsigned parameters)
{
    uint64_t *table = selector & 4 ? ldt : gdt;
    table[selector >> 3] = (uint64_t)((offset & 0xffff0000) | access << 8 | parameters) << 32 |
                           ((uint32_t)target << 16 | (offset & 0xffff));
}

void set_interrupt(unsigned vector, uint16_t target, uint32_t offset, unsigned access)
{
    idt[vector] = (uint64_t)((offset & 0xffff0000) | access << 8) << 32 |
                  ((uint32_t)target << 16 | (offset & 0xffff));
}

void set_task(struct tss *tss, const void *code)
{
    memset(tss, 0, sizeof *tss);
    tss->esp0 = (uint32_t)ring0_stack + 8000;
    tss->ss0 = DATA0;
    tss->cr3 = (uint32_t)page_directory;
    tss->eip = (uint32_t)code;
    tss->eflags = 2;
    tss->reg[4] = (uint32_t)test_stack + 4000;
    for (unsigned i = 0; i < 6; i++)
        tss->seg[i] = i == 1 ? CODE0 : DATA0;
    tss->map = 104;
}

static void load_tables(void)
{
    struct {
        uint16_t limit;
        uint32_t base;
    } __attribute__((packed)) g = {sizeof gdt - 1, (uint32_t)gdt},
                              i = {sizeof idt - 1, (uint32_t)idt};
    __asm__ volatile("lgdt %0\n\tlidt %1" ::"m"(g), "m"(i));
    __asm__ volatile("push %0\n\tpopfd" ::"i"(2) : "cc");
    __asm__ volatile("xor eax, eax\n\tmov fs, ax\n\tmov gs, ax\n\tlldt ax\n\t"
                     "mov ax, 0x18\n\tmov ds, ax\n\tmov es, ax\n\t"
                     "mov ax, 0x30\n\tltr ax\n\tmov ax, 0x48\n\tlldt ax" ::
                         : "eax", "memory");
}

static void default_start(void)
{
    memset(&with, 0, sizeof with);
    with.eflags = 2;
}

void make_world(void)
{
    paging_off();
    __asm__ volatile("xor eax, eax\n\tmov dr7, eax\n\tmov dr0, eax\n\tmov dr1, eax\n\t"
                     "mov dr2, eax\n\tmov dr3, eax\n\tmov dr6, eax\n\tmov cr2, eax" ::
                         : "eax");
    memset(gdt, 0, sizeof gdt);
    memset(ldt, 0, sizeof ldt);
    memset(test_page, 0, sizeof test_page);
    set_descriptor(CODE0, 0, FLAT, A_CODE, F_32 | F_4K);
    set_descriptor(DATA0, 0, FLAT, A_DATA, F_32 | F_4K);
    set_descriptor(CODE3 & ~3u, 0, FLAT, A_CODE | A_DPL3, F_32 | F_4K);
    set_descriptor(DATA3 & ~3u, 0, FLAT, A_DATA | A_DPL3, F_32 | F_4K);
    set_descriptor(TSS_MAIN, (uint32_t)&tss_main, sizeof tss_main - 1, A_TSS, 0);
    set_descriptor(TSS_OTHER, (uint32_t)&tss_other, sizeof tss_other - 1, A_TSS, 0);
    set_descriptor(TSS_16, (uint32_t)&tss_16, sizeof tss_16 - 1, A_TSS16, 0);
    set_descriptor(LDT, (uint32_t)ldt, sizeof ldt - 1, A_LDT, 0);
    for (unsigned v = 0; v < 256; v++)
        set_interrupt(v, CODE0, (uint32_t)vector_stubs + v * 16,
                      A_INT | (v == 3 || v == 4 || v >= 0x80 ? A_DPL3 : 0));
    set_task(&tss_main, NULL);
    memset(tss_main.bits, 0xff, sizeof tss_main.bits);
    load_tables();
    default_start();
}

void paging_on(uint32_t cr4)
{
    enum { PRESENT_WRITABLE_USER = 7 };
    for (unsigned i = 0; i < 2048; i++)
        page_table[i / 1024][i % 1024] = i << 12 | PRESENT_WRITABLE_USER;
    memset(page_directory, 0, sizeof page_directory);
    for (unsigned i = 0; i < 2; i++)
        page_directory[i] = (uint32_t)page_table[i] | PRESENT_WRITABLE_USER;
    __asm__ volatile("mov cr4, %0\n\tmov cr3, %1\n\tmov eax, cr0\n\tor eax, 0x80000000\n\t"
                     "mov cr0, eax" ::"r"(cr4),
                     "r"(page_directory)
                     : "eax", "memory");
}

void paging_off(void)
{
    __asm__ volatile("mov cr0, %0\n\tmov cr4, %1" ::"r"(0x11), "r"(0) : "memory");
}

/* ---- running ------------------------------------------------------------------------------ */

static bool pushes_error(unsigned vector)
{
    return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17;
}

/* Called by `common` in start.S; kept[] is the stack from GS upwards. */
void capture(void)
{
    const uint32_t *k = kept;
    shot.gs = *k++ & 0xffff;
    shot.fs = *k++ & 0xffff;
    shot.es = *k++ & 0xffff;
    shot.ds = *k++ & 0xffff;
    for (unsigned i = 0; i < 8; i++)
        shot.reg[7 - i] = *k++;
    shot.vector = *k++ & 0xff;
    shot.has_error = pushes_error(shot.vector);
    shot.error = shot.has_error ? *k++ : 0;
    shot.eip = *k++;
    shot.cs = *k++ & 0xffff;
    shot.eflags = *k++;
    bool outer = (shot.cs & 3) || (shot.eflags & VM);
    shot.esp = outer ? *k++ : shot.reg[4] + 16 + 4 * shot.has_error;
    shot.ss = (outer ? *k++ : kept_ss) & 0xffff;
    if (shot.eflags & VM) {
        shot.es = *k++ & 0xffff;
        shot.ds = *k++ & 0xffff;
        shot.fs = *k++ & 0xffff;
        shot.gs = *k++ & 0xffff;
    }
    __asm__ volatile("mov %0, cr2" : "=r"(shot.cr2));
    __asm__ volatile("mov %0, dr6" : "=r"(shot.dr6));
    /* Watchpoints are for the case, not for its telling; and it may have set NT. */
    __asm__ volatile("mov dr7, %0\n\tpush %1\n\tpopfd" ::"r"(0), "i"(2) : "memory", "cc");
}

static uint32_t stack_of(enum ring ring)
{
    return ring == V86 ? 0x1000 : (uint32_t)(ring == RING0 ? test_stack : user_stack) + 4000;
}

void run(enum ring ring, const void *code)
{
    static uint32_t outer_frame[9];
    uint32_t popad[8], *frame = outer_frame, esp = with.esp ? with.esp : stack_of(ring);
    uint16_t data[4] = {with.es, with.ds, with.fs, with.gs};
    for (unsigned i = 0; i < 8; i++)
        popad[7 - i] = with.reg[i];
    if (ring == RING0)
        frame = (uint32_t *)esp - 3;
    frame[0] = ring == V86 ? 0 : (uint32_t)code;
    frame[1] = ring == V86 ? V86_CODE >> 4 : ring == RING3 ? CODE3 : CODE0;
    frame[2] = with.eflags | (ring == V86 ? VM : 0);
    if (ring != RING0) {
        frame[3] = esp;
        frame[4] = with.ss ? with.ss : ring == V86 ? 0x900 : DATA3;
    }
    if (ring == V86) {
        memcpy((void *)V86_CODE, code, 256);
        for (unsigned i = 0; i < 4; i++)
            frame[5 + i] = data[i];
        memset(data, 0, sizeof data);
    } else {
        for (unsigned i = 0; i < 2; i++)
            data[i] = data[i] ? data[i] : ring == RING0 ? DATA0 : DATA3;
    }
    enter(popad, frame, data);
}

/* ---- telling ------------------------------------------------------------------------------ */

static void put_vector(void)
{
    static const char *const names[] = {"DE", "DB", "NMI", "BP", "OF", "BR", "UD",
                                        "NM", "DF", "9",   "TS", "NP", "SS", "GP",
                                        "PF", "15", "MF",  "AC", "MC", "XM"};
    if (shot.vector == EXIT) {
        put("through");
        return;
    }
    put("#");
    if (shot.vector < sizeof names / sizeof names[0])
        put(names[shot.vector]);
    else
        put_hex(shot.vector, 2);
    if (shot.has_error) {
        put("(");
        put_hex(shot.error, 4);
        put(")");
    }
}

/* The flags of the system; what arithmetic left is not looked at. */
static void put_flags(void)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } flags[] = {{TF, "TF"}, {IF, "IF"}, {1 << 10, "DF"}, {1 << 12, "IOPL1"}, {1 << 13, "IOPL2"},
                 {NT, "NT"}, {RF, "RF"}, {VM, "VM"},      {AC, "AC"}};
    for (unsigned i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (shot.eflags & flags[i].bit) {
            put(" ");
            put(flags[i].name);
        }
}

static void put_stack(void)
{
    enum ring ring = shot.eflags & VM ? V86 : shot.cs & 3 ? RING3 : RING0;
    uint32_t moved = stack_of(ring) - shot.esp;
    put(" ss=");
    put_hex(shot.ss, 4);
    put(" esp");
    if (moved + 256 <= 512) {
        put((int32_t)moved < 0 ? "+" : "-");
        put_hex((int32_t)moved < 0 ? 0 - moved : moved, 2);
    } else {
        put("=");
        put_hex(shot.esp, 8);
    }
}

/* Code's addresses are told by where the case's code is, so that the text outlives changes. */
static const void *telling_of;

static void put_value(uint32_t value)
{
    extern char start[], end_of_image[];
    uint32_t code = (uint32_t)telling_of, offset = value - code;
    if (value < 0x10000)
        offset = value - (code & 0xffff);
    if (offset < 256 && value >= 0x1000) {
        put("code+");
        put_hex(offset, 2);
    } else if (value >= (uint32_t)start && value < (uint32_t)end_of_image) {
        put("text");
    } else {
        put_hex(value, 8);
    }
}

void also(const char *name, uint32_t value)
{
    put(" ");
    put(name);
    put("=");
    put_value(value);
}

void tell(const char *name, const void *code)
{
    static const char *const names[8] = {"eax", "ecx", "edx", "ebx", "", "ebp", "esi", "edi"};
    uint32_t offset = shot.eip - (shot.eflags & VM ? 0 : (uint32_t)code);
    telling_of = code;
    put(name);
    put(": ");
    put_vector();
    if (offset < 256) {
        put(" at +");
        put_hex(offset, 2);
    } else {
        put(" elsewhere");
    }
    put(" cs=");
    put_hex(shot.cs, 4);
    put_stack();
    put_flags();
    for (unsigned i = 0; i < 8; i++)
        if (i != 4 && shot.reg[i])
            also(names[i], shot.reg[i]);
    if (shot.vector == 14)
        also("cr2", shot.cr2);
    if (shot.vector == 1)
        also("dr6", shot.dr6 & 0xe00f);
}

void end_line(void)
{
    put("\r\n");
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void finish(void)
{
    static const char bochs[] = "Shutdown";
    put("end of the test ROM\r\n");
    for (const char *c = bochs; *c; c++)
        out8(0x8900, (uint8_t)*c); /* Bochs's way off */
    out8(0xf4, 0);                 /* QEMU's isa-debug-exit */
}

/* 115200 8N1. */
static void open_port(void)
{
    out8(0x3fb, 0x83);
    out8(0x3f8, 1);
    out8(0x3f9, 0);
    out8(0x3fb, 3);
}

/* Who jumps to 0, against the manual, comes to an INT 81h. */
static void catch_runaways(void)
{
    __asm__ volatile("rep stosw" ::"D"(0), "c"(0x800), "a"(EXIT << 8 | 0xcd) : "memory");
}

int main(void)
{
    open_port();
    catch_runaways();
    put("test ROM\r\n");
    make_world();
    segment_cases();
    gate_cases();
    task_cases();
    v86_cases();
    paging_cases();
    debug_cases();
    control_cases();
    odd_cases();
    finish();
    return 0;
}
