#!/bin/bash
# The manual pages: they are well formed, they name all there is, and their examples compile.
. "$(dirname "$0")/lib.sh"
source=${SOURCE:?the top of the source tree}
pages=${PAGES:?the folder of the built pages}
man=$source/docs/man

case_no_page_has_an_error() {
    command -v mandoc > /dev/null || fail "mandoc is missing: tools/install-deps.sh installs it"
    for page in "$man"/*.scd; do
        mandoc -T lint -W error "$pages/$(basename "$page" .scd)" | sed 's/^/# /' > lint || true
        [ ! -s lint ] || { cat lint; exit 1; }
        grep -q '@[A-Z]*@' "$pages/$(basename "$page" .scd)" && fail "$page: a table is missing"
    done
    return 0
}

case_every_function_is_in_the_manual() {
    grep -oE 'HALTER_API [^;]*\bhalter_[a-z_]+\(' "$source/include/halter/halter.h" |
        grep -oE 'halter_[a-z_]+\($' | tr -d '(' | sort -u > functions
    [ "$(wc -l < functions)" -gt 30 ]
    while read -r name; do
        grep -q "$name(" "$man/halter.3.scd" || fail "halter(3) does not tell of $name()"
    done < functions
}

case_every_status_and_reason_is_in_the_manual() {
    sed -n 's/^HALTER_ERROR(\([A-Z]*\),.*/HALTER_\1/p' "$source/include/halter/errors.def" > names
    sed -n 's/^HALTER_DEATH_REASON(\([A-Z_]*\),.*/HALTER_DEATH_\1/p' \
        "$source/include/halter/death.def" >> names
    [ "$(wc -l < names)" -gt 30 ]
    while read -r name; do
        grep -q "^$name\$" "$pages/halter.3" || fail "halter(3) does not tell of $name"
    done < names
}

case_every_event_and_option_is_in_the_manual() {
    grep -oE 'HALTER_EVENT_[A-Z_]+' "$source/include/halter/halter.h" | sort -u > names
    sed -n '/^struct halter_options {/,/^};/p; /^struct halter_plugin_options {/,/^};/p' \
        "$source/include/halter/halter.h" | sed -z 's,/\*[^*]*\*/,,g' |
        grep -oE '[a-z_]+;' | tr -d ';' | grep -vx size >> names
    while read -r name; do
        grep -qE "\*$name\*" "$man/halter.3.scd" || fail "halter(3) does not tell of $name"
    done < names
}

case_every_verb_and_its_options_are_in_the_manual() {
    "$HALTER" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p' > verbs
    grep -qx run verbs
    while read -r verb; do
        [ -e "$man/halter-$verb.1.scd" ] || fail "there is no halter-$verb(1)"
        grep -q "^\*$verb\*" "$man/halter.1.scd" || fail "halter(1) does not tell of $verb"
        "$HALTER" "$verb" --help | grep -oE '^  .{0,4} *--[a-z-]+' | grep -oE -- '--[a-z-]+' > options
        while read -r option; do
            grep -qE "^\*.*${option}\*" "$man/halter-$verb.1.scd" ||
                fail "halter-$verb(1) does not tell of $option"
        done < options
        grep -oE '^\*-.*' "$man/halter-$verb.1.scd" | grep -oE -- '--[a-z-]+' | sort -u > told
        while read -r option; do
            grep -qx -- "$option" options || fail "halter-$verb(1) tells of $option, which is not there"
        done < told
    done < verbs
}

# The literal blocks of a page, each into a file of its own.
blocks() {
    awk '/^```/ { inside = !inside; if (inside) file = sprintf("block-%02d.c", ++n); next }
         inside { print > file }' "$1"
}

# A whole program or file begins with an include; a fragment is put into a function that has what
# the page's text talks about; the rest (diagrams, shell) is no C.
case_every_example_compiles() {
    blocks "$man/halter.3.scd"
    local compiled=0 block
    for block in block-*.c; do
        case $(head -n 1 "$block") in
        '#include'*) ;;
        struct*)
            { printf '#include <halter/halter.h>\n#include <stdio.h>\nvoid fragment(struct halter_guest *guest, halter_result_fn on_result, bool changed_my_mind);\nvoid fragment(struct halter_guest *guest, halter_result_fn on_result, bool changed_my_mind) {\n(void)guest; (void)on_result; (void)changed_my_mind;\n'
              cat "$block"; echo '}'; } > fragment && mv fragment "$block" ;;
        *) continue ;;
        esac
        ${CC:-cc} -std=gnu17 -Wall -Wextra -Wno-missing-prototypes -I"$source/include" -c "$block" \
            -o "$block.o" 2> errors || { sed 's/^/# /' errors; fail "$block does not compile"; }
        compiled=$((compiled + 1))
    done
    [ $compiled -ge 6 ] || fail "only $compiled examples were found"
}

case_the_first_programs_run() {
    blocks "$man/halter.3.scd"
    echo 'globalThis.transform = text => text.toUpperCase();' > shout.js
    local block outputs=
    for block in block-*.c; do
        grep -q 'int main' "$block" || continue
        # shellcheck disable=SC2086
        ${CC:-cc} ${EXAMPLE_FLAGS:-} -std=gnu17 -I"$source/include" "$block" \
            -L"$(dirname "$HALTER")" -lhalter -o "$block.exe"
        outputs="$outputs$(LD_LIBRARY_PATH=$(dirname "$HALTER") \
            HALTER_LAUNCHER=$(dirname "$HALTER")/halter-launcher "./$block.exe");"
    done
    expect outputs "$outputs" 'shout.js says "HELLO";2;'
}

case_the_shell_example_is_true() {
    echo 'globalThis.transform = (raw, ctx) => ({ ...raw, text: raw.text.toUpperCase() });' > shout.js
    grep -qF "$(cat shout.js)" "$man/halter.1.scd"
    echo '{"text":"hello"}' | { halter_run shout.js > out; expect_status 0; }
    expect output "$(cat out)" '{"text":"HELLO"}'
}

run_cases
