/*
 * The block cache: decoded code, found by physical address and mode, and forgotten when what it was
 * decoded from changes. Blocks come from an arena that is emptied as a whole; one that is dropped
 * alone only gets a key that nothing matches, so links to it need no unlinking.
 *
 * Every write to RAM, whoever writes, goes past the code map here. Decoding touches no page before
 * execution does: it stops at the page's end, and an instruction that straddles it is a block of
 * its own (KEY_CROSS), whose second page is looked up each time it runs.
 */
#include "pc/cpu/internal.h"

enum {
    HASH_BYTES = (1 << BLOCK_HASH_BITS) * sizeof(struct block *),
    ARENA_BYTES = 24 << 20,
    BLOCK_MAX_SIZE = sizeof(struct block) + (BLOCK_MAX_INSNS + 2) * sizeof(struct uop),
};

static size_t map_bytes(uint32_t ram_bytes)
{
    size_t pages = ram_bytes / PAGE_BYTES;
    return HASH_BYTES + pages * (sizeof(struct block *) + sizeof(uint64_t));
}

size_t blocks_bytes(uint32_t ram_bytes)
{
    return map_bytes(ram_bytes) + ARENA_BYTES;
}

/* A block of one micro-op that is never found by its key. */
static struct block *make_special(struct cpu *cpu)
{
    struct block *b = (struct block *)(void *)cpu->arena;
    memset(b, 0, sizeof *b + 2 * sizeof(struct uop));
    b->key = (uint32_t)KEY_DEAD;
    cpu->arena += sizeof *b + 2 * sizeof(struct uop);
    return b;
}

bool blocks_init(struct cpu *cpu, void *cache, size_t bytes)
{
    size_t maps = map_bytes(cpu->bus.ram_bytes);
    if (bytes < maps + 4 * BLOCK_MAX_SIZE || ((uintptr_t)cache & 15))
        return false;
    uint8_t *at = cache;
    cpu->ram_pages = cpu->bus.ram_bytes / PAGE_BYTES;
    cpu->hash = (struct block **)(void *)at;
    at += HASH_BYTES;
    cpu->page_blocks = (struct block **)(void *)at;
    at += cpu->ram_pages * sizeof(struct block *);
    cpu->code_map = (uint64_t *)(void *)at;
    at += cpu->ram_pages * sizeof(uint64_t);
    at = (uint8_t *)cache + (((size_t)(at - (uint8_t *)cache) + 15) & ~(size_t)15);
    cpu->arena = at;
    cpu->arena_end = (uint8_t *)cache + bytes;
    cpu->none = make_special(cpu);
    cpu->scratch = make_special(cpu);
    blocks_flush(cpu);
    return true;
}

void blocks_flush(struct cpu *cpu)
{
    for (unsigned i = 0; i < 1u << BLOCK_HASH_BITS; i++)
        cpu->hash[i] = cpu->none;
    memset(cpu->page_blocks, 0, cpu->ram_pages * sizeof(struct block *));
    memset(cpu->code_map, 0, cpu->ram_pages * sizeof(uint64_t));
    cpu->arena_next = cpu->arena;
    cpu->link_from = NULL;
    cpu->none->hash_next = cpu->none;
}

/* ---- forgetting --------------------------------------------------------------------------- */

/* The bits of a page's word in the code map for [from, to], offsets in the page. */
static uint64_t grains(uint32_t from, uint32_t to)
{
    unsigned first = from >> CODE_GRAIN_BITS, last = to >> CODE_GRAIN_BITS;
    return ~0ull >> (63 - (last - first)) << first;
}

/* The part of a block's code that lies on `page`: first and last offset in it. */
static void extent_on_page(const struct block *b, phys_t page, uint32_t *from, uint32_t *to)
{
    if ((b->phys & ~0xfffu) == page) {
        uint32_t end = (b->phys & PAGE_MASK) + b->bytes - 1u;
        *from = b->phys & PAGE_MASK;
        *to = end > PAGE_MASK ? PAGE_MASK : end;
    } else {
        *from = 0;
        *to = (b->phys + b->bytes - 1) & PAGE_MASK;
    }
}

static struct block **next_on_page(struct block *b, phys_t page)
{
    return (b->phys & ~0xfffu) == page ? &b->page_next : &b->page2_next;
}

static void kill_block(struct cpu *cpu, struct block *b)
{
    struct block **slot = &cpu->hash[blocks_hash(b->phys)];
    for (; *slot != cpu->none; slot = &(*slot)->hash_next)
        if (*slot == b) {
            *slot = b->hash_next;
            break;
        }
    b->key = (uint32_t)KEY_DEAD;
    if (b == cpu->block)
        blocks_leave_after(cpu);
}

static void written_on_page(struct cpu *cpu, phys_t page, uint32_t from, uint32_t to)
{
    if (!(cpu->code_map[page >> 12] & grains(from, to)))
        return;
    uint64_t left = 0;
    struct block **slot = &cpu->page_blocks[page >> 12];
    while (*slot) {
        struct block *b = *slot;
        uint32_t first, last;
        extent_on_page(b, page, &first, &last);
        if (b->key != (uint32_t)KEY_DEAD && first <= to && last >= from)
            kill_block(cpu, b);
        if (b->key == (uint32_t)KEY_DEAD) {
            *slot = *next_on_page(b, page);
        } else {
            left |= grains(first, last);
            slot = next_on_page(b, page);
        }
    }
    cpu->code_map[page >> 12] = left;
}

void blocks_written(struct cpu *cpu, phys_t addr, uint32_t bytes)
{
    if (addr >= cpu->bus.ram_bytes)
        return;
    if (bytes > cpu->bus.ram_bytes - addr)
        bytes = cpu->bus.ram_bytes - addr;
    while (bytes) {
        uint32_t offset = addr & PAGE_MASK, count = PAGE_BYTES - offset;
        count = bytes < count ? bytes : count;
        if (cpu->page_blocks[addr >> 12])
            written_on_page(cpu, addr - offset, offset, offset + count - 1);
        addr += count;
        bytes -= count;
    }
}

/* The micro-op after the current one becomes an exit. Its block may live on: interp_run() puts the
 * old one back on its way out. */
void blocks_leave_after(struct cpu *cpu)
{
    if (!cpu->block || !cpu->uop || cpu->patched)
        return;
    struct uop *next = &cpu->block->uops[cpu->uop - cpu->block->uops + 1];
    cpu->patched = next;
    cpu->patched_op = next->op;
    next->op = OP_leave;
}

void blocks_unpatch(struct cpu *cpu)
{
    if (cpu->patched)
        cpu->patched->op = cpu->patched_op;
    cpu->patched = NULL;
}

/* ---- making ------------------------------------------------------------------------------- */

static struct block *arena_block(struct cpu *cpu)
{
    if ((size_t)(cpu->arena_end - cpu->arena_next) < BLOCK_MAX_SIZE)
        blocks_flush(cpu);
    struct block *b = (struct block *)(void *)cpu->arena_next;
    memset(b, 0, sizeof *b);
    return b;
}

static void end_uop(struct block *b)
{
    b->uops[b->insns] = (struct uop){.op = OP_end, .icnt = (uint8_t)b->bytes};
}

/* Decodes from `code` into `b`, up to the page's end. False when not even one instruction fits. */
static bool decode_block(struct cpu *cpu, struct block *b, const uint8_t *code, size_t available)
{
    unsigned most = b->key & KEY_SINGLE ? 1 : BLOCK_MAX_INSNS;
    bool ended = false;
    while (!ended && b->insns < most && b->bytes < BLOCK_MAX_BYTES) {
        struct insn insn;
        enum insn_status status = insn_decode(&cpu->isa, code + b->bytes, available - b->bytes,
                                              b->key & KEY_CODE32, &insn);
        if (status == INSN_MORE)
            break;
        struct uop *u = &b->uops[b->insns++];
        if (status == INSN_OK) {
            ended = emit_uop(&insn, b->key, (uint8_t)b->bytes, u);
        } else {
            emit_undefined(status, (uint8_t)b->bytes, u);
            ended = true;
        }
        b->bytes = (uint16_t)(b->bytes + insn.length);
    }
    end_uop(b);
    fuse_block(b);
    return b->insns > 0;
}

static void add_to_page(struct cpu *cpu, struct block *b, phys_t page)
{
    uint32_t from, to;
    struct block **head = &cpu->page_blocks[page >> 12];
    bool first = !*head;
    *next_on_page(b, page) = *head;
    *head = b;
    extent_on_page(b, page, &from, &to);
    cpu->code_map[page >> 12] |= grains(from, to);
    if (first)
        mmu_mark_code(cpu, page);
}

static struct block *keep(struct cpu *cpu, struct block *b)
{
    struct block **slot = &cpu->hash[blocks_hash(b->phys)];
    size_t size = sizeof *b + (b->insns + 1u) * sizeof(struct uop);
    cpu->arena_next += (size + 15) & ~(size_t)15;
    b->link[0] = b->link[1] = cpu->none;
    b->hash_next = *slot;
    *slot = b;
    add_to_page(cpu, b, b->phys & ~0xfffu);
    if (b->key & KEY_CROSS)
        add_to_page(cpu, b, b->phys2);
    return b;
}

/* An instruction over a page's end. Its first page has been fetched; the second is now. */
static struct block *make_crossing(struct cpu *cpu, uint32_t key, linear_t lin, phys_t phys,
                                   bool mmio)
{
    uint8_t code[INSN_MAX_BYTES];
    unsigned first = PAGE_BYTES - (lin & PAGE_MASK);
    phys_t phys2;
    bool mmio2;
    if (!mmu_fetch(cpu, lin + first, &phys2, &mmio2))
        return NULL;
    for (unsigned i = 0; i < sizeof code; i++) {
        bool second = i >= first;
        phys_t at = second ? phys2 + (i - first) : phys + i;
        code[i] = (second ? mmio2 : mmio) ? (uint8_t)cpu->bus.mmio_read(cpu->bus.opaque, at, 1)
                                          : cpu->ram[at];
    }
    struct block *b = mmio || mmio2 ? cpu->scratch : arena_block(cpu);
    b->phys = phys;
    b->phys2 = phys2;
    b->insns = b->bytes = 0;
    b->key = key | KEY_SINGLE;
    decode_block(cpu, b, code, sizeof code);
    b->key = key | KEY_CROSS;
    if (b == cpu->scratch)
        return b;
    return keep(cpu, b);
}

/* Code in MMIO is read for each execution. */
static struct block *make_uncached(struct cpu *cpu, uint32_t key, linear_t lin, phys_t phys)
{
    uint8_t code[INSN_MAX_BYTES];
    unsigned room = PAGE_BYTES - (lin & PAGE_MASK);
    unsigned count = room < sizeof code ? room : sizeof code;
    for (unsigned i = 0; i < count; i++)
        code[i] = (uint8_t)cpu->bus.mmio_read(cpu->bus.opaque, phys + i, 1);
    struct block *b = cpu->scratch;
    b->phys = phys;
    b->insns = b->bytes = 0;
    b->link[0] = b->link[1] = cpu->none;
    b->key = key | KEY_SINGLE;
    if (decode_block(cpu, b, code, count))
        return b;
    return make_crossing(cpu, key, lin, phys, true);
}

static struct block *make(struct cpu *cpu, uint32_t key, linear_t lin, phys_t phys)
{
    struct block *b = arena_block(cpu);
    b->phys = phys;
    b->key = key;
    if (decode_block(cpu, b, cpu->ram + phys, PAGE_BYTES - (phys & PAGE_MASK)))
        return keep(cpu, b);
    return make_crossing(cpu, key, lin, phys, false);
}

/* ---- finding ------------------------------------------------------------------------------ */

/* A known block, moved to the front of its chain; for a crossing one, its second page must still
 * be the same. NULL: none known, or (with cpu->fault) the second page faults. */
static struct block *lookup(struct cpu *cpu, uint32_t key, linear_t lin, phys_t phys)
{
    struct block **head = &cpu->hash[blocks_hash(phys)];
    for (struct block **slot = head; *slot != cpu->none; slot = &(*slot)->hash_next) {
        struct block *b = *slot;
        if (b->phys != phys || (b->key & ~(uint32_t)KEY_CROSS) != (key & ~(uint32_t)KEY_CROSS))
            continue;
        if (b->key & KEY_CROSS) {
            phys_t phys2;
            bool mmio2;
            if (!mmu_fetch(cpu, (lin | PAGE_MASK) + 1, &phys2, &mmio2))
                return NULL;
            if (phys2 != b->phys2)
                continue;
        }
        *slot = b->hash_next;
        b->hash_next = *head;
        *head = b;
        return b;
    }
    return NULL;
}

static bool locate_code(struct cpu *cpu, linear_t lin, phys_t *phys, bool *mmio)
{
    linear_t page = lin & ~0xfffu;
    if (page == cpu->code_page) {
        *phys = lin + cpu->code_add;
        *mmio = false;
        return true;
    }
    if (!mmu_fetch(cpu, lin, phys, mmio))
        return false;
    cpu->code_page = *mmio ? TLB_NONE : page;
    cpu->code_add = *phys - lin;
    return true;
}

static struct block *find(struct cpu *cpu, uint32_t key)
{
    const struct segment *cs = &cpu->seg[SEG_CS];
    linear_t lin = cs->base + cpu->eip;
    phys_t phys;
    bool mmio;
    if (!locate_code(cpu, lin, &phys, &mmio))
        return NULL;
    if (mmio)
        return make_uncached(cpu, key, lin, phys);
    struct block *b = lookup(cpu, key, lin, phys);
    if (!b && !cpu->fault.pending)
        b = make(cpu, key, lin, phys);
    return b;
}

struct block *blocks_find(struct cpu *cpu, uint32_t key)
{
    uint32_t limit = cpu->seg[SEG_CS].limit;
    if (key & KEY_FLAT)
        return find(cpu, key);
    if (cpu->eip > limit) {
        cpu_fault_code(cpu, VEC_GP, 0);
        return NULL;
    }
    struct block *b = find(cpu, key);
    if (!b || b->bytes - 1u <= limit - cpu->eip)
        return b;
    /* It runs over the segment's limit: one instruction at a time up to there. */
    if (!(key & KEY_SINGLE))
        b = find(cpu, key | KEY_SINGLE);
    if (b && b->bytes - 1u > limit - cpu->eip) {
        cpu_fault_code(cpu, VEC_GP, 0);
        return NULL;
    }
    return b;
}
