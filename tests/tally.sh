# Sourced by scripts that run programs which print "ok - " and "not ok - ".
passed=0
failed=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# tally STATUS TITLE: count the cases in $log. A program that ended early
# counts as one more failure.
tally() {
    local n_ok n_bad
    n_ok=$(grep -c '^ok - ' "$log")
    n_bad=$(grep -c '^not ok - ' "$log")
    if [ "$1" -ne 0 ] && [ "$n_bad" -eq 0 ]; then
        n_bad=1
    fi
    passed=$((passed + n_ok))
    failed=$((failed + n_bad))
    echo "$2: $n_ok passed, $n_bad failed"
    if [ "$n_bad" -gt 0 ] || [ "$n_ok" -eq 0 ]; then
        echo "exit status $1"
        grep -v '^ok - ' "$log" | head -20
    fi
}
