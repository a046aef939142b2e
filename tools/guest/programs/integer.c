/* integer.c: registers, branches, calls, 64-bit division, SHA-256, and a mix of all. */
#include "bench.h"

#include <stddef.h>

/* Xorshift: nothing but registers and one unpredictable branch. */
NOINLINE uint32_t bench_int(void)
{
    uint32_t x = 123456789, sum = 0;

    for (uint32_t i = 0; i < 50000000; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        if (x & 1)
            sum += x;
        else
            sum ^= i;
    }
    return sum;
}

static NOINLINE uint32_t fib(uint32_t n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

NOINLINE uint32_t bench_fib(void)
{
    return fib(38);
}

/* A bytecode interpreter: an indirect jump for each of its operations. */
NOINLINE uint32_t bench_interp(void)
{
    enum { ADD, XOR, TRIPLE, ROTATE, LOOP, STORE, LOAD, HALT };
    static const uint8_t program[] = {ADD,    17, XOR,    0x5a, TRIPLE, 0, ROTATE, 5, STORE, 3,
                                      LOAD,   9,  ADD,    1,    XOR,    7, STORE,  9, LOAD,  3,
                                      ROTATE, 11, TRIPLE, 0,    LOOP,   0, HALT,   0};
    static void *const label[] = {&&add,  &&xor,   &&triple, &&rotate,
                                  &&loop, &&store, &&load,   &&halt};
    static uint32_t memory[16];
    const uint8_t *at = program, *op;
    uint32_t acc = 1, left = 7000000, arg;

#define NEXT                                                                                       \
    do {                                                                                           \
        op = at;                                                                                   \
        at += 2;                                                                                   \
        arg = op[1];                                                                               \
        goto *label[op[0]];                                                                        \
    } while (0)

    NEXT;
add:
    acc += arg;
    NEXT;
    xor : acc ^= arg;
    NEXT;
triple:
    acc *= 3;
    NEXT;
rotate:
    acc = acc << (arg & 31) | acc >> (32 - (arg & 31));
    NEXT;
loop:
    if (--left)
        at = program + arg;
    NEXT;
store:
    memory[arg & 15] = acc;
    NEXT;
load:
    acc += memory[arg & 15];
    NEXT;
halt:
    return acc;
}

NOINLINE uint32_t bench_div64(void)
{
    uint64_t a = 0x123456789abcdef;
    uint32_t sum = 0;

    for (uint32_t i = 1; i < 6000000; i++) {
        a = a * 6364136223846793005u + 1442695040888963407u;
        sum += (uint32_t)(a / (i | 0x10001));
        sum ^= (uint32_t)a % (i | 1);
    }
    return sum;
}

/* ---- SHA-256 (FIPS 180-4) ----------------------------------------------------------------- */

static uint32_t sha_k[64], sha_h[8];

/* The constants are the fractions of cube and square roots of the first primes: worked out. */
static void sha_constants(void)
{
    unsigned found = 0;

    for (uint32_t n = 2; found < 64; n++) {
        uint64_t root = 0;
        int prime = 1;

        for (uint32_t d = 2; d * d <= n; d++)
            prime &= n % d != 0;
        if (!prime)
            continue;
        /* floor(cbrt(n) * 2^32), bit by bit; the cube is taken of 36 bits, 108 in all. */
        for (int bit = 34; bit >= 0; bit--) {
            uint64_t t = root | UINT64_C(1) << bit, high = t >> 18, low = t & 0x3ffff;
            /* t^3 / 2^96 <= n with t = high * 2^18 + low, in parts that fit in 64 bits. */
            uint64_t square_high = high * high + (2 * high * low >> 18);
            uint64_t square_low = ((2 * high * low & 0x3ffff) << 18) + low * low;
            square_high += square_low >> 36;
            square_low &= (UINT64_C(1) << 36) - 1;
            uint64_t mid = (square_high & 0x3ffff) * t + ((square_low >> 18) * t >> 18);
            uint64_t top = (square_high >> 18) * t + (mid >> 18);
            if (top >> (96 - 54) < n)
                root = t;
        }
        sha_k[found] = (uint32_t)root;
        if (found < 8) {
            uint64_t square = 0;

            for (int bit = 34; bit >= 0; bit--) {
                uint64_t t = square | UINT64_C(1) << bit;
                /* t^2 / 2^64 < n, the square in two halves */
                uint64_t high = t >> 32, low = t & 0xffffffff;
                uint64_t top = high * high + ((2 * high * low + (low * low >> 32)) >> 32);
                if (top < n)
                    square = t;
            }
            sha_h[found] = (uint32_t)square;
        }
        found++;
    }
}

#define ROTATE_RIGHT(x, n) ((x) >> (n) | (x) << (32 - (n)))

static NOINLINE void sha_block(uint32_t hash[8], const uint8_t *p)
{
    uint32_t w[64], a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4], f = hash[5],
                    g = hash[6], h = hash[7];

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)p[i * 4] << 24 | (uint32_t)p[i * 4 + 1] << 16 |
               (uint32_t)p[i * 4 + 2] << 8 | p[i * 4 + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] +
               (ROTATE_RIGHT(w[i - 15], 7) ^ ROTATE_RIGHT(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (ROTATE_RIGHT(w[i - 2], 17) ^ ROTATE_RIGHT(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = h + (ROTATE_RIGHT(e, 6) ^ ROTATE_RIGHT(e, 11) ^ ROTATE_RIGHT(e, 25)) +
                      ((e & f) ^ (~e & g)) + sha_k[i] + w[i];
        uint32_t t2 = (ROTATE_RIGHT(a, 2) ^ ROTATE_RIGHT(a, 13) ^ ROTATE_RIGHT(a, 22)) +
                      ((a & b) ^ (a & c) ^ (b & c));

        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d;
    hash[4] += e, hash[5] += f, hash[6] += g, hash[7] += h;
}

NOINLINE uint32_t bench_sha256(void)
{
    static uint8_t buffer[65536];
    uint32_t hash[8];

    sha_constants();
    for (int i = 0; i < 65536; i++)
        buffer[i] = (uint8_t)(i * 11 + (i >> 7));
    for (int i = 0; i < 8; i++)
        hash[i] = sha_h[i];
    for (int round = 0; round < 192; round++)
        for (int at = 0; at < 65536; at += 64)
            sha_block(hash, buffer + at);
    return hash[0];
}

/* ---- A mix: a linked list sorted, matrices, a state machine, a CRC ------------------------ */

struct node {
    struct node *next;
    int16_t value, index;
};

static NOINLINE uint16_t crc16(uint16_t crc, uint32_t data)
{
    for (int i = 0; i < 32; i++) {
        int bit = (crc ^ data) & 1;

        data >>= 1;
        crc >>= 1;
        if (bit)
            crc ^= 0xa001;
    }
    return crc;
}

static NOINLINE struct node *merge_sort(struct node *list, int by_index)
{
    struct node *slow = list, *fast, *right, *left, head, *tail = &head;

    if (!list || !list->next)
        return list;
    for (fast = list->next; fast && fast->next; fast = fast->next->next)
        slow = slow->next;
    right = slow->next;
    slow->next = NULL;
    left = merge_sort(list, by_index);
    right = merge_sort(right, by_index);
    while (left && right) {
        int first = by_index ? left->index <= right->index : left->value <= right->value;
        struct node **from = first ? &left : &right;

        tail->next = *from;
        tail = *from;
        *from = (*from)->next;
    }
    tail->next = left ? left : right;
    return head.next;
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Numbers in a text, by a machine of eight states; counts how often each was entered. */
static NOINLINE void count_states(const char *s, uint32_t count[8])
{
    enum { START, SIGN, INTEGER, FRACTION, EXPONENT, EXPONENT_SIGN, POWER, INVALID };
    int state = START;

    for (; *s; s++) {
        char c = *s;

        switch (state) {
        case START:
            state = is_digit(c)            ? INTEGER
                    : c == '+' || c == '-' ? SIGN
                    : c == '.'             ? FRACTION
                    : c == ','             ? START
                                           : INVALID;
            break;
        case SIGN:
            state = is_digit(c) ? INTEGER : c == '.' ? FRACTION : INVALID;
            break;
        case INTEGER:
            state = is_digit(c) ? INTEGER : c == '.' ? FRACTION : c == ',' ? START : INVALID;
            break;
        case FRACTION:
            state = is_digit(c)            ? FRACTION
                    : c == 'e' || c == 'E' ? EXPONENT
                    : c == ','             ? START
                                           : INVALID;
            break;
        case EXPONENT:
            state = c == '+' || c == '-' ? EXPONENT_SIGN : INVALID;
            break;
        case EXPONENT_SIGN:
        case POWER:
            state = is_digit(c) ? POWER : c == ',' ? START : INVALID;
            break;
        default:
            if (c == ',')
                state = START;
            break;
        }
        count[state]++;
    }
}

NOINLINE uint32_t bench_core(void)
{
    enum { NODES = 200, SIDE = 24, CELLS = SIDE * SIDE };
    static struct node nodes[NODES];
    static int16_t a[CELLS], b[CELLS];
    static int32_t c[CELLS];
    static const char text[] = "5012,-874,+122,.5,T0.3e-1F,-110.700,+0.64400,1.2e+33,-5.500e+3,"
                               "..-.123e-2,+12x,99999,0.1e+1,";
    uint32_t count[8] = {0};
    uint16_t crc = 0;

    for (int round = 0; round < 2400; round++) {
        for (int i = 0; i < NODES; i++) {
            nodes[i].value = (int16_t)((i * 7919 + round * 31) ^ (i << 5));
            nodes[i].index = (int16_t)i;
            nodes[i].next = i < NODES - 1 ? &nodes[i + 1] : NULL;
        }
        struct node *list = merge_sort(nodes, 0);
        crc = crc16(crc, (uint32_t)list->value);
        list = merge_sort(list, 1);
        crc = crc16(crc, (uint32_t)list->index);
        for (int i = 0; i < CELLS; i++) {
            a[i] = (int16_t)(i * round & 255);
            b[i] = (int16_t)((i + round) & 255);
        }
        for (int i = 0; i < SIDE; i++)
            for (int j = 0; j < SIDE; j++) {
                int32_t sum = 0;

                for (int k = 0; k < SIDE; k++)
                    sum += a[i * SIDE + k] * b[k * SIDE + j];
                c[i * SIDE + j] = sum;
            }
        for (int i = 0; i < CELLS; i += 7)
            crc = crc16(crc, (uint32_t)c[i]);
        for (int i = 0; i < 40; i++)
            count_states(text, count);
        crc = crc16(crc, count[round & 7]);
    }
    return crc;
}
