/* saxpy.c: packed single precision, four at a time. */
#include "bench.h"

#include <emmintrin.h>

#define N 16384

static float a[N] __attribute__((aligned(16))), b[N] __attribute__((aligned(16)));

uint32_t saxpy(int rounds)
{
    __m128 quarter = _mm_set1_ps(0.25f), half = _mm_set1_ps(0.5f);
    __m128i sum = _mm_setzero_si128();
    uint32_t parts[4];

    for (int i = 0; i < N; i++) {
        a[i] = (float)i * 0.5f;
        b[i] = 1.0f;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < N; i += 4) {
            __m128 v = _mm_add_ps(_mm_mul_ps(_mm_load_ps(a + i), quarter), _mm_load_ps(b + i));

            _mm_store_ps(b + i, _mm_mul_ps(v, half));
        }
    for (int i = 0; i < N; i += 4)
        sum = _mm_xor_si128(sum, _mm_load_si128((const __m128i *)(const void *)(b + i)));
    _mm_storeu_si128((__m128i *)(void *)parts, sum);
    return parts[0] ^ parts[1] ^ parts[2] ^ parts[3];
}
