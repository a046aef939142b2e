#!/bin/bash
# Streams that are long, slow, cut off or interrupted, and plugins that change under way.
. "$(dirname "$0")/lib.sh"

# The resident memory of a process, in KiB.
resident() {
    awk '/^VmRSS/ { print $2 }' "/proc/$1/status"
}
peak() {
    awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}
# CPU time of a process so far, in clock ticks.
ticks() {
    awk '{ print $14 + $15 }' "/proc/$1/stat"
}

case_a_stream_answers_before_it_ends() {
    echo_plugin
    mkfifo in out
    "$HALTER" run echo.js < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    for i in 1 2 3; do
        echo $i >&3
        read -r -t 10 line <&4
        expect answer "$line" $i
    done
    exec 3>&-
    wait $pid
}

case_a_slow_reader_slows_the_writer() {
    echo_plugin
    mkfifo out
    # 300 MB if nobody stopped it
    { yes "{\"text\":\"$(printf 'x%.0s' $(seq 1000))\"}" | head -n 300000; echo ended > writer; } |
        exec_noting_pid echo.js > out &
    local pid
    exec 4< out
    head -c 1000 <&4 > /dev/null
    pid=$(cat pid)
    local before=x after=y
    wait_for stalled "$pid"
    [ ! -e writer ] || fail "the writer was not stopped"
    [ "$(peak "$pid")" -lt 80000 ] || fail "memory: $(peak "$pid") KiB"
    before=$(ticks "$pid")
    sleep 1
    after=$(ticks "$pid")
    [ $((after - before)) -le 2 ] || fail "it spins: $((after - before)) ticks in a second"
    cat <&4 > rest
    exec 4<&-
    expect lines "$(wc -l < rest)" 300000
    [ -e writer ]
}

# Whether a process has stopped using the processor.
stalled() {
    local before after
    before=$(ticks "$1")
    sleep 0.3
    after=$(ticks "$1")
    [ "$before" = "$after" ]
}

case_memory_stays_flat() {
    plugin small << 'JS'
globalThis.transform = r => r.n;
JS
    local few many
    few=$(peak_of 20000)
    many=$(peak_of 300000)
    [ $((many - few)) -lt 6000000 ] || fail "the host's peak: $few bytes, then $many"
}
# The host's peak memory over so many records. A sanitizer keeps what was freed: not much of it.
peak_of() {
    export ASAN_OPTIONS="${ASAN_OPTIONS:-}:quarantine_size_mb=1"
    yes '{"n":1,"text":"some text that makes the record a little longer than nothing"}' |
        head -n "$1" | { halter_run --jobs 2 --stats=stats small.js > out; expect_status 0; } >&2
    expect lines "$(wc -l < out)" "$1" >&2
    sed 's/.*"host":{[^}]*"peak_bytes":\([0-9]*\).*/\1/' stats
}

case_the_reader_leaves() {
    echo_plugin
    set +e
    yes 1 | "$HALTER" run echo.js 2> err | head -n 3 > out
    local statuses=("${PIPESTATUS[@]}")
    set -e
    expect status "${statuses[1]}" 141
    expect output "$(tr '\n' ' ' < out)" "1 1 1 "
    [ ! -s err ]
}

case_the_reader_leaves_an_idle_stream() {
    echo_plugin
    mkfifo in out
    "$HALTER" run echo.js < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    echo 1 >&3
    read -r -t 10 line <&4
    exec 4<&-
    status=0
    wait $pid || status=$?
    expect_status 141
}

case_interrupt_finishes_what_is_in_flight() {
    plugin slow << 'JS'
globalThis.transform = n => { const end = Date.now() + 50; while (Date.now() < end); return n; };
JS
    seq 1 100000 > in
    "$HALTER" run --stats=stats slow.js in > out 2> err &
    local pid=$!
    wait_for test -s out
    kill -INT $pid
    status=0
    wait $pid || status=$?
    expect_status 130
    local lines
    lines=$(wc -l < out)
    seq 1 "$lines" | cmp - out
    expect_said "ended before in:$((lines + 1))\$"
    grep -q '"ended":"signal"' stats
}

case_a_second_interrupt_drops_it() {
    plugin hangs << 'JS'
globalThis.transform = n => { if (n === 2) { console.log('here'); for (;;); } return n; };
JS
    seq 1 5 > in
    "$HALTER" run -d 60s hangs.js in > out 2> err &
    local pid=$!
    wait_for grep -q here err
    kill -TERM $pid
    sleep 0.2
    kill -0 $pid
    kill -TERM $pid
    status=0
    wait $pid || status=$?
    expect_status 143
    expect output "$(cat out)" 1
    expect_said 'ended before in:2$'
}

case_an_interrupt_from_the_keyboard_reaches_us_alone() {
    plugin slow << 'JS'
globalThis.transform = n => { const end = Date.now() + 50; while (Date.now() < end); return n; };
JS
    seq 1 100000 > in
    setsid "$HALTER" run slow.js in > out 2> err & # a process group of its own, as a shell makes
    local pid=$!
    wait_for test -s out
    kill -INT -- -$pid
    status=0
    wait $pid || status=$?
    expect_status 130
    expect_said "ended before in:$(($(wc -l < out) + 1))\$"
    ! grep -q died err
}

case_an_interrupt_with_a_reader_that_is_stuck() {
    echo_plugin
    mkfifo out
    yes '"some text to fill the pipe with"' | exec_noting_pid echo.js > out &
    exec 4< out
    head -c 1 <&4 > /dev/null
    local pid
    pid=$(cat pid)
    wait_for stalled "$pid"
    kill -TERM "$pid"
    wait_for gone_itself "$pid" # after two seconds of grace
    exec 4<&-
    expect_said 'ended before <stdin>:'
}
gone_itself() {
    ! kill -0 "$1"
}

case_nothing_is_left_behind() {
    plugin hangs << 'JS'
globalThis.transform = n => { console.log('here'); for (;;); };
JS
    echo 1 > in
    "$HALTER" run -d 60s -j 3 hangs.js in > out 2> err &
    local pid=$! launcher
    wait_for grep -q here err
    launcher=$(pgrep -P $pid)
    kill -KILL $pid
    wait $pid || true
    wait_for gone "$launcher"
}
gone() {
    ! kill -0 "$1" && ! pgrep -P "$1" > /dev/null
}

case_watch_takes_a_good_version() {
    echo 'globalThis.transform = n => ["old", n];' > p.js
    mkfifo in out
    "$HALTER" run --watch -j 2 p.js < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    echo 1 >&3
    read -r -t 10 line <&4
    expect before "$line" '["old",1]'
    echo 'globalThis.transform = n => ["new", n];' > p.new
    mv p.new p.js
    wait_for grep -q 'p.js: reloaded' err
    wait_for new_version
    exec 3>&-
    cat <&4 > /dev/null
    wait $pid
}
new_version() {
    local line
    echo 2 >&3
    read -r -t 10 line <&4
    [ "$line" = '["new",2]' ]
}

case_watch_keeps_the_old_when_the_new_is_bad() {
    echo 'globalThis.transform = n => n;' > p.js
    mkfifo in out
    "$HALTER" run --watch p.js < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    echo 1 >&3
    read -r -t 10 line <&4
    echo 'globalThis.transform = (' > p.js
    wait_for grep -q 'new version does not load, the old one stays: p.js:' err
    echo 2 >&3
    read -r -t 10 line <&4
    expect "the old one" "$line" 2
    echo 'globalThis.transform = n => -n;' > p.js
    wait_for grep -q reloaded err
    echo 3 >&3
    read -r -t 10 line <&4
    expect "the repaired one" "$line" -3
    exec 3>&-
    wait $pid
}

case_watch_waits_for_a_version_that_loads() {
    echo 'globalThis.transform = (' > p.js
    seq 1 100 > in
    "$HALTER" run --watch p.js in > out 2> err &
    local pid=$!
    wait_for grep -q 'waiting for a new version' err
    echo 'globalThis.transform = n => n;' > p.js
    wait $pid
    cmp in out
}

manifest_with() { # PERMISSIONS LIMITS
    printf '{"name": "p", "version": "1", "entry": "p.js", "permissions": {%s}, "limits": {%s}}' "$1" "$2"
}
reads_state='"state": {"level": "read", "reason": "looks"}'

case_watch_follows_the_manifest() {
    mkdir p
    echo 'globalThis.transform = n => [typeof host.state, "x".repeat(n).length];' > p/p.js
    manifest_with '' '"output_bytes": 25' > p/plugin.json
    mkfifo in out
    "$HALTER" run --watch -j 2 --grant all --state "$PWD/db" --on-error null p < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    echo 1 >&3
    read -r -t 10 line <&4
    expect before "$line" '["undefined",1]'
    # A permission more, and a limit that the next record meets.
    manifest_with "$reads_state" '"output_bytes": 12' > p/new
    mv p/new p/plugin.json
    wait_for grep -q 'reloaded' err
    wait_for next_is 1 '["object",1]'
    wait_for next_is 100 null
    # What is not right changes nothing, and is said with its place.
    manifest_with "$reads_state" '"output_byts": 12' > p/plugin.json
    wait_for grep -q 'p/plugin.json:1:[0-9]*: ' err
    expect "the old one" "$(next 1)" '["object",1]'
    printf '{"name": "q", "version": "1", "entry": "p.js"}' > p/plugin.json
    wait_for grep -q 'another name' err
    printf '{"name": "p", "version": "1", "entry": "other.js"}' > p/plugin.json
    wait_for grep -q 'the entry is another file' err
    expect "still the old one" "$(next 1)" '["object",1]'
    # Both files at once, and the permission is gone.
    echo 'globalThis.transform = n => ["new", typeof host.state];' > p/p.js
    manifest_with '' '"jit": false' > p/plugin.json
    wait_for next_is 1 '["new","undefined"]'
    exec 3>&-
    cat <&4 > /dev/null
    status=0
    wait $pid || status=$?
    expect_status 1 # for the record that was too long
}
next() {
    local line
    echo "$1" >&3
    read -r -t 10 line <&4
    echo "$line"
}
next_is() {
    [ "$(next "$1")" = "$2" ]
}

case_watch_follows_a_symbolic_link() {
    mkdir one two
    echo 'globalThis.transform = n => [1, n];' > one/p.js
    echo 'globalThis.transform = n => [2, n];' > two/p.js
    ln -s one/p.js p.js
    mkfifo in out
    "$HALTER" run --watch p.js < in > out 2> err &
    local pid=$! line
    exec 3> in 4< out
    echo 1 >&3
    read -r -t 10 line <&4
    expect before "$line" '[1,1]'
    ln -s two/p.js next && mv -T next p.js
    wait_for grep -q reloaded err
    echo 2 >&3
    read -r -t 10 line <&4
    expect "the link's new goal" "$line" '[2,2]'
    exec 3>&-
    wait $pid
}

case_no_record_is_lost_over_reloads() {
    echo 'globalThis.transform = n => n;' > p.js
    seq 1 20000 > in
    mkfifo feed
    { while read -r n; do echo "$n"; done < in > feed; } &
    local feeder=$!
    "$HALTER" run --watch -j 2 --stats=stats p.js < feed > out 2> err &
    local pid=$!
    for i in $(seq 1 10); do
        echo "globalThis.transform = n => n; // $i" > p.next
        mv p.next p.js
        sleep 0.1
    done
    wait $feeder
    status=0
    wait $pid || status=$?
    expect_status 0
    cmp in out
}

# Runs a command line with standard error, and with $2 also standard output, on a terminal.
on_terminal() {
    script -qefc "$1" typescript < /dev/null > /dev/null
}

case_a_terminal_gets_no_escapes_from_a_plugin() {
    plugin bad << 'JS'
globalThis.transform = n => ({ c1: '\u009b31m', bidi: '\u202e', text: 'ok' });
JS
    echo 1 > in
    on_terminal "'$HALTER' run bad.js in"
    grep -qF '{"c1":"\u{9b}31m","bidi":"\u{202e}","text":"ok"}' typescript
    halter_run bad.js in > out # and a file gets the JSON as it is
    expect output "$(cat out)" "$(printf '{"c1":"\u009b31m","bidi":"\u202e","text":"ok"}')"
}

case_the_live_line_comes_and_goes_on_a_terminal() {
    echo_plugin
    on_terminal "{ echo 1; sleep 0.7; echo 2; } | '$HALTER' run echo.js > out"
    expect output "$(tr '\n' ' ' < out)" "1 2 "
    grep -q ' records  .* kills' typescript
    # the last thing said about it is that it goes
    tr '\r' '\n' < typescript | grep -av '^Script' | grep -a . | tail -n 1 | grep -qF "$(printf '\033[K')"
}

case_live_line_and_summary() {
    echo_plugin
    { echo 1; sleep 1.2; echo 2; } | { halter_run --live always --summary echo.js > out; expect_status 0; }
    expect_said '[0-9]+ records +[0-9]+/s +p95 '
    expect_said '^ +records +2 read . 2 written'
}

run_cases
