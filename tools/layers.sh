#!/bin/sh
# layers.sh [--check]: SECURITY.md's table of layers from src/helper/confine.def. With --check only
# says whether the table is that of the file; otherwise writes it.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    printf '<!-- layers: begin -->\n| layer | floor | since Linux | stops | shown by |\n|---|---|---|---|---|\n'
    sed -n 's/^CONFINE_LAYER(\([A-Z_]*\), \([01]\), "\([^"]*\)", "\([^"]*\)", "\([^"]*\)")$/\1|\2|\3|\4|\5/p' \
        src/helper/confine.def |
        awk -F'|' '{ gsub("_", "-", $1)
            printf "| %s | %s | %s | %s | %s |\n", tolower($1), $2 ? "yes" : "", $3, $4, $5 }'
    echo '<!-- layers: end -->'
} > "$work/table"
[ "$(grep -c '^CONFINE_LAYER' src/helper/confine.def)" -eq "$(($(wc -l < "$work/table") - 4))" ]
awk -v table="$work/table" '
    /^<!-- layers: begin -->$/ { while ((getline line < table) > 0) print line; skip = 1 }
    !skip { print }
    /^<!-- layers: end -->$/ { skip = 0 }' SECURITY.md > "$work/page"
if [ "${1:-}" = --check ]; then
    diff -u SECURITY.md "$work/page"
else
    cp "$work/page" SECURITY.md
fi
