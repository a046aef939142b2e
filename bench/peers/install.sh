#!/bin/sh
# Installs the peers beside this file, each by itself: one that does not build here keeps none of
# the others away. Without npm, or without its registry, those that are missing are left out.
set -u
cd "$(dirname "$0")"
command -v npm > /dev/null || { echo "bench: npm is missing: isolated-vm, QuickJS and Extism are left out" >&2; exit 1; }
mkdir -p node_modules
failed=0
for spec in $(node -p 'Object.entries(require("./package.json").dependencies).map(([n, v]) => n + "@" + v).join(" ")'); do
    echo "bench: npm installs $spec" >&2
    npm install --no-save --no-audit --no-fund --no-package-lock --prefix .peer-tmp "$spec" > install.log 2>&1 &&
        cp -r .peer-tmp/node_modules/. node_modules/ ||
        { echo "bench: npm could not install $spec (its registry cannot be reached, or it does not build here)" >&2; failed=1; }
    rm -rf .peer-tmp
done
rm -f install.log
[ "$failed" = 0 ] && touch node_modules/.complete
exit "$failed"
