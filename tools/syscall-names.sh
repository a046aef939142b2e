#!/bin/sh
# syscall-names.sh CC… OUTPUT: a C initialiser line {number, "name"}, for each system call that the
# C library's headers know on this architecture.
set -eu
for output; do :; done
compiler=
for word; do [ "$word" = "$output" ] || compiler="$compiler $word"; done
echo '#include <sys/syscall.h>' | $compiler -E -dM - |
    sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9]*\)$/{\2, "\1"},/p' | sort -t'{' -k2n > "$output"
[ -s "$output" ]
