#!/bin/bash
# halter top over the status socket of a run, and halter bench for those who are in a hurry.
. "$(dirname "$0")/lib.sh"

# Starts a run of three records with a status socket "s"; 9 is the descriptor to its input.
start_a_run() {
    echo 'transform = (raw) => raw' > p.js
    mkfifo in
    "$HALTER" run --live never --status "$PWD/s" p.js < in > out 2> run-err & pid=$!
    exec 9> in
    printf '1\n2\n3\n' >&9
    wait_for grep -q 3 out
}
end_the_run() {
    exec 9>&-
    wait "$pid"
}

case_top_shows_a_run() {
    start_a_run
    "$HALTER" top --once "$PWD/s" > table
    grep -q 'p.js' table
    "$HALTER" top --json "$PWD/s" | grep -q '"calls":3,"succeeded":3'
    "$HALTER" top --prometheus "$PWD/s" | grep -q '^halter_guest_calls_total{.*} 3$'
    [ "$(stat -c %a s)" = 600 ]
    end_the_run
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

# Runs top on a terminal until COMMAND ends it, and wants the terminal as it was: what `stty -g` says,
# and the escapes that undo top's own.
top_on_terminal() { # COMMAND
    on_terminal "stty -g > before; sh -c 'echo \$\$ > p; exec \"$HALTER\" top -i 100ms s' < /dev/tty & job=\$!;
        timeout 60 sh -c 'until grep -aq "p\.js" typescript; do sleep 0.05; done'; $1; wait \$job; echo \$? > status;
        stty -g > after"
    cmp before after
    tr -d '\r\n' < typescript | grep -aqF "$(printf '\033[?7h\033[?25h\033[?1049l')" ||
        fail "the screen is not given back"
}

case_top_gives_the_terminal_back_when_it_is_ended() {
    start_a_run
    top_on_terminal 'kill -TERM $(cat p)'
    expect "exit status" "$(cat status)" 143
    end_the_run
}

case_top_says_why_it_ends_where_it_can_be_read() {
    start_a_run
    echo "$pid" > run-pid
    top_on_terminal 'kill -KILL $(cat run-pid)'
    expect "exit status" "$(cat status)" 6
    sed 's/.*1049l//' typescript | grep -aq 's: Connection refused' || fail "no message behind the table"
    exec 9>&-
}

case_top_wants_a_terminal_that_can_be_drawn_on() {
    status=0
    "$HALTER" top s > table 2> err || status=$?
    expect_status 2
    expect_said 'no terminal that can be drawn on; --once'
    on_terminal "TERM=dumb '$HALTER' top s; echo status \$?"
    grep -aq 'status 2' typescript
}

# A socket on which PYTHON, a function of a listening socket s, is what a client meets.
serve() {
    python3 -c "
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind('s')
s.listen(0)
open('up', 'w')
$1" 2> /dev/null &
    wait_for [ -e up ]
}

case_top_does_not_wait_for_a_program_that_is_stopped() {
    serve 'a = socket.socket(socket.AF_UNIX); a.connect("s")
time.sleep(60)'
    status=0
    timeout 60 "$HALTER" top --json s 2> err || status=$?
    expect_status 6
    expect_said 's: no answer within 5 seconds: is the program stopped'
}

case_top_does_not_take_an_answer_without_end() {
    serve 'c = s.accept()[0]
while True: c.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 65536)'
    status=0
    timeout 60 "$HALTER" top --json s > out 2> err || status=$?
    expect_status 6
    expect_said 's: an answer without end'
}

case_top_meets_another_kind_of_server() {
    serve 'c = s.accept()[0]; c.sendall(b"220 mail ready\r\n\r\n"); c.recv(99)'
    status=0
    timeout 60 "$HALTER" top --once s > out 2> err || status=$?
    expect_status 6
    expect_said 's: the answer is not that of a status socket'
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
