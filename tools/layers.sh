#!/bin/sh
# layers.sh [--check]: SECURITY.md's tables: the layers, from src/helper/confine.def; the attacks from
# native code with what becomes of each, from the table that tests/js/confine_attacks.c tests; and
# what a passed descriptor gives with fewer layers, from that of tests/js/confine_files.c. With --check only says whether they are those of the files; otherwise writes them.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    printf '| layer | floor | since Linux | stops | shown by |\n|---|---|---|---|---|\n'
    sed -n 's/^CONFINE_LAYER(\([A-Z_]*\), \([01]\), "\([^"]*\)", "\([^"]*\)", "\([^"]*\)")$/\1|\2|\3|\4|\5/p' \
        src/helper/confine.def |
        awk -F'|' '{ gsub("_", "-", $1)
            printf "| %s | %s | %s | %s | %s |\n", tolower($1), $2 ? "yes" : "", $3, $4, $5 }'
} > "$work/layers"
{
    printf '| attack from native code | what becomes of it |\n|---|---|\n'
    sed -n '/expected\[\] = {/,/^};/s/^ *{"\([a-z0-9_]*\)", \([^,]*\), \([A-Z0-9]*\)},*$/\1~\2~\3/p' \
        tests/js/confine_attacks.c |
        awk -F'~' '{ gsub("_", " ", $1); sub(/^0x40000000 [|] SYS_/, "x32 ", $2); sub(/^SYS_/, "", $2)
            if ($2 == "LIVES") printf "| %s | refused: %s |\n", $1, $3
            else printf "| %s | killed, reported as `%s` |\n", $1, $2 }'
} > "$work/attacks"
{
    printf '| with a passed descriptor | no sandbox | Landlock | Landlock and the filter |\n|---|---|---|---|\n'
    sed -n '/ table\[\] = {/,/^};/s/^ *{"\([a-z0-9_]*\)", [A-Z_]*, \([A-Z_]*\), \([A-Z_]*\), \([A-Z_]*\)},*$/\1~\2~\3~\4/p' \
        tests/js/confine_files.c |
        awk -F'~' 'BEGIN { word["OK"] = "works"; word["KILLED"] = "killed"; word["AS_HERE"] = "as the machine has it" }
            { gsub("_", " ", $1); printf "| %s", $1
              for (i = 2; i <= 4; i++) printf " | %s", $i in word ? word[$i] : $i
              print " |" }'
} > "$work/descriptors"
[ "$(sed -n '/ table\[\] = {/,/^};/p' tests/js/confine_files.c | grep -c '^ *{"')" -eq \
    "$(($(wc -l < "$work/descriptors") - 2))" ]
[ "$(grep -c '^CONFINE_LAYER' src/helper/confine.def)" -eq "$(($(wc -l < "$work/layers") - 2))" ]
[ "$(sed -n '/expected\[\] = {/,/^};/p' tests/js/confine_attacks.c | grep -c '^ *{"')" -eq \
    "$(($(wc -l < "$work/attacks") - 2))" ]
awk -v work="$work" '
    /^<!-- [a-z]*: end -->$/ { skip = 0 }
    !skip { print }
    /^<!-- [a-z]*: begin -->$/ {
        file = work "/" substr($2, 1, length($2) - 1)
        while ((getline line < file) > 0) print line
        skip = 1
    }' SECURITY.md > "$work/page"
if [ "${1:-}" = --check ]; then
    diff -u SECURITY.md "$work/page"
else
    cp "$work/page" SECURITY.md
fi
