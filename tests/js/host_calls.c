/*
 * host: the capabilities that were granted, asked for with promises and with the script blocked.
 */
#include "harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The next frame is a request of this name with these arguments; its id. */
static uint64_t requested(struct guest *guest, const char *name, const char *json, bool wait)
{
    struct wire_request request;
    uint8_t type = guest_receive(guest);
    if (type != WIRE_REQUEST)
        fail_msg("got %s, expected a request", type ? wire_type_name(type) : "nothing");
    assert_true(wire_request_decode(&request, guest->frame.body, guest->frame.length));
    assert_true(text_is(request.name, name));
    assert_true(text_is(request.json, json));
    assert_int_equal(request.wait, wait);
    assert_true(guest->frame.id != 0 && guest->frame.id % 2 == 0);
    return guest->frame.id;
}

static void what_was_not_granted_does_not_exist(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL, "transform = (code) => (0, eval)(code)",
                    "now\nai.respond\nfetch\nai.models.list\nai");
    assert_string_equal(
        guest_call(&guest,
                   "\"[typeof host.fetch, typeof host.fetch.sync, typeof host.ai, typeof "
                   "host.ai.respond, typeof host.ai.models, typeof host.ai.models.list.sync]\""),
        "[\"function\",\"function\",\"function\",\"function\",\"object\",\"function\"]");
    assert_string_equal(guest_call(&guest, "\"[typeof host.open, typeof host.state, typeof "
                                           "host.ai.embed, 'state' in host, Object.keys(host)]\""),
                        "[\"undefined\",\"undefined\",\"undefined\",false,[\"log\",\"now\","
                        "\"locale\",\"ai\",\"fetch\"]]");
    assert_string_equal(guest_call(&guest, "\"[host.ai.respond.name, host.ai.respond.sync.name, "
                                           "Object.isFrozen(host), Object.isFrozen(host.ai)]\""),
                        "[\"ai.respond\",\"ai.respond.sync\",true,true]");
    assert_non_null(strstr(guest_call(&guest, "\"host.open('x')\""), "SCRIPT TypeError"));
    guest_finish(&guest);
    guest_load(&guest, NULL, "transform = () => Object.keys(host)");
    assert_string_equal(guest_call(&guest, "1"), "[\"log\",\"now\",\"locale\"]");
    guest_finish(&guest);
}

static void a_promise_is_answered(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = async (raw) => { const a = await host.ai.respond('hi', raw, "
                    "undefined, () => 1); return {a} }",
                    "ai.respond");
    guest_send_call(&guest, "{\"x\":[1]}", 9, 1000);
    uint64_t id = requested(&guest, "ai.respond", "[\"hi\",{\"x\":[1]},null,null]", false);
    guest_answer(&guest, id, "{\"text\":\"\303\251\"}", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "{\"a\":{\"text\":\"\303\251\"}}");
    /* An empty answer is undefined. */
    guest_send_call(&guest, "1", 1, 1000);
    id = requested(&guest, "ai.respond", "[\"hi\",1,null,null]", false);
    guest_answer(&guest, id, "", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "{}");
    guest_finish(&guest);
}

static void the_script_can_be_blocked_on_an_answer(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = (raw) => host.add.sync(raw, 1) + host.add.sync(raw, 2)", "add");
    guest_send_call(&guest, "5", 1, 1000);
    guest_answer(&guest, requested(&guest, "add", "[5,1]", true), "6", NULL, 0);
    guest_answer(&guest, requested(&guest, "add", "[5,2]", true), "7", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "13");
    guest_finish(&guest);
}

static void answers_come_in_any_order(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = async () => Promise.all([host.get(1), host.get(2), "
                    "host.get.sync(3), host.get(4)])",
                    "get");
    guest_send_call(&guest, "1", 1, 1000);
    uint64_t one = requested(&guest, "get", "[1]", false),
             two = requested(&guest, "get", "[2]", false);
    uint64_t three = requested(&guest, "get", "[3]", true);
    guest_answer(&guest, two, "\"two\"", NULL, 0); /* while the script is blocked on three */
    guest_answer(&guest, three, "\"three\"", NULL, 0);
    uint64_t four = requested(&guest, "get", "[4]", false);
    guest_answer(&guest, four, "\"four\"", NULL, 0);
    guest_answer(&guest, one, "\"one\"", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "[\"one\",\"two\",\"three\",\"four\"]");
    guest_finish(&guest);
}

static void refusals_are_errors_of_their_kind(void **state)
{
    (void)state;
    static const struct {
        enum wire_error_kind kind;
        const char *name;
    } kinds[] = {
        {WIRE_ERROR_DENIED, "DeniedError"},
        {WIRE_ERROR_FAILED, "HostError"},
        {WIRE_ERROR_QUOTA, "QuotaError"},
    };
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = async (raw) => {\n"
                    "  try { return raw ? host.get.sync() : await host.get() }\n"
                    "  catch (e) { return [e instanceof Error, e.name, e.message, String(e)] } }",
                    "get");
    for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(kinds[0]); i++) {
        char expected[256];
        const char *name = kinds[i / 2].name;
        guest_send_call(&guest, i % 2 ? "1" : "0", 1, 1000);
        guest_refuse(&guest, requested(&guest, "get", "[]", i % 2), kinds[i / 2].kind, "not that");
        snprintf(expected, sizeof(expected), "[true,\"%s\",\"not that\",\"%s: not that\"]", name,
                 name);
        assert_string_equal(guest_call(&guest, NULL), expected);
    }
    guest_finish(&guest);
}

static void a_refusal_says_who_asked(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, NULL,
                    "transform = async () => {\n  await null;\n  await host.get();\n}", "get");
    guest_send_call(&guest, "1", 1, 1000);
    guest_refuse(&guest, requested(&guest, "get", "[]", false), WIRE_ERROR_DENIED, "no");
    assert_string_equal(guest_call(&guest, NULL), "SCRIPT DeniedError: no");
    assert_int_equal(guest.error.line, 3);
    guest_finish(&guest);
}

static void asking_while_loading_is_fine(void **state)
{
    (void)state;
    struct guest guest;
    const char *source = "const first = host.get.sync('at load'); const later = host.get('later');"
                         "transform = async () => [first, await later]";
    guest_start(&guest, NULL);
    guest_send_load(&guest, source, strlen(source), "get");
    guest_answer(&guest, requested(&guest, "get", "[\"at load\"]", true), "1", NULL, 0);
    uint64_t later = requested(&guest, "get", "[\"later\"]", false);
    assert_int_equal(guest_receive(&guest), WIRE_LOADED);
    /* It comes between two calls, and is handed over in the next one that waits. */
    guest_answer(&guest, later, "2", NULL, 0);
    assert_string_equal(guest_call(&guest, "1"), "[1,2]");
    assert_string_equal(guest_call(&guest, "1"), "[1,2]");
    guest_finish(&guest);
}

static void what_cannot_be_sent_is_an_error_where_it_is_asked(void **state)
{
    (void)state;
    struct guest guest;
    guest_load_with(&guest, &(struct guest_options){.cap = 4096},
                    "Array.prototype.toJSON = () => 'forged';"
                    "transform = async (raw) => { try { return await host.get(eval(raw)) } catch "
                    "(e) { return e.name + ': ' + e.message } }",
                    "get");
    assert_string_equal(guest_call(&guest, "\"1n\""),
                        "\"TypeError: JSON.stringify cannot serialize BigInt.\"");
    assert_string_equal(guest_call(&guest, "\"'x'.repeat(5000)\""),
                        "\"RangeError: the arguments are larger than the host takes\"");
    assert_string_equal(
        guest_call(&guest, "\"let a = {}; for (let i = 0; i < 600; i++) a = {a}; a\""),
        "\"RangeError: the arguments are nested too deep\"");
    guest_send_call(&guest, "\"7\"", 3, 1000);
    guest_answer(&guest, requested(&guest, "get", "[7]", false), "8", NULL, 0);
    assert_string_equal(guest_call(&guest, NULL), "8");
    guest_finish(&guest);
}

static void the_context_is_what_the_host_said(void **state)
{
    (void)state;
    assert_string_equal(once("transform = (raw, ctx) => ctx", "1"),
                        "{\"now\":1234567890123,\"locale\":\"de-CH\",\"tick\":42,\"generation\":7,"
                        "\"deadline\":1000}");
    assert_string_equal(once("transform = (raw, ctx) => { 'use strict'; try { ctx.now = 1 } catch "
                             "(e) { return [Object.isFrozen(ctx), e.name, ctx.now] } }",
                             "1"),
                        "[true,\"TypeError\",1234567890123]");
    assert_string_equal(once("const before = host.locale; transform = () => [before, host.locale, "
                             "Math.abs(host.now() - Date.now()) < 5000]",
                             "1"),
                        "[\"und\",\"de-CH\",true]");
}

int main(void)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_granted_does_not_exist),
        cmocka_unit_test(a_promise_is_answered),
        cmocka_unit_test(the_script_can_be_blocked_on_an_answer),
        cmocka_unit_test(answers_come_in_any_order),
        cmocka_unit_test(refusals_are_errors_of_their_kind),
        cmocka_unit_test(a_refusal_says_who_asked),
        cmocka_unit_test(asking_while_loading_is_fine),
        cmocka_unit_test(what_cannot_be_sent_is_an_error_where_it_is_asked),
        cmocka_unit_test(the_context_is_what_the_host_said),
    };
    return cmocka_run_group_tests_name("host_calls", tests, NULL, NULL);
}
