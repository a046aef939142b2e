#!/bin/sh
# initramfs.sh OUT BUSYBOX.deb AGENT MODULES [PROGRAM…]: the default guest's file system, as a
# gzipped cpio.
#
# Debian's static busybox, `init` beside this script, the agent (agent/build.sh), the kernel modules
# in the folder MODULES (modules.sh), and any programs given. Made without root:
# cpio is told that root owns everything, and the two device nodes that must exist before the
# kernel's own /dev is mounted are written as archive headers by hand (initramfs buffer format).
set -eu
here=$(dirname "$(realpath "$0")")
out=$(realpath "$1")
deb=$(realpath "$2")
agent=$(realpath "$3")
modules=$(realpath "$4")
shift 4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/deb" "$work/root/bin" "$work/root/dev" "$work/root/proc" "$work/root/sys" \
    "$work/root/tmp" "$work/root/root" "$work/root/mnt" "$work/root/lib"
ln -s bin "$work/root/sbin"
cp -R "$modules" "$work/root/lib/modules"
dpkg-deb -x "$deb" "$work/deb"
busybox=$work/deb/bin/busybox
install -m755 "$busybox" "$work/root/bin/busybox"
for applet in $(cat "$here/applets"); do
    ln -s busybox "$work/root/bin/$applet"
done
install -m755 "$here/init" "$work/root/init"
install -m755 "$agent" "$work/root/bin/halter-agent"
for program in "$@"; do
    install -m755 "$program" "$work/root/bin/"
done

# One newc header: magic, then 13 numbers of 8 hex digits, then the name, padded to 4.
header() { # NAME MODE RDEV_MAJOR RDEV_MINOR
    name=$1
    printf '070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s' \
        0 "$2" 0 0 1 0 0 0 0 "$3" "$4" $((${#name} + 1)) 0 "$name"
    zeros $((4 - (110 + ${#name}) % 4))
}
zeros() {
    head -c "$1" /dev/zero
}

find "$work/root" -exec touch -h -d @0 {} +
{
    (cd "$work/root" && find . -mindepth 1 | LC_ALL=C sort |
        cpio --quiet --create --format=newc --reproducible --owner=0:0)
    header dev/console $((0020600)) 5 1
    header dev/null $((0020666)) 1 3
    header TRAILER!!! 0 0 0
} | gzip -9n >"$out.new"
mv "$out.new" "$out"
