/*
 * What CPUID says (SDM 2A "CPUID"): only features that are there, since programs choose their next
 * instructions by it. No APIC, MTRR, PAT or machine check: this machine has none of them.
 */
#include "pc/cpu/internal.h"

enum {
    FPU = 1 << 0,
    DE = 1 << 2,
    PSE = 1 << 3,
    TSC = 1 << 4,
    MSR = 1 << 5,
    PAE = 1 << 6,
    CX8 = 1 << 8,
    SEP = 1 << 11,
    PGE = 1 << 13,
    CMOV = 1 << 15,
    CLFSH = 1 << 19,
    MMX = 1 << 23,
    FXSR = 1 << 24,
    SSE = 1 << 25,
    SSE2 = 1 << 26,
    NX = 1 << 20, /* of leaf 80000001h */
};

struct identity {
    uint32_t signature; /* family, model, stepping */
    uint32_t features;
    uint32_t caches[4]; /* leaf 2 */
    char brand[48];     /* leaves 80000002h to 80000004h; empty: there are none */
};

enum {
    FEATURES_P6 = FPU | DE | PSE | TSC | MSR | PAE | CX8 | SEP | PGE | CMOV,
    FEATURES_P3 = FEATURES_P6 | MMX | FXSR | SSE,
    FEATURES_PM = FEATURES_P3 | SSE2 | CLFSH,
};

static const struct identity identities[] = {
    [CPU_MODEL_P6] = {0x619, FEATURES_P6, {0x03020101, 0, 0, 0x06040a42}, ""},
    [CPU_MODEL_PENTIUM3] = {0x68a, FEATURES_P3, {0x03020101, 0, 0, 0x0c040882}, ""},
    [CPU_MODEL_PENTIUM_M] = {0x6d8,
                             FEATURES_PM,
                             {0x02b3b001, 0x000000f0, 0, 0x2c04307d},
                             "Pentium M, emulated by halter"},
};

uint32_t cpuid_signature(const struct cpu *cpu)
{
    return identities[cpu->model].signature;
}

static void basic_leaf(const struct identity *id, uint32_t leaf, uint32_t out[4])
{
    static const char vendor[] = "GenuineIntel";
    switch (leaf) {
    case 0:
        out[0] = 2;
        memcpy(&out[1], vendor, 4);
        memcpy(&out[3], vendor + 4, 4);
        memcpy(&out[2], vendor + 8, 4);
        break;
    case 1:
        out[0] = id->signature;
        out[1] = id->features & CLFSH ? 8 << 8 : 0; /* lines of 64 bytes */
        out[3] = id->features;
        break;
    default: /* above the highest leaf: the highest one's data */
        memcpy(out, id->caches, 16);
        break;
    }
}

static void extended_leaf(const struct identity *id, uint32_t leaf, uint32_t out[4])
{
    if (leaf == 0x80000000) {
        out[0] = 0x80000004;
    } else if (leaf == 0x80000001) {
        out[3] = NX;
    } else {
        memcpy(out, id->brand + (leaf - 0x80000002) * 16, 16);
    }
}

void cpuid_answer(const struct cpu *cpu, uint32_t leaf, uint32_t out[4])
{
    const struct identity *id = &identities[cpu->model];
    memset(out, 0, 16);
    bool extended = leaf >= 0x80000000 && leaf <= 0x80000004 && id->brand[0];
    if (extended)
        extended_leaf(id, leaf, out);
    else
        basic_leaf(id, leaf, out);
}
