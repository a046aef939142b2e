/*
 * What a plugin finds in its world besides the language: text encoding, clones, randomness. And
 * what it does not find.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct guest guest;

static int start(void **state)
{
    (void)state;
    guest_load(
        &guest, NULL,
        "globalThis.bad = (f) => { try { f(); return 'no error' } catch (e) { return e.name } };"
        "globalThis.hex = (text) => [...text].map((c) => c.codePointAt(0).toString(16)).join(' ');"
        "transform = (code) => (0, eval)(code)");
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
    char json[2048], *at = json;
    at += sprintf(at, "\"(");
    for (const char *c = expression; *c; c++)
        at += sprintf(at, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    sprintf(at, ")\"");
    const char *got = guest_call(&guest, json);
    if (strcmp(got, expected) != 0)
        fail_msg("%s gave %s, expected %s", expression, got, expected);
}

/* Malformed UTF-8 and what each maximal part of it becomes. */
static void utf8_is_decoded_as_the_standard_says(void **state)
{
    (void)state;
    static const char *const table[][2] = {
        {"0x61,0xc3,0xa9", "61 e9"},
        {"0xe2,0x82,0xac,0xf0,0x9f,0x98,0x80", "20ac 1f600"},
        {"0xff,0x61", "fffd 61"},
        {"0xc0,0x80", "fffd fffd"},
        {"0xe0,0x80,0x80", "fffd fffd fffd"},
        {"0xe2,0x82", "fffd"},
        {"0xe2,0x82,0x41", "fffd 41"},
        {"0xe2,0x28,0xa1", "fffd 28 fffd"},
        {"0xed,0xa0,0x80", "fffd fffd fffd"},
        {"0xf0,0x9f,0x98", "fffd"},
        {"0xf0,0x9f,0x98,0x41,0x80", "fffd 41 fffd"},
        {"0xf4,0x90,0x80,0x80", "fffd fffd fffd fffd"},
        {"0xf4,0x8f,0xbf,0xbf", "10ffff"},
        {"0x80,0xbf", "fffd fffd"},
        {"0xef,0xbb,0xbf,0x61", "61"},
        {"0xef,0xbb", "fffd"},
        {"0x61,0xef,0xbb,0xbf", "61 feff"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char expression[512], expected[256];
        snprintf(expected, sizeof(expected), "[\"%s\",\"%s\"]", table[i][1], table[i][1]);
        snprintf(expression, sizeof(expression),
                 "(() => { const b = new Uint8Array([%s]), d = new TextDecoder(); let s = '';"
                 " for (const x of b) s += d.decode(Uint8Array.of(x), {stream: true});"
                 " return [hex(new TextDecoder().decode(b)), hex(s + d.decode())] })()",
                 table[i][0]);
        gives(expression, expected);
    }
}

static void decoders_have_options(void **state)
{
    (void)state;
    gives("bad(() => new TextDecoder('utf-8', {fatal: true}).decode(Uint8Array.of(0xff)))",
          "\"TypeError\"");
    gives("bad(() => new TextDecoder('utf-8', {fatal: true}).decode(Uint8Array.of(0xe2, 0x82)))",
          "\"TypeError\"");
    gives(
        "new TextDecoder('utf-8', {fatal: true}).decode(Uint8Array.of(0xe2, 0x82), {stream: true})",
        "\"\"");
    gives("hex(new TextDecoder('utf-8', {ignoreBOM: true}).decode(Uint8Array.of(0xef, 0xbb, 0xbf, "
          "0x61)))",
          "\"feff 61\"");
    gives("[' UTF8 ', 'latin1', 'ascii', 'utf-16', 'unicode'].map((l) => new "
          "TextDecoder(l).encoding)",
          "[\"utf-8\",\"windows-1252\",\"windows-1252\",\"utf-16le\",\"utf-16le\"]");
    gives("[bad(() => new TextDecoder('shift_jis')), bad(() => new TextDecoder().decode('text')), "
          "bad(() => TextDecoder())]",
          "[\"RangeError\",\"TypeError\",\"TypeError\"]");
    gives("hex(new TextDecoder('latin1').decode(Uint8Array.of(0x80, 0x81, 0xe9, 0x9f)))",
          "\"20ac 81 e9 178\"");
    gives("hex(new TextDecoder('utf-16le').decode(Uint8Array.of(0xff, 0xfe, 0x3d, 0xd8, 0, 0xde, "
          "0, 0xd8, 0x41)))",
          "\"1f600 fffd\"");
    gives("new TextDecoder().decode(new DataView(Uint8Array.of(120, 97, 98, 120).buffer, 1, 2))",
          "\"ab\"");
    gives("new TextDecoder().decode(Uint8Array.of(97, 98).buffer) + new TextDecoder().decode()",
          "\"ab\"");
}

static void text_is_encoded(void **state)
{
    (void)state;
    gives("[...new TextEncoder().encode('a\\u00e9\\u20ac\\u{1f600}\\ud800')]",
          "[97,195,169,226,130,172,240,159,152,128,239,191,189]");
    gives("[new TextEncoder().encode().length, new TextEncoder().encoding, new "
          "TextEncoder().encode(null).length]",
          "[0,\"utf-8\",4]");
    gives("(() => { const b = new Uint8Array(5); return [new "
          "TextEncoder().encodeInto('a\\u20ac\\u20ac', b), [...b]] })()",
          "[{\"read\":2,\"written\":4},[97,226,130,172,0]]");
}

static void base64_is_forgiving_where_it_should_be(void **state)
{
    (void)state;
    gives("[btoa(''), btoa('a'), btoa('ab'), btoa('abc'), btoa('\\xff\\x00'), btoa(12)]",
          "[\"\",\"YQ==\",\"YWI=\",\"YWJj\",\"/wA=\",\"MTI=\"]");
    gives(
        "[atob(''), atob('YQ=='), atob('YQ'), atob(' Y W\\nJj '), atob('YWI='), hex(atob('/wA='))]",
        "[\"\",\"a\",\"a\",\"abc\",\"ab\",\"ff 0\"]");
    gives("['Y', 'YQ=', 'YQ===', '=', 'Y-_Q', 'YQ==YQ=='].map((t) => bad(() => atob(t)))",
          "[\"InvalidCharacterError\",\"InvalidCharacterError\",\"InvalidCharacterError\","
          "\"InvalidCharacterError\",\"InvalidCharacterError\",\"InvalidCharacterError\"]");
    gives("bad(() => btoa('\\u0100'))", "\"InvalidCharacterError\"");
}

static void clones_are_deep(void **state)
{
    (void)state;
    gives("(() => { const a = {d: new Date(5), m: new Map([[{k: 1}, new Set([1])]]), r: /x/gi, l: "
          "[1, , 3], u: undefined, b: 10n}; a.self = a;"
          " const c = structuredClone(a); return [c !== a, c.self === c, c.d.getTime(), "
          "[...c.m.keys()][0].k, [...c.m.values()][0].has(1), String(c.r), 1 in c.l, c.l.length, "
          "'u' in c, String(c.b)] })()",
          "[true,true,5,1,true,\"/x/gi\",false,3,true,\"10\"]");
    gives("(() => { const b = new ArrayBuffer(4), c = structuredClone({v: new Uint8Array(b, 1, 2), "
          "w: new DataView(b), b});"
          " c.v[0] = 7; return [c.v.buffer === c.b, c.v.byteOffset, c.v.length, new "
          "Uint8Array(b)[1], c.w.getUint8(1)] })()",
          "[true,1,2,0,7]");
    gives("(() => { const b = new ArrayBuffer(4), c = structuredClone(b, {transfer: [b]}); return "
          "[b.byteLength, c.byteLength] })()",
          "[0,4]");
    gives("(() => { const e = structuredClone(new RangeError('m', {cause: [1]})); return [e "
          "instanceof RangeError, e.message, e.cause, e.name] })()",
          "[true,\"m\",[1],\"RangeError\"]");
    gives("[() => structuredClone(() => 1), () => structuredClone(Symbol()), () => "
          "structuredClone({p: Promise.resolve()}), () => structuredClone(new WeakMap)].map(bad)",
          "[\"DataCloneError\",\"DataCloneError\",\"DataCloneError\",\"DataCloneError\"]");
    gives("structuredClone([Object('s'), Object(1), Object(false)]).map((x) => typeof x)",
          "[\"object\",\"object\",\"object\"]");
    gives("(() => { class P { x = 1; m() {} } return Object.getPrototypeOf(structuredClone(new P)) "
          "=== Object.prototype })()",
          "true");
}

static void time_and_randomness(void **state)
{
    (void)state;
    gives(
        "(() => { const a = performance.now(), b = performance.now(); return [a >= 0, b >= a, a % "
        "1 !== 0 || b % 1 !== 0, Math.abs(performance.timeOrigin + b - Date.now()) < 5000] })()",
        "[true,true,true,true]");
    gives("/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/"
          ".test(crypto.randomUUID())",
          "true");
    gives("(() => { const a = new Uint32Array(64), b = crypto.getRandomValues(a); return [a === b, "
          "a.some((x) => x > 0xffff), new Set(a).size > 50] })()",
          "[true,true,true]");
    gives("(() => { const a = new Uint8Array(8); crypto.getRandomValues(a.subarray(4)); return "
          "[...a.subarray(0, 4)] })()",
          "[0,0,0,0]");
    gives("[bad(() => crypto.getRandomValues(new Float64Array(1))), bad(() => "
          "crypto.getRandomValues(new Uint8Array(65537))), bad(() => crypto.getRandomValues([1]))]",
          "[\"TypeError\",\"QuotaExceededError\",\"TypeError\"]");
}

static void globals_can_be_replaced(void **state)
{
    (void)state;
    assert_string_equal(
        once("URL = class { constructor(x) { this.mine = x } }; transform = () => new URL('x')",
             "1"),
        "{\"mine\":\"x\"}");
    assert_string_equal(once("var console = {log: () => 5}; transform = () => console.log()", "1"),
                        "5");
    assert_string_equal(once("delete globalThis.URL; transform = () => typeof URL", "1"),
                        "\"undefined\"");
    assert_string_equal(once("const TextEncoder = 3; transform = () => TextEncoder", "1"), "3");
    gives("Object.keys(globalThis).filter((k) => k !== 'transform' && k !== 'bad' && k !== 'hex')",
          "[\"host\"]");
}

/* Documented as absent: each would be a promise that this world cannot keep. */
static void what_is_not_there(void **state)
{
    (void)state;
    gives("['fetch', 'XMLHttpRequest', 'WebSocket', 'Worker', 'SharedArrayBuffer', "
          "'AbortController', 'Event', 'Blob', 'require', 'process', 'module', 'Buffer', 'window', "
          "'self', 'document', 'navigator', 'localStorage', 'alert']"
          ".filter((k) => k in globalThis)",
          "[]");
    assert_non_null(strstr(once("transform = () => import('fs')", "1"), "SCRIPT "));
}

/* The engine is warmed up by a script and a call of its own: no plugin can tell. */
static void nothing_was_there_before_the_plugin(void **state)
{
    (void)state;
    assert_string_equal(
        once("const before = typeof transform + ' ' + host.locale + ' ' + ('raw' in globalThis);"
             "globalThis.transform = (raw, ctx) => before + ' ' + raw + ' ' + ctx.deadline", "7"),
        "\"undefined und false 7 1000\"");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_decoded_as_the_standard_says),
        cmocka_unit_test(decoders_have_options),
        cmocka_unit_test(text_is_encoded),
        cmocka_unit_test(base64_is_forgiving_where_it_should_be),
        cmocka_unit_test(clones_are_deep),
        cmocka_unit_test(time_and_randomness),
        cmocka_unit_test(globals_can_be_replaced),
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(nothing_was_there_before_the_plugin),
    };
    return cmocka_run_group_tests_name("world", tests, start, finish);
}
