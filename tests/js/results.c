/*
 * What transform returns, and what the host gets for it: the mapping that docs/plugins.md states.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define WITH(expression)                                                                           \
    once("globalThis.transform = (raw, ctx) => (" expression ")", "{\"a\":[1,2]}")

static void values_undefined_and_null_are_distinct(void **state)
{
    (void)state;
    assert_string_equal(WITH("raw"), "{\"a\":[1,2]}");
    assert_string_equal(WITH("null"), "null");
    assert_string_equal(WITH("undefined"), "undefined");
    assert_string_equal(once("transform = () => {}", "1"), "undefined");
    assert_string_equal(WITH("''"), "\"\"");
    assert_string_equal(WITH("false"), "false");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_undefined_and_null_are_distinct),
    };
    return cmocka_run_group_tests_name("results", tests, NULL, NULL);
}
