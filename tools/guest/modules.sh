#!/bin/sh
# modules.sh OUT KERNEL.deb: the modules that the default guest needs for its disks, console and
# entropy, with all that they depend on, as OUT/<version>/ with the indices that modprobe reads.
# Debian's kernels have these drivers as modules only.
set -eu
out=$1
deb=$(realpath "$2")
wanted='virtio_pci virtio_blk virtio_console virtio-rng ext4 crc32c_generic'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$work" ./lib/modules
version=$(ls "$work/lib/modules")
tree=$work/lib/modules/$version
PATH=$PATH:/sbin:/usr/sbin
depmod -b "$work" "$version"

mkdir -p "$out"
rm -rf "${out:?}/$version"
mkdir "$out/$version"
for name in $wanted; do
    sed -n "s|^\([^:]*/$name\.ko\): *|\1 |p" "$tree/modules.dep"
done | tr ' ' '\n' | sort -u | while read -r file; do
    [ -z "$file" ] || install -m644 "$tree/$file" "$out/$version/"
done
for index in modules.order modules.builtin modules.builtin.modinfo; do
    : >"$out/$version/$index"
done
mkdir -p "$work/small/lib/modules"
cp -R "$out/$version" "$work/small/lib/modules/"
depmod -b "$work/small" "$version"
for index in modules.dep modules.alias; do
    grep -v '^#' "$work/small/lib/modules/$version/$index" >"$out/$version/$index"
done
rm "$out/$version"/modules.order "$out/$version"/modules.builtin*
