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
            HALTER_LAUNCHER=${HALTER_LAUNCHER:-$(dirname "$HALTER")/halter-launcher} "./$block.exe");"
    done
    expect outputs "$outputs" 'shout.js says "HELLO";2;'
}

# The names in bold under a heading of halter-plugin(5), one a line.
bold_under() {
    sed -n "/^# $1\$/,/^# /p" "$man/halter-plugin.5.scd" | grep '^\*[A-Za-z]*\* \*' |
        grep -oE '\*[A-Za-z]+\*' | tr -d '*'
}

case_a_plugins_world_is_as_told() {
    echo 'globalThis.transform = name => [name, name in globalThis];' > world.js
    bold_under 'WHAT THERE IS' > there
    bold_under 'WHAT THERE IS NOT' > not-there
    [ "$(wc -l < there)" -ge 15 ] && [ "$(wc -l < not-there)" -ge 8 ]
    { sed 's/.*/"&"/' there not-there; } | { halter_run world.js > out; expect_status 0; }
    { sed 's/.*/["&",true]/' there; sed 's/.*/["&",false]/' not-there; } > wanted
    diff wanted out | sed 's/^/# /'
    cmp wanted out
}

case_a_plugins_results_are_as_told() {
    plugin results << 'JS'
const loop = {}; loop.self = loop;
const cases = [
  () => {}, () => null, () => [NaN, -Infinity, -0, 2 ** 53], () => ({ a: undefined, b: () => 1, c: [undefined] }),
  () => new Date(0), () => new Uint8Array([7]), () => Promise.resolve('later'),
  () => new Promise(done => setTimeout(() => done('timer'), 5)),
  () => new Map(), () => new Set(), () => /x/, () => new Error('x'), () => [() => 1][0], () => Symbol('s'),
  () => ({ items: [0, 1, 2, 10n] }), () => loop, () => new Promise(() => {}), () => { const f = () => f() + 1; return f(); },
];
globalThis.transform = n => cases[n]();
JS
    seq 0 17 > in
    halter_run -e null --dead-letter dead results.js in > out
    expect_status 1
    expect results "$(head -n 7 out)" 'null
[null,null,0,9007199254740992]
{"c":[null]}
"1970-01-01T00:00:00.000Z"
{"0":7}
"later"
"timer"'
    expect reasons "$(sed -n 's/.*"reason":"\([A-Z]*\)".*/\1/p' dead | uniq -c | tr -s ' \n' ' ')" \
        ' 8 ERESULT 1 EPENDING 1 ESCRIPT '
    grep -qF '$.items[3]' dead
}

case_the_shell_example_is_true() {
    echo 'globalThis.transform = (raw, ctx) => ({ ...raw, text: raw.text.toUpperCase() });' > shout.js
    grep -qF "$(cat shout.js)" "$man/halter.1.scd"
    echo '{"text":"hello"}' | { halter_run shout.js > out; expect_status 0; }
    expect output "$(cat out)" '{"text":"HELLO"}'
}

run_cases
