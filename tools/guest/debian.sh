# debian.sh: single packages of Debian's i386 architecture, without telling the machine about it.
#
# Sourced by the recipes. Adding i386 to the system's own apt would change what every later
# update fetches (and fails on); instead this keeps a private apt state in the cache folder. The
# addresses are the ones the machine already uses, so mirrors and snapshots keep working. No root.

# debian_init CACHE: makes the state there, or brings it up to date once a day.
debian_init() {
    debian_cache=$1
    mkdir -p "$debian_cache/state/lists/partial" "$debian_cache/apt/archives/partial" \
        "$debian_cache/packages"
    : >"$debian_cache/state/status"
    debian_sources >"$debian_cache/sources.list.new"
    if ! cmp -s "$debian_cache/sources.list.new" "$debian_cache/sources.list" ||
        [ -z "$(find "$debian_cache/updated" -mtime -1 2>/dev/null)" ]; then
        mv "$debian_cache/sources.list.new" "$debian_cache/sources.list"
        debian_apt apt-get update -qq
        touch "$debian_cache/updated"
    fi
    rm -f "$debian_cache/sources.list.new"
}

# The main archive among the machine's own sources, in both formats apt knows. The security archive
# is left out: its i386 index is the one that mirrors serve broken.
debian_sources() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null |
        grep -v security | sed -n 's/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*debian[^ ]*\)  *\([^ ]*\)  *main.*/deb [arch=i386] \2 \3 main/p'
    cat /etc/apt/sources.list.d/*.sources 2>/dev/null | awk '
        function flush_stanza(   i, j, n, m, u, s) {
            if (types ~ /(^| )deb( |$)/ && components ~ /(^| )main( |$)/ && enabled != "no") {
                n = split(uris, u, " ")
                m = split(suites, s, " ")
                for (i = 1; i <= n; i++)
                    for (j = 1; j <= m; j++)
                        if (u[i] ~ /debian/ && u[i] !~ /security/)
                            print "deb [arch=i386" \
                                (signed ~ /^\// ? " signed-by=" signed : "") "] " u[i], s[j], "main"
            }
            types = uris = suites = components = signed = enabled = ""
        }
        /^#/ { next }
        /^[ \t]*$/ { flush_stanza(); next }
        { key = tolower($1); value = $0; sub(/^[^:]*:[ \t]*/, "", value) }
        key == "types:" { types = value }
        key == "uris:" { uris = value }
        key == "suites:" { suites = value }
        key == "components:" { components = value }
        key == "signed-by:" { signed = value }
        key == "enabled:" { enabled = tolower(value) }
        END { flush_stanza() }'
}

# debian_apt COMMAND…: an apt command on the private state.
debian_apt() {
    command=$1
    shift
    "$command" \
        -o APT::Architecture=i386 -o APT::Architectures=i386 \
        -o APT::Get::List-Cleanup=1 -o APT::Sandbox::User= \
        -o APT::Update::Post-Invoke::= -o APT::Update::Post-Invoke-Success::= \
        -o Dir::State="$debian_cache/state" -o Dir::State::status="$debian_cache/state/status" \
        -o Dir::Cache="$debian_cache/apt" \
        -o Dir::Etc::sourcelist="$debian_cache/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        "$@"
}

# debian_fetch PACKAGE: prints the path of the newest .deb, downloading it when it is not here.
debian_fetch() {
    uri=$(debian_apt apt-get download --print-uris "$1" | sed -n "s/^'[^']*' \([^ ]*\) .*/\1/p")
    [ -n "$uri" ] || {
        echo "no package $1" >&2
        return 1
    }
    if [ ! -s "$debian_cache/packages/$uri" ]; then
        (cd "$debian_cache/packages" && debian_apt apt-get download -qq "$1" >&2) || return 1
    fi
    echo "$debian_cache/packages/$uri"
}

# debian_depends PACKAGE PATTERN: the first dependency whose name matches; a metapackage's point.
debian_depends() {
    debian_apt apt-cache depends "$1" | sed -n 's/^ *Depends: //p' | grep -m1 "$2"
}
