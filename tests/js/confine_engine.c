/*
 * The engine does its whole work in full confinement: what it collects, compiles and starts threads
 * for needs no system call that the filter does not let through. When a newer engine or libc needs
 * more, the number is in the failure.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void works_with(const char *source, const char *expected,
                       const struct guest_options *options)
{
    struct guest guest;
    guest_load(&guest, options, source);
    const char *got = guest_call(&guest, "1");
    if (strcmp(got, expected) != 0)
        fail_msg("got %s, expected %s; wait status %x, system call %d, stderr: %s", got, expected,
                 strcmp(got, "gone") == 0 ? guest_wait(&guest) : 0, guest.status->syscall_number,
                 guest_stderr(&guest));
    guest_finish(&guest);
}

static const struct guest_options no_jit = {.flags = CONTROL_NO_JIT};

static void it_collects(void **state)
{
    (void)state;
    static const char source[] =
        "transform = () => { let keep = [], n = 0;"
        "for (let round = 0; round < 40; round++) {"
        "  let all = []; for (let i = 0; i < 50000; i++) all.push({i, s: 'x' + i, next: all});"
        "  keep[round % 3] = all; n += all.length; }"
        "return n }";
    works_with(source, "2000000", NULL);
    works_with(source, "2000000", &no_jit);
}

static void it_compiles_hot_code(void **state)
{
    (void)state;
    static const char source[] =
        "function step(o, i) { o.a = o.a * 31 + i | 0; return o.b.reduce((x, y) => x + y, o.a) | 0 "
        "}"
        "transform = () => { const o = {a: 1, b: [1, 2, 3]}; let s = 0;"
        "for (let i = 0; i < 300000; i++) s = s + step(o, i) | 0; return typeof s }";
    works_with(source, "\"number\"", NULL);
    works_with(source, "\"number\"", &no_jit);
}

static void it_compiles_regular_expressions(void **state)
{
    (void)state;
    static const char source[] = "transform = () => { let n = 0; const r = /(\\w+)@(\\w+)\\.com/gu;"
                                 "for (let i = 0; i < 3000; i++) n += 'ann@example.com "
                                 "bob@test.com'.replace(r, '$2').length;"
                                 "return n }";
    works_with(source, "36000", NULL);
    works_with(source, "36000", &no_jit);
}

static void it_compiles_webassembly(void **state)
{
    (void)state;
    /* (func (export "sum") (param i32) (result i32)): a loop that adds n, n-1, ... 1. */
    works_with("const bytes = new "
               "Uint8Array([0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,7,7,1,3,115,"
               "117,109,0,0,10,27,1,25,1,1,127,3,64,32,1,32,0,106,33,1,32,0,65,1,107,34,0,13,0,11,"
               "32,1,11]);"
               "transform = async () => {"
               "  const {instance} = await WebAssembly.instantiate(bytes);"
               "  const module = await WebAssembly.compile(bytes);"
               "  const second = await WebAssembly.instantiate(module);"
               "  let sum = 0; for (let i = 0; i < 2000; i++) sum += instance.exports.sum(1000);"
               "  return [sum, second.exports.sum(10)] }",
               "[1001000000,55]", NULL);
}

static void it_knows_time_zones_and_languages(void **state)
{
    (void)state;
    struct guest_options options = {.time_zone = "Europe/Zurich"};
    works_with(
        "transform = () => [new Date(0).getHours(), new Date(2026, 6, 1).getTimezoneOffset(),"
        "  new Intl.NumberFormat('de-CH').format(1234.5), 'I'.toLocaleLowerCase('tr'),"
        "  ['z','a'].sort(new Intl.Collator('de').compare).join('')]",
        "[1,-120,\"1\342\200\231234.5\",\"\304\261\",\"az\"]", &options);
}

static void large_buffers_come_and_go(void **state)
{
    (void)state;
    works_with(
        "transform = () => { let n = 0; for (let i = 0; i < 20; i++) {"
        "  const a = new Uint8Array(8 << 20); a.fill(i); n += a[1000] + 'x'.repeat(1 << 20).length;"
        "} return n }",
        "20971710", NULL);
}

static void threads_come_and_go(void **state)
{
    (void)state;
    /* Idle compiler threads end by themselves; new ones are made when there is work again. */
    works_with("let round = 0;"
               "transform = async () => { for (; round < 3; round++) {"
               "  const f = new Function('n', `let s = ${round}; for (let i = 0; i < n; i++) s = s "
               "* 3 + i | 0; return s`);"
               "  for (let i = 0; i < 200; i++) f(2000);"
               "  await new Promise((done) => setTimeout(done, 100)); } return round }",
               "3", NULL);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_collects),
        cmocka_unit_test(it_compiles_hot_code),
        cmocka_unit_test(it_compiles_regular_expressions),
        cmocka_unit_test(it_compiles_webassembly),
        cmocka_unit_test(it_knows_time_zones_and_languages),
        cmocka_unit_test(large_buffers_come_and_go),
        cmocka_unit_test(threads_come_and_go),
    };
    return cmocka_run_group_tests_name("confine_engine", tests, NULL, NULL);
}
