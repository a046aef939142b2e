#!/bin/sh
# bench/run.sh [BUILD]: how late kills come, the measurements of `halter bench` with its peers, then
# streams through `halter run` and through what would be built instead.
# bench/table.mjs puts the measurements in a table, and with README.md as its second argument there.
# BYTES, ROUNDS and OUT may be set: how large the input is, how often each is run, where the
# figures go as JSON.
set -eu
cd "$(dirname "$0")/.."
command -v node > /dev/null || { echo "bench: node is what halter is measured against; it is missing" >&2; exit 1; }
"${1:-build}/bench/bench-kills" 200
"${1:-build}/halter" bench --peers --json "${BENCH_JSON:-bench.json}" --html "${BENCH_HTML:-bench.html}"
node bench/table.mjs "${BENCH_JSON:-bench.json}"
exec node bench/run.mjs "${1:-build}" "${BYTES:-100000000}" "${ROUNDS:-5}" "${OUT:-bench-run.json}"
