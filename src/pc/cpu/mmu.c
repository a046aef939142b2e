/*
 * Paging: the walk of the tables with its checks and its accessed and dirty bits, the software TLB
 * that remembers the results, and every access that the interpreter's fast path does not do itself
 * (page crossings, MMIO, pages with code).
 */
#include "pc/cpu/internal.h"

enum {
    PTE_P = 1u << 0,
    PTE_W = 1u << 1,
    PTE_U = 1u << 2,
    PTE_A = 1u << 5,
    PTE_D = 1u << 6,
    PTE_PS = 1u << 7,
    PTE_G = 1u << 8,

    ERROR_P = 1u << 0,
    ERROR_W = 1u << 1,
    ERROR_U = 1u << 2,
    ERROR_RSVD = 1u << 3,
    ERROR_ID = 1u << 4,
};

/* The end of a walk. */
struct translation {
    phys_t page;
    bool writable, user, no_execute, global, dirty, large;
};

/* ---- physical memory ---------------------------------------------------------------------- */

static bool page_is_mmio(const struct cpu *cpu, phys_t page)
{
    return page >= cpu->bus.ram_bytes || cpu->bus.is_mmio(cpu->bus.opaque, page);
}

static uint32_t phys_read32(struct cpu *cpu, phys_t at)
{
    uint32_t value = 0xffffffff;
    if (at < cpu->bus.ram_bytes)
        memcpy(&value, cpu->ram + at, 4);
    return value;
}

static void phys_write32(struct cpu *cpu, phys_t at, uint32_t value)
{
    if (at >= cpu->bus.ram_bytes)
        return;
    memcpy(cpu->ram + at, &value, 4);
    if (cpu->page_blocks[at >> 12])
        blocks_written(cpu, at, 4);
}

/* ---- the walk ----------------------------------------------------------------------------- */

static bool page_fault(struct cpu *cpu, linear_t lin, uint32_t error)
{
    cpu_fault_code(cpu, VEC_PF, (uint16_t)error);
    cpu->fault.cr2 = lin;
    return false;
}

static uint32_t base_error(const struct cpu *cpu, enum mmu_access access, bool user)
{
    bool nx = (cpu->efer & EFER_NXE) && (cpu->cr4 & CR4_PAE);
    return (access == MMU_WRITE ? ERROR_W : 0) | (user ? ERROR_U : 0) |
           (access == MMU_FETCH && nx ? ERROR_ID : 0);
}

static bool rights_allow(const struct cpu *cpu, const struct translation *t, enum mmu_access access,
                         bool user)
{
    if (user && !t->user)
        return false;
    if (access == MMU_WRITE && !t->writable && (user || (cpu->cr0 & CR0_WP)))
        return false;
    return access != MMU_FETCH || !t->no_execute;
}

/* Entries met on the way, so that their accessed and dirty bits are set once all is allowed. */
struct path {
    phys_t at[2];
    uint32_t low[2];
    unsigned count;
};

static void set_accessed_dirty(struct cpu *cpu, struct path *path, struct translation *t,
                               enum mmu_access access)
{
    for (unsigned i = 0; i < path->count; i++) {
        bool leaf = i + 1 == path->count;
        uint32_t want = PTE_A | (leaf && access == MMU_WRITE ? PTE_D : 0);
        if ((path->low[i] & want) != want)
            phys_write32(cpu, path->at[i], path->low[i] | want);
        t->dirty = (path->low[i] | want) & PTE_D;
    }
}

/* 32-bit paging (SDM 3A 4.3). */
static bool walk32(struct cpu *cpu, linear_t lin, uint32_t error, struct translation *t,
                   struct path *path)
{
    phys_t at = ((cpu->cr3 & ~0xfffu) + (lin >> 22) * 4) & cpu->a20_mask;
    uint32_t pde = phys_read32(cpu, at);
    *path = (struct path){{at}, {pde}, 1};
    if (!(pde & PTE_P))
        return page_fault(cpu, lin, error);
    if ((pde & PTE_PS) && (cpu->cr4 & CR4_PSE)) {
        if (pde & 0x3fe000) /* no PSE-36 */
            return page_fault(cpu, lin, error | ERROR_P | ERROR_RSVD);
        *t = (struct translation){.page = (pde & 0xffc00000) | (lin & 0x3ff000),
                                  .writable = pde & PTE_W,
                                  .user = pde & PTE_U,
                                  .global = pde & PTE_G,
                                  .large = true};
        return true;
    }
    at = ((pde & ~0xfffu) + (lin >> 12 & 0x3ff) * 4) & cpu->a20_mask;
    uint32_t pte = phys_read32(cpu, at);
    path->at[1] = at;
    path->low[1] = pte;
    path->count = 2;
    if (!(pte & PTE_P))
        return page_fault(cpu, lin, error);
    *t = (struct translation){.page = pte & ~0xfffu,
                              .writable = pde & pte & PTE_W,
                              .user = pde & pte & PTE_U,
                              .global = pte & PTE_G};
    return true;
}

/* Physical addresses have 36 bits on these processors; what is above is reserved, and so is bit 63
 * without NXE (SDM 3A table 4-9). */
static bool reserved_pae(const struct cpu *cpu, uint32_t high)
{
    uint32_t mask = cpu->efer & EFER_NXE ? 0x7ffffff0u : 0xfffffff0u;
    return high & mask;
}

/* There is nothing above 4 GB: such a page answers as one that no device owns. */
static phys_t pae_page(uint32_t low, uint32_t high, uint32_t low_mask)
{
    return high & 0xf ? 0xfffff000u : low & low_mask;
}

/* PAE paging (SDM 3A 4.4). */
static bool walk_pae(struct cpu *cpu, linear_t lin, uint32_t error, struct translation *t,
                     struct path *path)
{
    uint64_t pdpte = cpu->pdpte[lin >> 30];
    path->count = 0;
    if (!(pdpte & PTE_P))
        return page_fault(cpu, lin, error);
    phys_t at = (((uint32_t)pdpte & ~0xfffu) + (lin >> 21 & 0x1ff) * 8) & cpu->a20_mask;
    uint32_t pde = phys_read32(cpu, at), pde_high = phys_read32(cpu, at + 4);
    *path = (struct path){{at}, {pde}, 1};
    if (!(pde & PTE_P))
        return page_fault(cpu, lin, error);
    if (reserved_pae(cpu, pde_high) || ((pde & PTE_PS) && (pde & 0x1fe000)))
        return page_fault(cpu, lin, error | ERROR_P | ERROR_RSVD);
    if (pde & PTE_PS) {
        *t = (struct translation){.page = pae_page(pde, pde_high, 0xffe00000),
                                  .writable = pde & PTE_W,
                                  .user = pde & PTE_U,
                                  .global = pde & PTE_G,
                                  .no_execute = pde_high >> 31,
                                  .large = true};
        t->page |= lin & 0x1ff000;
        return true;
    }
    at = (pae_page(pde, pde_high, ~0xfffu) + (lin >> 12 & 0x1ff) * 8) & cpu->a20_mask;
    uint32_t pte = phys_read32(cpu, at), pte_high = phys_read32(cpu, at + 4);
    path->at[1] = at;
    path->low[1] = pte;
    path->count = 2;
    if (!(pte & PTE_P))
        return page_fault(cpu, lin, error);
    if (reserved_pae(cpu, pte_high))
        return page_fault(cpu, lin, error | ERROR_P | ERROR_RSVD);
    *t = (struct translation){.page = pae_page(pte, pte_high, ~0xfffu),
                              .writable = pde & pte & PTE_W,
                              .user = pde & pte & PTE_U,
                              .global = pte & PTE_G,
                              .no_execute = (pde_high | pte_high) >> 31};
    return true;
}

static bool walk(struct cpu *cpu, linear_t lin, enum mmu_access access, bool user,
                 struct translation *t)
{
    if (!(cpu->cr0 & CR0_PG)) {
        *t = (struct translation){
            .page = lin & ~0xfffu, .writable = true, .user = true, .dirty = true};
        return true;
    }
    uint32_t error = base_error(cpu, access, user);
    struct path path;
    bool pae = cpu->cr4 & CR4_PAE;
    if (!(pae ? walk_pae(cpu, lin, error, t, &path) : walk32(cpu, lin, error, t, &path)))
        return false;
    if (!(cpu->efer & EFER_NXE))
        t->no_execute = false;
    if (!rights_allow(cpu, t, access, user))
        return page_fault(cpu, lin, error | ERROR_P);
    set_accessed_dirty(cpu, &path, t, access);
    return true;
}

/* ---- the TLB ------------------------------------------------------------------------------ */

static struct tlb_entry *tlb_slot(struct cpu *cpu, linear_t lin, bool user)
{
    return &cpu->tlbs[user][lin >> 12 & (TLB_ENTRIES - 1)];
}

static uint32_t *tag_of(struct tlb_entry *e, enum mmu_access access)
{
    return access == MMU_READ ? &e->read : access == MMU_WRITE ? &e->write : &e->fetch;
}

static bool tag_matches(uint32_t tag, linear_t lin)
{
    return (tag & ~(uint32_t)(TLB_MMIO | TLB_CODE | TLB_WATCH)) == (lin & ~0xfffu);
}

/* A clean page's write tag stays empty, so that the first store walks again and sets D. */
static struct tlb_entry *tlb_fill(struct cpu *cpu, linear_t lin, enum mmu_access access, bool user)
{
    struct translation t;
    if (!walk(cpu, lin, access, user, &t))
        return NULL;
    phys_t page = t.page & cpu->a20_mask;
    linear_t tag = lin & ~0xfffu;
    uint32_t kind = page_is_mmio(cpu, page) ? TLB_MMIO : 0;
    uint32_t code = !kind && cpu->page_blocks[page >> 12] ? TLB_CODE : 0;
    uint32_t watch = debug_watches_page(cpu, tag) ? TLB_WATCH : 0;
    bool may_write = t.dirty && (t.writable || (!user && !(cpu->cr0 & CR0_WP)));

    struct tlb_entry *e = tlb_slot(cpu, lin, user);
    e->add = page - tag;
    e->read = tag | kind | watch;
    e->write = may_write ? tag | kind | code | watch : TLB_NONE;
    e->fetch = t.no_execute ? TLB_NONE : tag | kind;

    unsigned index = lin >> 12 & (TLB_ENTRIES - 1);
    uint64_t bit = 1ull << (index & 63);
    uint64_t *local = &cpu->tlb_local[user][index >> 6];
    *local = t.global && (cpu->cr4 & CR4_PGE) ? *local & ~bit : *local | bit;
    if (t.large) {
        cpu->large_low = lin < cpu->large_low ? lin : cpu->large_low;
        cpu->large_high = lin > cpu->large_high ? lin : cpu->large_high;
    }
    if (unlikely(cpu->trace & CPU_TRACE_MMU))
        trace_translation(cpu, lin, e, user);
    return e;
}

/* The entry that allows this access, filled if need be. */
static struct tlb_entry *tlb_get(struct cpu *cpu, linear_t lin, enum mmu_access access, bool user)
{
    struct tlb_entry *e = tlb_slot(cpu, lin, user);
    return tag_matches(*tag_of(e, access), lin) ? e : tlb_fill(cpu, lin, access, user);
}

static void tlb_drop(struct cpu *cpu, unsigned side, unsigned index)
{
    cpu->tlbs[side][index] = (struct tlb_entry){TLB_NONE, TLB_NONE, TLB_NONE, 0};
    cpu->tlb_local[side][index >> 6] &= ~(1ull << (index & 63));
}

void mmu_flush(struct cpu *cpu, bool global_too)
{
    cpu->code_page = TLB_NONE;
    if (global_too) {
        for (unsigned i = 0; i < TLB_ENTRIES; i++) {
            tlb_drop(cpu, 0, i);
            tlb_drop(cpu, 1, i);
        }
        cpu->large_low = 0xffffffff;
        cpu->large_high = 0;
        return;
    }
    for (unsigned side = 0; side < 2; side++)
        for (unsigned word = 0; word < TLB_ENTRIES / 64; word++)
            for (uint64_t bits = cpu->tlb_local[side][word]; bits; bits &= bits - 1)
                tlb_drop(cpu, side, word * 64 + (unsigned)__builtin_ctzll(bits));
}

void mmu_flush_page(struct cpu *cpu, linear_t lin)
{
    cpu->code_page = TLB_NONE;
    unsigned index = lin >> 12 & (TLB_ENTRIES - 1);
    for (unsigned side = 0; side < 2; side++)
        tlb_drop(cpu, side, index);
    /* A large page is cached in pieces, and INVLPG drops all of it (SDM 3A 4.10.4.1). */
    linear_t first = lin & 0xffc00000;
    if ((first | 0x3fffff) < cpu->large_low || first > cpu->large_high)
        return;
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < TLB_ENTRIES; i++)
            if ((cpu->tlbs[side][i].read & 0xffc00000) == first)
                tlb_drop(cpu, side, i);
}

void mmu_mark_code(struct cpu *cpu, phys_t page)
{
    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i < TLB_ENTRIES; i++) {
            struct tlb_entry *e = &cpu->tlbs[side][i];
            if (!(e->write & (TLB_NONE | TLB_MMIO)) && (e->write & ~0xfffu) + e->add == page)
                e->write |= TLB_CODE;
        }
}

static void mark_watched(const struct cpu *cpu, uint32_t *tag)
{
    if (*tag & TLB_NONE)
        return;
    bool watched = debug_watches_page(cpu, *tag & ~0xfffu);
    *tag = watched ? *tag | TLB_WATCH : *tag & ~(uint32_t)TLB_WATCH;
}

void mmu_mark_watched(struct cpu *cpu)
{
    for (unsigned i = 0; i < 2 * TLB_ENTRIES; i++) {
        struct tlb_entry *e = &cpu->tlbs[i / TLB_ENTRIES][i % TLB_ENTRIES];
        mark_watched(cpu, &e->read);
        mark_watched(cpu, &e->write);
    }
}

bool mmu_load_pdptes(struct cpu *cpu, uint32_t cr3)
{
    uint64_t pdpte[4];
    for (unsigned i = 0; i < 4; i++) {
        phys_t at = ((cr3 & ~31u) + i * 8) & cpu->a20_mask;
        pdpte[i] = phys_read32(cpu, at) | (uint64_t)phys_read32(cpu, at + 4) << 32;
        if ((pdpte[i] & PTE_P) && (pdpte[i] & ~0xffffff000ull & ~0xe19ull)) /* SDM 3A table 4-8 */
            return cpu_fault_code(cpu, VEC_GP, 0);
    }
    memcpy(cpu->pdpte, pdpte, sizeof pdpte);
    return true;
}

bool mmu_fetch(struct cpu *cpu, linear_t lin, phys_t *phys, bool *mmio)
{
    struct tlb_entry *e = tlb_get(cpu, lin, MMU_FETCH, cpu_user(cpu));
    if (!e)
        return false;
    *phys = lin + e->add;
    *mmio = e->fetch & TLB_MMIO;
    return true;
}

/* ---- accesses off the fast path ----------------------------------------------------------- */

static void mmio_read(struct cpu *cpu, phys_t at, uint8_t *bytes, unsigned count)
{
    while (count) {
        unsigned size = count >= 4 && !(at & 3) ? 4 : count >= 2 && !(at & 1) ? 2 : 1;
        uint32_t value = cpu->bus.mmio_read(cpu->bus.opaque, at, size);
        memcpy(bytes, &value, size);
        at += size;
        bytes += size;
        count -= size;
    }
}

static void mmio_write(struct cpu *cpu, phys_t at, const uint8_t *bytes, unsigned count)
{
    while (count) {
        unsigned size = count >= 4 && !(at & 3) ? 4 : count >= 2 && !(at & 1) ? 2 : 1;
        uint32_t value = 0;
        memcpy(&value, bytes, size);
        cpu->bus.mmio_write(cpu->bus.opaque, at, size, value);
        at += size;
        bytes += size;
        count -= size;
    }
}

/* How many of `count` bytes at `lin` are on its page. */
static unsigned on_page(linear_t lin, unsigned count)
{
    unsigned room = PAGE_BYTES - (lin & PAGE_MASK);
    return count < room ? count : room;
}

bool mmu_probe(struct cpu *cpu, linear_t lin, unsigned count, enum mmu_access access, bool user)
{
    unsigned first = on_page(lin, count);
    return tlb_get(cpu, lin, access, user) &&
           (first == count || tlb_get(cpu, lin + first, access, user));
}

static void read_piece(struct cpu *cpu, linear_t lin, uint8_t *bytes, unsigned count, bool user)
{
    const struct tlb_entry *e = tlb_slot(cpu, lin, user);
    if (e->read & TLB_MMIO)
        mmio_read(cpu, lin + e->add, bytes, count);
    else
        memcpy(bytes, cpu->ram + (phys_t)(lin + e->add), count);
}

/* The code map is looked at after the write, so that a block decoded from here on sees it. */
static void write_piece(struct cpu *cpu, linear_t lin, const uint8_t *bytes, unsigned count,
                        bool user)
{
    struct tlb_entry *e = tlb_slot(cpu, lin, user);
    phys_t at = lin + e->add;
    if (e->write & TLB_MMIO) {
        mmio_write(cpu, at, bytes, count);
        return;
    }
    memcpy(cpu->ram + at, bytes, count);
    if (!(e->write & TLB_CODE))
        return;
    blocks_written(cpu, at, count);
    if (!cpu->page_blocks[at >> 12])
        e->write &= ~(uint32_t)TLB_CODE;
}

bool mmu_read(struct cpu *cpu, linear_t lin, void *bytes, unsigned count, bool user)
{
    if (!mmu_probe(cpu, lin, count, MMU_READ, user))
        return false;
    if (unlikely(cpu->watching))
        debug_access(cpu, lin, count, false);
    unsigned first = on_page(lin, count);
    read_piece(cpu, lin, bytes, first, user);
    if (first < count)
        read_piece(cpu, lin + first, (uint8_t *)bytes + first, count - first, user);
    return true;
}

bool mmu_write(struct cpu *cpu, linear_t lin, const void *bytes, unsigned count, bool user)
{
    if (!mmu_probe(cpu, lin, count, MMU_WRITE, user))
        return false;
    if (unlikely(cpu->watching))
        debug_access(cpu, lin, count, true);
    unsigned first = on_page(lin, count);
    write_piece(cpu, lin, bytes, first, user);
    if (first < count)
        write_piece(cpu, lin + first, (const uint8_t *)bytes + first, count - first, user);
    return true;
}

int64_t mmu_load_slow(struct cpu *cpu, const struct uop *u, linear_t lin, unsigned size)
{
    uint32_t value = 0;
    cpu->uop = u;
    return mmu_read(cpu, lin, &value, size, cpu_user(cpu)) ? (int64_t)value : -1;
}

bool mmu_store_slow(struct cpu *cpu, const struct uop *u, linear_t lin, uint32_t value,
                    unsigned size)
{
    cpu->uop = u;
    return mmu_write(cpu, lin, &value, size, cpu_user(cpu));
}

void *mmu_rmw_begin(struct cpu *cpu, const struct uop *u, linear_t lin, unsigned size)
{
    bool user = cpu_user(cpu);
    cpu->uop = u;
    if (!mmu_probe(cpu, lin, size, MMU_WRITE, user))
        return NULL;
    struct tlb_entry *e = tlb_slot(cpu, lin, user);
    if (on_page(lin, size) == size && !(e->write & (TLB_MMIO | TLB_CODE | TLB_WATCH)))
        return cpu->ram + (phys_t)(lin + e->add);
    cpu->rmw.lin = lin;
    cpu->rmw.size = size;
    return mmu_read(cpu, lin, cpu->rmw.bytes, size, user) ? cpu->rmw.bytes : NULL;
}

void mmu_rmw_end(struct cpu *cpu)
{
    mmu_write(cpu, cpu->rmw.lin, cpu->rmw.bytes, cpu->rmw.size, cpu_user(cpu));
}
