/*
 * console and host.log: how lines look, and that a flood of them is cut and counted.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* All lines that one run of `code` logs, each with its level, up to the result. */
static const char *logs(const char *code)
{
    static char lines[8192];
    struct guest guest;
    char source[2048];
    size_t at = 0;
    snprintf(source, sizeof(source), "transform = () => { %s }", code);
    guest_load(&guest, NULL, source);
    guest_send_call(&guest, "1", 1, 1000);
    lines[0] = 0;
    while (guest_receive(&guest) == WIRE_LOG) {
        struct wire_log log;
        assert_true(wire_log_decode(&log, guest.frame.body, guest.frame.length));
        assert_int_equal(log.dropped, 0);
        at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%s%u %.*s", at ? "\n" : "",
                               log.level, (int)log.text.length, log.text.bytes);
    }
    if (guest.frame.type == WIRE_ERROR)
        fail_msg("%s: %.*s", code, (int)guest.error.message.length, guest.error.message.bytes);
    guest_finish(&guest);
    return lines;
}

static void levels_are_told(void **state)
{
    (void)state;
    assert_string_equal(logs("console.debug('d'); console.log('l'); console.info('i'); "
                             "console.warn('w'); console.error('e')"),
                        "0 d\n1 l\n1 i\n2 w\n3 e");
    assert_string_equal(logs("host.log('plain'); host.log('warn', 'w', 1); host.log('error', 'e'); "
                             "host.log('debug', 'd'); host.log('other', 'o'); host.log('warn')"),
                        "1 plain\n2 w 1\n3 e\n0 d\n1 other o\n1 warn");
}

static void formats_are_those_of_other_consoles(void **state)
{
    (void)state;
    assert_string_equal(logs("console.log()"), "1 ");
    assert_string_equal(
        logs("console.log('%s is %d years and %i, %f%%', 'Bob', 42, 42.9, 1.5, 'more')"),
        "1 Bob is 42 years and 42, 1.5% more");
    assert_string_equal(logs("console.log('%o %O %j %c.', {a: 1}, [1], {b: 2}, 'color: red')"),
                        "1 { a: 1 } [1] {\"b\":2} .");
    assert_string_equal(logs("console.log('100%', 'sure', '%s')"), "1 100% sure %s");
    assert_string_equal(logs("console.log('%d %d %s', '7', 5n, Symbol('x'))"), "1 7 5n Symbol(x)");
    assert_string_equal(
        logs("console.log(1, 'two', null, undefined, true, 3n, -0, Symbol.iterator)"),
        "1 1 two null undefined true 3n -0 Symbol(Symbol.iterator)");
    assert_string_equal(logs("console.log(['text', \"it's\", 'a\\nb'])"),
                        "1 ['text', \"it's\", 'a\\nb']");
}

static void objects_are_inspected(void **state)
{
    (void)state;
    assert_string_equal(
        logs("console.log({a: {b: {c: {d: 1}}}, 'odd key': [1, , 3], [Symbol('s')]: 1})"),
        "1 {\n1   a: { b: { c: [Object] } },\n1   'odd key': [1, <1 empty item>, 3],\n1   "
        "[Symbol(s)]: 1\n1 }");
    assert_string_equal(logs("const a = {}; a.self = a; console.log(a)"), "1 { self: [Circular] }");
    assert_string_equal(logs("class P { x = 1; get y() { return 2 } } console.log(new P, [new P], "
                             "class Q {}, function f() {}, () => 1)"),
                        "1 P { x: 1 } [P { x: 1 }] [class Q] [Function: f] [Function (anonymous)]");
    assert_string_equal(
        logs("console.log(new Map([['k', {v: 1}]]), new Set([1]), new Date(0), /r/g, new "
             "Uint8Array(2), Promise.resolve(), new Error('bad') instanceof Error)"),
        "1 Map(1) { 'k' => { v: 1 } } Set(1) { 1 } 1970-01-01T00:00:00.000Z /r/g Uint8Array(2) [0, "
        "0] Promise {} true");
    assert_string_equal(logs("console.log({get a() { throw 1 }, set b(v) {}}, Object.create(null), "
                             "new Proxy({}, {ownKeys() { throw 1 }}))"),
                        "1 { a: [Getter], b: [Setter] } [Object: null prototype] {} [object that "
                        "cannot be inspected]");
    assert_string_equal(logs("const e = new RangeError('bad'); e.code = 5; console.error(e)"),
                        "3 RangeError: bad\n3     at transform (plugin.js:1:45) { code: 5 }");
    assert_string_equal(logs("console.log(Array(200).fill(7).slice(0, 3), 'x'.repeat(3))"),
                        "1 [7, 7, 7] xxx");
    assert_non_null(strstr(logs("console.log(Array(150).fill(7))"), "... 50 more"));
}

static void the_rest_of_console_is_there(void **state)
{
    (void)state;
    assert_string_equal(
        logs("console.assert(true, 'no'); console.assert(false, 'is %d', 1); console.assert(0)"),
        "3 Assertion failed: is 1\n3 Assertion failed");
    assert_string_equal(
        logs("console.group('g'); console.log('a\\nb'); console.group(); console.log('c'); "
             "console.groupEnd(); console.groupEnd(); console.log('d')"),
        "1 g\n1   a\n1   b\n1     c\n1 d");
    assert_string_equal(logs("console.count(); console.count('x'); console.count(); "
                             "console.countReset(); console.count()"),
                        "1 default: 1\n1 x: 1\n1 default: 2\n1 default: 1");
    assert_string_equal(
        logs("console.table([{a: 1, b: 'x'}, {a: 2}])"),
        "1 +---------+---+-----+\n1 | (index) | a | b   |\n1 +---------+---+-----+\n1 | 0       | "
        "1 | 'x' |\n1 | 1       | 2 |     |\n1 +---------+---+-----+");
    assert_non_null(strstr(logs("console.time(); console.timeEnd()"), "1 default: "));
    assert_string_equal(logs("console.trace('here')"),
                        "0 Trace: here\n0 at transform (plugin.js:1:34)");
    assert_string_equal(logs("console.dir({a: {b: {c: 1}}}, {depth: 0})"), "1 { a: [Object] }");
}

static void text_is_text(void **state)
{
    (void)state;
    assert_string_equal(logs("console.log('caf\303\251 \360\237\230\200 \\ud800')"),
                        "1 caf\303\251 \360\237\230\200 \357\277\275");
    assert_string_equal(logs("console.log('a\\n\\nb\\n')"), "1 a\n1 \n1 b\n1 ");
    const char *line = logs("console.log('\\u20ac'.repeat(6000))");
    assert_true(strlen(line) <= 2 + 16384 && strlen(line) > 8000);
}

static void a_flood_is_cut_and_counted(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL,
               "transform = (n) => { for (let i = 0; i < n; i++) console.log('line', i, {a: 1}); "
               "return 'done' }");
    guest_send_call(&guest, "1000000", 7, 1000);
    uint64_t lines = 0, dropped = 0;
    while (guest_receive(&guest) == WIRE_LOG) {
        struct wire_log log;
        assert_true(wire_log_decode(&log, guest.frame.body, guest.frame.length));
        lines += log.text.length > 0;
        dropped += log.dropped;
    }
    assert_int_equal(guest.frame.type, WIRE_VALUE);
    assert_int_equal(lines + dropped, 1000000);
    assert_true(lines >= 5000 && lines < 500000);
    guest_finish(&guest);
}

static void a_line_comes_before_the_loop_behind_it(void **state)
{
    (void)state;
    struct guest guest;
    guest_load(&guest, NULL, "transform = () => { console.log('last words'); for (;;); }");
    guest_send_call(&guest, "1", 1, 1000);
    assert_int_equal(guest_receive(&guest), WIRE_LOG);
    guest_kill(&guest);
    guest_finish(&guest);
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_told),
        cmocka_unit_test(formats_are_those_of_other_consoles),
        cmocka_unit_test(objects_are_inspected),
        cmocka_unit_test(the_rest_of_console_is_there),
        cmocka_unit_test(text_is_text),
        cmocka_unit_test(a_flood_is_cut_and_counted),
        cmocka_unit_test(a_line_comes_before_the_loop_behind_it),
    };
    return cmocka_run_group_tests_name("logs", tests, NULL, NULL);
}
