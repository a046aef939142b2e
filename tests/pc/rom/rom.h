/*
 * rom.h: the test ROM: a program of ring 0 that tries what ring-3 tests cannot (gates, rings,
 * tasks, virtual-8086, paging, control and debug registers, faults in odd places) and tells what
 * came of it on the serial port, a line a case. It runs on a bare 32-bit PC, here and under other
 * emulators, and what it says is compared.
 *
 *     GDT as make_world() leaves it: 10h/18h code and data of ring 0, 23h/2bh of ring 3, 30h the
 * TSS, 38h another, 40h one of 16 bits, 48h the LDT, 50h to f8h free for cases.
 */
#ifndef TESTS_PC_ROM_H
#define TESTS_PC_ROM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CODE0 = 0x10,
    DATA0 = 0x18,
    CODE3 = 0x23,
    DATA3 = 0x2b,
    TSS_MAIN = 0x30,
    TSS_OTHER = 0x38,
    TSS_16 = 0x40,
    LDT = 0x48,
    FREE = 0x50, /* and every 8 up to 0xf8 */

    /* Access bytes. */
    A_CODE = 0x9b,
    A_CODE_CONFORMING = 0x9f,
    A_CODE_UNREADABLE = 0x99,
    A_DATA = 0x93,
    A_DATA_DOWN = 0x97,
    A_DATA_RO = 0x91,
    A_DPL1 = 0x20,
    A_DPL2 = 0x40,
    A_DPL3 = 0x60,
    A_PRESENT = 0x80,
    A_LDT = 0x82,
    A_TSS = 0x89,
    A_TSS_BUSY = 0x8b,
    A_TSS16 = 0x81,
    A_CALL = 0x8c,
    A_CALL16 = 0x84,
    A_INT = 0x8e,
    A_TRAP = 0x8f,
    A_INT16 = 0x86,
    A_TASK = 0x85,
    /* Flags of a descriptor. */
    F_32 = 4,
    F_4K = 8,

    EXIT = 0x81, /* the vector that ends a case that went through */
    FLAT = 0xfffff,

    TF = 1 << 8,
    IF = 1 << 9,
    NT = 1 << 14,
    RF = 1 << 16,
    VM = 1 << 17,
    AC = 1 << 18,
    IOPL3 = 3 << 12,

    V86_CODE = 0x8000, /* where code of virtual-8086 mode is copied to: 0800:0000 */
    USER_STACK_BYTES = 4096,
};

struct tss {
    uint32_t link, esp0, ss0, esp1, ss1, esp2, ss2, cr3, eip, eflags;
    uint32_t reg[8]; /* EAX ECX EDX EBX ESP EBP ESI EDI */
    uint32_t seg[6]; /* ES CS SS DS FS GS */
    uint32_t ldt;
    uint16_t trap, map;
    uint8_t bits[36]; /* the I/O permission map, ports 0 to 11fh */
};

struct tss16 {
    uint16_t link, sp0, ss0, sp1, ss1, sp2, ss2, ip, flags, reg[8], seg[4], ldt;
};

extern uint64_t gdt[32], idt[256], ldt[8];
extern struct tss tss_main, tss_other;
extern struct tss16 tss_16;
/* At the places that rom.ld gives them. The pages map 0 to 8 MB to itself, for all to write. */
extern uint32_t page_directory[1024], page_table[2][1024];
extern uint64_t pae_pointers[4], pae_directory[512], pae_table[512];
extern uint8_t test_stack[8192], user_stack[8192], ring0_stack[8192], test_page[3 * 4096];
extern uint8_t fast_stack[4096];

/* ---- the world a case runs in ------------------------------------------------------------- */

/* Tables, control and debug registers as every case finds them. */
void make_world(void);
void set_descriptor(unsigned selector, uint32_t base, uint32_t limit, unsigned access,
                    unsigned flags);
void set_gate(unsigned selector, uint16_t target, uint32_t offset, unsigned access,
              unsigned parameters);
void set_interrupt(unsigned vector, uint16_t target, uint32_t offset, unsigned access);
/* A TSS that starts `code` in ring 0 (or another, by the selectors set afterwards). */
void set_task(struct tss *tss, const void *code);
/* Paging as above; cr4 bits are set first. */
void paging_on(uint32_t cr4);
void paging_off(void);

/* ---- running ------------------------------------------------------------------------------ */

enum ring { RING0, RING3, V86 };

struct shot {
    uint32_t vector, error, eip, cs, eflags, esp, ss;
    uint32_t reg[8]; /* as in a TSS; ESP as `esp` */
    uint32_t ds, es, fs, gs;
    uint32_t cr2, dr6;
    bool has_error;
};

/* Set before a case; back to the defaults after it. */
struct start {
    uint32_t reg[8], eflags;
    uint16_t es, ds, fs, gs, ss;
    uint32_t esp;
};
extern struct start with;
extern struct shot shot; /* what the last case ended with */

void run(enum ring ring, const void *code);

/* ---- telling ------------------------------------------------------------------------------ */

void put(const char *text);
void put_hex(uint32_t value, unsigned digits);
/* The name, and what the shot has to say. */
void tell(const char *name, const void *code);
/* " name=value", to be added to the line. */
void also(const char *name, uint32_t value);
void end_line(void);

/* A case: `text` is run in `ring` and told; more may be added before DONE. The text may not use the
 * commas of a macro's arguments outside its string. */
#define BEGIN(ring, name, text)     BEGIN_(ring, name, text, __COUNTER__)
#define BEGIN_(ring, name, text, n) BEGIN__(ring, name, text, n)
#define BEGIN__(ring, name, text, n)                                                               \
    {                                                                                              \
        extern const char case_##n[];                                                              \
        __asm__ volatile(".pushsection .text.cases, \"ax\"\n\tcase_" #n ":\n\t" text               \
                         "\n\tint 0x81\n\t.code32\n\t.popsection");                                \
        run(ring, case_##n);                                                                       \
        tell(name, case_##n);                                                                      \
    }
#define CASE(ring, name, text)                                                                     \
    do {                                                                                           \
        BEGIN(ring, name, text)                                                                    \
        end_line();                                                                                \
        make_world();                                                                              \
    } while (0)
/* The same with things looked at afterwards: also() calls. */
#define CASE_AND(ring, name, text, more)                                                           \
    do {                                                                                           \
        BEGIN(ring, name, text)                                                                    \
        more;                                                                                      \
        end_line();                                                                                \
        make_world();                                                                              \
    } while (0)
/* Code that a gate or a task leads to. */
#define CODE(name, text)                                                                           \
    __asm__(".pushsection .text.cases, \"ax\"\n\t.globl " #name "\n" #name ":\n\t" text            \
            "\n\tint 0x81\n\t.code32\n\t.popsection");                                             \
    extern const char name[]

void segment_cases(void);
void gate_cases(void);
void task_cases(void);
void v86_cases(void);
void paging_cases(void);
void debug_cases(void);
void control_cases(void);
void odd_cases(void);

#endif
