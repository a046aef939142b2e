#!/bin/sh
# stage.sh PC.WASM FOLDER STAMP: the npm package in FOLDER, from the sources beside this script and
# the machine; says how large the machine is. The folder runs in place: a page may import its pc.js.
set -eu
wasm=$(realpath "$1")
folder=$(realpath "$2")
stamp=$(realpath "$3")
cd "$(dirname "$0")"
rm -rf "$folder"
mkdir -p "$folder"
cp -R package.json README.md pump.js pc.js pc-node.js pump pc cli bin ../LICENSE "$folder"
cp "$wasm" "$folder/pc.wasm"
if [ -x node_modules/.bin/tsc ]; then
    node_modules/.bin/tsc -p . --noEmit false --declaration --emitDeclarationOnly --outDir "$folder/types"
else
    echo "stage.sh: no types (.d.ts) without TypeScript: tools/npm.sh installs it" >&2
fi
chmod -R a+rX "$folder"
echo "pc.wasm: $(wc -c < "$wasm") bytes, $(gzip -9c "$wasm" | wc -c) with gzip"
: > "$stamp"
