#!/bin/sh
# programs.sh HALTER GUEST NODE CLI WASM [PROGRAM…]: the guest's programs give what they give on this
# processor: the same file, run here and in the PC, natively and as wasm. Without a name, those that
# are done soon; "all" takes minutes.
set -u
halter=$1 guest=$2 node=$3 cli=$4 wasm=$5
shift 5
# Those that start /bin/nop, the guest's shell or its gzip have nothing to be compared with here.
elsewhere='forkexec|sh|gzip'
if [ "${1:-}" = all ]; then
    programs=$("$guest/programs/bench" | grep -vxE "$elsewhere")
else
    programs=${*:-int div64 qsort x87mandel smc repmovs}
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
results() {
    tr -d '\r' | sed -n 's/^RESULT \([^ ]*\) [^ ]* \([0-9a-f]*\)$/\1 \2/p'
}
number=0
verdict() { # NAME FILE
    number=$((number + 1))
    if [ -s "$work/processor" ] && cmp -s "$work/processor" "$2"; then
        echo "ok $number - $1"
    else
        echo "not ok $number - $1"
        diff "$work/processor" "$2" | sed 's/^/# /'
        failed=1
    fi
}
failed=0
echo 1..2
# shellcheck disable=SC2086
"$guest/programs/bench" $programs | results > "$work/processor"
set -- boot "$guest/vmlinux-686" --initrd "$guest/initramfs-bench.cpio.gz" --until '# ' \
    --send "bench $(echo $programs)\\n" --until BENCH-DONE --timeout 1800
"$halter" "$@" < /dev/null 2> "$work/errors" | results > "$work/native"
verdict 'natively' "$work/native"
"$node" "$cli" "$@" --wasm "$wasm" < /dev/null 2>> "$work/errors" | results > "$work/wasm"
verdict 'as wasm' "$work/wasm"
sed 's/^/# /' "$work/errors"
exit $failed
