/*
 * What can be said of the micro-ops of a block once all of it is decoded: a comparison and the jump
 * behind it become one, flags that nothing can see are not worked out, and the plainest loads and
 * stores lose their general addressing. Each instruction keeps its micro-op, so counts, faults and
 * exits in the middle stay as they are.
 */
#include "pc/cpu/internal.h"

/* ---- comparison and jump ------------------------------------------------------------------ */

static uint16_t fused_family(uint16_t op)
{
    switch (op) {
    case OP_cmp_l_rr:
        return OP_cmp_l_rr_jump_b;
    case OP_cmp_l_ri:
        return OP_cmp_l_ri_jump_b;
    case OP_cmp_l_rm:
        return OP_cmp_l_rm_jump_b;
    case OP_cmp_l_mr:
        return OP_cmp_l_mr_jump_b;
    case OP_cmp_l_mi:
        return OP_cmp_l_mi_jump_b;
    case OP_cmp_b_ri:
        return OP_cmp_b_ri_jump_b;
    case OP_cmp_b_mi:
        return OP_cmp_b_mi_jump_b;
    case OP_test_l_rr:
        return OP_test_l_rr_jump_b;
    case OP_test_b_rr:
        return OP_test_b_rr_jump_b;
    case OP_test_b_ri:
        return OP_test_b_ri_jump_b;
    case OP_test_b_mi:
        return OP_test_b_mi_jump_b;
    default:
        return 0;
    }
}

/* The comparison jumps by the target in the micro-op behind it, which stays where it is. If it
 * reads a device that asks to leave after it, that micro-op has become OP_leave, and ops.inc heeds
 * it. */
static void fuse_jump(struct block *b)
{
    if (b->insns < 2)
        return;
    struct uop *compare = &b->uops[b->insns - 2];
    unsigned cc = (unsigned)(b->uops[b->insns - 1].op - OP_jcc32_o);
    uint16_t family = fused_family(compare->op);
    if (cc > 15 || !family || (cc >> 1) == 0 || (cc >> 1) == 5)
        return;
    compare->op = (uint16_t)(family + (cc < 10 ? cc - 2 : cc - 4));
}

/* ---- flags that nothing sees -------------------------------------------------------------- */

static uint16_t quiet_twin(uint16_t op)
{
    switch (op) {
    case OP_add_l_rr:
        return OP_add_l_rr_quiet;
    case OP_add_l_ri:
        return OP_add_l_ri_quiet;
    case OP_or_l_rr:
        return OP_or_l_rr_quiet;
    case OP_or_l_ri:
        return OP_or_l_ri_quiet;
    case OP_and_l_rr:
        return OP_and_l_rr_quiet;
    case OP_and_l_ri:
        return OP_and_l_ri_quiet;
    case OP_sub_l_rr:
        return OP_sub_l_rr_quiet;
    case OP_sub_l_ri:
        return OP_sub_l_ri_quiet;
    case OP_xor_l_rr:
        return OP_xor_l_rr_quiet;
    case OP_xor_l_ri:
        return OP_xor_l_ri_quiet;
    case OP_shl_l_ri:
        return OP_shl_l_ri_quiet;
    case OP_shr_l_ri:
        return OP_shr_l_ri_quiet;
    case OP_rol_l_ri:
        return OP_rol_l_ri_quiet;
    case OP_ror_l_ri:
        return OP_ror_l_ri_quiet;
    default:
        return 0;
    }
}

/* Sets all six flags from registers alone, so that it cannot fault before it does. */
static bool sets_all_flags(uint16_t op)
{
    switch (op) {
    case OP_cmp_l_rr:
    case OP_cmp_l_ri:
    case OP_cmp_b_rr:
    case OP_cmp_b_ri:
    case OP_test_l_rr:
    case OP_test_l_ri:
    case OP_test_b_rr:
    case OP_test_b_ri:
    case OP_neg_l_r:
        return true;
    case OP_rol_l_ri:
    case OP_ror_l_ri:
        return false;
    default:
        return quiet_twin(op) != 0;
    }
}

/* Neither touches flags nor can fault or leave. */
static bool is_neutral(uint16_t op)
{
    switch (op) {
    case OP_mov_l_rr:
    case OP_mov_l_ri:
    case OP_mov_b_rr:
    case OP_mov_b_ri:
    case OP_movzx_lb_r:
    case OP_movzx_lw_r:
    case OP_movsx_lb_r:
    case OP_movsx_lw_r:
    case OP_lea_l:
    case OP_xchg_l_rr:
    case OP_bswap_l:
    case OP_cwde:
    case OP_cdq:
    case OP_not_l_r:
    case OP_nop:
        return true;
    default:
        return false;
    }
}

/* Backwards: `dead` says that all flags are set again before anything can look at them. A rotation
 * leaves four of them alone, so it does not end their use, but may itself go quiet. */
static void drop_dead_flags(struct block *b)
{
    bool dead = false;
    for (unsigned i = b->insns; i-- > 0;) {
        struct uop *u = &b->uops[i];
        uint16_t op = u->op, quiet = quiet_twin(op);
        if (dead && quiet) {
            u->op = quiet;
            continue;
        }
        if (sets_all_flags(op))
            dead = true;
        else if (!is_neutral(op))
            dead = false;
    }
}

/* ---- addressing --------------------------------------------------------------------------- */

static void simplify_addresses(struct block *b)
{
    for (unsigned i = 0; i < b->insns; i++) {
        struct uop *u = &b->uops[i];
        if (u->index != REG_ZERO || (u->scale_seg & UOP_SLOW_EA))
            continue;
        if (u->op == OP_mov_l_rm)
            u->op = OP_load_l;
        else if (u->op == OP_mov_l_mr)
            u->op = OP_store_l;
    }
}

void fuse_block(struct block *b)
{
    drop_dead_flags(b);
    fuse_jump(b);
    simplify_addresses(b);
}
