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
        "$HALTER" run echo.js > out 2> err &
    local pid
    exec 4< out
    head -c 1000 <&4 > /dev/null
    pid=$(pgrep -f "^$HALTER run echo.js" | head -n 1)
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
    yes '{"n":1,"text":"some text that makes the record a little longer than nothing"}' |
        head -n 300000 | { halter_run --jobs 2 --stats=stats small.js > out; expect_status 0; }
    expect lines "$(wc -l < out)" 300000
    local host
    host=$(sed 's/.*"host":{[^}]*"peak_bytes":\([0-9]*\).*/\1/' stats)
    [ "$host" -lt 60000000 ] || fail "the host's peak: $host bytes"
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

case_live_line_and_summary() {
    echo_plugin
    { echo 1; sleep 1.2; echo 2; } | { halter_run --live always --summary echo.js > out; expect_status 0; }
    expect_said '[0-9]+ records +[0-9]+/s +p95 '
    expect_said '^ +records +2 read . 2 written'
}

run_cases
