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

check 'the 686 kernel ends in the same state as natively' same_state vmlinux-686
check 'the 686-pae kernel does' same_state vmlinux-686-pae
check 'a snapshot goes from native to wasm and back' snapshots_cross
check 'an idle guest sleeps, and powers off' powers_off_in_real_time
echo "1..$count"
