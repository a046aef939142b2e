/*
 * compare.h: what differs between a case's two outcomes, in words.
 */
#ifndef TESTS_PC_ORACLE_COMPARE_H
#define TESTS_PC_ORACLE_COMPARE_H

#include <stdbool.h>
#include <stdio.h>

#include "oracle.h"

/* Whether `got` is what `want` says: registers, defined flags, memory, trap, error code, CR2. */
bool oracle_agree(const struct oracle_case *want, const struct oracle_case *got);

/* Prints the case and both outcomes as TAP comments. */
void oracle_print(FILE *out, const struct oracle_case *want, const struct oracle_case *got);

#endif
