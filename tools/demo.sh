#!/bin/bash
# Shows on a log of 4000 lines what halter is for, and checks each thing it says: demo.sh [BUILD]
#
# The log is made up (tools/make-log.sh), always the same; three lines are put into it that three
# plugins cannot stand. Files are left in demo-out/. Ends with 1 if any promise does not hold.
set -u
cd "$(dirname "$0")/.." || exit 1
halter=$(realpath "${1:-build}")/halter
out=$PWD/demo-out
lines=4000
bold='' dim='' red='' green='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi
broken=0
rows=()

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
note() { printf '%s\n' "$*"; }
quote() { cut -c1-110 | sed "s/^/  $dim|$plain /"; }
# promise TEXT COMMAND...: the text stands if the command succeeds
promise() {
    local text=$1
    shift
    if "$@" > /dev/null 2>&1; then
        printf '  %s✓%s %s\n' "$green" "$plain" "$text"
    else
        printf '  %s✗ %s%s\n' "$red" "$text" "$plain"
        broken=$((broken + 1))
    fi
}
# row PLUGIN STATS LETTERS: one line of the table at the end
row() {
    local read written failed reason seconds restarts
    number() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$2" | head -n 1; }
    read=$(number read "$2") failed=$(number failed "$2") seconds=$(number seconds "$2")
    written=$(sed -n 's/.*"records":{[^}]*"written":\([0-9]*\).*/\1/p' "$2")
    restarts=$(sed -n 's/.*"deaths":{[^}]*},"restarts":\([0-9]*\).*/\1/p' "$2")
    reason='-'
    [ ! -s "$3" ] || reason=$(sed -n 's/.*"line":\([0-9]*\),"plugin".*"message":"\([^"]*\)".*/line \1: \2/p' "$3" | head -n 1)
    rows+=("$(printf '%-10s %7s %9s %5s %8s %6.2f s  %s' "$1" "$read" "$written" "$failed" "$restarts" "$seconds" "$reason")")
}
# expected PLUGIN NAME BAD-LINE: what a run gives that never sees the bad line
expected() {
    sed "${3}d" access.log | "$halter" run --text -q "$1" > "$2.expected" 2> "$2.expected.err"
}

[ -x "$halter" ] || { echo "demo: $halter is not there: run make" >&2; exit 1; }
mkdir -p "$out" && rm -f "$out"/* && cd "$out" || exit 1
tools=../tools plugins=../examples/plugins demos=../examples/demo

hang=1234 greedy=2345 crash=3456
agent=$(printf 'a%.0s' $(seq 1 60))
$tools/make-log.sh $lines > clean.log
sed -e "${hang}s/\"[^\"]*\"\$/\"$agent!\"/" \
    -e "${greedy}s|\"GET [^ ]*|\"GET /export?range=all|; ${greedy}s|\"POST [^ ]*|\"POST /export?range=all|" \
    -e "${crash}s|\"GET [^ ]*|\"GET /crash|; ${crash}s|\"POST [^ ]*|\"POST /crash|" \
    clean.log > access.log

title "A log of $lines lines, and a plugin that takes the secrets out of it"
note "  halter run --text ../examples/plugins/redact.js access.log"
live=(--live never)
[ ! -t 2 ] || live=(--live auto)
"$halter" run --text "${live[@]}" --stats=redact.stats $plugins/redact.js \
    access.log > redact.out
status=$?
grep -nE 'token=|mail=' access.log | head -n 2 | cut -d: -f1 > leaks
while read -r line; do
    sed -n "${line}p" access.log | quote
    sed -n "${line}p" redact.out | quote
done < leaks
promise "every line came out, in order: $lines" test $status -eq 0 -a "$(wc -l < redact.out)" -eq $lines
promise "no secret is left" bash -c "! grep -E 'token=[0-9a-f]|[a-z]@example' redact.out"
row redact.js redact.stats /dev/null

title "A plugin that hangs on line $hang: a regular expression meets its worst case"
note "  halter run --text --deadline 300 --on-error skip --dead-letter hang.dead ../examples/demo/naive.js access.log"
"$halter" run --text --deadline 300 --on-error skip --dead-letter hang.dead \
    --stats=hang.stats $demos/naive.js access.log > hang.out 2> hang.err
status=$?
expected $demos/naive.js hang $hang
quote < hang.err
promise "killed at the deadline, for that reason and no other" grep -q "\"line\":$hang,.*\"reason\":\"EDEADLINE\"" hang.dead
promise "one record lost, and the stream went on: $((lines - 1)) delivered, in order" \
    cmp hang.out hang.expected
promise "the exit status says that a record failed" test $status -eq 1
row naive.js hang.stats hang.dead

title "A plugin that takes all the memory on line $greedy"
note "  halter run --text --memory 200M --on-error skip --dead-letter greedy.dead ../examples/demo/greedy.js access.log"
"$halter" run --text --memory 200M --deadline 20s --on-error skip --dead-letter greedy.dead \
    --stats=greedy.stats $demos/greedy.js access.log > greedy.out 2> greedy.err
status=$?
expected $demos/greedy.js greedy $greedy
quote < greedy.err
host=$(sed -n 's/.*"host":{[^}]*"peak_bytes":\([0-9]*\).*/\1/p' greedy.stats)
promise "killed for its memory" grep -q "\"line\":$greedy,.*\"reason\":\"EMEMORY\"" greedy.dead
promise "the host never had more than $((host >> 20)) MiB" test "$host" -lt $((64 << 20))
promise "one record lost, $((lines - 1)) delivered, in order" cmp greedy.out greedy.expected
row greedy.js greedy.stats greedy.dead

title "An engine that crashes on line $crash: SIGILL, from outside, as one of its own checks would end it"
note "  halter run --text --on-error skip --dead-letter crash.dead ../examples/demo/crash.js access.log"
"$halter" run --text --deadline 20s --on-error skip --dead-letter crash.dead \
    --stats=crash.stats $demos/crash.js access.log > crash.out 2> crash.err &
pid=$!
for _ in $(seq 1 200); do
    grep -q 'about to crash' crash.err && break
    sleep 0.05
done
launcher=$(pgrep -P $pid || echo none)
family="$pid $launcher $(pgrep -P "$launcher" 2> /dev/null | tr '\n' ' ')"
# The helper at work is the one that uses the processor; the other is the spare.
busiest() {
    local helper
    for helper in $(pgrep -P "$launcher" 2> /dev/null); do
        awk -v pid="$helper" '{ print $14 + $15, pid }' "/proc/$helper/stat"
    done | sort -rn | head -n 1 | cut -d' ' -f2
}
sleep 0.2
kill -ILL "$(busiest)" 2> /dev/null
wait $pid
status=$?
sed "${crash}d" access.log | tr '[:lower:]' '[:upper:]' > crash.expected
quote < crash.err
promise "reported as what it was" grep -q "\"line\":$crash,.*\"reason\":\"ESIGNAL\".*\"signal\":4" crash.dead
promise "one record lost, $((lines - 1)) delivered, in order" cmp crash.out crash.expected
row crash.js crash.stats crash.dead

title "What happened"
printf '  %s%-10s %7s %9s %5s %8s %8s  %s%s\n' "$dim" plugin records delivered lost restarts time why "$plain"
for line in "${rows[@]}"; do
    printf '  %s\n' "$line" | cut -c1-118
done
echo
left=0
for process in $family; do
    [ ! -e "/proc/$process" ] || left=$((left + 1))
done
promise "no process of the last run is left" test $left -eq 0
if [ $broken -gt 0 ]; then
    printf '\n%s%d promises were broken; what was written is in demo-out/.%s\n' "$red" $broken "$plain"
    exit 1
fi
printf '\nNo plugin could stop the stream. What was written is in demo-out/.\n'
