/*
 * What transform returns, and what the host gets for it: the mapping that docs/plugins.md states.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A plugin that returns what the input says, evaluated. */
static struct guest guest;

static int start(void **state)
{
    (void)state;
    guest_load(&guest, NULL, "transform = (code) => (0, eval)(code)");
    return 0;
}

static int finish(void **state)
{
    (void)state;
    guest_finish(&guest);
    return 0;
}

static void gives(const char *expression, const char *expected)
{
    char json[1024];
    snprintf(json, sizeof(json), "\"(%s)\"", expression);
    const char *got = guest_call(&guest, json);
    if (strcmp(got, expected) != 0)
        fail_msg("%s gave %s, expected %s", expression, got, expected);
}

#define NO_JSON(what, path)                                                                        \
    "RESULT TypeError: the result cannot be written as JSON: " what " at " path

static void values_undefined_and_null_are_distinct(void **state)
{
    (void)state;
    gives("{a:[1,2]}", "{\"a\":[1,2]}");
    gives("null", "null");
    gives("undefined", "undefined");
    gives("(() => {})()", "undefined");
    gives("''", "\"\"");
    gives("false", "false");
    gives("0", "0");
    gives("[]", "[]");
    gives("{}", "{}");
}

static void numbers_are_written_as_the_engine_prints_them(void **state)
{
    (void)state;
    gives("[NaN, Infinity, -Infinity]", "[null,null,null]");
    gives("NaN", "null");
    gives("-0", "0");
    gives("2**53 + 1", "9007199254740992");
    gives("1e21", "1e+21");
    gives("5e-324", "5e-324");
    gives("0.1 + 0.2", "0.30000000000000004");
    gives("123456789012345680000", "123456789012345680000");
}

static void what_has_no_json_inside_is_left_out(void **state)
{
    (void)state;
    gives("{a: undefined, f() {}, [Symbol.iterator]: 1, s: Symbol(), b: 1}", "{\"b\":1}");
    gives("[undefined, () => 1, Symbol()]", "[null,null,null]");
    gives("new Date(0)", "\"1970-01-01T00:00:00.000Z\"");
    gives("{d: new Date(NaN)}", "{\"d\":null}");
    gives("[Object(1), Object('s'), Object(true)]", "[1,\"s\",true]");
    gives("new Uint8Array([1,2])", "{\"0\":1,\"1\":2}");
    gives("Object.create({inherited: 1}, {own: {value: 2, enumerable: true}})", "{\"own\":2}");
}

static void at_the_top_it_is_an_error(void **state)
{
    (void)state;
    gives("() => 1", NO_JSON("a function", "$"));
    gives("Symbol('s')", NO_JSON("a symbol", "$"));
    gives("1n", NO_JSON("a BigInt", "$"));
    gives("{toJSON() {}}", NO_JSON("an object whose toJSON gives nothing", "$"));
}

static void what_would_vanish_is_an_error_with_its_path(void **state)
{
    (void)state;
    gives("new Map([[1,2]])", NO_JSON("a Map", "$"));
    gives("{a: {b: new Set([1])}}", NO_JSON("a Set", "$.a.b"));
    gives("[1, [/x/]]", NO_JSON("a RegExp", "$[1][0]"));
    gives("{e: new Error('lost')}", NO_JSON("an Error", "$.e"));
    gives("{p: Promise.resolve(1)}", NO_JSON("a Promise", "$.p"));
    gives("[(function*(){ yield 1 })()]", NO_JSON("a Generator", "$[0]"));
    gives("{w: new WeakMap}", NO_JSON("a WeakMap", "$.w"));
    gives("[new ArrayBuffer(8)]", NO_JSON("an ArrayBuffer", "$[0]"));
    gives("[[1].values()]", NO_JSON("an Array Iterator", "$[0]"));
    gives("{'odd key': {'': new Map}}", NO_JSON("a Map", "$[\"odd key\"][\"\"]"));
}

static void empty_objects_are_fine(void **state)
{
    (void)state;
    gives("{a: {}, b: [{}], c: new (class Empty {}), d: Object.create(null)}",
          "{\"a\":{},\"b\":[{}],\"c\":{},\"d\":{}}");
    gives("{a: {x: undefined}, text: '{}'}", "{\"a\":{},\"text\":\"{}\"}");
    gives("{m: Object.assign(new Map, {toJSON() { return {} }})}", "{\"m\":{}}");
}

static void a_cycle_says_where_it_is(void **state)
{
    (void)state;
    gives("(() => { const a = {items: [1, {}]}; a.items[1].n = a; return a })()",
          NO_JSON("a cycle", "$.items[1].n"));
    gives("(() => { const a = []; a.push(a); return a })()", NO_JSON("a cycle", "$[0]"));
    gives("(() => { const shared = {x: 1}; return [shared, shared] })()", "[{\"x\":1},{\"x\":1}]");
}

static void a_bigint_says_where_it_is(void **state)
{
    (void)state;
    gives("{items: [0, 1, 2, {n: 5n}]}", NO_JSON("a BigInt", "$.items[3].n"));
    gives("{toJSON() { return {v: 1n} }}", NO_JSON("a BigInt", "$.v"));
    gives("(BigInt.prototype.toJSON = function () { return this.toString() }, {n: 5n})",
          "{\"n\":\"5\"}");
    gives("delete BigInt.prototype.toJSON", "true");
}

static void a_getter_that_throws_is_told_with_its_path(void **state)
{
    (void)state;
    gives("{a: [{get b() { throw new RangeError('no b') }}]}",
          "RESULT RangeError: no b at $.a[0].b");
    const struct wire_error *error = guest_error(&guest);
    assert_true(error->stack.length > 0);
    gives("{a: {toJSON() { throw new Error('no json') }}}", "RESULT Error: no json at $.a");
    gives("new Proxy({}, {ownKeys() { throw new Error('trap') }})", "RESULT Error: trap at $");
}

static void it_may_be_nested_as_deep_as_the_host_takes(void **state)
{
    (void)state;
    gives("(() => { let a = 1; for (let i = 0; i < 512; i++) a = [a]; return a })().flat(Infinity)",
          "[1]");
    const char *got = guest_call(
        &guest, "\"(() => { let a = 1; for (let i = 0; i < 512; i++) a = [a]; return a })()\"");
    assert_int_equal(strlen(got), 2 * 512 + 1);
    got = guest_call(
        &guest, "\"(() => { let a = 1; for (let i = 0; i < 513; i++) a = {a}; return a })()\"");
    assert_non_null(strstr(got,
                           "RESULT TypeError: the result cannot be written as JSON: nested more "
                           "than 512 deep at $.a.a"));
    got = guest_call(
        &guest, "\"(() => { let a = 1; for (let i = 0; i < 100000; i++) a = [a]; return a })()\"");
    assert_non_null(strstr(got, "RESULT "));
    gives("Array(600).fill([1]).length", "600");
    got = guest_call(&guest, "\"Array(600).fill([1])\"");
    assert_int_equal(strlen(got), 600 * 4 + 1);
}

static void the_input_must_parse(void **state)
{
    (void)state;
    assert_non_null(strstr(guest_call(&guest, "{\"a\":"), "INPUT SyntaxError: "));
    guest_send_call(&guest, "[1]\0,2]", 7, 1000);
    assert_non_null(strstr(guest_call(&guest, NULL), "INPUT SyntaxError: "));
    /* Not UTF-8: short and long, cut off and overlong. */
    guest_send_call(&guest, "\"\xff\"", 3, 1000);
    assert_non_null(strstr(guest_call(&guest, NULL), "INPUT SyntaxError: "));
    char long_text[100];
    memset(long_text, ' ', sizeof(long_text));
    memcpy(long_text, "\"\xe2\x82\"", 4);
    guest_send_call(&guest, long_text, sizeof(long_text), 1000);
    assert_non_null(strstr(guest_call(&guest, NULL), "INPUT SyntaxError: "));
    memset(long_text, ' ', sizeof(long_text));
    long_text[99] = (char)0xf0;
    guest_send_call(&guest, long_text, sizeof(long_text), 1000);
    assert_non_null(strstr(guest_call(&guest, NULL), "INPUT SyntaxError: "));
    gives("1", "1");
}

static void a_result_above_the_cap_is_an_error_of_its_own(void **state)
{
    (void)state;
    struct guest small;
    struct guest_options options = {.cap = 1000};
    guest_load(&small, &options, "transform = (n) => 'x'.repeat(n)");
    assert_int_equal(small.hello.cap, 1000);
    assert_int_equal(strlen(guest_call(&small, "998")), 1000);
    assert_string_equal(guest_call(&small, "999"),
                        "TOO_LONG RangeError: the result is 1001 bytes of JSON, the cap is 1000");
    assert_string_equal(guest_call(&small, "1"), "\"x\"");
    guest_finish(&small);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_undefined_and_null_are_distinct),
        cmocka_unit_test(numbers_are_written_as_the_engine_prints_them),
        cmocka_unit_test(what_has_no_json_inside_is_left_out),
        cmocka_unit_test(at_the_top_it_is_an_error),
        cmocka_unit_test(what_would_vanish_is_an_error_with_its_path),
        cmocka_unit_test(empty_objects_are_fine),
        cmocka_unit_test(a_cycle_says_where_it_is),
        cmocka_unit_test(a_bigint_says_where_it_is),
        cmocka_unit_test(a_getter_that_throws_is_told_with_its_path),
        cmocka_unit_test(it_may_be_nested_as_deep_as_the_host_takes),
        cmocka_unit_test(the_input_must_parse),
        cmocka_unit_test(a_result_above_the_cap_is_an_error_of_its_own),
    };
    return cmocka_run_group_tests_name("results", tests, start, finish);
}
