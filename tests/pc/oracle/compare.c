/*
 * compare.c: see compare.h.
 */
#include "compare.h"

#include <string.h>

#include "generate.h"
#include "pc/cpu/state.h"

static const struct isa_index *index_now(void)
{
    static struct isa_index index;
    static bool built;
    if (!built) {
        isa_index_build(&index, CPU_MODEL_PENTIUM_M);
        built = true;
    }
    return &index;
}

static bool decode(const struct oracle_case *c, struct insn *insn)
{
    return insn_decode(index_now(), c->code, sizeof c->code - 1, true, insn) == INSN_OK;
}

/* Flags that count: RF is the debugger's, and what the manual leaves open is not compared. */
static uint32_t compared_flags(const struct oracle_case *c)
{
    struct insn insn;
    uint32_t undefined = decode(c, &insn) ? oracle_undefined(c, &insn) : 0;
    /* A division that faults leaves the flags as open as one that does not. */
    return ~(undefined | FLAG_RF);
}

/* The bits of the error code that both sides have an opinion about. Whether a page is present (SDM
 * 3A 4.7, P) differs where the emulated side has its tables and the native one has nothing. */
static uint32_t compared_error(const struct oracle_state *s)
{
    bool ours = s->trap == VEC_PF && s->cr2 >= ORACLE_OURS && s->cr2 < ORACLE_OURS_END;
    return ours ? ~1u : ~0u;
}

bool oracle_agree(const struct oracle_case *want, const struct oracle_case *got)
{
    const struct oracle_state *a = &want->after, *b = &got->after;
    uint32_t flags = compared_flags(want);
    if (flags == ~(0xffffffffu | FLAG_RF)) /* the result is open as well */
        return true;
    return !memcmp(a->reg, b->reg, sizeof a->reg) && a->eip == b->eip &&
           !((a->eflags ^ b->eflags) & flags) && a->trap == b->trap &&
           !((a->error ^ b->error) & compared_error(a)) && a->cr2 == b->cr2 &&
           want->changes == got->changes &&
           !memcmp(want->change_offset, got->change_offset, want->changes * sizeof(uint16_t)) &&
           !memcmp(want->change_value, got->change_value, want->changes);
}

static void print_state(FILE *out, const char *name, const struct oracle_case *c,
                        const struct oracle_state *s)
{
    static const char *const names[8] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
    fprintf(out, "#   %s:", name);
    for (unsigned i = 0; i < 8; i++)
        fprintf(out, " %s=%08x", names[i], s->reg[i]);
    fprintf(out, " eip=%08x eflags=%08x trap=%u error=%x cr2=%08x", s->eip, s->eflags, s->trap,
            s->error, s->cr2);
    for (uint32_t i = 0; s != &c->before && i < c->changes; i++)
        fprintf(out, " [%03x]=%02x", c->change_offset[i], c->change_value[i]);
    fputc('\n', out);
}

void oracle_print(FILE *out, const struct oracle_case *want, const struct oracle_case *got)
{
    struct insn insn;
    char text[96] = "(undefined)";
    if (decode(want, &insn))
        insn_text(&insn, ORACLE_START, text, sizeof text);
    fprintf(out, "# %s:", text);
    for (uint32_t i = 0; i < want->length; i++)
        fprintf(out, " %02x", want->code[i]);
    fprintf(out, "  (flags compared: %08x)\n", compared_flags(want));
    print_state(out, "before", want, &want->before);
    print_state(out, "native", want, &want->after);
    print_state(out, "ours  ", got, &got->after);
}
