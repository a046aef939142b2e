/* The arithmetic of awake.h, and the two things that it asks the machine. */
#include "wire/awake.h"

#include <sched.h>

#define PAUSES 4 /* a look is a system call, longer than these: more would only add delay */

bool wire_awake_possible(void)
{
    cpu_set_t allowed;
    /* A machine with more processors than the set has room for has more than one. */
    return sched_getaffinity(0, sizeof(allowed), &allowed) < 0 || CPU_COUNT(&allowed) > 1;
}

bool wire_awake_try(struct wire_awake *awake)
{
    if (awake->left == 0)
        return true;
    awake->left--;
    return false;
}

void wire_awake_learn(struct wire_awake *awake, bool paid)
{
    if (paid)
        awake->skip /= 4;
    else if (awake->skip < WIRE_AWAKE_MOST / 2)
        awake->skip = 2 * awake->skip + 1;
    else
        awake->skip = WIRE_AWAKE_MOST;
    awake->left = awake->skip;
}

void wire_awake_pause(void)
{
    for (int i = 0; i < PAUSES; i++) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    }
}
