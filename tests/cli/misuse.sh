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

run_cases
