#!/bin/sh
# make.sh OUT HALTER: the default guest, from Debian's own packages.
#
#     vmlinux-686, vmlinux-686-pae   the stock i386 kernels, unpacked by `halter image`
#     bzImage-686                    one of them as it was, for who wants to see it unpack itself
#     initramfs.cpio.gz              busybox, a shell on the serial port, and the agent that runs one
#                                    command for `halter boot -- COMMAND`
#     initramfs-bench.cpio.gz        the same with the programs of programs/, where gcc -m32 works
#
# What is there and as new as its sources is left alone; packages are kept in OUT/cache. No root.
set -eu
here=$(dirname "$(realpath "$0")")
mkdir -p "$1"
out=$(realpath "$1")
halter=$(realpath "$2")
. "$here/debian.sh"

need=
for file in modules vmlinux-686 vmlinux-686-pae bzImage-686 initramfs.cpio.gz; do
    [ -s "$out/$file" ] || need=yes
done
for source in init applets initramfs.sh modules.sh make.sh agent/agent.c agent/build.sh agent/sys.h \
    ../../src/cli/channel.h; do
    [ "$here/$source" -nt "$out/initramfs.cpio.gz" ] && need=yes
done

kernel() { # FLAVOUR: out/bzImage-FLAVOUR and out/vmlinux-FLAVOUR
    package=$(debian_depends "linux-image-$1" '^linux-image-[0-9]')
    deb=$(debian_fetch "$package")
    dpkg-deb --fsys-tarfile "$deb" |
        tar -x -O --wildcards './boot/vmlinuz-*' >"$out/bzImage-$1.new"
    mv "$out/bzImage-$1.new" "$out/bzImage-$1"
    "$halter" image "$out/bzImage-$1" "$out/vmlinux-$1"
}

if [ -n "$need" ]; then
    debian_init "$out/cache"
    rm -rf "$out/modules.new"
    kernel 686
    "$here/modules.sh" "$out/modules.new" "$deb"
    kernel 686-pae
    rm -f "$out/bzImage-686-pae"
    busybox=$(debian_fetch busybox-static)
    rm -rf "$out/modules"
    mv "$out/modules.new" "$out/modules"
    "$here/agent/build.sh" "$out/halter-agent"
    "$here/initramfs.sh" "$out/initramfs.cpio.gz" "$busybox" "$out/halter-agent" "$out/modules"
fi
# Beside the command, so that it finds its guest where it was built.
ln -sfn "$out" "$(dirname "$halter")/guest"

if [ ! -s "$out/initramfs-bench.cpio.gz" ] ||
    [ -n "$(find "$here/programs" "$out/initramfs.cpio.gz" -newer "$out/initramfs-bench.cpio.gz")" ]; then
    if "$here/programs/build.sh" "$out/programs"; then
        debian_cache=$out/cache
        busybox=$(debian_fetch busybox-static)
        "$here/initramfs.sh" "$out/initramfs-bench.cpio.gz" "$busybox" "$out/halter-agent" \
            "$out/modules" \
            "$out/programs/bench" "$out/programs/nop"
    else
        echo "make.sh: no 32-bit compiler (gcc-multilib): no initramfs-bench.cpio.gz" >&2
    fi
fi
