/*
 * oracle.h: one instruction run by a processor of flesh and blood. The 32-bit program native.c runs
 * cases on the machine's own processor, one trap-flag step each; emulated.c runs them on ours; the
 * tests compare. This header is what the two programs share: the layout below has no padding and
 * is the same in 32 and 64 bits.
 */
#ifndef TESTS_PC_ORACLE_H
#define TESTS_PC_ORACLE_H

#include <stdint.h>

enum {
    ORACLE_CODE = 0x10000, /* the page that the instruction is in, readable and executable */
    ORACLE_DATA = 0x20000, /* the only page that can be written */
    ORACLE_PAGE = 4096,
    ORACLE_OURS =
        0x100000, /* the emulated side's tables and handlers, which ring 3 cannot touch... */
    ORACLE_OURS_END = 0x107000, /* ...and which the native side has nothing in place of */
    ORACLE_START = ORACLE_CODE + 0x800,
    ORACLE_SMALL = ORACLE_DATA + 0x200, /* where FS is based, with a limit of its own */
    ORACLE_LIMIT = 0x5ff,
    ORACLE_BATCH = 4096,   /* cases that fit in the shared memory */
    ORACLE_CHANGES = 40,   /* bytes of the data page that one instruction can change */
    ORACLE_STEPPED = 0xff, /* oracle_state.trap: no fault, the step after the instruction */
};

struct oracle_state {
    uint32_t reg[8]; /* EAX ECX EDX EBX ESP EBP ESI EDI */
    uint32_t eip, eflags;
    uint32_t trap, error, cr2; /* after the instruction only */
};

/* The data page before the instruction follows from `page_seed`, afterwards from the changes. */
struct oracle_case {
    uint8_t code[16];
    uint32_t length;
    uint32_t page_seed;
    struct oracle_state before, after;
    uint32_t changes;
    uint16_t change_offset[ORACLE_CHANGES];
    uint8_t change_value[ORACLE_CHANGES];
};

struct oracle_shared {
    uint32_t selector[6]; /* ES CS SS DS FS GS that the native program runs with */
    struct oracle_case cases[ORACLE_BATCH];
};

static inline uint32_t oracle_random(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static inline void oracle_fill_page(uint32_t seed, uint8_t page[ORACLE_PAGE])
{
    uint32_t state = seed | 1;
    for (unsigned i = 0; i < ORACLE_PAGE; i += 4) {
        uint32_t word = oracle_random(&state);
        for (unsigned k = 0; k < 4; k++)
            page[i + k] = (uint8_t)(word >> (8 * k));
    }
}

/* Notes what differs between the page as filled and as it is now. */
static inline void oracle_note_changes(struct oracle_case *c, const uint8_t *before,
                                       const uint8_t *now)
{
    c->changes = 0;
    for (unsigned i = 0; i < ORACLE_PAGE; i++)
        if (before[i] != now[i] && c->changes < ORACLE_CHANGES) {
            c->change_offset[c->changes] = (uint16_t)i;
            c->change_value[c->changes++] = now[i];
        }
}

#endif
