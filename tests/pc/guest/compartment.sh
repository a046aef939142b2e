#!/bin/sh
# compartment.sh HALTER GUEST: the PC's process is confined, and whatever becomes of it, the
# process around it tells how it ended, leaves nothing running and puts the terminal back.
halter=$(realpath "$1")
guest=$2
work=$(mktemp -d)
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

child_of() {
    only=$(cat "/proc/$1/task/$1/children")
    echo "${only% }"
}

# Starts a PC that idles at its shell; parent is the command, child the process of the PC, with the
# launcher between the two.
start() {
    "$halter" boot "$guest/vmlinux-686" --initrd "$guest/initramfs.cpio.gz" --timeout 200 "$@" \
        <"$work/never" >"$work/out" 2>&1 &
    parent=$!
    for _ in $(seq 600); do
        grep -q 'built-in commands' "$work/out" && break
        sleep 0.1
    done
    launcher=$(child_of "$parent")
    child=$(child_of "$launcher")
    grep -q 'built-in commands' "$work/out" && [ -n "$child" ]
}

# The end: the status is $1, the child is gone.
ended() {
    wait "$parent"
    status=$?
    cat "$work/out"
    for _ in $(seq 50); do
        [ -e "/proc/$child" ] || break
        sleep 0.1
    done
    echo "status $status"
    [ "$status" = "$1" ] && [ ! -e "/proc/$child" ]
}

is_confined() {
    start || return 1
    cat "/proc/$child/status"
    ls -l "/proc/$child/fd"
    grep -q '^Seccomp:[[:space:]]*2' "/proc/$child/status" &&
        grep -q '^NoNewPrivs:[[:space:]]*1' "/proc/$child/status" &&
        grep -q '^CapEff:[[:space:]]*0000000000000000' "/proc/$child/status" &&
        ! grep -q '^Uid:[[:space:]]*0' "/proc/$child/status"
    confined=$?
    [ "$(ls "/proc/$child/fd" | tr '\n' ' ')" = '0 1 2 3 4 ' ] || confined=1
    kill "$parent"
    ended 5 && [ $confined = 0 ]
}

a_killed_machine_is_told() {
    start || return 1
    kill -KILL "$child"
    ended 6 && grep -q 'died of signal 9' "$work/out"
}

a_hanging_machine_is_killed() {
    start --heartbeat 1 || return 1
    kill -STOP "$child"
    ended 6 && grep -q 'did not answer' "$work/out"
}

# It dies in the middle of its life, and goes on: the shell still knows its variable.
a_killed_machine_goes_on() {
    start --snapshot-every 0.5 || return 1
    echo 'kept=before' >&3
    sleep 1
    for _ in 1 2 3 4 5 6; do
        sleep 1
        launcher=$(child_of "$parent")
        kill -KILL "$(child_of "$launcher")"
        for _ in $(seq 300); do
            grep -q 'goes on from where it was' "$work/out" && break
            sleep 0.1
        done
        child=$(child_of "$launcher")
        echo 'echo it-is-$kept' >&3
        for _ in $(seq 50); do
            grep -q 'it-is-before' "$work/out" && break 2
            sleep 0.1
        done
    done
    grep -q 'it-is-before' "$work/out"
    good=$?
    kill "$parent"
    ended 5 && [ $good = 0 ]
}

the_parents_death_is_the_childs() {
    start || return 1
    kill -KILL "$parent"
    ended 137
}

the_terminal_is_put_back() { # typed: Ctrl-A x, which leaves, on a terminal of its own
    rm -f "$work/typed"
    cat >"$work/session" <<SESSION
before=\$(stty -g)
"$halter" boot "$guest/vmlinux-686" --initrd "$guest/initramfs.cpio.gz" --timeout 200
echo "status \$?"
[ "\$before" = "\$(stty -g)" ] && echo "as before"
SESSION
    {
        for _ in $(seq 600); do
            grep -q 'built-in commands' "$work/typed" 2>/dev/null && break
            sleep 0.1
        done
        sleep 0.5
        printf '\001x'
        sleep 1
    } | script -qfec "sh $work/session" "$work/typed" >/dev/null 2>&1
    cat "$work/typed"
    grep -q 'status 5' "$work/typed" && grep -q 'as before' "$work/typed"
}

its_state_is_shown() { # Ctrl-A c, then Ctrl-A x
    rm -f "$work/typed"
    {
        for _ in $(seq 600); do
            grep -q 'built-in commands' "$work/typed" 2>/dev/null && break
            sleep 0.1
        done
        printf '\001c'
        for _ in $(seq 300); do
            grep -q 'eip' "$work/typed" && break
            sleep 0.1
        done
        printf '\001x'
        sleep 1
    } | script -qfec "$halter boot $guest/vmlinux-686 --initrd $guest/initramfs.cpio.gz --timeout 200" \
        "$work/typed" >/dev/null 2>&1
    cat "$work/typed"
    grep -q 'eip' "$work/typed" && grep -q 'com1' "$work/typed"
}

mkfifo "$work/never"
exec 3<>"$work/never"
if [ "$(id -u)" = 0 ]; then chmod 755 "$work"; fi
check 'the process of a PC is confined' is_confined
check 'a machine that is killed is told of' a_killed_machine_is_told
check 'a machine that hangs is killed' a_hanging_machine_is_killed
check 'a machine that is killed goes on from its snapshot' a_killed_machine_goes_on
check 'no machine outlives the process around it' the_parents_death_is_the_childs
check 'Ctrl-A x leaves, and the terminal is as before' the_terminal_is_put_back
check 'Ctrl-A c shows the state of the machine' its_state_is_shown
echo "1..$count"
