/* x87_memory.c: the memory forms of D8-DF: operands of single, double, extended, integer and
 * decimal formats. Environments and whole states are fpu.c's. */
#include <stddef.h>
#include <string.h>

#include "fpu_image.h"
#include "x87.h"

/* ---- what each form takes ----------------------------------------------------------------- */

int x87_memory_bytes(uint8_t esc, uint8_t reg, bool operand32)
{
    /* By esc & 7 and ModRM.reg; E stands for an environment, S for a whole state. */
    enum { E = 100, S = 101 };
    static const int8_t bytes[8][8] = {
        /* D8 */ {4, 4, 4, 4, 4, 4, 4, 4},
        /* D9 */ {4, 0, -4, -4, E, 2, -E, -2},
        /* DA */ {4, 4, 4, 4, 4, 4, 4, 4},
        /* DB */ {4, 0, -4, -4, 0, 10, 0, -10},
        /* DC */ {8, 8, 8, 8, 8, 8, 8, 8},
        /* DD */ {8, 0, -8, -8, S, 0, -S, -2},
        /* DE */ {2, 2, 2, 2, 2, 2, 2, 2},
        /* DF */ {2, 0, -2, -2, 10, 8, -10, -8},
    };
    int n = bytes[esc & 7][reg & 7];
    int size = n < 0 ? -n : n;

    if (size == E || size == S) {
        size = (operand32 ? 28 : 14) + (size == S ? 80 : 0);
        return n < 0 ? -size : size;
    }
    return n;
}

/* ---- loads -------------------------------------------------------------------------------- */

enum format { SINGLE, DOUBLE, INT16, INT32, INT64 };

static struct f80 read_number(struct f80_env *env, enum format format, const void *bytes)
{
    uint16_t w;
    uint32_t d;
    uint64_t q;

    switch (format) {
    case SINGLE:
        memcpy(&d, bytes, sizeof(d));
        return f80_from_f32(env, d);
    case DOUBLE:
        memcpy(&q, bytes, sizeof(q));
        return f80_from_f64(env, q);
    case INT16:
        memcpy(&w, bytes, sizeof(w));
        return f80_from_i64((int16_t)w);
    case INT32:
        memcpy(&d, bytes, sizeof(d));
        return f80_from_i64((int32_t)d);
    default:
        memcpy(&q, bytes, sizeof(q));
        return f80_from_i64((int64_t)q);
    }
}

/* A NaN, an invalid operation and a division by zero take precedence over a denormal operand
 * (SDM 1 4.9.2). */
static void add_denormal(struct f80_env *env, uint16_t denormal, struct f80 st0)
{
    enum f80_class class = f80_classify(st0);

    if (!(env->status & (X87_IE | X87_ZE)) && class != F80_NAN && class != F80_UNSUPPORTED)
        env->status |= denormal;
}

static void compare_memory(struct fpu *fpu, struct f80_env *env, struct f80 v, bool pop)
{
    uint16_t condition = X87_C3 | X87_C2 | X87_C0, denormal = env->status;

    env->status = 0;
    if (x87_is_empty(fpu, 0)) {
        x87_underflow(env);
    } else {
        condition = f80_compare(env, x87_get(fpu, 0), v, false);
        add_denormal(env, denormal, x87_get(fpu, 0));
    }
    if (pop && !f80_blocked(env))
        x87_pop(fpu);
    env->status |= condition;
    x87_finish(fpu, env, X87_CONDITION);
}

/* ST(0) = ST(0) op a normal number, or a comparison with it, where that is all there is to it. */
static bool binary_memory_fast(struct fpu *fpu, unsigned reg, struct f80 v)
{
    struct f80 st0 = x87_get(fpu, 0), out;
    uint16_t raised, condition;
    bool done;

    switch (reg) {
    case 0:
        done = f80_fast_add(st0, v, &out, &raised);
        break;
    case 1:
        done = f80_fast_mul(st0, v, &out, &raised);
        break;
    case 2:
    case 3:
        if (!f80_fast_compare(st0, v, &condition))
            return false;
        if (reg == 3)
            x87_pop(fpu);
        fpu->status = (uint16_t)((fpu->status & ~X87_CONDITION) | condition);
        return true;
    case 4:
        done = f80_fast_sub(st0, v, &out, &raised);
        break;
    case 5:
        done = f80_fast_sub(v, st0, &out, &raised);
        break;
    case 6:
        done = f80_fast_div(st0, v, &out, &raised);
        break;
    default:
        done = f80_fast_div(v, st0, &out, &raised);
        break;
    }
    if (done) {
        fpu->st[x87_slot_of(fpu, 0)].f = out;
        x87_finish_fast(fpu, raised);
    }
    return done;
}

/* A normal number; of integers any, for nothing can be wrong with them. */
static inline bool read_fast(enum format format, const void *bytes, struct f80 *out)
{
    uint32_t d;
    uint64_t q;

    if (format == DOUBLE) {
        memcpy(&q, bytes, sizeof(q));
        return f80_fast_from_f64(q, out);
    }
    if (format == SINGLE) {
        memcpy(&d, bytes, sizeof(d));
        return f80_fast_from_f32(d, out);
    }
    *out = read_number(NULL, format, bytes);
    return true;
}

static F80_GENERAL void binary_memory_general(struct fpu *fpu, unsigned reg, enum format format,
                                              const void *bytes)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v = read_number(&env, format, bytes);
    uint16_t denormal = env.status;

    if (reg == 2 || reg == 3) {
        compare_memory(fpu, &env, v, reg == 3);
        return;
    }
    env.status = 0;
    if (x87_is_empty(fpu, 0)) {
        v = x87_underflow(&env);
    } else {
        v = x87_binary_ops[reg](&env, x87_get(fpu, 0), v);
        add_denormal(&env, denormal, x87_get(fpu, 0));
    }
    if (!f80_blocked(&env))
        x87_set(fpu, 0, v);
    x87_finish(fpu, &env, X87_C1);
}

static void binary_memory(struct fpu *fpu, unsigned reg, enum format format, const void *bytes)
{
    struct f80 v;

    if (!read_fast(format, bytes, &v) || !x87_may_hurry(fpu, 0) || !binary_memory_fast(fpu, reg, v))
        binary_memory_general(fpu, reg, format, bytes);
}

static F80_GENERAL void load_number_general(struct fpu *fpu, enum format format, const void *bytes)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v = read_number(&env, format, bytes);

    if (format == SINGLE || format == DOUBLE)
        f80_special(&env, v, &v);
    x87_finish_push(fpu, &env, v);
}

static void load_number(struct fpu *fpu, enum format format, const void *bytes)
{
    struct f80 v;

    if (!read_fast(format, bytes, &v) || !x87_is_empty(fpu, 7)) {
        load_number_general(fpu, format, bytes);
        return;
    }
    x87_push(fpu, v);
    x87_finish_fast(fpu, 0);
}

static void load_extended(struct fpu *fpu, const uint8_t *bytes, bool decimal)
{
    struct f80_env env = x87_begin(fpu);
    struct f80 v;

    if (decimal) {
        v = f80_from_bcd(bytes);
    } else {
        memcpy(&v.mantissa, bytes, 8);
        memcpy(&v.sign_exponent, bytes + 8, 2);
    }
    x87_finish_push(fpu, &env, v);
}

bool x87_load(struct fpu *fpu, uint8_t esc, uint8_t reg, const void *bytes, enum x87_layout layout)
{
    static const uint8_t binary[8] = {[0] = SINGLE, [2] = INT32, [4] = DOUBLE, [6] = INT16};
    static const uint8_t plain[8] = {[1] = SINGLE, [3] = INT32, [5] = DOUBLE, [7] = INT16};
    unsigned n = esc & 7u;

    if (n % 2 == 0)
        binary_memory(fpu, reg, (enum format)binary[n], bytes);
    else if (reg == 0)
        load_number(fpu, (enum format)plain[n], bytes);
    else if (n == 7 && reg == 5)
        load_number(fpu, INT64, bytes);
    else if (n == 3 || n == 7)
        load_extended(fpu, bytes, n == 7);
    else if (n == 1 && reg == 5)
        fpu_load_control(fpu, bytes);
    else if (n == 1)
        fpu_load_environment(fpu, bytes, layout);
    else
        fpu_load_state(fpu, bytes, layout);
    return x87_pending(fpu);
}

/* ---- stores ------------------------------------------------------------------------------- */

static void write_number(struct f80_env *env, enum format format, struct f80 v, void *bytes)
{
    uint64_t q;

    switch (format) {
    case SINGLE:
        q = f80_to_f32(env, v);
        memcpy(bytes, &q, 4);
        break;
    case DOUBLE:
        q = f80_to_f64(env, v);
        memcpy(bytes, &q, 8);
        break;
    case INT16:
        q = (uint64_t)f80_to_int(env, v, 16);
        memcpy(bytes, &q, 2);
        break;
    case INT32:
        q = (uint64_t)f80_to_int(env, v, 32);
        memcpy(bytes, &q, 4);
        break;
    default:
        q = (uint64_t)f80_to_int(env, v, 64);
        memcpy(bytes, &q, 8);
        break;
    }
}

static void write_extended(struct f80 v, uint8_t *bytes)
{
    memcpy(bytes, &v.mantissa, 8);
    memcpy(bytes + 8, &v.sign_exponent, 2);
}

/* What an empty register stores when that is masked: each format's indefinite. */
static void write_top(const struct fpu *fpu, struct f80_env *env, unsigned n, unsigned reg,
                      void *bytes)
{
    static const uint8_t plain[8] = {[1] = SINGLE, [3] = INT32, [5] = DOUBLE, [7] = INT16};
    struct f80 v = x87_get(fpu, 0);
    bool empty = x87_is_empty(fpu, 0);

    if (empty)
        v = f80_indefinite();
    if (reg <= 3)
        write_number(env, (enum format)plain[n], v, bytes);
    else if (n == 3)
        write_extended(v, bytes);
    else if (reg == 6)
        f80_to_bcd(env, v, bytes);
    else
        write_number(env, INT64, v, bytes);
    if (empty)
        x87_underflow(env);
}

/* A normal number that the format can hold. */
static bool write_fast(const struct fpu *fpu, unsigned n, void *bytes, uint16_t *raised)
{
    struct f80 v = x87_get(fpu, 0);
    uint32_t d;
    uint64_t q;

    if (!(fpu->control & X87_PE) || x87_is_empty(fpu, 0))
        return false;
    if (n == 3 || n == 7) {
        if (!f80_fast_to_int(v, n == 3 ? 32 : 16, fpu->control >> 10 & 3, &q, raised))
            return false;
        memcpy(bytes, &q, n == 3 ? 4 : 2);
        return true;
    }
    if ((fpu->control >> 10 & 3) != RC_NEAREST)
        return false;
    if (n == 5) {
        if (!f80_fast_to_f64(v, &q, raised))
            return false;
        memcpy(bytes, &q, sizeof(q));
        return true;
    }
    if (!f80_fast_to_f32(v, &d, raised))
        return false;
    memcpy(bytes, &d, sizeof(d));
    return true;
}

static void stored_pop(const struct fpu *fpu, struct x87_stored *out)
{
    out->used &= (uint8_t) ~(1u << x87_slot_of(fpu, 0));
    out->status = x87_turn(out->status, 1);
}

static F80_GENERAL struct x87_stored store_number_general(const struct fpu *fpu, unsigned n,
                                                          unsigned reg, void *bytes,
                                                          struct x87_stored out)
{
    struct f80_env env = x87_begin(fpu);

    write_top(fpu, &env, n, reg, bytes);
    out.write = !(env.status & ~fpu->control & (X87_BEFORE | X87_OE | X87_UE));
    if (!out.write) /* not stored, hence not rounded */
        env.status &= (uint16_t) ~(X87_PE | (env.status & X87_SF ? 0 : X87_C1));
    out.status = (uint16_t)((fpu->status & ~X87_C1) | env.status);
    if (out.write && reg != 2) {
        out.used &= (uint8_t) ~(1u << x87_slot_of(fpu, 0));
        out.status = x87_turn(out.status, 1);
    }
    out.status = x87_summarize(out.status, fpu->control);
    return out;
}

struct x87_stored x87_store(const struct fpu *fpu, uint8_t esc, uint8_t reg, void *bytes,
                            enum x87_layout layout)
{
    struct x87_stored out = {fpu->control, fpu->status, fpu->used, true, false};
    unsigned n = esc & 7u;

    if (reg == 7 && (n == 1 || n == 5)) {
        memcpy(bytes, n == 1 ? &fpu->control : &fpu->status, 2);
        return out;
    }
    if (reg == 6 && (n == 1 || n == 5)) {
        fpu_store_environment(fpu, bytes, layout);
        if (n == 5)
            fpu_store_registers(fpu, (uint8_t *)bytes + fpu_environment_bytes(layout));
        out.init = n == 5;
        out.control |= X87_EXCEPTIONS;
        out.status = x87_summarize(out.status, out.control);
        return out;
    }
    uint16_t raised;
    if (reg <= 3 && write_fast(fpu, n, bytes, &raised)) {
        out.status = (uint16_t)((fpu->status & ~X87_C1) | raised);
        if (reg == 3)
            stored_pop(fpu, &out);
        return out;
    }
    return store_number_general(fpu, n, reg, bytes, out);
}

bool x87_store_commit(struct fpu *fpu, struct x87_stored stored)
{
    fpu->control = stored.control;
    fpu->status = stored.status;
    fpu->used = stored.used;
    if (stored.init)
        x87_fninit(fpu);
    return x87_pending(fpu);
}
