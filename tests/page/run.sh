#!/bin/sh
# run.sh FOLDER TEST HALTER SITE GUEST [BROWSER]: one of the staged tests, as TAP. What it needs and
# has not got is a failure that says so, never a skip.
set -eu
HALTER=$(realpath "$3") SITE=$(realpath "$4") GUEST=$(realpath "$5") BROWSER=${6:-chromium}
export HALTER SITE GUEST BROWSER
cd "$1"
[ -e "$GUEST/vmlinux-686" ] || { echo "Bail out! $GUEST has no guests: make guest builds them"; exit 1; }
exec node --test --test-reporter=tap "$2"
