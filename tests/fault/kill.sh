#!/usr/bin/env bash
# Death at random moments, start-up included: prun ends in time with the right
# code, and nothing remains. Bad settings: a clear error.
# usage: tests/fault/kill.sh BUILD_DIR     KILL_ROUNDS=N KILL_SEED=N
set -u
prun=$1/tools/prun
bench=$1/tools/catena-bench
coll=$1/tests/ranks/ranks_coll
rounds=${KILL_ROUNDS:-16}
RANDOM=${KILL_SEED:-$(date +%s)}
seed=$RANDOM
RANDOM=$seed
passed=0
failed=0
# A directory for temporary files of its own: what other jobs leave there is
# theirs.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log
mkdir "$work/tmp"
export TMPDIR=$work/tmp
echo "# KILL_SEED=$seed (as drawn)"

ok() {
    echo "ok - $1"
    passed=$((passed + 1))
}
not_ok() {
    echo "not ok - $1: $2"
    failed=$((failed + 1))
}

# What has come into shared memory since `before`, and what the job of the prun
# with this pid left elsewhere.
leftovers() {
    comm -13 <(echo "$before") <(ls /dev/shm)
    ls -A "$TMPDIR"
    ls /tmp | grep -E "(prun|pmix|ucx|catena|ompi).*[-._]$1([-._]|\$)"
}

# Processes of the job that prun with this pid started.
job_of() {
    grep -lsz "PMIX_NAMESPACE=prun-$1-" /proc/[0-9]*/environ |
        cut -d/ -f3
}

nap() { sleep "0.$(printf %03d $((RANDOM % 300)))"; }

# A pid that its parent has not waited for yet is gone, too.
gone() {
    local pid state
    for pid in "$@"; do
        state=$(awk '{ print $3 }' "/proc/$pid/stat" 2>/dev/null)
        case "$state" in "" | Z | X) ;; *) return 1 ;; esac
    done
}

wait_gone() { # PID SECONDS
    local end=$((SECONDS + $2 + 1))
    while kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.02
    done
    ! kill -0 "$1" 2>/dev/null
}

# kill_a_rank OPTIONS WHAT COMMAND...     KILL_AFTER=WORD: when it has said that
kill_a_rank() {
    local options=$1 title="kill -9 of a rank, $2, $1" before pid victims victim \
        start status took
    shift 2
    before=$(ls /dev/shm)
    # shellcheck disable=SC2086
    "$prun" $options "$@" >"$log" 2>&1 &
    pid=$!
    nap
    for _ in $(seq 200); do
        mapfile -t victims < <(job_of $pid)
        [ ${#victims[@]} -eq 0 ] || break
        sleep 0.01
    done
    if [ ${#victims[@]} -eq 0 ]; then
        kill -KILL $pid
        wait $pid 2>/dev/null
        not_ok "$title" "no rank ever started"
        return
    fi
    for _ in $(seq 300); do
        grep -q "${KILL_AFTER:-}" "$log" || [ -z "${KILL_AFTER:-}" ] && break
        sleep 0.01
    done
    victim=${victims[RANDOM % ${#victims[@]}]}
    start=$(date +%s%N)
    kill -KILL "$victim"
    if ! wait_gone $pid 4; then
        kill -KILL $pid
        wait $pid 2>/dev/null
        not_ok "$title" "prun did not end"
        return
    fi
    wait $pid
    status=$?
    took=$((($(date +%s%N) - start) / 1000000))
    sleep 0.1
    if [ $status -ne 137 ] || [ $took -gt 2000 ]; then
        not_ok "$title" "status $status after $took ms"
        head -3 "$log"
    elif [ -n "$(job_of $pid)" ]; then
        not_ok "$title" "processes remain: $(job_of $pid)"
    elif [ -n "$(leftovers $pid)" ]; then
        not_ok "$title" "left behind: $(leftovers $pid)"
    else
        ok "$title ($took ms)"
    fi
}

kill_prun() {
    local options=$1 before pid
    before=$(ls /dev/shm)
    # shellcheck disable=SC2086
    "$prun" $options "$bench" alltoall -m 8:65536 -i 100000 >"$log" 2>&1 &
    pid=$!
    nap
    kill -KILL $pid
    wait $pid 2>/dev/null
    for _ in $(seq 100); do
        # shellcheck disable=SC2046
        gone $(job_of $pid) && [ -z "$(leftovers $pid)" ] && break
        sleep 0.02
    done
    # shellcheck disable=SC2046
    if ! gone $(job_of $pid); then
        not_ok "kill -9 of prun, $options" "ranks remain: $(job_of $pid)"
    elif [ -n "$(leftovers $pid)" ]; then
        not_ok "kill -9 of prun, $options" "left behind: $(leftovers $pid)"
    else
        ok "kill -9 of prun, $options"
    fi
}

# says NAME PATTERN STATUS COMMAND...: one clear error, no hang
says() {
    local name=$1 pattern=$2 expected=$3 status
    shift 3
    timeout 30 "$@" >"$log" 2>&1
    status=$?
    if grep -qE "$pattern" "$log" && { [ "$expected" = any ] ||
        [ $status -eq "$expected" ]; }; then
        ok "$name"
    else
        not_ok "$name" "status $status: $(head -2 "$log")"
    fi
}

for round in $(seq "$rounds"); do
    case $((round % 3)) in
    0) options="-n 6" ;;
    *) options="-n 16 --ppn 4" ;;
    esac
    kill_a_rank "$options" alltoall "$bench" alltoall -m 8:65536 -i 100000
done
for name in barrier bcast reduce allreduce gather gatherv scatter scatterv allgather \
    allgatherv reduce_scatter reduce_scatter_block scan exscan; do
    case $((RANDOM % 2)) in
    0) options="-n 6" ;;
    *) options="-n 7 --ppn 3" ;;
    esac
    COLL_KIND=$name KILL_AFTER=running kill_a_rank "$options" $name "$coll" forever
done
for round in $(seq $((rounds / 2))); do
    kill_prun "-n 16 --ppn $((2 << round % 3))"
done

says "a heap larger than the memory" "CATENA_HEAP_SIZE" 1 \
    env CATENA_HEAP_SIZE=900t "$bench" barrier -i 2
says "a heap too small" "CATENA_HEAP_SIZE" 1 \
    env CATENA_HEAP_SIZE=8m "$prun" -n 16 "$bench" barrier -i 2
says "a size that is none" "CATENA_HEAP_SIZE|HEAP_SIZE" 1 \
    env CATENA_HEAP_SIZE=lots "$bench" barrier -i 2
says "an algorithm that is none" "onmpml" 1 \
    env CATENA_ALLTOALL_ALGORITHM=magic "$bench" barrier -i 2
says "too many leaders" "CATENA_ALLTOALL_LEADERS" 1 \
    env CATENA_ALLTOALL_LEADERS=1000 "$bench" barrier -i 2
says "an unknown setting names the nearest" "CATENA_HEAP_SIZE" 0 \
    env CATENA_HEAP_SIZ=1g "$bench" barrier -i 2
says "a topology that is none" "CATENA_TOPOLOGY" 1 \
    env CATENA_TOPOLOGY=nonsense "$bench" barrier -i 2
if unshare -m true 2>/dev/null; then
    says "a tiny /dev/shm" "Avg Latency" 0 unshare -m sh -c \
        "mount -t tmpfs -o size=1m none /dev/shm &&
         exec '$prun' -n 4 --ppn 2 '$bench' alltoall -m 8:8 -i 5"
fi
echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ]
