#!/bin/bash
# halter check, and what halter run lets a plugin do: manifests, grants and where they are looked for.
. "$(dirname "$0")/lib.sh"
source=${SOURCE:?the top of the source tree}

halter_check() {
    status=0
    "$HALTER" check "$@" > out 2> err || status=$?
}

# The plugin of the manual's example, from the manual itself.
link_preview() {
    mkdir link-preview
    awk '/^```/ { inside = !inside; next } inside { print } /^# MEMBERS/ { exit }' \
        "$source/docs/man/halter-permissions.5.scd" > link-preview/plugin.json
    echo 'globalThis.transform = raw => Object.keys(host).sort().join(" ");' > link-preview/plugin.js
}

case_the_manuals_example_is_true() {
    link_preview
    halter_check link-preview --grant network:https://api.example.org
    expect_status 0
    awk '/^```/ { inside = !inside; next } inside && !/^\$/ { print }' \
        "$source/docs/man/halter-check.1.scd" > wanted
    expect "what the manual shows" "$(sed -n '1,9p' out)" "$(sed -n '1,9p' wanted)"
}

case_the_grants_file_of_the_manual_is_one() {
    link_preview
    awk '/^# GRANTS/ { there = 1 } there && /^```/ { inside = !inside; next } there && inside { print }
         /^# IN THE SCRIPT/ { exit }' "$source/docs/man/halter-permissions.5.scd" > grants.json
    halter_check link-preview --grants grants.json --strict
    expect_status 0
}

case_strict_wants_it_all() {
    link_preview
    halter_check link-preview/plugin.json --strict --grant state
    expect_status 1
    halter_check link-preview/plugin.json --strict --grant all
    expect_status 0
}

case_faults_have_a_place() {
    mkdir p
    printf '{\n  "name": "p",\n  "nmae": 1\n}\n' > p/plugin.json
    halter_check p
    expect_status 3
    expect_said '^halter check: p/plugin.json:3:3: unknown member'
    halter_run p /dev/null
    expect_status 3
    expect_said '^halter run: p/plugin.json:3:3: unknown member'
    halter_check nowhere.json
    expect_status 3
    expect_said 'nowhere.json: No such file'
    echo '{"grants": {"p": ["state:rw"]}}' > grants.json
    link_preview
    sed -i 's/"p"/"link-preview"/' grants.json
    halter_check link-preview --grants grants.json
    expect_status 2
    expect_said 'grants.json:1:30: the grant "state:rw"'
    halter_check link-preview --grant state:rw
    expect_status 2
    halter_check
    expect_status 2
}

case_text_of_a_manifest_is_safe_for_a_terminal() {
    link_preview
    sed -i 's/to look up titles/\\u202e\\u009b31m/' link-preview/plugin.json
    halter_check link-preview
    expect_status 0
    grep -q 'u{202e}' out || fail "a character that reorders text came through"
    LC_ALL=C grep -q $'\xc2\x9b' out && fail "a control character came through"
    return 0
}

case_run_takes_a_folder_and_grants() {
    link_preview
    echo 1 | { halter_run link-preview > out; expect_status 0; }
    expect "without grants" "$(cat out)" '"locale log now"'
    echo 1 | { halter_run link-preview/plugin.json --grant all > out; expect_status 0; }
    expect "with all" "$(cat out)" '"fetch locale log now state"'
    echo 1 | { halter_run link-preview -g state:read -g network:evil.example > out; expect_status 0; }
    expect "with some" "$(cat out)" '"locale log now state"'
}

case_a_script_alone_has_what_is_granted() {
    echo 'globalThis.transform = raw => Object.keys(host).sort().join(" ");' > p.js
    echo 1 | { halter_run p.js -g state:read > out; expect_status 0; }
    expect "names" "$(cat out)" '"locale log now state"'
    echo 1 | { halter_run p.js -g all > out; expect_status 3; }
    expect_said 'needs a plugin.json'
    halter_check p.js
    expect_status 3
    expect_said 'bare script'
}

case_state_lasts_from_run_to_run() {
    cat > count.js <<'JS'
globalThis.transform = async () => {
    for (;;) {
        const n = await host.state.get("n");
        if (await host.state.swap("n", n, (n ?? 0) + 1)) return n ?? 0;
    }
};
JS
    for run in 1 2; do
        seq 50 | { halter_run count.js --jobs 4 -g state --state s.db > out$run; expect_status 0; }
    done
    expect "numbers of both runs" "$(cat out1 out2 | sort -n | tr '\n' ' ')" \
        "$(seq 0 99 | tr '\n' ' ')"
}

case_the_audit_says_what_was_done() {
    mkdir t
    echo hello > t/a.txt
    cat > read.js <<'JS'
globalThis.transform = async path => {
    try { return (await host.open(path)).read(); } catch (error) { return error.name; }
};
JS
    printf '"t/a.txt"\n"t/../x"\n"u"\n' |
        { halter_run read.js -g "files:t:read=$PWD/t" --audit > out; expect_status 0; }
    expect "results" "$(cat out)" "$(printf '"hello\\n"\n"DeniedError"\n"DeniedError"')"
    expect_said 'audit: host.open: allowed t/a.txt: for reading'
    expect_said 'audit: host.open: denied t/\.\./x: leads out of the tree'
    expect_said 'audit: host.open: denied u: it lies in no tree'
}

# Every name that the declarations for TypeScript give a plugin is there, members of classes too.
case_declared_names_exist() {
    names=$(sed -nE 's/^declare (var|function|class) ([A-Za-z]+).*/\2/p' "$source"/share/halter-world.d.ts)
    [ "$(echo $names | wc -w)" -ge 14 ] || fail "only these were found: $names"
    {
        echo 'const lost = [], at = (path, object, name) => { if (!(name in object)) lost.push(path + name) };'
        for name in $names; do echo "at('', globalThis, '$name');"; done
        awk '/^(interface Console|declare class|declare var [a-z]+: \{)/ {
                 owner = $0; sub(/^(interface|declare class|declare var) /, "", owner); sub(/[ :{].*/, "", owner)
                 class = /class/; next }
             /^}/ { owner = "" }
             owner && /^    (static |readonly )?[a-zA-Z]+[(<:]/ {
                 static = /^    static/; member = $0; sub(/^    (static |readonly )?/, "", member)
                 sub(/[(<:].*/, "", member); if (member == "constructor") next
                 if (owner == "Console") owner = "console"
                 print "at(\047" owner ".\047, " owner (class && !static ? ".prototype" : "") ", \047" member "\047);" }' \
            "$source"/share/halter-world.d.ts
        echo 'globalThis.transform = () => lost;'
    } > p.js
    [ "$(grep -c '^at(' p.js)" -ge 60 ] || fail "too few members: $(grep -c '^at(' p.js)"
    echo 1 | "$HALTER" run p.js > out 2> err || fail "$(cat err)"
    expect "declared and not there" "$(cat out)" '[]'
}

run_cases
