/*
 * vectors.h: cases with the processor's outcome as lines of text, to be kept in the repository:
 *
 *     code seed eax ecx edx ebx esp ebp esi edi eflags : the same ten words after, eip, trap,
 * error, cr2, then offset=value for each byte of the data page that changed
 *
 * All numbers are hexadecimal; a word that did not change is a dot.
 */
#ifndef TESTS_PC_ORACLE_VECTORS_H
#define TESTS_PC_ORACLE_VECTORS_H

#include <stdbool.h>
#include <stdio.h>

#include "oracle.h"

void vector_write(FILE *out, const struct oracle_case *c);
/* False at the end of the file, or for a line that is not one. */
bool vector_read(FILE *in, struct oracle_case *c);

#endif
