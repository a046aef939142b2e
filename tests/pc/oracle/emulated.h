/*
 * emulated.h: runs the oracle's cases on the processor under test, in the surroundings that
 * native.c has: ring 3, flat segments, paging with two pages mapped.
 */
#ifndef TESTS_PC_ORACLE_EMULATED_H
#define TESTS_PC_ORACLE_EMULATED_H

#include "oracle.h"

struct emulated;

struct emulated *emulated_create(void);
void emulated_destroy(struct emulated *e);
void emulated_set_selectors(struct emulated *e, const uint32_t selector[6]);

/* Runs the case and fills `c->after` and the changes. */
void emulated_run(struct emulated *e, struct oracle_case *c);

#endif
