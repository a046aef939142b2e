#!/bin/sh
# rom.sh HALTER FOLDER SOURCES: the test ROM here against its expected text, and, where they are
# installed, under QEMU and Bochs, whose differences must all be in differences.txt.
#
# FOLDER has rom.elf, which is loaded here, and rom.bin, a BIOS image for the two others.
halter=$1
folder=$2
sources=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0

fail_with() { # NAME FILE
    count=$((count + 1))
    echo "not ok $count - $1"
    head -n 40 "$2" | sed 's/^/# /'
}

pass() {
    count=$((count + 1))
    echo "ok $count - $1"
}

# A serial port's text: without returns and what a port not yet set up sent.
clean() {
    tr -d '\r' <"$1" | sed -n '/test ROM$/,$p' >"$1.clean"
}

ours() {
    timeout 120 "$halter" boot "$folder/rom.elf" --icount=100 </dev/null >"$work/ours" 2>"$work/errors"
    clean "$work/ours"
    if diff "$sources/expected.txt" "$work/ours.clean" >"$work/log" 2>&1; then
        pass "the test ROM says what it should"
    else
        cat "$work/errors" >>"$work/log"
        fail_with "the test ROM says what it should" "$work/log"
    fi
}

# compare EMULATOR: $work/EMULATOR.clean with the expected text, case by case.
compare() {
    awk -F': ' -v emulator="$1" '
        FILENAME ~ /differences.txt$/ {
            split($0, part, " \\| ")
            if (part[1] == emulator)
                known[part[2]] = 1
            next
        }
        # The name ends at the last ": " before what came of it.
        {
            at = match($0, /: (through|#)[^:]*$/)
            name = at ? substr($0, 1, at - 1) : $0
            said = at ? substr($0, at + 2) : ""
            if (emulator == "qemu")
                sub(/ RF/, "", said)
            if (FILENAME ~ /expected.txt$/) {
                wanted[name] = said
                order[++cases] = name
            } else {
                got[name] = said
            }
        }
        END {
            for (i = 1; i <= cases; i++) {
                name = order[i]
                if (!(name in got)) {
                    print "no line: " name
                    wrong++
                } else if (got[name] != wanted[name] && !(name in known)) {
                    print name ": " wanted[name]
                    print "  " emulator ": " got[name]
                    wrong++
                }
            }
            exit wrong > 0
        }' "$sources/differences.txt" "$sources/expected.txt" "$work/$1.clean" >"$work/log"
    if [ $? -eq 0 ]; then
        pass "$1 differs only where it is known to"
    else
        fail_with "$1 differs only where it is known to" "$work/log"
    fi
}

# until_the_end FILE PID: the last line has come, or the process is gone, or a minute has passed.
until_the_end() {
    for _ in $(seq 600); do
        grep -q 'end of the test ROM' "$1" 2>/dev/null && return
        kill -0 "$2" 2>/dev/null || return
        sleep 0.1
    done
}

qemu() {
    qemu-system-i386 -display none -nodefaults -no-user-config -cpu coreduo -m 16 \
        -accel tcg -bios "$folder/rom.bin" -serial "file:$work/qemu" \
        -device isa-debug-exit,iobase=0xf4,iosize=4 </dev/null >"$work/errors" 2>&1 &
    emulator=$!
    until_the_end "$work/qemu" "$emulator"
    kill "$emulator" 2>/dev/null
    wait "$emulator" 2>/dev/null
    clean "$work/qemu"
    compare qemu
}

# Debian's Bochs wants a terminal, and its debugger a first command.
bochs_() {
    echo c >"$work/commands"
    cat >"$work/bochsrc" <<END
display_library: term
config_interface: textconfig
romimage: file=$folder/rom.bin, address=0xffff0000
megs: 16
cpu: model=core_duo_t2400_yonah, count=1, ips=2000000, reset_on_triple_fault=0, ignore_bad_msrs=0
com1: enabled=1, mode=file, dev=$work/bochs
boot: disk
log: /dev/null
panic: action=fatal
error: action=ignore
info: action=ignore
debug: action=ignore
END
    # Meson fills fresh memory with a pattern, and this Bochs reads some of it before it writes.
    TERM=xterm timeout 120 env -u MALLOC_PERTURB_ \
        script -qec "bochs -q -f $work/bochsrc -rc $work/commands" /dev/null \
        </dev/null >"$work/errors" 2>&1
    clean "$work/bochs"
    compare bochs
}

ours
if command -v qemu-system-i386 >/dev/null; then
    qemu
fi
if command -v bochs >/dev/null && command -v script >/dev/null; then
    bochs_
fi
echo "1..$count"
