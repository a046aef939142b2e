#!/bin/sh
# Makes one manual page: man.sh SOURCE VERSION INCLUDE WIRE OUTPUT
#
# The tables in the pages are made from the same .def files as the code: @ERRORS@, @DEATHS@ and
# @FRAMES@ in a source stand for them.
set -eu
source=$1 version=$2 include=$3 wire=$4 output=$5

# The rows of a .def file, MACRO(NAME, number, ..., "text"), as one of scdoc's tables. $1 is the
# file, $2 the heading, and $3 an awk expression for the middle column over name, number, rest.
table() {
    awk -v heading="$2" '
        BEGIN { print heading }
        /^[A-Z_]+\(/ {
            body = $0
            sub(/^[A-Z_]+\(/, "", body)
            sub(/\)$/, "", body)
            text = body
            sub(/^[^"]*"/, "", text)
            gsub(/\\/, "", text)
            name = number = body
            sub(/,.*/, "", name)
            sub(/^[^,]*, */, "", number)
            rest = number
            sub(/,.*/, "", number)
            sub(/^[^,]*, */, "", rest)
            '"$3"'
        }' "$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
table "$include/errors.def" '[[ *Name*
:[ *Number*
:[ *Meaning*' '
    sub(/"$/, "", text)
    printf "|  HALTER_%s\n:  %s\n:  %s\n", name, number, text' > "$work/ERRORS"
table "$include/death.def" '[[ *Name*
:[ *Reason*
:[ *Evidence*' '
    word = text; sub(/".*/, "", word)
    evidence = text; sub(/^[^"]*", *[0-9]*, *"/, "", evidence); sub(/"$/, "", evidence)
    printf "|  HALTER_DEATH_%s\n:  %s\n:  %s\n", name, word, evidence' > "$work/DEATHS"
table "$wire/frame.def" '[[ *Type*
:[ *Number*
:[ *Goes*
:[ *Largest body*
:[ *What it is*' '
    split(rest, part, /, */)
    way = part[1] == "IN" ? "in" : part[1] == "OUT" ? "out" : "both"
    largest = part[2] == "CAP" ? "the cap" : part[2]
    sub(/"$/, "", text)
    printf "|  %s\n:  %s\n:  %s\n:  %s\n:  %s\n", name, number, way, largest, text' > "$work/FRAMES"

sed -e "s/@VERSION@/$version/" \
    -e "/^@ERRORS@\$/{r $work/ERRORS
d}" -e "/^@DEATHS@\$/{r $work/DEATHS
d}" -e "/^@FRAMES@\$/{r $work/FRAMES
d}" "$source" > "$work/page.scd"
scdoc < "$work/page.scd" > "$work/page"
mv "$work/page" "$output"
