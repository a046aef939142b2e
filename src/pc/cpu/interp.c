/*
 * The interpreter: runs micro-ops, from block to block, until something needs the loop in cpu.c.
 * One text of the operations (ops.inc) and two dispatchers: computed goto where the compiler makes
 * a jump of it, one switch in WebAssembly, which has no such jump. Everything rare is out of line.
 *
 * Exact counts: entering a block takes its instructions off cpu->left at once; whoever leaves in
 * its middle gives back those that did not happen.
 */
#include "pc/cpu/internal.h"

/* Labels as values and statement expressions are extensions that gcc and clang share. */
#pragma GCC diagnostic ignored "-Wpedantic"

#if defined(__wasm__) || defined(PC_CPU_SWITCH)
#    define BY_SWITCH
#endif

/* ---- registers ---------------------------------------------------------------------------- */

#define GET_b(i)    (((const uint8_t *)cpu->reg)[i])
#define GET_w(i)    ((uint16_t)cpu->reg[i])
#define GET_l(i)    ((uint32_t)cpu->reg[i])
#define SET_b(i, v) (((uint8_t *)cpu->reg)[i] = (uint8_t)(v))
#define SET_w(i, v) (cpu->reg[i] = (cpu->reg[i] & ~0xffffull) | (uint16_t)(v))
#define SET_l(i, v) (cpu->reg[i] = (uint32_t)(v))

typedef uint8_t type_b;
typedef uint16_t type_w;
typedef uint32_t type_l;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "registers are addressed by byte");

/* ---- memory ------------------------------------------------------------------------------- */

/* The linear address of the memory operand. */
#define ADDRESS(ea, size, access)                                                                  \
    uint32_t ea = GET_l(u->base) + (GET_l(u->index) << (u->scale_seg & UOP_SCALE)) + u->disp;      \
    if (unlikely(u->scale_seg & UOP_SLOW_EA)) {                                                    \
        linear_t slow_##ea;                                                                        \
        if (!seg_operand(cpu, u, size, access, &slow_##ea))                                        \
            goto fault;                                                                            \
        ea = slow_##ea;                                                                            \
    }

#define TLB_AT(ea)               (&tlb[(ea) >> 12 & (TLB_ENTRIES - 1)])
#define TLB_HIT(ea, size, entry) ((((ea) + (uint32_t)((size)-1)) & ~(uint32_t)PAGE_MASK) == (entry))

#define LOAD(W, var, ea)                                                                           \
    type_##W var;                                                                                  \
    {                                                                                              \
        const struct tlb_entry *e_ = TLB_AT(ea);                                                   \
        if (likely(TLB_HIT(ea, sizeof var, e_->read))) {                                           \
            memcpy(&var, ram + (uint32_t)((ea) + e_->add), sizeof var);                            \
        } else {                                                                                   \
            int64_t slow_ = mmu_load_slow(cpu, u, ea, sizeof var);                                 \
            if (slow_ < 0)                                                                         \
                goto fault;                                                                        \
            var = (type_##W)slow_;                                                                 \
        }                                                                                          \
    }

#define STORE(W, ea, value)                                                                        \
    {                                                                                              \
        const type_##W v_ = (type_##W)(value);                                                     \
        const struct tlb_entry *e_ = TLB_AT(ea);                                                   \
        if (likely(TLB_HIT(ea, sizeof v_, e_->write)))                                             \
            memcpy(ram + (uint32_t)((ea) + e_->add), &v_, sizeof v_);                              \
        else if (!mmu_store_slow(cpu, u, ea, v_, sizeof v_))                                       \
            goto fault;                                                                            \
    }

/* Read, modify, write: nothing faults after RMW_BEGIN. */
#define RMW_BEGIN(W, a, p, ea)                                                                     \
    type_##W a;                                                                                    \
    void *p;                                                                                       \
    {                                                                                              \
        const struct tlb_entry *e_ = TLB_AT(ea);                                                   \
        if (likely(TLB_HIT(ea, sizeof a, e_->write))) {                                            \
            p = ram + (uint32_t)((ea) + e_->add);                                                  \
        } else {                                                                                   \
            p = mmu_rmw_begin(cpu, u, ea, sizeof a);                                               \
            if (!p)                                                                                \
                goto fault;                                                                        \
        }                                                                                          \
        memcpy(&a, p, sizeof a);                                                                   \
    }
#define RMW_END(r, p)                                                                              \
    memcpy(p, &r, sizeof r);                                                                       \
    if (unlikely((p) == (void *)cpu->rmw.bytes))                                                   \
        mmu_rmw_end(cpu);

/* ---- control ------------------------------------------------------------------------------ */

#ifdef BY_SWITCH
#    define OP(name) case OP_##name:
#    define NEXT     goto next
#    define DISPATCH goto dispatch
#else
#    define OP(name) label_##name:
#    define NEXT                                                                                   \
        {                                                                                          \
            u++;                                                                                   \
            goto *labels[u->op];                                                                   \
        }
#    define DISPATCH goto *labels[u->op]
#endif

/* Goes to `target` by link `k` of the block, when there is one that still holds. */
#define FOLLOW(k, target)                                                                          \
    {                                                                                              \
        struct block *next_ = b->link[k];                                                          \
        from = cpu->eip;                                                                           \
        cpu->eip = (target);                                                                       \
        if (likely(next_->key == cpu->key)) {                                                      \
            b = next_;                                                                             \
            goto enter;                                                                            \
        }                                                                                          \
        link = &b->link[k];                                                                        \
        goto find;                                                                                 \
    }
#ifdef BY_SWITCH /* one such place, so that the loop stays small */
#    define CHAIN(k, target)                                                                       \
        {                                                                                          \
            way = (k);                                                                             \
            to = (target);                                                                         \
            goto follow;                                                                           \
        }
#else
#    define CHAIN FOLLOW
#endif
#define JUMP(target)                                                                               \
    {                                                                                              \
        cpu->eip = (target);                                                                       \
        link = NULL;                                                                               \
        goto find;                                                                                 \
    }
/* To code that is not flat: found by the loop, which checks the limit. */
#define JUMP_OUT(target)                                                                           \
    {                                                                                              \
        cpu->eip = (target);                                                                       \
        goto out;                                                                                  \
    }

/* Ends with what an operation out of line says. */
#define END_WITH(status)                                                                           \
    {                                                                                              \
        cpu->uop = u;                                                                              \
        helper_ended(cpu, b, u, status);                                                           \
        goto out;                                                                                  \
    }

/* Gives back the instructions behind micro-op `index` and its predecessors. */
static void give_back(struct cpu *cpu, const struct block *b, int64_t done)
{
    cpu->left += b->insns - done;
}

static void helper_ended(struct cpu *cpu, const struct block *b, const struct uop *u,
                         enum op_status status)
{
    int64_t index = u - b->uops;
    give_back(cpu, b, status == OP_FAULT ? index : index + 1);
    if (status == OP_LEAVE)
        cpu->eip = uop_next_eip(cpu, u);
    else if (status != OP_JUMPED)
        cpu->eip = uop_eip(cpu, u);
    if (status == OP_AGAIN)
        cpu->begun = true;
}

#ifdef BY_SWITCH
/*
 * What the loop has no room for. A WebAssembly engine allocates registers properly only in
 * functions that are not huge, and an indirect call costs it twice a direct one: so the loop holds
 * what most programs do most, and all else is one call and one switch away.
 */
#    define HOT(...)
#    define RARE(...) __VA_ARGS__
#    undef NEXT
#    define NEXT return OP_DONE
#    undef JUMP_OUT
#    define JUMP_OUT(target)                                                                       \
        {                                                                                          \
            cpu->eip = (target);                                                                   \
            return OP_JUMPED;                                                                      \
        }
#    undef END_WITH
#    define END_WITH(status)                                                                       \
        {                                                                                          \
            return status;                                                                         \
        }
static __attribute__((noinline)) enum op_status interp_rare(struct cpu *cpu, const struct uop *u)
{
    struct tlb_entry *const tlb = cpu->tlb;
    uint8_t *const ram = cpu->ram;

    cpu->uop = u;
    switch (u->op) {
#    include "pc/cpu/ops.inc"
#    define HELPER(name)                                                                           \
    case OP_H_##name:                                                                              \
        return h_##name(cpu, u);
#    include "pc/cpu/helpers.def"
#    undef HELPER
    default:
        __builtin_unreachable();
    }
fault:
    return OP_FAULT;
}
#    undef HOT
#    define HOT(...) __VA_ARGS__
#    undef RARE
#    define RARE(...)
#    undef NEXT
#    define NEXT goto next
#    undef JUMP_OUT
#    define JUMP_OUT(target)                                                                       \
        {                                                                                          \
            cpu->eip = (target);                                                                   \
            goto out;                                                                              \
        }
#else
#    define HOT(...)     __VA_ARGS__
#    define RARE(...)    __VA_ARGS__
static op_function *const helpers[OP_COUNT - OP_FIRST_HELPER] = {
#    define HELPER(name) [OP_H_##name - OP_FIRST_HELPER] = h_##name,
#    include "pc/cpu/helpers.def"
#    undef HELPER
};
#endif

void interp_run(struct cpu *cpu, struct block *b)
{
#ifndef BY_SWITCH
    static const void *const labels[OP_COUNT] = {
#    define UOP(name) [OP_##name] = &&label_##name,
#    include "pc/cpu/uops.def"
#    undef UOP
#    define HELPER(name) [OP_H_##name] = &&helper,
#    include "pc/cpu/helpers.def"
#    undef HELPER
    };
#endif
    struct tlb_entry *const tlb = cpu->tlb;
    uint8_t *const ram = cpu->ram;
    const struct uop *u;
    struct block **link;
    uint32_t from = 0;
#ifdef BY_SWITCH
    uint32_t to;
    unsigned way;
#endif

enter:
    if (unlikely((cpu->left -= b->insns) < 0)) {
        cpu->left += b->insns;
        goto out;
    }
    cpu->block = b;
    u = b->uops;
    DISPATCH;

find : {
    /* Flat code: the linear address is EIP. Only a page that is fetched from now, or that the TLB
     * knows, is found here; all else is for the loop. */
    linear_t page = cpu->eip & ~(uint32_t)PAGE_MASK;
    if (page != cpu->code_page) {
        const struct tlb_entry *e = TLB_AT(page);
        if (e->fetch != page || !(cpu->key & KEY_FLAT))
            goto out;
        cpu->code_page = page;
        cpu->code_add = e->add;
        link = NULL;
    } else if (!(cpu->key & KEY_FLAT)) {
        goto out;
    }
    if (link && (from ^ cpu->eip) & ~(uint32_t)PAGE_MASK)
        link = NULL;
    phys_t phys = cpu->eip + cpu->code_add;
    struct block *found = cpu->hash[blocks_hash(phys)];
    if (found->phys != phys || found->key != cpu->key) {
        cpu->link_from = link;
        goto out;
    }
    if (link)
        *link = found;
    b = found;
    goto enter;
}

helper : {
    cpu->uop = u;
#ifdef BY_SWITCH
    enum op_status status = interp_rare(cpu, u);
#else
    enum op_status status = helpers[u->op - OP_FIRST_HELPER](cpu, u);
#endif
    if (likely(status == OP_DONE))
        NEXT;
    helper_ended(cpu, b, u, status);
    goto out;
}

#ifdef BY_SWITCH
follow:
    FOLLOW(way, to);
next:
    u++;
dispatch:
    switch (u->op) {
#    include "pc/cpu/ops.inc"
    default:
        goto helper;
    }
#else
#    include "pc/cpu/ops.inc"
#endif

fault:
    helper_ended(cpu, b, u, OP_FAULT);
out:
    blocks_unpatch(cpu);
    cpu->block = NULL;
}
