#!/bin/sh
# stage.sh FOLDER STAMP: the page's tests in FOLDER with what they are driven by, from npm by its lock
# file, so that any user can run them and the sources stay clean.
set -eu
folder=$(realpath -m "$1")
stamp=$(realpath -m "$2")
cd "$(dirname "$0")"
mkdir -p "$folder"
if ! cmp -s package-lock.json "$folder/installed-lock.json"; then
    cp package.json package-lock.json .npmrc "$folder"
    (cd "$folder" && npm ci --ignore-scripts --silent)
    cp package-lock.json "$folder/installed-lock.json"
fi
cp ./*.mjs "$folder"
chmod -R a+rX "$folder"
: > "$stamp"
