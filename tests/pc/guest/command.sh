#!/bin/bash
# command.sh HALTER GUEST: `halter boot -- COMMAND`: our standard streams are the command's, whatever
# bytes they carry, its status is ours, and the snapshot that makes it quick is kept and not trusted.
halter=$(realpath "$1")
HALTER_GUEST=$(realpath "$2")
work=$(mktemp -d)
export HALTER_GUEST XDG_CACHE_HOME=$work/cache
mkdir "$XDG_CACHE_HOME"
trap 'rm -rf "$work"' EXIT
count=0

check() {
    name=$1
    shift
    count=$((count + 1))
    if "$@" >"$work/log" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        tail -n 30 "$work/log" | tr -d '\r\033' | sed 's/^/# /'
    fi
}

run() {
    "$halter" boot --timeout 200 -- "$@" 2>"$work/err"
    status=$?
    cat "$work/err" >&2
    return $status
}

status_is() { # STATUS COMMAND…
    wanted=$1
    shift
    "$@" </dev/null
    got=$?
    [ "$got" = "$wanted" ] || {
        echo "status $got instead of $wanted"
        return 1
    }
}

kept() {
    find "$XDG_CACHE_HOME" -name 'guest-*.snapshot' | head -n 1
}

counts_what_it_is_given() {
    [ "$(echo hi | run wc -c)" = 3 ]
}

keeps_a_snapshot() {
    [ -s "$(kept)" ] && [ "$(find "$XDG_CACHE_HOME" -type f | wc -l)" = 1 ] &&
        [ "$(stat -c %a "$(kept)")" = 600 ]
}

# That the kept one is used: it is a machine that has been up for longer than this test.
goes_on_from_it() {
    before=$(stat -c '%i %s' "$(kept)")
    [ "$(echo one two | run wc -w)" = 2 ] && [ "$(stat -c '%i %s' "$(kept)")" = "$before" ]
}

status_of_command() { status_is 7 run sh -c 'exit 7'; }
status_of_signal() { status_is 143 run sh -c 'kill -TERM $$'; }
not_found() { status_is 127 run nosuchthing && grep -q 'nosuchthing: not found' "$work/err"; }
not_executable() { status_is 126 run /bin && grep -q 'may not be executed' "$work/err"; }

words_arrive_whole() {
    [ "$(run printf '%s|' 'a b' '' $'two\nlines' "q'uo\"te" '$HOME' </dev/null)" = \
        $'a b||two\nlines|q\'uo"te|$HOME|' ]
}

streams_are_apart() {
    [ "$(run sh -c 'echo out; echo err >&2' </dev/null)" = out ] && [ "$(cat "$work/err")" = err ]
}

a_megabyte_passes() {
    head -c 1000000 /dev/urandom >"$work/in"
    run cat <"$work/in" >"$work/out" && cmp "$work/in" "$work/out"
}

# More input than all the buffers on the way hold, and nobody reads it.
input_that_is_not_read() {
    [ "$(head -c 300000 /dev/zero | run echo done)" = done ]
}

a_command_that_sleeps_on_its_input() {
    [ "$(head -c 200000 /dev/zero | run sh -c 'sleep 1; wc -c')" = 200000 ]
}

a_reader_that_leaves() {
    run yes </dev/null | head -n 1 >"$work/out"
    [ "${PIPESTATUS[0]}" = 141 ] && [ "$(cat "$work/out")" = y ]
}

what_it_leaves_behind_is_not_waited_for() {
    [ "$(run sh -c 'sleep 1000 & echo left' </dev/null)" = left ]
}

the_time_runs_out() {
    status_is 124 "$halter" boot --timeout 1 -- sleep 1000
}

interrupted() {
    "$halter" boot --timeout 200 -- sh -c 'trap "echo caught; exit 9" INT; echo ready
        while :; do sleep 0.1; done' </dev/null >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 600); do
        grep -q ready "$work/out" && break
        sleep 0.1
    done
    kill -INT $pid
    wait $pid
    status=$?
    cat "$work/out" "$work/err"
    [ $status = 9 ] && grep -q caught "$work/out"
}

knows_the_time_and_differs() {
    now=$(date +%s)
    first=$(run sh -c 'date +%s; head -c 16 /dev/urandom | xxd -p' </dev/null)
    second=$(run sh -c 'head -c 16 /dev/urandom | xxd -p' </dev/null)
    guest_now=${first%%$'\n'*}
    echo "now $now, guest $guest_now, random $first and $second"
    [ $((guest_now - now)) -ge 0 ] && [ $((guest_now - now)) -le 200 ] && [ -n "$second" ] &&
        [ "${first##*$'\n'}" != "$second" ]
}

# Damaged in its middle, or of another build: it is made anew, and the command never knows.
a_damaged_snapshot_is_replaced() {
    printf 'XXXXXXXX' | dd of="$(kept)" bs=1 seek=3000 conv=notrunc status=none
    cp "$(kept)" "$work/damaged"
    [ "$(echo hi | run wc -c)" = 3 ] && ! cmp -s "$(kept)" "$work/damaged" || return 1
    head -c 100000 "$work/damaged" >"$(kept)"
    [ "$(echo hi | run wc -c)" = 3 ] && [ "$(stat -c %s "$(kept)")" -gt 100000 ]
}

a_snapshot_of_somebody_elses_is_not_used() {
    chmod 666 "$(kept)"
    echo hi | run wc -c && grep -q 'is not used' "$work/err"
    used=$?
    chmod 600 "$(kept)"
    return $used
}

no_cache_is_no_fault() {
    [ "$(echo hi | env -u HOME XDG_CACHE_HOME=/nonexistent/x "$halter" boot --timeout 200 -- wc -c)" = 3 ]
}

the_guest_is_missing() {
    status_is 125 env HALTER_GUEST=/nonexistent "$halter" boot -- true 2>"$work/err" &&
        grep -q HALTER_GUEST "$work/err"
}

makes_no_sense() {
    status_is 2 "$halter" boot -- && status_is 2 "$halter" boot --until x -- true
}

check 'input, output and their end' counts_what_it_is_given
check 'a snapshot is kept' keeps_a_snapshot
check 'and the next command goes on from it' goes_on_from_it
check "the command's status is ours" status_of_command
check 'so is that of a signal' status_of_signal
check 'a command that is not there' not_found
check 'one that may not be executed' not_executable
check 'words arrive as they are' words_arrive_whole
check 'output and errors are apart' streams_are_apart
check 'a megabyte of any bytes passes both ways' a_megabyte_passes
check 'input that the command does not read' input_that_is_not_read
check 'input that it reads late' a_command_that_sleeps_on_its_input
check 'a reader that leaves ends it' a_reader_that_leaves
check 'what a command leaves running is not waited for' what_it_leaves_behind_is_not_waited_for
check 'a timeout has its status' the_time_runs_out
check 'an interrupt is the command'\''s' interrupted
check 'it knows the time, and no two draw the same numbers' knows_the_time_and_differs
check 'a snapshot that does not fit is replaced' a_damaged_snapshot_is_replaced
check 'one that others may write is not used' a_snapshot_of_somebody_elses_is_not_used
check 'no cache is no fault' no_cache_is_no_fault
check 'a guest that is missing is said so' the_guest_is_missing
check 'what makes no sense is refused' makes_no_sense
echo "1..$count"
