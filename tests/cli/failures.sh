#!/bin/bash
# Records that fail: every way to, every mode of going on, messages, dead letters, exit statuses.
. "$(dirname "$0")/lib.sh"

throws_on_three() {
    plugin three << 'JS'
globalThis.transform = n => { if (n === 3) throw new RangeError('three is too many'); return n; };
JS
    seq 1 5 > in
}

case_stop_writes_what_came_before() {
    throws_on_three
    halter_run three.js in > out
    expect_status 4
    expect output "$(tr '\n' ' ' < out)" "1 2 "
    expect_said '^halter run: in:3: .*RangeError: three is too many \(.*three\.js:1:[0-9]+\)$'
    expect_said 'ended before in:4'
}

case_stop_with_several_guests_is_the_same() {
    throws_on_three
    seq 1 1000 > in
    halter_run --jobs 4 three.js in > out
    expect_status 4
    expect output "$(tr '\n' ' ' < out)" "1 2 "
}

case_skip_leaves_it_out() {
    throws_on_three
    halter_run --on-error skip three.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 2 4 5 "
    expect_said 'in:3: '
}

case_null_keeps_its_place() {
    throws_on_three
    halter_run --on-error null --stats=stats three.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 2 null 4 5 "
    grep -q '"written":5,"dropped":0,"failed":1' stats
}

case_dead_letters_say_it_all() {
    throws_on_three
    halter_run -e skip --dead-letter dead three.js in > out
    expect letters "$(wc -l < dead)" 1
    grep -q '^{"file":"in","line":3,"plugin":"three.js","reason":"ESCRIPT","message":".*","error":{"name":"RangeError","message":"three is too many","stack":".*","line":1,"column":[0-9]*},"record":"3"}$' dead
}

case_malformed_lines_have_numbers() {
    echo_plugin
    printf '1\n\n{"a":\n2\nnot json\n"caf\xff"\n3\n' > in
    halter_run -e skip --dead-letter dead echo.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 2 3 "
    expect lines "$(sed -n 's/.*"line":\([0-9]*\),.*"reason":"\([A-Z]*\)".*/\1 \2/p' dead | tr '\n' ';')" \
        "3 EJSON;5 EJSON;6 EJSON;"
    expect_said '^halter run: in:3: the input is not JSON'
}

case_malformed_lines_in_the_second_file() {
    echo_plugin
    printf '1\n' > a
    printf '2\nx\n' > b
    halter_run echo.js a b > out
    expect_status 4
    expect_said 'b:2: the input is not JSON'
}

case_a_nul_byte_is_malformed_and_kept() {
    echo_plugin
    printf '1\n"a\0b"\n2\n' > in
    halter_run -e skip --dead-letter dead echo.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 2 "
    grep -q '"record":"\\"a\\u0000b\\""' dead
}

case_records_above_the_cap() {
    echo_plugin
    { echo 1; head -c 100000 /dev/zero | tr '\0' 7; echo; echo 2; } > in
    halter_run --max-record 64K -e null --dead-letter dead echo.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 null 2 "
    expect_said 'in:2: the record has 100000 bytes, above the cap of 65536'
    grep -q '"reason":"ETOOBIG".*"record_bytes":100000,"record":"7777' dead
    [ "$(wc -c < dead)" -lt 1000 ]
}

case_results_above_the_cap() {
    plugin grows << 'JS'
globalThis.transform = n => n === 2 ? 'x'.repeat(200000) : n;
JS
    seq 1 3 > in
    halter_run --max-record 64K -e skip --dead-letter dead grows.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 3 "
    grep -q '"line":2,.*"reason":"ETOOBIG"' dead
}

case_results_without_json() {
    plugin odd << 'JS'
const loop = {}; loop.self = loop;
globalThis.transform = n => n === 1 ? { a: [0, 10n] } : n === 2 ? loop : n;
JS
    seq 1 3 > in
    halter_run -e skip --dead-letter dead odd.js in > out
    expect_status 1
    expect output "$(cat out)" 3
    grep -q '"line":1,.*"reason":"ERESULT".*"path":"$.a\[1\]"' dead
    grep -q '"line":2,.*"reason":"ERESULT"' dead
}

case_a_hang_costs_one_record() {
    plugin hangs << 'JS'
globalThis.transform = n => { if (n === 30) for (;;); return n; };
JS
    seq 1 60 > in
    halter_run -d 200 -e skip --dead-letter dead --stats=stats hangs.js in > out
    expect_status 1
    seq 1 60 | grep -vx 30 | cmp - out
    grep -q '"line":30,.*"reason":"EDEADLINE".*"death":{"reason":"deadline"' dead
    grep -q '"failures":{"EDEADLINE":1}' stats
    grep -q '"deaths":{"deadline":1}' stats
    expect_said 'in:30: killed: the deadline passed \(200 ms\)'
}

case_a_hang_does_not_stop_the_other_guests() {
    plugin hangs << 'JS'
globalThis.transform = n => { if (n === 5) for (;;); return n; };
JS
    seq 1 400 > in
    halter_run -j 2 -d 300 -e null --stats=stats hangs.js in > out
    expect_status 1
    seq 1 400 | sed 's/^5$/null/' | cmp - out
    grep -q '"deaths":{"deadline":1}' stats
}

case_memory_costs_one_record() {
    plugin hog << 'JS'
globalThis.transform = n => { const kept = []; while (n === 7) kept.push(new Uint8Array(1 << 20).fill(1)); return n; };
JS
    seq 1 12 > in
    halter_run -d 20s --memory 200M -e skip --dead-letter dead hog.js in > out
    expect_status 1
    seq 1 12 | grep -vx 7 | cmp - out
    grep -q '"line":7,.*"reason":"EMEMORY"' dead
}

# killed_by SIGNAL NUMBER: a helper that gets the signal while it works, twice if once does nothing
killed_by() {
    plugin slow << 'JS'
globalThis.transform = n => { if (n === 3) { console.log('here'); for (;;); } return n; };
JS
    seq 1 5 > in
    "$HALTER" run -d 20s -e skip --dead-letter dead slow.js in > out 2> err &
    local pid=$! helper
    wait_for grep -q here err
    sleep 0.3
    helper=$(busiest_helper $pid)
    kill "-$1" "$helper"
    sleep 0.2
    kill "-$1" "$helper" 2> /dev/null || true
    status=0
    wait $pid || status=$?
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 2 4 5 "
    grep -q '"line":3,.*"reason":"ESIGNAL".*"signal":'"$2," dead || fail "$(cat dead)"
}

case_a_crash_costs_one_record() {
    killed_by ILL 4
}

# The engine catches these, and for a fault that is not its own gives the signal its default back
# and lets the fault come again: the second time it is what it is.
case_a_segmentation_fault_is_reported_as_one() {
    killed_by SEGV 11
}

case_an_outside_kill_costs_one_record() {
    killed_by KILL 9
}

case_quarantine_ends_the_run() {
    plugin hopeless << 'JS'
globalThis.transform = n => { if (n > 3) for (;;); return n; };
JS
    seq 1 100 > in
    halter_run -d 50 -e skip --quarantine 3 hopeless.js in > out
    expect_status 5
    expect output "$(tr '\n' ' ' < out)" "1 2 3 "
    expect_said 'in quarantine after 3 deaths in a row'
    expect_said 'ended before in:7'
}

case_without_quarantine_each_record_is_tried() {
    plugin hopeless << 'JS'
globalThis.transform = n => { if (n > 1) for (;;); return n; };
JS
    seq 1 5 > in
    halter_run -d 50 -e null --quarantine 0 hopeless.js in > out
    expect_status 1
    expect output "$(tr '\n' ' ' < out)" "1 null null null null "
}

case_a_plugin_that_does_not_load() {
    printf 'globalThis.transform = n => n;\nlet x = ;\n' > bad.js
    echo 1 > in
    halter_run bad.js in > out
    expect_status 3
    [ ! -s out ]
    expect_said 'the plugin does not load: bad.js:2:[0-9]+: SyntaxError: '
    echo 'globalThis.transform = 1' > bad.js
    halter_run -j 3 bad.js in > out
    expect_status 3
    expect messages "$(grep -c 'does not load' err)" 1
}

case_a_plugin_that_loops_at_its_top_level() {
    echo 'for (;;);' > loop.js
    echo 1 > in
    halter_run --load-deadline 100 --quarantine 2 loop.js in > out
    [ "$status" -eq 3 ] || [ "$status" -eq 5 ]
    [ ! -s out ]
    expect_said 'deadline'
}

case_many_failures_do_not_flood() {
    plugin throws << 'JS'
globalThis.transform = n => { throw new Error('no'); };
JS
    seq 1 2000 > in
    halter_run -e skip --dead-letter dead throws.js in > out
    expect_status 1
    expect letters "$(wc -l < dead)" 2000
    [ "$(wc -l < err)" -lt 500 ]
    expect_said 'more messages were withheld'
}

case_exit_statuses_of_a_wrong_command_line() {
    echo_plugin
    echo 1 > in
    halter_run
    expect_status 2
    halter_run --frobnicate echo.js in
    expect_status 2
    halter_run --jobs 0 echo.js in
    expect_status 2
    halter_run --on-error skp echo.js in
    expect_status 2
    expect_said 'did you mean skip'
    halter_run --document --text echo.js in
    expect_status 2
    halter_run missing.js in
    expect_status 3
    expect_said 'missing.js: No such file'
    halter_run echo.js missing
    expect_status 6
    halter_run echo.js .
    expect_status 6
    halter_run -o /nonexistent/out echo.js in
    expect_status 6
    HALTER_LAUNCHER=/nonexistent halter_run echo.js in
    expect_status 7
}

case_a_closed_output_is_an_error() {
    echo_plugin
    seq 1 10 > in
    status=0
    "$HALTER" run echo.js in >&- 2> err || status=$?
    expect_status 6
    expect_said '<stdout>: Bad file descriptor'
    status=0
    "$HALTER" run echo.js <&- > out 2> err || status=$?
    expect_status 6
    expect_said '<stdin>: Bad file descriptor'
}

case_a_full_disk_is_reported() {
    [ -c /dev/full ]
    echo_plugin
    seq 1 10 > in
    halter_run echo.js in > /dev/full
    expect_status 6
    expect_said 'No space left'
}

run_cases
