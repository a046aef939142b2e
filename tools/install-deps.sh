#!/bin/sh
# install-deps.sh [PACKAGE]...
# Installs the Debian packages that building and testing need, and those named, where they are missing.
# Says what it does; uses sudo only when it is not run by root; does nothing when all are there.
# On other systems it names what is needed and leaves the rest to their owner.
set -eu

packages="
    build-essential clang llvm libclang-rt-dev meson ninja-build pkg-config
    libjavascriptcoregtk-4.1-dev libseccomp-dev libcurl4-openssl-dev libsqlite3-dev
    libcmocka-dev libglib2.0-dev scdoc mandoc util-linux procps openssl
    zlib1g-dev liblzma-dev libzstd-dev liblz4-dev
    cpio kmod e2fsprogs gcc-multilib clang-19 lld-19 llvm-19 libclang-rt-19-dev-wasm32
    libmicrohttpd-dev chromium fonts-dejavu-core
    $*
"

if ! command -v dpkg-query > /dev/null; then
    echo "This is no Debian system. Needed, by Debian's names:$packages" >&2
    exit 0
fi

# Debian names clang's runtime after its version.
clang_runtime() {
    version=$(apt-cache depends clang 2> /dev/null | sed -n 's/.*Depends: clang-\([0-9]*\).*/\1/p' | head -n 1)
    echo "libclang-rt-${version:-14}-dev"
}

missing=
for package in $packages; do
    [ "$package" = libclang-rt-dev ] && package=$(clang_runtime)
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
# By command, because a newer Node than Debian's brings its npm with it.
command -v node > /dev/null || missing="$missing nodejs"
command -v npm > /dev/null || missing="$missing npm"
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || {
        echo "Missing packages:$missing" >&2
        echo "Install them as root: apt-get install$missing" >&2
        exit 1
    }
    as_root=sudo
fi
echo "Installing:$missing"
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o DPkg::Lock::Timeout=300 $missing
