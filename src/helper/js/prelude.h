/*
 * The prelude's modules as C strings, made at build time from prelude/ by tools/embed.py.
 */
#ifndef HALTER_HELPER_JS_PRELUDE_H
#define HALTER_HELPER_JS_PRELUDE_H

#include <stddef.h>

struct prelude_module {
    const char *name;   /* "core" for core.js */
    const char *source; /* ASCII */
};
extern const struct prelude_module prelude[];
extern const size_t prelude_count;

#endif
