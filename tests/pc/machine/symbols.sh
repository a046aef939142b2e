#!/bin/sh
# symbols.sh LIBRARY…: the PC asks for nothing beyond mem* and str*: no system call, no C library;
# and it has no variable of its own, so that two machines of one process never meet.
work=$(mktemp)
trap 'rm -f "$work"' EXIT
count=0

# What no library of these defines: all but mem*, str* and the compiler's own arithmetic.
nm "$@" | awk 'NF == 3 { print $3 }' | sort -u >"$work"
asks_for_nothing() {
    nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u | comm -23 - "$work" |
        grep -vE '^(mem(cpy|move|set|cmp)|str(len|cmp|chr))$' |
        grep -vE '^(_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__[a-z]*[dt]i[34])$'
}

# Constant tables with addresses in them are .data.rel.ro: only written while the program starts.
has_no_variables() {
    objdump -h "$1" | awk '$2 ~ /^\.(data|bss|tdata|tbss)/ && $2 !~ /^\.data\.rel\.ro/ &&
        $3 !~ /^0+$/ { print $2, $3 }'
}

verdict() { # NAME FOUND
    found=$2
    count=$((count + 1))
    [ -z "$found" ] || printf 'not '
    echo "ok $count - $1"
    [ -z "$found" ] || echo "$found" | sed 's/^/# /'
}

for library in "$@"; do
    name=$(basename "$library")
    verdict "$name needs no C library" "$(asks_for_nothing "$library")"
    verdict "$name has no variables" "$(has_no_variables "$library")"
done
echo "1..$count"
