/* cmocka with the headers that it wants before itself. */
#ifndef TESTS_SERVICES_CHECK_H
#define TESTS_SERVICES_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
