#!/bin/sh
# wasm.sh HALTER GUEST NODE RUNNER PC.WASM: the machine as wasm is the same machine: it boots,
# ends each deterministic run in the same state, and takes and gives snapshots.
halter=$1
guest=$2
node=$3
runner=$4
wasm=$5
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

native() {
    "$halter" boot "$guest/$kernel" --initrd "$guest/initramfs.cpio.gz" --icount=5 --timeout 240 --hash "$@" \
        </dev/null >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    return $status
}

in_node() {
    "$node" "$runner" boot --wasm "$wasm" "$guest/$kernel" --initrd "$guest/initramfs.cpio.gz" \
        --icount=5 --timeout 240 --hash "$@" </dev/null >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    return $status
}

hash_of() {
    sed -n 's/.*hash \([0-9a-f]\{16\}\)$/\1/p' "$work/out"
}

same_state() { # KERNEL
    kernel=$1
    native --until '# ' --send 'awk "BEGIN{print sin(1)*exp(2)}"; ls /\n' --until 'tmp' || return 1
    first=$(hash_of)
    in_node --until '# ' --send 'awk "BEGIN{print sin(1)*exp(2)}"; ls /\n' --until 'tmp' || return 1
    [ -n "$first" ] && [ "$first" = "$(hash_of)" ]
}

snapshots_cross() {
    kernel=vmlinux-686
    native --until 'BOOT-OK' --save "$work/a" &&
        in_node --resume "$work/a" --until 'commands' --save "$work/b" &&
        native --resume "$work/b" --until '# ' || return 1
    crossed=$(hash_of)
    native --until '# ' || return 1
    [ -n "$crossed" ] && [ "$crossed" = "$(hash_of)" ]
}

powers_off_in_real_time() {
    kernel=vmlinux-686
    "$node" "$runner" boot --wasm "$wasm" "$guest/$kernel" --initrd "$guest/initramfs.cpio.gz" --stats \
        --timeout 240 --until '# ' --send 'sleep 3; poweroff -f\n' </dev/null >"$work/out" 2>&1
    status=$?
    cat "$work/out"
    asleep=$(sed -n 's/.* wall, \([0-9]*\)\..* s asleep.*/\1/p' "$work/out")
    [ $status = 0 ] && [ "$asleep" -ge 2 ]
}

# Recorded natively in real time, with a reboot in it; run again here, and looked at in the middle.
recordings_cross() {
    kernel=vmlinux-686
    "$halter" boot "$guest/$kernel" --initrd "$guest/initramfs.cpio.gz" --timeout 240 --hash \
        --record "$work/tape" --until '# ' --send 'date; reboot -f\n' --until BOOT-OK \
        </dev/null >"$work/said" 2>"$work/out" || return 1
    first=$(hash_of)
    "$node" "$runner" replay --wasm "$wasm" --hash "$work/tape" >"$work/said-again" 2>"$work/out" || {
        cat "$work/out"
        return 1
    }
    [ -n "$first" ] && [ "$first" = "$(hash_of)" ] && cmp "$work/said" "$work/said-again" || return 1
    "$halter" boot --replay "$work/tape" --stop-at 123456789 </dev/null >/dev/null 2>"$work/at-native"
    "$node" "$runner" replay --wasm "$wasm" --stop-at 123456789 "$work/tape" >/dev/null 2>"$work/at-wasm"
    grep -q eip "$work/at-native" && cmp "$work/at-native" "$work/at-wasm"
}

check 'the 686 kernel ends in the same state as natively' same_state vmlinux-686
check 'the 686-pae kernel does' same_state vmlinux-686-pae
check 'a snapshot goes from native to wasm and back' snapshots_cross
check 'a recording runs again as wasm, and stops at the same instruction' recordings_cross
check 'an idle guest sleeps, and powers off' powers_off_in_real_time
echo "1..$count"
