#!/bin/sh
# debian-disk.sh OUT.img [PACKAGE…]: a disk with a Debian system for i386: a root file system on ext4
# that boots to a login on the first serial port, as root without a password.
#
# Made by mmdebstrap from the addresses that the machine's own apt uses, and laid out by mke2fs: no
# loop device, no mount. As root, or by fakeroot where user namespaces are allowed.
set -eu
here=$(dirname "$(realpath "$0")")
. "$here/debian.sh"
image=$(realpath "$1")
shift
tree=$image.tree
size=${DEBIAN_DISK_SIZE:-1500M}

packages=systemd-sysv,udev
for package in "$@"; do
    packages=$packages,$package
done
for program in mmdebstrap mke2fs fakeroot; do
    PATH=$PATH:/sbin:/usr/sbin command -v $program >/dev/null || {
        echo "debian-disk.sh: $program is needed: apt-get install mmdebstrap e2fsprogs fakeroot" >&2
        exit 1
    }
done

rm -rf "$tree" "$image.tar" "$image.new"
trap 'rm -rf "$tree" "$image.tar" "$image.new"' EXIT
debian_sources | grep -v -- '-updates' | mmdebstrap --quiet --variant=minbase --architectures=i386 \
    --include="$packages" --aptopt='Apt::Install-Recommends "false"' \
    --customize-hook='echo halter >"$1/etc/hostname"' \
    --customize-hook='echo "/dev/vda / ext4 defaults 0 1" >"$1/etc/fstab"' \
    --customize-hook='chroot "$1" passwd -d root' \
    --customize-hook='ln -sf /dev/null "$1/etc/systemd/system/getty@tty1.service"' \
    bookworm "$image.tar" -

# shellcheck disable=SC2016
lay_out='
    mkdir "$1" && tar -x -p --numeric-owner -C "$1" -f "$2" &&
    mke2fs -q -t ext4 -L halter -d "$1" "$3" "$4"
'
PATH=$PATH:/sbin:/usr/sbin
if [ "$(id -u)" = 0 ]; then
    sh -euc "$lay_out" sh "$tree" "$image.tar" "$image.new" "$size"
else
    fakeroot sh -euc "$lay_out" sh "$tree" "$image.tar" "$image.new" "$size"
fi
mv "$image.new" "$image"
