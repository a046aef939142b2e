#!/bin/sh
# npm.sh [FOLDER]: the npm packages that web/ (or FOLDER) is tested with, exactly as its lock file
# names them; does nothing when they are there. Node 20 comes from node.sh.
set -eu
cd "$(dirname "$0")/.."
PATH=$(tools/node.sh):$PATH
folder=${1:-web}
installed=$folder/node_modules/.package-lock.json
[ -e "$installed" ] && [ ! "$folder/package-lock.json" -nt "$installed" ] && exit 0
echo "Installing the npm packages of $folder" >&2
npm ci --prefix "$folder" --no-audit --no-fund >&2
touch "$installed"
