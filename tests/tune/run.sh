#!/usr/bin/env bash
# catena-bench --tune: what becomes of its file.
# usage: tests/tune/run.sh BUILD_DIR
set -u
prun=$1/tools/prun
bench=$1/tools/catena-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
file=$work/here.json
passed=0
failed=0

# tune PRUN-OPTIONS: a quick run
tune() {
    "$prun" --timeout 100 "$@" -x UCX_TLS=tcp,self "$bench" --tune "$file" \
        -m 8:64 -i 20 >"$work/log" 2>&1
}

# count PATTERN: lines of the file
count() {
    grep -c "$1" "$file"
}

# report NAME STATUS
report() {
    if [ "$2" -eq 0 ]; then
        echo "ok - $1"
        passed=$((passed + 1))
    else
        echo "not ok - $1"
        failed=$((failed + 1))
        tail -5 "$work/log"
        cat "$file"
    fi
}

tune -n 4 --ppn 2 && [ "$(count '"nodes": 2, "ppn": 2')" -ge 1 ]
report "rules for this layout" $?

sed -i 's/"algorithm": "[^"]*"/"algorithm": "morton"/' "$file"
tune -n 5 --ppn 3 && [ "$(count morton)" -ge 1 ] &&
    grep -m 1 '"algorithm"' "$file" | grep -q '"nodes": 2, "ppn": 3'
report "other layouts stay, new rules come first" $?

tune -n 4 --ppn 2 && [ "$(count morton)" -eq 0 ] &&
    [ "$(count '"ppn": 3')" -ge 1 ]
report "its own rules are replaced" $?

env CATENA_TUNING="$file" "$prun" --timeout 100 -n 4 --ppn 2 "$bench" \
    alltoall -m 8:64 -i 5 >"$work/log" 2>&1
report "the library takes the file" $?

echo '{"something": "else"}' >"$file"
! tune -n 2 && grep -q 'expected a tuning' "$work/log" &&
    [ "$(cat "$file")" = '{"something": "else"}' ]
report "what is no tuning is left alone" $?

[ "$(ls "$work" | sort | tr '\n' ' ')" = "here.json log " ]
report "no other files are left" $?

echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
