#!/bin/bash
# halter top over the status socket of a run, and halter bench for those who are in a hurry.
. "$(dirname "$0")/lib.sh"

case_top_shows_a_run() {
    echo 'transform = (raw) => raw' > p.js
    mkfifo in
    "$HALTER" run --live never --status "$PWD/s" p.js < in > out 2> err & pid=$!
    exec 9> in
    printf '1\n2\n3\n' >&9
    for _ in $(seq 100); do [ "$(wc -l < out)" = 3 ] && break; sleep 0.05; done
    "$HALTER" top --once "$PWD/s" > table
    grep -q 'p.js' table
    "$HALTER" top --json "$PWD/s" | grep -q '"calls":3,"succeeded":3'
    "$HALTER" top --prometheus "$PWD/s" | grep -q '^halter_guest_calls_total{.*} 3$'
    [ "$(stat -c %a s)" = 600 ]
    exec 9>&-
    wait "$pid"
    [ ! -e s ] || fail "the socket is left behind"
}

case_host_calls_are_shown_by_kind() {
    mkdir p
    echo '{"name": "p", "version": "1", "entry": "p.js", "permissions":
        {"state": {"level": "readwrite", "reason": "counts"}}}' > p/plugin.json
    echo 'transform = async (raw) => { await host.state.set("k", raw); return host.state.get("k") }' > p/p.js
    mkfifo in
    "$HALTER" run --live never --grant all --state "$PWD/db" --status "$PWD/s" --summary \
        --stats="$PWD/stats" p < in > out 2> err & pid=$!
    exec 9> in
    printf '1\n2\n3\n' >&9
    for _ in $(seq 600); do [ "$(wc -l < out)" = 3 ] && break; sleep 0.05; done
    "$HALTER" top --once "$PWD/s" | grep -qx ' *host calls: state.get 3, state.set 3'
    exec 9>&-
    wait "$pid"
    grep -q '"requests_by_kind":{"state.get":3,"state.set":3}' stats
    grep -q 'host calls *3 × state.get · 3 × state.set' err
}

case_top_says_that_nobody_is_there() {
    "$HALTER" top --once "$PWD/none" 2> err && fail "it found something" || status=$?
    [ "$status" = 6 ]
    grep -q 'No such file' err
}

case_bench_measures_and_its_controls_hold() {
    # In a hurry on a busy machine only those that no load can spoil are asked for.
    "$HALTER" bench --scale 5 --json b.json --html b.html E7 E3 > out 2> err || { cat out err; exit 1; }
    grep -q 'holds    control   the host was asked once a call' out
    grep -q 'open-path: ok without a sandbox, EACCES under Landlock' out
    python3 -c 'import json; r = json.load(open("b.json")); assert len(r["experiments"]) == 2'
    grep -q '<svg' b.html
    ! grep -qE '(src|href)=' b.html || fail "the page needs something from elsewhere"
}

case_bench_names_are_checked() {
    "$HALTER" bench E9 2> err && fail "E9 is none" || status=$?
    [ "$status" = 2 ]
}

run_cases
