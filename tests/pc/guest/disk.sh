#!/bin/sh
# disk.sh HALTER GUEST: a disk of the default guest: written to, kept, refused.
halter=$1
HALTER_GUEST=$2
export HALTER_GUEST
PATH=$PATH:/sbin:/usr/sbin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

check() { # NAME COMMAND…
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

make_disk() { # NAME
    rm -f "$work/$1"
    truncate -s 16M "$work/$1" && mkfs.ext4 -q -F "$work/$1"
}

boot() { # OPTION…
    timeout 240 "$halter" boot --timeout 200 "$@" </dev/null >"$work/out" 2>&1
    status=$?
    tr -d '\r' <"$work/out"
    return $status
}

said() {
    tr -d '\r' <"$work/out" | grep -q -e "$1"
}

not() {
    if "$@"; then return 1; fi
}

sound() { # NAME
    e2fsck -n -f "$work/$1"
}

holds() { # NAME FILE TEXT
    found=$(debugfs -R "cat $2" "$work/$1" 2>/dev/null)
    echo "$2 holds \"$found\""
    [ "$found" = "$3" ]
}

guest_of() { # SCRIPT: until the prompt, then these lines, then off
    printf '%s' "mount -t ext4 /dev/vda /mnt && $1; umount /mnt; poweroff -f\\n"
}

writes_and_keeps() {
    make_disk disk && boot --disk "$work/disk" --until '# ' --send "$(guest_of 'echo kept > /mnt/note')" &&
        sound disk && holds disk note kept || return 1
    boot --disk "$work/disk" --until '# ' --send "$(guest_of 'cat /mnt/note; sha256sum /mnt/note')" &&
        said '^kept'
}

a_large_file_is_the_same() {
    make_disk disk &&
        boot --disk "$work/disk" --until '# ' --send "$(guest_of 'seq 1 400000 > /mnt/seq; sync; echo 3 > /proc/sys/vm/drop_caches; sha256sum /mnt/seq')" || return 1
    said "^$(seq 1 400000 | sha256sum | cut -d' ' -f1)" && sound disk
}

a_snapshot_disk_stays() {
    make_disk disk && before=$(sha256sum <"$work/disk") &&
        boot --disk "$work/disk,snapshot" --until '# ' --send "$(guest_of 'echo gone > /mnt/note; sync; cat /mnt/note')" &&
        said '^gone' && [ "$before" = "$(sha256sum <"$work/disk")" ]
}

a_read_only_disk_is_not_written() {
    make_disk disk && before=$(sha256sum <"$work/disk") && chmod 400 "$work/disk" &&
        boot --disk "$work/disk,ro" --until '# ' --send 'cat /sys/block/vda/ro; echo x > /dev/vda; mount -t ext4 -o ro,noload /dev/vda /mnt; ls /mnt; poweroff -f\n' &&
        said '^1$' && said 'lost+found' && [ "$before" = "$(sha256sum <"$work/disk")" ]
}

discard_gives_space_back() {
    make_disk disk &&
        boot --disk "$work/disk" --until '# ' --send 'dd if=/dev/urandom of=/dev/vda bs=1M count=16; sync; blkdiscard /dev/vda; poweroff -f\n' || return 1
    blocks=$(stat -c %b "$work/disk")
    echo "$blocks blocks of 512 are left"
    [ "$blocks" -lt 8192 ]
}

two_do_not_write_one_disk() {
    make_disk disk || return 1
    (
        flock -x 9
        boot --disk "$work/disk" --until '# '
        [ $? = 1 ]
    ) 9<"$work/disk" && said 'in use by another PC'
}

not_a_disk() {
    printf 'short' >"$work/short"
    not boot --disk "$work/short" --until '# ' && said 'whole sectors of 512 bytes' &&
        not boot --disk /dev/zero --until '# ' && said 'no regular file' &&
        not boot --disk "$work/none" --until '# ' && said 'No such file'
}

# Saved while a file is only in the disk's overlay; resumed, it is there; and the file underneath was
# never touched after the save.
a_snapshot_holds_what_was_written() {
    make_disk disk && before=$(sha256sum <"$work/disk") &&
        boot --icount --disk "$work/disk,snapshot" --save "$work/snapshot" --until '# ' \
            --send 'mount -t ext4 /dev/vda /mnt; echo saved > /mnt/note; sync; echo WRI""TTEN\n' --until 'WRITTEN' &&
        boot --icount --disk "$work/disk" --resume "$work/snapshot" --until '# ' \
            --send 'echo 3 > /proc/sys/vm/drop_caches; cat /mnt/note; echo more > /mnt/more; sync; poweroff -f\n' &&
        said '^saved' && [ "$before" = "$(sha256sum <"$work/disk")" ]
}

a_disk_that_went_on_is_refused() {
    make_disk disk &&
        boot --icount --disk "$work/disk" --save "$work/snapshot" --until '# ' || return 1
    touch "$work/disk"
    not boot --icount --disk "$work/disk" --resume "$work/snapshot" --until '# ' && said 'has been written to since' &&
        not boot --icount --resume "$work/snapshot" --until '# ' && said 'has a disk 0 as well'
}

the_same_run_each_time() {
    for run in 1 2; do
        make_disk disk$run >/dev/null
        cp "$work/disk1" "$work/disk"
        boot --icount --hash --disk "$work/disk" --until '# ' \
            --send 'mount -t ext4 /dev/vda /mnt; seq 1000 > /mnt/seq; sync; echo DO""NE\n' --until 'DONE' >/dev/null
        sed -n 's/.*hash \([0-9a-f]\{16\}\).*/\1/p' "$work/out" >"$work/hash$run"
    done
    cat "$work/hash1" "$work/hash2"
    [ -s "$work/hash1" ] && cmp "$work/hash1" "$work/hash2"
}

check 'what is written is kept' writes_and_keeps
check 'a large file comes back the same' a_large_file_is_the_same
check 'a snapshot disk stays as it is' a_snapshot_disk_stays
check 'a read-only disk is not written' a_read_only_disk_is_not_written
check 'discarded space is given back' discard_gives_space_back
check 'two PCs do not write to one disk' two_do_not_write_one_disk
check 'what is no disk is said so' not_a_disk
check 'a snapshot holds what was written' a_snapshot_holds_what_was_written
check 'a disk that is not the one of the snapshot is refused' a_disk_that_went_on_is_refused
check 'a run with a disk is the same each time' the_same_run_each_time
echo "1..$count"
