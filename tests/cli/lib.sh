# What the shell tests of the command share; source it, write functions, end with `run_cases`.
#
# Each function called case_... is one TAP case, run in a folder of its own and a subshell: it fails
# at the first command that fails. HALTER is the command under test.
set -u
HALTER=${HALTER:?the path of the halter command}
export LC_ALL=C.UTF-8

# Runs the command with no terminal, keeping its exit status in $status and its messages in "err".
halter_run() {
    status=0
    "$HALTER" run "$@" 2> err || status=$?
}

fail() {
    echo "# $*"
    exit 1
}

# expect WHAT GOT WANTED
expect() {
    [ "$2" = "$3" ] && return
    echo "# $1: got"
    printf '%s\n' "$2" | head -c 2000 | sed 's/^/#   /'
    echo "# and not"
    printf '%s\n' "$3" | head -c 2000 | sed 's/^/#   /'
    [ ! -s err ] || sed 's/^/#   stderr: /' err | head -n 20
    exit 1
}

# expect_status WANTED: of the last halter_run
expect_status() {
    expect "exit status" "$status" "$1"
}

# expect_said PATTERN: a line of the messages matches it (grep -E)
expect_said() {
    grep -qE -- "$1" err && return
    echo "# nothing on standard error matches: $1"
    sed 's/^/#   /' err | head -n 20
    exit 1
}

# Runs a shell command on a terminal; what it shows goes into the file "typescript".
on_terminal() {
    TERM=xterm script -qefc "$1" typescript < /dev/null > /dev/null
}

# Waits until the command given succeeds, for ten seconds at the most.
wait_for() {
    local tries=0
    until "$@" 2> /dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 500 ] || fail "waited in vain for: $*"
        sleep 0.02
    done
}

# Runs the command as halter_run does, in place of a subshell whose number goes into the file "pid":
# for cases that run it inside a pipeline.
exec_noting_pid() {
    echo "$BASHPID" > pid
    exec "$HALTER" run "$@" 2> err
}

# The helper, among those of a running command, that has used the processor most.
busiest_helper() {
    local launcher helper
    launcher=$(pgrep -P "$1")
    for helper in $(pgrep -P "$launcher"); do
        awk -v pid="$helper" '{ print $14 + $15, pid }' "/proc/$helper/stat"
    done | sort -rn | head -n 1 | cut -d' ' -f2
}

# A plugin called NAME.js from standard input; `echo_plugin` gives back what it gets.
plugin() {
    cat > "$1.js"
}
echo_plugin() {
    echo 'globalThis.transform = raw => raw;' > echo.js
}

run_cases() {
    local cases number=0 bad=0 name
    cases=$(declare -F | sed -n 's/^declare -f \(case_.*\)/\1/p')
    # shellcheck disable=SC2086
    set -- $cases
    echo "1..$#"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    for name in "$@"; do
        number=$((number + 1))
        mkdir "$work/$name"
        # Nothing that a case started outlives it: it would hold our output open.
        if (cd "$work/$name" && trap 'kill $(jobs -p) 2> /dev/null || true' EXIT && set -e &&
            "$name") < /dev/null; then
            echo "ok $number - ${name#case_}"
        else
            echo "not ok $number - ${name#case_}"
            bad=$((bad + 1))
        fi
    done
    [ $bad -eq 0 ]
}
