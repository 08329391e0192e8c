#!/usr/bin/env bash
# Kills at random moments, including start-up: prun ends with the right code, and
# nothing stays behind. Bad settings: an error, not a hang.
# usage: tests/fault/kill.sh BUILD_DIR [ROUNDS]          KILL_SEED=N
set -u
# shellcheck source=tests/fault/job.sh
. "$(dirname "$0")/job.sh"
ranks=$build/tests/ranks/ranks
rounds=${2:-4}
seed=${KILL_SEED:-$RANDOM}
RANDOM=$seed
echo "# KILL_SEED=$seed"

# A rank has the job's name, unlike the guardian.
some_rank() {
    local file all=()
    for file in $(grep -lsz "PMIX_NAMESPACE=prun-$pid-" /proc/[0-9]*/environ); do
        all+=("${file//[!0-9]/}")
    done
    [ ${#all[@]} -gt 0 ] && victim=${all[RANDOM % ${#all[@]}]}
}

# kill_a_rank NAME PATTERN COMMAND...: some time after the output of PATTERN
kill_a_rank() {
    local layouts=("-n 4" "-n 6 --ppn 2" "-n 5 --ppn 3") layout
    [ "$rounds" -le 4 ] || layouts=("-n 6" "-n 16 --ppn 4" "-n 7 --ppn 3")
    layout=${layouts[RANDOM % 3]}
    # shellcheck disable=SC2086
    start $layout "${@:3}"
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    [ -z "$2" ] || await "$2" 1
    poll 20 some_rank && kill -9 "$victim" || fail "no rank ever started"
    now
    finish
    expect_rc 137
    done_ "kill -9 of a rank, $1"
}

for ((i = 1; i <= rounds; i++)); do
    kill_a_rank "alltoall, round $i" '' "$bench" alltoall -m 8:65536 -i 100000
done
for name in barrier bcast reduce allreduce gather gatherv scatter scatterv \
    allgather allgatherv reduce_scatter reduce_scatter_block scan exscan; do
    kill_a_rank $name running "$ranks" --suite forever --kind $name
done
for ((i = 1; i <= rounds / 2; i++)); do
    start -n 8 --ppn $((1 << i % 3)) "$bench" alltoall -m 8:65536 -i 100000
    sleep "0.$(printf %03d $((RANDOM % 300)))"
    kill -9 "$pid"
    wait "$pid" 2>/dev/null
    done_ "kill -9 of prun, round $i"
done

# bad SETTING=VALUE RANKS: an error that names the setting
bad() {
    mark
    env "$1" timeout 60 "$prun" -n "$2" "$bench" barrier -i 2 >"$out" 2>"$err"
    rc=$?
    expect_rc 1
    grep -q "${1%%=*}" "$err" || fail "the error does not name ${1%%=*}"
    done_ "$1, $2 ranks"
}
bad CATENA_HEAP_SIZE=900t 1
bad CATENA_HEAP_SIZE=2m 4
bad CATENA_HEAP_SIZE=lots 1
bad CATENA_ALLTOALL_ALGORITHM=magic 1
bad CATENA_ALLTOALL_LEADERS=1000 1
bad CATENA_TOPOLOGY=nonsense 1
mark
CATENA_HEAP_SIZ=1g "$bench" barrier -i 2 >"$out" 2>"$err"
rc=$?
expect_rc 0
expect_err CATENA_HEAP_SIZE
done_ "an unknown setting names the nearest"
if [ "$SCRIPT_RUNS" != shared ]; then
    mark
    mount -o remount,size=1m /dev/shm
    "$prun" -n 4 --ppn 2 "$bench" alltoall -c --csv -m 8:8 -i 5 >"$out" 2>"$err"
    rc=$?
    expect_rc 0
    expect errors "$(awk -F, '/^collective,/ { while ($++at != "errors"); }
        /^alltoall,/ { print $at }' "$out")" 0
    done_ "a tiny /dev/shm"
fi
exit $((failed > 0))
