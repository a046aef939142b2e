/*
 * What is told of an error: name, message, stack, and the place in the user's file. And of the
 * values that are thrown to make telling hard.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Loads, calls with 1, and leaves the error in *guest. */
static void fails(struct guest *guest, const char *source, enum wire_error_kind kind,
                  const char *name, const char *message)
{
    guest_start(guest, NULL);
    guest_send_load(guest, source, strlen(source), "");
    uint8_t type = guest_receive(guest);
    if (type == WIRE_LOADED) {
        guest_send_call(guest, "1", 1, 1000);
        type = guest_receive(guest);
    }
    if (type != WIRE_ERROR)
        fail_msg("%s: got %s", source, type ? wire_type_name(type) : "nothing");
    if (guest->error.kind != kind || !text_is(guest->error.name, name) ||
        !text_is(guest->error.message, message))
        fail_msg("%s: kind %u, %.*s: %.*s", source, guest->error.kind,
                 (int)guest->error.name.length, guest->error.name.bytes,
                 (int)guest->error.message.length, guest->error.message.bytes);
}

static void at(const struct guest *guest, unsigned line, unsigned column)
{
    assert_true(text_is(guest->error.file, "plugin.js"));
    assert_int_equal(guest->error.line, line);
    assert_int_equal(guest->error.column, column);
}

static void a_throw_is_placed(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest,
          "// one\nfunction inner() {\n    throw new RangeError('too far');\n}\n"
          "transform = () => inner();",
          WIRE_ERROR_SCRIPT, "RangeError", "too far");
    at(&guest, 3, 25); /* where the error is made: at the parenthesis of its constructor */
    assert_true(
        text_is(guest.error.stack, "at inner (plugin.js:3:25)\nat transform (plugin.js:5:24)"));
    guest_finish(&guest);
}

static void an_error_of_the_engine_is_placed(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest, "transform = (raw) => {\n  return raw.a.b;\n}", WIRE_ERROR_SCRIPT, "TypeError",
          "undefined is not an object (evaluating 'raw.a.b')");
    at(&guest, 2, 15);
    guest_finish(&guest);
    fails(&guest, "transform = () => {\n\n  [3, 4].map((x) => { nothing(x) });\n}",
          WIRE_ERROR_SCRIPT, "ReferenceError", "Can't find variable: nothing");
    at(&guest, 3, 30);
    guest_finish(&guest);
}

static void an_error_of_the_prelude_is_placed_in_the_plugin(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest, "transform = () => {\n  return new URL('nonsense');\n}", WIRE_ERROR_SCRIPT,
          "TypeError",
          "\"nonsense\" is no URL: it is relative, and there is no base to be relative to");
    at(&guest, 2, 17);
    assert_null(strstr(guest.error.stack.bytes, "halter:"));
    guest_finish(&guest);
}

static void a_rejection_is_placed(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest, "transform = async () => {\n  await null;\n  throw new Error('later');\n}",
          WIRE_ERROR_SCRIPT, "Error", "later");
    at(&guest, 3, 18);
    guest_finish(&guest);
    fails(&guest, "transform = () => Promise.reject(7)", WIRE_ERROR_SCRIPT, "Uncaught", "7");
    guest_finish(&guest);
}

static void a_class_of_ones_own_keeps_its_name(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest,
          "class Broken extends Error { get name() { return 'Broken' } }\n"
          "transform = () => { throw new Broken('own') }",
          WIRE_ERROR_SCRIPT, "Broken", "own");
    guest_finish(&guest);
}

static void loading_fails_with_a_place(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest, "let a = 1;\nlet b = ;\n", WIRE_ERROR_LOAD, "SyntaxError",
          "Unexpected token ';'");
    at(&guest, 2, 9);
    guest_finish(&guest);
    fails(&guest, "let a = 1;\n\n  a.b.c();\n", WIRE_ERROR_LOAD, "TypeError",
          "undefined is not an object (evaluating 'a.b.c')");
    at(&guest, 3, 6);
    guest_finish(&guest);
    fails(&guest, "let a = 1", WIRE_ERROR_LOAD, "TypeError",
          "the plugin sets no globalThis.transform");
    at(&guest, 1, 1);
    guest_finish(&guest);
    fails(&guest, "transform = {a: 1}", WIRE_ERROR_LOAD, "TypeError",
          "globalThis.transform is no function, it is { a: 1 }");
    at(&guest, 1, 1);
    guest_finish(&guest);
    fails(&guest, "", WIRE_ERROR_LOAD, "TypeError", "the plugin sets no globalThis.transform");
    guest_finish(&guest);
    fails(&guest, "throw null", WIRE_ERROR_LOAD, "Uncaught", "null");
    guest_finish(&guest);
    fails(&guest,
          "Object.defineProperty(globalThis, 'transform', {get() { throw new Error('no') }})",
          WIRE_ERROR_LOAD, "Error", "no");
    guest_finish(&guest);
}

static void syntax_errors_have_columns(void **state)
{
    (void)state;
    static const struct {
        const char *source;
        unsigned line, column;
    } cases[] = {
        {"let b = ;", 1, 9},
        {"a ; ; ; b c", 1, 11},
        {"\n\nif (x) {\n  y = [1, 2\n}", 5, 1},
        {"x = 'caf\303\251 \360\237\230\200' oops", 1, 15},
        {"transform = () => {", 1, 20},
        {"let let = 1", 1, 5},
        {"transform = (raw) => { return raw ? 1 }\n", 1, 39},
        {"x = 1 +* 2; y = 1 + 2", 1, 8},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guest guest;
        guest_start(&guest, NULL);
        guest_send_load(&guest, cases[i].source, strlen(cases[i].source), "");
        assert_int_equal(guest_receive(&guest), WIRE_ERROR);
        assert_true(text_is(guest.error.name, "SyntaxError"));
        if (guest.error.line != cases[i].line || guest.error.column != cases[i].column)
            fail_msg("%s: %u:%u %.*s", cases[i].source, guest.error.line, guest.error.column,
                     (int)guest.error.message.length, guest.error.message.bytes);
        guest_finish(&guest);
    }
}

static void transform_may_be_any_kind_of_binding(void **state)
{
    (void)state;
    assert_string_equal(once("const transform = (x) => x + 1", "1"), "2");
    assert_string_equal(once("let transform = (x) => x + 1", "1"), "2");
    assert_string_equal(once("function transform(x) { return x + 1 }", "1"), "2");
    assert_string_equal(once("var transform = (x) => x + 1", "1"), "2");
    assert_string_equal(once("globalThis.transform = (x) => x + 1", "1"), "2");
    /* Looked up once: what is assigned later is not seen. */
    assert_string_equal(once("transform = () => { transform = () => 2; return 1 }", "1"), "1");
}

static void values_that_are_no_errors_are_described(void **state)
{
    (void)state;
    static const struct {
        const char *thrown, *message;
    } cases[] = {
        {"null", "null"},
        {"undefined", "undefined"},
        {"1", "1"},
        {"-0", "-0"},
        {"'text'", "'text'"},
        {"5n", "5n"},
        {"Symbol('s')", "Symbol(s)"},
        {"Object.freeze({code: 3})", "{ code: 3 }"},
        {"Object.create(null)", "[Object: null prototype] {}"},
        {"function f() {}", "[Function: f]"},
        {"[1, [2, [3, [4]]]]", "[1, [2, [3, [Array]]]]"},
        {"{message: {}}", "{ message: {} }"},
        {"{get message() { throw 1 }}", "{ message: [Getter] }"},
        {"new Proxy({}, {get() { throw 1 }, ownKeys() { throw 2 }})",
         "[object that cannot be inspected]"},
        {"new Proxy(function () {}, {get() { throw 1 }, getOwnPropertyDescriptor() { throw 2 }})",
         "[object that cannot be inspected]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct guest guest;
        char source[256];
        snprintf(source, sizeof(source), "transform = () => { throw (%s) }", cases[i].thrown);
        fails(&guest, source, WIRE_ERROR_SCRIPT, "Uncaught", cases[i].message);
        assert_string_equal(guest_call(&guest, "1") + strlen("SCRIPT Uncaught: "),
                            cases[i].message);
        guest_finish(&guest);
    }
}

static void errors_that_resist_are_described(void **state)
{
    (void)state;
    struct guest guest;
    fails(&guest,
          "transform = () => { throw Object.defineProperty(new Error('m'), 'stack', {get() { throw "
          "1 }}) }",
          WIRE_ERROR_SCRIPT, "Error", "m");
    at(&guest, 1, 58);
    guest_finish(&guest);
    fails(&guest,
          "transform = () => { throw Object.freeze(Object.assign(new Error('m'), {name: "
          "Symbol()})) }",
          WIRE_ERROR_SCRIPT, "Error", "m");
    guest_finish(&guest);
    fails(&guest,
          "transform = () => { throw Object.assign(new Error('m'), {stack: 'x'.repeat(1e6), line: "
          "'no', sourceURL: {}}) }",
          WIRE_ERROR_SCRIPT, "Error", "m");
    assert_true(guest.error.stack.length <= 65536);
    guest_finish(&guest);
    fails(&guest, "transform = () => { throw new Proxy(new Error('hidden'), {}) }",
          WIRE_ERROR_SCRIPT, "Error", "hidden");
    guest_finish(&guest);
}

static void long_texts_are_cut_at_a_character(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "transform = () => { throw new Error('\342\202\254'.repeat(100000)) }");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_ERROR);
    assert_int_equal(guest.error.message.length, 65535);
    guest_finish(&guest);
}

static void recursion_is_an_error_of_the_script(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "function f(n) { return f(n + 1) + 1 } transform = (raw) => raw ? f(0) : 'alive'");
    for (int i = 0; i < 3; i++) {
        assert_string_equal(guest_call(&guest, "1"),
                            "SCRIPT RangeError: Maximum call stack size exceeded.");
        assert_int_equal(guest.error.line, 1);
        assert_string_equal(guest_call(&guest, "0"), "\"alive\"");
    }
    guest_finish(&guest);
}

static void too_much_memory_at_once_is_an_error_of_the_script(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL, "transform = (raw) => raw ? 'ab'.repeat(2 ** 30) : 'alive'");
    assert_non_null(strstr(guest_call(&guest, "1"), "SCRIPT RangeError: Out of memory"));
    assert_string_equal(guest_call(&guest, "0"), "\"alive\"");
    guest_finish(&guest);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_throw_is_placed),
        cmocka_unit_test(an_error_of_the_engine_is_placed),
        cmocka_unit_test(an_error_of_the_prelude_is_placed_in_the_plugin),
        cmocka_unit_test(a_rejection_is_placed),
        cmocka_unit_test(a_class_of_ones_own_keeps_its_name),
        cmocka_unit_test(loading_fails_with_a_place),
        cmocka_unit_test(syntax_errors_have_columns),
        cmocka_unit_test(transform_may_be_any_kind_of_binding),
        cmocka_unit_test(values_that_are_no_errors_are_described),
        cmocka_unit_test(errors_that_resist_are_described),
        cmocka_unit_test(long_texts_are_cut_at_a_character),
        cmocka_unit_test(recursion_is_an_error_of_the_script),
        cmocka_unit_test(too_much_memory_at_once_is_an_error_of_the_script),
    };
    return cmocka_run_group_tests_name("errors", tests, NULL, NULL);
}
