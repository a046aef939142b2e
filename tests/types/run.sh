#!/bin/sh
# Holds share/*.d.ts against the compiler: what a plugin may write compiles (right.ts, also beside the
# declarations of a browser), each mistake in wrong.ts is one, and the example plugins pass as they
# are. Speaks TAP. The compiler comes from npm, by the lock file, once.
set -eu
cd "$(dirname "$0")"
[ -x node_modules/.bin/tsc ] || npm ci --no-audit --no-fund > /dev/null
echo 1..3
failed=0
for project in tsconfig tsconfig.dom tsconfig.examples; do
    if said=$(node_modules/.bin/tsc -p $project.json --pretty false); then
        echo "ok - $project"
    else
        printf '%s\n' "$said" | sed 's/^/# /'
        echo "not ok - $project"
        failed=1
    fi
done
exit $failed
