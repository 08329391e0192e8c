#!/usr/bin/env bash
# Unit tests and a job of real ranks under valgrind's memcheck. Errors count, leaks
# do not: the sanitized builds look for those. UCX and PMIx have suppressions.
# usage: tests/checkers/memcheck.sh BUILD_DIR
set -u
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
suppressions=$here/valgrind.supp
memcheck=(valgrind -q --error-exitcode=99 --trace-children=no
    "--suppressions=$suppressions")

command -v valgrind >/dev/null || {
    echo "skip - memcheck: valgrind is not installed"
    exit 0
}
for name in config hash_map list pool op type type_maps chain aggregate \
    leader_layout cart heap node_area; do
    fork=no
    [ $name != heap ] || fork=yes # cases of it end by a signal
    CK_FORK=$fork CK_DEFAULT_TIMEOUT=0 timeout 600 "${memcheck[@]}" \
        --log-file="$work/memcheck.%p" "$build/tests/unit/unit" "$name" >"$out" 2>&1
    status=$?
    cat "$work"/memcheck.* >"$err"
    rm "$work"/memcheck.*
    # 1: a case failed, which may be for want of time
    [ $status -le 1 ] && [ ! -s "$err" ]
    verdict "memcheck: $name" $? "status $status"
done
for seed in 1 2 3; do
    timeout 300 "${memcheck[@]}" "$build/tools/catena-bench" --sim hpc-b --nodes 2 \
        --ppn 3 --seed $seed --jitter 1 --any-order --sim-memory 1g -c -m 8:4096 \
        -i 2 alltoall >"$out" 2>"$err"
    verdict "memcheck: a simulated alltoall, seed $seed" $?
done
for collective in barrier alltoall allreduce neighbor_alltoall; do
    timeout 300 "$prun" -n 2 "${memcheck[@]}" "$bench" -i 5 -x 1 -c $collective \
        >"$out" 2>"$err"
    verdict "memcheck: $collective of 2 ranks" $?
done
