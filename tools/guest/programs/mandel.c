/* mandel.c: the Mandelbrot set in double precision, compiled once for the x87 and once for SSE2. */
#include "bench.h"

uint32_t MANDEL(int size, int iterations)
{
    uint32_t sum = 0;

    for (int y = 0; y < size; y++)
        for (int x = 0; x < size; x++) {
            double cr = -2.0 + 3.0 * x / size, ci = -1.5 + 3.0 * y / size, zr = 0, zi = 0;
            int i = 0;

            for (; i < iterations; i++) {
                double rr = zr * zr, ii = zi * zi;

                if (rr + ii > 4.0)
                    break;
                zi = 2 * zr * zi + ci;
                zr = rr - ii + cr;
            }
            sum = sum * 31 + (uint32_t)i;
        }
    return sum;
}
