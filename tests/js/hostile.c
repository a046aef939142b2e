/*
 * Plugins that change the world under the helper's feet: what they do to JSON, Promise and
 * prototypes is theirs to suffer, and changes nothing of how calls, results and errors are told.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void after(const char *sabotage, const char *expression, const char *expected)
{
    char source[2048];
    snprintf(source, sizeof(source), "%s;\nglobalThis.transform = (raw, ctx) => (%s)", sabotage,
             expression);
    const char *got = once(source, "{\"a\":[1]}");
    if (strcmp(got, expected) != 0)
        fail_msg("after %s: got %s, expected %s", sabotage, got, expected);
}

static void replaced_functions_are_not_used(void **state)
{
    (void)state;
    after("JSON.stringify = () => 'forged'", "raw", "{\"a\":[1]}");
    after("JSON.parse = () => 'forged'", "raw", "{\"a\":[1]}");
    after("JSON = null", "raw", "{\"a\":[1]}");
    after("Object.freeze = Object.keys = Reflect.apply = Array.isArray = () => { throw 1 }", "[1n]",
          "RESULT TypeError: the result cannot be written as JSON: a BigInt at $[0]");
    after("Function.prototype.call = Function.prototype.apply = () => { throw 1 }", "raw",
          "{\"a\":[1]}");
    after("globalThis.eval = globalThis.Error = globalThis.TypeError = null", "null.x",
          "SCRIPT TypeError: null is not an object (evaluating 'null.x')");
    after("for (const k of Object.getOwnPropertyNames(globalThis)) if (k !== 'Object' && k !== "
          "'globalThis') try { "
          "delete globalThis[k] } catch {}",
          "[1, {b: 2}]", "[1,{\"b\":2}]");
    after("for (const c of [String, Array, RegExp, Object, Promise, Map, Set]) for (const k of "
          "Object.getOwnPropertyNames(c.prototype))"
          " if (typeof Object.getOwnPropertyDescriptor(c.prototype, k).value === 'function' && k "
          "!== 'constructor')"
          " c.prototype[k] = () => { throw 'used' }",
          "(() => { throw {code: 1} })()", "SCRIPT Uncaught: { code: 1 }");
}

static void setters_on_prototypes_see_nothing(void **state)
{
    (void)state;
    /* Were a helper's list an ordinary array or object, it would pass through these. */
    after("let seen = 0; for (let i = 0; i < 10; i++) Object.defineProperty(Object.prototype, i, "
          "{set(v) { seen++ }, configurable: true})",
          "[seen, raw.a]", "[0,[1]]");
    after("for (const k of ['get', 'set', 'writable', 'name', 'message', 'path', 'what', 'file', "
          "'line', "
          "'stack', 'now', 'deadline', 'kind', 'text', 'value']) "
          "Object.defineProperty(Object.prototype, k, "
          "{__proto__: null, set(v) { throw k }, get() { throw k }, configurable: true})",
          "[1n]", "RESULT TypeError: the result cannot be written as JSON: a BigInt at $[0]");
    after("Object.prototype.then = undefined", "raw", "{\"a\":[1]}");
}

static void to_json_is_the_plugins_own(void **state)
{
    (void)state;
    /* That is what JSON.stringify does; it is a value like any other, and still no envelope. */
    after("Object.prototype.toJSON = () => ({type: 'ERROR'})", "raw", "{\"type\":\"ERROR\"}");
    after("Object.prototype.toJSON = () => undefined", "raw",
          "RESULT TypeError: the result cannot be written as JSON: an object whose toJSON gives "
          "nothing at $");
    after("String.prototype.toJSON = () => 1n; Number.prototype.toJSON = () => 1n", "['x', 1]",
          "[\"x\",1]");
}

static void awaiting_cannot_be_confused(void **state)
{
    (void)state;
    after("Promise.prototype.then = () => { throw 1 }", "Promise.resolve(5)", "5");
    after("Promise.prototype.then = function () {}; Promise.prototype.constructor = function () {}",
          "Promise.resolve(6)", "6");
    after("Object.defineProperty(Promise, Symbol.species, {get() { throw 1 }})",
          "(async () => 7)()", "7");
    after("Promise = class extends Promise { then() { return 1 } }",
          "(async () => { await null; return 8 })()", "8");
    after("Object.defineProperty(Promise.prototype, 'constructor', {get() { throw new "
          "Error('constructor') }})",
          "(async () => 9)()", "9");
    after("const p = Promise.resolve(10); p.constructor = class { constructor() { throw 1 } }", "p",
          "10");
    after("delete Promise.prototype.constructor", "(async () => { throw new Error('rejected') })()",
          "SCRIPT Error: rejected");
    after("Promise.prototype.then = () => { throw 1 }",
          "new Promise((done) => setTimeout(done, 1, 11))", "11");
}

static void thenables_are_awaited_as_the_language_does(void **state)
{
    (void)state;
    after("", "({then(done) { done(1) }})", "1");
    after("", "({then(done, fail) { fail(new Error('no')) }})", "SCRIPT Error: no");
    after("", "({then(done) { done(1); done(2); throw 3 }})", "1");
    after("", "({then() { throw new Error('thrown') }})", "SCRIPT Error: thrown");
    after("", "({get then() { throw new Error('got') }})", "SCRIPT Error: got");
    after("", "({then(done) { done({then(done) { done(Promise.resolve(4)) }}) }})", "4");
    after("", "({then: 1})", "{\"then\":1}");
    after("let n = 0", "({get then() { return n++ ? undefined : () => {} }, v: 1})", "{\"v\":1}");
    after("class Own extends Promise { then(...all) { return super.then(...all) } }",
          "Own.resolve(12)", "12");
    after("", "new Proxy(Promise.resolve(1), {})", "SCRIPT TypeError: |this| is not a Promise");
    after("", "Object.freeze(Promise.resolve(13))", "13");
    after("", "(() => { throw Promise.reject(1) })()", "SCRIPT Uncaught: Promise {}");
}

static void the_helpers_functions_are_out_of_reach(void **state)
{
    (void)state;
    after("",
          "Object.getOwnPropertyNames(globalThis).filter((k) => "
          "/native|finish|fail|prelude|kit|halter/i.test(k))",
          "[]");
    assert_string_equal(
        once(
            "globalThis.transform = function me() { let by = null; try { by = me.caller } catch {} "
            "return by === null || by === undefined }",
            "1"),
        "true");
    after("Error.prepareStackTrace = (e, frames) => 'forged'", "new Error('x').stack !== 'forged'",
          "true");
    after("", "(() => { try { import('halter:core.js') } catch {} return 1 })()", "1");
}

/* The stack of an error can be any text: it is told as text. */
static void a_forged_stack_is_only_text(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "transform = () => { throw Object.assign(new Error('m'), {stack: "
               "'f@elsewhere.js:10:20\\nhalter:core.js\\n@'}) }");
    guest_call(&guest, "1");
    assert_true(text_is(guest.error.file, "elsewhere.js"));
    assert_true(text_is(guest.error.stack, "at f (elsewhere.js:10:20)"));
    guest_finish(&guest);
}

static void a_plugin_cannot_speak_for_the_next_call(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "let late; transform = (raw) => {"
               "  if (raw === 'hang') return new Promise((done) => { late = done });"
               "  if (raw === 'wake') { late('from the dead'); return new Promise(() => {}) }"
               "  return raw }");
    assert_non_null(strstr(guest_call(&guest, "\"hang\""), "PENDING"));
    assert_non_null(strstr(guest_call(&guest, "\"wake\""), "PENDING"));
    assert_string_equal(guest_call(&guest, "1"), "1");
    guest_finish(&guest);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replaced_functions_are_not_used),
        cmocka_unit_test(setters_on_prototypes_see_nothing),
        cmocka_unit_test(to_json_is_the_plugins_own),
        cmocka_unit_test(awaiting_cannot_be_confused),
        cmocka_unit_test(thenables_are_awaited_as_the_language_does),
        cmocka_unit_test(the_helpers_functions_are_out_of_reach),
        cmocka_unit_test(a_forged_stack_is_only_text),
        cmocka_unit_test(a_plugin_cannot_speak_for_the_next_call),
    };
    return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}
