#!/bin/bash
# What is a record and what becomes of it: lines, order, results, text and documents.
. "$(dirname "$0")/lib.sh"

case_each_line_is_a_record_and_order_is_kept() {
    echo_plugin
    seq 1 5000 > in
    halter_run echo.js in > out
    expect_status 0
    cmp in out
}

case_order_is_kept_with_several_guests() {
    plugin uneven << 'JS'
globalThis.transform = n => { let x = 0; for (let i = 0; i < (n * 7919) % 40000; i++) x += i; return [n, x >= 0]; };
JS
    seq 1 3000 > in
    halter_run --jobs 4 uneven.js in > out
    expect_status 0
    seq 1 3000 | sed 's/.*/[&,true]/' | cmp - out
}

case_every_kind_of_line_end() {
    echo_plugin
    printf '1\r\n\n2\n   \n3' > in
    halter_run echo.js in > out
    expect_status 0
    expect output "$(cat out)" "1
2
3"
}

case_standard_input_and_files_in_order() {
    echo_plugin
    echo 1 > a
    echo 3 > c
    echo 2 | { halter_run echo.js a - c > out; expect_status 0; }
    expect output "$(tr '\n' ' ' < out)" "1 2 3 "
}

case_undefined_drops_the_record() {
    plugin odd << 'JS'
globalThis.transform = n => n % 2 ? n : undefined;
JS
    seq 1 9 > in
    halter_run --stats=stats odd.js in > out
    expect_status 0
    expect output "$(tr '\n' ' ' < out)" "1 3 5 7 9 "
    grep -q '"read":9,"written":5,"dropped":4,"failed":0,"unfinished":0' stats
}

case_promises_are_awaited() {
    plugin later << 'JS'
globalThis.transform = async n => { await null; return n + 1; };
JS
    seq 1 3 > in
    halter_run later.js in > out
    expect_status 0
    expect output "$(tr '\n' ' ' < out)" "2 3 4 "
}

case_text_is_exact_both_ways() {
    plugin same << 'JS'
globalThis.transform = line => line;
JS
    printf 'plain\n\n "quoted" \\ and\ttab\ncaf\xc3\xa9 \xf0\x9f\x98\x80 \xe2\x80\xa8\r\n\x01\x1b[31m\x7f\na\x00b\nlast\n' > in
    halter_run --text same.js in > out
    expect_status 0
    cmp in out
}

case_text_may_become_json() {
    plugin length << 'JS'
globalThis.transform = line => ({ length: line.length });
JS
    printf 'abc\n\n' > in
    halter_run --text length.js in > out
    expect output "$(cat out)" '{"length":3}
{"length":0}'
}

case_a_document_is_one_record() {
    plugin count << 'JS'
globalThis.transform = items => items.length;
JS
    printf '[\n 1,\n 2\n]\n' > a
    printf '[1,2,3]' > b
    halter_run --document count.js a b > out
    expect_status 0
    expect output "$(tr '\n' ' ' < out)" "2 3 "
}

case_a_large_document() {
    plugin sum << 'JS'
globalThis.transform = items => items.reduce((a, b) => a + b, 0);
JS
    { echo '['; seq -s, 1 400000; echo ']'; } > in
    halter_run -D sum.js in > out
    expect_status 0
    expect sum "$(cat out)" 80000200000
}

case_records_of_every_size() {
    echo_plugin
    awk 'BEGIN { s = "x"; for (n = 1; n <= 2097152; n *= 2) { printf "\"%s\"\n", s; s = s s } }' > in
    halter_run --jobs 2 echo.js in > out
    expect_status 0
    cmp in out
}

case_nothing_in_nothing_out() {
    echo_plugin
    : > in
    halter_run echo.js in > out
    expect_status 0
    [ ! -s out ]
}

case_output_file() {
    echo_plugin
    seq 1 10 > in
    halter_run --output out echo.js in > stdout
    expect_status 0
    cmp in out
    [ ! -s stdout ]
}

case_what_the_plugin_says_is_safe_and_named() {
    plugin talks << 'JS'
globalThis.transform = n => { console.log('hello \x1b[31m red'); return n; };
JS
    echo 1 > in
    halter_run talks.js in > out
    expect_status 0
    expect_said 'talks.js: info: hello \\x1b\[31m red'
    halter_run --quiet talks.js in > out
    [ ! -s err ]
}

case_ctx_tells_the_deadline_and_counts() {
    plugin ctx << 'JS'
globalThis.transform = (n, ctx) => [ctx.deadline, typeof ctx.now, ctx.tick > 0, typeof ctx.locale];
JS
    echo 1 > in
    halter_run --deadline 321 ctx.js in > out
    expect_status 0
    expect ctx "$(cat out)" '[321,"number",true,"string"]'
}

run_cases
