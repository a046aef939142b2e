#!/bin/sh
# cuts.sh HALTER GUEST KILLS: power cuts while a guest writes.
#
# The guest writes a number, makes it durable, and only then says so, again and again, while another
# of its processes makes and removes files. At moments that nothing chose the machine's process is
# stopped and the disk copied, which is what a kill at that moment leaves; at the last one it is
# killed. Every copy must be sound once its journal has been replayed, and must hold the last number
# that the guest had said by then, or a later one.
halter=$1
HALTER_GUEST=$2
kills=$3
export HALTER_GUEST
PATH=$PATH:/sbin:/usr/sbin
cuts=4 # before each kill
work=$(mktemp -d)
boot=
trap '[ -z "$boot" ] || kill "$boot" 2>/dev/null; rm -rf "$work"' EXIT

script='mount -t ext4 /dev/vda /mnt
(while :; do mkdir /mnt/d; cp /bin/busybox /mnt/d/a; mv /mnt/d/a /mnt/d/b; rm -r /mnt/d; done) &
i=0
while :; do i=$((i+1)); printf %08d $i | dd of=/mnt/seq conv=notrunc,fsync 2>/dev/null && echo DURABLE $i; done
'

said() { # the last number that the guest has said; the line may be cut short
    tr -d '\r' <"$work/out" | sed -n 's/^DURABLE \([0-9]*\)$/\1/p' | tail -n 2 | head -n 1
}

pause() { # a moment of up to a third of a second
    sleep "0.$(od -An -N1 -tu1 /dev/urandom | awk '{ printf "%03d", $1 * 1.3 }')"
}

# judge COPY NUMBER: whether it is sound and holds at least that number.
judge() {
    e2fsck -p "$1" >"$work/replay" 2>&1
    [ $? -le 1 ] || { cat "$work/replay"; return 1; }
    e2fsck -n -f "$1" >"$work/fsck" 2>&1 || { cat "$work/fsck"; return 1; }
    found=$(debugfs -R 'cat seq' "$1" 2>/dev/null | sed 's/^0*//')
    [ "${found:-0}" -ge "$2" ] || { echo "it holds ${found:-nothing}, and $2 was durable"; return 1; }
}

helper_of() { # the machine's process: a child of the launcher, which is a child of the command
    for launcher in $(pgrep -P "$1"); do
        pgrep -P "$launcher" -f halter-pc
    done | head -n 1
}

life() {
    rm -f "$work/disk" "$work/out"
    truncate -s 16M "$work/disk"
    mkfs.ext4 -q -F "$work/disk"
    "$halter" boot --timeout 300 --disk "$work/disk" --until '# ' --send "$(printf %s "$script" | awk 'BEGIN { ORS = "\\n" } { gsub(/\\/, "\\\\"); print }')" \
        --until 'never said' </dev/null >"$work/out" 2>"$work/err" &
    boot=$!
    for _ in $(seq 1200); do
        [ -n "$(said)" ] && break
        kill -0 $boot 2>/dev/null || break
        sleep 0.1
    done
    helper=$(helper_of $boot)
    [ -n "$helper" ] && [ -n "$(said)" ] || { echo "the guest did not begin to write"; cat "$work/out" "$work/err"; return 1; }
    for cut in $(seq $cuts); do
        pause
        kill -STOP "$helper"
        number=$(said)
        cp --sparse=always "$work/disk" "$work/copy"
        kill -CONT "$helper"
        judge "$work/copy" "$number" || return 1
        sum=$((sum + 1))
    done
    pause
    kill -KILL "$helper"
    wait $boot
    boot=
    judge "$work/disk" "$(said)" || return 1
    sum=$((sum + 1))
    last=$(said)
}

sum=0
for round in $(seq "$kills"); do
    if life >"$work/log" 2>&1; then
        echo "ok $round - sound after each cut ($last durable writes, $sum cuts so far)"
    else
        echo "not ok $round - a cut did damage"
        tail -n 30 "$work/log" | tr -d '\r\033' | sed 's/^/# /'
        [ -z "$boot" ] || kill "$boot" 2>/dev/null
        boot=
    fi
done
echo "1..$kills"
