#!/bin/sh
# boot.sh HALTER GUEST: stock kernels boot, do what they are told, and end as they should.
#
# GUEST is the folder that tools/guest/make.sh fills; without it every test fails.
halter=$1
guest=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

# check NAME COMMAND…: one line of TAP; what the command printed, when it failed.
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

# boot KERNEL OPTION…: with the busybox initramfs; the log goes to $work/out as well.
boot() {
    kernel=$1
    shift
    "$halter" boot "$guest/$kernel" --initrd "$guest/initramfs.cpio.gz" --timeout 240 "$@" \
        </dev/null >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    return $status
}

# said TEXT: the last boot printed it.
said() {
    tr -d '\r' <"$work/out" | grep -q -e "$1"
}

hash_of() {
    sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$work/out"
}

status_is() { # STATUS COMMAND…
    wanted=$1
    shift
    "$@"
    got=$?
    [ "$got" = "$wanted" ] || {
        echo "status $got instead of $wanted"
        return 1
    }
}

reaches_a_shell() { # KERNEL CPU
    boot "$1" --icount --cpu "$2" --until '# ' \
        --send 'echo $((6 * 7)); grep -c ^processor /proc/cpuinfo; uname -r; poweroff -f\n' &&
        said '^42' && said '^1$' && said '^6\.1\.0-[0-9]*-686'
}

the_same_run_each_time() {
    boot vmlinux-686 --icount --hash --until '# ' --send 'sleep 1; ls /\n' --until 'tmp' || return 1
    first=$(hash_of)
    boot vmlinux-686 --icount --hash --slice 9973 --until '# ' --send 'sleep 1; ls /\n' \
        --until 'tmp' || return 1
    [ -n "$first" ] && [ "$first" = "$(hash_of)" ]
}

goes_on_from_a_snapshot() {
    boot vmlinux-686 --icount --until 'BOOT-OK' --save "$work/snapshot" &&
        boot vmlinux-686 --icount --resume "$work/snapshot" --until '# ' --hash || return 1
    resumed=$(hash_of)
    boot vmlinux-686 --icount --until '# ' --hash || return 1
    [ -n "$resumed" ] && [ "$resumed" = "$(hash_of)" ]
}

runs_again_what_was_recorded() { # in real time, with keys that came when they came
    boot vmlinux-686 --hash --record "$work/tape" --until '# ' \
        --send 'date; sleep 1; head -c 8 /dev/urandom | xxd; poweroff -f\n' || return 1
    first=$(hash_of)
    grep -v '^halter boot' "$work/out" >"$work/said"
    "$halter" boot --replay "$work/tape" --hash </dev/null >"$work/out" 2>&1 || return 1
    [ -n "$first" ] && [ "$first" = "$(hash_of)" ] || return 1
    grep -v '^halter boot' "$work/out" | cmp - "$work/said" || return 1
    head -c -64 "$work/tape" >"$work/torn"
    status_is 8 "$halter" boot --replay "$work/torn" </dev/null
}

reboots() {
    boot vmlinux-686 --icount --stats --until '# ' --send 'reboot -f\n' --until 'BOOT-OK' \
        --until '# ' --send 'poweroff -f\n' && said ' 2 boots'
}

panics() {
    boot vmlinux-686 --icount --no-reboot \
        --append 'console=ttyS0 cryptomgr.notests noisapnp panic=-1 rdinit=/bin/false'
}

sleeps_in_real_time() {
    now=$(date +%s)
    boot vmlinux-686 --stats --until '# ' --send 'date +NOW-%s; sleep 4; poweroff -f\n' || return 1
    guest_now=$(tr -d '\r' <"$work/out" | sed -n 's/^NOW-//p')
    asleep=$(sed -n 's/.* wall, \([0-9]*\)\..* s asleep.*/\1/p' "$work/out")
    echo "date $now, guest $guest_now, asleep $asleep"
    [ $((guest_now - now)) -ge 0 ] && [ $((guest_now - now)) -le 120 ] && [ "$asleep" -ge 3 ]
}

takes_input() { # what is typed on standard input arrives, and its end does not disturb
    : >"$work/out"
    {
        for _ in $(seq 600); do
            grep -q 'built-in commands' "$work/out" && break
            sleep 0.1
        done
        printf 'echo $((12 * 12))\npoweroff -f\n'
    } | "$halter" boot "$guest/vmlinux-686" --initrd "$guest/initramfs.cpio.gz" --timeout 60 \
        >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    [ $status = 0 ] && said '^144'
}

check 'the 686 kernel reaches a shell' reaches_a_shell vmlinux-686 pentium-m
check 'the 686-pae kernel reaches a shell' reaches_a_shell vmlinux-686-pae pentium-m
check 'a Pentium III does' reaches_a_shell vmlinux-686 pentium3
check 'a Pentium Pro does' reaches_a_shell vmlinux-686 p6
check 'a run is the same each time, in slices of any length' the_same_run_each_time
check 'a snapshot goes on as if nothing had been' goes_on_from_a_snapshot
check 'a recorded run runs again to the last bit' runs_again_what_was_recorded
check 'a reboot boots again' reboots
check 'a panic ends the run when asked' status_is 4 panics
check 'an idle guest sleeps, and knows the time' sleeps_in_real_time
check 'what is typed arrives' takes_input
check 'a timeout has its status' status_is 124 boot vmlinux-686 --timeout 0.2
check 'too little RAM is said before the start' status_is 1 boot vmlinux-686 --ram 24
check 'no kernel is said so' status_is 1 boot initramfs.cpio.gz
echo "1..$count"
