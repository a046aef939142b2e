#!/bin/bash
# What clumsy and hostile users do to the command: files that are none, outputs that take nothing,
# pipes with nobody at the other end, low limits, odd terminals.
. "$(dirname "$0")/lib.sh"

# verb STATUS ARGUMENT...: runs the command, which has to end with that status; what it says goes into
# "printed" (or $OUT) and "err".
verb() {
    local wanted=$1
    shift
    status=0
    timeout 120 "$HALTER" "$@" > "${OUT:-printed}" 2> err || status=$?
    expect_status "$wanted"
}

# elf FILE BYTES: a file that begins like an ELF.
elf() {
    printf '\177ELF' > "$1"
    truncate -s "$2" "$1"
}

case_what_cannot_be_printed_is_an_error() {
    echo '{"name":"p","version":"1","entry":"p.js","permissions":{}}' > plugin.json
    for words in --version --help 'help run' 'run --help' doctor 'check .'; do
        # shellcheck disable=SC2086
        OUT=/dev/full verb 6 $words
        expect_said '<stdout>: No space left on device'
    done
}

case_image_refuses_what_is_too_short_to_be_a_kernel() {
    for text in '' a ab abc '\177EL'; do
        # shellcheck disable=SC2059
        printf "$text" > short
        verb 6 image short out
        expect_said 'short: it is not a bzImage'
        [ ! -e out ]
    done
}

case_image_does_not_read_without_end() {
    verb 6 image /dev/zero out
    expect_said '/dev/zero: it is larger than 512 MiB, which no kernel is'
    [ ! -e out ]
}

case_image_puts_no_file_in_the_place_of_what_is_none() {
    elf kernel 100000
    mkfifo pipe
    timeout 60 cat pipe > through &
    verb 0 image kernel pipe
    wait || fail "nothing came through the pipe"
    cmp kernel through
    [ -p pipe ] || fail "the pipe has become a file"
}

case_image_writes_through_a_link() {
    elf kernel 100000
    mkdir there
    echo old > there/out
    ln -s there/out link
    verb 0 image kernel link
    [ -L link ] || fail "the link has become a file"
    cmp kernel there/out
    expect "what is left in the folder" "$(ls there)" out
}

# Each of these would destroy what is still to be read, or mix two outputs.
case_run_writes_no_file_that_it_reads() {
    echo_plugin
    seq 1 100 > in
    cp in kept
    ln in hard
    ln -s in soft
    for words in '-o in' '-o hard' '-o soft' '--dead-letter in' '--stats=in' '-o echo.js' \
        '-o both --dead-letter both' '--dead-letter both --stats=both'; do
        # shellcheck disable=SC2086
        verb 2 run echo.js in $words
        expect_said ': would be (read and written|written twice) '
        cmp in kept
        [ ! -e both ] || fail "halter run $words: a file was made"
    done
    status=0
    timeout 60 "$HALTER" run echo.js in >> in 2> err || status=$?
    expect_status 2
    timeout 60 "$HALTER" run echo.js < in >> in 2> err || status=$?
    expect_status 2
    cmp in kept
}

case_run_may_name_a_device_twice() {
    echo_plugin
    verb 0 run echo.js /dev/null -o /dev/null --dead-letter /dev/null --stats=/dev/null
}

# Runs the command until it waits, ends it with a signal, and wants it gone with that status.
waits_until() { # SIGNAL STATUS ARGUMENT...
    local signal=$1 wanted=$2 pid
    shift 2
    # Whoever runs the tests may have it ignored, as nohup does.
    env --default-signal="$signal" "$HALTER" "$@" > printed 2> err &
    pid=$!
    wait_for sleeps $pid
    kill -"$signal" $pid
    for _ in $(seq 1500); do
        kill -0 $pid 2> /dev/null || break
        sleep 0.02
    done
    kill -KILL $pid 2> /dev/null || true
    status=0
    wait $pid || status=$?
    expect_status "$wanted"
}
sleeps() {
    grep -q '^State:.*sleeping' "/proc/$1/status" && [ "$(cat "/proc/$1/comm")" = halter ]
}

case_a_pipe_without_another_end_can_be_left() {
    echo_plugin
    mkfifo pipe
    echo 1 > in
    waits_until TERM 143 run echo.js pipe
    waits_until TERM 143 run echo.js in -o pipe
    waits_until HUP 129 run echo.js in --dead-letter pipe
    waits_until TERM 143 run echo.js in --stats=pipe
}

case_a_pipe_is_read_whenever_its_writer_comes() {
    echo_plugin
    mkfifo pipe
    { sleep 0.3; seq 1 3 > pipe; } &
    verb 0 run echo.js pipe
    expect results "$(tr '\n' ' ' < printed)" '1 2 3 '
}

case_a_limit_on_the_size_of_files_is_an_error() {
    echo_plugin
    seq 1 200000 > in
    elf kernel 2000000
    ulimit -f 1024
    verb 6 run echo.js in -o out
    expect_said 'out: File too large'
    verb 6 image kernel kernel2
    expect_said 'kernel2: File too large'
    expect "what is left" "$(ls -d kernel*)" kernel
}

case_dead_letters_that_cannot_be_written_end_the_run() {
    echo 'globalThis.transform = raw => { throw raw; };' > throw.js
    seq 1 3 > in
    verb 6 run throw.js -q -e skip --dead-letter /dev/full in --stats=stats
    expect_said '/dev/full: No space left on device'
    grep -q '"ended":"input or output failed"' stats
}

case_dead_letters_do_not_wait_for_company() {
    echo 'globalThis.transform = raw => { throw raw; };' > throw.js
    mkfifo in
    timeout 60 "$HALTER" run throw.js -q -e skip --dead-letter dead in &
    exec 9> in
    echo 1 >&9
    wait_for grep -q '"line":1' dead
    exec 9>&-
    wait $! && fail "no record failed" || true
}

case_a_place_for_figures_is_tried_before_the_run() {
    echo_plugin
    echo 1 > in
    verb 6 run echo.js in -o out --stats=nowhere/stats
    expect_said 'nowhere/stats: No such file or directory'
    [ ! -e out ] || [ ! -s out ] || fail "the run was begun"
}

case_doctor_colours_the_screen_alone() {
    on_terminal "'$HALTER' doctor; '$HALTER' doctor > file"
    grep -aqF "$(printf '\033[32m')" typescript
    ! grep -q "$(printf '\033')" file || fail "escapes in a file"
    on_terminal "NO_COLOR=1 '$HALTER' doctor"
    ! grep -aq "$(printf '\033')" typescript || fail "colours under NO_COLOR"
}

case_a_narrow_terminal_gets_one_live_line() {
    echo_plugin
    on_terminal "stty cols 10; { echo 1; sleep 0.5; echo 2; } | '$HALTER' run echo.js > out"
    grep -aqF "$(printf '\033[?7l')" typescript
    tail -n 2 typescript | tr -d '\r\n' | grep -aqF "$(printf '\033[?7h\r\033[K' | tr -d '\r')"
}

case_a_dumb_terminal_gets_no_live_line() {
    echo_plugin
    on_terminal "{ echo 1; sleep 0.5; echo 2; } | TERM=dumb '$HALTER' run echo.js > out"
    ! grep -aq "$(printf '\033')" typescript || fail "escapes on a dumb terminal"
}

run_cases
