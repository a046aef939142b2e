/* Arrays that grow by one: enough for lists as short as a manifest's. */
#ifndef HALTER_HOST_ARRAY_H
#define HALTER_HOST_ARRAY_H

#include <stdlib.h>
#include <string.h>

/*
 * One more element at the end of *array (a pointer to the array's pointer), zeroed; NULL without
 * memory, and the array is as it was.
 */
static inline void *array_append(void *array, size_t *count, size_t size)
{
    void **base = array;
    char *grown = realloc(*base, (*count + 1) * size);
    if (!grown)
        return NULL;
    *base = grown;
    return memset(grown + size * (*count)++, 0, size);
}

#endif
