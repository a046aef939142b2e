#!/bin/bash
# Each example plugin turns its sample input into its expected output, and the hosts keep their word.
. "$(dirname "$0")/lib.sh"
plugins=${EXAMPLES:?the folder of the examples}/plugins
built=${BUILT:?the folder of the built examples}

# check NAME INPUT OUTPUT [OPTION...]
check() {
    local name=$1 input=$2 output=$3
    shift 3
    halter_run "$@" "$plugins/$name.js" "$plugins/$input" > out
    expect_status 0
    diff -u "$plugins/$output" out | sed 's/^/# /'
    cmp "$plugins/$output" out
}

case_redact() {
    check redact redact.in.log redact.out.log --text
}
case_redact_with_several_guests() {
    check redact redact.in.log redact.out.log --text --jobs 3
}
case_status_line() {
    check status-line status-line.in.ndjson status-line.out.ndjson
}
case_audit_events() {
    check audit-events audit-events.in.ndjson audit-events.out.ndjson
}
case_access_log() {
    check access-log access-log.in.log access-log.out.ndjson --text
}
case_access_log_names_a_line_that_is_none() {
    { cat "$plugins/access-log.in.log"; echo "what is this"; } > in
    halter_run --text "$plugins/access-log.js" in > out
    expect_status 4
    expect_said 'in:4: .*SyntaxError: this line is not in the combined format'
}
case_dedupe() {
    check dedupe dedupe.in.ndjson dedupe.out.ndjson
}

case_embed_never_misses_a_beat() {
    "$built/embed" 4 > out || { sed 's/^/# /' out; exit 1; }
    grep -q ' 0 missed' out
    grep -q '^hangs .*process .* died: deadline' out
    grep -q '^hog .*process .* died: out of memory' out
}

case_embed_glib() {
    [ -x "$built/embed-glib" ] || { echo "# GLib was not there at build time"; return 0; }
    "$built/embed-glib" fr en > out
    expect output "$(tr '\n' ' ' < out)" '"Bonjour" "Good morning" '
    status=0
    "$built/embed-glib" xx > out 2> err || status=$?
    expect_status 1
    expect_said 'no greeting in xx'
}

run_cases
