/*
 * generate.h: random cases for the oracle, made from isa.def: for each line of the table, with
 * prefixes, operands and register values that reach its corners.
 */
#ifndef TESTS_PC_ORACLE_GENERATE_H
#define TESTS_PC_ORACLE_GENERATE_H

#include <stdbool.h>

#include "oracle.h"
#include "pc/cpu/isa.h"

/* NULL, or why no case is made of this line of the table. */
const char *oracle_excluded(const struct isa_entry *entry);

/* A case for the entry, everything but `after`. False: this time the dice fell on something
 * excluded. */
bool oracle_generate(const struct isa_entry *entry, uint32_t *random, struct oracle_case *c);

/* The flags that the manual leaves undefined after this case; all ones: so is the result. */
uint32_t oracle_undefined(const struct oracle_case *c, const struct insn *insn);

#endif
