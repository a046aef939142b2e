#!/bin/sh
# stage.sh PACKAGE SITE STAMP: the page in the folder SITE, ready to be served: its own files, the npm
# package beside them, and the terminal as npm has it, pinned by package-lock.json. Imports by name
# become paths: a browser needs no bundler for that.
set -eu
package=$(realpath "$1")
site=$(realpath -m "$2")
stamp=$(realpath -m "$3")
cd "$(dirname "$0")"

modules=$site.modules
if ! cmp -s package-lock.json "$modules/package-lock.json"; then
    rm -rf "$modules"
    mkdir -p "$modules"
    cp package.json .npmrc "$modules"
    cp package-lock.json "$modules/wanted"
    (cd "$modules" && cp wanted package-lock.json && npm ci --ignore-scripts --silent) || {
        rm -rf "$modules"
        echo "The page's terminal (xterm.js) cannot be installed: npm ci failed" >&2
        exit 1
    }
fi

rm -rf "$site.new"
mkdir -p "$site.new/vendor"
cp index.html page.css icon.svg machines.json "$site.new"
for script in *.js; do
    sed -E "s,from 'halter/pc',from './halter/pc.js',; s,from '@xterm/(addon-)?([a-z]+)',from './vendor/\1\2.mjs'," \
        "$script" > "$site.new/$script"
done
cp -R "$package" "$site.new/halter"
for name in xterm addon-fit; do
    grep -v '^//# sourceMappingURL=' "$modules/node_modules/@xterm/$name/lib/$name.mjs" > "$site.new/vendor/$name.mjs"
    cp "$modules/node_modules/@xterm/$name/LICENSE" "$site.new/vendor/$name.LICENSE.txt"
done
cp "$modules/node_modules/@xterm/xterm/css/xterm.css" "$site.new/vendor"
chmod -R a+rX "$site.new"
rm -rf "$site"
mv "$site.new" "$site"
: > "$stamp"
