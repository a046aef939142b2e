#!/bin/sh
# Runs every fuzz target for some seconds from its committed corpus: tools/fuzz.sh [SECONDS [BUILD]].
# New inputs that reach new code go to BUILD/found-*; a finding ends with its input in BUILD.
set -eu
seconds=${1:-60}
build=${2:-build-fuzz}
cd "$(dirname "$0")/.."
[ -f "$build/build.ninja" ] || CC=clang meson setup -Dfuzz=true "$build"
ninja -C "$build" tests/fuzz/fuzz-frames tests/fuzz/fuzz-json
for name in frames json; do
    mkdir -p "$build/found-$name"
    "$build/tests/fuzz/fuzz-$name" -max_total_time="$seconds" -max_len=70000 -print_final_stats=1 \
        -artifact_prefix="$build/" "$build/found-$name" "tests/fuzz/corpus-$name"
done
