/*
 * decode.c: the decoder against Zydis, over prefixes x opcodes x ModRM in 16 and 32 bits: which
 * byte strings are instructions, and how long they are. Where the two differ there must be a reason
 * in the table below; those that Zydis knows and these processors do not are told by their
 * extension.
 */
#include "rig.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

static struct isa_index pentium_m;

/* Extensions that the newest model here has. */
static bool has_extension(ZydisISAExt ext)
{
    switch (ext) {
    case ZYDIS_ISA_EXT_BASE:
    case ZYDIS_ISA_EXT_X87:
    case ZYDIS_ISA_EXT_MMX:
    case ZYDIS_ISA_EXT_SSE:
    case ZYDIS_ISA_EXT_SSE2:
    case ZYDIS_ISA_EXT_CLFSH:
    case ZYDIS_ISA_EXT_PAUSE:
        return true;
    default:
        return false;
    }
}

static bool is_in(const uint8_t *set, size_t count, uint8_t value)
{
    return memchr(set, value, count) != NULL;
}

struct sample {
    const uint8_t *bytes;
    bool zydis_valid, ours_valid;
    ZydisDecodedInstruction zydis;
    struct insn ours;
};

/* Why the two may differ here, or NULL. */
static const char *explanation(const struct sample *s)
{
    uint8_t op = s->ours.opcode;
    bool two = s->ours.map == 1;
    static const uint8_t hint_nops[] = {0x0d, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f};
    if (two && (op == 0x05 || op == 0x07))
        return "SYSCALL and SYSRET came with 64 bits, or another vendor";
    if (two && op == 0xaa)
        return "RSM is undefined outside system management mode, which there is none of";
    if (s->zydis_valid && !has_extension(s->zydis.meta.isa_ext))
        return "newer than the Pentium M";
    if (two && is_in(hint_nops, sizeof hint_nops, op))
        return "reserved NOPs, which newer processors have given a meaning";
    return NULL;
}

struct tally {
    unsigned long samples, agree, explained, wrong;
    const char *reasons[16];
    unsigned long counts[16];
};

static void note_reason(struct tally *t, const char *why)
{
    for (unsigned i = 0; i < 16; i++)
        if (!t->reasons[i] || t->reasons[i] == why) {
            t->reasons[i] = why;
            t->counts[i]++;
            return;
        }
}

static void compare(const ZydisDecoder *decoder, const uint8_t *bytes, bool code32, struct tally *t)
{
    struct sample s = {.bytes = bytes};
    s.zydis_valid = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, bytes, 15, &s.zydis));
    s.ours_valid = insn_decode(&pentium_m, bytes, 15, code32, &s.ours) == INSN_OK;
    if (s.ours_valid && s.ours.entry && s.ours.entry->emit == EMIT_X87)
        s.ours_valid = x87_form(s.ours.opcode, s.ours.modrm, !s.ours.op16).kind != X87_UNDEFINED;
    t->samples++;
    bool agree =
        s.zydis_valid == s.ours_valid && (!s.ours_valid || s.zydis.length == s.ours.length);
    const char *why = agree ? NULL : explanation(&s);
    if (agree)
        t->agree++;
    else if (why)
        note_reason(t, why), t->explained++;
    else if (t->wrong++ % 256 == 0 && t->wrong < 40 * 256) {
        printf("# %s-bit", code32 ? "32" : "16");
        for (unsigned i = 0; i < 10; i++)
            printf(" %02x", bytes[i]);
        printf(": Zydis %s %u (%s), ours %s %u\n", s.zydis_valid ? "valid" : "invalid",
               s.zydis.length, s.zydis_valid ? ZydisMnemonicGetString(s.zydis.mnemonic) : "-",
               s.ours_valid ? "valid" : "invalid", s.ours.length);
    }
}

static void compare_all(bool code32, struct tally *t)
{
    static const uint8_t prefixes[][3] = {{0},          {0x66},       {0x67},       {0xf2},
                                          {0xf3},       {0xf0},       {0x2e},       {0x66, 0xf2},
                                          {0x66, 0xf3}, {0x67, 0x66}, {0xf0, 0x66}, {0x65, 0x67}};
    static const uint8_t tail[] = {0x24, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, code32 ? ZYDIS_MACHINE_MODE_LEGACY_32 : ZYDIS_MACHINE_MODE_LEGACY_16,
                     code32 ? ZYDIS_STACK_WIDTH_32 : ZYDIS_STACK_WIDTH_16);
    for (unsigned p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
        for (unsigned i = 0; i < 2 * 256 * 256; i++) {
            uint8_t bytes[16] = {0};
            unsigned n = 0, map = i >> 16;
            for (unsigned k = 0; k < 3 && prefixes[p][k]; k++)
                bytes[n++] = prefixes[p][k];
            if (map)
                bytes[n++] = 0x0f;
            bytes[n++] = (uint8_t)(i >> 8);
            bytes[n++] = (uint8_t)i;
            memcpy(bytes + n, tail, 15 - n < sizeof tail ? 15 - n : sizeof tail);
            compare(&decoder, bytes, code32, t);
        }
}

static void test_agrees_with_zydis(void **state)
{
    (void)state;
    struct tally t = {0};
    isa_index_build(&pentium_m, CPU_MODEL_PENTIUM_M);
    compare_all(true, &t);
    compare_all(false, &t);
    printf("# %lu strings: %lu alike, %lu differ with a reason, %lu without\n", t.samples, t.agree,
           t.explained, t.wrong);
    for (unsigned i = 0; i < 16 && t.reasons[i]; i++)
        printf("#   %8lu %s\n", t.counts[i], t.reasons[i]);
    assert_int_equal(t.wrong, 0);
    assert_true(t.agree > t.samples * 9 / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_agrees_with_zydis)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
