#!/bin/sh
# build.sh OUT: the agent of the default guest, static, for any processor since the Pentium Pro. It
# needs no C library, so a compiler with a 32-bit mode is enough: gcc on a PC, clang elsewhere.
set -eu
here=$(dirname "$(realpath "$0")")
flags="-std=gnu17 -Wall -Wextra -Werror -march=i686 -mno-mmx -mno-sse -Os -ffreestanding -fno-pie
    -fno-stack-protector -fno-asynchronous-unwind-tables -nostdlib -static -no-pie -I $here/../../../src -Wl,--build-id=none
    -Wl,-z,noexecstack -s"
for compiler in "gcc -m32" "clang-19 --target=i686-linux-gnu -fuse-ld=lld-19" \
    "clang --target=i686-linux-gnu -fuse-ld=lld"; do
    # shellcheck disable=SC2086
    if echo 'void _start(void) {}' | $compiler $flags -x c -o "$1" - 2>/dev/null; then
        exec $compiler $flags -o "$1" "$here/agent.c"
    fi
done
echo "build.sh: no compiler for 32-bit x86 (gcc on a PC, clang with lld elsewhere)" >&2
exit 1
