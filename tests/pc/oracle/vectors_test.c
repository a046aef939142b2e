/*
 * vectors_test.c: the cases kept in vectors.txt, whose outcomes a processor gave, on ours. It needs
 * no 32-bit compiler and no x86 host.
 *
 * Usage: test-pc-oracle-vectors VECTORS.TXT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare.h"
#include "emulated.h"
#include "vectors.h"

enum { AT_LEAST = 1500, SHOWN = 12 };

static const char *path;

static void test_kept_cases_agree(void **state)
{
    (void)state;
    FILE *in = fopen(path, "r");
    struct emulated *e = emulated_create();
    struct oracle_case want;
    unsigned run = 0, wrong = 0;
    assert_non_null(in);
    while (vector_read(in, &want)) {
        struct oracle_case got = want;
        emulated_run(e, &got);
        run++;
        if (!oracle_agree(&want, &got) && wrong++ < SHOWN)
            oracle_print(stdout, &want, &got);
    }
    assert_true(feof(in));
    fclose(in);
    emulated_destroy(e);
    printf("# %u cases, %u differ\n", run, wrong);
    assert_true(run >= AT_LEAST);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_cases_agree)};
    if (argc != 2)
        return 2;
    path = argv[1];
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
