# Sourced by scripts that run programs which print "ok - " and "not ok - ".
# TESTS_AT_ONCE: how many run beside each other; as many as there are cores
at_once=${TESTS_AT_ONCE:-$(nproc)}
passed=0
failed=0
titles=()
counted=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# beside TITLE COMMAND...: run it beside others. Its cases are counted when it
# and all before it have ended.
beside() {
    while [ "$(jobs -pr | wc -l)" -ge "$at_once" ]; do
        wait -n
    done
    collect
    log_of "${#titles[@]}" "${@:2}" &
    titles+=("$1")
}

# settle: wait for all of them.
settle() {
    wait
    collect
}

# log_of NUMBER COMMAND...
log_of() {
    local start=${EPOCHREALTIME/./} status
    "${@:2}" >"$work/$1" 2>&1
    status=$?
    echo "$status $(((${EPOCHREALTIME/./} - start) / 100000))" >"$work/$1.part"
    mv "$work/$1.part" "$work/$1.end"
}

collect() {
    local status tenths
    while [ -e "$work/$counted.end" ]; do
        read -r status tenths <"$work/$counted.end"
        tally "$status" "${titles[counted]}" \
            "$((tenths / 10)).$((tenths % 10)) s" "$work/$counted"
        rm "$work/$counted"
        counted=$((counted + 1))
    done
}

# tally STATUS TITLE TIME LOG: count the cases. A program that ended early
# counts as one more failure.
tally() {
    local n_ok n_bad
    n_ok=$(grep -c '^ok - ' "$4")
    n_bad=$(grep -c '^not ok - ' "$4")
    if [ "$1" -ne 0 ] && [ "$n_bad" -eq 0 ]; then
        n_bad=1
    fi
    passed=$((passed + n_ok))
    failed=$((failed + n_bad))
    sed -nE "s/^(ok|not ok) - (#[0-9]+ )?/&${2%% *}: /p" "$4" | sed -E 's/- #[0-9]+ /- /'
    if [ "$n_bad" -gt 0 ] || [ "$n_ok" -eq 0 ]; then
        echo "exit status $1"
        grep -v '^ok - ' "$4" | head -20
    fi
}
