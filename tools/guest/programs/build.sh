#!/bin/sh
# build.sh OUT: the guest's programs, static and for a 686; what needs SSE2 is compiled for it.
set -eu
here=$(dirname "$(realpath "$0")")
mkdir -p "$1"
out=$(realpath "$1")
# No vectors, no -fpie: the same instructions from every compiler, as far as that goes.
base="gcc -std=gnu17 -Wall -Wextra -m32 -O2 -fno-tree-vectorize -fno-pie"
x87="$base -march=i686 -mfpmath=387"
sse2="$base -march=pentium4 -mfpmath=sse"

echo 'int main(void) { return 0; }' | gcc -m32 -static -x c -o "$out/probe" - 2>/dev/null || exit 1
rm -f "$out/probe"
for file in main integer memory text system; do
    $x87 -c "$here/$file.c" -o "$out/$file.o"
done
$x87 -DMANDEL=mandel_x87 -c "$here/mandel.c" -o "$out/mandel_x87.o"
$sse2 -DMANDEL=mandel_sse2 -c "$here/mandel.c" -o "$out/mandel_sse2.o"
$sse2 -c "$here/saxpy.c" -o "$out/saxpy.o"
$x87 -static -no-pie -s "$out/main.o" "$out/integer.o" "$out/memory.o" "$out/text.o" \
    "$out/system.o" "$out/mandel_x87.o" "$out/mandel_sse2.o" "$out/saxpy.o" -o "$out/bench"
gcc -m32 -nostdlib -static -no-pie -Wl,--build-id=none -s "$here/nop.S" -o "$out/nop"
