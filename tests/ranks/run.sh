#!/usr/bin/env bash
# Rank tests: each program in many layouts, under prun.
# usage: tests/ranks/run.sh BUILD_DIR      RANKS_QUICK=1: fewer layouts
set -u
prun=$1/tools/prun
programs=$1/tests/ranks
units=$1/tests/unit
. "$(dirname "$0")/../tally.sh"

# layout PROGRAM [NAME=VALUE ...] -- PRUN-OPTIONS. PROGRAM: of this folder, or
# unit/NAME for the ranks of a unit test
layout() {
    local program=$programs/ranks_$1 title=$1 rank=() settings=()
    case $1 in
    unit/*)
        program=$units/test_${1#unit/}
        rank=(--rank)
        ;;
    esac
    shift
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    beside "$title ${settings[*]} $*" env "${settings[@]}" \
        "$prun" --timeout 100 "$@" "$program" "${rank[@]}"
}

tcp=UCX_TLS=tcp,self
machine="pack:2 numa:2 l3:2 core:1 pu:2"
layout alltoall -- -n 1
layout alltoall -- -n 2
layout alltoall $tcp -- -n 7 --ppn 3
layout alltoall $tcp CATENA_TOPOLOGY="numa:2 core:2 pu:1" -- -n 8 --ppn 4
for wait in auto spin yield sleep; do
    layout waiting CATENA_WAIT=$wait -- -n 2
    layout waiting CATENA_WAIT=$wait $tcp -- -n 4 --ppn 2
done
layout alltoallv -- -n 1
layout alltoallv -- -n 3
layout alltoallv $tcp -- -n 7 --ppn 3
layout nonblocking $tcp -- -n 9 --ppn 4 --map-by node
layout nonblocking -- -n 3
layout groups $tcp -- -n 9 --ppn 4
layout groups -- -n 5
layout coll -- -n 2
layout coll $tcp -- -n 3 --ppn 2
layout order -- -n 5
layout order $tcp -- -n 7 --ppn 3
layout mismatch -- -n 3
layout mismatch $tcp -- -n 4 --ppn 2
layout collbad -- -n 3
layout collbad $tcp -- -n 5 --ppn 2
layout starved $tcp CATENA_HEAP_SIZE=256m -- -n 5 --ppn 2
layout starved STARVED=split $tcp CATENA_HEAP_SIZE=256m -- -n 5 --ppn 2
layout starved STARVED=neighbor $tcp CATENA_HEAP_SIZE=256m -- -n 5 --ppn 2
layout lost LOST=alltoall $tcp -- -n 7 --ppn 3
layout life -- -n 4
layout life $tcp -- -n 5 --ppn 2
layout lost LOST=neighbor $tcp -- -n 7 --ppn 3
layout collmix -- -n 3
layout collmix $tcp CATENA_TOPOLOGY="$machine" -- -n 7 --ppn 3
layout neighbor -- -n 3
layout neighbor $tcp -- -n 7 --ppn 3
layout neighborbad -- -n 3
layout neighborrow -- -n 3
layout neighborrow $tcp -- -n 5 --ppn 2
layout neighborbad $tcp CATENA_CHECK=on -- -n 5 --ppn 2
layout unit/mail -- -n 3
layout unit/mail $tcp -- -n 5 --ppn 2
layout unit/hash $tcp -- -n 7 --ppn 3
layout unit/mail $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 1
layout unit/links -- -n 4
layout unit/links $tcp -- -n 4 --ppn 2
layout unit/links $tcp -- -n 5 --ppn 1
layout unit/neighbor_ops -- -n 5
layout unit/neighbor_ops $tcp -- -n 7 --ppn 3
layout unit/neighbor_ops $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 1
layout unit/neighborhood_memory $tcp -- -n 5 --ppn 3
layout unit/links $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 2
layout unit/chain $tcp -- -n 7 --ppn 3
layout unit/bcol -- -n 3
layout unit/bcol $tcp -- -n 7 --ppn 3
layout unit/bcol UCX_TLS=posix,tcp,self -- -n 4 --ppn 2
layout split -- -n 2
layout splitbad -- -n 3
layout splitbad $tcp CATENA_TOPOLOGY="$machine" -- -n 9 --ppn 4 --map-by node
layout split $tcp CATENA_TOPOLOGY="$machine" -- -n 9 --ppn 4 --map-by node
layout unit/split -- -n 5
layout unit/split $tcp -- -n 7 --ppn 3
layout unit/split $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 1
if [ -z "${RANKS_QUICK:-}" ]; then
    layout coll -- -n 1
    layout coll CATENA_TOPOLOGY="$machine" -- -n 5
    layout coll $tcp -- -n 7 --ppn 3
    layout coll $tcp CATENA_TOPOLOGY="$machine" -- -n 9 --ppn 4 --map-by node
    layout coll $tcp CATENA_WAIT=sleep -- -n 4 --ppn 1
    layout collmix -- -n 2
    layout collmix $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 1
    layout collmix $tcp CATENA_WAIT=sleep -- -n 9 --ppn 4 --map-by node
    for seed in 2 3 4; do
        layout collmix RANK_TEST_SEED=$seed $tcp -- -n 6 --ppn 2 --map-by node
    done
    layout neighbor -- -n 1
    layout neighbor -- -n 2
    layout neighbor CATENA_WAIT=sleep $tcp -- -n 5 --ppn 2 --map-by node
    layout neighbor CATENA_CHECK=on $tcp -- -n 9 --ppn 4 --map-by node
    layout neighbor $tcp CATENA_UCX_PUT=rma -- -n 4 --ppn 1
    layout neighbor $tcp -- -n 16 --ppn 4
    for seed in 2 3 4; do
        layout neighbor RANK_TEST_SEED=$seed $tcp -- -n 6 --ppn 2
    done
    layout neighborbad -- -n 2
    layout neighborrow -- -n 2
    layout neighborrow $tcp -- -n 7 --ppn 3
    layout neighborbad $tcp -- -n 7 --ppn 3
    layout unit/neighborhood_memory $tcp -- -n 9 --ppn 3 --map-by node
    layout unit/chain -- -n 5
    layout unit/chain $tcp CATENA_UCX_PUT=rma -- -n 5 --ppn 1
    layout unit/bcol -- -n 13
    layout unit/bcol CATENA_WAIT=sleep -- -n 5
    layout unit/bcol $tcp -- -n 4 --ppn 1
    layout unit/bcol $tcp CATENA_UCX_PUT=rma -- -n 5 --ppn 2
    layout alltoall -- -n 13
    layout alltoall -- -n 2 --ppn 1
    layout alltoall $tcp -- -n 9 --ppn 2 --map-by node
    layout alltoall -- -n 16 --ppn 4
    layout alltoall CATENA_UCX_PUT=rma $tcp -- -n 5 --ppn 2
    for wait in auto spin yield sleep; do
        layout waiting CATENA_WAIT=$wait -- -n 1
        layout waiting CATENA_WAIT=$wait -- -n 5
    done
    layout waiting CATENA_WAIT=sleep -- -n 16
    layout waiting CATENA_WAIT=sleep $tcp -- -n 16 --ppn 8
    layout nonblocking CATENA_WAIT=sleep $tcp -- -n 7 --ppn 3
    layout groups CATENA_WAIT=sleep -- -n 5
    layout alltoallv -- -n 9
    layout alltoallv $tcp -- -n 9 --ppn 2 --map-by node
    layout alltoallv -- -n 16 --ppn 4
    layout alltoallv CATENA_UCX_PUT=rma $tcp -- -n 5 --ppn 2
    layout nonblocking -- -n 1
    layout nonblocking $tcp -- -n 16 --ppn 4
    layout nonblocking -- -n 13 --ppn 5
    layout nonblocking CATENA_SPIN=100 $tcp -- -n 4 --ppn 2
    for seed in 1 2 3; do
        layout nonblocking RANK_TEST_SEED=$seed $tcp -- -n 7 --ppn 3
    done
    layout groups -- -n 1
    layout groups -- -n 16 --ppn 4
    layout groups $tcp -- -n 13 --ppn 5 --map-by node
    layout groups CATENA_HEAP_SIZE=256m -- -n 12
    layout split -- -n 1
    layout split CATENA_TOPOLOGY="$machine" -- -n 5
    layout split CATENA_TOPOLOGY="pack:2 core:2 pu:1" -- -n 12 --ppn 4
    layout splitbad CATENA_TOPOLOGY="pack:2 core:2 pu:1" -- -n 12 --ppn 4
    layout split CATENA_UCX_PUT=rma $tcp -- -n 7 --ppn 2
    # More members than a ring has slots: rounds that wait for grants.
    layout nonblocking -- -n 40
    layout groups -- -n 70
    layout split -- -n 70
    layout nonblocking $tcp -- -n 70 --ppn 35
fi
settle
echo "# $passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
