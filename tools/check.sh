#!/bin/bash
# Everything that has to hold before a change is good, in one go:
#
#   1  gcc:    the build without a warning, all tests as root (if we are) and unprivileged (those of
#              the suite `long` once)
#   2  clang:  the same, unprivileged
#   3  clang with AddressSanitizer and UndefinedBehaviorSanitizer: all tests that can run so
#   4  the declarations for TypeScript, held against its compiler
#   5  the fuzzers: frames for a minute, the others for a third of one
#
# Every TAP case of every run is counted; the failing ones are listed with their output, and the
# last line is "N passed, N failed". The exit status is 0 only when nothing failed. Takes the names
# of parts ("gcc clang sanitizers types fuzz") to run only these.
set -u
cd "$(dirname "$0")/.." || exit 1
parts=${*:-gcc clang sanitizers types fuzz}
nobody=65534

# An unprivileged user must be able to read the sources: where it cannot (below /root, say), all of
# this happens in a copy.
if [ "$(id -u)" -eq 0 ] && ! setpriv --reuid $nobody --regid $nobody --clear-groups \
    test -r "$PWD/meson.build"; then
    copy=$(mktemp -d /tmp/halter-check-XXXXXX)
    chmod 755 "$copy"
    echo "The sources are not readable for an unprivileged user: checking a copy in $copy"
    tar --exclude=./build --exclude='./build-*' --exclude=./.git -cf - . | tar -C "$copy" -xf - || exit 1
    PATH=${PATH#"$PWD/build-node/bin:"} "$copy/tools/check.sh" "$@"
    status=$?
    rm -rf "$copy"
    exit $status
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
began=$(date +%s)

say() { printf '[%4d s] %s\n' $(($(date +%s) - began)) "$*"; }

fail() {
    failed=$((failed + 1))
    { echo "not ok: $1"; [ -z "${2:-}" ] || sed 's/^/    /' "$2"; } >> "$work/failures"
    say "FAILED: $1"
}

# Counts the cases in one run's testlog.json. A test that ended badly with no failing case of its
# own (a crash, a timeout, a plan that was not kept) counts as one failure.
count() {
    local log=$1 run=$2
    [ -s "$log" ] || { fail "$run: no test log"; return; }
    python3 - "$log" "$run" "$work" << 'EOF_PYTHON'
import json, re, sys
log, run, work = sys.argv[1:]
passed = failed = 0
with open(work + '/failures', 'a') as out:
    for line in open(log):
        test = json.loads(line)
        text = test.get('stdout') or ''
        good = len(re.findall(r'(?m)^ok\b', text))
        bad = len(re.findall(r'(?m)^not ok\b', text))
        ended_well = test['result'] in ('OK', 'EXPECTEDFAIL')
        if not good and not bad:
            good = int(ended_well)  # a test that has one verdict and speaks no TAP
        if not ended_well and not bad:
            bad = 1
        passed, failed = passed + good, failed + bad
        if bad or not ended_well:
            out.write(f"not ok: {run}: {test['name']} ({test['result']})\n")
            whole = text + '\n' + (test.get('stderr') or '')
            out.write(''.join(f'    {l}\n' for l in whole.strip().splitlines()[-200:]))
open(work + '/counts', 'w').write(f'{passed} {failed}')
EOF_PYTHON
    local good bad
    read -r good bad < "$work/counts"
    passed=$((passed + good)) failed=$((failed + bad))
    say "$run: $good passed, $bad failed"
}

configure() { # FOLDER COMPILER OPTION...
    local folder=$1 compiler=$2
    shift 2
    [ -d "$folder/meson-info" ] && rm -rf "$folder"
    CC=$compiler meson setup "$folder" "$@" > "$work/log" 2>&1 || { fail "$folder: meson setup" "$work/log"; return 1; }
}

build() {
    say "$1: building"
    ninja -C "$1" > "$work/log" 2>&1 || { tail -n 40 "$work/log" > "$work/tail"; fail "$1: build" "$work/tail"; return 1; }
}

# The PC's guests, once for all build folders (tools/guest/make.sh).
guest() { # FOLDER
    say "the PC's guests"
    tools/guest/make.sh build-guest "$1/halter" > "$work/log" 2>&1 || fail "the PC's guests" "$work/log"
}

# A few tests that failed among many are run once more, alone: on a machine that others load a clock
# may run out that has nothing to do with the change. What passes only then is said, and is to be
# mended; what fails again has failed.
again() { # LOG NAME COMMAND...
    local log=$1 name=$2 failed
    shift 2
    mapfile -t failed < <(python3 -c '
import json, sys
for line in open(sys.argv[1]):
    test = json.loads(line)
    if test["result"] not in ("OK", "EXPECTEDFAIL"):
        print(test["name"].split(" / ", 1)[-1])' "$log" 2> /dev/null)
    [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le 5 ] || return 0
    say "$name: once more, alone: ${failed[*]}"
    cp "$log" "$work/first.json"
    "$@" --num-processes 1 "${failed[@]}" > "$work/log" 2>&1
    python3 - "$work/first.json" "$log" << 'EOF_PYTHON'
import json, sys
first, second = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
anew = {test['name']: test for test in second}
with open(sys.argv[2], 'w') as out:
    for test in first:
        other = anew.get(test['name'])
        bad = test['result'] not in ('OK', 'EXPECTEDFAIL')
        if bad and other and other['result'] == 'OK':
            print(f"          passed only when run alone: {test['name']}")
        out.write(json.dumps(other if bad and other else test) + '\n')
EOF_PYTHON
}

# Runs all tests of a build folder as user $2. Meson's own files have to be writable for that user,
# so an unprivileged run gets a log folder of its own.
run_tests() { # FOLDER root|nobody NAME [MESON OPTION...]
    local folder=$1 user=$2 name=$3
    shift 3
    say "$name: testing"
    local command=(meson test -C "$folder" --no-rebuild --logbase "$user" --print-errorlogs "$@")
    if [ "$user" = nobody ] && [ "$(id -u)" -eq 0 ]; then
        chown -R $nobody:$nobody "$folder/meson-logs" "$folder/meson-private"
        command=(setpriv --reuid $nobody --regid $nobody --clear-groups env HOME=/nonexistent
                 TMPDIR="$work/tmp" "${command[@]}")
        mkdir -p "$work/tmp"
        chmod 755 "$work"
        chown $nobody:$nobody "$work/tmp"
    fi
    "${command[@]}" > "$work/log" 2>&1 &
    local pid=$!
    while kill -0 $pid 2> /dev/null; do # progress, for whoever is watching
        sleep 5
        [ -t 1 ] && printf '\r          %s\033[K\r' "$(grep -aE '^ *[0-9]+/[0-9]+' "$work/log" | tail -n 1)"
    done
    wait $pid
    again "$folder/meson-logs/$user.json" "$name" "${command[@]}"
    count "$folder/meson-logs/$user.json" "$name"
    [ "$(id -u)" -ne 0 ] || chown -R 0:0 "$folder/meson-logs" "$folder/meson-private"
}

fuzz() {
    # They are in the build with sanitizers, which is made here when that part was left out.
    case " $parts " in
    *" sanitizers "*) ;;
    *) configure build-asan clang -Dfuzz=true -Db_sanitize=address,undefined || return
       build build-asan || return ;;
    esac
    local target
    for target in $(find build-asan/tests -type f -perm -u+x -name 'fuzz-*'); do
        local name corpus
        name=$(basename "$target")
        corpus=$(find tests -type d -name "corpus-${name#fuzz-}" | head -n 1)
        local seconds=20
        [ "$name" = fuzz-frames ] && seconds=60
        say "$name: $seconds seconds"
        mkdir -p "$work/corpus-$name"
        if "$target" -max_total_time=$seconds -timeout=10 -rss_limit_mb=1024 "$work/corpus-$name" \
            ${corpus:+"$corpus"} > "$work/log" 2>&1; then
            passed=$((passed + 1))
            say "$name: $(sed -n 's/^Done \([0-9]*\) runs.*/\1 inputs, no finding/p' "$work/log")"
        else
            tail -n 60 "$work/log" > "$work/tail"
            fail "fuzzing $name" "$work/tail"
        fi
    done
}

PATH=$(tools/node.sh):$PATH || fail "Node 20"
tools/npm.sh web || fail "the npm packages of web/"
# A build without them leaves tests out: here that is a failure.
for tool in node npm clang-19 wasm-ld-19 chromium; do
    command -v $tool > /dev/null || fail "$tool is missing: the tests that need it would be left out"
done

for part in $parts; do
    case $part in
    gcc)
        configure build-gcc gcc && build build-gcc && {
            guest build-gcc
            [ "$(id -u)" -ne 0 ] || run_tests build-gcc root "gcc, as root"
            # Long ones once: where there is no run as root, here.
            [ "$(id -u)" -eq 0 ] && once=(--no-suite long) || once=()
            run_tests build-gcc nobody "gcc, unprivileged" "${once[@]}"
        }
        ;;
    clang)
        configure build-clang clang && build build-clang && guest build-clang &&
            run_tests build-clang nobody "clang, unprivileged" --no-suite long
        ;;
    sanitizers)
        # The engine reserves address space that the sanitizer's shadow wants: a test says for
        # itself, by the suite `no-sanitizer`, when it cannot run with it. The others have their
        # helpers from a launcher that was built without.
        [ -x build-clang/halter-launcher ] || { configure build-clang clang && build build-clang; }
        export HALTER_LAUNCHER=$PWD/build-clang/halter-launcher HALTER_TEST_LAUNCHER=$PWD/build-clang/halter-launcher
        configure build-asan clang -Dfuzz=true -Db_sanitize=address,undefined && build build-asan && {
            export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
            run_tests build-asan nobody "clang with sanitizers" --no-suite no-sanitizer --no-suite long --timeout-multiplier 4
            unset ASAN_OPTIONS UBSAN_OPTIONS
        }
        unset HALTER_LAUNCHER HALTER_TEST_LAUNCHER
        ;;
    types)
        say "declarations for TypeScript"
        if tests/types/run.sh > "$work/log" 2>&1; then
            passed=$((passed + $(grep -c '^ok' "$work/log")))
        else
            fail "declarations for TypeScript" "$work/log"
        fi
        ;;
    fuzz)
        fuzz
        ;;
    *)
        echo "check.sh: there is no part \"$part\": gcc clang sanitizers types fuzz" >&2
        exit 2
        ;;
    esac
done

if [ -s "$work/failures" ]; then
    echo
    cat "$work/failures"
fi
say "done"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
